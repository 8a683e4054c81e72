/* Joins the rows of a plan to the ops of the program that was meant: by the name of the result, or, where a tool wrote no
 * names, by order and type. A poor match means that another program was planned, or this one after changes. */
#include "placement.h"
#include <assay/program.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One op of the program and the row that was found for it (NULL: none). */
typedef struct joined {
    const assay_p_op *op;
    const char *name, *type;
    const assay_op_row *row;
} joined;

static int by_name(const void *a, const void *b) { return strcmp(((const joined *)a)->name, ((const joined *)b)->name); }

static joined *find(joined *all, size_t n, const char *name) {
    joined key = {.name = name};
    return bsearch(&key, all, n, sizeof *all, by_name);
}

static joined *ops_of(const assay_program_1 *iface, const assay_p_function *f, size_t *n) {
    uint32_t count = iface->op_count(f);
    joined *all = calloc(count ? count : 1, sizeof *all);
    *n = 0;
    for (uint32_t i = 0; all && i < count; i++) {
        const assay_p_op *op = iface->op(f, i);
        if (!strcmp(iface->op_type(op), "const") || !iface->op_output_count(op)) continue;
        all[(*n)++] = (joined){op, iface->value_name(iface->op_output(op, 0)), iface->op_type(op), NULL};
    }
    return all;
}

static double join_by_order(joined *all, size_t n, const assay_item *plan) {
    double matched = 0;
    size_t at = 0;
    for (uint64_t i = 0; i < plan->row_count && at < n; i++) {
        if (!placement_is_computing(&plan->rows[i])) continue;
        bool same = !strcmp(plan->rows[i].type, all[at].type);
        if (same) all[at].row = &plan->rows[i];
        matched += same;
        at++;
    }
    return matched;
}

static double join_by_name(joined *all, size_t n, const assay_item *plan) {
    double matched = 0;
    for (uint64_t i = 0; i < plan->row_count; i++) {
        joined *j = placement_is_computing(&plan->rows[i]) ? find(all, n, plan->rows[i].output) : NULL;
        if (!j || j->row || strcmp(j->type, plan->rows[i].type)) continue;
        j->row = &plan->rows[i];
        matched++;
    }
    return matched;
}

static bool has_names(const assay_item *plan) {
    for (uint64_t i = 0; i < plan->row_count; i++)
        if (placement_is_computing(&plan->rows[i]) && *plan->rows[i].output) return true;
    return false;
}

/* Edges of the data flow whose ends prefer different devices; an end without a device or row decides nothing. */
static double crossings(const assay_program_1 *iface, joined *all, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; all[i].row && k < iface->op_key_count(all[i].op); k++) {
            const char *key = iface->op_key(all[i].op, k);
            for (uint32_t a = 0; a < iface->op_arg_count(all[i].op, key); a++) {
                const assay_p_value *v = iface->op_arg(all[i].op, key, a);
                const assay_p_op *from = v ? iface->value_producer(v) : NULL;
                joined *j = from ? find(all, n, iface->value_name(iface->op_output(from, 0))) : NULL;
                sum += j && j->row && j->row->preferred != all[i].row->preferred && j->row->preferred > ASSAY_DEV_NONE &&
                       all[i].row->preferred > ASSAY_DEV_NONE;
            }
        }
    }
    return sum;
}

placement_match placement_join(const assay_program_1 *iface, const assay_program *program, const assay_item *plan) {
    placement_match m = {NAN, NAN};
    const assay_p_function *f = iface ? iface->function(program, NULL) : NULL;
    size_t n = 0;
    joined *all = f ? ops_of(iface, f, &n) : NULL;
    if (!all) return m;
    double rows = 0, matched = 0;
    for (uint64_t i = 0; i < plan->row_count; i++) rows += placement_is_computing(&plan->rows[i]);
    bool named = has_names(plan);
    if (!named) matched = join_by_order(all, n, plan);
    qsort(all, n, sizeof *all, by_name);
    if (named) matched = join_by_name(all, n, plan);
    m.rate = matched / (rows > (double)n ? rows : (double)n); /* of nothing: undefined */
    m.crossings = crossings(iface, all, n);
    free(all);
    return m;
}
