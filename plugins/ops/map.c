/* The elementwise loop: broadcasting inputs are loaded piece by piece as float64, mapped, and stored with one rounding. */
#include "ops/slots.h"
#include <math.h>
#include <string.h>

typedef struct map_job {
    const assay_kernels *k;
    assay_map_fn fn; const void *ctx;
    uint32_t n_in, rank;
    int64_t shape[ASSAY_RANK_MAX], stride[ASSAY_MAP_INPUTS][ASSAY_RANK_MAX];   /* merged axes; stride 0 = broadcast */
    const char *data[ASSAY_MAP_INPUTS]; int32_t dtype[ASSAY_MAP_INPUTS];
    char *out; int32_t out_dtype;
    int64_t count;
} map_job;
enum { TASK = 32 * ASSAY_MAP_PIECE };

/* Strides of `t` seen with the output's shape; false when it does not broadcast to it. */
static bool broadcast_strides(const assay_tensor *t, const assay_tensor *out, int64_t *stride) {
    int64_t step = 1;
    if (t->rank > out->rank) return false;
    for (uint32_t i = 0; i < out->rank; i++) {
        uint32_t at = out->rank - 1 - i;
        int64_t n = i < t->rank ? t->shape[t->rank - 1 - i] : 1;
        if (n != 1 && n != out->shape[at]) return false;
        stride[at] = n == 1 ? 0 : step;
        step *= n;
    }
    return true;
}

static bool mergeable(const map_job *j, uint32_t a, uint32_t b) {       /* may axis a swallow the axis b after it? */
    for (uint32_t i = 0; i < j->n_in; i++)
        if (j->stride[i][a] != j->stride[i][b] * j->shape[b]) return false;
    return true;
}

static void merge_axes(map_job *j, uint32_t rank) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < rank; a++) {
        if (j->shape[a] == 1) continue;
        if (n && mergeable(j, n - 1, a)) j->shape[n - 1] *= j->shape[a];
        else j->shape[n++] = j->shape[a];
        for (uint32_t i = 0; i < j->n_in; i++) j->stride[i][n - 1] = j->stride[i][a];
    }
    j->rank = n;
}

static void load_run(const map_job *j, uint32_t i, int64_t offset, int64_t stride, double *dst, int64_t n) {
    size_t size = assay_dtype_size(j->dtype[i]);
    const char *src = j->data[i] + (size_t)offset * size;
    if (stride == 0) {
        double v = assay_load_f64(j->dtype[i], src);
        for (int64_t e = 0; e < n; e++) dst[e] = v;
    } else if (stride != 1) {
        for (int64_t e = 0; e < n; e++) dst[e] = assay_load_f64(j->dtype[i], src + (size_t)(e * stride) * size);
    } else if (j->dtype[i] == ASSAY_F16) {
        float f[ASSAY_MAP_PIECE];
        j->k->f16_to_f32((const uint16_t *)(const void *)src, f, n);
        for (int64_t e = 0; e < n; e++) dst[e] = (double)f[e];
    } else {
        assay_convert(ASSAY_F64, dst, j->dtype[i], src, (size_t)n);
    }
}

/* Fills dst with elements [at, at + n) of input i in the output's order. */
static void load(const map_job *j, uint32_t i, int64_t at, double *dst, int64_t n) {
    if (j->rank == 0) { load_run(j, i, 0, 0, dst, n); return; }
    uint32_t last = j->rank - 1;
    while (n > 0) {
        int64_t rest = at, offset = 0, inner = at % j->shape[last];
        for (uint32_t a = j->rank; a-- > 0;) {
            offset += rest % j->shape[a] * j->stride[i][a];
            rest /= j->shape[a];
        }
        int64_t run = j->shape[last] - inner < n ? j->shape[last] - inner : n;
        load_run(j, i, offset, j->stride[i][last], dst, run);
        dst += run;
        at += run;
        n -= run;
    }
}

static void store(const map_job *j, int64_t at, double *v, int64_t n) {
    char *dst = j->out + (size_t)at * assay_dtype_size(j->out_dtype);
    for (int64_t e = 0; e < n; e++)
        v[e] = v[e] != v[e] ? (double)NAN : v[e];
    if (j->out_dtype == ASSAY_F16) { assay_narrow_f64_f16(j->k, v, (uint16_t *)(void *)dst, n); return; }
    assay_convert(j->out_dtype, dst, ASSAY_F64, v, (size_t)n);
}

static void map_task(void *ctx, uint64_t task, uint32_t worker) {
    const map_job *j = ctx;
    (void)worker;
    double in[ASSAY_MAP_INPUTS][ASSAY_MAP_PIECE], out[ASSAY_MAP_PIECE];
    const double *ptr[ASSAY_MAP_INPUTS] = { in[0], in[1], in[2], in[3] };
    int64_t end = ((int64_t)task + 1) * TASK < j->count ? ((int64_t)task + 1) * TASK : j->count;
    for (int64_t at = (int64_t)task * TASK; at < end; at += ASSAY_MAP_PIECE) {
        int64_t n = end - at < ASSAY_MAP_PIECE ? end - at : ASSAY_MAP_PIECE;
        for (uint32_t i = 0; i < j->n_in; i++) load(j, i, at, in[i], n);
        j->fn(j->ctx, ptr, out, n);
        store(j, at, out, n);
    }
}

assay_status assay_map(assay_eval *ev, const assay_tensor *const *in, uint32_t n_in, assay_tensor *out, assay_map_fn fn, const void *ctx, assay_error *err) {
    map_job j = { .k = ev->k, .fn = fn, .ctx = ctx, .n_in = n_in, .out = out->data, .out_dtype = out->dtype, .count = assay_tensor_count(out) };
    memcpy(j.shape, out->shape, sizeof j.shape);
    for (uint32_t i = 0; i < n_in; i++) {
        j.data[i] = in[i]->data;
        j.dtype[i] = in[i]->dtype;
        if (!broadcast_strides(in[i], out, j.stride[i])) return assay_op_fail(err, ev->op, "inputs do not broadcast to the output");
    }
    merge_axes(&j, out->rank);
    assay_eval_parallel(ev, (j.count + TASK - 1) / TASK, TASK, map_task, &j);
    return ASSAY_OK;
}

assay_status assay_map_args(assay_eval *ev, const char *const *keys, assay_map_fn fn, const void *ctx, assay_error *err) {
    const assay_tensor *in[ASSAY_MAP_INPUTS];
    uint32_t n = 0;
    for (; n < ASSAY_MAP_INPUTS && keys[n]; n++) {
        in[n] = assay_eval_in(ev, keys[n]);
        if (!in[n]) return assay_op_fail(err, ev->op, "argument '%s' has no value", keys[n]);
    }
    assay_tensor *out = assay_eval_out(ev, 0, err);
    return out ? assay_map(ev, in, n, out, fn, ctx, err) : ASSAY_E_NOMEM;
}
