/* plugin/params.h: parameters of gates and backends: one assay_param table gives parsing, type errors, help and docs. */
#ifndef ASSAY_PLUGIN_PARAMS_H
#define ASSAY_PLUGIN_PARAMS_H
#include "assay/types.h"
#include "base/json.h"
/* Checks `given` (a JSON object) against the table, fills in defaults. Errors: unknown name (did you mean), wrong type
 * ("expected number, got string \"0.9999\""), out of range, not among the choices, missing required.
 * Defaults in assay_param.def are JSON text, or a bare word for strings; def "" = not given ("declared" parameters).
 * LIST takes one value or a JSON array; MAP a JSON object of scalars; maps reach a plugin as values with `key` set. */
assay_status assay_params_make(const assay_param *table, const assay_json *given, const char *who, assay_params **out, assay_error *err);
void assay_params_free(assay_params *p);
const assay_json *assay_params_effective(const assay_params *p);      /* all values in force, for the receipt */
/* "name=value" from a command line into `obj` with the type the table says (lists: commas, maps: k:v,k:v). */
assay_status assay_params_from_text(const assay_param *table, const char *text, const char *who, assay_json *obj, assay_error *err);
/* Is the table itself sound? Names lower_snake and unique, known types, help texts, defaults that pass their own check. A
 * fault is the plugin's: ASSAY_E_ABI. NULL table: no parameters. */
assay_status assay_params_check_table(const assay_param *table, const char *who, assay_error *err);
/* What host->param does: ASSAY_E_MISSING for a name that is not in the table, ASSAY_E_RANGE after the last value (at once when
 * nothing was given). Numbers fill i and f; a scalar has key "". A value that is still an @-word of a plan ("@control") names
 * nothing: "" for a string, left out of a list. */
assay_status assay_params_get(const assay_params *p, const char *name, uint32_t index, assay_value *out);
#endif
