/* tests/fuzz/fuzz_mlmodel.c: arbitrary bytes as a model message: refused, or read, checked, digested, printed and encoded. */
#include "ops/builtin.h"
#include "program/facts.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_program *p = NULL;
    assay_error err;
    assay_ops_register();
    if (assay_program_parse_model(data, size, "fuzz", NULL, &p, &err)) return 0;
    char hex[65];
    assay_program_validate(p, 1, &err);
    assay_program_digest(p, hex);
    assay_json_free(assay_program_facts(p));
    assay_program *q = assay_program_clone(p);
    assay_buf text = { 0 };
    if (!assay_program_write_mil(q, &text, &err)) {
        assay_program *r = NULL;
        if (!assay_program_parse_mil(text.data, text.len, "fuzz", NULL, &r, &err)) assay_program_free(r);
    }
    assay_buf_free(&text);
    assay_program_free(q);
    assay_program_free(p);
    return 0;
}
