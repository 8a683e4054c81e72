/* Receipts side by side: one column per OS build and chip, one row per experiment and package. */
#include "report/matrix.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_QUALIFIED "not qualified"

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

/* ---- worst of verdicts: a refuted cell is never averaged away, an empty one never passes */

static int badness(const char *verdict) {
    static const char *const order[] = {"pass", NOT_QUALIFIED, "not-measured", "inconclusive", "kill", "invalid"};
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
        if (assay_streq(order[i], verdict)) return i;
    return -1;
}

static const char *worse(const char *a, const char *b) { return badness(b) > badness(a) ? b : a; }

/* ---- making */

/* A receipt that does not name its build and chip stands in a column of its own, by its host. */
static char *column_of(const assay_json *cell, const assay_json *receipt) {
    const char *build = str(cell, "build"), *chip = str(cell, "chip");
    return *build && *chip ? assay_xprintf("%s %s", build, chip) : assay_xstrdup(str(receipt, "host"));
}

static void add_once(assay_json *list, const char *name) {
    for (const assay_json *c = assay_json_first(list); c; c = assay_json_next(c))
        if (assay_streq(assay_json_text(c), name)) return;
    assay_json_append(list, assay_json_new_string(name));
}

static assay_json *row_of(assay_json *rows, const char *experiment, const char *package, const assay_json *columns) {
    for (assay_json *r = assay_json_first(rows); r; r = assay_json_next(r))
        if (assay_streq(str(r, "experiment"), experiment) && assay_streq(str(r, "package"), package)) return r;
    assay_json *row = assay_json_append(rows, assay_json_object());
    assay_json_set_string(row, "experiment", experiment);
    assay_json_set_string(row, "package", package);
    assay_json *cells = assay_json_set(row, "cells", assay_json_array());
    for (const assay_json *c = assay_json_first(columns); c; c = assay_json_next(c)) {
        assay_json *cell = assay_json_append(cells, assay_json_object());
        assay_json_set_string(cell, "column", assay_json_text(c));
        assay_json_set_string(cell, "verdict", NOT_QUALIFIED);
        assay_json_set(cell, "receipts", assay_json_array());
    }
    return row;
}

static void put(assay_json *row, const char *column, const char *verdict, const char *file) {
    for (assay_json *c = assay_json_first(assay_json_get(row, "cells")); c; c = assay_json_next(c)) {
        if (!assay_streq(str(c, "column"), column)) continue;
        bool first = assay_json_len(assay_json_get(c, "receipts")) == 0;
        char *worst = assay_xstrdup(first ? verdict : worse(str(c, "verdict"), verdict));
        assay_json_set_string(c, "verdict", worst);
        assay_json_append(assay_json_get(c, "receipts"), assay_json_new_string(file));
        free(worst);
    }
}

static const char *conclude(assay_json *row) {
    const char *worst = "pass", *first = NULL;
    bool same = true;
    for (const assay_json *c = assay_json_first(assay_json_get(row, "cells")); c; c = assay_json_next(c)) {
        const char *v = str(c, "verdict");
        worst = worse(worst, v);
        if (assay_streq(v, NOT_QUALIFIED)) continue;
        same &= !first || assay_streq(first, v);
        first = v;
    }
    assay_json_set_string(row, "verdict", worst);
    assay_json_set_bool(row, "transferable", same);
    return str(row, "verdict");
}

assay_json *assay_matrix_make(const assay_json *receipts, const assay_json *cells, const char *const *wanted, size_t n_wanted) {
    assay_json *m = assay_json_object(), *columns = assay_json_set(m, "columns", assay_json_array()),
               *rows = assay_json_set(m, "rows", assay_json_array());
    size_t n = assay_json_len(cells);
    const char *verdict = "pass";
    assay_json_set_string(m, "schema", "assay-matrix/1");
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            const assay_json *cell = assay_json_at(cells, i), *receipt = assay_json_at(receipts, i);
            char *column = column_of(cell, receipt);
            if (pass == 0)
                add_once(columns, column);
            else
                put(row_of(rows, str(receipt, "experiment"), str(cell, "package"), columns), column, str(cell, "verdict"),
                    str(receipt, "file"));
            free(column);
            if (pass == 0 && i + 1 == n)
                for (size_t k = 0; k < n_wanted; k++) add_once(columns, wanted[k]);
        }
    for (assay_json *r = assay_json_first(rows); r; r = assay_json_next(r)) verdict = worse(verdict, conclude(r));
    assay_json_set_string(m, "verdict", n ? verdict : NOT_QUALIFIED);
    return m;
}

/* ---- text */

static int width_of(const char *name) {
    return (int)(strlen(name) > strlen(NOT_QUALIFIED) ? strlen(name) : strlen(NOT_QUALIFIED));
}

static void row_text(const assay_json *row, assay_buf *out) {
    assay_buf_printf(out, "%-24.24s %-12.12s", str(row, "experiment"), str(row, "package"));
    for (const assay_json *c = assay_json_first(assay_json_get(row, "cells")); c; c = assay_json_next(c))
        assay_buf_printf(out, "  %-*s", width_of(str(c, "column")), str(c, "verdict"));
    assay_buf_char(out, '\n');
}

static void row_remarks(const assay_json *row, assay_buf *out) {
    if (!assay_json_bool(row, "transferable", true))
        assay_buf_printf(out, "%s %.12s: the verdict is not transferable; each holds for its own build and chip only\n",
                         str(row, "experiment"), str(row, "package"));
    for (const assay_json *c = assay_json_first(assay_json_get(row, "cells")); c; c = assay_json_next(c))
        if (assay_streq(str(c, "verdict"), NOT_QUALIFIED))
            assay_buf_printf(out, "%s %.12s: nothing is known on %s: run it there\n", str(row, "experiment"), str(row, "package"),
                             str(c, "column"));
}

void assay_matrix_text(const assay_json *m, assay_buf *out) {
    assay_buf_printf(out, "%-24s %-12s", "experiment", "package");
    for (const assay_json *c = assay_json_first(assay_json_get(m, "columns")); c; c = assay_json_next(c))
        assay_buf_printf(out, "  %-*s", width_of(assay_json_text(c)), assay_json_text(c));
    assay_buf_char(out, '\n');
    for (const assay_json *r = assay_json_first(assay_json_get(m, "rows")); r; r = assay_json_next(r)) row_text(r, out);
    assay_buf_char(out, '\n');
    for (const assay_json *r = assay_json_first(assay_json_get(m, "rows")); r; r = assay_json_next(r)) row_remarks(r, out);
    assay_buf_printf(out, "together: %s\n", str(m, "verdict"));
}
