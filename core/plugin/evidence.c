/* The evidence set: items in the order they were added, addressed by role, and the view of it that a gate sees. */
#include "plugin/evidence.h"
#include "plugin/evidence_plan.h"
#include "plugin/abi.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

typedef struct evidence_row {
    assay_item item;
    assay_own_tensor own;
    assay_program *program;
    assay_arena *arena; /* strings, rows, samples, JSON text of this item */
} evidence_row;
struct assay_evidence_set {
    evidence_row **rows;
    size_t len, cap;
    assay_evidence view;
    const char *asked[ASSAY_ASKED_MAX]; /* roles that a gate looked for, each once; copies */
    size_t n_asked;
};

static void note_asked(assay_evidence_set *s, const char *role) {
    for (size_t i = 0; i < s->n_asked; i++)
        if (assay_streq(s->asked[i], role)) return;
    if (role && s->n_asked < ASSAY_ASKED_MAX) s->asked[s->n_asked++] = assay_xstrdup(role);
}

static uint32_t view_count(const assay_evidence *view, const char *role) {
    assay_evidence_set *s = view->ctx;
    uint32_t n = 0;
    note_asked(s, role);
    for (size_t i = 0; i < s->len; i++) n += !role || assay_streq(s->rows[i]->item.role, role);
    return n;
}

/* The caller says how large its assay_item is: it may come from an older or a later minor of the ABI, never below 1.0. */
static void copy_item(assay_item *out, const assay_item *in) {
    uint32_t size = out->struct_size < ASSAY_V1_ITEM ? ASSAY_V1_ITEM : out->struct_size;
    if (size > sizeof *in) size = (uint32_t)sizeof *in;
    memcpy(out, in, size);
    out->struct_size = size;
}

static assay_status view_item(const assay_evidence *view, const char *role, uint32_t i, assay_item *out, assay_error *err) {
    assay_evidence_set *s = view->ctx;
    uint32_t n = 0;
    note_asked(s, role);
    for (size_t k = 0; k < s->len; k++) {
        if (role && !assay_streq(s->rows[k]->item.role, role)) continue;
        if (n++ == i) {
            copy_item(out, &s->rows[k]->item);
            return ASSAY_OK;
        }
    }
    return assay_fail(err, ASSAY_E_RANGE, "no item %u of role '%s' (there are %u)", i, role ? role : "any", n);
}

assay_evidence_set *assay_evidence_new(void) {
    assay_evidence_set *s = assay_xcalloc(1, sizeof *s);
    s->view = (assay_evidence){.struct_size = sizeof s->view, .ctx = s, .count = view_count, .item = view_item};
    return s;
}

static void row_free(evidence_row *r) {
    assay_tensor_free(&r->own);
    if (r->program) assay_program_free(r->program);
    assay_arena_free(r->arena);
    free(r);
}

void assay_evidence_free(assay_evidence_set *s) {
    if (!s) return;
    for (size_t i = 0; i < s->len; i++) row_free(s->rows[i]);
    for (size_t i = 0; i < s->n_asked; i++) free((void *)s->asked[i]);
    free(s->rows);
    free(s);
}

size_t assay_evidence_asked(const assay_evidence_set *s, const char *const **roles) {
    *roles = s->asked;
    return s->n_asked;
}

static evidence_row *add_row(assay_evidence_set *s, int32_t kind, const char *role, const char *label, const char *arm,
                             int32_t origin, const char *sha256) {
    evidence_row *r = assay_xcalloc(1, sizeof *r);
    r->arena = assay_arena_new();
    r->item = (assay_item){.struct_size = sizeof r->item,
                           .kind = kind,
                           .state = ASSAY_OK_STATE,
                           .origin = origin,
                           .role = assay_arena_strdup(r->arena, role ? role : ""),
                           .label = assay_arena_strdup(r->arena, label ? label : ""),
                           .arm = assay_arena_strdup(r->arena, arm ? arm : ""),
                           .sha256 = assay_arena_strdup(r->arena, sha256 ? sha256 : ""),
                           .why = "",
                           .json = ""};
    if (s->len == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->rows = assay_xrealloc(s->rows, s->cap * sizeof *s->rows);
    }
    s->rows[s->len++] = r;
    return r;
}

void assay_evidence_add_tensor(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin,
                               const char *sha256, assay_own_tensor *own) {
    evidence_row *r = add_row(s, ASSAY_K_OUTPUT, role, label, arm, origin, sha256);
    r->own = *own;
    memset(own, 0, sizeof *own);
    r->item.tensor = r->own.t;
}

void assay_evidence_add_program(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin,
                                const char *sha256, assay_program *program) {
    evidence_row *r = add_row(s, ASSAY_K_PROGRAM, role, label, arm, origin, sha256);
    r->program = program;
    r->item.program = program;
}

static char *text_in(assay_arena *a, const assay_json *doc) {
    char *text = assay_json_print(doc);
    char *kept = assay_arena_strdup(a, text);
    free(text);
    return kept;
}

void assay_evidence_add_json(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin,
                             const char *sha256, const assay_json *doc) {
    if (assay_json_kind(doc) == ASSAY_J_ARRAY) {
        for (size_t i = 0; i < assay_json_len(doc); i++)
            assay_evidence_add_json(s, role, label, arm, origin, sha256, assay_json_at(doc, i));
        return;
    }
    evidence_row *r = add_row(s, ASSAY_K_RECORD, role, label, arm, origin, sha256);
    r->item.json = text_in(r->arena, doc);
    if (assay_json_kind(doc) == ASSAY_J_OBJECT && assay_streq(assay_json_string(doc, "schema", NULL), ASSAY_COMPUTE_PLAN_1)) {
        r->item.kind = ASSAY_K_PLAN;
        r->item.rows = assay_plan_rows(r->arena, doc, &r->item.row_count);
    }
}

void assay_evidence_add_samples(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin,
                                const char *sha256, const assay_sample *samples, uint64_t n, const assay_json *meta) {
    evidence_row *r = add_row(s, ASSAY_K_TIMING, role, label, arm, origin, sha256);
    r->item.samples = assay_arena_copy(r->arena, samples, (size_t)n * sizeof *samples);
    r->item.sample_count = n;
    if (meta) r->item.json = text_in(r->arena, meta);
}

void assay_evidence_add_absent(assay_evidence_set *s, int32_t kind, const char *role, const char *label, const char *arm,
                               int32_t state, const char *why) {
    evidence_row *r = add_row(s, kind, role, label, arm, 0, NULL);
    r->item.state = state;
    r->item.why = assay_arena_strdup(r->arena, why ? why : "");
}

size_t assay_evidence_len(const assay_evidence_set *s) { return s->len; }
const assay_item *assay_evidence_at(const assay_evidence_set *s, size_t i) { return i < s->len ? &s->rows[i]->item : NULL; }

void assay_evidence_replace_tensor(assay_evidence_set *s, size_t i, assay_own_tensor *own) {
    if (i >= s->len) return;
    evidence_row *r = s->rows[i];
    assay_tensor_free(&r->own);
    r->own = *own;
    memset(own, 0, sizeof *own);
    r->item.tensor = r->own.t;
}

void assay_evidence_remove(assay_evidence_set *s, size_t i) {
    if (i >= s->len) return;
    row_free(s->rows[i]);
    memmove(s->rows + i, s->rows + i + 1, (s->len - i - 1) * sizeof *s->rows);
    s->len--;
}

const assay_evidence *assay_evidence_view(const assay_evidence_set *s) { return &s->view; }
