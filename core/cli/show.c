/* Shows parameter tables: the same rows that check a script are its reference. */
#include "cli/show.h"
#include "plugin/params_check.h"
#include <stdio.h>
#include <string.h>

/* What stands in the column of defaults. */
static const char *default_text(const assay_param *p) { return !p->def ? "required" : !*p->def ? "-" : p->def; }

void assay_show_params(const assay_param *table) {
    int name_width = 4, type_width = 4;
    for (const assay_param *p = table; p && p->name; p++) {
        int n = (int)strlen(p->name), t = (int)strlen(assay_param_type_name(p->type));
        name_width = n > name_width ? n : name_width;
        type_width = t > type_width ? t : type_width;
    }
    for (const assay_param *p = table; p && p->name; p++) {
        printf("  %-*s  %-*s  %s", name_width, p->name, type_width, assay_param_type_name(p->type), p->help);
        if (p->choices) printf(": %s", p->choices);
        if (p->unit && *p->unit) printf(" [%s]", p->unit);
        printf(" (%s)\n", !strcmp(default_text(p), "-") ? "only when given" : default_text(p));
    }
}

static assay_json *row_json(const assay_param *p) {
    assay_json *o = assay_json_object(), *def = NULL;
    assay_json_set_string(o, "name", p->name);
    assay_json_set_string(o, "type", assay_param_type_name(p->type));
    assay_json_set_string(o, "help", p->help);
    assay_json_set_bool(o, "required", p->def == NULL);
    assay_json_set_string(o, "unit", p->unit && *p->unit ? p->unit : NULL);
    assay_json_set_string(o, "choices", p->choices);
    if (p->min <= p->max) {
        assay_json_set_number(o, "min", p->min);
        assay_json_set_number(o, "max", p->max);
    }
    if (assay_param_default(p, p->name, &def, NULL) == ASSAY_OK && def) assay_json_set(o, "default", def);
    return o;
}

assay_json *assay_params_json(const assay_param *table) {
    assay_json *list = assay_json_array();
    for (const assay_param *p = table; p && p->name; p++) assay_json_append(list, row_json(p));
    return list;
}
