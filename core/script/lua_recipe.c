/* Recipes: the global table `assay` describes tensors; the work is done in C when a plan needs the numbers. */
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/program.h"
#include "tensor/generate.h"
#include "tensor/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META "assay.recipe"
enum { FIXTURE = 1, WEIGHT, ATTENTION, NORMAL, FULL, BAND, NPY };
struct assay_recipe {
    int kind;
    char name[96], size[32];                     /* fixture or weight and its size; label of a normal; q, k or v */
    double value;                                /* gain, scale or fill */
    int64_t below, above;                        /* BAND: diagonals kept, -1: all */
    int32_t dtype;
    uint32_t rank; int64_t shape[ASSAY_RANK_MAX];
};                                               /* user value 1 of NPY: the path */

assay_recipe *assay_recipe_at(lua_State *L, int idx) { return luaL_testudata(L, idx, META); }

static assay_recipe *push_recipe(lua_State *L, int kind) {
    assay_recipe *r = lua_newuserdatauv(L, sizeof *r, 1);
    memset(r, 0, sizeof *r);
    r->kind = kind;
    luaL_setmetatable(L, META);
    return r;
}

const char *assay_recipe_text(lua_State *L, int idx, char *out, size_t size) {
    assay_recipe *r = assay_recipe_at(L, idx);
    char shape[160], num[40];
    if (!r) return NULL;
    assay_shape_text(r->rank, r->shape, shape);
    assay_json_format_number(r->value, num);
    switch (r->kind) {
    case FIXTURE: snprintf(out, size, "fixture %s %s", r->name, r->size); break;
    case WEIGHT: snprintf(out, size, "weight %s %s gain %s", r->name, r->size, num); break;
    case ATTENTION: snprintf(out, size, "attention fixture %s %s", r->name, r->size); break;
    case NORMAL: snprintf(out, size, "normal '%s' %s%s scale %s", r->name, assay_dtype_name(r->dtype), shape, num); break;
    case FULL: snprintf(out, size, "full %s %s%s", num, assay_dtype_name(r->dtype), shape); break;
    case BAND: snprintf(out, size, "band %s%s below %lld above %lld", assay_dtype_name(r->dtype), shape, (long long)r->below, (long long)r->above); break;
    default: {
        lua_getiuservalue(L, idx, 1);
        const char *path = lua_tostring(L, -1);
        snprintf(out, size, "file %s", assay_path_base(path ? path : "?"));
        lua_pop(L, 1);
    }
    }
    return out;
}

/* ---- constructors */
static void copy_name(lua_State *L, int idx, char *out, size_t size) {
    size_t len;
    const char *s = luaL_checklstring(L, idx, &len);
    luaL_argcheck(L, len < size && len > 0, idx, "the name is empty or too long");
    memcpy(out, s, len + 1);
}

static int r_fixture(lua_State *L) {             /* assay.fixture("normal", "d750") */
    lua_settop(L, 2);
    assay_recipe *r = push_recipe(L, FIXTURE);
    copy_name(L, 1, r->name, sizeof r->name);
    copy_name(L, 2, r->size, sizeof r->size);
    return 1;
}

static int r_weight(lua_State *L) {              /* assay.weight("wq", "d750", gain) */
    lua_settop(L, 3);
    assay_recipe *r = push_recipe(L, WEIGHT);
    copy_name(L, 1, r->name, sizeof r->name);
    copy_name(L, 2, r->size, sizeof r->size);
    r->value = luaL_optnumber(L, 3, 1);
    return 1;
}

static int r_attention(lua_State *L) {           /* assay.attention("coords-s", "q") */
    lua_settop(L, 2);
    assay_recipe *r = push_recipe(L, ATTENTION);
    copy_name(L, 1, r->name, sizeof r->name);
    copy_name(L, 2, r->size, sizeof r->size);
    luaL_argcheck(L, strlen(r->size) == 1 && strchr("qkv", *r->size), 2, "expected q, k or v");
    return 1;
}

/* Reads { shape = ..., dtype = ... } of the table at 1. */
static void shape_and_dtype(lua_State *L, assay_recipe *r, const char *who) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "shape");
    r->rank = assay_lua_check_shape(L, -1, who, r->shape);
    lua_getfield(L, 1, "dtype");
    r->dtype = assay_lua_check_dtype(L, -1, ASSAY_F16);
    lua_pop(L, 2);
}

static double number_field(lua_State *L, const char *key, double def) {
    lua_getfield(L, 1, key);
    double v = lua_isnil(L, -1) ? def : lua_isboolean(L, -1) ? lua_toboolean(L, -1) : luaL_checknumber(L, -1);
    lua_pop(L, 1);
    return v;
}

/* A misspelt field would silently take its default. `names` ends with NULL. */
static void only_fields(lua_State *L, const char *who, const char *const *names) {
    size_t n = 0;
    while (names[n]) n++;
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        bool known = false;
        for (size_t i = 0; i < n; i++) known |= lua_type(L, -2) == LUA_TSTRING && assay_streq(names[i], lua_tostring(L, -2));
        if (known) continue;
        const char *key = luaL_tolstring(L, -2, NULL);
        char hint[96];
        assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: unknown field '%.60s'%s", who, key, assay_did_you_mean(hint, key, names, n));
    }
}

static int r_normal(lua_State *L) {              /* assay.normal { label = "mine/x", shape = {2, 30, 256}, scale = 1, dtype = "fp16" } */
    lua_settop(L, 1);
    only_fields(L, "assay.normal", (const char *const[]){"label", "shape", "scale", "dtype", NULL});
    assay_recipe *r = push_recipe(L, NORMAL);
    shape_and_dtype(L, r, "assay.normal");
    if (lua_getfield(L, 1, "label") != LUA_TSTRING) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "assay.normal: label is needed: a text that names the stream of numbers");
    copy_name(L, lua_gettop(L), r->name, sizeof r->name);
    lua_pop(L, 1);
    r->value = number_field(L, "scale", 1);
    return 1;
}

static int r_full(lua_State *L) {                /* assay.full { value = 1, shape = {1, 600}, dtype = "bool" } */
    lua_settop(L, 1);
    only_fields(L, "assay.full", (const char *const[]){"value", "shape", "dtype", NULL});
    assay_recipe *r = push_recipe(L, FULL);
    shape_and_dtype(L, r, "assay.full");
    r->value = number_field(L, "value", 0);
    return 1;
}

static int r_band(lua_State *L) {                /* assay.band { shape = {L, S}, below = -1, above = 0, dtype = "bool" }: 1 on the band, else 0 */
    lua_settop(L, 1);
    only_fields(L, "assay.band", (const char *const[]){"shape", "below", "above", "dtype", NULL});
    assay_recipe *r = push_recipe(L, BAND);
    shape_and_dtype(L, r, "assay.band");
    luaL_argcheck(L, r->rank >= 2, 1, "a band needs at least two axes");
    r->below = (int64_t)number_field(L, "below", -1);
    r->above = (int64_t)number_field(L, "above", -1);
    return 1;
}

static int r_npy(lua_State *L) {                 /* assay.npy "x.npy": relative to the script */
    luaL_checkstring(L, 1);
    push_recipe(L, NPY);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

/* assay.package_inputs(path): { { name = "x", dtype = "fp16", shape = {...} }, ... } of a package's main function. */
static int package_inputs(lua_State *L) {
    char *path = assay_sandbox_path(assay_sandbox_of(L), luaL_checkstring(L, 1));
    assay_program *p = NULL;
    assay_error err;
    assay_status st = assay_program_read(path, &p, &err);
    free(path);
    if (st) return assay_lua_fail(L, st, NULL, "%s", err.message);
    const assay_mil_function *f = assay_program_function(p, NULL);
    lua_newtable(L);
    for (uint32_t i = 0; f && i < f->n_inputs; i++) {
        const assay_mil_value *v = f->inputs[i];
        lua_newtable(L);
        lua_pushstring(L, v->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, v->type->kind == ASSAY_TYPE_TENSOR ? assay_mil_dtype_name(v->type->dtype) : "");
        lua_setfield(L, -2, "dtype");
        lua_newtable(L);
        for (uint32_t k = 0; k < v->type->rank; k++) {
            lua_pushinteger(L, v->type->dims[k]);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
        lua_setfield(L, -2, "shape");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    assay_program_free(p);                       /* only an out-of-memory error could pass this by */
    return 1;
}

/* ---- making */
static assay_status make_normal(const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    assay_status st = assay_tensor_new(r->dtype, r->rank, r->shape, out, err);
    if (st) return st;
    uint64_t seed = assay_stream(r->name);
    size_t size = assay_dtype_size(r->dtype);
    for (int64_t i = 0, n = assay_tensor_count(&out->t); i < n; i++)
        assay_store_f64(r->dtype, (char *)out->t.data + (size_t)i * size, assay_normal12(seed, (uint64_t)i) * r->value);
    return ASSAY_OK;
}

static assay_status make_full(const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    assay_status st = assay_tensor_new(r->dtype, r->rank, r->shape, out, err);
    size_t size = assay_dtype_size(r->dtype);
    for (int64_t i = 0, n = st ? 0 : assay_tensor_count(&out->t); i < n; i++) assay_store_f64(r->dtype, (char *)out->t.data + (size_t)i * size, r->value);
    return st;
}

static assay_status make_band(const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    assay_status st = assay_tensor_new(r->dtype, r->rank, r->shape, out, err);
    size_t size = assay_dtype_size(r->dtype);
    int64_t cols = r->shape[r->rank - 1], rows = r->shape[r->rank - 2];
    for (int64_t i = 0, n = st ? 0 : assay_tensor_count(&out->t); i < n; i++) {
        int64_t d = i % cols - i / cols % rows;  /* column minus row */
        bool in = (r->below < 0 || -d <= r->below) && (r->above < 0 || d <= r->above);
        assay_store_f64(r->dtype, (char *)out->t.data + (size_t)i * size, in);
    }
    return st;
}

static assay_status make_fixture(assay_sandbox *s, const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    char *data = s->scripts_dir ? assay_path_join(s->scripts_dir, "data") : NULL;
    assay_status st = assay_fixture_make(r->name, r->size, data, out, err);
    free(data);
    return st;
}

static assay_status make_attention(const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    assay_own_tensor qkv[3] = { 0 };
    assay_status st = assay_attention_fixture_make(r->name, qkv, err);
    for (int i = 0; i < 3 && !st; i++) {
        if ("qkv"[i] == r->size[0]) *out = qkv[i];
        else assay_tensor_free(&qkv[i]);
    }
    return st;
}

static assay_status make(lua_State *L, int idx, const assay_recipe *r, assay_own_tensor *out, assay_error *err) {
    assay_sandbox *s = assay_sandbox_of(L);
    switch (r->kind) {
    case FIXTURE: return make_fixture(s, r, out, err);
    case WEIGHT: return assay_weight_make(r->name, r->size, r->value, out, err);
    case ATTENTION: return make_attention(r, out, err);
    case NORMAL: return make_normal(r, out, err);
    case FULL: return make_full(r, out, err);
    case BAND: return make_band(r, out, err);
    default: break;
    }
    lua_getiuservalue(L, idx, 1);
    char *path = assay_sandbox_path(s, lua_tostring(L, -1));
    lua_pop(L, 1);
    assay_status st = assay_npy_read(path, out, err);
    free(path);
    return st;
}

static uint64_t expected_bytes(const assay_recipe *r) {
    uint64_t n = assay_dtype_size(r->dtype);
    for (uint32_t i = 0; i < r->rank; i++) {
        if (r->shape[i] && n > UINT64_MAX / (uint64_t)r->shape[i]) return UINT64_MAX;
        n *= (uint64_t)r->shape[i];
    }
    return n;
}

void assay_lua_materialise(lua_State *L, int idx, const char *who) {
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 8, "recipes nested too deeply");
    if (assay_lua_tensor_at(L, idx)) {
        lua_pushvalue(L, idx);
        return;
    }
    if (lua_isfunction(L, idx)) {
        lua_pushvalue(L, idx);
        lua_call(L, 0, 1);
        if (lua_isfunction(L, -1) || lua_isnil(L, -1)) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: the function must return a tensor or a recipe", who);
        assay_lua_materialise(L, -1, who);
        lua_remove(L, -2);
        return;
    }
    if (lua_type(L, idx) == LUA_TSTRING) {
        lua_pushcfunction(L, r_npy);
        lua_pushvalue(L, idx);
        lua_call(L, 1, 1);
        assay_lua_materialise(L, -1, who);
        lua_remove(L, -2);
        return;
    }
    assay_recipe *r = assay_recipe_at(L, idx);
    if (!r) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected a file path, recipe, tensor or function, got %s", who, luaL_typename(L, idx));
    if (r->dtype) assay_lua_reserve_tensor(L, expected_bytes(r));
    assay_error err = { 0, "" };
    assay_status st = make(L, idx, r, assay_lua_push_tensor(L), &err);
    if (st) assay_lua_fail(L, st, NULL, "%s: %s", who, err.message);
    assay_lua_charge_tensor(L);
}

static int r_tensor(lua_State *L) {              /* recipe:tensor() */
    assay_lua_materialise(L, 1, "tensor");
    return 1;
}

static int to_string(lua_State *L) {
    char text[400];
    lua_pushstring(L, assay_recipe_text(L, 1, text, sizeof text));
    return 1;
}

/* assay.tensor({1, 2, 3, 4}, { shape = {2, 2}, dtype = "fp16" }): small tensors written out. */
static int r_literal(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int64_t shape[ASSAY_RANK_MAX] = { (int64_t)lua_rawlen(L, 1) };
    uint32_t rank = 1;
    int32_t dtype = ASSAY_F16;
    if (lua_istable(L, 2)) {
        if (lua_getfield(L, 2, "shape") != LUA_TNIL) rank = assay_lua_check_shape(L, -1, "assay.tensor", shape);
        lua_getfield(L, 2, "dtype");
        dtype = assay_lua_check_dtype(L, -1, dtype);
    }
    assay_error err;
    assay_own_tensor *t = assay_lua_push_tensor(L);
    if (assay_tensor_new(dtype, rank, shape, t, &err)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "assay.tensor: %s", err.message);
    assay_lua_charge_tensor(L);
    if (assay_tensor_count(&t->t) != (int64_t)lua_rawlen(L, 1)) return luaL_error(L, "assay.tensor: the list does not have as many elements as the shape");
    for (int64_t i = 0; i < assay_tensor_count(&t->t); i++) {
        lua_rawgeti(L, 1, i + 1);
        assay_store_f64(dtype, assay_tensor_at(&t->t, i), lua_isboolean(L, -1) ? lua_toboolean(L, -1) : luaL_checknumber(L, -1));
        lua_pop(L, 1);
    }
    return 1;
}

/* assay.did_you_mean("scale_twise", { names }): " (did you mean 'scale_twice'?)" or "". */
static int did_you_mean(lua_State *L) {
    const char *name = luaL_checkstring(L, 1), *names[256];
    char hint[96];
    size_t n = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checkstack(L, 256, "did_you_mean");
    for (; n < 256 && lua_rawgeti(L, 2, (lua_Integer)n + 1) == LUA_TSTRING; n++) names[n] = lua_tostring(L, -1);
    lua_pushstring(L, assay_did_you_mean(hint, name, names, n));
    return 1;
}

static const luaL_Reg functions[] = { { "did_you_mean", did_you_mean }, { "fixture", r_fixture }, { "weight", r_weight }, { "attention", r_attention }, { "normal", r_normal },
    { "full", r_full }, { "band", r_band }, { "npy", r_npy }, { "tensor", r_literal }, { "package_inputs", package_inputs }, { NULL, NULL } };

void assay_lua_open_recipes(lua_State *L) {
    assay_lua_open_tensor(L);
    luaL_newmetatable(L, META);
    lua_newtable(L);
    lua_pushcfunction(L, r_tensor);
    lua_setfield(L, -2, "tensor");
    assay_lua_protect(L, "recipe");
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, to_string);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    lua_pushstring(L, ASSAY_VERSION);
    lua_setfield(L, -2, "version");
    assay_lua_protect(L, "assay");
    assay_lua_set_global(L, "assay");
}
