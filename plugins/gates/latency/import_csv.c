/* gates/latency/import_csv.c: samples as CSV with a header, in one of two forms. A pair a row: control, candidate [, order][, process].
 * A prediction a row, in time order: arm, DURATION [, block][, process]. Durations are named ms, us, ns, s or control_us and so on. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 16, FIELD_BYTES = 64 };
enum { CONTROL, CANDIDATE, ORDER, ARM, DURATION, BLOCK, PROCESS, COLUMNS };
typedef struct table {
    const char *at;
    size_t line;
    int column[COLUMNS];                         /* field index, -1: absent */
    double scale[COLUMNS];                       /* to milliseconds */
    char field[FIELDS_MAX][FIELD_BYTES]; int fields, columns;
    bool cut;                                    /* a field of the row was too long */
    char (*names)[FIELD_BYTES]; size_t n_names;  /* of the processes so far */
    char block[FIELD_BYTES]; size_t rows;        /* of the row before */
} table;

/* Copies a field without quotes and surrounding blanks; false: too long. */
static bool copy_field(char *out, const char *from, const char *to) {
    while (from < to && (*from == ' ' || *from == '\t' || *from == '"')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '"' || to[-1] == '\r')) to--;
    size_t n = (size_t)(to - from);
    bool fits = n < FIELD_BYTES;
    if (!fits) n = FIELD_BYTES - 1;
    memcpy(out, from, n);
    out[n] = 0;
    return fits;
}

/* Next line that is neither empty nor a comment; false at the end. */
static bool next_row(table *t) {
    while (*t->at) {
        const char *end = t->at + strcspn(t->at, "\n"), *from = t->at;
        t->fields = 0;
        t->cut = false;
        t->line++;
        for (const char *p = from; t->fields < FIELDS_MAX; p++) {
            if (p < end && *p != ',') continue;
            if (!copy_field(t->field[t->fields++], from, p)) t->cut = true;
            from = p + 1;
            if (p == end) break;
        }
        t->at = *end ? end + 1 : end;
        if (t->field[0][0] != '#' && (t->fields > 1 || t->field[0][0])) return true;
    }
    return false;
}

static assay_status row_error(const table *t, const char *what, const char *text, assay_error *err) {
    return lat_fail(err, "samples: CSV line %zu: %s '%.60s'", t->line, what, text);
}

static bool set_column(table *t, int column, int field, double scale) {
    if (t->column[column] >= 0) return false;
    t->column[column] = field;
    t->scale[column] = scale;
    return true;
}

/* A header cell: a plain name, a unit, or an arm with a unit. */
static bool take_header(table *t, const char *name, int field) {
    static const struct { const char *name; int column; } plain[] = {
        { "control", CONTROL }, { "candidate", CANDIDATE }, { "order", ORDER }, { "arm", ARM }, { "block", BLOCK }, { "process", PROCESS },
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i].name) == 0) return set_column(t, plain[i].column, field, 1.0);
    if (!isnan(lat_unit_ms(name))) return set_column(t, DURATION, field, lat_unit_ms(name));
    for (int c = CONTROL; c <= CANDIDATE; c++) {
        size_t n = strlen(plain[c].name);
        if (strncmp(name, plain[c].name, n) == 0 && name[n] == '_' && !isnan(lat_unit_ms(name + n + 1))) return set_column(t, c, field, lat_unit_ms(name + n + 1));
    }
    return false;
}

static assay_status read_header(table *t, bool *wide, assay_error *err) {
    for (int i = 0; i < COLUMNS; i++) t->column[i] = -1;
    if (!next_row(t)) return lat_fail(err, "samples: the CSV is empty");
    for (int i = 0; i < t->fields; i++)
        if (!take_header(t, t->field[i], i))
            return lat_fail(err, "samples: CSV line %zu: column '%.60s' is unknown or there twice; known are control, candidate (control_us ...), order; arm, ms|us|ns|s, "
                                 "block; process. A file that is no CSV: name it .json", t->line, t->field[i]);
    t->columns = t->fields;
    *wide = t->column[CONTROL] >= 0 && t->column[CANDIDATE] >= 0;
    bool tall = t->column[ARM] >= 0 && t->column[DURATION] >= 0;
    if (*wide == tall) return lat_fail(err, "samples: CSV line %zu: needs either columns control and candidate, or arm and one of ms, us, ns, s", t->line);
    return ASSAY_OK;
}

static const char *cell(const table *t, int column) { return t->column[column] >= 0 && t->column[column] < t->fields ? t->field[t->column[column]] : ""; }

static assay_status duration(const table *t, int column, double *ms, assay_error *err) {
    const char *text = cell(t, column);
    char *end;
    *ms = strtod(text, &end) * t->scale[column];
    return end == text || *end ? row_error(t, "no duration:", text, err) : ASSAY_OK;
}

/* A row has a cell for each column: one more is a decimal comma or a row that slipped, and every later cell would be another's. */
static assay_status check_row(const table *t, assay_error *err) {
    if (t->fields != t->columns) return lat_fail(err, "samples: CSV line %zu: %d cells, the header has %d (numbers have a point, not a comma)", t->line, t->fields, t->columns);
    return t->cut ? lat_fail(err, "samples: CSV line %zu: a cell is longer than %d bytes", t->line, FIELD_BYTES - 1) : ASSAY_OK;
}

/* A name that differs from the row before starts the next process. One that comes back is refused: cut into pieces, few processes
 * would count as many. */
static assay_status enter_process(table *t, lat_data *d, assay_error *err) {
    const char *name = cell(t, PROCESS);
    if (t->n_names && strcmp(name, t->names[t->n_names - 1]) == 0) return ASSAY_OK;
    for (size_t i = 0; i < t->n_names; i++)
        if (strcmp(name, t->names[i]) == 0) return row_error(t, "rows of a process stand together; here comes back", name, err);
    char (*grown)[FIELD_BYTES] = realloc(t->names, (t->n_names + 1) * sizeof *grown);
    if (!grown) abort();
    t->names = grown;
    snprintf(t->names[t->n_names++], FIELD_BYTES, "%s", name);
    d->processes++;
    return ASSAY_OK;
}

static assay_status pair_row(table *t, lat_data *d, assay_error *err) {
    const char *order = cell(t, ORDER);
    double a, b;
    assay_status st = duration(t, CONTROL, &a, err);
    if (st == ASSAY_OK) st = duration(t, CANDIDATE, &b, err);
    if (st != ASSAY_OK) return st;
    if (!*order) d->order_recorded = false;
    else if (strcmp(order, "AB") != 0 && strcmp(order, "BA") != 0) return row_error(t, "order is AB (control first) or BA, not", order, err);
    if ((st = enter_process(t, d, err)) != ASSAY_OK) return st;
    lat_add_pair(d, d->processes - 1, *order == 'A', a, b);
    return ASSAY_OK;
}

static assay_status arm_of(const table *t, const lat_names *names, bool *candidate, assay_error *err) {
    const char *arm = cell(t, ARM);
    *candidate = strcmp(arm, "candidate") == 0 || strcmp(arm, "B") == 0 || (*arm && strcmp(arm, names->candidate) == 0);
    if (*candidate || strcmp(arm, "control") == 0 || strcmp(arm, "A") == 0 || (*arm && strcmp(arm, names->control) == 0)) return ASSAY_OK;
    return row_error(t, "arm is control, candidate, A, B or a name that parameter control or arm gives, not", arm, err);
}

static assay_status prediction_row(table *t, const lat_names *names, lat_data *d, assay_error *err) {
    const char *block = cell(t, BLOCK);
    bool candidate;
    double ms;
    assay_status st = arm_of(t, names, &candidate, err);
    if (st == ASSAY_OK) st = duration(t, DURATION, &ms, err);
    uint32_t before = d->processes;
    if (st == ASSAY_OK) st = enter_process(t, d, err);
    if (st != ASSAY_OK) return st;
    lat_add_duration(d, candidate, ms);
    d->alternating = false;
    if (!*block) d->paired = false;              /* nobody says which predictions belong together */
    if (t->rows == 0 || before != d->processes || strcmp(block, t->block) != 0)
        *lat_add_block(d) = (lat_block){ .process = d->processes - 1, .control_first = !candidate };
    snprintf(t->block, sizeof t->block, "%s", block);
    lat_block *b = &d->blocks[d->n_blocks - 1];
    uint32_t *n = candidate ? &b->n_candidate : &b->n_control;
    if (*n < 2) (candidate ? b->candidate : b->control)[*n] = ms;
    ++*n;
    b->control_last = !candidate;
    return ASSAY_OK;
}

assay_status lat_import_csv(const char *text, const lat_names *names, lat_data *d, assay_error *err) {
    table *t = lat_alloc(1, sizeof *t);
    bool wide = false;
    t->at = text;
    assay_status st = read_header(t, &wide, err);
    while (st == ASSAY_OK && next_row(t)) {
        st = check_row(t, err);
        if (st == ASSAY_OK) st = wide ? pair_row(t, d, err) : prediction_row(t, names, d, err);
        t->rows++;
    }
    if (st == ASSAY_OK && t->rows == 0) st = lat_fail(err, "samples: the CSV has a header and no rows");
    free(t->names);
    free(t);
    /* AABB is no block: drift falls on one arm. */
    for (size_t i = 0; st == ASSAY_OK && i < d->n_blocks; i++)
        if (d->blocks[i].n_control == 2 && d->blocks[i].n_candidate == 2 && !wide && d->blocks[i].control_first != d->blocks[i].control_last) d->paired = false;
    return st;
}
