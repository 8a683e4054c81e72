/* Projection weights from files: safetensors, .npy, packages by data flow; hostile headers. */
#include "suite.h"
#include "script/weight_files.h"
#include "base/fs.h"
#include "ops/builtin.h"
#include <unistd.h>

static char folder[] = "/tmp/assay-weights-XXXXXX";

/* A safetensors file with the given header and eight bytes of data (float32 1 and 2). */
static const char *write_safetensors(const char *header, size_t said) {
    static char path[512];
    static unsigned char file[1024];
    if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) exit(70);
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++) file[i] = (unsigned char)(said >> (8 * i));
    memcpy(file + 8, header, n);
    const float data[2] = { 1, 2 };
    memcpy(file + 8 + n, data, sizeof data);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(path, file, 8 + n + sizeof data, NULL), ASSAY_OK);
    return path;
}

static assay_status read_q(const char *header, size_t said, const char *names, assay_own_tensor *t, assay_error *err) {
    assay_json *j = NULL;
    if (names) assay_json_parse(names, strlen(names), "names", &j, NULL);
    assay_status st = assay_weight_file_read(write_safetensors(header, said), "q", j, t, err);
    assay_json_free(j);
    return st;
}

static void reads_safetensors(void) {
    static const char h[] = "{\"model.q\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    assay_own_tensor t = { 0 };
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL_FATAL(read_q(h, strlen(h), "{\"q\":\"model.q\"}", &t, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(t.t.rank, 1);
    CU_ASSERT_EQUAL(((float *)t.t.data)[1], 2.0f);
    assay_tensor_free(&t);
    CU_ASSERT_EQUAL(read_q(h, strlen(h), "{\"q\":\"other\"}", &t, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "no tensor 'other' (asked for as weights.names.q)"));
    CU_ASSERT_EQUAL(read_q(h, strlen(h), "{\"k\":\"model.q\"}", &t, &err), ASSAY_E_MISSING);
}

static void refuses_hostile_safetensors(void) {
    static const char *const bad[] = { "{\"q\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,16]}}", "{\"q\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}",
        "{\"q\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "{\"q\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"q\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", "{\"q\":{\"dtype\":\"F32\",\"shape\":[1e30],\"data_offsets\":[0,8]}}",
        "{\"q\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", "{\"q\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}",
        "{\"q\":{\"dtype\":\"F32\",\"shape\":[4000000000,4000000000],\"data_offsets\":[0,8]}}", "{\"q\":3}", "[]", "{" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assay_own_tensor t = { 0 };
        assay_error err = { 0, "" };
        CU_ASSERT_NOT_EQUAL(read_q(bad[i], strlen(bad[i]), NULL, &t, &err), ASSAY_OK);
        CU_ASSERT_TRUE(err.message[0] != 0);
        assay_tensor_free(&t);
    }
    assay_own_tensor t = { 0 };
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(read_q("{}", SIZE_MAX, NULL, &t, &err), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(read_q("{}", 1 << 30, NULL, &t, &err), ASSAY_E_INPUT);
}

/* Fused and spelled-out packages hold the same projections: found by data flow, never by name. */
static void finds_projections_of_packages(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    assay_ops_register();
    static const char *const keys[] = { "q", "k", "v" };
    for (int i = 0; i < 3; i++) {
        char hex[2][65];
        for (int which = 0; which < 2; which++) {
            char path[600];
            snprintf(path, sizeof path, "%s/corpus/coremltools/attention/%s_tiny_fp16/model.mlpackage", shared, which ? "explicit" : "fused");
            assay_own_tensor t = { 0 };
            assay_error err = { 0, "" };
            CU_ASSERT_EQUAL_FATAL(assay_weight_file_read(path, keys[i], NULL, &t, &err), ASSAY_OK);
            CU_ASSERT_EQUAL(t.t.rank, 2);
            assay_tensor_digest(&t.t, hex[which]);
            assay_tensor_free(&t);
        }
        CU_ASSERT_STRING_EQUAL(hex[0], hex[1]);
    }
}

ASSAY_SUITE("weight files", TEST(reads_safetensors), TEST(refuses_hostile_safetensors), TEST(finds_projections_of_packages))
