/* The word `sweep`: an experiment once per point of its axes, one table at the end, and per gate the smallest point at which its
 * verdict is another than at the smallest point of all. */
#include "cli/sweep.h"
#include "base/fs.h"
#include "base/names.h"
#include "run/judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_MAX = 8, POINTS_MAX = 1000 };
typedef struct point { size_t at[AXES_MAX]; double size; size_t order; assay_json *receipt; } point;
typedef struct sweep { const assay_json *axes; const char *names[AXES_MAX]; size_t n_axes, n; point *points; } sweep;

/* ---- points */

static const assay_json *value_of(const sweep *s, const point *p, size_t axis) { return assay_json_at(assay_json_get(s->axes, s->names[axis]), p->at[axis]); }

static char *text_of(const assay_json *v) {
    char number[40];
    if (assay_json_text(v)) return assay_xstrdup(assay_json_text(v));
    if (assay_json_kind(v) == ASSAY_J_BOOL) return assay_xstrdup(assay_json_truth(v) ? "true" : "false");
    assay_json_format_number(assay_json_value(v), number);
    return assay_xstrdup(number);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The smallest first: the product of the numeric values, then the order in which the axes list them. */
static int by_size(const void *a, const void *b) {
    const point *x = a, *y = b;
    if (x->size < y->size || x->size > y->size) return x->size < y->size ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static assay_status read_axes(sweep *s, const char *script, assay_error *err) {
    s->n = 1;
    for (const assay_json *a = assay_json_first(s->axes); a; a = assay_json_next(a)) {
        if (s->n_axes == AXES_MAX) return assay_fail(err, ASSAY_E_INPUT, "%s: sweep.axes: at most %d axes", script, AXES_MAX);
        if (assay_json_kind(a) != ASSAY_J_ARRAY || assay_json_len(a) == 0)
            return assay_fail(err, ASSAY_E_INPUT, "%s: sweep.axes.%s: expected a list of values", script, assay_json_key(a));
        for (const assay_json *v = assay_json_first(a); v; v = assay_json_next(v))
            if (assay_json_kind(v) == ASSAY_J_OBJECT || assay_json_kind(v) == ASSAY_J_ARRAY)
                return assay_fail(err, ASSAY_E_INPUT, "%s: sweep.axes.%s: a value is a number, a text or a boolean", script, assay_json_key(a));
        s->names[s->n_axes++] = assay_json_key(a);
        s->n *= assay_json_len(a);
        if (s->n > POINTS_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s: sweep.axes: more than %d points", script, POINTS_MAX);
    }
    if (s->n_axes == 0) return assay_fail(err, ASSAY_E_INPUT, "%s: sweep.axes: name at least one axis", script);
    qsort(s->names, s->n_axes, sizeof *s->names, by_name);
    return ASSAY_OK;
}

static void make_points(sweep *s) {
    s->points = assay_xcalloc(s->n, sizeof *s->points);
    for (size_t i = 0; i < s->n; i++) {
        point *p = &s->points[i];
        size_t rest = i;
        p->size = 1;
        p->order = i;
        for (size_t k = s->n_axes; k-- > 0;) {
            size_t len = assay_json_len(assay_json_get(s->axes, s->names[k]));
            p->at[k] = rest % len;
            rest /= len;
            if (assay_json_kind(value_of(s, p, k)) == ASSAY_J_NUMBER) p->size *= assay_json_value(value_of(s, p, k));
        }
    }
    qsort(s->points, s->n, sizeof *s->points, by_size);
}

/* "S-16_dtype-fp16": a folder. */
static char *folder_of(const sweep *s, const point *p) {
    assay_buf name = {0};
    for (size_t k = 0; k < s->n_axes; k++) {
        char *v = text_of(value_of(s, p, k));
        assay_buf_printf(&name, "%s%s-%s", k ? "_" : "", s->names[k], v);
        free(v);
    }
    for (char *c = name.data; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c)) *c = '_';
    return assay_buf_take(&name);
}

/* ---- running */

assay_json *assay_sweep_find(const assay_planning *p) {
    assay_script_options so = {.set = p->options.set, .n_set = p->options.n_set, .registry = p->options.registry};
    assay_script *s = NULL;
    assay_json *found = NULL;
    if (assay_script_open(p->options.script, &so, &s, NULL) == ASSAY_OK && assay_json_path(assay_script_description(s), "sweep.axes"))
        found = assay_json_clone(assay_script_description(s));
    assay_script_close(s);
    return found;
}

static char *next_free_folder(const char *name) {
    for (int k = 1;; k++) {
        char *dir = assay_xprintf("runs/%s-sweep-%d", name, k);
        if (!assay_exists(dir)) return dir;
        free(dir);
    }
}

assay_status assay_sweep_folder(const assay_args *a, const assay_json *description, bool resume, char **folder, assay_error *err) {
    const char *out = assay_arg(a, "out");
    if (!out && resume) return assay_fail(err, ASSAY_E_USAGE, "--resume of a sweep: name its folder with --out");
    if (out && assay_exists(out) && !resume) return assay_fail(err, ASSAY_E_INPUT, "%s exists already: choose another --out%s", out,
                                                               assay_streq(a->cmd->name, "run") ? ", or go on with it by --resume" : "");
    *folder = out ? assay_xstrdup(out) : next_free_folder(assay_json_string(description, "name", "experiment"));
    return ASSAY_OK;
}

/* Adds the point's values to those of --set while it runs. */
static assay_status run_point(const sweep *s, point *p, const assay_sweep_runner *r, const char *base, assay_error *err) {
    assay_planning *planning = r->planning;
    size_t given = planning->options.n_set;
    const char *out = planning->options.out;
    if (given + s->n_axes > sizeof planning->set / sizeof *planning->set) return assay_fail(err, ASSAY_E_LIMIT, "too many values of --set");
    char *folder = folder_of(s, p), *dir = assay_path_join(base, folder), *set[AXES_MAX];
    for (size_t k = 0; k < s->n_axes; k++) {
        char *v = text_of(value_of(s, p, k));
        planning->set[given + k] = set[k] = assay_xprintf("%s=%s", s->names[k], v);
        free(v);
    }
    planning->options.n_set = given + s->n_axes;
    planning->options.out = dir;
    assay_status st = r->run(r->ctx, &p->receipt, err);
    if (st != ASSAY_OK) assay_wrap(err, "sweep, point %s", folder);
    planning->options.n_set = given;
    planning->options.out = out;
    for (size_t k = 0; k < s->n_axes; k++) free(set[k]);
    free(folder);
    free(dir);
    return st;
}

static assay_status run_points(sweep *s, const char *base, const assay_sweep_runner *r, assay_error *err) {
    assay_status st = read_axes(s, r->planning->options.script, err);
    if (st != ASSAY_OK) return st;
    make_points(s);
    for (size_t i = 0; st == ASSAY_OK && i < s->n; i++) st = run_point(s, &s->points[i], r, base, err);
    return st;
}

static void free_points(sweep *s) {
    for (size_t i = 0; s->points && i < s->n; i++) assay_json_free(s->points[i].receipt);
    free(s->points);
}

assay_status assay_sweep_each(const assay_json *axes, const char *folder, const assay_sweep_runner *r, assay_error *err) {
    sweep s = {.axes = axes};
    assay_status st = run_points(&s, folder, r, err);
    free_points(&s);
    return st;
}

/* ---- the table */

static const char *cell(const point *p, size_t gate) { return assay_json_string(assay_json_at(assay_json_get(p->receipt, "gates"), gate), "printed", "-"); }

static char *point_text(const sweep *s, const point *p) {
    assay_buf t = {0};
    for (size_t k = 0; k < s->n_axes; k++) {
        char *v = text_of(value_of(s, p, k));
        assay_buf_printf(&t, "%s%s = %s", k ? ", " : "", s->names[k], v);
        free(v);
    }
    return assay_buf_take(&t);
}

static const point *first_flip(const sweep *s, size_t gate) {
    for (size_t i = 1; i < s->n; i++)
        if (!assay_streq(cell(&s->points[i], gate), cell(&s->points[0], gate))) return &s->points[i];
    return NULL;
}

static assay_json *point_values(const sweep *s, const point *p) {
    assay_json *o = assay_json_object();
    for (size_t k = 0; k < s->n_axes; k++) assay_json_set(o, s->names[k], assay_json_clone(value_of(s, p, k)));
    return o;
}

static assay_json *as_json(const sweep *s) {
    assay_json *j = assay_json_object(), *points = assay_json_set(j, "points", assay_json_array()), *flips = assay_json_set(j, "flips", assay_json_array());
    const assay_json *gates = assay_json_get(s->points[0].receipt, "gates");
    assay_json_set_string(j, "schema", "assay-sweep/1");
    assay_json_set_string(j, "experiment", assay_json_string(s->points[0].receipt, "experiment", ""));
    for (size_t i = 0; i < s->n; i++) {
        const point *p = &s->points[i];
        assay_json *row = assay_json_append(points, assay_json_object()), *verdicts = assay_json_set(row, "gates", assay_json_array());
        char *folder = folder_of(s, p);
        assay_json_set_string(row, "folder", folder);
        assay_json_set(row, "at", point_values(s, p));
        assay_json_set_string(row, "verdict", assay_json_string(p->receipt, "verdict", ""));
        for (size_t g = 0; g < assay_json_len(gates); g++) assay_json_append(verdicts, assay_json_new_string(cell(p, g)));
        free(folder);
    }
    for (size_t g = 0; g < assay_json_len(gates); g++) {
        const point *p = first_flip(s, g);
        assay_json *row = assay_json_append(flips, assay_json_object());
        assay_json_set_string(row, "gate", assay_json_string(assay_json_at(gates, g), "gate", ""));
        assay_json_set_string(row, "arm", assay_json_string(assay_json_at(gates, g), "arm", ""));
        assay_json_set(row, "at", p ? point_values(s, p) : assay_json_new_null());
        assay_json_set_string(row, "from", cell(&s->points[0], g));
        assay_json_set_string(row, "to", p ? cell(p, g) : NULL);
    }
    return j;
}

static void print_table(const sweep *s) {
    const assay_json *gates = assay_json_get(s->points[0].receipt, "gates");
    for (size_t k = 0; k < s->n_axes; k++) printf("%-10s ", s->names[k]);
    printf("%-13s", "run");
    for (size_t g = 0; g < assay_json_len(gates); g++) printf(" %-13s", assay_json_string(assay_json_at(gates, g), "gate", ""));
    putchar('\n');
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->n_axes; k++) {
            char *v = text_of(value_of(s, &s->points[i], k));
            printf("%-10s ", v);
            free(v);
        }
        printf("%-13s", assay_json_string(s->points[i].receipt, "verdict", ""));
        for (size_t g = 0; g < assay_json_len(gates); g++) printf(" %-13s", cell(&s->points[i], g));
        putchar('\n');
    }
    putchar('\n');
    for (size_t g = 0; g < assay_json_len(gates); g++) {
        const point *p = first_flip(s, g);
        const char *name = assay_json_string(assay_json_at(gates, g), "gate", ""), *arm = assay_json_string(assay_json_at(gates, g), "arm", "");
        char *at = p ? point_text(s, p) : NULL;
        if (p) printf("%s of %s: %s at the smallest point, first %s at %s\n", name, arm, cell(&s->points[0], g), cell(p, g), at);
        else printf("%s of %s: %s everywhere\n", name, arm, cell(&s->points[0], g));
        free(at);
    }
}

static assay_status write_json(const char *base, const assay_json *j, assay_error *err) {
    assay_buf text = {0};
    char *path = assay_path_join(base, "sweep.json");
    assay_json_write(j, &text);
    assay_status st = assay_write_file(path, text.data, text.len, err);
    assay_buf_free(&text);
    free(path);
    return st;
}

static int gravest_code(const sweep *s, bool require_target) {
    static const int gravest[] = {5, 1, 4, 6, 0};
    size_t worst = sizeof gravest / sizeof *gravest - 1;
    for (size_t i = 0; i < s->n; i++)
        for (size_t g = 0; g < worst; g++)
            if (assay_receipt_exit(s->points[i].receipt, require_target) == gravest[g]) worst = g;
    return gravest[worst];
}

assay_status assay_sweep_run(const assay_json *axes, const char *folder, const assay_sweep_runner *r, bool json, int *code, assay_error *err) {
    sweep s = {.axes = axes};
    assay_status st = run_points(&s, folder, r, err);
    assay_json *j = st == ASSAY_OK ? as_json(&s) : NULL;
    if (st == ASSAY_OK) st = write_json(folder, j, err);
    if (st == ASSAY_OK && json) assay_cli_print_json(j);
    else if (st == ASSAY_OK) print_table(&s);
    if (st == ASSAY_OK) *code = gravest_code(&s, r->require_target);
    assay_json_free(j);
    free_points(&s);
    return st;
}
