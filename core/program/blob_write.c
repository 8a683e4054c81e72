/* Writing a weight file: a header, then records and data, each at a multiple of 64 (formats/mlpackage.md section 6). */
#include "program/write.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGN = 64, MIN_ELEMENTS = 10 };

static uint64_t align_up(uint64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

bool assay_blob_wants(const assay_mil_const *c, int32_t spec_version) {
    if (c->kind != ASSAY_CONST_DATA || assay_type_count(c->type) < MIN_ELEMENTS) return false;
    switch (c->type->dtype) {
    case ASSAY_MIL_INT16: case ASSAY_MIL_UINT16: case ASSAY_MIL_INT32: case ASSAY_MIL_UINT32: return spec_version >= 9;
    default: return assay_blob_code(c->type->dtype) != 0;
    }
}

uint64_t assay_blob_plan_add(assay_blob_plan *b, const assay_mil_const *c) {
    for (size_t i = 0; i < b->n; i++)
        if (b->consts[i] == c || (b->consts[i]->data == c->data && b->consts[i]->nbytes == c->nbytes && b->consts[i]->type->dtype == c->type->dtype))
            return b->offsets[i];
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        b->consts = assay_xrealloc(b->consts, b->cap * sizeof *b->consts);
        b->offsets = assay_xrealloc(b->offsets, b->cap * sizeof *b->offsets);
    }
    uint64_t at = align_up(b->n ? b->end : ALIGN);
    b->consts[b->n] = c;
    b->offsets[b->n++] = at;
    b->end = at + ALIGN + c->nbytes;
    return at;
}

void assay_blob_plan_free(assay_blob_plan *b) {
    free(b->consts);
    free(b->offsets);
}

static void put_u32(unsigned char *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static void put_u64(unsigned char *p, uint64_t v) { memcpy(p, &v, sizeof v); }

static bool write_record(FILE *f, uint64_t at, const assay_mil_const *c) {
    unsigned char r[ALIGN] = { 0 };
    uint64_t bits = assay_mil_dtype_bits(c->type->dtype);
    put_u32(r, 0xDEADBEEFu);
    put_u32(r + 4, (uint32_t)assay_blob_code(c->type->dtype));
    put_u64(r + 8, c->nbytes);
    put_u64(r + 16, at + ALIGN);
    if (bits < 8) put_u64(r + 24, c->nbytes * 8 - (uint64_t)assay_type_count(c->type) * bits);
    return fwrite(r, 1, sizeof r, f) == sizeof r && fwrite(c->data, 1, c->nbytes, f) == c->nbytes;
}

static bool write_all(FILE *f, const assay_blob_plan *b) {
    static const unsigned char zeros[ALIGN];
    unsigned char head[ALIGN] = { 0 };
    put_u32(head, (uint32_t)b->n);
    put_u32(head + 4, 2);
    bool ok = fwrite(head, 1, sizeof head, f) == sizeof head;
    uint64_t at = ALIGN;
    for (size_t i = 0; ok && i < b->n; i++) {
        size_t gap = (size_t)(b->offsets[i] - at);
        ok = fwrite(zeros, 1, gap, f) == gap && write_record(f, b->offsets[i], b->consts[i]);
        at = b->offsets[i] + ALIGN + b->consts[i]->nbytes;
    }
    return ok && fflush(f) == 0;
}

assay_status assay_blob_plan_write(const assay_blob_plan *b, const char *path, assay_error *err) {
    FILE *f = fopen(path, "wb");
    if (!f) return assay_fail_errno(err, "%s: cannot create", path);
    bool ok = write_all(f, b);
    int why = errno;
    if (fclose(f)) { if (ok) why = errno; ok = false; }
    errno = why;
    if (ok) return ASSAY_OK;
    assay_fail_errno(err, "%s: cannot write", path);
    unlink(path);
    return ASSAY_E_IO;
}
