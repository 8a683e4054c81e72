/* Tensors: counts, strided views, copies in C order, digests, layouts. */
#include "suite.h"
#include "base/digest.h"
#include "tensor/layout.h"

static assay_own_tensor counting(uint32_t rank, const int64_t *shape) {
    assay_own_tensor t;
    CU_ASSERT_EQUAL_FATAL(assay_tensor_new(ASSAY_I32, rank, shape, &t, NULL), ASSAY_OK);
    for (int64_t i = 0; i < assay_tensor_count(&t.t); i++) ((int32_t *)t.t.data)[i] = (int32_t)i;
    return t;
}

static void new_tensors_are_zero_and_aligned(void) {
    const int64_t shape[3] = { 2, 3, 5 }, none[2] = { 4, 0 };
    assay_own_tensor t;
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F64, 3, shape, &t, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_count(&t.t) == 30 && t.t.nbytes == 240 && (uintptr_t)t.t.data % 64 == 0);
    for (int i = 0; i < 30; i++) CU_ASSERT_EQUAL(((double *)t.t.data)[i], 0);
    assay_tensor_free(&t);
    assay_tensor_free(&t);
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 2, none, &t, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_count(&t.t) == 0 && t.t.nbytes == 0 && assay_tensor_is_contiguous(&t.t));
    assay_tensor_free(&t);
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 0, NULL, &t, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_tensor_count(&t.t), 1);
    assay_tensor_free(&t);
}

static void impossible_shapes_are_refused(void) {
    const int64_t negative[1] = { -1 }, large[3] = { INT64_MAX, INT64_MAX, 2 }, past[2] = { INT64_C(1) << 40, INT64_C(1) << 40 };
    assay_own_tensor t;
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 1, negative, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 3, large, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 2, past, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_tensor_new(ASSAY_F16, 9, past, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_tensor_new(77, 1, past, &t, &e), ASSAY_E_TYPE);
    assay_tensor view = assay_tensor_view(ASSAY_F16, 3, large, NULL);
    CU_ASSERT_EQUAL(assay_tensor_count(&view), -1);
    char text[160];
    int64_t shape[8];
    for (int i = 0; i < 8; i++) shape[i] = INT64_MIN;
    CU_ASSERT_STRING_EQUAL(assay_shape_text(3, (int64_t[]){ 2, 750, 1280 }, text), "[2,750,1280]");
    CU_ASSERT_STRING_EQUAL(assay_shape_text(0, NULL, text), "[]");
    CU_ASSERT(strlen(assay_shape_text(8, shape, text)) < 160);
}

/* Every permutation, slice and selection read in C order gives what the indices say. */
static void views_read_in_c_order(void) {
    const int64_t shape[3] = { 3, 4, 5 };
    static const uint32_t perms[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    assay_own_tensor t = counting(3, shape);
    for (int p = 0; p < 6; p++) {
        assay_tensor v, s;
        CU_ASSERT(assay_tensor_permute(&t.t, perms[p], &v));
        CU_ASSERT_EQUAL(assay_tensor_is_contiguous(&v), p == 0);
        for (uint32_t axis = 0; axis < 3; axis++) {
            CU_ASSERT(assay_tensor_slice(&v, axis, 1, v.shape[axis] - 1, &s));
            double got[60];
            assay_tensor_read(&s, ASSAY_F64, got);
            int64_t n = 0;
            for (int64_t i = 0; i < s.shape[0]; i++)
                for (int64_t j = 0; j < s.shape[1]; j++)
                    for (int64_t k = 0; k < s.shape[2]; k++, n++) {
                        int64_t at[3] = { i, j, k }, flat = 0;
                        at[axis]++;
                        int64_t source[3];
                        for (int x = 0; x < 3; x++) source[perms[p][x]] = at[x];
                        flat = (source[0] * 4 + source[1]) * 5 + source[2];
                        CU_ASSERT_EQUAL_FATAL(got[n], (double)flat);
                        CU_ASSERT_EQUAL_FATAL(*(int32_t *)assay_tensor_at(&s, n), flat);
                    }
        }
    }
    assay_tensor_free(&t);
}

static void views_out_of_range_are_refused(void) {
    const int64_t shape[2] = { 3, 4 }, wrong[2] = { 5, 2 };
    assay_own_tensor t = counting(2, shape);
    assay_tensor v;
    CU_ASSERT(!assay_tensor_slice(&t.t, 2, 0, 1, &v));
    CU_ASSERT(!assay_tensor_slice(&t.t, 0, 3, 1, &v));
    CU_ASSERT(!assay_tensor_slice(&t.t, 0, -1, 1, &v));
    CU_ASSERT(!assay_tensor_slice(&t.t, 0, 1, INT64_MAX, &v));
    CU_ASSERT(assay_tensor_slice(&t.t, 0, 3, 0, &v) && assay_tensor_count(&v) == 0);
    CU_ASSERT(!assay_tensor_select(&t.t, 1, 4, &v));
    CU_ASSERT(assay_tensor_select(&t.t, 1, 3, &v) && v.rank == 1 && v.shape[0] == 3 && *(int32_t *)assay_tensor_at(&v, 2) == 11);
    CU_ASSERT(!assay_tensor_reshape(&t.t, 2, wrong, &v));
    CU_ASSERT(!assay_tensor_permute(&t.t, (uint32_t[]){ 0, 0 }, &v));
    CU_ASSERT(!assay_tensor_permute(&t.t, (uint32_t[]){ 0, 2 }, &v));
    CU_ASSERT(assay_tensor_permute(&t.t, (uint32_t[]){ 1, 0 }, &v) && !assay_tensor_reshape(&v, 2, shape, &v));
    assay_tensor_free(&t);
}

static void digest_is_of_elements_never_of_padding(void) {
    const int64_t shape[2] = { 40, 3 }, padded[2] = { 40, 8 };
    char a[65], b[65], c[65];
    assay_own_tensor t = counting(2, shape), big;
    CU_ASSERT_EQUAL_FATAL(assay_tensor_new(ASSAY_I32, 2, padded, &big, NULL), ASSAY_OK);
    memset(big.t.data, 0xAA, big.t.nbytes);
    assay_tensor view;
    CU_ASSERT(assay_tensor_slice(&big.t, 1, 0, 3, &view));
    for (int64_t i = 0; i < 120; i++) *(int32_t *)assay_tensor_at(&view, i) = (int32_t)i;
    assay_tensor_digest(&t.t, a);
    assay_tensor_digest(&view, b);
    assay_sha256_of(t.t.data, 480, c);
    CU_ASSERT(strcmp(a, b) == 0 && strcmp(a, c) == 0);
    assay_tensor turned;
    assay_own_tensor copy;
    CU_ASSERT(assay_tensor_permute(&t.t, (uint32_t[]){ 1, 0 }, &turned));
    CU_ASSERT_EQUAL_FATAL(assay_tensor_copy(&turned, ASSAY_F32, &copy, NULL), ASSAY_OK);
    CU_ASSERT(copy.t.dtype == ASSAY_F32 && ((float *)copy.t.data)[41] == 4.f);
    CU_ASSERT(!assay_tensor_same_shape(&turned, &t.t) && assay_tensor_same_shape(&turned, &copy.t));
    assay_tensor_free(&copy);
    assay_tensor_free(&big);
    assay_tensor_free(&t);
}

/* ---- layouts ---- */

static void tags_name_their_axes(void) {
    CU_ASSERT_EQUAL(assay_layout_parse("BC1S"), ASSAY_BC1S);
    CU_ASSERT_EQUAL(assay_layout_parse("BCS"), 0);
    CU_ASSERT_EQUAL(assay_layout_parse(NULL), 0);
    for (int32_t l = ASSAY_BSD; l <= ASSAY_BHSE; l++) CU_ASSERT_EQUAL(assay_layout_parse(assay_layout_name(l)), l);
    CU_ASSERT_STRING_EQUAL(assay_layout_name(99), "none");
    CU_ASSERT(assay_layout_axis(ASSAY_BC1S, 'S') == 3 && assay_layout_axis(ASSAY_BC1S, 'D') == 1 && assay_layout_axis(ASSAY_BSD, 'H') == -1);
    CU_ASSERT(assay_layout_axis(ASSAY_BHSE, 'C') == 3 && assay_layout_axis(ASSAY_BHSD, 'H') == 1 && assay_layout_axis(0, 'B') == -1);
}

/* M111_both: the four helpers of the guide, element by element and round trip; what does not fit is refused. */
static void conversions_put_each_element_in_its_place(void) {
    enum { B = 2, S = 3, H = 2, E = 5, D = H * E };
    const int64_t shape[3] = { B, S, D };
    assay_own_tensor x = counting(3, shape), channels, heads, back;
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&x.t, ASSAY_BSD, ASSAY_BC1S, 0, &channels, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&x.t, ASSAY_BSD, ASSAY_BHSD, H, &heads, NULL), ASSAY_OK);
    CU_ASSERT(channels.t.rank == 4 && channels.t.shape[1] == D && channels.t.shape[2] == 1 && heads.t.shape[3] == E);
    for (int b = 0; b < B; b++)
        for (int s = 0; s < S; s++)
            for (int d = 0; d < D; d++) {
                const int32_t want = ((int32_t *)x.t.data)[(b * S + s) * D + d];
                CU_ASSERT_EQUAL(((int32_t *)channels.t.data)[(b * D + d) * S + s], want);
                CU_ASSERT_EQUAL(((int32_t *)heads.t.data)[((b * H + d / E) * S + s) * E + d % E], want);
            }
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&channels.t, ASSAY_BC1S, ASSAY_BSD, 0, &back, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_same_shape(&back.t, &x.t) && memcmp(back.t.data, x.t.data, x.t.nbytes) == 0);
    assay_tensor_free(&back);
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&heads.t, ASSAY_BHSD, ASSAY_BSD, 0, &back, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_same_shape(&back.t, &x.t) && memcmp(back.t.data, x.t.data, x.t.nbytes) == 0);
    assay_tensor_free(&back);
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&heads.t, ASSAY_BHSD, ASSAY_BC1S, 0, &back, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_same_shape(&back.t, &channels.t) && memcmp(back.t.data, channels.t.data, channels.t.nbytes) == 0);
    assay_tensor_free(&back);
    CU_ASSERT_EQUAL_FATAL(assay_layout_convert(&channels.t, ASSAY_BC1S, ASSAY_BHSD, H, &back, NULL), ASSAY_OK);
    CU_ASSERT(assay_tensor_same_shape(&back.t, &heads.t) && memcmp(back.t.data, heads.t.data, heads.t.nbytes) == 0);
    assay_tensor_free(&back);
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_layout_convert(&channels.t, ASSAY_BC1S, ASSAY_BHSD, 3, &back, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_layout_convert(&x.t, ASSAY_BSD, ASSAY_BHSD, 3, &back, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_layout_convert(&x.t, ASSAY_BC1S, ASSAY_BSD, 0, &back, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_layout_convert(&heads.t, ASSAY_BC1S, ASSAY_BSD, 0, &back, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_layout_convert(&x.t, ASSAY_BSD, ASSAY_B1KQ, 0, &back, &e), ASSAY_E_UNSUPPORTED);
    assay_tensor_free(&x);
    assay_tensor_free(&channels);
    assay_tensor_free(&heads);
}

ASSAY_SUITE("tensor", TEST(new_tensors_are_zero_and_aligned), TEST(impossible_shapes_are_refused), TEST(views_read_in_c_order), TEST(views_out_of_range_are_refused),
            TEST(digest_is_of_elements_never_of_padding), TEST(tags_name_their_axes), TEST(conversions_put_each_element_in_its_place))
