/* The MIL builder of scripts: ops as methods, shapes and types by the op table's rules, errors that name the Lua line. */
#include "script/lua_builder.h"
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include "program/optable.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

#define META "assay.mil"
#define VALUE_META "assay.value"
#define OP_META "assay.op"

/* ---- handles */
static assay_mil *alive(lua_State *L, assay_mil *m) {
    if (!m->program) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "this program is finished; a builder and its values live during one call of build, rewrite or mutate");
    return m;
}

assay_mil *assay_lua_check_mil(lua_State *L, int idx) { return alive(L, luaL_checkudata(L, idx, META)); }

static assay_mil_handle *push_handle(lua_State *L, int mil_idx, const char *meta) {
    mil_idx = lua_absindex(L, mil_idx);
    assay_mil_handle *h = lua_newuserdatauv(L, sizeof *h, 1);
    *h = (assay_mil_handle){ lua_touserdata(L, mil_idx), NULL, NULL };
    lua_pushvalue(L, mil_idx);                   /* the handle keeps the builder alive */
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, meta);
    return h;
}

void assay_lua_push_value(lua_State *L, int mil_idx, assay_mil_value *v) { push_handle(L, mil_idx, VALUE_META)->value = v; }
void assay_lua_push_op(lua_State *L, int mil_idx, assay_mil_op *op) { push_handle(L, mil_idx, OP_META)->op = op; }

assay_mil_value *assay_lua_value_at(lua_State *L, int idx) {
    assay_mil_handle *h = luaL_testudata(L, idx, VALUE_META);
    if (!h) return NULL;
    alive(L, h->mil);
    return h->value;
}

assay_mil *assay_lua_push_mil(lua_State *L, assay_program *p, int32_t precision) {
    assay_mil *m = lua_newuserdatauv(L, sizeof *m, 0);
    *m = (assay_mil){ p, assay_program_function(p, NULL), NULL, precision };
    luaL_setmetatable(L, META);
    return m;
}

static int collect(lua_State *L) {
    assay_mil *m = luaL_checkudata(L, 1, META);
    assay_program_free(m->program);
    m->program = NULL;
    return 0;
}

/* ---- arguments of an op */
typedef struct call { lua_State *L; assay_mil *m; const assay_op_def *def; int table; const char *where; int32_t like; } call;

/* Pushes the argument for parameter number `i`: by name, else by position. */
static bool push_arg(const call *c, const assay_op_param *q, int i) {
    lua_pushstring(c->L, q->name);
    if (lua_rawget(c->L, c->table) != LUA_TNIL) return true;
    lua_pop(c->L, 1);
    if (lua_rawgeti(c->L, c->table, i + 1) != LUA_TNIL) return true;
    lua_pop(c->L, 1);
    return false;
}

static void check_args(const call *c) {
    lua_State *L = c->L;
    const char *names[64];
    lua_Integer n = 0;
    for (const assay_op_param *q = c->def->params; q && q->name && n < 63; q++) names[n++] = q->name;
    for (lua_pushnil(L); lua_next(L, c->table); lua_pop(L, 1)) {
        char hint[96];
        bool known = lua_type(L, -2) == LUA_TNUMBER ? lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && lua_tointeger(L, -2) <= n : false;
        for (lua_Integer i = 0; !known && lua_type(L, -2) == LUA_TSTRING && i < n; i++) known = strcmp(names[i], lua_tostring(L, -2)) == 0;
        if (known || (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "name") == 0)) continue;
        if (lua_type(L, -2) != LUA_TSTRING) assay_lua_fail(L, ASSAY_E_INPUT, c->where, "%s: takes at most %d values", c->def->type, (int)n);
        names[n] = "name";
        assay_lua_fail(L, ASSAY_E_INPUT, c->where, "%s: no parameter '%.60s'%s", c->def->type, lua_tostring(L, -2),
                       assay_did_you_mean(hint, lua_tostring(L, -2), names, (size_t)n + 1));
    }
}

static int32_t tensor_type(const assay_mil_value *v) { return v && v->type->kind == ASSAY_TYPE_TENSOR ? v->type->dtype : 0; }

/* The type of the first floating-point operand, else of the first one: what a bare number beside it means. */
static int32_t find_like(const call *c) {
    int32_t first = 0;
    int i = 0;
    for (const assay_op_param *q = c->def->params; q && q->name; q++, i++) {
        if (!push_arg(c, q, i)) continue;
        int32_t t = tensor_type(assay_lua_value_at(c->L, -1));
        assay_own_tensor *own = assay_lua_tensor_at(c->L, -1);
        if (own) t = assay_mil_from_dtype(own->t.dtype);
        lua_pop(c->L, 1);
        if (t == ASSAY_MIL_FP16 || t == ASSAY_MIL_FP32) return t;
        if (!first && t != ASSAY_MIL_BOOL) first = t;
    }
    return first;
}

static assay_mil_binding bind_one(const call *c, int idx, const assay_op_param *q) {
    char who[160];
    assay_mil_handle *h = luaL_testudata(c->L, idx, VALUE_META);
    if (h && h->mil != c->m) assay_lua_fail(c->L, ASSAY_E_INPUT, c->where, "%s.%s: the value belongs to another program", c->def->type, q->name);
    if (h) return (assay_mil_binding){ h->value, NULL };
    snprintf(who, sizeof who, "%s.%s", c->def->type, q->name);
    return (assay_mil_binding){ NULL, assay_lua_make_const(c->L, c->m, idx, q->dtypes, c->like, who) };
}

/* The argument on top of the stack; a variadic parameter takes a list. */
static assay_build_arg bind(const call *c, const assay_op_param *q) {
    lua_State *L = c->L;
    int idx = lua_gettop(L);
    bool list = (q->flags & ASSAY_ARG_VARIADIC) && lua_istable(L, idx);
    uint32_t n = list ? (uint32_t)lua_rawlen(L, idx) : 1;
    assay_mil_binding *items = assay_arena_alloc(c->m->program->arena, (n + 1) * sizeof *items);
    for (uint32_t i = 0; i < n; i++) {
        if (list) lua_rawgeti(L, idx, (lua_Integer)i + 1);
        items[i] = bind_one(c, lua_gettop(L), q);
        lua_settop(L, idx);
    }
    return (assay_build_arg){ q->name, items, n };
}

static uint32_t bind_all(const call *c, assay_build_arg *args, uint32_t room) {
    uint32_t n = 0;
    int i = 0;
    for (const assay_op_param *q = c->def->params; q && q->name && n < room; q++, i++) {
        if (!push_arg(c, q, i)) continue;
        args[n++] = bind(c, q);
        lua_pop(c->L, 1);
    }
    return n;
}

/* The message begins with the logical place; people get the one they can open. */
static const char *without_place(const char *message, const char *place) {
    size_t len = strlen(place);
    return strncmp(message, place, len) == 0 && strncmp(message + len, ": ", 2) == 0 ? message + len + 2 : message;
}

/* An op as a method: upvalue 1 is its type. Returns its outputs. */
static int add_op(lua_State *L) {
    const char *type = lua_tostring(L, lua_upvalueindex(1));
    if (!luaL_testudata(L, 1, META)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: ops are methods: write m:%s { ... }", type, type);
    call c = { L, assay_lua_check_mil(L, 1), assay_optable_find(type), 2, NULL, 0 };
    char got[160];
    if (!lua_istable(L, 2))
        return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected a table, m:%s { ... }, got %s", type, type, assay_lua_describe(L, 2, got, sizeof got));
    lua_settop(L, 2);
    assay_lua_push_where(L, false);
    c.where = lua_tostring(L, 3);
    check_args(&c);
    c.like = find_like(&c);
    assay_build_arg args[64];
    uint32_t n = bind_all(&c, args, sizeof args / sizeof *args);
    lua_pushliteral(L, "name");
    lua_rawget(L, 2);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING) return assay_lua_fail(L, ASSAY_E_INPUT, c.where, "%s.name: expected string", type);
    assay_mil_op *op;
    assay_error err;
    assay_lua_push_where(L, true);
    const char *place = lua_tostring(L, -1);
    assay_status st = assay_block_add_op(c.m->program, c.m->function, c.m->function->block, c.m->before, type, lua_tostring(L, -2), place, args, n, &op, &err);
    if (st) return assay_lua_fail(L, st, c.where, "%s", without_place(err.message, place));
    luaL_checkstack(L, (int)op->n_outs + 4, "too many outputs");
    for (uint32_t k = 0; k < op->n_outs; k++) assay_lua_push_value(L, 1, op->outs[k]);
    return (int)op->n_outs;
}

/* ---- methods that are not ops */
static int32_t check_mil_type(lua_State *L, int idx, int32_t def) {
    if (lua_isnoneornil(L, idx)) return def;
    int32_t d = lua_type(L, idx) == LUA_TSTRING ? assay_mil_dtype_parse(lua_tostring(L, idx)) : 0;
    if (!d) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "unknown type '%s'; use fp16, fp32, int32, bool ...", lua_tostring(L, idx) ? lua_tostring(L, idx) : luaL_typename(L, idx));
    return d;
}

/* m:input("x", {2, 30, 256} [, "fp16"]) */
static int m_input(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    const char *name = luaL_checkstring(L, 2);
    int64_t shape[ASSAY_RANK_MAX];
    char who[160];
    snprintf(who, sizeof who, "input \"%.80s\"", name);
    uint32_t rank = assay_lua_check_shape(L, 3, who, shape);
    int32_t type = check_mil_type(L, 4, m->precision);
    for (uint32_t i = 0; i < m->function->n_inputs; i++)
        if (strcmp(m->function->inputs[i]->name, name) == 0) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: there is an input of this name", who);
    assay_lua_push_value(L, 1, assay_function_add_input(m->program, m->function, name, assay_type_tensor(m->program, type, rank, shape)));
    return 1;
}

/* m:const(value [, { name = "w", dtype = "fp16" }]) */
static int m_const(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    const char *name = "const", *dtypes = "any";
    if (lua_istable(L, 3)) {
        if (lua_getfield(L, 3, "name") == LUA_TSTRING) name = lua_tostring(L, -1);
        if (lua_getfield(L, 3, "dtype") == LUA_TSTRING) dtypes = assay_mil_dtype_name(check_mil_type(L, -1, 0));
    }
    const assay_mil_const *c = assay_lua_make_const(L, m, 2, dtypes, 0, "const");
    assay_lua_push_value(L, 1, assay_block_add_const(m->program, m->function, m->function->block, m->before, name, c));
    return 1;
}

static int mil_index(lua_State *L) {             /* upvalue 1: methods */
    assay_mil *m = assay_lua_check_mil(L, 1);
    const char *key = luaL_checkstring(L, 2);
    char hint[96];
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    if (strcmp(key, "precision") == 0) {
        lua_pushstring(L, assay_mil_dtype_name(m->precision));
        return 1;
    }
    if (!assay_optable_find(key)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "no op '%s'%s; `assay ops` lists them", key, assay_optable_suggest(hint, key));
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, add_op, 1);
    return 1;
}

/* ---- values */
static int value_index(lua_State *L) {
    assay_mil_value *v = assay_lua_value_at(L, 1);
    const char *key = luaL_checkstring(L, 2);
    static const char *const names[] = { "name", "dtype", "shape", "rank", "op" };
    char hint[96];
    if (strcmp(key, "name") == 0) lua_pushstring(L, v->name);
    else if (strcmp(key, "dtype") == 0) lua_pushstring(L, tensor_type(v) ? assay_mil_dtype_name(tensor_type(v)) : "");
    else if (strcmp(key, "rank") == 0) lua_pushinteger(L, v->type->rank);
    else if (strcmp(key, "shape") == 0) {
        lua_createtable(L, (int)v->type->rank, 0);
        for (uint32_t i = 0; i < v->type->rank; i++) {
            lua_pushinteger(L, v->type->dims[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
    } else if (strcmp(key, "op") == 0) {
        if (!v->producer) return 0;
        lua_getiuservalue(L, 1, 1);
        assay_lua_push_op(L, -1, v->producer);
    } else return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "a value has no '%s'%s", key, assay_did_you_mean(hint, key, names, 5));
    return 1;
}

static int value_text(lua_State *L) {
    assay_mil_value *v = assay_lua_value_at(L, 1);
    char shape[160];
    lua_pushfstring(L, "value %s %s%s", v->name, tensor_type(v) ? assay_mil_dtype_name(tensor_type(v)) : "?", assay_shape_text(v->type->rank, v->type->dims, shape));
    return 1;
}

static int same_value(lua_State *L) {
    lua_pushboolean(L, assay_lua_value_at(L, 1) == assay_lua_value_at(L, 2));
    return 1;
}

/* a + b, a - b, a * b, a / b: the op of upvalue 1; one side may be a number. */
static int arithmetic(lua_State *L) {
    int side = luaL_testudata(L, 1, VALUE_META) ? 1 : 2;
    lua_getiuservalue(L, side, 1);
    lua_createtable(L, 2, 0);
    for (int i = 1; i <= 2; i++) {
        lua_pushvalue(L, i);
        lua_rawseti(L, -2, i);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, add_op, 1);
    lua_insert(L, -3);
    lua_call(L, 2, 1);
    return 1;
}

static void lock(lua_State *L) {
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void assay_lua_open_builder(lua_State *L) {
    luaL_newmetatable(L, META);
    lua_newtable(L);
    lua_pushcfunction(L, m_input);
    lua_setfield(L, -2, "input");
    lua_pushcfunction(L, m_const);
    lua_setfield(L, -2, "const");
    assay_lua_add_rewrites(L);
    lua_pushcclosure(L, mil_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lock(L);

    luaL_newmetatable(L, VALUE_META);
    static const char *const operators[][2] = { { "__add", "add" }, { "__sub", "sub" }, { "__mul", "mul" }, { "__div", "real_div" } };
    for (size_t i = 0; i < 4; i++) {
        lua_pushstring(L, operators[i][1]);
        lua_pushcclosure(L, arithmetic, 1);
        lua_setfield(L, -2, operators[i][0]);
    }
    lua_pushcfunction(L, value_index);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, value_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, same_value);
    lua_setfield(L, -2, "__eq");
    lock(L);
}
