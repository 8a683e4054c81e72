/* Fuzz target: a weight file. The first byte chooses the type of the constants that a small program has there; the rest is the
 * file. */
#include "ops/builtin.h"
#include "program/facts.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], path[128];
static void leave(void) {
    unlink(path);
    rmdir(dir);
}
static void enter(void) {
    struct stat st;
    if (dir[0]) return;
    snprintf(dir, sizeof dir, "%s/assay-fuzz-XXXXXX", stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir)) abort();
    snprintf(path, sizeof path, "%s/weight.bin", dir);
    atexit(leave);
    assay_ops_register();
}

static void write_file(const uint8_t *data, size_t size) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"fp16", "fp32", "int8", "uint8", "int4", "uint1", "uint3", "uint6", "int32", "bf16"};
    static const uint64_t offsets[] = {64, 128, 192, 256};
    char text[600];
    if (!size) return 0;
    enter();
    write_file(data + 1, size - 1);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        const char *type = types[data[0] % (sizeof types / sizeof *types)];
        assay_program *p = NULL;
        assay_error err;
        snprintf(text, sizeof text,
                 "program(1.3) { func main<ios18>(tensor<fp16, [1]> x) { tensor<%s, [5]> c = const()[name = string(\"c\"), val = "
                 "tensor<%s, [5]>(BLOBFILE(path = "
                 "string(\"@model_path/weight.bin\"), offset = uint64(%llu)))]; } -> (x); }",
                 type, type, (unsigned long long)offsets[i]);
        if (assay_program_parse_mil(text, strlen(text), "fuzz", dir, &p, &err) != ASSAY_OK) continue;
        assay_json_free(assay_program_facts_full(p, ASSAY_FACTS_DIGESTS)); /* walks the records and reads their bytes */
        assay_program_free(p);
    }
    return 0;
}
