/* Largest magnitude, fp16 headroom and subnormal share of every float value of a run. */
#include "backends/reference/ranges.h"
#include "base/fmath.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1024 };
static const double FP16_MAX = 65504.0, FP16_NORMAL_MIN = 0x1p-14;

static void measure(const assay_tensor *t, assay_range *r) {
    double v[PIECE];
    uint64_t n = (uint64_t)assay_tensor_count(t), tiny = 0, nonzero = 0;
    size_t size = assay_dtype_size(t->dtype);
    r->elements = n;
    r->max_abs = (double)NAN;
    for (uint64_t at = 0; at < n; at += PIECE) {                        /* values of a run are contiguous */
        uint64_t m = n - at < PIECE ? n - at : PIECE;
        assay_convert(ASSAY_F64, v, t->dtype, (const char *)t->data + at * size, m);
        for (uint64_t i = 0; i < m; i++) {
            double a = fabs(v[i]);
            if (!(a < (double)INFINITY)) { r->nonfinite++; continue; }
            if (!(a <= r->max_abs)) r->max_abs = a;
            nonzero += a > 0;
            tiny += a > 0 && a < FP16_NORMAL_MIN;
        }
    }
    r->headroom_bits = r->max_abs > 0 ? assay_log2(FP16_MAX / r->max_abs) : r->max_abs == 0 ? (double)INFINITY : (double)NAN;
    r->subnormal_share = nonzero ? (double)tiny / (double)nonzero : (double)NAN;
}

void assay_ranges_observe(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *t) {
    assay_ranges *all = ctx;
    bool constant = op && strcmp(op->type, "const") == 0;
    if (!assay_dtype_is_float(t->dtype) || (constant && assay_tensor_count(t) <= 1)) return;
    if (all->n == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 64;
        all->rows = assay_xrealloc(all->rows, all->cap * sizeof *all->rows);
    }
    assay_range *r = &all->rows[all->n++];
    *r = (assay_range){ .value = assay_xstrdup(v->name), .op = assay_xstrdup(op ? op->type : ""), .dtype = t->dtype };
    measure(t, r);
}

void assay_ranges_free(assay_ranges *r) {
    for (size_t i = 0; i < r->n; i++) {
        free(r->rows[i].value);
        free(r->rows[i].op);
    }
    free(r->rows);
    memset(r, 0, sizeof *r);
}
