/* Compiler analytics: MIL text with the compiler's own choice per op (SelectedBackend), its alternatives and its refusals. The
 * choice is read, never inferred from support or estimates. */
#include "import/formats.h"
#include "base/names.h"
#include "plugin/evidence_plan.h"
#include "program/program.h"
#include <math.h>
#include <string.h>

static bool is_analytics(const assay_foreign *in) {
    return !in->json && assay_starts_with(in->text + strspn(in->text, " \t\r\n"), "program(") && strstr(in->text, "SelectedBackend");
}

static const assay_mil_const *attr(const assay_mil_op *op, const char *key) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (!strcmp(op->attrs[i].key, key)) return op->attrs[i].value;
    return NULL;
}

static const char *text_of(const assay_mil_const *c) {
    return c && c->kind == ASSAY_CONST_STRINGS && c->n_strings == 1 ? c->strings[0] : NULL;
}

static double number_of(const assay_mil_const *c) {
    double v = NAN;
    if (c && c->kind == ASSAY_CONST_DATA && c->data && c->type->dtype == ASSAY_MIL_FP64 && c->nbytes == sizeof v)
        memcpy(&v, c->data, sizeof v);
    return v;
}

static const assay_mil_const *in_dict(const assay_mil_const *dict, const char *key) {
    for (uint64_t i = 0; dict && dict->kind == ASSAY_CONST_ITEMS && i + 1 < dict->n_items; i += 2)
        if (assay_streq(text_of(dict->items[i]), key)) return dict->items[i + 1];
    return NULL;
}

/* Backends of the CPU by their names in the files seen; a name not seen there is no device that we know. */
static const char *device_of(const char *backend) {
    static const char *const cpu[] = {"bnns", "classic_cpu", "e5_minimal_cpu"};
    if (!backend) return NULL;
    if (!strcmp(backend, "ane")) return "NE";
    for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
        if (!strcmp(backend, cpu[i])) return "CPU";
    return NULL;
}

static void add_device(assay_json *list, const char *backend) {
    const char *dev = device_of(backend);
    for (const assay_json *c = assay_json_first(list); dev && c; c = assay_json_next(c))
        if (assay_streq(assay_json_text(c), dev)) return;
    if (dev) assay_json_append(list, assay_json_new_string(dev));
}

static void set_supported(assay_json *op, const assay_mil_const *support) {
    if (!support) return;
    assay_json *list = assay_json_set(op, "supported", assay_json_array());
    for (uint64_t i = 0; support->kind == ASSAY_CONST_STRINGS && i < support->n_strings; i++) add_device(list, support->strings[i]);
    for (uint64_t i = 0; support->kind == ASSAY_CONST_ITEMS && i < support->n_items; i++) add_device(list, text_of(support->items[i]));
}

/* Why a backend would not take the op: {"ane": "Unsupported tensor data type: int32"}. */
static void set_refused(assay_json *op, const assay_mil_const *messages) {
    assay_json *refused = assay_json_object();
    for (uint64_t i = 0; messages && messages->kind == ASSAY_CONST_ITEMS && i + 1 < messages->n_items; i += 2)
        if (text_of(messages->items[i]))
            assay_json_set_string(refused, text_of(messages->items[i]), text_of(messages->items[i + 1]));
    if (assay_json_len(refused))
        assay_json_set(op, "refused", refused);
    else
        assay_json_free(refused);
}

static double estimate(const assay_mil_op *op) {
    const char *selected = text_of(attr(op, "SelectedBackend"));
    return selected ? number_of(in_dict(attr(op, "EstimatedRuntime"), selected)) : NAN;
}

/* The estimates have no stated unit; only their share of the sum is used. Moves between buffers at the border have none. */
static double sum_of_estimates(const assay_mil_function *f) {
    double sum = 0;
    for (uint32_t i = 0; i < f->n_all_ops; i++)
        if (estimate(f->all_ops[i]) > 0) sum += estimate(f->all_ops[i]);
    return sum > 0 ? sum : NAN;
}

static void add_function(const assay_mil_function *f, assay_json *ops) {
    double sum = sum_of_estimates(f);
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *o = f->all_ops[i];
        const char *backend = text_of(attr(o, "SelectedBackend"));
        assay_json *op = assay_import_add_op(ops, o->n_outs ? o->outs[0]->name : "", o->type, device_of(backend), estimate(o) / sum);
        assay_json_set_string(op, "function", f->name);
        assay_json_set_string(op, "backend", backend);
        set_supported(op, attr(o, "BackendSupport"));
        set_refused(op, attr(o, "ValidationMessage"));
    }
}

static assay_status read_analytics(const assay_foreign *in, assay_json *record, assay_error *err) {
    assay_program *p = NULL;
    assay_status st = assay_program_parse_mil(in->text, in->len, in->what, NULL, &p, err);
    if (st != ASSAY_OK) return st;
    assay_json_set_string(record, "schema", ASSAY_COMPUTE_PLAN_1);
    assay_json_set_string(record, "requested_units", NULL); /* the file does not say */
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if (!strcmp(p->attrs[i].key, "buildInfo"))
            assay_json_set_string(record, "compiler", text_of(in_dict(p->attrs[i].value, "coremlc-version")));
    assay_json *ops = assay_json_set(record, "operations", assay_json_array());
    for (uint32_t i = 0; i < p->n_functions; i++) add_function(p->functions[i], ops);
    assay_program_free(p);
    return ASSAY_OK;
}

const assay_importer assay_import_analytics = {"analytics.mil", 1, is_analytics, read_analytics};
