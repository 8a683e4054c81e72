/* program/facts.h: facts of a program as JSON. */
#ifndef ASSAY_PROGRAM_FACTS_H
#define ASSAY_PROGRAM_FACTS_H
#include "program/program.h"
assay_json *assay_type_json(const assay_mil_type *t);
/* assay_program_facts with the digests of all weights (sha256 of the raw bytes per record, of the unpacked elements per use):
 * reads the weight files whole. */
assay_json *assay_program_facts_full(const assay_program *p, bool digests);
#endif
