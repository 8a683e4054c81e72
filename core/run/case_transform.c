/* The closed list of transforms: each re-reads tensors (or pairs of samples) without a rounding. */
#include "run/case.h"
#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct context {
    const assay_json *t;
    assay_evidence_set *ev;
    assay_json *params, *extra;
    assay_error *err;
} context;
typedef assay_status change(context *x, const assay_item *item, assay_own_tensor *out);

static assay_status bad(context *x, const char *what) {
    return assay_fail(x->err, ASSAY_E_INPUT, "transform '%s': %s", assay_json_string(x->t, "name", "?"), what);
}

/* `role` narrows; without it every judged tensor is meant. */
static bool acts_on(const context *x, const assay_item *it, bool role_is_mask) {
    static const char *const all[] = {"reference", "control", "candidate", "negative", "must_fail"};
    const char *role = role_is_mask ? NULL : assay_json_string(x->t, "role", NULL);
    if (it->kind != ASSAY_K_OUTPUT) return false;
    if (role) return assay_streq(it->role, role);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (assay_streq(it->role, all[i])) return true;
    return false;
}

static assay_status each(context *x, bool role_is_mask, change *fn) {
    for (size_t i = 0; i < assay_evidence_len(x->ev); i++) {
        const assay_item *it = assay_evidence_at(x->ev, i);
        assay_own_tensor out;
        if (!acts_on(x, it, role_is_mask)) continue;
        assay_status st = fn(x, it, &out);
        if (st != ASSAY_OK) return st;
        assay_evidence_replace_tensor(x->ev, i, &out);
    }
    return ASSAY_OK;
}

/* A list has no axes: parameters that name one no longer apply. */
static void forget_axes(context *x) {
    static const char *const names[] = {"batch_axis", "head_axis", "token_axis", "channel_axis", "step_axis", "layout"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assay_json_remove(x->params, names[i]);
}

/* Elements of `in` for which keep(i) holds, as a list. */
static assay_status selected(context *x, const assay_tensor *in, const unsigned char *keep, assay_own_tensor *out) {
    int64_t n = assay_tensor_count(in), kept = 0;
    for (int64_t i = 0; i < n; i++) kept += keep[i] != 0;
    assay_status st = assay_tensor_new(in->dtype, 1, &kept, out, x->err);
    if (st != ASSAY_OK) return st;
    size_t size = assay_dtype_size(in->dtype);
    unsigned char *to = out->t.data;
    for (int64_t i = 0; i < n; i++)
        if (keep[i]) memcpy(to, assay_tensor_at(in, i), size), to += size;
    return ASSAY_OK;
}

/* ---- region */
static const assay_item *mask_for(const context *x, const char *label) {
    const char *role = assay_json_string(x->t, "role", "valid");
    const assay_item *any = NULL;
    for (size_t i = 0; i < assay_evidence_len(x->ev); i++) {
        const assay_item *it = assay_evidence_at(x->ev, i);
        if (it->kind != ASSAY_K_OUTPUT || !assay_streq(it->role, role)) continue;
        if (assay_streq(it->label, label)) return it;
        if (!*it->label) any = it;
    }
    return any;
}

static void count_outside(context *x, const assay_item *it, const unsigned char *keep) {
    uint64_t outside = 0;
    for (int64_t i = 0, n = assay_tensor_count(&it->tensor); i < n; i++)
        if (!keep[i]) outside += isfinite(assay_load_f64(it->tensor.dtype, assay_tensor_at(&it->tensor, i))) ? 0u : 1u;
    char *group = assay_xprintf("candidate%s%s", *it->label ? ":" : "", it->label);
    assay_json *g = assay_json_set(x->extra, group, assay_json_object());
    assay_json_set_number(g, "nonfinite_outside_region", (double)outside);
    free(group);
}

static assay_status region(context *x, const assay_item *it, assay_own_tensor *out) {
    const assay_item *mask = mask_for(x, it->label);
    if (!mask) return bad(x, "no tensor with the role that holds the mask");
    if (!assay_tensor_same_shape(&mask->tensor, &it->tensor)) return bad(x, "the mask has another shape than the tensor");
    int64_t n = assay_tensor_count(&it->tensor);
    unsigned char *keep = malloc((size_t)n + 1);
    if (!keep) return assay_fail(x->err, ASSAY_E_NOMEM, "no memory for a mask of %lld elements", (long long)n);
    for (int64_t i = 0; i < n; i++) keep[i] = assay_load_f64(mask->tensor.dtype, assay_tensor_at(&mask->tensor, i)) != 0;
    if (assay_streq(it->role, "candidate")) count_outside(x, it, keep);
    assay_status st = selected(x, &it->tensor, keep, out);
    free(keep);
    return st;
}

static assay_status transform_region(context *x) {
    const char *role = assay_json_string(x->t, "role", "valid");
    assay_status st = each(x, true, region);
    for (size_t i = assay_evidence_len(x->ev); st == ASSAY_OK && i-- > 0;)
        if (assay_streq(assay_evidence_at(x->ev, i)->role, role)) assay_evidence_remove(x->ev, i);
    forget_axes(x);
    return st;
}

/* ---- drop_index */
static assay_status drop(context *x, const assay_item *it, assay_own_tensor *out) {
    int64_t at = assay_json_int(x->t, "index", -1), n = assay_tensor_count(&it->tensor);
    if (at < 0 || at >= n) return bad(x, "index is not an element of the tensor");
    unsigned char *keep = malloc((size_t)n);
    if (!keep) return assay_fail(x->err, ASSAY_E_NOMEM, "no memory for %lld elements", (long long)n);
    memset(keep, 1, (size_t)n);
    keep[at] = 0;
    assay_status st = selected(x, &it->tensor, keep, out);
    free(keep);
    return st;
}
static assay_status transform_drop(context *x) {
    assay_status st = each(x, false, drop);
    forget_axes(x);
    return st;
}

/* ---- permute_axis, step */
static bool axis_of(const context *x, const assay_tensor *t, uint32_t *axis) {
    int64_t a = assay_json_int(x->t, "axis", -1);
    *axis = (uint32_t)a;
    return a >= 0 && a < (int64_t)t->rank;
}

static assay_status permute(context *x, const assay_item *it, assay_own_tensor *out) {
    const assay_json *order = assay_json_get(x->t, "order");
    uint32_t axis;
    if (!axis_of(x, &it->tensor, &axis)) return bad(x, "axis is not an axis of the tensor");
    if (assay_json_kind(order) != ASSAY_J_ARRAY || (int64_t)assay_json_len(order) != it->tensor.shape[axis])
        return bad(x, "order needs one index for each position of the axis");
    assay_status st = assay_tensor_copy(&it->tensor, 0, out, x->err);
    size_t size = assay_dtype_size(it->tensor.dtype);
    for (int64_t j = 0; st == ASSAY_OK && j < it->tensor.shape[axis]; j++) {
        double from = assay_json_value(assay_json_at(order, (size_t)j));
        assay_tensor a, b;
        if (!(from >= 0 && from < (double)it->tensor.shape[axis] && from == floor(from)))
            st = bad(x, "order holds something that is no index of the axis");
        else if (!assay_tensor_select(&it->tensor, axis, (int64_t)from, &a) || !assay_tensor_select(&out->t, axis, j, &b))
            st = bad(x, "this axis cannot be taken apart");
        for (int64_t i = 0, n = st == ASSAY_OK ? assay_tensor_count(&a) : 0; i < n; i++)
            memcpy(assay_tensor_at(&b, i), assay_tensor_at(&a, i), size);
        if (st != ASSAY_OK) assay_tensor_free(out);
    }
    return st;
}

static assay_status step(context *x, const assay_item *it, assay_own_tensor *out) {
    uint32_t axis;
    int64_t index = assay_json_int(x->t, "index", -1);
    assay_tensor view;
    if (!axis_of(x, &it->tensor, &axis)) return bad(x, "axis is not an axis of the tensor");
    if (index < 0 || index >= it->tensor.shape[axis] || !assay_tensor_select(&it->tensor, axis, index, &view))
        return bad(x, "index is not on the axis");
    return assay_tensor_copy(&view, 0, out, x->err);
}

/* ---- strides */
static bool read_list(const assay_json *l, uint32_t n, int64_t *out) {
    if (assay_json_kind(l) != ASSAY_J_ARRAY || assay_json_len(l) != n) return false;
    for (uint32_t i = 0; i < n; i++) {
        double v = assay_json_value(assay_json_at(l, i));
        if (!(v >= 0 && v <= 0x1p40 && v == floor(v))) return false;
        out[i] = (int64_t)v;
    }
    return true;
}

static assay_status strides(context *x, const assay_item *it, assay_own_tensor *out) {
    const assay_json *shape = assay_json_get(x->t, "shape");
    assay_own_tensor flat;
    assay_tensor view = {.dtype = it->tensor.dtype, .rank = (uint32_t)assay_json_len(shape)};
    int64_t offset = assay_json_int(x->t, "offset", 0), last = offset, n = assay_tensor_count(&it->tensor);
    if (view.rank > ASSAY_RANK_MAX || !read_list(shape, view.rank, view.shape) ||
        !read_list(assay_json_get(x->t, "strides"), view.rank, view.stride))
        return bad(x, "shape and strides are lists of whole numbers, equally long");
    for (uint32_t i = 0; i < view.rank; i++) {
        if (view.shape[i] == 0) return bad(x, "an axis of length 0");
        if (view.stride[i] && view.shape[i] - 1 > (n - 1) / view.stride[i])
            return bad(x, "the view reaches past the end of the data");
        last += (view.shape[i] - 1) * view.stride[i];
    }
    if (offset < 0 || last >= n) return bad(x, "the view reaches past the end of the data");
    assay_status st = assay_tensor_copy(&it->tensor, 0, &flat, x->err);
    if (st != ASSAY_OK) return st;
    size_t size = assay_dtype_size(view.dtype);
    view.data = (unsigned char *)flat.t.data + (size_t)offset * size;
    view.nbytes = (uint64_t)(n - offset) * size;
    st = assay_tensor_copy(&view, 0, out, x->err);
    assay_tensor_free(&flat);
    return st;
}

/* ---- pairs */
static assay_json *cut(const assay_json *list, int64_t from, int64_t count) {
    assay_json *out = assay_json_array();
    for (int64_t i = from; i < from + count; i++) assay_json_append(out, assay_json_clone(assay_json_at(list, (size_t)i)));
    return out;
}

static assay_status transform_pairs(context *x) {
    int64_t first = assay_json_int(x->t, "first", 0), count = assay_json_int(x->t, "count", -1);
    static const char *const lists[] = {"control", "candidate", "order"};
    for (size_t i = assay_evidence_len(x->ev); i-- > 0;) {
        const assay_item *it = assay_evidence_at(x->ev, i);
        if (it->kind != ASSAY_K_RECORD || !assay_streq(it->role, "samples")) continue;
        assay_json *doc = NULL;
        assay_status st = assay_json_parse(it->json, strlen(it->json), "samples", &doc, x->err);
        if (st != ASSAY_OK) return st;
        int64_t from = first + assay_json_int(doc, "warmup", 0);
        for (size_t k = 0; k < 3 && st == ASSAY_OK; k++) {
            const assay_json *l = assay_json_get(doc, lists[k]);
            if (!l) continue;
            if (first < 0 || count < 0 || count > (int64_t)assay_json_len(l) || from < 0 ||
                from > (int64_t)assay_json_len(l) - count)
                st = bad(x, "there are not so many pairs");
            else
                assay_json_set(doc, lists[k], cut(l, from, count));
        }
        if (st == ASSAY_OK) {
            assay_json_set_int(doc, "warmup", 0);
            assay_evidence_add_json(x->ev, it->role, it->label, it->arm, it->origin, it->sha256, doc);
            assay_evidence_remove(x->ev, i);
        }
        assay_json_free(doc);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

assay_status assay_case_transform(const assay_json *t, assay_evidence_set *ev, assay_json *params, assay_json *extra,
                                  assay_error *err) {
    static const char *const names[] = {"region", "drop_index", "permute_axis", "strides", "step", "pairs"};
    context x = {t, ev, params, extra, err};
    const char *name = assay_json_string(t, "name", "");
    char hint[96];
    if (assay_streq(name, "region")) return transform_region(&x);
    if (assay_streq(name, "drop_index")) return transform_drop(&x);
    if (assay_streq(name, "permute_axis")) return each(&x, false, permute);
    if (assay_streq(name, "strides")) return each(&x, false, strides);
    if (assay_streq(name, "step")) return each(&x, false, step);
    if (assay_streq(name, "pairs")) return transform_pairs(&x);
    return assay_fail(err, ASSAY_E_INPUT, "unknown transform '%.40s'%s", name,
                      assay_did_you_mean(hint, name, names, sizeof names / sizeof *names));
}
