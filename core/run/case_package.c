/* Judges a folder with a package and reference outputs (case.json) by running it, and compares what the program holds with
 * truth.json: versions, interface, ops in order with their data flow, weights by digest of their unpacked bytes. */
#include "run/case.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "metrics/metrics.h"
#include "tensor/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MAX = 64 };

/* ---- outputs */
typedef struct ports {
    assay_named_tensor named[PORTS_MAX];
    assay_own_tensor own[PORTS_MAX];
    const char *names[PORTS_MAX];
    uint32_t n;
} ports;

static void ports_free(ports *p) {
    for (uint32_t i = 0; i < p->n; i++) assay_tensor_free(&p->own[i]);
}
static assay_status read_ports(const char *dir, const assay_json *files, ports *out, assay_error *err) {
    for (size_t i = 0; i < assay_json_len(files); i++) {
        const char *name = assay_json_key_at(files, i), *file = assay_json_text(assay_json_at(files, i));
        if (out->n == PORTS_MAX) return assay_fail(err, ASSAY_E_INPUT, "case.json names more than %d tensors", PORTS_MAX);
        if (!assay_path_is_inside(file))
            return assay_fail(err, ASSAY_E_INPUT, "'%s' is not a file of the case folder", file ? file : "");
        char *path = assay_path_join(dir, file);
        assay_status st = assay_npy_read(path, &out->own[out->n], err);
        free(path);
        if (st != ASSAY_OK) return st;
        out->named[out->n] = (assay_named_tensor){name, out->own[out->n].t};
        out->names[out->n++] = name;
    }
    return ASSAY_OK;
}

/* A zero reference has no cosine: then only max_abs is asked. Rank-0 outputs are stored with shape [1]. */
static char *output_difference(const char *name, const assay_tensor *want, const assay_tensor *got, const assay_json *tol) {
    assay_tensor r = *want, c = *got;
    assay_pair_stats s;
    int64_t n = assay_tensor_count(want);
    if (assay_tensor_count(got) != n)
        return assay_xprintf("output %s: %lld elements, expected %lld", name, (long long)assay_tensor_count(got), (long long)n);
    if (r.rank == 1 && c.rank == 0) c.rank = 1, c.shape[0] = 1, c.stride[0] = 1;
    if (assay_metrics_pair(&r, &c, -1, &s, NULL) != ASSAY_OK)
        return assay_xprintf("output %s: another shape than expected", name);
    double max_abs = assay_json_number(tol, "max_abs", 0), cosine = assay_json_number(tol, "cosine", -1);
    if (s.nonfinite_ref) { /* an expected NaN or infinity must be there, the rest must agree */
        uint64_t over = 0;
        for (int64_t i = 0; i < n; i++) {
            double a = assay_metrics_load(&r, i), b = assay_metrics_load(&c, i);
            over += !(fabs(a - b) <= max_abs || a == b || (isnan(a) && isnan(b)));
        }
        return over ? assay_xprintf("output %s: %llu elements beyond max_abs %g", name, (unsigned long long)over, max_abs) : NULL;
    }
    if (!(s.max_abs <= max_abs))
        return assay_xprintf("output %s: max_abs %.6g, at most %.6g is allowed", name, s.max_abs, max_abs);
    if (s.norm_ref > 0 && cosine > -1 && !(s.cosine >= cosine))
        return assay_xprintf("output %s: cosine %.9g, at least %.9g is wanted", name, s.cosine, cosine);
    return NULL;
}

static char *first_difference(const ports *want, const assay_own_tensor *got, const assay_json *tolerance) {
    char *diff = NULL;
    for (uint32_t i = 0; i < want->n && !diff; i++)
        diff = output_difference(want->names[i], &want->own[i].t, &got[i].t, assay_json_get(tolerance, want->names[i]));
    return diff;
}

static assay_status check_outputs(const assay_case_tools *tools, const char *dir, const assay_json *c, const assay_program *p,
                                  char **diff, assay_error *err) {
    enum { IN, OUT, BEFORE, AFTER, KINDS };
    static const char *const keys[KINDS] = {"inputs", "outputs", "states_before", "states_after"};
    ports *io = assay_xcalloc(KINDS, sizeof *io);
    assay_own_tensor *got = assay_xcalloc(PORTS_MAX, sizeof *got);
    assay_status st = ASSAY_OK;
    for (int k = 0; k < KINDS && st == ASSAY_OK; k++) st = read_ports(dir, assay_json_get(c, keys[k]), &io[k], err);
    if (st == ASSAY_OK && io[BEFORE].n != io[AFTER].n)
        st = assay_fail(err, ASSAY_E_INPUT, "case.json: states_before and states_after differ in number");
    assay_case_call call = {assay_json_string(c, "function", NULL),
                            io[IN].named,
                            io[IN].n,
                            io[OUT].names,
                            got,
                            io[OUT].n,
                            io[BEFORE].names,
                            io[BEFORE].own,
                            io[BEFORE].n};
    if (st == ASSAY_OK && (io[OUT].n || io[AFTER].n)) st = tools->execute(p, &call, err);
    if (st == ASSAY_OK) *diff = first_difference(&io[OUT], got, assay_json_get(c, "tolerance"));
    if (st == ASSAY_OK && !*diff) *diff = first_difference(&io[AFTER], io[BEFORE].own, assay_json_get(c, "tolerance_states"));
    for (uint32_t i = 0; i < PORTS_MAX; i++) assay_tensor_free(&got[i]);
    for (int k = 0; k < KINDS; k++) ports_free(&io[k]);
    free(io), free(got);
    return st;
}

/* ---- facts */
static char *differ_text(const char *what, const char *got, const char *want) {
    return assay_xprintf("facts: %s: got %s, truth.json has %s", what, got ? got : "nothing", want ? want : "nothing");
}

static assay_json *type_of(const assay_mil_type *t) {
    assay_json *j = assay_json_object();
    if (t->kind != ASSAY_TYPE_TENSOR) return j;
    assay_json_set_string(j, "dtype", assay_mil_dtype_name(t->dtype));
    assay_json *shape = assay_json_set(j, "shape", assay_json_array());
    for (uint32_t i = 0; i < t->rank; i++) assay_json_append(shape, assay_json_new_number((double)t->dims[i]));
    return j;
}
/* Name and, for tensors of fixed shape, element type and shape. */
static char *value_difference(const char *what, const assay_mil_value *v, const assay_json *want) {
    if (!assay_streq(v->name, assay_json_string(want, "name", NULL)))
        return differ_text(what, v->name, assay_json_string(want, "name", NULL));
    if (!assay_streq(assay_json_string(want, "kind", ""), "tensor")) return NULL;
    assay_json *got = type_of(v->type);
    char *diff = NULL;
    if (!assay_streq(assay_json_string(got, "dtype", ""), assay_json_string(want, "dtype", "")))
        diff = differ_text(v->name, assay_json_string(got, "dtype", ""), assay_json_string(want, "dtype", ""));
    const assay_json *shape = assay_json_get(want, "shape");
    bool fixed = assay_json_kind(shape) == ASSAY_J_ARRAY;
    for (size_t i = 0; i < assay_json_len(shape); i++)
        fixed =
            fixed && assay_json_kind(assay_json_at(shape, i)) == ASSAY_J_NUMBER && assay_json_value(assay_json_at(shape, i)) >= 0;
    if (!diff && fixed && !assay_json_equal(assay_json_get(got, "shape"), shape))
        diff = differ_text(v->name, "another shape", "the one stated");
    assay_json_free(got);
    return diff;
}

static const assay_json *literal_or_name(const assay_json *list, size_t i, const char **name) {
    const assay_json *b = assay_json_at(list, i);
    *name = assay_json_string(b, "name", NULL);
    return b;
}
static char *op_difference(const assay_mil_op *op, const assay_json *want) {
    const assay_json *outs = assay_json_get(want, "outputs"), *ins = assay_json_get(want, "inputs");
    if (!assay_streq(op->type, assay_json_string(want, "type", NULL)))
        return differ_text("op type", op->type, assay_json_string(want, "type", NULL));
    if (op->n_outs != assay_json_len(outs)) return differ_text(op->type, "another number of outputs", "the one stated");
    char *diff = NULL;
    for (uint32_t i = 0; i < op->n_outs && !diff; i++) diff = value_difference("output", op->outs[i], assay_json_at(outs, i));
    for (size_t k = 0; k < assay_json_len(ins) && !diff; k++) {
        const char *key = assay_json_key_at(ins, k), *name;
        const assay_json *list = assay_json_at(ins, k);
        const assay_mil_arg *arg = assay_op_arg(op, key);
        if (!arg || arg->n != assay_json_len(list))
            return differ_text(key, arg ? "another number of bindings" : NULL, "the one stated");
        for (size_t i = 0; i < arg->n && !diff; i++) {
            literal_or_name(list, i, &name);
            const char *got = arg->items[i].value ? arg->items[i].value->name : NULL;
            if (name && !assay_streq(got, name)) diff = differ_text(key, got, name);
        }
    }
    return diff;
}

static char *function_difference(const assay_mil_function *f, const assay_json *want) {
    const assay_json *ins = assay_json_get(want, "inputs"), *outs = assay_json_get(want, "outputs"),
                     *ops = assay_json_get(want, "operations");
    if (!assay_streq(f->opset, assay_json_string(want, "opset", NULL)))
        return differ_text("opset", f->opset, assay_json_string(want, "opset", NULL));
    if (f->n_inputs != assay_json_len(ins) || f->block->n_outputs != assay_json_len(outs) ||
        f->block->n_ops != assay_json_len(ops))
        return differ_text(f->name, "another number of inputs, outputs or ops", "the one stated");
    char *diff = NULL;
    for (uint32_t i = 0; i < f->n_inputs && !diff; i++) diff = value_difference("input", f->inputs[i], assay_json_at(ins, i));
    for (uint32_t i = 0; i < f->block->n_outputs && !diff; i++)
        if (!assay_streq(f->block->outputs[i]->name, assay_json_text(assay_json_at(outs, i))))
            diff = differ_text("output", f->block->outputs[i]->name, assay_json_text(assay_json_at(outs, i)));
    for (uint32_t i = 0; i < f->block->n_ops && !diff; i++) diff = op_difference(f->block->ops[i], assay_json_at(ops, i));
    return diff;
}

/* A weight is known by the op's first output (or its "name") and the parameter. */
static const assay_mil_const *find_weight(const assay_program *p, const assay_json *w) {
    const assay_mil_function *f = assay_program_function(p, assay_json_string(w, "function", NULL));
    const char *op = assay_json_string(w, "op", ""), *param = assay_json_string(w, "param", "val");
    for (uint32_t i = 0; f && i < f->block->n_ops; i++) {
        const assay_mil_op *o = f->block->ops[i];
        if (!o->n_outs || !assay_streq(o->outs[0]->name, op)) continue;
        const assay_mil_const *c = assay_op_attr(o, param);
        return c ? c : assay_op_const(o, param);
    }
    return NULL;
}
static char *weight_difference(const assay_program *p, const assay_json *w) {
    char hex[ASSAY_HEX];
    const char *want = assay_json_string(w, "sha256_unpacked", NULL);
    const assay_mil_const *c = find_weight(p, w);
    if (!want || assay_json_get(w, "path")) return NULL;
    if (!c) return differ_text(assay_json_string(w, "op", "weight"), NULL, "a weight");
    assay_const_digest(c, hex);
    return assay_streq(hex, want)
               ? NULL
               : differ_text(assay_json_string(w, "op", "weight"), "other bytes", "those of the digest stated");
}

static char *facts_difference(const assay_program *p, const assay_json *truth) {
    const assay_json *functions = assay_json_get(truth, "functions"), *weights = assay_json_get(truth, "weight_references");
    if (p->spec_version != assay_json_int(truth, "specification_version", -1))
        return differ_text("specification version", "another one", "the one stated");
    if (p->n_functions != assay_json_len(functions)) return differ_text("functions", "another number", "the one stated");
    char *diff = NULL;
    for (size_t i = 0; i < assay_json_len(functions) && !diff; i++) {
        const assay_mil_function *f = assay_program_function(p, assay_json_key_at(functions, i));
        diff = f ? function_difference(f, assay_json_at(functions, i))
                 : differ_text("function", NULL, assay_json_key_at(functions, i));
    }
    for (size_t i = 0; i < assay_json_len(weights) && !diff; i++) diff = weight_difference(p, assay_json_at(weights, i));
    return diff;
}

/* ---- the case */
static void add_part(assay_json *parts, const char *name, char *diff) {
    assay_json *row = assay_json_append(parts, assay_json_object());
    assay_json_set_string(row, "part", name);
    assay_json_set_string(row, "got", diff ? "kill" : "pass");
    assay_json_set_string(row, "expected", "pass");
    assay_json_set_bool(row, "ok", !diff);
    assay_json_set_string(row, "difference", diff);
    free(diff);
}

/* Readable is not yet evaluable: a package counts as accepted when `assay exec` would go on to ask for its inputs. */
static assay_status accept(const assay_case_tools *tools, const assay_program *p, assay_error *err) {
    assay_status st = assay_program_validate(p, 1, err);
    return st == ASSAY_OK && tools->open ? tools->open(p, err) : st;
}

/* Why a package that was meant to be refused is in order, or one that was not is refused or wrong; NULL: as expected. */
static char *call_difference(const assay_case_tools *tools, const char *dir, const assay_json *c) {
    char *package = assay_path_join(dir, assay_json_string(c, "package", "")), *diff = NULL;
    bool reject = assay_streq(assay_json_string(c, "expect", ""), "reject");
    assay_program *p = NULL;
    assay_error why = {0};
    assay_status st = assay_program_read(package, &p, &why);
    if (st == ASSAY_OK) st = reject ? accept(tools, p, &why) : check_outputs(tools, dir, c, p, &diff, &why);
    if (reject) diff = st == ASSAY_OK ? assay_xprintf("the package is accepted: %s", assay_json_string(c, "reason", "it is damaged")) : NULL;
    else if (st != ASSAY_OK) diff = assay_xstrdup(why.message);
    assay_program_free(p);
    free(package);
    return diff;
}

static assay_status one_call(const assay_case_tools *tools, const char *dir, const char *file, assay_json *parts,
                             assay_json **name, assay_error *err) {
    char *path = assay_path_join(dir, file);
    assay_json *c = NULL;
    assay_status st = assay_json_read_file(path, &c, err);
    if (st == ASSAY_OK && !assay_path_is_inside(assay_json_string(c, "package", "")))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: no package inside the case folder", file);
    if (st == ASSAY_OK) add_part(parts, file, call_difference(tools, dir, c));
    if (c && !*name) *name = assay_json_clone(assay_json_get(c, "case"));
    assay_json_free(c);
    free(path);
    return st;
}

static assay_status check_truth(const char *dir, assay_json *parts, assay_error *err) {
    char *path = assay_path_join(dir, "truth.json"), *package = assay_path_join(dir, "model.mlpackage");
    assay_json *truth = NULL;
    assay_program *p = NULL;
    assay_status st = ASSAY_OK;
    if (assay_is_file(path) && assay_exists(package)) {
        st = assay_json_read_file(path, &truth, err);
        if (st == ASSAY_OK) st = assay_program_read(package, &p, err);
        if (st == ASSAY_OK) add_part(parts, "truth.json", facts_difference(p, truth));
    }
    assay_program_free(p);
    assay_json_free(truth);
    free(path), free(package);
    return st;
}

static void conclude(assay_json *out, const char *dir, const assay_json *name) {
    const assay_json *parts = assay_json_get(out, "parts");
    const char *got = "pass";
    char *diff = NULL;
    for (size_t i = 0; i < assay_json_len(parts); i++) {
        const assay_json *p = assay_json_at(parts, i);
        got = assay_case_worst(got, assay_json_string(p, "got", NULL));
        if (!diff && !assay_json_bool(p, "ok", false))
            diff = assay_xprintf("%s: %s", assay_json_string(p, "part", ""), assay_json_string(p, "difference", ""));
    }
    assay_json_set_string(out, "case", assay_json_text(name) ? assay_json_text(name) : dir);
    assay_json_set_string(out, "gate", "package");
    assay_json_set_bool(out, "ok", !diff);
    assay_json_set_string(out, "got", got);
    assay_json_set_string(out, "expected", "pass");
    assay_json_set_string(out, "difference", diff);
    free(diff);
}

assay_status assay_case_package(const assay_case_tools *tools, const char *dir, assay_json **result, assay_error *err) {
    char **names = NULL;
    size_t n = 0;
    assay_error own = {0};
    if (!err) err = &own;
    if (!tools->execute) return assay_fail(err, ASSAY_E_UNSUPPORTED, "no executor for packages");
    assay_status st = assay_list_dir(dir, &names, &n, err);
    assay_json *out = assay_json_object(), *parts = assay_json_set(out, "parts", assay_json_array()), *name = NULL;
    for (size_t i = 0; i < n && st == ASSAY_OK; i++)
        if (assay_starts_with(names[i], "case.") && assay_ends_with(names[i], ".json"))
            st = one_call(tools, dir, names[i], parts, &name, err);
    if (st == ASSAY_OK) st = check_truth(dir, parts, err);
    if (st == ASSAY_OK)
        conclude(out, dir, name);
    else
        assay_json_free(out), out = NULL;
    assay_json_free(name);
    assay_list_free(names, n);
    *result = out;
    return st;
}
