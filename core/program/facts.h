/* program/facts.h: facts of a program as JSON. */
#ifndef ASSAY_PROGRAM_FACTS_H
#define ASSAY_PROGRAM_FACTS_H
#include "program/program.h"
assay_json *assay_type_json(const assay_mil_type *t);
/* How much of the weights: SUMMARY only names the files; PLACES lists their records and where each is used (the records are
 * read); DIGESTS adds sha256 of the raw bytes per record and of the unpacked elements per use (the files are read whole).
 * assay_program_facts is PLACES. */
enum { ASSAY_FACTS_SUMMARY = 0, ASSAY_FACTS_PLACES, ASSAY_FACTS_DIGESTS };
assay_json *assay_program_facts_full(const assay_program *p, int detail);
#endif
