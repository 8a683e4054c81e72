/* The first value at which two runs of a computation part. The reference's values are held, the candidate's compared as they come. */
#include "cli/trace.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/names.h"
#include "metrics/metrics.h"
#include "tensor/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pass {
    assay_trace *t;
    const bool *wanted;                          /* by row */
    assay_own_tensor *held;                      /* by row: the reference's value in this pass */
    assay_error err;
    assay_status st;
} pass;

/* ---- pairs */
static bool has_value(const assay_program *p, const char *name) {
    const assay_mil_function *f = assay_program_function(p, NULL);
    for (uint32_t i = 0; i < f->n_all_ops; i++)
        for (uint32_t k = 0; k < f->all_ops[i]->n_outs; k++)
            if (assay_streq(f->all_ops[i]->outs[k]->name, name)) return true;
    return false;
}

static char *file_of(const assay_trace *t, const char *name) {
    char *file = assay_xprintf("%s.npy", name), *path = assay_path_is_inside(file) ? assay_path_join(t->folder, file) : NULL;
    free(file);
    return path;
}

static bool has_partner(const assay_trace *t, const char *name) {
    if (t->candidate) return has_value(t->candidate, name);
    char *path = file_of(t, name);
    bool found = path && assay_is_file(path);
    free(path);
    return found;
}

static bool is_computed(const assay_mil_op *op) {
    return op->reachable && !assay_streq(op->type, "const") && !assay_starts_with(op->type, "constexpr_");
}

static void add_pairs(assay_trace *t) {
    const assay_mil_function *f = assay_program_function(t->reference, NULL);
    size_t cap = 0;
    for (uint32_t i = 0; i < f->n_all_ops; i++) cap += f->all_ops[i]->n_outs;
    t->rows = assay_xcalloc(cap + 1, sizeof *t->rows);
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        for (uint32_t k = 0; is_computed(op) && k < op->n_outs; k++) {
            if (has_partner(t, op->outs[k]->name))
                t->rows[t->n_rows++] = (assay_trace_row){.op = op, .value = op->outs[k], .snr_db = NAN, .max_abs = NAN, .before_db = NAN};
            else
                t->unpaired++;
        }
    }
}

/* The wanted row of that name in this pass, or NULL. */
static assay_trace_row *row_of(const pass *p, const char *name) {
    for (size_t i = 0; i < p->t->n_rows; i++)
        if (p->wanted[i] && assay_streq(p->t->rows[i].value->name, name)) return &p->t->rows[i];
    return NULL;
}

/* ---- one pass */
static void hold(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *x) {
    pass *p = ctx;
    assay_trace_row *row = op && p->st == ASSAY_OK ? row_of(p, v->name) : NULL;
    if (!row || !assay_dtype_is_float(x->dtype)) return;
    assay_own_tensor *slot = &p->held[row - p->t->rows];
    assay_tensor_free(slot);
    p->st = assay_tensor_copy(x, 0, slot, &p->err);
}

static void compare(pass *p, assay_trace_row *row, const assay_tensor *x) {
    const assay_tensor *r = &p->held[row - p->t->rows].t;
    assay_pair_stats s = {.struct_size = sizeof s};
    row->seen = true;
    row->comparable = r->data && assay_tensor_same_shape(r, x) && assay_metrics_pair(r, x, -1, &s, &p->err) == ASSAY_OK &&
                      s.nonfinite_ref == 0;
    if (!row->comparable) return;
    row->snr_db = s.identical ? INFINITY : s.snr_db;
    row->max_abs = s.max_abs;
    row->good = row->snr_db >= p->t->snr_min_db;
}

static void observe_candidate(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *x) {
    pass *p = ctx;
    assay_trace_row *row = op ? row_of(p, v->name) : NULL;
    if (row && assay_dtype_is_float(x->dtype)) compare(p, row, x);
}

typedef void observer(void *, const assay_mil_op *, const assay_mil_value *, const assay_tensor *);

static assay_status run_side(pass *p, const assay_program *program, int32_t precision, observer *see, assay_error *err) {
    assay_exec_options o = {.precision = precision, .observe = see, .observe_ctx = p};
    assay_exec *e = NULL;
    assay_status st = assay_exec_open(program, &o, &e, err);
    if (st == ASSAY_OK) st = assay_exec_run(e, p->t->in, p->t->n_in, err);
    assay_exec_close(e);
    return st;
}

static assay_status read_recorded(pass *p, assay_error *err) {
    for (size_t i = 0; i < p->t->n_rows; i++) {
        if (!p->wanted[i]) continue;
        assay_own_tensor x = {0};
        char *path = file_of(p->t, p->t->rows[i].value->name);
        assay_status st = assay_npy_read(path, &x, err);
        if (st == ASSAY_OK) compare(p, &p->t->rows[i], &x.t);
        assay_tensor_free(&x);
        free(path);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

static assay_status look_at(assay_trace *t, const bool *wanted, assay_error *err) {
    pass p = {.t = t, .wanted = wanted, .held = assay_xcalloc(t->n_rows + 1, sizeof(assay_own_tensor))};
    t->passes++;
    assay_status st = run_side(&p, t->reference, t->reference_precision, hold, err);
    if (st == ASSAY_OK && p.st != ASSAY_OK) st = assay_fail(err, p.st, "%s", p.err.message);
    if (st == ASSAY_OK) st = t->candidate ? run_side(&p, t->candidate, t->candidate_precision, observe_candidate, err) : read_recorded(&p, err);
    for (size_t i = 0; i < t->n_rows; i++) assay_tensor_free(&p.held[i]);
    free(p.held);
    return st;
}

/* ---- search */

/* At most `hold` rows of [from, to), evenly, the last always. True when that is all of them. */
static bool choose(const assay_trace *t, size_t from, size_t to, bool *wanted) {
    size_t n = to - from, take = t->hold && t->hold < n ? t->hold : n;
    memset(wanted, 0, t->n_rows * sizeof *wanted);
    for (size_t k = 1; k <= take; k++) wanted[from + k * n / take - 1] = true;
    return take == n;
}

static assay_status search(assay_trace *t, assay_error *err) {
    bool *wanted = assay_xcalloc(t->n_rows + 1, sizeof *wanted), all = false;
    size_t from = 0, to = t->n_rows;
    assay_status st = ASSAY_OK;
    t->first_bad = -1;
    while (st == ASSAY_OK && !all && from < to) {
        all = choose(t, from, to, wanted);
        st = look_at(t, wanted, err);
        size_t i = from;
        for (; i < to && !(t->rows[i].comparable && !t->rows[i].good); i++)
            if (t->rows[i].good) from = i + 1;
        if (i == to) break;                      /* none among those looked at */
        t->first_bad = (int64_t)i;
        to = i;
    }
    free(wanted);
    return st;
}

/* The lowest SNR among the values that v is computed from, looking through those without a figure. */
static double below(const assay_mil_op *op, const double *of_value) {
    double lowest = INFINITY;
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t k = 0; k < op->args[a].n; k++) {
            const assay_mil_value *v = op->args[a].items[k].value;
            if (v && of_value[v->id] < lowest) lowest = of_value[v->id];
        }
    return lowest;
}

static void find_jumps(assay_trace *t) {
    const assay_mil_function *f = assay_program_function(t->reference, NULL);
    double *of_value = assay_xcalloc(f->n_values + 1, sizeof *of_value);
    for (uint32_t i = 0; i < f->n_values; i++) of_value[i] = INFINITY;
    for (uint32_t i = 0, row = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        double before = below(op, of_value);
        for (uint32_t k = 0; k < op->n_outs; k++) {
            bool paired = row < t->n_rows && t->rows[row].value == op->outs[k];
            of_value[op->outs[k]->id] = paired && t->rows[row].comparable ? t->rows[row].snr_db : before;
            if (paired) t->rows[row++].before_db = before;
        }
    }
    free(of_value);
}

assay_status assay_trace_run(assay_trace *t, assay_error *err) {
    add_pairs(t);
    if (!t->n_rows) return assay_fail(err, ASSAY_E_MISSING, "no computed value has the same name on both sides: nothing to compare");
    assay_status st = search(t, err);
    if (st == ASSAY_OK) find_jumps(t);
    return st;
}

void assay_trace_free(assay_trace *t) { free(t->rows); }
