#include "program/program.h"
assay_status assay_program_parse_mil(const char *text, size_t len, const char *what, const char *model_dir, assay_program **out, assay_error *err)
{ (void)text;(void)len;(void)model_dir;(void)out; return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: MIL text is not read yet", what); }
