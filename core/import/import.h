/* import/import.h: files that other tools wrote, read into neutral records. A record is an object:
 *   schema   compute-plan/1, placement-summary/1, power-log/1, power-samplers/1, compiler-log/1 or probe-run/1
 *   source   {"format", "version"}: which reader of which version made it
 * and the members that docs/reference/imports.md lists. What a file does not say is null: unknown is never zero. */
#ifndef ASSAY_IMPORT_IMPORT_H
#define ASSAY_IMPORT_IMPORT_H
#include "base/json.h"

/* A file, or the folder of a compiled Core AI asset (.aimodelc). ASSAY_E_UNSUPPORTED: no known format, or one that is no
 * evidence of anything (the message says which and why). ASSAY_E_INPUT: a known format that is broken. */
assay_status assay_import_file(const char *path, assay_json **out, assay_error *err);
/* `data` is followed by a NUL that `len` does not count; `what` names it in messages. */
assay_status assay_import_bytes(const char *data, size_t len, const char *what, assay_json **out, assay_error *err);
#endif
