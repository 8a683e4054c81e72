/* Inputs, outputs and scratch of an op while it runs. */
#include "ops/eval.h"
#include "ops/slots.h"
#include "ops/pool.h"
#include "base/threads.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- slots */
void assay_slot_clear(assay_slot *s) {
    if (s->ref && --s->ref->users == 0) {
        assay_tensor_free(&s->ref->own);
        assay_pool_put(s->ref);
    }
    memset(s, 0, sizeof *s);
}

void assay_slot_own(assay_pool *p, assay_slot *s, assay_own_tensor *own) {
    assay_slot_clear(s);
    s->ref = assay_pool_node(p, sizeof *s->ref);
    s->ref->own = *own;
    s->ref->users = 1;
    s->t = own->t;
    memset(own, 0, sizeof *own);
}

void assay_slot_share(assay_slot *s, const assay_slot *from) {
    assay_slot copy = *from;
    if (copy.ref) copy.ref->users++;
    assay_slot_clear(s);
    *s = copy;
}

void assay_scratch_free(assay_scratch *s) {
    while (s->last) {
        assay_scratch_block *b = s->last;
        s->last = b->before;
        assay_tensor_free(&b->own);
        assay_pool_put(b);
    }
}

static assay_own_tensor *scratch_tensor(assay_eval *ev) {
    assay_scratch_block *b = assay_pool_node(ev->pool, sizeof *b);
    b->before = ev->scratch->last;
    ev->scratch->last = b;
    return &b->own;
}

void *assay_eval_scratch(assay_eval *ev, uint64_t count, uint64_t size, assay_error *err) {
    if (size && count > (UINT64_MAX >> 1) / size) {
        assay_fail(err, ASSAY_E_NOMEM, "%s: out of memory", ev->op->type);
        return NULL;
    }
    int64_t n = (int64_t)(count * size);
    if (n == 0) n = 1;
    assay_own_tensor *own = scratch_tensor(ev);
    if (assay_pool_take(ev->pool, ASSAY_U8, 1, &n, own, err) != ASSAY_OK) return NULL;
    return own->t.data;
}

/* ---- inputs */
static assay_slot *find_slot(assay_eval *ev, const char *key, uint32_t i) {
    const assay_mil_arg *a = assay_op_arg(ev->op, key);
    if (!a || i >= a->n || !a->items[i].value) return NULL;
    return &ev->slots[a->items[i].value->id];
}

static const assay_tensor *literal_tensor(assay_eval *ev, const assay_mil_const *c) {
    assay_own_tensor *own = scratch_tensor(ev);
    return assay_const_read(c, own, NULL) == ASSAY_OK ? &own->t : NULL;
}

const assay_tensor *assay_eval_in_at(assay_eval *ev, const char *key, uint32_t i) {
    const assay_slot *s = find_slot(ev, key, i);
    if (s) return s->t.dtype ? &s->t : NULL;
    const assay_mil_arg *a = assay_op_arg(ev->op, key);
    if (a) return i < a->n && a->items[i].literal ? literal_tensor(ev, a->items[i].literal) : NULL;
    const assay_mil_const *attr = assay_op_attr(ev->op, key);           /* constexpr ops up to opset CoreML7 */
    return attr ? literal_tensor(ev, attr) : NULL;
}

const assay_tensor *assay_eval_in(assay_eval *ev, const char *key) { return assay_eval_in_at(ev, key, 0); }

const void *assay_eval_as(assay_eval *ev, const assay_tensor *t, int32_t dtype, assay_error *err) {
    if (t->dtype == dtype) return t->data;
    int64_t n = assay_tensor_count(t);
    void *buf = assay_eval_scratch(ev, (uint64_t)n, assay_dtype_size(dtype), err);
    if (buf) assay_eval_convert(ev, dtype, buf, t->dtype, t->data, n);
    return buf;
}

/* ---- outputs */
bool assay_eval_wide(const assay_eval *ev) {
    int32_t d = ev->out_dtypes[0];
    return d != ASSAY_F16 && d != ASSAY_F32 && d != ASSAY_BF16;
}

assay_tensor *assay_eval_out(assay_eval *ev, uint32_t i, assay_error *err) {
    assay_slot *s = &ev->outs[i];
    if (!s->ref) {
        const assay_mil_type *t = ev->out_types[i];
        assay_own_tensor own;
        if (assay_pool_take(ev->pool, ev->out_dtypes[i], t->rank, t->dims, &own, err) != ASSAY_OK) return NULL;
        assay_slot_own(ev->pool, s, &own);
    }
    return &s->t;
}

static assay_status same_count(const assay_eval *ev, uint32_t i, const assay_tensor *t, assay_error *err) {
    const assay_mil_type *want = ev->out_types[i];
    assay_tensor shaped = assay_tensor_view(t->dtype, want->rank, want->dims, NULL);
    if (assay_tensor_count(&shaped) == assay_tensor_count(t)) return ASSAY_OK;
    char a[160], b[160];
    return assay_op_fail(err, ev->op, "cannot make %s from %s", assay_shape_text(want->rank, want->dims, a),
                         assay_shape_text(t->rank, t->shape, b));
}

assay_status assay_eval_share(assay_eval *ev, uint32_t i, const assay_tensor *in, assay_error *err) {
    ASSAY_TRY(same_count(ev, i, in, err));
    const assay_mil_type *want = ev->out_types[i];
    for (uint32_t a = 0; a < ev->op->n_args; a++)
        for (uint32_t b = 0; b < ev->op->args[a].n; b++) {
            const assay_mil_value *v = ev->op->args[a].items[b].value;
            if (!v || &ev->slots[v->id].t != in || in->dtype != ev->out_dtypes[i]) continue;
            assay_slot_share(&ev->outs[i], &ev->slots[v->id]);
            ev->outs[i].t = assay_tensor_view(in->dtype, want->rank, want->dims, in->data);
            return ASSAY_OK;
        }
    assay_tensor *out = assay_eval_out(ev, i, err);                  /* a literal, or held otherwise */
    if (!out) return ASSAY_E_NOMEM;
    assay_eval_convert(ev, out->dtype, out->data, in->dtype, in->data, assay_tensor_count(in));
    return ASSAY_OK;
}

assay_status assay_eval_adopt(assay_eval *ev, uint32_t i, assay_own_tensor *own, assay_error *err) {
    ASSAY_TRY(same_count(ev, i, &own->t, err));
    if (own->t.dtype == ev->out_dtypes[i] && assay_tensor_is_contiguous(&own->t)) {
        assay_slot_own(ev->pool, &ev->outs[i], own);
        return ASSAY_OK;
    }
    assay_tensor *out = assay_eval_out(ev, i, err);
    if (!out) return ASSAY_E_NOMEM;
    assay_tensor_read(&own->t, out->dtype, out->data);
    assay_tensor_free(own);
    return ASSAY_OK;
}

/* Results hardly ever hold a NaN: look at a piece first (a loop that compilers turn into vectors), write only where one is. */
enum { PIECE = 64 };

static void canonical_f32(float *p, int64_t n) {
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t left = n - at < PIECE ? n - at : PIECE;
        int32_t found = left < PIECE;
        if (!found)
            for (int i = 0; i < PIECE; i++) found |= p[at + i] != p[at + i];
        for (int64_t i = at; found && i < at + left; i++) p[i] = p[i] != p[i] ? NAN : p[i];
    }
}

static void canonical_f64(double *p, int64_t n) {
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t left = n - at < PIECE ? n - at : PIECE;
        int64_t found = left < PIECE;
        if (!found)
            for (int i = 0; i < PIECE; i++) found |= p[at + i] != p[at + i];
        for (int64_t i = at; found && i < at + left; i++) p[i] = p[i] != p[i] ? (double)NAN : p[i];
    }
}

void assay_canonical_nan(const assay_tensor *t) {
    if (t->dtype == ASSAY_F32) canonical_f32(t->data, assay_tensor_count(t));
    if (t->dtype == ASSAY_F64) canonical_f64(t->data, assay_tensor_count(t));
}

static void *destination(assay_eval *ev, uint32_t i, int32_t dtype, assay_error *err) {
    assay_tensor *out = assay_eval_out(ev, i, err);
    if (!out) return NULL;
    if (out->dtype == dtype) return out->data;
    return assay_eval_scratch(ev, (uint64_t)assay_tensor_count(out), assay_dtype_size(dtype), err);
}

static void put(assay_eval *ev, uint32_t i, int32_t dtype, const void *src) {
    assay_tensor *out = &ev->outs[i].t;
    if (out->data != src) assay_eval_convert(ev, out->dtype, out->data, dtype, src, assay_tensor_count(out));
    assay_canonical_nan(out);
}

float *assay_eval_dst_f32(assay_eval *ev, uint32_t i, assay_error *err) { return destination(ev, i, ASSAY_F32, err); }
double *assay_eval_dst_f64(assay_eval *ev, uint32_t i, assay_error *err) { return destination(ev, i, ASSAY_F64, err); }
void assay_eval_put_f32(assay_eval *ev, uint32_t i, const float *src) { put(ev, i, ASSAY_F32, src); }
void assay_eval_put_f64(assay_eval *ev, uint32_t i, const double *src) { put(ev, i, ASSAY_F64, src); }

void assay_eval_parallel(const assay_eval *ev, int64_t n, int64_t work, void (*fn)(void *ctx, uint64_t i, uint32_t worker), void *ctx) {
    bool worth = n > 1 && n * work > (1 << 15);
    assay_parallel(worth ? ev->threads : 1, (uint64_t)n, fn, ctx);
}
