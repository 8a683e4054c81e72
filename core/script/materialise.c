/* Making what a plan holds: programs of arms and of the reference, tensors of fixtures. The only time that the experiment's
 * Lua functions run. */
#include "script/lua_script.h"
#include "script/lua_builder.h"
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include "base/names.h"
#include "program/optable.h"
#include "tensor/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job { assay_script *s; size_t index; const char *perturb; assay_program *program; assay_own_tensor *tensors; size_t n; } job;

/* Runs fn(job) in protected mode. */
static assay_status run(job *j, lua_CFunction fn, assay_error *err) {
    lua_pushcfunction(j->s->sb->L, fn);
    lua_pushlightuserdata(j->s->sb->L, j);
    return assay_lua_call(j->s->sb, 1, 0, err);
}

static const assay_json *item(const assay_script *s, const char *list, size_t i) { return assay_json_at(assay_json_get(s->description, list), i); }

/* ---- programs */
static const char *opset_of(const assay_script *s) { return assay_json_string(s->description, "opset", "iOS18"); }

/* Pushes ctx; `with` is the index of the table for ctx.with or 0. The builder is at `mil`. */
static void push_context(lua_State *L, assay_script *s, int mil, int with, const char *precision) {
    lua_newtable(L);
    assay_lua_push_json(L, assay_json_get(s->description, "shapes"));
    lua_setfield(L, -2, "shapes");
    lua_pushvalue(L, mil);
    lua_setfield(L, -2, "mil");
    if (with) lua_pushvalue(L, with);
    else lua_newtable(L);
    lua_setfield(L, -2, "with");
    lua_pushstring(L, precision);
    lua_setfield(L, -2, "precision");
    lua_pushstring(L, opset_of(s));
    lua_setfield(L, -2, "opset");
    if (s->weights != LUA_NOREF) {
        assay_script_push_weights(L, assay_dtype_parse(precision));
        lua_setfield(L, -2, "weights");
    }
    assay_lua_protect(L, "ctx");
}

/* What build returned (index `r`): one value or a list of values, the outputs. */
static void set_outputs(lua_State *L, assay_mil *m, int r) {
    assay_mil_value *outs[64];
    uint32_t n = 0;
    if (assay_lua_value_at(L, r)) outs[n++] = assay_lua_value_at(L, r);
    else if (lua_istable(L, r))
        for (lua_Integer i = 1, len = (lua_Integer)lua_rawlen(L, r); i <= len && n < 64; i++) {
            lua_rawgeti(L, r, i);
            outs[n] = assay_lua_value_at(L, -1);
            if (!outs[n++]) assay_lua_fail(L, ASSAY_E_INPUT, "build", "output %d is a %s; return values of the builder", (int)i, luaL_typename(L, -1));
            lua_pop(L, 1);
        }
    if (!n) assay_lua_fail(L, ASSAY_E_INPUT, "build", "the function must return its output value, or a list of them; it returned %s", luaL_typename(L, r));
    assay_error err;
    assay_status st = assay_function_set_outputs(m->program, m->function, outs, n, &err);
    if (st) assay_lua_fail(L, st, "build", "%s", err.message);
}

/* Calls the build function on top of the stack; leaves the builder in its place. */
static void build_program(lua_State *L, assay_script *s, int with, const char *precision) {
    int fn = lua_gettop(L), rank = assay_opset_rank(opset_of(s));
    assay_program *p = assay_program_new(assay_opset_spec_version(rank));
    assay_mil *m = assay_lua_push_mil(L, p, assay_mil_dtype_parse(precision));   /* from here on the collector frees p */
    m->function = assay_program_add_function(p, "main", assay_opset_name(rank));
    lua_pushvalue(L, fn);
    push_context(L, s, fn + 1, with, precision);
    lua_call(L, 1, 1);
    set_outputs(L, m, lua_gettop(L));
    lua_pop(L, 1);
    lua_remove(L, fn);
}

static size_t arm_index(const assay_script *s, const char *name) {
    const assay_json *arms = assay_json_get(s->description, "arms");
    for (size_t i = 0; i < assay_json_len(arms); i++)
        if (assay_streq(assay_json_string(assay_json_at(arms, i), "name", NULL), name)) return i;
    return 0;                                    /* checked when the script was opened */
}

/* Calls the function in field `key` of the table at `arm` with the builder on top of the stack. */
static void apply(lua_State *L, int arm, const char *key) {
    int mil = lua_gettop(L);
    if (lua_getfield(L, arm, key) == LUA_TFUNCTION) {
        lua_pushvalue(L, mil);
        lua_call(L, 1, 0);
        assay_mil *m = assay_lua_check_mil(L, mil);
        assay_error err;
        assay_status st = assay_program_validate(m->program, 1, &err);
        if (st) assay_lua_fail(L, st, key, "the program is no longer valid: %s", err.message);
    }
    lua_settop(L, mil);
}

/* Pushes a builder with the program of arm i. An arm that is `like` another one is built anew with its own `with` and precision. */
static void push_arm(lua_State *L, assay_script *s, size_t i, int with, const char *precision) {
    const assay_json *arm = item(s, "arms", i);
    const char *source = assay_json_string(arm, "source", "");
    luaL_checkstack(L, 24, "arms like each other");
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->arms);
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    lua_remove(L, -2);
    int table = lua_gettop(L);
    if (lua_getfield(L, table, "with") == LUA_TTABLE && !with) with = lua_gettop(L);
    if (strcmp(source, "build") == 0) {
        lua_getfield(L, table, "build");
        build_program(L, s, with, precision);
    } else if (strcmp(source, "package") == 0) {
        assay_program *p = NULL;
        assay_error err;
        assay_status st = assay_program_read(assay_json_string(arm, "package", ""), &p, &err);
        if (st) assay_lua_fail(L, st, "package", "%s", err.message);
        assay_lua_push_mil(L, p, assay_mil_dtype_parse(precision));
    } else if (strcmp(source, "like") == 0) push_arm(L, s, arm_index(s, assay_json_string(arm, "like", "")), with, precision);
    else assay_lua_fail(L, ASSAY_E_UNSUPPORTED, "convert", "the field is known and checked, but this version of assay does not run converters yet; convert first and "
                        "name the result with `package`");
    apply(L, table, "rewrite");
    apply(L, table, "mutate");
    lua_replace(L, table);
    lua_settop(L, table);
}

static void push_program(lua_State *L, assay_script *s, size_t i) { push_arm(L, s, i, 0, assay_json_string(item(s, "arms", i), "precision", "fp16")); }

void assay_script_push_program(lua_State *L, assay_script *s, const char *arm) { push_program(L, s, arm_index(s, arm)); }

static int job_arm(lua_State *L) {
    job *j = lua_touserdata(L, 1);
    push_program(L, j->s, j->index);
    assay_mil *m = assay_lua_check_mil(L, -1);
    assay_program_index(m->program);
    j->program = m->program;
    m->program = NULL;
    return 0;
}

assay_status assay_script_make_arm(assay_script *s, size_t i, assay_program **out, assay_error *err) {
    const assay_json *arm = item(s, "arms", i);
    *out = NULL;
    if (!arm) return assay_fail(err, ASSAY_E_RANGE, "there is no arm number %zu", i);
    job j = { .s = s, .index = i };
    assay_lua_seed(s->sb, assay_json_string(arm, "name", ""), (uint64_t)assay_json_int(assay_json_get(s->description, "seeds"), "script", 0));
    assay_status st = run(&j, job_arm, err);
    if (st) return assay_wrap(err, "%s: arm \"%s\"", assay_json_string(arm, "where", "?"), assay_json_string(arm, "name", "?"));
    *out = j.program;
    return ASSAY_OK;
}

static int job_reference(lua_State *L) {
    job *j = lua_touserdata(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, "assay.reference");
    int table = lua_gettop(L), with = 0;
    if (lua_getfield(L, table, "with") == LUA_TTABLE) with = lua_gettop(L);
    lua_getfield(L, table, "program");
    build_program(L, j->s, with, assay_json_string(j->s->description, "precision", "fp16"));
    assay_mil *m = assay_lua_check_mil(L, -1);
    j->program = m->program;
    m->program = NULL;
    return 0;
}

assay_status assay_script_make_reference(assay_script *s, assay_program **out, assay_error *err) {
    const assay_json *ref = assay_json_get(s->description, "reference");
    *out = NULL;
    if (!assay_streq(assay_json_string(ref, "kind", ""), "program")) return assay_fail(err, ASSAY_E_USAGE, "the reference is no program of its own");
    job j = { .s = s };
    assay_status st = run(&j, job_reference, err);
    if (st) return assay_wrap(err, "%s: reference", assay_json_string(ref, "where", "?"));
    *out = j.program;
    return ASSAY_OK;
}

/* ---- fixtures */
static void check_input(lua_State *L, assay_script *s, const char *name, const assay_tensor *t) {
    const assay_json *shape = assay_json_get(assay_json_get(s->description, "shapes"), name);
    bool same = assay_json_len(shape) == t->rank;
    for (uint32_t k = 0; same && k < t->rank; k++) same = assay_json_value(assay_json_at(shape, k)) == (double)t->shape[k];
    char got[160];
    if (assay_json_kind(shape) == ASSAY_J_ARRAY && !same) {
        char *want = assay_json_print(shape);
        lua_pushstring(L, want);
        free(want);
        assay_lua_fail(L, ASSAY_E_INPUT, "", "input \"%s\" has shape %s, but `shapes` says %s", name, assay_shape_text(t->rank, t->shape, got), lua_tostring(L, -1));
    }
    if (!assay_dtype_is_float(t->dtype)) return;
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++)
        if (!isfinite(assay_load_f64(t->dtype, assay_tensor_at(t, i))))
            assay_lua_fail(L, ASSAY_E_INPUT, "", "input \"%s\" is not finite at flat index %lld: nothing could be learned from it", name, (long long)i);
}

/* Leaves a table NAME = tensor. Built programs take the experiment's precision, so fp16 recipes are widened for fp32. */
static void push_inputs(lua_State *L, assay_script *s, int fixture, const assay_json *names) {
    const assay_json *arms = assay_json_get(s->description, "arms");
    bool built = true;
    for (size_t i = 0; i < assay_json_len(arms); i++) built = built && !assay_streq(assay_json_string(assay_json_at(arms, i), "source", ""), "package");
    bool widen = built && assay_streq(assay_json_string(s->description, "precision", ""), "fp32");
    lua_newtable(L);
    lua_getfield(L, fixture, "inputs");
    for (size_t i = 0; i < assay_json_len(names); i++) {
        const char *name = assay_json_text(assay_json_at(names, i));
        lua_getfield(L, -1, name);
        lua_pushfstring(L, "input \"%s\"", name);
        assay_lua_materialise(L, -2, lua_tostring(L, -1));
        if (widen && assay_lua_tensor_at(L, -1)->t.dtype == ASSAY_F16) {
            lua_getfield(L, -1, "to");
            lua_insert(L, -2);
            lua_pushliteral(L, "fp32");
            lua_call(L, 2, 1);
        }
        lua_setfield(L, -5, name);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* The name of the perturbation is on top of the stack, above `inputs`. */
static void perturb_by_name(lua_State *L, int fixture, int inputs) {
    lua_getfield(L, fixture, "perturb");
    lua_pushvalue(L, -2);
    if (!lua_istable(L, -2) || lua_gettable(L, -2) != LUA_TFUNCTION)
        assay_lua_fail(L, ASSAY_E_INPUT, "", "there is no perturbation '%s'; declare perturb = { %s = function(inputs) ... end }", lua_tostring(L, inputs + 1),
                       lua_tostring(L, inputs + 1));
    lua_pushvalue(L, inputs);
    lua_call(L, 1, 1);
    if (!lua_istable(L, -1)) assay_lua_fail(L, ASSAY_E_INPUT, "", "the perturbation must return the table of inputs, it returned %s", luaL_typename(L, -1));
    lua_replace(L, inputs);
    lua_settop(L, inputs);
}

static void poke_input(lua_State *L, int inputs, const char *name, int64_t batch, int64_t position) {
    lua_getfield(L, inputs, name);
    lua_getfield(L, -1, "copy");                 /* the tensor may belong to the script */
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    assay_tensor *t = &assay_lua_tensor_at(L, -1)->t;
    const int64_t *d = t->shape;
    const char *label = t->rank == 3 && d[0] == 2 && d[1] == 750 && d[2] == 1280 ? "fx/d750/poke"
                      : t->rank == 3 && d[0] == 2 && d[1] == 30 && d[2] == 256 ? "fx/mini/poke" : "fx/file/poke";
    assay_error err;
    assay_status st = assay_poke_token(t, batch, position, label, &err);
    if (st) assay_lua_fail(L, st, "", "%s", err.message);
    lua_setfield(L, inputs, name);
}

/* {"token": {"batch": b, "position": p}} on the first input; {"named": NAME} calls the fixture's own function. */
static void perturb_inputs(lua_State *L, const job *j, int fixture, int inputs, const assay_json *names) {
    assay_json *p = NULL;
    assay_error err;
    assay_status st = assay_json_parse(j->perturb, strlen(j->perturb), "perturb", &p, &err);
    if (st) assay_lua_fail(L, st, "", "%s", err.message);
    const assay_json *token = assay_json_get(p, "token");
    int64_t batch = assay_json_int(token, "batch", 0), position = assay_json_int(token, "position", 0);
    const char *named = assay_json_string(p, "named", NULL);
    bool by_token = token != NULL, by_name = named != NULL, unknown = !by_token && !by_name && assay_json_len(p);
    if (named) lua_pushstring(L, named);
    assay_json_free(p);                          /* before anything that may leave through Lua */
    if (unknown) assay_lua_fail(L, ASSAY_E_INPUT, "", "unknown perturbation %s; known are token and named", j->perturb);
    if (by_name) perturb_by_name(L, fixture, inputs);
    if (by_token) poke_input(L, inputs, assay_json_text(assay_json_at(names, 0)), batch, position);
}

static int job_fixture(lua_State *L) {
    job *j = lua_touserdata(L, 1);
    const assay_json *names = assay_json_get(item(j->s, "fixtures", j->index), "inputs");
    lua_rawgeti(L, LUA_REGISTRYINDEX, j->s->fixtures);
    lua_rawgeti(L, -1, (lua_Integer)j->index + 1);
    int fixture = lua_gettop(L);
    push_inputs(L, j->s, fixture, names);
    int inputs = lua_gettop(L);
    if (j->perturb && *j->perturb) perturb_inputs(L, j, fixture, inputs, names);
    for (size_t i = 0; i < j->n; i++) {
        const char *name = assay_json_text(assay_json_at(names, i));
        lua_getfield(L, inputs, name);
        assay_own_tensor *t = assay_lua_tensor_at(L, -1);
        if (!t) assay_lua_fail(L, ASSAY_E_INPUT, "", "the perturbation gave no tensor for input \"%s\"", name);
        check_input(L, j->s, name, &t->t);
        assay_error err;
        assay_status st = assay_tensor_copy(&t->t, 0, &j->tensors[i], &err);
        if (st) assay_lua_fail(L, st, "", "%s", err.message);
        lua_pop(L, 1);
    }
    return 0;
}

assay_status assay_script_make_fixture(assay_script *s, size_t i, const char *perturb, assay_own_tensor **out, size_t *n, assay_error *err) {
    const assay_json *fixture = item(s, "fixtures", i);
    *out = NULL;
    *n = 0;
    if (!fixture) return assay_fail(err, ASSAY_E_RANGE, "there is no fixture number %zu", i);
    job j = { .s = s, .index = i, .perturb = perturb, .n = assay_json_len(assay_json_get(fixture, "inputs")) };
    j.tensors = assay_xcalloc(j.n + 1, sizeof *j.tensors);
    assay_status st = run(&j, job_fixture, err);
    if (st) {
        for (size_t k = 0; k < j.n; k++) assay_tensor_free(&j.tensors[k]);
        free(j.tensors);
        return assay_wrap(err, "%s: fixture \"%s\"", assay_json_string(fixture, "where", "?"), assay_json_string(fixture, "name", "?"));
    }
    *out = j.tensors;
    *n = j.n;
    return ASSAY_OK;
}
