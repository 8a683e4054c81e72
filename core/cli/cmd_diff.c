/* cli/cmd_diff.c: two receipts (or run directories), two programs, an arm and its control, or two device tables: what differs (M77). */
#include "cli/arm_diff.h"
#include "base/fs.h"
#include "base/names.h"
#include "cli/tensor_files.h"
#include "ops/builtin.h"
#include "program/diff.h"
#include "tensor/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading: what is it? */

/* The only receipt.<host>.json of a run directory. */
static assay_status receipt_of_dir(const char *dir, assay_json **out, assay_error *err) {
    char **names = NULL, *found = NULL;
    size_t n = 0, receipts = 0;
    assay_status st = assay_list_dir(dir, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (!assay_starts_with(names[i], "receipt.") || !assay_ends_with(names[i], ".json") ||
            assay_streq(names[i], "receipt.json"))
            continue;
        if (receipts++ == 0) found = assay_path_join(dir, names[i]);
    }
    assay_list_free(names, n);
    if (st == ASSAY_OK && receipts != 1)
        st = assay_fail(err, ASSAY_E_INPUT, "%s holds %zu receipts: name one receipt.<host>.json", dir, receipts);
    if (st == ASSAY_OK) st = assay_json_read_file(found, out, err);
    free(found);
    return st;
}

static assay_status read_side(const char *path, assay_json **out, assay_error *err) {
    assay_status refused = assay_refuse_checkpoint(path, err);
    if (refused != ASSAY_OK) return refused;
    if (!assay_exists(path)) return assay_fail(err, ASSAY_E_INPUT, "%s: no such file or folder", path);
    char *plan = assay_path_join(path, "plan.json");
    bool run_dir = assay_is_dir(path) && assay_is_file(plan);
    free(plan);
    if (run_dir) return receipt_of_dir(path, out, err);
    if (assay_ends_with(path, ".json") && !assay_is_safetensors(path)) return assay_json_read_file(path, out, err);
    if (!assay_ends_with(path, ".npy") && !assay_is_safetensors(path))
        return assay_fail(err, ASSAY_E_INPUT, "%s: neither a run directory, a receipt or table (.json), tensors (.npy, .safetensors) nor a program", path);
    assay_json *tensors;
    assay_status st = assay_tensor_file_json(path, true, &tensors, err);
    if (st != ASSAY_OK) return st;
    *out = assay_json_object();
    assay_json_set_string(*out, "schema", "tensors");
    assay_json_set(*out, "tensors", tensors);
    return ASSAY_OK;
}

/* ---- comparing */

/* A receipt's identity, and the digests of the trial.json files that hold it, are expected to differ between machines. */
static void drop_identity(assay_json *j) {
    assay_json_remove(j, "identity");
    assay_json *evidence = assay_json_get(j, "evidence");
    for (size_t i = 0; i < assay_json_len(evidence); i++)
        if (assay_json_get(assay_json_at(evidence, i), "trial")) assay_json_remove(assay_json_at(evidence, i), "sha256");
}

static void add_line(assay_json *lines, const char *where, const assay_json *a, const assay_json *b) {
    assay_json *row = assay_json_append(lines, assay_json_object());
    assay_json_set_string(row, "where", *where ? where : ".");
    assay_json_set(row, "a", a ? assay_json_clone(a) : assay_json_new_null());
    assay_json_set(row, "b", b ? assay_json_clone(b) : assay_json_new_null());
}

static void compare(const assay_json *a, const assay_json *b, const char *where, assay_json *lines);

static void compare_key(const assay_json *a, const assay_json *b, const char *key, const char *where, assay_json *lines) {
    char *path = *where ? assay_xprintf("%s.%s", where, key) : assay_xstrdup(key);
    compare(assay_json_get(a, key), assay_json_get(b, key), path, lines);
    free(path);
}

static void compare(const assay_json *a, const assay_json *b, const char *where, assay_json *lines) {
    int kind = assay_json_kind(a);
    if (!a || !b || kind != assay_json_kind(b) || (kind != ASSAY_J_OBJECT && kind != ASSAY_J_ARRAY)) {
        if (!a != !b || (a && !assay_json_equal(a, b))) add_line(lines, where, a, b);
        return;
    }
    size_t n = assay_json_len(a), m = assay_json_len(b);
    if (kind == ASSAY_J_ARRAY) {
        for (size_t i = 0; i < (n > m ? n : m); i++) {
            char *path = assay_xprintf("%s[%zu]", where, i);
            compare(i < n ? assay_json_at(a, i) : NULL, i < m ? assay_json_at(b, i) : NULL, path, lines);
            free(path);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) compare_key(a, b, assay_json_key_at(a, i), where, lines);
    for (size_t i = 0; i < m; i++)
        if (!assay_json_get(a, assay_json_key_at(b, i))) compare_key(a, b, assay_json_key_at(b, i), where, lines);
}

static void print_lines(const assay_json *lines) {
    for (size_t i = 0; i < assay_json_len(lines); i++) {
        const assay_json *row = assay_json_at(lines, i);
        char *a = assay_json_print(assay_json_get(row, "a")), *b = assay_json_print(assay_json_get(row, "b"));
        printf("%s: %.200s | %.200s\n", assay_json_string(row, "where", ""), a, b);
        free(a);
        free(b);
    }
}

static int show(const assay_args *a, const assay_json *lines, const char *what) {
    size_t n = assay_json_len(lines);
    if (a->json) {
        assay_json *j = assay_json_object();
        assay_json_set_string(j, "schema", "assay-diff/1");
        assay_json_set_string(j, "what", what);
        assay_json_set_bool(j, "equal", n == 0);
        assay_json_set(j, "differences", assay_json_clone(lines));
        assay_cli_print_json(j);
        assay_json_free(j);
    } else {
        print_lines(lines);
        bool receipt = assay_starts_with(what, "assay-receipt/");
        printf("%s%s\n", n ? "different" : "equal",
               receipt ? " (identity and the digests of the files that hold it left aside)" : "");
    }
    return n ? 1 : ASSAY_EXIT_OK;
}

/* ---- programs, by data flow */
static bool is_program(const char *path) {
    static const char *const ends[] = {".mlpackage", ".mlmodel", ".mlmodelc", ".mil", ".mlpackage/", ".mlmodelc/"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (assay_ends_with(path, ends[i])) return true;
    return false;
}

static int programs(const assay_args *a) {
    assay_program *p = NULL, *q = NULL;
    assay_error err = {0};
    assay_json *lines = assay_json_array();
    assay_ops_register();
    int code = assay_program_read(a->pos[0], &p, &err) == ASSAY_OK && assay_program_read(a->pos[1], &q, &err) == ASSAY_OK
                   ? ASSAY_EXIT_OK
                   : assay_cli_fail(a, &err);
    if (code == ASSAY_EXIT_OK) {
        assay_program_diff(p, q, lines);
        code = show(a, lines, "program");
    }
    assay_json_free(lines);
    assay_program_free(p);
    assay_program_free(q);
    return code;
}

static int run(const assay_args *a) {
    if (is_program(a->pos[0]) && is_program(a->pos[1])) return programs(a);
    if (assay_is_arm_diff(a->pos[0], a->pos[1])) return assay_arm_diff(a, a->pos[0], a->pos[1]);
    assay_json *x = NULL, *y = NULL, *lines = assay_json_array();
    assay_error err = {0};
    int code = ASSAY_EXIT_OK;
    assay_status st = read_side(a->pos[0], &x, &err);
    if (st == ASSAY_OK) st = read_side(a->pos[1], &y, &err);
    const char *what = assay_json_string(x, "schema", ""), *other = assay_json_string(y, "schema", "");
    if (st == ASSAY_OK && !assay_streq(what, other))
        st = assay_fail(&err, ASSAY_E_INPUT, "%s is \"%s\" and %s is \"%s\": only like can be compared with like", a->pos[0],
                        what, a->pos[1], other);
    if (st == ASSAY_OK) {
        if (assay_starts_with(what, "assay-receipt/")) {
            drop_identity(x);
            drop_identity(y);
        }
        compare(x, y, "", lines);
        code = show(a, lines, what);
    } else {
        code = assay_cli_fail(a, &err);
    }
    assay_json_free(lines);
    assay_json_free(x);
    assay_json_free(y);
    return code;
}

const assay_command assay_cmd_diff = {
    "diff",
    "A B",
    "what differs between two receipts, programs (by data flow), files of tensors or device tables (exit 1: something); RUN ARM: "
    "the arm from its control, beyond its declared change",
    NULL,
    2,
    2,
    run,
    false,
    "assay diff run fused"};
