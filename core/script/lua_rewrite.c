/* Changing programs from Lua: finding ops, replacing values, placing new ops, outputs. Used by `rewrite` and `mutate`. */
#include "script/lua_builder.h"
#include "script/lua_tensor.h"
#include "base/names.h"
#include <string.h>

#define OP_META "assay.op"

static assay_mil_op *op_at(lua_State *L, int idx) {
    assay_mil_handle *h = luaL_checkudata(L, idx, OP_META);
    if (!h->mil->program) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "this program is finished; its ops are gone");
    return h->op;
}

static assay_mil_value *check_value(lua_State *L, int idx) {
    assay_mil_value *v = assay_lua_value_at(L, idx);
    if (!v) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "expected a value of the program, got %s", luaL_typename(L, idx));
    return v;
}

/* m:find("matmul"): ops of that type from which an output can be reached, in program order; without a type, all. */
static int m_find(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    const char *type = luaL_optstring(L, 2, NULL);
    assay_program_index(m->program);
    lua_newtable(L);
    lua_Integer n = 0;
    for (uint32_t i = 0; i < m->function->block->n_ops; i++) {
        assay_mil_op *op = m->function->block->ops[i];
        if (!op->reachable || (type && strcmp(op->type, type))) continue;
        assay_lua_push_op(L, 1, op);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* m:value("q"): the value of that name, or nil. */
static int m_value(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    const char *name = luaL_checkstring(L, 2);
    for (uint32_t i = 0; i < m->function->n_inputs; i++)
        if (strcmp(m->function->inputs[i]->name, name) == 0) {
            assay_lua_push_value(L, 1, m->function->inputs[i]);
            return 1;
        }
    for (uint32_t i = 0; i < m->function->block->n_ops; i++)
        for (uint32_t k = 0; k < m->function->block->ops[i]->n_outs; k++)
            if (strcmp(m->function->block->ops[i]->outs[k]->name, name) == 0) {
                assay_lua_push_value(L, 1, m->function->block->ops[i]->outs[k]);
                return 1;
            }
    return 0;
}

static int push_values(lua_State *L, assay_mil_value *const *list, uint32_t n) {
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        assay_lua_push_value(L, 1, list[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int m_inputs(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    return push_values(L, m->function->inputs, m->function->n_inputs);
}

static int m_outputs(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    return push_values(L, m->function->block->outputs, m->function->block->n_outputs);
}

/* m:after(value or op): new ops are placed right behind it. m:at_end(): behind everything. */
static int m_after(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_mil_value *v = assay_lua_value_at(L, 2);
    assay_mil_op *op = v ? v->producer : op_at(L, 2);
    assay_mil_block *b = m->function->block;
    m->before = b->n_ops ? b->ops[0] : NULL;     /* behind an input: at the beginning */
    for (uint32_t i = 0; op && i < b->n_ops; i++)
        if (b->ops[i] == op) m->before = i + 1 < b->n_ops ? b->ops[i + 1] : NULL;
    return 0;
}

static int m_at_end(lua_State *L) {
    assay_lua_check_mil(L, 1)->before = NULL;
    return 0;
}

static bool is_output(const assay_mil_block *b, const assay_mil_value *v) {
    for (uint32_t i = 0; i < b->n_outputs; i++)
        if (b->outputs[i] == v) return true;
    return false;
}

/* m:replace(old, new): every use of `old` that `new` does not itself depend on; an output keeps its name. */
static int m_replace(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_mil_value *old = check_value(L, 2), *with = check_value(L, 3);
    bool output = is_output(m->function->block, old) && !is_output(m->function->block, with);
    assay_error err;
    assay_status st = assay_value_replace(m->program, m->function, old, with, &err);
    if (st) return assay_lua_fail(L, st, NULL, "replace: %s", err.message);
    if (output && with->producer && old->producer) assay_value_swap_names(m->program, m->function, old, with);
    assay_program_index(m->program);
    return 0;
}

/* m:remove_dead(): drops ops from which no output can be reached. */
static int m_remove_dead(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    m->before = NULL;
    assay_program_remove_dead(m->program, m->function);
    return 0;
}

/* ---- ops */
static int o_arg(lua_State *L) {                 /* op:arg("query" [, i]): the value bound there, or nil (absent, or a literal) */
    assay_mil_op *op = op_at(L, 1);
    const assay_mil_arg *a = assay_op_arg(op, luaL_checkstring(L, 2));
    lua_Integer i = luaL_optinteger(L, 3, 0);
    if (!a || i < 0 || i >= (lua_Integer)a->n || !a->items[i].value) return 0;
    lua_getiuservalue(L, 1, 1);
    assay_lua_push_value(L, -1, a->items[i].value);
    return 1;
}

static int o_const(lua_State *L) {               /* op:const("axis"): the constant bound there as a tensor, or nil */
    assay_mil_op *op = op_at(L, 1);
    const assay_mil_const *c = assay_op_const(op, luaL_checkstring(L, 2));
    if (!c || c->absent || c->kind != ASSAY_CONST_DATA) return 0;
    assay_error err;
    assay_own_tensor *t = assay_lua_push_tensor(L);
    assay_own_tensor read = { 0 };
    assay_status st = assay_const_read(c, &read, &err);
    if (!st) st = assay_tensor_copy(&read.t, 0, t, &err);    /* its own memory: the program may go first */
    assay_tensor_free(&read);
    if (st) return assay_lua_fail(L, st, NULL, "const: %s", err.message);
    assay_lua_charge_tensor(L);
    return 1;
}

static int op_index(lua_State *L) {
    assay_mil_op *op = op_at(L, 1);
    const char *key = luaL_checkstring(L, 2);
    static const char *const names[] = { "type", "name", "out", "outs", "arg", "const" };
    char hint[96];
    lua_getiuservalue(L, 1, 1);
    if (strcmp(key, "type") == 0) lua_pushstring(L, op->type);
    else if (strcmp(key, "name") == 0) lua_pushstring(L, op->n_outs ? op->outs[0]->name : "");
    else if (strcmp(key, "out") == 0) {
        if (!op->n_outs) return 0;
        assay_lua_push_value(L, -1, op->outs[0]);
    } else if (strcmp(key, "outs") == 0) {
        lua_createtable(L, (int)op->n_outs, 0);
        for (uint32_t i = 0; i < op->n_outs; i++) {
            assay_lua_push_value(L, -2, op->outs[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
    } else if (strcmp(key, "arg") == 0) lua_pushcfunction(L, o_arg);
    else if (strcmp(key, "const") == 0) lua_pushcfunction(L, o_const);
    else return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "an op has no '%s'%s", key, assay_did_you_mean(hint, key, names, 6));
    return 1;
}

static const luaL_Reg methods[] = { { "find", m_find }, { "value", m_value }, { "inputs", m_inputs }, { "outputs", m_outputs }, { "after", m_after },
    { "at_end", m_at_end }, { "replace", m_replace }, { "remove_dead", m_remove_dead }, { NULL, NULL } };

void assay_lua_add_rewrites(lua_State *L) {
    luaL_setfuncs(L, methods, 0);
    luaL_newmetatable(L, OP_META);
    lua_pushcfunction(L, op_index);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
