/* Names to values with nested scopes: an open-addressed hash table and a log that undoes a scope when it ends. */
#include "program/internal.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

typedef struct slot { const char *name; assay_mil_value *value; uint32_t depth, hash; } slot;
typedef struct undo { const char *name; assay_mil_value *value; uint32_t depth; } undo;   /* what the slot held before; value NULL: nothing */
struct assay_scope {
    slot *slots; size_t cap, used;               /* used counts names, live or dead: slots are never emptied */
    undo *log; size_t n_log, log_cap;
    size_t *marks; uint32_t depth, marks_cap;
};

assay_scope *assay_scope_new(size_t expect) {
    assay_scope *s = assay_xcalloc(1, sizeof *s);
    s->cap = 64;
    while (s->cap < 2 * expect) s->cap *= 2;
    s->slots = assay_xcalloc(s->cap, sizeof *s->slots);
    return s;
}

void assay_scope_free(assay_scope *s) {
    if (!s) return;
    free(s->slots);
    free(s->log);
    free(s->marks);
    free(s);
}

static uint32_t hash(const char *s) {
    uint64_t h = 1469598103934665603u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
    return (uint32_t)(h ^ (h >> 32));
}

static slot *find_slot(const assay_scope *s, const char *name, uint32_t h) {
    for (size_t i = h;; i++) {
        slot *e = &s->slots[i & (s->cap - 1)];
        if (!e->name || (e->hash == h && !strcmp(e->name, name))) return e;
    }
}

static void grow(assay_scope *s) {
    slot *old = s->slots;
    size_t n = s->cap;
    s->cap *= 2;
    s->slots = assay_xcalloc(s->cap, sizeof *s->slots);
    for (size_t i = 0; i < n; i++)
        if (old[i].name) *find_slot(s, old[i].name, old[i].hash) = old[i];
    free(old);
}

static void remember(assay_scope *s, const char *name, const slot *e) {
    if (s->n_log == s->log_cap) {
        s->log_cap = s->log_cap ? 2 * s->log_cap : 64;
        s->log = assay_xrealloc(s->log, s->log_cap * sizeof *s->log);
    }
    s->log[s->n_log++] = (undo){ name, e->value, e->depth };
}

bool assay_scope_add(assay_scope *s, const char *name, assay_mil_value *v) {
    if (2 * s->used >= s->cap) grow(s);
    uint32_t h = hash(name);
    slot *e = find_slot(s, name, h);
    if (e->value && e->depth == s->depth) return false;
    if (s->depth) remember(s, name, e);          /* the outermost scope is never left */
    if (!e->name) s->used++;
    *e = (slot){ name, v, s->depth, h };
    return true;
}

assay_mil_value *assay_scope_find(const assay_scope *s, const char *name) { return find_slot(s, name, hash(name))->value; }

void assay_scope_push(assay_scope *s) {
    if (s->depth == s->marks_cap) {
        s->marks_cap = s->marks_cap ? 2 * s->marks_cap : 16;
        s->marks = assay_xrealloc(s->marks, s->marks_cap * sizeof *s->marks);
    }
    s->marks[s->depth++] = s->n_log;
}

void assay_scope_pop(assay_scope *s) {
    size_t mark = s->marks[--s->depth];
    while (s->n_log > mark) {
        const undo *u = &s->log[--s->n_log];
        slot *e = find_slot(s, u->name, hash(u->name));
        e->value = u->value;
        e->depth = u->depth;
    }
}

void assay_scope_suggest(const assay_scope *s, const char *name, char out[96]) {
    const char **names = assay_xcalloc(s->used + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < s->cap && n < 5000; i++)
        if (s->slots[i].value) names[n++] = s->slots[i].name;
    assay_did_you_mean(out, name, names, n);
    free(names);
}
