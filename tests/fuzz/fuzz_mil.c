/* tests/fuzz/fuzz_mil.c: arbitrary bytes as MIL text: refused with a line, or read, printed and read again as an equal program. */
#include "ops/builtin.h"
#include "program/program.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_program *p = NULL, *q = NULL;
    assay_error err;
    assay_ops_register();
    if (assay_program_parse_mil((const char *)data, size, "fuzz", NULL, &p, &err)) return 0;
    assay_buf text = { 0 };
    if (!assay_program_write_mil(p, &text, &err)) {
        char a[65], b[65];
        if (assay_program_parse_mil(text.data, text.len, "again", NULL, &q, &err)) abort();
        assay_program_digest(p, a);
        assay_program_digest(q, b);
        if (strcmp(a, b)) abort();
    }
    assay_program_validate(p, 1, &err);
    assay_buf_free(&text);
    assay_program_free(q);
    assay_program_free(p);
    return 0;
}
