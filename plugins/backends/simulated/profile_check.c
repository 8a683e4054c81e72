/* The closed vocabulary of device profiles: one table of fields per kind of table, walked by one checker. */
#include "backends/simulated/profile.h"
#include "base/names.h"
#include "program/optable.h"
#include "program/program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may stand under a key. NAME: one of `choices`; NAMES: one or a list of them; TEXT: any; RANGE: { gt, lt }; OPS, DTYPES:
 * one or a list; MAP: argument names to NAMES of `choices` (NULL: dtypes). */
enum { NUMBER = 1, FLAG, TEXT, NAME, RANGE, OPS, DTYPES, MAP, INTS, OBJECT, LIST };
typedef struct field { const char *name; int type; const char *choices; bool required; const struct field *inside; } field;

#define UNITS "ane|gpu|cpu"
#define GRADES "D|F|C|I|X"
static const field range_fields[] = {{"gt", NUMBER, NULL, false, NULL}, {"lt", NUMBER, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field count_fields[] = {{"op", OPS, NULL, false, NULL}, {"gt", NUMBER, NULL, false, NULL}, {"lt", NUMBER, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field dim_fields[] = {{"gt", NUMBER, NULL, false, NULL}, {"lt", NUMBER, NULL, false, NULL}, {"axis", INTS, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field element_fields[] = {{"arg", TEXT, NULL, true, NULL}, {"gt", NUMBER, NULL, false, NULL}, {"lt", NUMBER, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
#define SELECTORS                                                                                                                      \
    {"op", OPS, NULL, false, NULL}, {"op_count", OBJECT, NULL, false, count_fields}, {"max_rank", RANGE, NULL, false, NULL},          \
    {"any_dtype", DTYPES, NULL, false, NULL}, {"compute_dtype", DTYPES, NULL, false, NULL}, {"arg_dtype", MAP, NULL, false, NULL},    \
    {"shape", NAME, "dynamic|static", false, NULL}, {"any_dim", OBJECT, NULL, false, dim_fields},                                     \
    {"elements", OBJECT, NULL, false, element_fields}, {"producers", MAP, "", false, NULL}, {"graph_flops", RANGE, NULL, false, NULL},\
    {"const_weight", FLAG, NULL, false, NULL}, {"stride", RANGE, NULL, false, NULL}
static const field placement_when[] = {SELECTORS, {NULL, 0, NULL, false, NULL}};
static const field fault_when[] = {SELECTORS, {"on", NAME, UNITS "|unknown", false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field rule_fields[] = {
    {"id", TEXT, NULL, true, NULL}, {"when", OBJECT, NULL, true, placement_when}, {"device", NAME, UNITS "|unknown", false, NULL}, {"otherwise", NAME, UNITS, false, NULL},
    {"reject", FLAG, NULL, false, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, true, NULL}, {NULL, 0, NULL, false, NULL}};
static const field fault_fields[] = {
    {"id", TEXT, NULL, true, NULL}, {"when", OBJECT, NULL, true, fault_when},
    {"effect", NAME, "zero|constant|nan|uniform|tail_zero|swap_heads|gain|scale_twice|no_scale|mask_transposed|ignore_mask|fp16_accumulate|noshift|"
     "stale_first_run|crash|compile_fail|silent_cpu|flip", true, NULL},
    {"value", NUMBER, NULL, false, NULL}, {"rows", NUMBER, NULL, false, NULL}, {"x", NUMBER, NULL, false, NULL}, {"every_n", NUMBER, NULL, false, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, true, NULL}, {NULL, 0, NULL, false, NULL}};
static const field unit_cost[] = {{"flops", NUMBER, NULL, true, NULL}, {"bytes_per_s", NUMBER, NULL, true, NULL}, {"floor_s", NUMBER, NULL, true, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field transfer_cost[] = {{"floor_s", NUMBER, NULL, true, NULL}, {"bytes_per_s", NUMBER, NULL, true, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field fused_cost[] = {{"op", NAME, "scaled_dot_product_attention", true, NULL}, {"factor", NUMBER, NULL, true, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field jitter_cost[] = {{"kind", NAME, "lognormal|none", true, NULL}, {"sigma", NUMBER, NULL, false, NULL}, {"drift_per_trial", NUMBER, NULL, false, NULL},
    {"spike_p", NUMBER, NULL, false, NULL}, {"spike_x", NUMBER, NULL, false, NULL}, {"seed", TEXT, NULL, true, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field cost_fields[] = {{"ane", OBJECT, NULL, true, unit_cost}, {"cpu", OBJECT, NULL, true, unit_cost}, {"gpu", OBJECT, NULL, false, unit_cost},
    {"transfer", OBJECT, NULL, true, transfer_cost}, {"fused", OBJECT, NULL, true, fused_cost}, {"jitter", OBJECT, NULL, true, jitter_cost}, {NULL, 0, NULL, false, NULL}};
static const field unit_numerics[] = {{"store", NAME, "fp16|declared", true, NULL}, {"accumulate", NAME, "fp32|fp16", true, NULL},
    {"order", NAME, "flash|fold|preq|prek|split|post", true, NULL}, {"softmax", NAME, "f32|f16wide|f16rcp|f16narrow|noshift", true, NULL},
    {"matmul_store_ceiling", NUMBER, NULL, false, NULL}, {"subnormal_mac", NAME, "flush|keep|unknown->keep", false, NULL},
    {"nan_input", NAME, "inf|nan", false, NULL}, {"indeterminate", NAME, "zero|nan", false, NULL},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field numerics_fields[] = {{"ane", OBJECT, NULL, true, unit_numerics}, {"cpu", OBJECT, NULL, true, unit_numerics},
    {"gpu", OBJECT, NULL, false, unit_numerics}, {NULL, 0, NULL, false, NULL}};
static const field spread_fields[] = {{"mean", NUMBER, NULL, true, NULL}, {"sigma", NUMBER, NULL, true, NULL}, {NULL, 0, NULL, false, NULL}};
static const field load_fields[] = {{"compile_ms", OBJECT, NULL, true, spread_fields}, {"warm_ms", OBJECT, NULL, true, spread_fields},
    {"grade", NAME, GRADES, true, NULL}, {"source", TEXT, NULL, false, NULL}, {NULL, 0, NULL, false, NULL}};
static const field claim_fields[] = {{"hardware", TEXT, NULL, true, NULL}, {"os", TEXT, NULL, true, NULL}, {"build", TEXT, NULL, true, NULL},
    {"toolchain", TEXT, NULL, true, NULL}, {NULL, 0, NULL, false, NULL}};
static const field profile_fields[] = {{"schema", NUMBER, NULL, true, NULL}, {"id", TEXT, NULL, true, NULL}, {"simulated", FLAG, NULL, true, NULL},
    {"base", TEXT, NULL, false, NULL}, {"claims", OBJECT, NULL, true, claim_fields}, {"placement", LIST, NULL, true, rule_fields},
    {"cost", OBJECT, NULL, true, cost_fields}, {"numerics", OBJECT, NULL, true, numerics_fields}, {"faults", LIST, NULL, false, fault_fields},
    {"load", OBJECT, NULL, true, load_fields}, {NULL, 0, NULL, false, NULL}};

/* ---- values */

typedef struct place { const char *path, *at; assay_error *err; } place;

static assay_status wrong(const place *p, const char *expected) {
    return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: expected %s", p->path, p->at, expected);
}

enum { CHOICES_MAX = 32 };
static size_t split(const char *choices, char text[512], const char *list[CHOICES_MAX]) {
    size_t n = 0;
    snprintf(text, 512, "%s", choices);
    for (char *save = NULL, *w = strtok_r(text, "|", &save); w && n < CHOICES_MAX; w = strtok_r(NULL, "|", &save)) list[n++] = w;
    return n;
}

static assay_status check_name(const place *p, const char *choices, const assay_json *v) {
    char text[512], hint[96];
    const char *list[CHOICES_MAX], *got = assay_json_text(v);
    size_t n = split(choices, text, list);
    for (size_t i = 0; got && i < n; i++)
        if (assay_streq(list[i], got)) return ASSAY_OK;
    if (!got) return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: expected one of %s", p->path, p->at, choices);
    return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: unknown '%s'%s; known: %s", p->path, p->at, got, assay_did_you_mean(hint, got, list, n), choices);
}

/* Ops of MIL that this program does not run, but that a rule may speak of. */
static bool is_other_op(const char *op) {
    static const char *const others[] = {"non_zero", "gru", "rnn", "random_normal", "random_uniform", "random_bernoulli", "random_categorical", "reverse_sequence",
                                         "crop_resize", "resample", "affine", "non_maximum_suppression", "local_response_norm"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (assay_streq(others[i], op)) return true;
    return false;
}

static assay_status check_op(const place *p, const char *op) {
    char hint[96];
    if (!op) return wrong(p, "the name of an op, or a list of them");
    if (assay_optable_find(op) || is_other_op(op)) return ASSAY_OK;
    return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: unknown op '%s'%s", p->path, p->at, op, assay_optable_suggest(hint, op));
}

static assay_status check_dtype(const place *p, const char *name) {
    static const char *const known[] = {"fp16", "fp32", "fp64", "bf16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4", "uint4", "string"};
    char hint[96];
    if (!name) return wrong(p, "the name of an element type, or a list of them");
    if (assay_mil_dtype_parse(name)) return ASSAY_OK;
    return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: unknown type '%s'%s", p->path, p->at, name, assay_did_you_mean(hint, name, known, sizeof known / sizeof *known));
}

/* "input", "const" or an op. */
static assay_status check_producer(const place *p, const char *name) { return assay_streq(name, "input") || assay_streq(name, "const") ? ASSAY_OK : check_op(p, name); }

static assay_status each_text(const place *p, const assay_json *v, assay_status (*check)(const place *, const char *)) {
    if (assay_json_kind(v) != ASSAY_J_ARRAY) return check(p, assay_json_text(v));
    if (assay_json_len(v) == 0) return wrong(p, "at least one name");
    assay_status st = ASSAY_OK;
    for (const assay_json *c = assay_json_first(v); st == ASSAY_OK && c; c = assay_json_next(c)) st = check(p, assay_json_text(c));
    return st;
}

static assay_status check_map(const place *p, const field *f, const assay_json *v) {
    if (assay_json_kind(v) != ASSAY_J_OBJECT) return wrong(p, "a table of arguments");
    assay_status st = ASSAY_OK;
    for (const assay_json *c = assay_json_first(v); st == ASSAY_OK && c; c = assay_json_next(c)) st = each_text(p, c, f->choices ? check_producer : check_dtype);
    return st;
}

static assay_status check_ints(const place *p, const assay_json *v) {
    bool ok = assay_json_kind(v) == ASSAY_J_ARRAY && assay_json_len(v) > 0;
    for (const assay_json *c = assay_json_first(v); ok && c; c = assay_json_next(c)) {
        double x = assay_json_value(c);
        ok = assay_json_kind(c) == ASSAY_J_NUMBER && floor(x) == x && fabs(x) <= ASSAY_RANK_MAX;
    }
    return ok ? ASSAY_OK : wrong(p, "a list of axes");
}

/* ---- tables */

static assay_status check_table(const place *p, const field *fields, const assay_json *v);

static assay_status check_list(const place *p, const field *f, const assay_json *v) {
    if (assay_json_kind(v) != ASSAY_J_ARRAY) return wrong(p, "a list of tables");
    assay_status st = ASSAY_OK;
    size_t i = 1;
    for (const assay_json *c = assay_json_first(v); st == ASSAY_OK && c; c = assay_json_next(c), i++) {
        char *at = assay_xprintf("%s[%zu] (%s)", p->at, i, assay_json_string(c, "id", "without id"));
        st = check_table(&(place){p->path, at, p->err}, f->inside, c);
        free(at);
    }
    return st;
}

/* Without a limit it would match every op. */
static assay_status check_range(const place *p, const assay_json *v) {
    if (!assay_json_get(v, "gt") && !assay_json_get(v, "lt")) return wrong(p, "a table with gt or lt");
    return check_table(p, range_fields, v);
}

static assay_status check_value(const place *p, const field *f, const assay_json *v) {
    switch (f->type) {
    case NUMBER: return assay_json_kind(v) == ASSAY_J_NUMBER && isfinite(assay_json_value(v)) ? ASSAY_OK : wrong(p, "a number");
    case FLAG: return assay_json_kind(v) == ASSAY_J_BOOL ? ASSAY_OK : wrong(p, "true or false");
    case TEXT: return assay_json_text(v) && *assay_json_text(v) ? ASSAY_OK : wrong(p, "a text");
    case NAME: return check_name(p, f->choices, v);
    case RANGE: return check_range(p, v);
    case OPS: return each_text(p, v, check_op);
    case DTYPES: return each_text(p, v, check_dtype);
    case MAP: return check_map(p, f, v);
    case INTS: return check_ints(p, v);
    case OBJECT: return check_table(p, f->inside, v);
    default: return check_list(p, f, v);
    }
}

static assay_status unknown_field(const place *p, const field *fields, const char *key) {
    const char *names[CHOICES_MAX];
    char hint[96];
    size_t n = 0;
    for (const field *f = fields; f->name && n < CHOICES_MAX; f++) names[n++] = f->name;
    return assay_fail(p->err, ASSAY_E_INPUT, "%s: %s: unknown field '%s'%s", p->path, p->at, key, assay_did_you_mean(hint, key, names, n));
}

static assay_status check_table(const place *p, const field *fields, const assay_json *v) {
    bool empty = assay_json_kind(v) == ASSAY_J_ARRAY && assay_json_len(v) == 0;      /* Lua's {} */
    if (assay_json_kind(v) != ASSAY_J_OBJECT && !empty) return wrong(p, "a table with named fields");
    assay_status st = ASSAY_OK;
    for (const assay_json *c = assay_json_first(v); st == ASSAY_OK && c; c = assay_json_next(c)) {
        const field *f = fields;
        while (f->name && !assay_streq(f->name, assay_json_key(c))) f++;
        if (!f->name) return unknown_field(p, fields, assay_json_key(c));
        char *at = *p->at ? assay_xprintf("%s.%s", p->at, f->name) : assay_xstrdup(f->name);
        st = check_value(&(place){p->path, at, p->err}, f, c);
        free(at);
    }
    for (const field *f = fields; st == ASSAY_OK && f->name; f++)
        if (f->required && !assay_json_get(v, f->name))
            st = assay_fail(p->err, ASSAY_E_INPUT, "%s: %s%s'%s' is missing", p->path, p->at, *p->at ? ": " : "", f->name);
    return st;
}

/* ---- rules over several fields */

/* A receipt names what fired by its id. */
static assay_status check_ids(const char *path, const char *what, const assay_json *list, assay_error *err) {
    for (const assay_json *a = assay_json_first(list); a; a = assay_json_next(a))
        for (const assay_json *b = assay_json_next(a); b; b = assay_json_next(b))
            if (assay_streq(assay_json_string(a, "id", ""), assay_json_string(b, "id", "")))
                return assay_fail(err, ASSAY_E_INPUT, "%s: %s: id '%s' stands twice", path, what, assay_json_string(a, "id", ""));
    return ASSAY_OK;
}

static assay_status check_placement(const char *path, const assay_json *list, assay_error *err) {
    for (const assay_json *r = assay_json_first(list); r; r = assay_json_next(r)) {
        const char *id = assay_json_string(r, "id", "");
        bool device = assay_json_get(r, "device") != NULL, reject = assay_json_bool(r, "reject", false);
        if (device == reject) return assay_fail(err, ASSAY_E_INPUT, "%s: placement (%s): one of 'device' and 'reject = true' is needed", path, id);
        if (reject && assay_json_get(r, "otherwise")) return assay_fail(err, ASSAY_E_INPUT, "%s: placement (%s): 'reject' takes no 'otherwise'", path, id);
    }
    return ASSAY_OK;
}

/* The field that an effect takes, or NULL. */
static const char *effect_field(const char *effect) {
    static const char *const pairs[][2] = {{"constant", "value"}, {"tail_zero", "rows"}, {"gain", "x"}, {"flip", "every_n"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (assay_streq(pairs[i][0], effect)) return pairs[i][1];
    return NULL;
}

static assay_status check_faults(const char *path, const assay_json *list, assay_error *err) {
    static const char *const fields[] = {"value", "rows", "x", "every_n"};
    for (const assay_json *f = assay_json_first(list); f; f = assay_json_next(f)) {
        const char *id = assay_json_string(f, "id", ""), *effect = assay_json_string(f, "effect", ""), *needs = effect_field(effect);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            bool given = assay_json_get(f, fields[i]) != NULL, wanted = assay_streq(fields[i], needs);
            if (given && !wanted) return assay_fail(err, ASSAY_E_INPUT, "%s: faults (%s): effect '%s' takes no '%s'", path, id, effect, fields[i]);
            if (!given && wanted) return assay_fail(err, ASSAY_E_INPUT, "%s: faults (%s): effect '%s' needs '%s'", path, id, effect, fields[i]);
            double least = i == 1 || i == 3 ? 1 : -INFINITY;
            if (given && !(assay_json_number(f, fields[i], 0) >= least)) return assay_fail(err, ASSAY_E_INPUT, "%s: faults (%s): %s must be at least 1", path, id, fields[i]);
        }
    }
    return ASSAY_OK;
}

/* Numbers that are divided by, or drawn with. */
static assay_status check_numbers(const char *path, const assay_json *profile, assay_error *err) {
    static const char *const positive[] = {"cost.ane.flops", "cost.ane.bytes_per_s", "cost.cpu.flops", "cost.cpu.bytes_per_s", "cost.gpu.flops", "cost.gpu.bytes_per_s",
                                           "cost.transfer.bytes_per_s", "cost.fused.factor", "load.compile_ms.mean", "load.warm_ms.mean"};
    static const char *const not_negative[] = {"cost.ane.floor_s", "cost.cpu.floor_s", "cost.gpu.floor_s", "cost.transfer.floor_s", "cost.jitter.sigma", "cost.jitter.drift_per_trial",
                                               "cost.jitter.spike_p", "cost.jitter.spike_x", "load.compile_ms.sigma", "load.warm_ms.sigma", "numerics.ane.matmul_store_ceiling"};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        const assay_json *v = assay_json_path(profile, positive[i]);
        if (v && !(assay_json_value(v) > 0)) return assay_fail(err, ASSAY_E_INPUT, "%s: %s: must be above 0", path, positive[i]);
    }
    for (size_t i = 0; i < sizeof not_negative / sizeof *not_negative; i++) {
        const assay_json *v = assay_json_path(profile, not_negative[i]);
        if (v && !(assay_json_value(v) >= 0)) return assay_fail(err, ASSAY_E_INPUT, "%s: %s: must not be negative", path, not_negative[i]);
    }
    static const struct { const char *field; double most; } limits[] = {{"cost.jitter.spike_p", 1}, {"cost.jitter.sigma", 10}, {"load.compile_ms.sigma", 10}, {"load.warm_ms.sigma", 10}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const assay_json *v = assay_json_path(profile, limits[i].field);
        if (v && !(assay_json_value(v) <= limits[i].most)) return assay_fail(err, ASSAY_E_INPUT, "%s: %s: must be at most %g", path, limits[i].field, limits[i].most);
    }
    return ASSAY_OK;
}

/* What is no inference of ours comes from somewhere. */
static assay_status check_sources(const char *path, const assay_json *profile, assay_error *err) {
    static const char *const blocks[] = {"cost.ane", "cost.cpu", "cost.gpu", "cost.transfer", "cost.fused", "cost.jitter", "numerics.ane", "numerics.cpu", "numerics.gpu", "load"};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const assay_json *b = assay_json_path(profile, blocks[i]);
        if (b && !assay_streq(assay_json_string(b, "grade", ""), "I") && !assay_json_get(b, "source"))
            return assay_fail(err, ASSAY_E_INPUT, "%s: %s: 'source' is missing (only grade I, our own inference, has none)", path, blocks[i]);
    }
    return ASSAY_OK;
}

/* A rule that places on the gpu needs its numbers. */
static assay_status check_gpu(const char *path, const assay_json *profile, assay_error *err) {
    bool known = assay_json_path(profile, "numerics.gpu") && assay_json_path(profile, "cost.gpu");
    for (const assay_json *r = assay_json_first(assay_json_get(profile, "placement")); !known && r; r = assay_json_next(r))
        if (assay_streq(assay_json_string(r, "device", ""), "gpu") || assay_streq(assay_json_string(r, "otherwise", ""), "gpu"))
            return assay_fail(err, ASSAY_E_INPUT, "%s: placement (%s): numerics.gpu and cost.gpu are missing", path, assay_json_string(r, "id", ""));
    return ASSAY_OK;
}

assay_status assay_sim_profile_check_head(const char *path, const assay_json *profile, assay_error *err) {
    if (assay_json_number(profile, "schema", 0) != 1) return assay_fail(err, ASSAY_E_INPUT, "%s: schema: expected 1, the format of device profiles this program reads", path);
    if (!assay_json_truth(assay_json_get(profile, "simulated")))
        return assay_fail(err, ASSAY_E_INPUT, "%s: simulated: a device profile must say simulated = true", path);
    if (!assay_is_plain_name(assay_json_string(profile, "id", ""))) return assay_fail(err, ASSAY_E_INPUT, "%s: id: a plain name is needed (letters, digits, _ . -)", path);
    return ASSAY_OK;
}

assay_status assay_sim_profile_check(const char *path, const assay_json *profile, assay_error *err) {
    assay_status st = check_table(&(place){path, "", err}, profile_fields, profile);
    if (st == ASSAY_OK) st = check_ids(path, "placement", assay_json_get(profile, "placement"), err);
    if (st == ASSAY_OK) st = check_ids(path, "faults", assay_json_get(profile, "faults"), err);
    if (st == ASSAY_OK) st = check_placement(path, assay_json_get(profile, "placement"), err);
    if (st == ASSAY_OK) st = check_faults(path, assay_json_get(profile, "faults"), err);
    if (st == ASSAY_OK) st = check_numbers(path, profile, err);
    if (st == ASSAY_OK) st = check_sources(path, profile, err);
    return st == ASSAY_OK ? check_gpu(path, profile, err) : st;
}
