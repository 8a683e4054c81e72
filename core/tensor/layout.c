/* tensor/layout.c: which axis of a tensor is what, and the conversions between token-major, head-split and channel-major forms. */
#include "tensor/layout.h"
#include "base/names.h"
#include <string.h>

/* The letters of a tag in axis order; '1' is an axis of one element. */
static const char *const tags[] = { NULL, "BSD", "BHSD", "BC1S", "B1KQ", "BS1D", "BHSE" };
enum { TAGS = sizeof tags / sizeof *tags };

int32_t assay_layout_parse(const char *tag) {
    for (int32_t i = 1; i < TAGS; i++)
        if (assay_streq(tag, tags[i])) return i;
    return ASSAY_LAYOUT_NONE;
}

const char *assay_layout_name(int32_t layout) { return layout > 0 && layout < TAGS ? tags[layout] : "none"; }

/* C, D and E are the same role (channels); a layout has at most one of them. */
int assay_layout_axis(int32_t layout, char role) {
    if (layout <= 0 || layout >= TAGS || role == '1' || role == '\0') return -1;
    const bool channel = role == 'C' || role == 'D' || role == 'E';
    for (int i = 0; tags[layout][i]; i++) {
        const char c = tags[layout][i];
        if (c == role || (channel && (c == 'C' || c == 'D' || c == 'E'))) return i;
    }
    return -1;
}

static assay_status copy_as(const assay_tensor *view, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err) {
    assay_status status = assay_tensor_copy(view, 0, out, err);
    if (status != ASSAY_OK) return status;
    out->t = assay_tensor_view(out->t.dtype, rank, shape, out->t.data);
    return ASSAY_OK;
}

/* A view of one axis as two: a axis of n = outer * inner elements. Always possible, whatever the strides are. */
static assay_tensor split_axis(const assay_tensor *t, uint32_t axis, int64_t outer) {
    assay_tensor r = *t;
    const int64_t inner = outer ? t->shape[axis] / outer : 0;
    for (uint32_t i = t->rank; i > axis + 1; i--) {
        r.shape[i] = t->shape[i - 1];
        r.stride[i] = t->stride[i - 1];
    }
    r.rank = t->rank + 1;
    r.shape[axis] = outer;
    r.stride[axis] = t->stride[axis] * inner;
    r.shape[axis + 1] = inner;
    r.stride[axis + 1] = t->stride[axis];
    return r;
}

static assay_status wrong_shape(const assay_tensor *in, int32_t from, const char *want, assay_error *err) {
    char text[160];
    return assay_fail(err, ASSAY_E_INPUT, "a tensor %s is not %s: %s", assay_shape_text(in->rank, in->shape, text), assay_layout_name(from), want);
}
static assay_status undivided(const assay_tensor *in, int32_t from, assay_error *err) {
    return wrong_shape(in, from, "the channels do not divide by the heads", err);
}
static assay_status no_width(const assay_tensor *in, assay_error *err) { return wrong_shape(in, ASSAY_BC1S, "axis 2 must have one element", err); }

/* ---- the conversions: a view of the right order, then one copy */

static const uint32_t swap_heads[] = { 0, 2, 1, 3 }, to_channels[] = { 0, 2, 1 }, last_two[] = { 0, 1, 3, 2 };

static assay_status bsd_to_bc1s(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape, shape[] = { s[0], s[2], 1, s[1] };
    assay_tensor v;
    (void)heads;
    assay_tensor_permute(in, to_channels, &v);
    return copy_as(&v, 4, shape, out, err);
}

static assay_status bc1s_to_bsd(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape, shape[] = { s[0], s[3], s[1] };
    assay_tensor flat, v;
    (void)heads;
    if (s[2] != 1) return no_width(in, err);
    assay_tensor_select(in, 2, 0, &flat);
    assay_tensor_permute(&flat, to_channels, &v);
    return copy_as(&v, 3, shape, out, err);
}

static assay_status bsd_to_bhsd(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape;
    if (heads < 1 || s[2] % heads != 0) return undivided(in, ASSAY_BSD, err);
    const int64_t shape[] = { s[0], heads, s[1], s[2] / heads };
    assay_tensor split = split_axis(in, 2, heads), v;
    assay_tensor_permute(&split, swap_heads, &v);
    return copy_as(&v, 4, shape, out, err);
}

static assay_status bhsd_to_bsd(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape, shape[] = { s[0], s[2], s[1] * s[3] };
    assay_tensor v;
    (void)heads;
    assay_tensor_permute(in, swap_heads, &v);
    return copy_as(&v, 3, shape, out, err);
}

static assay_status bhsd_to_bc1s(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape, shape[] = { s[0], s[1] * s[3], 1, s[2] };
    assay_tensor v;
    (void)heads;
    assay_tensor_permute(in, last_two, &v);
    return copy_as(&v, 4, shape, out, err);
}

static assay_status bc1s_to_bhsd(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err) {
    const int64_t *s = in->shape;
    if (s[2] != 1) return no_width(in, err);
    if (heads < 1 || s[1] % heads != 0) return undivided(in, ASSAY_BC1S, err);
    const int64_t shape[] = { s[0], heads, s[3], s[1] / heads };
    assay_tensor flat, v;
    assay_tensor_select(in, 2, 0, &flat);
    assay_tensor split = split_axis(&flat, 1, heads);
    assay_tensor_permute(&split, last_two, &v);
    return copy_as(&v, 4, shape, out, err);
}

static const struct {
    int32_t from, to;
    assay_status (*run)(const assay_tensor *in, int64_t heads, assay_own_tensor *out, assay_error *err);
} conversions[] = {{ASSAY_BSD, ASSAY_BC1S, bsd_to_bc1s},   {ASSAY_BC1S, ASSAY_BSD, bc1s_to_bsd},   {ASSAY_BSD, ASSAY_BHSD, bsd_to_bhsd},
                   {ASSAY_BHSD, ASSAY_BSD, bhsd_to_bsd},   {ASSAY_BHSD, ASSAY_BC1S, bhsd_to_bc1s}, {ASSAY_BC1S, ASSAY_BHSD, bc1s_to_bhsd}};

assay_status assay_layout_convert(const assay_tensor *in, int32_t from, int32_t to, int64_t heads, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    if (assay_layout_name(from)[0] != 'B' || in->rank != strlen(assay_layout_name(from)))
        return wrong_shape(in, from, "its rank differs", err);
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (conversions[i].from == from && conversions[i].to == to) return conversions[i].run(in, heads, out, err);
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "no conversion from layout %s to %s (among BSD, BHSD and BC1S each way is there)",
                      assay_layout_name(from), assay_layout_name(to));
}
