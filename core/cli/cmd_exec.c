/* cli/cmd_exec.c: runs a function of a program on the reference executor and writes its outputs. */
#include "cli/cli.h"
#include "backends/reference/exec.h"
#include "backends/reference/ranges.h"
#include "cli/exec_states.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "tensor/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 256 };
typedef struct exec_job {
    const assay_args *a;
    assay_program *p;
    assay_exec *e;
    assay_exec_state *states;
    int calls; /* an input given several times makes as many calls */
    assay_own_tensor own[INPUTS_MAX];
    assay_named_tensor in[INPUTS_MAX];
    int n_in;
    const char *cut[INPUTS_MAX];
    assay_exec_options o;
    assay_ranges ranges;
    assay_json *doc;
    assay_error err;
} exec_job;

/* ---- options */
static const char *const precisions[] = {"declared", "fp16", "fp32", "fp64"};

static int read_options(exec_job *j) {
    const char *precision = assay_arg(j->a, "precision"), *threads = assay_arg(j->a, "threads");
    char hint[96], *end = NULL;
    j->o = (assay_exec_options){.precision = ASSAY_PREC_DECLARED, .function = assay_arg(j->a, "function"), .cut = j->cut};
    for (int32_t i = 0; precision && i < 4; i++)
        if (strcmp(precisions[i], precision) == 0) {
            j->o.precision = i;
            precision = NULL;
        }
    if (precision)
        return assay_cli_usage(j->a, "unknown precision '%s'%s", precision, assay_did_you_mean(hint, precision, precisions, 4));
    long n = threads ? strtol(threads, &end, 10) : 0;
    if (threads && (*threads == 0 || *end || n < 1 || n > 1024))
        return assay_cli_usage(j->a, "--threads must be 1 to 1024, got '%s'", threads);
    j->o.threads = (uint32_t)n;
    j->o.n_cut = (uint32_t)assay_arg_all(j->a, "cut", j->cut, INPUTS_MAX);
    if (assay_flag(j->a, "ranges")) {
        j->o.observe = assay_ranges_observe;
        j->o.observe_ctx = &j->ranges;
    }
    return 0;
}

static int read_inputs(exec_job *j) {
    const char *given[INPUTS_MAX];
    int n = assay_arg_all(j->a, "input", given, INPUTS_MAX);
    for (int i = 0; i < n; i++) {
        const char *eq = strchr(given[i], '=');
        if (!eq || eq == given[i] || !eq[1]) return assay_cli_usage(j->a, "-i takes NAME=FILE, got '%s'", given[i]);
        if (assay_npy_read(eq + 1, &j->own[j->n_in], &j->err) != ASSAY_OK) return assay_cli_fail(j->a, &j->err);
        j->in[j->n_in] = (assay_named_tensor){assay_xstrndup(given[i], (size_t)(eq - given[i])), j->own[j->n_in].t};
        j->n_in++;
    }
    return 0;
}

/* ---- calls */
static int times_given(const exec_job *j, const char *name) {
    int n = 0;
    for (int i = 0; i < j->n_in; i++) n += !strcmp(j->in[i].name, name);
    return n;
}

static int count_calls(exec_job *j) {
    j->calls = 1;
    for (int i = 0; i < j->n_in; i++)
        if (times_given(j, j->in[i].name) > j->calls) j->calls = times_given(j, j->in[i].name);
    for (int i = 0; i < j->n_in; i++) {
        int n = times_given(j, j->in[i].name);
        if (n != 1 && n != j->calls)
            return assay_cli_usage(j->a,
                                   "input '%s' is given %d times, another one %d times: give it once, or once for each call",
                                   j->in[i].name, n, j->calls);
    }
    return 0;
}

/* The inputs of call `call` (0 is the first): the so-manieth file of each name, or its only one. */
static uint32_t inputs_of_call(const exec_job *j, int call, assay_named_tensor *in) {
    uint32_t n = 0;
    for (int i = 0; i < j->n_in; i++) {
        int before = 0;
        for (int k = 0; k < i; k++) before += !strcmp(j->in[k].name, j->in[i].name);
        if (before == call || (before == 0 && times_given(j, j->in[i].name) == 1)) in[n++] = j->in[i];
    }
    return n;
}

/* ---- results */
static assay_status save(const char *dir, const assay_named_tensor *out, assay_json *row, assay_error *err) {
    char *file = assay_xprintf("%s.npy", out->name), *path = assay_path_join(dir, file);
    assay_status s =
        assay_path_is_inside(file) ? ASSAY_OK : assay_fail(err, ASSAY_E_INPUT, "output '%s' cannot name a file", out->name);
    if (s == ASSAY_OK) s = assay_npy_write(path, &out->t, err);
    assay_json_set_string(row, "file", file);
    free(file);
    free(path);
    return s;
}

static assay_status outputs(exec_job *j, const char *dir, int call, assay_json *list) {
    for (uint32_t i = 0; i < assay_exec_output_count(j->e); i++) {
        assay_named_tensor out;
        char hex[65];
        if (assay_exec_output(j->e, i, &out, &j->err) != ASSAY_OK) return j->err.code;
        assay_json *row = assay_json_append(list, assay_json_object()), *shape = assay_json_set(row, "shape", assay_json_array());
        assay_json_set_string(row, "name", out.name);
        if (j->calls > 1) assay_json_set_int(row, "call", call + 1);
        assay_json_set_string(row, "dtype", assay_dtype_name(out.t.dtype));
        for (uint32_t k = 0; k < out.t.rank; k++) assay_json_append(shape, assay_json_new_number((double)out.t.shape[k]));
        assay_tensor_digest(&out.t, hex);
        assay_json_set_string(row, "sha256", hex);
        if (dir && save(dir, &out, row, &j->err) != ASSAY_OK) return j->err.code;
    }
    return ASSAY_OK;
}

static void ranges_json(const assay_ranges *r, assay_json *list) {
    for (size_t i = 0; i < r->n; i++) {
        const assay_range *x = &r->rows[i];
        assay_json *row = assay_json_append(list, assay_json_object());
        assay_json_set_string(row, "value", x->value);
        assay_json_set_string(row, "op", x->op);
        assay_json_set_string(row, "dtype", assay_dtype_name(x->dtype));
        assay_json_set_number(row, "elements", (double)x->elements);
        assay_json_set_number(row, "nonfinite", (double)x->nonfinite);
        assay_json_set_number(row, "max_abs", x->max_abs);
        assay_json_set_number(row, "max_abs_over_65504", x->max_abs / 65504.0);
        assay_json_set_number(row, "headroom_bits", x->headroom_bits);
        assay_json_set_number(row, "subnormal_share", x->subnormal_share);
    }
}

static void print_text(const exec_job *j) {
    const assay_json *list = assay_json_get(j->doc, "outputs");
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *row = assay_json_at(list, i);
        char *shape = assay_json_print(assay_json_get(row, "shape"));
        if (assay_json_get(row, "call")) printf("call %.0f  ", assay_json_number(row, "call", 0));
        printf("%-24s %s%s  sha256 %.16s\n", assay_json_string(row, "name", ""), assay_json_string(row, "dtype", ""), shape,
               assay_json_string(row, "sha256", ""));
        free(shape);
    }
    if (!j->o.observe) return;
    printf("\n%-28s %-18s %-5s %12s %10s %10s %9s\n", "value", "op", "held", "max abs", "headroom", "subnormal", "nonfinite");
    for (size_t i = 0; i < j->ranges.n; i++) {
        const assay_range *r = &j->ranges.rows[i];
        printf("%-28s %-18.18s %-5s %12.6g %7.2f b  %8.3f %% %9llu%s\n", r->value, r->op[0] ? r->op : "(input)",
               assay_dtype_name(r->dtype), r->max_abs, r->headroom_bits, 100 * r->subnormal_share,
               (unsigned long long)r->nonfinite, !(r->headroom_bits >= 0) ? "  beyond fp16" : "");
    }
}

/* One call after the other on the same states; outputs go to DIR, with several calls to DIR/call1, DIR/call2 ... */
static assay_status one_call(exec_job *j, int call, assay_json *list) {
    const char *out = assay_arg(j->a, "out");
    assay_named_tensor in[INPUTS_MAX];
    char *name = assay_xprintf("call%d", call + 1), *dir = !out           ? NULL
                                                           : j->calls > 1 ? assay_path_join(out, name)
                                                                          : assay_xstrdup(out);
    assay_status st = assay_exec_run_state(j->e, in, inputs_of_call(j, call, in), j->states, &j->err);
    if (st == ASSAY_OK && dir) st = assay_mkdirs(dir, &j->err);
    if (st == ASSAY_OK) st = outputs(j, dir, call, list);
    free(name);
    free(dir);
    return st;
}

static int calls(exec_job *j) {
    const char *given[INPUTS_MAX];
    int n = assay_arg_all(j->a, "state-in", given, INPUTS_MAX);
    assay_status st = assay_exec_state_new(j->e, &j->states, &j->err);
    for (int i = 0; i < n && st == ASSAY_OK; i++) st = assay_exec_state_load(j->states, given[i], &j->err);
    j->doc = assay_json_object();
    assay_json_set_string(j->doc, "schema", "assay-exec/1");
    assay_json_set_string(j->doc, "precision", precisions[j->o.precision]);
    assay_json *list = assay_json_set(j->doc, "outputs", assay_json_array());
    for (int call = 0; call < j->calls && st == ASSAY_OK; call++) st = one_call(j, call, list);
    if (st == ASSAY_OK && assay_exec_state_count(j->states))
        st = assay_exec_state_save(j->states, assay_arg(j->a, "state-out"), assay_json_set(j->doc, "states", assay_json_array()),
                                   &j->err);
    if (st != ASSAY_OK) return assay_cli_fail(j->a, &j->err);
    if (j->o.observe) ranges_json(&j->ranges, assay_json_set(j->doc, "ranges", assay_json_array()));
    if (j->a->json)
        assay_cli_print_json(j->doc);
    else
        print_text(j);
    return ASSAY_EXIT_OK;
}

static int execute(exec_job *j) {
    int code = read_options(j);
    if (!code) code = read_inputs(j);
    if (!code) code = count_calls(j);
    if (code) return code;
    assay_ops_register(); /* validation knows types through the op table */
    if (assay_program_read(j->a->pos[0], &j->p, &j->err) != ASSAY_OK || assay_program_validate(j->p, 1, &j->err) != ASSAY_OK ||
        assay_exec_open(j->p, &j->o, &j->e, &j->err) != ASSAY_OK)
        return assay_cli_fail(j->a, &j->err);
    return calls(j);
}

static int run(const assay_args *a) {
    exec_job *j = assay_xcalloc(1, sizeof *j);
    j->a = a;
    int code = execute(j);
    for (int i = 0; i < j->n_in; i++) {
        free((void *)(uintptr_t)j->in[i].name);
        assay_tensor_free(&j->own[i]);
    }
    assay_ranges_free(&j->ranges);
    assay_exec_state_free(j->states);
    assay_exec_close(j->e);
    assay_program_free(j->p);
    assay_json_free(j->doc);
    free(j);
    return code;
}

static const assay_opt opts[] = {
    {"function", 0, "F", "function to run; default: the program's default", false},
    {"input", 'i', "NAME=FILE.npy", "an input; given several times: one call for each, states carried on", true},
    {"out", 'o', "DIR", "write each output to DIR/NAME.npy; of several calls to DIR/call1/NAME.npy ...", false},
    {"state-in", 0, "NAME=FILE.npy", "a state before the first call; default: zeros", true},
    {"state-out", 0, "DIR", "write each state after the last call to DIR/NAME.npy", false},
    {"precision", 0, "P", "declared (default), fp16, fp32 or fp64", false},
    {"cut", 0, "VALUE", "what VALUE depends on runs as declared, the rest in float64", true},
    {"ranges", 0, NULL, "largest magnitude, fp16 headroom and subnormal share of every float value", false},
    {"threads", 0, "N", "default: all cores; results do not depend on it", false},
    {NULL, 0, NULL, NULL, false}};
const assay_command assay_cmd_exec = {"exec", "PATH", "run a program on the reference backend", opts, 1, 1, run, false,
    "assay exec run/arms/fused/model.mlpackage -i x=run/fixtures/normal/x.npy --ranges"};
