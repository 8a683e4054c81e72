/* The reference executor on the packages of corpus/coremltools: outputs within the stated tolerance as declared, and closer
 * still in float64. */
#include "suite.h"
#include "backends/reference/exec.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <math.h>

typedef struct one_case { const char *dir; assay_json *j; assay_own_tensor in[16]; assay_named_tensor named[16]; uint32_t n_in; } one_case;

static bool load_inputs(one_case *c, assay_error *err) {
    const assay_json *in = assay_json_get(c->j, "inputs");
    for (size_t i = 0; i < assay_json_len(in) && i < 16; i++) {
        char *path = assay_path_join(c->dir, assay_json_text(assay_json_at(in, i)));
        assay_status s = assay_npy_read(path, &c->in[i], err);
        free(path);
        if (s != ASSAY_OK) return false;
        c->named[c->n_in++] = (assay_named_tensor){ assay_json_key_at(in, i), c->in[i].t };
    }
    return true;
}

/* Largest absolute difference and cosine; NaN where they differ in kind or size. */
static void differ(const assay_tensor *r, const assay_tensor *c, double *max_abs, double *cosine) {
    int64_t n = assay_tensor_count(r);
    double rc = 0, rr = 0, cc = 0;
    *max_abs = n == assay_tensor_count(c) ? 0 : (double)NAN;
    for (int64_t i = 0; i < n && n == assay_tensor_count(c); i++) {
        double a = assay_load_f64(r->dtype, assay_tensor_at(r, i)), b = assay_load_f64(c->dtype, assay_tensor_at(c, i));
        double d = a == b || (a != a && b != b) ? 0 : fabs(a - b);
        if (!(d <= *max_abs)) *max_abs = d;
        rc += a * b;
        rr += a * a;
        cc += b * b;
    }
    *cosine = rc / (sqrt(rr) * sqrt(cc));
}

/* `files` and `limits`: "outputs" and "tolerance", or those of the states. */
static void check_output(const one_case *c, const char *files, const char *limits, const assay_named_tensor *got, int32_t precision) {
    const char *key = got->name;
    const assay_json *tol = assay_json_get(assay_json_get(c->j, limits), key);
    const char *file = assay_json_string(assay_json_get(c->j, files), key, NULL);
    if (!file) return;
    char *path = assay_path_join(c->dir, file);
    assay_own_tensor want;
    CU_ASSERT_FATAL(assay_npy_read(path, &want, NULL) == ASSAY_OK);
    double max_abs, cosine;
    differ(&want.t, &got->t, &max_abs, &cosine);
    bool exact = precision == ASSAY_PREC_FP64 && assay_dtype_is_float(want.t.dtype);
    double limit = assay_json_number(tol, "max_abs", 0), least = exact ? 1 - 1e-6 : assay_json_number(tol, "cosine", -1);
    bool ok = max_abs <= limit && (cosine >= least || max_abs == 0 || cosine != cosine);
    if (!ok) printf("\n  %s %s: max_abs %g (limit %g), 1-cosine %g at precision %d\n", c->dir, key, max_abs, limit, 1 - cosine, precision);
    CU_ASSERT(ok);
    assay_tensor_free(&want);
    free(path);
}

static void load_states(const one_case *c, const assay_exec_state *st) {
    for (uint32_t i = 0; i < assay_exec_state_count(st); i++) {
        assay_named_tensor s = assay_exec_state_at(st, i);
        assay_own_tensor t;
        char *path = assay_path_join(c->dir, assay_json_string(assay_json_get(c->j, "states_before"), s.name, "?"));
        CU_ASSERT_FATAL(assay_npy_read(path, &t, NULL) == ASSAY_OK);
        CU_ASSERT_FATAL(assay_tensor_same_shape(&t.t, &s.t));
        assay_tensor_read(&t.t, s.t.dtype, s.t.data);
        assay_tensor_free(&t);
        free(path);
    }
}

static void run_case(const one_case *c, const assay_program *p, int32_t precision) {
    assay_error err = { 0 };
    assay_exec_options o = { .precision = precision, .threads = 1, .function = assay_json_string(c->j, "function", NULL) };
    assay_exec *e = NULL;
    assay_exec_state *states = NULL;
    assay_status s = assay_exec_open(p, &o, &e, &err);
    if (s == ASSAY_OK) s = assay_exec_state_new(e, &states, &err);
    if (s == ASSAY_OK) load_states(c, states);
    if (s == ASSAY_OK) s = assay_exec_run_state(e, c->named, c->n_in, states, &err);
    if (s != ASSAY_OK) printf("\n  %s: %s\n", c->dir, err.message);
    CU_ASSERT(s == ASSAY_OK);
    for (uint32_t i = 0; s == ASSAY_OK && i < assay_exec_output_count(e); i++) {
        assay_named_tensor out;
        CU_ASSERT_FATAL(assay_exec_output(e, i, &out, &err) == ASSAY_OK);
        check_output(c, "outputs", "tolerance", &out, precision);
    }
    for (uint32_t i = 0; s == ASSAY_OK && i < assay_exec_state_count(states); i++) {
        assay_named_tensor st = assay_exec_state_at(states, i);
        check_output(c, "states_after", "tolerance_states", &st, precision);
    }
    assay_exec_state_free(states);
    assay_exec_close(e);
}

static void one_file(const char *dir, const char *name) {
    assay_error err = { 0 };
    one_case c = { .dir = dir };
    char *file = assay_path_join(dir, name), *package = assay_path_join(dir, "model.mlpackage");
    assay_program *p = NULL;
    bool ok = assay_json_read_file(file, &c.j, &err) == ASSAY_OK && load_inputs(&c, &err) && assay_program_read(package, &p, &err) == ASSAY_OK;
    if (!ok) printf("\n  %s: %s\n", dir, err.message);
    CU_ASSERT(ok);
    if (ok && assay_json_len(assay_json_get(c.j, "outputs"))) {
        run_case(&c, p, ASSAY_PREC_DECLARED);
        run_case(&c, p, ASSAY_PREC_FP64);
    }
    for (uint32_t i = 0; i < c.n_in; i++) assay_tensor_free(&c.in[i]);
    assay_program_free(p);
    assay_json_free(c.j);
    free(file);
    free(package);
}

/* case.json, and one more for each further call or function. */
static void folder(const char *dir) {
    char **names = NULL;
    size_t n = 0, found = 0;
    CU_ASSERT_FATAL(assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        if (!assay_starts_with(names[i], "case.") || !assay_ends_with(names[i], ".json")) continue;
        one_file(dir, names[i]);
        found++;
    }
    CU_ASSERT(found > 0);
    assay_list_free(names, n);
}

static void group(const char *name) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char *dir = NULL, **names = NULL;
    size_t n = 0;
    char path[4096];
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s", shared, name);
    CU_ASSERT_FATAL(assay_list_dir(path, &names, &n, NULL) == ASSAY_OK);
    CU_ASSERT(n > 0);
    for (size_t i = 0; i < n; i++) {
        dir = assay_path_join(path, names[i]);
        folder(dir);
        free(dir);
    }
    assay_list_free(names, n);
}

static void attention(void) { group("attention"); }
static void torch(void) { group("torch"); }
static void ops(void) { group("ops"); }
static void constants(void) { group("const"); }
static void compressed(void) { group("compressed"); }
static void structure(void) { group("structure"); }
static void states(void) { group("state"); }
static void multifunction(void) { group("multifunction"); }

ASSAY_SUITE("exec_corpus", TEST(attention), TEST(torch), TEST(ops), TEST(constants), TEST(compressed), TEST(structure), TEST(states),
            TEST(multifunction))
