/* import/formats.h: what the readers of single formats share. A reader gets an input that its test accepted. */
#ifndef ASSAY_IMPORT_FORMATS_H
#define ASSAY_IMPORT_FORMATS_H
#include "import/import.h"

typedef struct assay_foreign {
    const char *text; /* NUL at text[len]; may hold NULs inside */
    size_t len;
    const char *what;       /* names the file in messages */
    const assay_json *json; /* the same as JSON; NULL when it is none */
} assay_foreign;

typedef struct assay_importer {
    const char *format;
    int version;
    bool (*matches)(const assay_foreign *in);
    /* Fills `record` (an empty object but for `source`). */
    assay_status (*read)(const assay_foreign *in, assay_json *record, assay_error *err);
} assay_importer;

extern const assay_importer assay_import_plan_ops, assay_import_plan_profiler, assay_import_plan_inspect; /* compute plans */
extern const assay_importer assay_import_plan_summary, assay_import_plan_chunks, assay_import_plan_usage; /* shares only */
extern const assay_importer assay_import_analytics;
extern const assay_importer assay_import_power_text, assay_import_power_plist, assay_import_power_help;
extern const assay_importer assay_import_compiler_log;
/* Counts the parts of a compiled Core AI asset by unit. */
assay_status assay_import_regions(const char *folder, assay_json *record, assay_error *err);
/* Adds an op of a compute plan; `preferred` in any spelling, NULL or unknown: null. `cost` NaN: null. Returns it. */
assay_json *assay_import_add_op(assay_json *operations, const char *name, const char *type, const char *preferred, double cost);
#endif
