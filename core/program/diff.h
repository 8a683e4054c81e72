/* program/diff.h: the structural difference of two programs by data flow, not by names. */
#ifndef ASSAY_PROGRAM_DIFF_H
#define ASSAY_PROGRAM_DIFF_H
#include "program/program.h"
/* Appends {where, a, b, ops} to `rows`, texts or null; `ops` lists the types of the ops that differ, "type.parameter" where it is
 * a parameter alone, and is empty for what is no op (functions, inputs, outputs, opset). Functions, inputs and outputs are paired by name. From each pair of outputs
 * both programs are walked backwards together: equal computations end the walk, ops of one type are compared argument by
 * argument, an op that only one side has is named and passed, and where neither helps both sides' ops down to what they have in
 * common are listed. */
void assay_program_diff(const assay_program *a, const assay_program *b, assay_json *rows);
/* ---- what an arm declares as its `change` (change.c). A word is an op type, "type.parameter", or an area of such. */
/* Fails for a word that is none of these, with a suggestion. */
assay_status assay_change_check(const assay_json *words, assay_error *err);
/* Sets `declared` (bool) in each row of assay_program_diff: all its ops are covered by the words. Returns how many are not. */
size_t assay_change_mark(const assay_json *words, assay_json *rows);
#endif
