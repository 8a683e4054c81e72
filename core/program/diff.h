/* program/diff.h: the structural difference of two programs by data flow, not by names. */
#ifndef ASSAY_PROGRAM_DIFF_H
#define ASSAY_PROGRAM_DIFF_H
#include "program/program.h"
/* Appends {where, a, b} to `rows`, texts or null. Functions, inputs and outputs are paired by name. From each pair of outputs
 * both programs are walked backwards together: equal computations end the walk, ops of one type are compared argument by
 * argument, an op that only one side has is named and passed, and where neither helps both sides' ops down to what they have in
 * common are listed. */
void assay_program_diff(const assay_program *a, const assay_program *b, assay_json *rows);
#endif
