/* lstm: one or both directions over a sequence [S, B, I]; gates in the order input, forget, output, cell. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include "base/fmath.h"
#include <string.h>

typedef double (*activation_fn)(double x);
static double sigmoid(double x) { return 1.0 / (1.0 + assay_exp(-x)); }
static double relu(double x) { return x > 0 ? x : x != x ? x : 0.0; }
static activation_fn activation(const assay_mil_op *op, const char *key, const char *dflt) {
    const char *name = assay_arg_text(op, key, dflt);
    return !strcmp(name, "sigmoid") ? sigmoid : !strcmp(name, "tanh") ? assay_tanh : !strcmp(name, "relu") ? relu : NULL;
}

static bool is_both(const assay_mil_op *op) { return !strcmp(assay_arg_text(op, "direction", "forward"), "bidirectional"); }

/* ---- type rule */
typedef struct lstm_sizes {
    int64_t steps, batch, in, hidden, dirs;
} lstm_sizes;

static assay_status check_shape(const assay_mil_op *op, const char *key, uint32_t rank, int64_t d0, int64_t d1,
                                assay_error *err) {
    assay_shape s, want = {rank, {d0, d1}};
    char a[160], b[160];
    if (!assay_arg_count(op, key)) return ASSAY_OK;
    if (assay_arg_shape(op, key, 0, &s) && s.rank == rank && assay_dims_agree(s.d[0], d0) &&
        (rank == 1 || assay_dims_agree(s.d[1], d1)))
        return ASSAY_OK;
    return assay_op_fail(err, op, "argument '%s' must be %s, got %s", key, assay_shape_print(&want, a), assay_shape_print(&s, b));
}

static assay_status sizes(const assay_mil_op *op, lstm_sizes *z, assay_error *err) {
    static const char *const acts[] = {"recurrent_activation", "cell_activation", "activation"};
    const char *dir = assay_arg_text(op, "direction", "forward");
    assay_shape x, w;
    for (int i = 0; i < 3; i++)
        if (!activation(op, acts[i], "tanh"))
            return assay_op_fail(err, op, "%s '%s': sigmoid, tanh and relu are known", acts[i], assay_arg_text(op, acts[i], ""));
    if (strcmp(dir, "forward") && strcmp(dir, "reverse") && strcmp(dir, "bidirectional"))
        return assay_op_fail(err, op, "direction '%s': forward, reverse or bidirectional is wanted", dir);
    if (!assay_arg_shape(op, "x", 0, &x) || x.rank != 3) return assay_op_fail(err, op, "x must be [steps, batch, features]");
    if (!assay_arg_shape(op, "weight_hh", 0, &w) || w.rank != 2 || w.d[0] != 4 * w.d[1])
        return assay_op_fail(err, op, "weight_hh must be [4 * hidden, hidden]");
    *z = (lstm_sizes){x.d[0], x.d[1], x.d[2], w.d[1], is_both(op) ? 2 : 1};
    for (int b = 0; b < z->dirs; b++) {
        static const char *const keys[2][3] = {{"weight_ih", "weight_hh", "bias"},
                                               {"weight_ih_back", "weight_hh_back", "bias_back"}};
        if (!assay_arg_count(op, keys[b][0]) || !assay_arg_count(op, keys[b][1]))
            return assay_op_fail(err, op, "argument '%s' or '%s' is missing", keys[b][0], keys[b][1]);
        ASSAY_TRY(check_shape(op, keys[b][0], 2, 4 * z->hidden, z->in, err));
        ASSAY_TRY(check_shape(op, keys[b][1], 2, 4 * z->hidden, z->hidden, err));
        ASSAY_TRY(check_shape(op, keys[b][2], 1, 4 * z->hidden, 0, err));
    }
    ASSAY_TRY(check_shape(op, "initial_h", 2, z->batch, z->dirs * z->hidden, err));
    return check_shape(op, "initial_c", 2, z->batch, z->dirs * z->hidden, err);
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                          assay_error *err) {
    lstm_sizes z;
    ASSAY_TRY(assay_op_check_args(op, err));
    ASSAY_TRY(sizes(op, &z, err));
    if (n_out != 3) return assay_op_fail(err, op, "has three results: the sequence, the last hidden state, the last cell state");
    int32_t t = assay_arg_dtype(op, "x");
    assay_shape seq = {3, {assay_arg_bool(op, "output_sequence", false) ? z.steps : 1, z.batch, z.dirs * z.hidden}},
                last = {2, {z.batch, z.dirs * z.hidden}};
    out[0] = assay_shape_type(p, t, &seq);
    out[1] = out[2] = assay_shape_type(p, t, &last);
    return ASSAY_OK;
}
static uint32_t three(const assay_mil_op *op) {
    (void)op;
    return 3;
}

/* ---- kernel. State and gates are held in the op's width from step to step; only the results are rounded to the value's type. */
typedef struct lstm_run {
    assay_eval *ev;
    lstm_sizes z;
    bool wide, sequence;
    activation_fn gate, cell, out;
    void *seq, *h_last, *c_last; /* the op's outputs, in its width */
} lstm_run;

static double get(const lstm_run *r, const void *p, int64_t i) {
    return r->wide ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static void set(const lstm_run *r, void *p, int64_t i, double v) {
    if (r->wide)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}

/* c and h of one step from its gates: `in` (from element `at`) from x, bias included; `rec` from h. */
static void cells(const lstm_run *r, const void *in, int64_t at, const void *rec, void *h, void *c) {
    int64_t n = r->z.hidden;
    for (int64_t b = 0; b < r->z.batch; b++)
        for (int64_t k = 0; k < n; k++) {
            double g[4];
            for (int i = 0; i < 4; i++) g[i] = get(r, in, at + (b * 4 + i) * n + k) + get(r, rec, (b * 4 + i) * n + k);
            double was = get(r, c, b * n + k), now = r->gate(g[1]) * was + r->gate(g[0]) * r->cell(g[3]);
            set(r, c, b * n + k, now);
            set(r, h, b * n + k, r->gate(g[2]) * r->out(now));
        }
}

static void keep(const lstm_run *r, void *to, int64_t step, int64_t dir, const void *from) {
    int64_t n = r->z.hidden;
    for (int64_t b = 0; b < r->z.batch; b++)
        for (int64_t k = 0; k < n; k++) set(r, to, ((step * r->z.batch + b) * r->z.dirs + dir) * n + k, get(r, from, b * n + k));
}

static const void *operand(const lstm_run *r, const char *key, assay_error *err) {
    const assay_tensor *t = assay_eval_in(r->ev, key);
    return t ? assay_eval_operand(r->ev, t, r->wide, err) : NULL;
}

/* The gates of `rows` rows of k features: out = rows * weight^T (+ bias). */
static void gates(const lstm_run *r, const void *rows, int64_t n_rows, int64_t k, const void *weight, const void *bias, void *out) {
    int64_t n = 4 * r->z.hidden;
    assay_gemm g = {.a = rows, .b = weight, .bias = bias, .c = out, .batch = 1, .m = n_rows, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n,
                    .trans_b = true, .wide = r->wide};
    assay_gemm_run(r->ev, &g);
}

static void *scratch(const lstm_run *r, int64_t count, assay_error *err) {
    return assay_eval_scratch(r->ev, (uint64_t)count, r->wide ? sizeof(double) : sizeof(float), err);
}

/* The first state of a direction, out of [batch, directions * hidden]. */
static void begin(const lstm_run *r, void *state, int64_t dir, const void *from) {
    int64_t n = r->z.hidden;
    for (int64_t b = 0; b < r->z.batch; b++)
        for (int64_t k = 0; k < n; k++) set(r, state, b * n + k, get(r, from, (b * r->z.dirs + dir) * n + k));
}

static assay_status run_direction(const lstm_run *r, int64_t dir, bool backwards, const void *x, const void *h0, const void *c0,
                                  assay_error *err) {
    const lstm_sizes *z = &r->z;
    const void *w_in = operand(r, dir ? "weight_ih_back" : "weight_ih", err), *w_rec = operand(r, dir ? "weight_hh_back" : "weight_hh", err);
    const void *bias = operand(r, dir ? "bias_back" : "bias", err);
    int64_t step = z->batch * 4 * z->hidden, state = z->batch * z->hidden;
    void *in = scratch(r, z->steps * step, err), *rec = scratch(r, step, err), *h = scratch(r, state, err), *c = scratch(r, state, err);
    if (!w_in || !w_rec || !in || !rec || !h || !c) return ASSAY_E_NOMEM;
    begin(r, h, dir, h0);
    begin(r, c, dir, c0);
    gates(r, x, z->steps * z->batch, z->in, w_in, bias, in);
    for (int64_t s = 0; s < z->steps; s++) {
        int64_t at = backwards ? z->steps - 1 - s : s;
        gates(r, h, z->batch, z->hidden, w_rec, NULL, rec);
        cells(r, in, at * step, rec, h, c);
        if (r->sequence) keep(r, r->seq, at, dir, h);
    }
    if (!r->sequence) keep(r, r->seq, 0, dir, h);
    keep(r, r->h_last, 0, dir, h);
    keep(r, r->c_last, 0, dir, c);
    return ASSAY_OK;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    lstm_run r = {.ev = ev, .wide = assay_eval_wide(ev), .sequence = assay_arg_bool(ev->op, "output_sequence", false)};
    r.gate = activation(ev->op, "recurrent_activation", "sigmoid");
    r.cell = activation(ev->op, "cell_activation", "tanh");
    r.out = activation(ev->op, "activation", "tanh");
    ASSAY_TRY(sizes(ev->op, &r.z, err));
    const void *x = operand(&r, "x", err), *h0 = operand(&r, "initial_h", err), *c0 = operand(&r, "initial_c", err);
    r.seq = assay_eval_dst(ev, 0, r.wide, err);
    r.h_last = assay_eval_dst(ev, 1, r.wide, err);
    r.c_last = assay_eval_dst(ev, 2, r.wide, err);
    if (!x || !h0 || !c0 || !r.seq || !r.h_last || !r.c_last) return ASSAY_E_NOMEM;
    for (int64_t d = 0; d < r.z.dirs; d++)
        ASSAY_TRY(
            run_direction(&r, d, d == 1 || !strcmp(assay_arg_text(ev->op, "direction", "forward"), "reverse"), x, h0, c0, err));
    assay_eval_put(ev, 0, r.wide, r.seq);
    assay_eval_put(ev, 1, r.wide, r.h_last);
    assay_eval_put(ev, 2, r.wide, r.c_last);
    return ASSAY_OK;
}

static const assay_op_param params[] = {
    {"x", "fp", NULL, ASSAY_ARG_REQUIRED, "sequence [steps, batch, features]"},
    {"initial_h", "fp", NULL, ASSAY_ARG_REQUIRED, "[batch, directions * hidden]"},
    {"initial_c", "fp", NULL, ASSAY_ARG_REQUIRED, "[batch, directions * hidden]"},
    {"weight_ih", "fp", NULL, ASSAY_ARG_REQUIRED, "[4 * hidden, features], gates input, forget, output, cell"},
    {"weight_hh", "fp", NULL, ASSAY_ARG_REQUIRED, "[4 * hidden, hidden]"},
    {"bias", "fp", NULL, 0, "[4 * hidden]"},
    {"weight_ih_back", "fp", NULL, 0, "the same of the backward direction"},
    {"weight_hh_back", "fp", NULL, 0, "the same of the backward direction"},
    {"bias_back", "fp", NULL, 0, "the same of the backward direction"},
    {"direction", "str", "\"forward\"", ASSAY_ARG_CONST, "forward, reverse or bidirectional"},
    {"output_sequence", "bool", "false", ASSAY_ARG_CONST, "all steps, or the last one only"},
    {"recurrent_activation", "str", "\"sigmoid\"", ASSAY_ARG_CONST, "of the gates"},
    {"cell_activation", "str", "\"tanh\"", ASSAY_ARG_CONST, "of the cell gate"},
    {"activation", "str", "\"tanh\"", ASSAY_ARG_CONST, "of the cell on its way out"},
    ASSAY_END};
static const assay_op_def def_lstm = {"lstm", "long short-term memory over a sequence", "CoreML5", 0, params, infer, three, eval};
static const assay_op_def *const defs[] = {&def_lstm, NULL};
const assay_op_family assay_ops_lstm = {defs};
