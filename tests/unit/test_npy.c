/* .npy files: versions, orders, byte orders, hostile headers. */
#include "suite.h"
#include "base/fs.h"
#include "tensor/npy.h"
#include <unistd.h>

/* Magic, version, header length and text, then data; the text is taken as it is. */
static assay_buf file_of(int major, const char *text, const void *data, size_t n) {
    assay_buf b = {0};
    size_t len = strlen(text);
    assay_buf_add(&b, "\x93NUMPY", 6);
    assay_buf_char(&b, (char)major);
    assay_buf_char(&b, 0);
    for (int i = 0; i < (major == 1 ? 2 : 4); i++) assay_buf_char(&b, (char)(len >> 8 * i & 255));
    assay_buf_str(&b, text);
    assay_buf_add(&b, data, n);
    return b;
}

static assay_status parse(int major, const char *text, const void *data, size_t n, assay_own_tensor *t, assay_error *e) {
    assay_buf b = file_of(major, text, data, n);
    assay_status status = assay_npy_parse(b.data, b.len, "t", t, e);
    assay_buf_free(&b);
    return status;
}

static void versions_orders_and_ends_are_read(void) {
    static const unsigned char big[12] = { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 };
    static const int16_t little[6] = { 1, 2, 3, 4, 5, 6 };
    for (int major = 1; major <= 3; major++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int fortran = 0; fortran < 2; fortran++) {
                char text[128];
                snprintf(text, sizeof text, "{'descr': '%ci2', 'fortran_order': %s, 'shape': (2, 3), }   \n", swapped ? '>' : '<', fortran ? "True" : "False");
                assay_own_tensor t;
                CU_ASSERT_EQUAL_FATAL(parse(major, text, swapped ? (const void *)big : little, 12, &t, NULL), ASSAY_OK);
                double got[6];
                assay_tensor_read(&t.t, ASSAY_F64, got);
                CU_ASSERT(t.t.shape[0] == 2 && t.t.shape[1] == 3 && got[0] == 1 && got[5] == 6);
                CU_ASSERT_EQUAL(got[1], fortran ? 3 : 2);
                assay_tensor_free(&t);
            }
}

static void other_spellings_are_read(void) {
    static const char zero[64] = {0};
    static const struct { const char *text; size_t bytes; int64_t count; } rows[] = {
        { "{\"shape\": (), 'fortran_order': False, \"descr\": '=f8'}", 8, 1 },
        { "{'descr': '|b1','fortran_order': False,'shape': (7,)}", 7, 7 },
        { "{'descr': '|u1', 'fortran_order': True, 'shape': (2L, 3L)}", 6, 6 },
        { "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 5)}", 0, 0 },
        { "{'descr': '<u8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2)}", 16, 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assay_own_tensor t;
        CU_ASSERT_EQUAL_FATAL(parse(1, rows[i].text, zero, rows[i].bytes, &t, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_tensor_count(&t.t), rows[i].count);
        assay_tensor_free(&t);
    }
}

static void hostile_headers_are_refused(void) {
    static const char *const texts[] = {
        "", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", "{'descr': '', 'fortran_order': False, 'shape': (2,)}", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,),, }",
        "{'descr': '<f4\\n', 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4", "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (2,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (0x2,)}",
    };
    static const float data[2] = { 1, 2 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assay_own_tensor t;
        assay_error e = {0};
        assay_status status = parse(1, texts[i], data, sizeof data, &t, &e);
        if (status == ASSAY_OK) printf("accepted: %s\n", texts[i]);
        CU_ASSERT_NOT_EQUAL(status, ASSAY_OK);
        CU_ASSERT(strncmp(e.message, "t: ", 3) == 0);
        CU_ASSERT_PTR_NULL(t.t.data);
    }
}

static void short_and_long_files_say_so(void) {
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}";
    static const float data[4] = {0};
    assay_own_tensor t;
    assay_error e = {0};
    CU_ASSERT_EQUAL(parse(1, text, data, 8, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "t: 8 data bytes for fp32 [3], 12 wanted: the file is cut short");
    CU_ASSERT_EQUAL(parse(1, text, data, 16, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "t: 4 bytes after the data of fp32 [3]; one array a file");
    CU_ASSERT_EQUAL(parse(4, text, data, 12, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_npy_parse("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, "t", &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_npy_parse("PK\3\4", 4, "t", &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "t: not a .npy file");
}

static void every_truncation_and_flip_is_survived(void) {
    static const float data[2] = { 1, 2 };
    assay_buf b = file_of(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", data, sizeof data);
    assay_own_tensor t;
    for (size_t n = 0; n < b.len; n++) CU_ASSERT_NOT_EQUAL(assay_npy_parse(b.data, n, "t", &t, NULL), ASSAY_OK);
    for (size_t i = 0; i < b.len; i++)
        for (int c = 0; c < 256; c++) {
            char keep = b.data[i];
            b.data[i] = (char)c;
            if (assay_npy_parse(b.data, b.len, "t", &t, NULL) == ASSAY_OK) {
                double sum[8];
                CU_ASSERT(assay_tensor_count(&t.t) <= 8);
                assay_tensor_read(&t.t, ASSAY_F64, sum);
            }
            assay_tensor_free(&t);
            b.data[i] = keep;
        }
    assay_buf_free(&b);
}

/* ---- writing ---- */

static void what_is_written_reads_back(void) {
    char path[] = "/tmp/assay-test-npy-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    static const int64_t shape[3] = { 2, 1, 3 };
    for (int32_t d = ASSAY_F16; d <= ASSAY_U64; d++)
        for (uint32_t rank = 0; rank <= 3; rank++) {
            assay_own_tensor t, back;
            assay_error e = {0};
            CU_ASSERT_EQUAL_FATAL(assay_tensor_new(d, rank, shape, &t, NULL), ASSAY_OK);
            for (int64_t i = 0; i < assay_tensor_count(&t.t); i++) assay_store_f64(d, assay_tensor_at(&t.t, i), (double)i + 1);
            assay_status status = assay_npy_write(path, &t.t, &e);
            CU_ASSERT_EQUAL(status, d == ASSAY_BF16 ? ASSAY_E_UNSUPPORTED : ASSAY_OK);
            if (status == ASSAY_OK) {
                CU_ASSERT_EQUAL_FATAL(assay_npy_read(path, &back, NULL), ASSAY_OK);
                CU_ASSERT(back.t.dtype == d && assay_tensor_same_shape(&t.t, &back.t) && memcmp(t.t.data, back.t.data, t.t.nbytes) == 0);
                assay_tensor_free(&back);
            }
            assay_tensor_free(&t);
        }
    unlink(path);
}

static void the_bytes_are_those_that_numpy_writes(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    static const char *const names[] = { "mini-x-normal.npy", "mini-ref-normal.npy", "mini-wbq-gain1.npy" };
    char path[1024], out[] = "/tmp/assay-test-npy-XXXXXX";
    int fd = mkstemp(out);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/fixtures/%s", shared, names[i]);
        assay_own_tensor t;
        assay_map a, b;
        CU_ASSERT_EQUAL_FATAL(assay_npy_read(path, &t, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(assay_npy_write(out, &t.t, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(assay_map_file(path, &a, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(assay_map_file(out, &b, NULL), ASSAY_OK);
        CU_ASSERT(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
        assay_unmap(&a);
        assay_unmap(&b);
        assay_tensor_free(&t);
    }
    unlink(out);
}

static void a_permuted_view_is_written_in_c_order(void) {
    char out[] = "/tmp/assay-test-npy-XXXXXX";
    int fd = mkstemp(out);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    static int16_t v[6] = { 0, 1, 2, 3, 4, 5 };
    const int64_t shape[2] = { 2, 3 };
    assay_tensor t = assay_tensor_view(ASSAY_I16, 2, shape, v), turned;
    assay_own_tensor back;
    CU_ASSERT(assay_tensor_permute(&t, (uint32_t[]){ 1, 0 }, &turned));
    CU_ASSERT_EQUAL_FATAL(assay_npy_write(out, &turned, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_npy_read(out, &back, NULL), ASSAY_OK);
    CU_ASSERT(back.t.shape[0] == 3 && memcmp(back.t.data, ((int16_t[]){ 0, 3, 1, 4, 2, 5 }), 12) == 0);
    assay_tensor_free(&back);
    unlink(out);
}

ASSAY_SUITE("npy", TEST(versions_orders_and_ends_are_read), TEST(other_spellings_are_read), TEST(hostile_headers_are_refused), TEST(short_and_long_files_say_so),
            TEST(every_truncation_and_flip_is_survived), TEST(what_is_written_reads_back), TEST(the_bytes_are_those_that_numpy_writes),
            TEST(a_permuted_view_is_written_in_c_order))
