/* Fuzz target: a weight file. The first byte chooses type and offset of the constant that a small program has there; the rest is
 * the file, kept open from run to run: a new one for each would take most of the time. */
#include "ops/builtin.h"
#include "program/facts.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], path[128];
static int file;
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
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) abort();
    atexit(leave);
    assay_ops_register();
}

static void write_file(const uint8_t *data, size_t size) {
    if (pwrite(file, data, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"fp16", "fp32", "int8", "uint8", "int4", "uint1", "uint3", "uint6", "int32", "bf16"};
    enum { TYPES = sizeof types / sizeof *types };
    char text[600];
    assay_program *p = NULL;
    assay_error err;
    if (!size) return 0;
    enter();
    write_file(data + 1, size - 1);
    const char *type = types[data[0] % TYPES];
    int offset = 64 * (1 + data[0] / TYPES % 4);
    snprintf(text, sizeof text,
             "program(1.3) { func main<ios18>(tensor<fp16, [1]> x) { tensor<%s, [5]> c = const()[name = string(\"c\"), val = "
             "tensor<%s, [5]>(BLOBFILE(path = string(\"@model_path/weight.bin\"), offset = uint64(%d)))]; } -> (x); }",
             type, type, offset);
    if (assay_program_parse_mil(text, strlen(text), "fuzz", dir, &p, &err) != ASSAY_OK) return 0;
    assay_json_free(assay_program_facts_full(p, ASSAY_FACTS_DIGESTS)); /* walks the records and reads their bytes */
    assay_program_free(p);
    return 0;
}
