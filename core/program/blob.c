/* Weight files ("MIL blob storage v2"): opened when first asked for; records are read with pread and the data is only mapped,
 * so that looking at a large package touches none of its weights. Layout: formats/mlpackage.md section 6. */
#include "program/internal.h"
#include "base/digest.h"
#include "base/names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD = 64 };
static const uint32_t sentinel = 0xDEADBEEFu;

typedef struct blob_file {
    const char *name;                            /* as written in the program */
    char *path;
    int fd;                                      /* -1: absent, `why` says how */
    const char *why;
    assay_map map;
    uint64_t size; uint32_t version, count;
} blob_file;
struct assay_blob_files { blob_file **files; size_t n; assay_arena *arena; };

/* Codes of the blob file; not the MIL codes. */
static const struct { int32_t code, mil; } codes[] = {
    { 1, ASSAY_MIL_FP16 }, { 2, ASSAY_MIL_FP32 }, { 3, ASSAY_MIL_UINT8 }, { 4, ASSAY_MIL_INT8 }, { 5, ASSAY_MIL_BF16 }, { 6, ASSAY_MIL_INT16 },
    { 7, ASSAY_MIL_UINT16 }, { 8, ASSAY_MIL_INT4 }, { 9, ASSAY_MIL_UINT1 }, { 10, ASSAY_MIL_UINT2 }, { 11, ASSAY_MIL_UINT4 },
    { 12, ASSAY_MIL_UINT3 }, { 13, ASSAY_MIL_UINT6 }, { 14, ASSAY_MIL_INT32 }, { 15, ASSAY_MIL_UINT32 }, { 16, ASSAY_MIL_FP8E4M3 },
    { 17, ASSAY_MIL_FP8E5M2 },
};

int32_t assay_blob_code(int32_t mil) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) if (codes[i].mil == mil) return codes[i].code;
    return 0;
}

static const char *code_name(int32_t code) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) if (codes[i].code == code) return assay_mil_dtype_name(codes[i].mil);
    return "unknown";
}

static uint32_t u32_at(const unsigned char *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static uint64_t u64_at(const unsigned char *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }

/* ---- files */
static void close_file(void *ctx) {
    blob_file *f = ctx;
    assay_unmap(&f->map);
    if (f->fd >= 0) close(f->fd);
    free(f->path);
}

/* "@model_path/weights/weight.bin" below the model's folder; the converter itself keeps only the last part of the name. */
static char *find_path(const char *model_dir, const char *name) {
    const char *rel = assay_starts_with(name, "@model_path/") ? name + 12 : name;
    if (!assay_path_is_inside(rel)) return NULL;
    char *path = assay_path_join(model_dir, rel);
    if (assay_is_file(path)) return path;
    free(path);
    char *dir = assay_path_join(model_dir, "weights");
    path = assay_path_join(dir, assay_path_base(rel));
    free(dir);
    return path;
}

static assay_status check_head(blob_file *f, assay_arena *a, assay_error *err) {
    unsigned char head[RECORD] = { 0 };
    ssize_t got = pread(f->fd, head, sizeof head, 0);
    if (got < 0) return assay_fail_errno(err, "%s: cannot read", f->path);
    if (assay_is_lfs_pointer(head, (size_t)got)) {
        close(f->fd);
        f->fd = -1;
        f->why = assay_arena_printf(a, "%s is a Git LFS pointer, not the file: fetch it with `git lfs pull`", f->path);
        return ASSAY_OK;
    }
    if (got < RECORD) return assay_fail(err, ASSAY_E_INPUT, "%s: %lld bytes are too few for a weight file", f->path, (long long)got);
    f->count = u32_at(head);
    f->version = u32_at(head + 4);
    if (f->version == 1) return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: weight file of version 1 (the older Espresso format); only version 2 is read: convert the model again with coremltools 5 or later", f->path);
    if (f->version != 2) return assay_fail(err, ASSAY_E_INPUT, "%s: weight file of version %u; only version 2 is read", f->path, f->version);
    return ASSAY_OK;
}

static assay_status open_file(blob_file *f, assay_arena *a, const char *model_dir, assay_error *err) {
    f->fd = -1;
    if (!model_dir) { f->why = "the program has no folder to look in"; return ASSAY_OK; }
    f->path = find_path(model_dir, f->name);
    if (!f->path) return assay_fail(err, ASSAY_E_INPUT, "weight file '%s' lies outside the model's folder", f->name);
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (f->fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        f->why = assay_arena_printf(a, "there is no file %s", f->path);
        return ASSAY_OK;
    }
    if (f->fd < 0 || fstat(f->fd, &st)) return assay_fail_errno(err, "%s: cannot open", f->path);
    if (!S_ISREG(st.st_mode)) return assay_fail(err, ASSAY_E_INPUT, "%s: not a regular file", f->path);
    f->size = (uint64_t)st.st_size;
#ifdef POSIX_FADV_RANDOM
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);   /* records lie far apart: reading ahead would read the weights */
#endif
    assay_status s = check_head(f, a, err);
    return s || f->fd < 0 ? s : assay_map_file(f->path, &f->map, err);
}

static assay_status get_file(assay_program *p, const char *model_dir, const char *name, blob_file **out, assay_error *err) {
    if (!p->blobs) {
        p->blobs = assay_arena_alloc(p->arena, sizeof *p->blobs);
        p->blobs->arena = p->arena;
    }
    struct assay_blob_files *b = p->blobs;
    for (size_t i = 0; i < b->n; i++)
        if (!strcmp(b->files[i]->name, name)) { *out = b->files[i]; return ASSAY_OK; }
    if (b->n >= 64) return assay_fail(err, ASSAY_E_INPUT, "the program names more than 64 weight files");
    blob_file *f = assay_arena_alloc(p->arena, sizeof *f);
    f->name = assay_arena_strdup(p->arena, name);
    assay_status s = open_file(f, p->arena, model_dir, err);
    assay_arena_on_free(p->arena, close_file, f);
    if (s) return s;
    if (!b->files) b->files = assay_arena_alloc(p->arena, 64 * sizeof *b->files);
    b->files[b->n++] = *out = f;
    return ASSAY_OK;
}

/* ---- records */
static assay_status read_record(const blob_file *f, uint64_t offset, assay_blob_entry *e, assay_error *err) {
    unsigned char r[RECORD];
    unsigned long long at = offset;
    if (offset % RECORD) return assay_fail(err, ASSAY_E_INPUT, "%s: offset %llu is not a multiple of 64", f->name, at);
    if (f->size < RECORD || offset > f->size - RECORD)
        return assay_fail(err, ASSAY_E_INPUT, "%s: offset %llu lies past the end of the file (%llu bytes)", f->name, at, (unsigned long long)f->size);
    if (pread(f->fd, r, sizeof r, (off_t)offset) != RECORD) return assay_fail_errno(err, "%s: cannot read the record at offset %llu", f->name, at);
    if (u32_at(r) != sentinel) return assay_fail(err, ASSAY_E_INPUT, "%s: no record at offset %llu (wrong sentinel): the file is damaged", f->name, at);
    *e = (assay_blob_entry){ .offset = offset, .code = (int32_t)u32_at(r + 4), .size_bytes = u64_at(r + 8), .data_offset = u64_at(r + 16),
                             .padding_bits = u64_at(r + 24) };
    e->dtype = code_name(e->code);
    if (e->data_offset > f->size || e->size_bytes > f->size - e->data_offset)
        return assay_fail(err, ASSAY_E_INPUT, "%s: the data of the record at offset %llu (%llu bytes from %llu) runs past the end of the file (%llu bytes)",
                          f->name, at, (unsigned long long)e->size_bytes, (unsigned long long)e->data_offset, (unsigned long long)f->size);
    if (e->data_offset % RECORD)
        return assay_fail(err, ASSAY_E_INPUT, "%s: the data of the record at offset %llu is not aligned to 64 bytes", f->name, at);
    return ASSAY_OK;
}

static assay_status check_fit(const blob_file *f, const assay_blob_entry *e, const assay_mil_type *t, assay_error *err) {
    unsigned long long at = e->offset;
    const char *want = assay_mil_dtype_name(t->dtype);
    if (e->code != assay_blob_code(t->dtype))
        return assay_fail(err, ASSAY_E_TYPE, "%s: the record at offset %llu holds %s, the program says %s", f->name, at, e->dtype, want);
    uint64_t bits = assay_mil_dtype_bits(t->dtype), n = (uint64_t)assay_type_count(t), bytes;
    if (__builtin_mul_overflow(n, bits, &bytes)) return assay_fail(err, ASSAY_E_INPUT, "a constant of %llu elements is too large", (unsigned long long)n);
    bytes = bytes / 8 + (bytes % 8 != 0);
    uint64_t padding = bytes * 8 - n * bits;
    if (e->size_bytes != bytes || (bits < 8 && e->padding_bits != padding))
        return assay_fail(err, ASSAY_E_INPUT, "%s: the record at offset %llu holds %llu bytes (%llu padding bits), the program's %llu %s elements need %llu (%llu)",
                          f->name, at, (unsigned long long)e->size_bytes, (unsigned long long)e->padding_bits, (unsigned long long)n, want,
                          (unsigned long long)bytes, (unsigned long long)padding);
    return ASSAY_OK;
}

assay_status assay_blob_resolve(assay_program *p, const char *model_dir, const char *file, uint64_t offset, assay_mil_const *c, assay_error *err) {
    int64_t n = assay_type_count(c->type);
    if (n < 0) return assay_fail(err, ASSAY_E_TYPE, "a constant in a weight file needs a tensor type of known size");
    if (!assay_blob_code(c->type->dtype))
        return assay_fail(err, ASSAY_E_TYPE, "constants of type %s cannot lie in a weight file", assay_mil_dtype_name(c->type->dtype));
    blob_file *f = NULL;
    assay_status s = get_file(p, model_dir, file, &f, err);
    if (s) return s;
    c->kind = ASSAY_CONST_DATA;
    c->blob_file = f->name;
    c->blob_offset = offset;
    c->nbytes = ((uint64_t)n * assay_mil_dtype_bits(c->type->dtype) + 7) / 8;
    if (f->fd < 0) {
        c->absent = true;
        c->why_absent = f->why;
        return ASSAY_OK;
    }
    assay_blob_entry e;
    s = read_record(f, offset, &e, err);
    if (!s) s = check_fit(f, &e, c->type, err);
    if (!s && e.data_offset + e.size_bytes > f->map.len) s = assay_fail(err, ASSAY_E_IO, "%s: the file became shorter while it was read", f->name);
    if (s) return s;
    c->nbytes = e.size_bytes;
    c->data = (const char *)f->map.data + e.data_offset;
    return ASSAY_OK;
}

/* ---- reporting */
size_t assay_blob_file_count(const assay_program *p) { return p->blobs ? p->blobs->n : 0; }

assay_status assay_blob_walk(const assay_program *p, size_t i, const char **name, uint64_t *size, uint32_t *version, assay_blob_entry **entries,
                             size_t *n, const char **why, assay_error *err) {
    const blob_file *f = p->blobs->files[i];
    *name = f->name; *size = f->size; *version = f->version; *n = f->count;
    *why = f->fd < 0 ? f->why : NULL;
    if (f->fd < 0 || !entries) return ASSAY_OK;
    size_t cap = 0;
    *entries = NULL;
    *n = 0;
    for (uint64_t at = RECORD; *n < f->count;) {
        if (*n == cap) *entries = assay_xrealloc(*entries, (cap = cap ? 2 * cap : 64) * sizeof **entries);
        assay_blob_entry *e = &(*entries)[*n];
        if (read_record(f, at, e, err)) {
            free(*entries);
            *entries = NULL;
            *n = 0;
            return assay_wrap(err, "record %zu of %u", *n, f->count);
        }
        (*n)++;
        uint64_t next = (e->data_offset + e->size_bytes + RECORD - 1) / RECORD * RECORD;
        at = next > at ? next : f->size;         /* always forward: a record cannot point back */
    }
    return ASSAY_OK;
}

assay_status assay_blob_digest(const assay_program *p, size_t i, const assay_blob_entry *e, char hex[65], assay_error *err) {
    const blob_file *f = p->blobs->files[i];
    if (f->fd < 0 || e->data_offset > f->map.len || e->size_bytes > f->map.len - e->data_offset)
        return assay_fail(err, ASSAY_E_IO, "%s: cannot read the data at %llu", f->name, (unsigned long long)e->data_offset);
    assay_sha256_of((const char *)f->map.data + e->data_offset, e->size_bytes, hex);
    return ASSAY_OK;
}

assay_status assay_blob_copy_files(const assay_program *p, const char *model_dir, assay_error *err) {
    assay_status s = ASSAY_OK;
    for (size_t i = 0; !s && i < assay_blob_file_count(p); i++) {
        const blob_file *f = p->blobs->files[i];
        if (f->fd < 0) return assay_fail(err, ASSAY_E_MISSING, "weights are not available: %s", f->why);
        char *to = assay_path_join(model_dir, assay_starts_with(f->name, "@model_path/") ? f->name + 12 : f->name), *dir = assay_path_dir(to);
        s = assay_mkdirs(dir, err);
        if (!s) s = assay_copy_file(f->path, to, err);
        free(dir);
        free(to);
    }
    return s;
}
