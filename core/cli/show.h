/* cli/show.h: parameter tables of gates and backends as text and JSON. */
#ifndef ASSAY_CLI_SHOW_H
#define ASSAY_CLI_SHOW_H
#include "assay/types.h"
#include "base/json.h"

/* A table for people: name, type, default, unit and choices, help. */
void assay_show_params(const assay_param *table);
/* [{name, type, default, choices, unit, min, max, help}]; default null = required, absent = not in force unless given. */
assay_json *assay_params_json(const assay_param *table);
#endif
