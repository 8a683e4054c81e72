/* program/mil_value.h: types and values of MIL text. */
#ifndef ASSAY_PROGRAM_MIL_VALUE_H
#define ASSAY_PROGRAM_MIL_VALUE_H
#include "program/mil_lex.h"

typedef struct mil_parser { mil_lexer x; assay_program *p; const char *model_dir; assay_scope *scope; } mil_parser;
assay_status mil_parse_type(mil_parser *m, const assay_mil_type **out);
assay_status mil_parse_typed(mil_parser *m, const assay_mil_const **out);        /* TYPE(VALUE) */
assay_status mil_parse_attrs(mil_parser *m, assay_mil_attr **out, uint32_t *n);  /* [name = TYPE(VALUE), ...] or nothing */
/* Does the current token begin a type? Decides between a name and a typed value. */
bool mil_at_type(const mil_parser *m);
#endif
