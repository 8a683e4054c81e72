/* .safetensors: what is read, what is refused (M173: keys and shapes are known before anything is mapped onto them). */
#include "suite.h"
#include "tensor/safetensors.h"
#include "base/fs.h"
#include "base/names.h"
#include <unistd.h>

static size_t file_of(const char *header, size_t data_bytes, unsigned char *out) {
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(n >> (8 * i) & 0xff);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < data_bytes; i++) out[8 + n + i] = (unsigned char)i;
    return 8 + n + data_bytes;
}

static void reads(void) {
    unsigned char b[1024];
    size_t n = file_of("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[6,14]},"
                       "\"a\":{\"dtype\":\"BF16\",\"shape\":[1,3],\"data_offsets\":[0,6]},\"e\":{\"dtype\":\"I64\",\"shape\":[0,"
                       "4],\"data_offsets\":[14,14]},"
                       "\"s\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[14,15]}}",
                       15, b);
    assay_safetensors *s;
    assay_own_tensor t;
    assay_error err = {0};
    CU_ASSERT_FATAL(assay_safetensors_parse(b, n, "mem", &s, &err) == ASSAY_OK);
    CU_ASSERT(assay_safetensors_count(s) == 4 && !strcmp(assay_safetensors_at(s, 0)->name, "b"));
    CU_ASSERT_FATAL(assay_safetensors_read(assay_safetensors_find(s, "b"), &t, &err) == ASSAY_OK); /* not aligned in the file */
    CU_ASSERT(t.t.dtype == ASSAY_F32 && t.t.rank == 1 && t.t.shape[0] == 2 && ((unsigned char *)t.t.data)[0] == 6);
    assay_tensor_free(&t);
    CU_ASSERT_FATAL(assay_safetensors_read(assay_safetensors_find(s, "e"), &t, &err) == ASSAY_OK);
    CU_ASSERT(assay_tensor_count(&t.t) == 0);
    assay_tensor_free(&t);
    CU_ASSERT(assay_safetensors_read(assay_safetensors_find(s, "s"), &t, &err) == ASSAY_E_UNSUPPORTED &&
              strstr(err.message, "F8_E4M3"));
    CU_ASSERT(!assay_safetensors_find(s, "c"));
    assay_safetensors_free(s);
}

static void refuses(void) {
    static const struct {
        const char *header;
        size_t data;
        const char *words;
    } rows[] = {{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, "outside the file"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, "behind the last tensor"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "disagree"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "no whole number"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", 8, "no whole number"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8, "disagree"},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8, "more than 8"},
                {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "no shape"},
                {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "unknown dtype 'F31'"},
                {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[5],\"data_"
                 "offsets\":[3,8]}}",
                 8, "overlaps"},
                {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_"
                 "offsets\":[5,8]}}",
                 8, "a hole"},
                {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[8,0]}}", 8, "outside the file"},
                {"{\"a\":1,\"a\":2}", 0, "mem"},
                {"[]", 0, "no JSON object"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char b[1024];
        assay_safetensors *s = NULL;
        assay_error err = {0};
        size_t n = file_of(rows[i].header, rows[i].data, b);
        CU_ASSERT(assay_safetensors_parse(b, n, "mem", &s, &err) != ASSAY_OK && s == NULL);
        if (!strstr(err.message, rows[i].words)) printf("\n  '%s' lacks '%s'\n", err.message, rows[i].words);
        CU_ASSERT(strstr(err.message, rows[i].words) != NULL);
        for (size_t cut = 0; cut < n; cut++)
            if (assay_safetensors_parse(b, cut, "mem", &s, NULL) == ASSAY_OK) assay_safetensors_free(s);
    }
    unsigned char huge[16] = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'};
    assay_safetensors *s;
    assay_error err = {0};
    CU_ASSERT(assay_safetensors_parse(huge, 10, "mem", &s, &err) != ASSAY_OK && strstr(err.message, "does not fit"));
}

static void put(const char *dir, const char *name, const void *data, size_t n, char path[4096]) {
    snprintf(path, 4096, "%s/%s", dir, name);
    CU_ASSERT_FATAL(assay_write_inside(path, data, n, NULL) == ASSAY_OK);
}

static void shards(void) {
    char dir[] = "/tmp/assay-shards-XXXXXX", path[4096];
    unsigned char b[512];
    assay_safetensors *s = NULL;
    assay_error err = {0};
    CU_ASSERT_FATAL(mkdtemp(dir) != NULL);
    put(dir, "m-1.safetensors", b, file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, b), path);
    put(dir, "m-2.safetensors", b, file_of("{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, b), path);
    static const char good[] = "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}}",
                      lost[] = "{\"weight_map\":{\"a\":\"m-2.safetensors\"}}",
                      out[] = "{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}";
    put(dir, "m.safetensors.index.json", good, sizeof good - 1, path);
    CU_ASSERT(assay_is_safetensors(path));
    CU_ASSERT_FATAL(assay_safetensors_open(path, &s, &err) == ASSAY_OK);
    CU_ASSERT(assay_safetensors_count(s) == 2 && assay_ends_with(assay_safetensors_find(s, "b")->file, "m-2.safetensors"));
    assay_safetensors_free(s);
    put(dir, "m.safetensors.index.json", lost, sizeof lost - 1, path);
    CU_ASSERT(assay_safetensors_open(path, &s, &err) != ASSAY_OK && strstr(err.message, "no tensor 'a'"));
    put(dir, "m.safetensors.index.json", out, sizeof out - 1, path);
    CU_ASSERT(assay_safetensors_open(path, &s, &err) != ASSAY_OK && strstr(err.message, "no file of this folder"));
    assay_remove_tree(dir, NULL);
}

static void checkpoints(void) {
    char dir[] = "/tmp/assay-pt-XXXXXX", path[4096];
    assay_error err = {0};
    CU_ASSERT_FATAL(mkdtemp(dir) != NULL);
    put(dir, "pytorch_model.bin", "PK\3\4....", 8, path);
    CU_ASSERT(assay_refuse_checkpoint(path, &err) == ASSAY_E_UNSUPPORTED && strstr(err.message, "save_file") &&
              strstr(err.message, "weights_only=True"));
    put(dir, "weight.bin", "\1\0\0\0\2\0\0\0", 8, path);
    CU_ASSERT(assay_refuse_checkpoint(path, &err) == ASSAY_OK);
    CU_ASSERT(assay_refuse_checkpoint("x.pt", &err) == ASSAY_E_UNSUPPORTED);
    assay_remove_tree(dir, NULL);
}

ASSAY_SUITE("safetensors", TEST(reads), TEST(refuses), TEST(shards), TEST(checkpoints))
