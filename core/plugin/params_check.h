/* plugin/params_check.h: one JSON value against one parameter row; shared by the maker, the table check and the text reader. */
#ifndef ASSAY_PLUGIN_PARAMS_CHECK_H
#define ASSAY_PLUGIN_PARAMS_CHECK_H
#include "plugin/params.h"

#define ASSAY_PARAM_BASE(type) ((type)&15)
const assay_param *assay_param_find(const assay_param *table, const char *name);
/* "number", "list of string", "map of integer" ...; static text. */
const char *assay_param_type_name(int32_t type);
/* The whole value (scalar, list or map as the row says). `where` is the text before the colon of the message. */
assay_status assay_param_check(const assay_param *row, const assay_json *v, const char *where, assay_error *err);
/* The row's default as a value the caller frees; NULL when there is none ("declared" or required). */
assay_status assay_param_default(const assay_param *row, const char *where, assay_json **out, assay_error *err);
#endif
