/* Reads .safetensors: u64 length of a JSON header, the header, the data; offsets count from the end of the header. */
#include "tensor/safetensors.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS_MAX = 1024, INDEX_MAX_BYTES = 64 << 20 };
struct assay_safetensors {
    assay_arena *arena;
    assay_ptrs entries;
    assay_map maps[SHARDS_MAX];
    size_t n_maps;
};
static const struct {
    const char *name;
    int32_t dtype;
    uint32_t size;
} types[] = {{"F16", ASSAY_F16, 2},   {"BF16", ASSAY_BF16, 2}, {"F32", ASSAY_F32, 4}, {"F64", ASSAY_F64, 8},
             {"BOOL", ASSAY_BOOL, 1}, {"I8", ASSAY_I8, 1},     {"U8", ASSAY_U8, 1},   {"I16", ASSAY_I16, 2},
             {"U16", ASSAY_U16, 2},   {"I32", ASSAY_I32, 4},   {"U32", ASSAY_U32, 4}, {"I64", ASSAY_I64, 8},
             {"U64", ASSAY_U64, 8},   {"F8_E4M3", 0, 1},       {"F8_E5M2", 0, 1}};
enum { TYPES = sizeof types / sizeof *types };

/* ---- one entry of the header */
static assay_status bad(const char *what, const char *name, const char *why, assay_error *err) {
    return assay_fail(err, ASSAY_E_INPUT, "%s: tensor '%.80s': %s", what, name, why);
}

/* A whole number from 0 to 2^53; -1 otherwise. */
static int64_t whole(const assay_json *j) {
    double v = assay_json_value(j);
    return assay_json_kind(j) == ASSAY_J_NUMBER && v >= 0 && v <= 9007199254740992.0 && v == (double)(int64_t)v ? (int64_t)v : -1;
}

static assay_status read_shape(const assay_json *shape, const char *what, assay_safetensors_entry *e, uint64_t size,
                               assay_error *err) {
    if (assay_json_kind(shape) != ASSAY_J_ARRAY) return bad(what, e->name, "no shape", err);
    for (const assay_json *d = assay_json_first(shape); d; d = assay_json_next(d)) {
        if (e->rank == ASSAY_RANK_MAX) return bad(what, e->name, "more than 8 dimensions", err);
        e->shape[e->rank] = whole(d);
        if (e->shape[e->rank++] < 0) return bad(what, e->name, "a size that is no whole number", err);
    }
    assay_tensor view = assay_tensor_view(ASSAY_U8, e->rank, e->shape, NULL);
    int64_t n = assay_tensor_count(&view);
    if (n < 0 || (uint64_t)n > UINT64_MAX / size || (uint64_t)n * size != e->nbytes)
        return bad(what, e->name, "its shape and its place in the file disagree", err);
    return ASSAY_OK;
}

static assay_status read_entry(assay_safetensors *s, const assay_json *j, const char *what, const char *data, uint64_t room,
                               assay_error *err) {
    assay_safetensors_entry *e = assay_arena_alloc(s->arena, sizeof *e);
    const assay_json *place = assay_json_get(j, "data_offsets");
    const char *type = assay_json_string(j, "dtype", "");
    int64_t begin = whole(assay_json_at(place, 0)), end = whole(assay_json_at(place, 1));
    int row = 0;
    e->name = assay_arena_strdup(s->arena, assay_json_key(j));
    e->file = what;
    while (row < TYPES && strcmp(types[row].name, type)) row++;
    if (row == TYPES) return assay_fail(err, ASSAY_E_INPUT, "%s: tensor '%.80s': unknown dtype '%.20s'", what, e->name, type);
    if (assay_json_len(place) != 2 || begin < 0 || end < begin || (uint64_t)end > room)
        return bad(what, e->name, "data_offsets outside the file", err);
    e->type = types[row].name;
    e->dtype = types[row].dtype;
    e->data = data + begin;
    e->nbytes = (uint64_t)(end - begin);
    assay_ptrs_push(&s->entries, e);
    return read_shape(assay_json_get(j, "shape"), what, e, types[row].size, err);
}

/* ---- a file */
static int by_place(const void *a, const void *b) {
    const assay_safetensors_entry *const *x = a, *const *y = b;
    if ((*x)->data != (*y)->data) return (*x)->data < (*y)->data ? -1 : 1;
    return (*x)->nbytes < (*y)->nbytes ? -1 : (*x)->nbytes > (*y)->nbytes;
}

/* The data is covered from its first byte to its last, each byte once. */
static assay_status check_cover(const assay_safetensors *s, size_t first, const char *data, uint64_t room, const char *what,
                                assay_error *err) {
    size_t n = s->entries.len - first;
    const assay_safetensors_entry **order = assay_xcalloc(n + 1, sizeof *order);
    const char *at = data;
    assay_status st = ASSAY_OK;
    for (size_t i = 0; i < n; i++) order[i] = s->entries.items[first + i];
    if (n) qsort(order, n, sizeof *order, by_place);
    for (size_t i = 0; i < n && st == ASSAY_OK; i++) {
        if ((const char *)order[i]->data != at)
            st = bad(what, order[i]->name,
                     (const char *)order[i]->data < at ? "overlaps another tensor" : "there is a hole before it", err);
        at = (const char *)order[i]->data + order[i]->nbytes;
    }
    if (st == ASSAY_OK && at != data + room)
        st =
            assay_fail(err, ASSAY_E_INPUT, "%s: %llu bytes behind the last tensor", what, (unsigned long long)(data + room - at));
    free(order);
    return st;
}

static assay_status parse_into(assay_safetensors *s, const void *bytes, size_t len, const char *what, assay_error *err) {
    const unsigned char *b = bytes;
    uint64_t n = 0;
    size_t first = s->entries.len;
    assay_json *header = NULL;
    if (len < 8) return assay_fail(err, ASSAY_E_INPUT, "%s: %zu bytes: too short for a safetensors file", what, len);
    for (int i = 7; i >= 0; i--) n = n << 8 | b[i];
    if (n > len - 8 || n > ASSAY_SAFETENSORS_HEADER_MAX)
        return assay_fail(
            err, ASSAY_E_INPUT,
            "%s: a header of %llu bytes does not fit (at most the file, and 100 MB): no safetensors file, or cut short", what,
            (unsigned long long)n);
    assay_status st = assay_json_parse((const char *)b + 8, (size_t)n, what, &header, err);
    if (st == ASSAY_OK && assay_json_kind(header) != ASSAY_J_OBJECT)
        st = assay_fail(err, ASSAY_E_INPUT, "%s: the header is no JSON object", what);
    for (const assay_json *j = st == ASSAY_OK ? assay_json_first(header) : NULL; j && st == ASSAY_OK; j = assay_json_next(j))
        if (strcmp(assay_json_key(j), "__metadata__")) st = read_entry(s, j, what, (const char *)b + 8 + n, len - 8 - n, err);
    if (st == ASSAY_OK) st = check_cover(s, first, (const char *)b + 8 + n, len - 8 - n, what, err);
    assay_json_free(header);
    return st;
}

static assay_safetensors *empty(void) {
    assay_safetensors *s = assay_xcalloc(1, sizeof *s);
    s->arena = assay_arena_new();
    return s;
}

void assay_safetensors_free(assay_safetensors *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n_maps; i++) assay_unmap(&s->maps[i]);
    assay_ptrs_free(&s->entries);
    assay_arena_free(s->arena);
    free(s);
}

static assay_status done(assay_safetensors *s, assay_status st, assay_safetensors **out) {
    *out = st == ASSAY_OK ? s : NULL;
    if (st != ASSAY_OK) assay_safetensors_free(s);
    return st;
}

assay_status assay_safetensors_parse(const void *data, size_t len, const char *what, assay_safetensors **out, assay_error *err) {
    assay_safetensors *s = empty();
    return done(s, parse_into(s, data, len, assay_arena_strdup(s->arena, what), err), out);
}

static assay_status open_one(assay_safetensors *s, const char *path, assay_error *err) {
    if (s->n_maps == SHARDS_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s: more than %d shards", path, SHARDS_MAX);
    assay_status st = assay_map_file(path, &s->maps[s->n_maps], err);
    if (st != ASSAY_OK) return st;
    const assay_map *m = &s->maps[s->n_maps++];
    if (m->len > 24 && m->len < 1024 && !memcmp(m->data, "version https://git-lfs", 23))
        return assay_fail(err, ASSAY_E_INPUT, "%s: a Git LFS pointer, not the file: fetch it with `git lfs pull`", path);
    return parse_into(s, m->data, m->len, assay_arena_strdup(s->arena, path), err);
}

/* ---- a sharded index: {"weight_map": {tensor: file}} */
static assay_status open_shards(assay_safetensors *s, const char *path, const assay_json *map, assay_error *err) {
    char *dir = assay_path_dir(path);
    assay_status st =
        assay_json_kind(map) == ASSAY_J_OBJECT ? ASSAY_OK : assay_fail(err, ASSAY_E_INPUT, "%s: no weight_map", path);
    for (const assay_json *j = assay_json_first(map); j && st == ASSAY_OK; j = assay_json_next(j)) {
        const char *file = assay_json_text(j);
        if (!file || !assay_path_is_inside(file)) {
            st = assay_fail(err, ASSAY_E_INPUT, "%s: '%.80s' lies in no file of this folder", path, assay_json_key(j));
            break;
        }
        char *full = assay_path_join(dir, file);
        bool have = false;
        for (size_t i = 0; i < s->entries.len && !have; i++)
            have = !strcmp(((const assay_safetensors_entry *)s->entries.items[i])->file, full);
        if (!have) st = open_one(s, full, err);
        const assay_safetensors_entry *e = st == ASSAY_OK ? assay_safetensors_find(s, assay_json_key(j)) : NULL;
        if (st == ASSAY_OK && (!e || strcmp(e->file, full)))
            st = assay_fail(err, ASSAY_E_INPUT, "%s: no tensor '%.80s' in %s", path, assay_json_key(j), file);
        free(full);
    }
    free(dir);
    return st;
}

bool assay_is_safetensors(const char *path) {
    return assay_ends_with(path, ".safetensors") || assay_ends_with(path, ".safetensors.index.json");
}

assay_status assay_safetensors_open(const char *path, assay_safetensors **out, assay_error *err) {
    assay_safetensors *s = empty();
    assay_json *index = NULL;
    assay_status st;
    if (!assay_ends_with(path, ".json")) return done(s, open_one(s, path, err), out);
    st = assay_json_read_file(path, &index, err);
    if (st == ASSAY_OK) st = open_shards(s, path, assay_json_get(index, "weight_map"), err);
    assay_json_free(index);
    return done(s, st, out);
}

/* ---- asking */
size_t assay_safetensors_count(const assay_safetensors *s) { return s->entries.len; }
const assay_safetensors_entry *assay_safetensors_at(const assay_safetensors *s, size_t i) { return s->entries.items[i]; }
const assay_safetensors_entry *assay_safetensors_find(const assay_safetensors *s, const char *name) {
    for (size_t i = 0; i < s->entries.len; i++)
        if (!strcmp(((const assay_safetensors_entry *)s->entries.items[i])->name, name)) return s->entries.items[i];
    return NULL;
}

assay_status assay_safetensors_read(const assay_safetensors_entry *e, assay_own_tensor *out, assay_error *err) {
    if (!e->dtype)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: tensor '%.80s' is %s, which is listed only", e->file, e->name, e->type);
    assay_status st = assay_tensor_new(e->dtype, e->rank, e->shape, out, err);
    if (st == ASSAY_OK && e->nbytes) memcpy(out->t.data, e->data, (size_t)e->nbytes);
    return st;
}

void assay_safetensors_digest(const assay_safetensors_entry *e, char hex[65]) {
    assay_sha256_of(e->nbytes ? e->data : "", (size_t)e->nbytes, hex);
}

/* ---- checkpoints that are programs */
assay_status assay_refuse_checkpoint(const char *path, assay_error *err) {
    bool named = assay_ends_with(path, ".pt") || assay_ends_with(path, ".pth") || assay_ends_with(path, ".ckpt");
    unsigned char head[4] = {0};
    if (!named && !assay_ends_with(path, ".bin")) return ASSAY_OK;
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    bool pickle = n == 4 && (!memcmp(head, "PK\3\4", 4) || (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5));
    if (!named && !pickle) return ASSAY_OK;
    return assay_fail(
        err, ASSAY_E_UNSUPPORTED,
        "%s: a PyTorch checkpoint; reading one can run code. Convert it once: python -c \"import torch, safetensors.torch as s; "
        "s.save_file({k: v.contiguous() for k, v in torch.load('%s', map_location='cpu', weights_only=True).items()}, "
        "'w.safetensors')\"",
        path, assay_path_base(path));
}
