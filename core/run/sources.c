/* Where the published sources contradict each other, a plan says which alternative each of its gates follows, and which it does not.
 * The contradictions are data: scripts/sources/conflicts.json (M248-M253). */
#include "run/plan_build.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

/* The alternative's name: fixed in the table, or the value of the gate's parameter. */
static const char *chosen_by(const assay_json *link, const assay_json *gate) {
    const char *param = assay_json_string(link, "param", NULL);
    return param ? str(assay_json_get(gate, "params"), param) : str(link, "chosen");
}

/* {row, question, gate, chosen, source, says, not_chosen: [{name, source, says}]}. A name that no source has is the experiment's own. */
static assay_json *choice_row(const assay_json *conflict, const char *gate, const char *chosen) {
    assay_json *row = assay_json_object(), *others = assay_json_array();
    const assay_json *found = NULL;
    for (const assay_json *a = assay_json_first(assay_json_get(conflict, "alternatives")); a; a = assay_json_next(a)) {
        if (assay_streq(str(a, "name"), chosen)) found = a;
        else assay_json_append(others, assay_json_clone(a));
    }
    assay_json_set_string(row, "row", str(conflict, "row"));
    assay_json_set_string(row, "question", str(conflict, "question"));
    assay_json_set_string(row, "gate", gate);
    assay_json_set_string(row, "chosen", chosen);
    assay_json_set_string(row, "source", found ? str(found, "source") : "this experiment");
    assay_json_set_string(row, "says", found ? str(found, "says") : "");
    assay_json_set(row, "not_chosen", others);
    return row;
}

static bool is_there(const assay_json *rows, const assay_json *row) {
    for (const assay_json *r = assay_json_first(rows); r; r = assay_json_next(r))
        if (assay_json_equal(r, row)) return true;
    return false;
}

static void add_choices(const assay_json *conflict, const assay_json *gate, assay_json *rows) {
    const char *use = str(gate, "use");
    for (const assay_json *link = assay_json_first(assay_json_get(conflict, "gates")); link; link = assay_json_next(link)) {
        if (!assay_streq(str(link, "gate"), use)) continue;
        assay_json *row = choice_row(conflict, use, chosen_by(link, gate));
        if (is_there(rows, row)) assay_json_free(row);      /* a gate for each arm, one choice */
        else assay_json_append(rows, row);
    }
}

assay_status assay_plan_build_sources(assay_plan_build *b, assay_error *err) {
    char *scripts = assay_scripts_dir(b->o->scripts_dir), *path = assay_path_join(scripts ? scripts : ".", "sources/conflicts.json");
    assay_json *table = NULL, *rows = assay_json_set(b->plan, "sources", assay_json_array());
    assay_status st = assay_json_read_file(path, &table, err);
    for (const assay_json *c = assay_json_first(assay_json_get(table, "conflicts")); c; c = assay_json_next(c))
        for (const assay_json *g = assay_json_first(assay_json_get(b->plan, "gates")); g; g = assay_json_next(g)) add_choices(c, g, rows);
    assay_json_free(table);
    free(path);
    free(scripts);
    return st;
}
