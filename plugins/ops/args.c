/* Reading an op's arguments with the defaults of its parameter table, and checking them against it. */
#include "ops/args.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

assay_status assay_op_fail(assay_error *err, const assay_mil_op *op, const char *fmt, ...) {
    char text[400];
    va_list ap;
    (void)op;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return assay_fail(err, ASSAY_E_INPUT, "%s", text);
}

/* ---- the parameter table */
static const assay_op_param *find_param(const assay_mil_op *op, const char *key) {
    const assay_op_def *def = assay_optable_find(op->type);
    if (!def || !def->params) return NULL;
    for (const assay_op_param *p = def->params; p->name; p++)
        if (strcmp(p->name, key) == 0) return p;
    return NULL;
}

static bool in_list(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, "|");
        if (len == n && strncmp(s, name, n) == 0) return true;
        s += len + (s[len] == '|');
    }
    return false;
}

static bool dtype_in_group(const char *group, int32_t code) {
    bool fp = code == ASSAY_MIL_FP16 || code == ASSAY_MIL_FP32 || code == ASSAY_MIL_FP64 || code == ASSAY_MIL_BF16;
    bool integer = code >= ASSAY_MIL_INT8 && code <= ASSAY_MIL_UINT3;
    if (strcmp(group, "any") == 0) return true;
    if (strcmp(group, "fp") == 0) return fp;
    if (strcmp(group, "int") == 0) return integer;
    if (strcmp(group, "num") == 0) return fp || integer;
    if (strcmp(group, "bool") == 0) return code == ASSAY_MIL_BOOL;
    if (strcmp(group, "str") == 0) return code == ASSAY_MIL_STRING;
    return false;
}

static bool dtype_accepted(const char *spec, const assay_mil_type *t) {
    if (!spec || strcmp(spec, "any") == 0) return true;
    if (t->kind != ASSAY_TYPE_TENSOR) return false;
    const char *name = assay_mil_dtype_name(t->dtype);
    if (name && in_list(spec, name)) return true;
    char group[16];
    for (const char *s = spec; *s;) {
        size_t len = strcspn(s, "|");
        if (len < sizeof group) {
            memcpy(group, s, len);
            group[len] = 0;
            if (dtype_in_group(group, t->dtype)) return true;
        }
        s += len + (s[len] == '|');
    }
    return false;
}

static const char *type_word(const assay_mil_type *t) {
    const char *name = t->kind == ASSAY_TYPE_TENSOR ? assay_mil_dtype_name(t->dtype) : NULL;
    return name ? name : "not a tensor";
}

static assay_status check_arg(const assay_mil_op *op, const assay_mil_arg *arg, assay_error *err) {
    const assay_op_param *p = find_param(op, arg->key);
    if (!p) {
        const assay_op_def *def = assay_optable_find(op->type);
        const char *names[64];
        size_t n = 0;
        for (const assay_op_param *q = def->params; q && q->name && n < 64; q++) names[n++] = q->name;
        char hint[96];
        return assay_op_fail(err, op, "unknown argument '%s'%s", arg->key, assay_did_you_mean(hint, arg->key, names, n));
    }
    if (arg->n != 1 && !(p->flags & ASSAY_ARG_VARIADIC))
        return assay_op_fail(err, op, "argument '%s' takes one value, got %u", arg->key, arg->n);
    for (uint32_t i = 0; i < arg->n; i++) {
        const assay_mil_type *t = assay_arg_type(op, arg->key, i);
        if (!t || !dtype_accepted(p->dtypes, t))
            return assay_op_fail(err, op, "argument '%s' must be %s, got %s", arg->key, p->dtypes, t ? type_word(t) : "nothing");
    }
    if ((p->flags & ASSAY_ARG_CONST) && !assay_op_const(op, arg->key))
        return assay_op_fail(err, op, "argument '%s' must be a constant", arg->key);
    return ASSAY_OK;
}

assay_status assay_op_check_args(const assay_mil_op *op, assay_error *err) {
    const assay_op_def *def = assay_optable_find(op->type);
    if (!def) return ASSAY_OK;
    for (uint32_t i = 0; i < op->n_args; i++) ASSAY_TRY(check_arg(op, &op->args[i], err));
    for (const assay_op_param *p = def->params; p && p->name; p++)
        if ((p->flags & ASSAY_ARG_REQUIRED) && assay_arg_count(op, p->name) == 0)
            return assay_op_fail(err, op, "argument '%s' is missing", p->name);
    return ASSAY_OK;
}

/* ---- types of arguments. Up to opset CoreML7 the constexpr ops keep theirs among the attributes. */
uint32_t assay_arg_count(const assay_mil_op *op, const char *key) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    return a ? a->n : assay_op_attr(op, key) ? 1 : 0;
}

const assay_mil_type *assay_arg_type(const assay_mil_op *op, const char *key, uint32_t i) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    if (!a && i == 0 && assay_op_attr(op, key)) return assay_op_attr(op, key)->type;
    if (!a || i >= a->n) return NULL;
    const assay_mil_binding *b = &a->items[i];
    return b->value ? b->value->type : b->literal ? b->literal->type : NULL;
}

int32_t assay_arg_dtype(const assay_mil_op *op, const char *key) {
    const assay_mil_type *t = assay_arg_type(op, key, 0);
    return t && t->kind == ASSAY_TYPE_TENSOR ? t->dtype : 0;
}

bool assay_arg_shape(const assay_mil_op *op, const char *key, uint32_t i, assay_shape *out) {
    const assay_mil_type *t = assay_arg_type(op, key, i);
    if (!t || t->kind != ASSAY_TYPE_TENSOR || t->rank > ASSAY_RANK_MAX) return false;
    out->rank = t->rank;
    memcpy(out->d, t->dims, sizeof out->d);
    for (uint32_t k = 0; k < t->rank; k++)
        if (out->d[k] < 0) out->d[k] = ASSAY_DIM_UNKNOWN;
    return true;
}

/* ---- constants and defaults */
static const char *default_text(const assay_mil_op *op, const char *key) {
    const assay_op_param *p = find_param(op, key);
    return p ? p->def : NULL;
}

/* "[1,-2]", "-1", "true" -> numbers; the table's own text, so it is well formed. */
static int default_numbers(const char *text, double *out, int max) {
    int n = 0;
    for (const char *s = text; *s && n < max;) {
        if (*s == '[' || *s == ']' || *s == ',' || *s == ' ') { s++; continue; }
        if (strncmp(s, "true", 4) == 0) { out[n++] = 1; s += 4; continue; }
        if (strncmp(s, "false", 5) == 0) { out[n++] = 0; s += 5; continue; }
        char *end;
        out[n] = strtod(s, &end);
        if (end == s) break;
        n++;
        s = end;
    }
    return n;
}

static int const_numbers(const assay_mil_const *c, double *out, int max) {
    assay_own_tensor t;
    if (assay_const_read(c, &t, NULL) != ASSAY_OK) return ASSAY_ARG_ABSENT;
    int64_t n = assay_tensor_count(&t.t);
    int got = ASSAY_ARG_TOO_LONG;
    if (n >= 0 && n <= max) {
        got = (int)n;
        for (int i = 0; i < got; i++) out[i] = assay_load_f64(t.t.dtype, assay_tensor_at(&t.t, i));
    }
    assay_tensor_free(&t);
    return got;
}

static int arg_numbers(const assay_mil_op *op, const char *key, double *out, int max) {
    if (assay_arg_count(op, key)) {
        const assay_mil_const *c = assay_op_const(op, key);
        return c ? const_numbers(c, out, max) : ASSAY_ARG_UNKNOWN;
    }
    const char *text = default_text(op, key);
    return text ? default_numbers(text, out, max) : ASSAY_ARG_ABSENT;
}

double assay_arg_number(const assay_mil_op *op, const char *key, double dflt) {
    double v;
    return arg_numbers(op, key, &v, 1) == 1 ? v : dflt;
}

int64_t assay_arg_int(const assay_mil_op *op, const char *key, int64_t dflt) {
    double v = assay_arg_number(op, key, (double)dflt);
    return v >= -9007199254740992.0 && v <= 9007199254740992.0 ? (int64_t)v : dflt;
}

bool assay_arg_bool(const assay_mil_op *op, const char *key, bool dflt) {
    return assay_arg_number(op, key, dflt ? 1 : 0) != 0;
}

const char *assay_arg_text(const assay_mil_op *op, const char *key, const char *dflt) {
    const assay_mil_const *c = assay_op_const(op, key);
    if (c && c->kind == ASSAY_CONST_STRINGS && c->n_strings == 1) return c->strings[0];
    return dflt;
}

int assay_arg_ints(const assay_mil_op *op, const char *key, int64_t *out, int max) {
    double v[64];
    int n = arg_numbers(op, key, v, max < 64 ? max : 64);
    for (int i = 0; i < n; i++) out[i] = v[i] >= -9.2e18 && v[i] <= 9.2e18 ? (int64_t)v[i] : 0;
    return n;
}
