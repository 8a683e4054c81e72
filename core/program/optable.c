/* The table of known ops, filled at start-up by the op families, and the names of opsets. */
#include "program/optable.h"
#include "base/names.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static assay_ptrs table;                         /* const assay_op_def *, sorted by type when `sorted` */
static bool sorted = true;

static int by_type(const void *a, const void *b) {
    const assay_op_def *const *x = a, *const *y = b;
    return strcmp((*x)->type, (*y)->type);
}

void assay_optable_add(const assay_op_def *const *defs) {
    for (; *defs; defs++) assay_ptrs_push(&table, (void *)(uintptr_t)*defs);
    sorted = false;
}

const assay_op_def *const *assay_optable_all(size_t *n) {
    if (!sorted) qsort(table.items, table.len, sizeof *table.items, by_type);
    sorted = true;
    *n = table.len;
    return (const assay_op_def *const *)table.items;
}

const assay_op_def *assay_optable_find(const char *type) {
    size_t n, lo = 0;
    const assay_op_def *const *all = assay_optable_all(&n);
    for (size_t hi = n; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(type, all[mid]->type);
        if (c == 0) return all[mid];
        if (c < 0) hi = mid; else lo = mid + 1;
    }
    return NULL;
}

const char *assay_optable_suggest(char out[96], const char *type) {
    size_t n;
    const assay_op_def *const *all = assay_optable_all(&n);
    const char **names = assay_xcalloc(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) names[i] = all[i]->type;
    assay_did_you_mean(out, type, names, n);
    free(names);
    return out;
}

/* formats/mlpackage.md section 3. */
static const struct { int rank; const char *opset, *target, *mac; int spec; } opsets[] = {
    { 5, "CoreML5", "iOS15", "macOS12", 6 }, { 6, "CoreML6", "iOS16", "macOS13", 7 }, { 7, "CoreML7", "iOS17", "macOS14", 8 },
    { 8, "CoreML8", "iOS18", "macOS15", 9 }, { 9, "CoreML9", "iOS26", "macOS26", 10 },
};
enum { OPSETS = sizeof opsets / sizeof *opsets };

static bool same_ignoring_case(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    return *a == *b;
}

int assay_opset_rank(const char *opset) {
    for (int i = 0; opset && i < OPSETS; i++)
        if (same_ignoring_case(opset, opsets[i].opset) || same_ignoring_case(opset, opsets[i].target) || same_ignoring_case(opset, opsets[i].mac))
            return opsets[i].rank;
    return 0;
}

const char *assay_opset_name(int rank) {
    for (int i = 0; i < OPSETS; i++) if (opsets[i].rank == rank) return opsets[i].opset;
    return NULL;
}

const char *assay_opset_target(int rank) {
    for (int i = 0; i < OPSETS; i++) if (opsets[i].rank == rank) return opsets[i].target;
    return NULL;
}

int assay_opset_spec_version(int rank) {
    for (int i = 0; i < OPSETS; i++) if (opsets[i].rank == rank) return opsets[i].spec;
    return 0;
}
