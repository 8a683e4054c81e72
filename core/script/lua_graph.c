/* Programs as Lua tables: ops, values and their uses, built in one pass over each function. */
#include "script/lua_graph.h"
#include "program/optable.h"
#include "program/sites.h"
#include "script/lua_constant.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* What one function is built from. Stack indices; `values` holds the value tables by id + 1. */
typedef struct build { lua_State *L; int fn, ops, values, op_tables; const assay_program *p; const assay_mil_function *f; } build;

static void set_flag(lua_State *L, const char *key, bool on) {
    if (!on) return;
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, key);
}

static void set_string(lua_State *L, const char *key, const char *s) {
    lua_pushstring(L, s);
    lua_setfield(L, -2, key);
}

static void append(lua_State *L, int list) { lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1); }

/* ---- values */
static const char *kind_word(const assay_mil_type *t) {
    static const char *const words[] = { "", "tensor", "list", "tuple", "dict", "state" };
    return t->kind > 0 && t->kind <= ASSAY_TYPE_STATE ? words[t->kind] : "";
}

/* Sets the fields of a type on the value table on top. */
static void set_type(lua_State *L, const assay_mil_type *t) {
    set_string(L, "kind", kind_word(t));
    if (t->kind == ASSAY_TYPE_STATE && t->n_sub == 1) t = t->sub[0];
    bool tensor = t->kind == ASSAY_TYPE_TENSOR;
    const char *dtype = tensor ? assay_mil_dtype_name(t->dtype) : NULL;
    int64_t count = tensor ? assay_type_count(t) : -1;
    set_string(L, "dtype", dtype ? dtype : "");
    lua_pushinteger(L, tensor ? (lua_Integer)t->rank : 0);
    lua_setfield(L, -2, "rank");
    lua_createtable(L, tensor ? (int)t->rank : 0, 0);
    for (uint32_t i = 0; tensor && i < t->rank; i++) {
        lua_pushinteger(L, t->dims[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "shape");
    if (count < 0) return;
    lua_pushinteger(L, count);
    lua_setfield(L, -2, "count");
}

static void new_value(lua_State *L, const char *name, const assay_mil_type *t) {
    lua_createtable(L, 0, 10);
    set_string(L, "name", name);
    set_type(L, t);
    lua_newtable(L);
    lua_setfield(L, -2, "users");
}

/* Pushes the table of v, made when it is met first. */
static void push_value(const build *b, const assay_mil_value *v) {
    lua_State *L = b->L;
    if (lua_rawgeti(L, b->values, (lua_Integer)v->id + 1) != LUA_TNIL) return;
    lua_pop(L, 1);
    new_value(L, v->name, v->type);
    const assay_mil_const *c = assay_value_const(v);
    if (c) assay_lua_set_constant(L, c);
    lua_pushvalue(L, -1);
    lua_rawseti(L, b->values, (lua_Integer)v->id + 1);
}

static void push_binding(const build *b, const assay_mil_binding *bound) {
    if (bound->value) { push_value(b, bound->value); return; }
    new_value(b->L, "", bound->literal->type);
    assay_lua_set_constant(b->L, bound->literal);
}

/* ---- ops */
/* The op table on top uses the value below it: value.users gets the op, op.operands the value. Leaves the value on top. */
static void link_operand(lua_State *L, int op, int operands) {
    lua_getfield(L, -1, "users");
    lua_pushvalue(L, op);
    append(L, lua_gettop(L) - 1);
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    append(L, operands);
}

/* args[key] is the first operand; lists[key] all of them where there are several. */
static void set_arg(const build *b, const assay_mil_arg *a, int table, int args, int lists, int operands) {
    lua_State *L = b->L;
    bool several = a->n > 1;
    if (several) lua_createtable(L, (int)a->n, 0);
    for (uint32_t k = 0; k < a->n; k++) {
        push_binding(b, &a->items[k]);
        link_operand(L, table, operands);
        if (several) {
            lua_pushvalue(L, -1);
            lua_rawseti(L, -3, (lua_Integer)k + 1);
        }
        if (k == 0) lua_setfield(L, args, a->key);
        else lua_pop(L, 1);
    }
    if (several) lua_setfield(L, lists, a->key);
}

static void set_args(const build *b, const assay_mil_op *op, int table) {
    lua_State *L = b->L;
    lua_createtable(L, 0, (int)(op->n_args + op->n_attrs));
    int args = lua_gettop(L);
    lua_newtable(L);
    int lists = lua_gettop(L);
    lua_newtable(L);
    int operands = lua_gettop(L);
    for (uint32_t i = 0; i < op->n_args; i++) set_arg(b, &op->args[i], table, args, lists, operands);
    for (uint32_t i = 0; i < op->n_attrs; i++) {             /* parameters of the older constexpr ops */
        if (strcmp(op->attrs[i].key, "name") == 0) continue;
        new_value(L, "", op->attrs[i].value->type);
        assay_lua_set_constant(L, op->attrs[i].value);
        lua_setfield(L, args, op->attrs[i].key);
    }
    lua_setfield(L, table, "operands");
    lua_setfield(L, table, "lists");
    lua_setfield(L, table, "args");
}

static void set_outs(const build *b, const assay_mil_op *op, int table, bool constexpr_op) {
    lua_State *L = b->L;
    lua_createtable(L, (int)op->n_outs, 0);
    for (uint32_t i = 0; i < op->n_outs; i++) {
        push_value(b, op->outs[i]);
        lua_pushvalue(L, table);
        lua_setfield(L, -2, "op");
        set_flag(L, "static", constexpr_op);
        if (i == 0) {
            lua_pushvalue(L, -1);
            lua_setfield(L, table, "out");
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, table, "outs");
}

static void add_op(const build *b, const assay_mil_op *op) {
    lua_State *L = b->L;
    const assay_op_def *def = assay_optable_find(op->type);
    uint32_t flags = def ? def->flags : 0;
    lua_createtable(L, 0, 12);
    int table = lua_gettop(L);
    set_string(L, "type", op->type);
    set_string(L, "name", op->n_outs ? op->outs[0]->name : "");
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, b->ops) + 1);
    lua_setfield(L, table, "index");
    set_flag(L, "layout", flags & ASSAY_OP_LAYOUT);
    set_flag(L, "constexpr", flags & ASSAY_OP_CONSTEXPR);
    set_flag(L, "known", def != NULL);
    lua_pushinteger(L, (lua_Integer)op->n_blocks);
    lua_setfield(L, table, "nested");
    lua_pushvalue(L, b->fn);
    lua_setfield(L, table, "fn");
    set_args(b, op, table);
    set_outs(b, op, table, flags & ASSAY_OP_CONSTEXPR);
    lua_pushvalue(L, table);
    lua_rawsetp(L, b->op_tables, op);
    append(L, b->ops);
}

/* ---- attentions */
static void set_site_value(const build *b, const char *key, const assay_mil_value *v) {
    if (!v) return;
    push_value(b, v);
    lua_setfield(b->L, -2, key);
}

static void add_sites(const build *b) {
    lua_State *L = b->L;
    size_t n = 0;
    assay_site *sites = assay_sites_find(b->f, &n);
    lua_newtable(L);
    for (size_t i = 0; i < n; i++) {
        const assay_site *s = &sites[i];
        if (!s->reachable) continue;
        lua_newtable(L);
        for (uint32_t bit = 1; bit < 1u << ASSAY_SITE_KINDS; bit <<= 1) set_flag(L, assay_site_word(bit), s->spelling & bit);
        lua_rawgetp(L, b->op_tables, s->op);
        lua_setfield(L, -2, "op");
        set_site_value(b, "query", s->query);
        set_site_value(b, "key", s->key);
        set_site_value(b, "value", s->value);
        set_site_value(b, "out", s->out);
        set_site_value(b, "mask", s->mask);
        lua_pushnumber(L, s->scale);
        lua_setfield(L, -2, "scale");
        append(L, lua_gettop(L) - 1);
    }
    free(sites);
    lua_setfield(L, b->fn, "sites");
}

/* ---- functions */
static const assay_feature *feature_of(const assay_program *p, const assay_mil_function *f, const char *name) {
    for (uint32_t i = 0; i < p->n_signatures; i++) {
        const assay_signature *s = &p->signatures[i];
        if (s->name && strcmp(s->name, f->name)) continue;
        for (uint32_t k = 0; k < s->n_inputs; k++)
            if (strcmp(s->inputs[k].name, name) == 0) return &s->inputs[k];
    }
    return NULL;
}

static void add_inputs(const build *b) {
    lua_State *L = b->L;
    lua_newtable(L);
    for (uint32_t i = 0; i < b->f->n_inputs; i++) {
        const assay_feature *feature = feature_of(b->p, b->f, b->f->inputs[i]->name);
        push_value(b, b->f->inputs[i]);
        set_flag(L, "input", true);
        if (feature && feature->flexible) set_string(L, "flexible", feature->flexible == 1 ? "ranges" : "enumerated");
        append(L, lua_gettop(L) - 1);
    }
    lua_setfield(L, b->fn, "inputs");
}

static void add_outputs(const build *b) {
    lua_State *L = b->L;
    const assay_mil_block *block = b->f->block;
    lua_newtable(L);
    for (uint32_t i = 0; block && i < block->n_outputs; i++) {
        push_value(b, block->outputs[i]);
        set_flag(L, "output", true);
        append(L, lua_gettop(L) - 1);
    }
    lua_setfield(L, b->fn, "outputs");
}

static void push_function(lua_State *L, const assay_program *p, const assay_mil_function *f) {
    build b = { .L = L, .p = p, .f = f };
    luaL_checkstack(L, 32, "graph");
    lua_newtable(L);
    b.fn = lua_gettop(L);
    set_string(L, "name", f->name ? f->name : "");
    set_string(L, "opset", f->opset ? f->opset : "");
    lua_createtable(L, (int)f->n_all_ops, 0);
    b.ops = lua_gettop(L);
    lua_createtable(L, (int)f->n_values, 0);
    b.values = lua_gettop(L);
    lua_newtable(L);
    b.op_tables = lua_gettop(L);
    add_inputs(&b);
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        if (op->reachable && strcmp(op->type, "const")) add_op(&b, op);
    }
    add_outputs(&b);
    add_sites(&b);
    lua_pop(L, 2);
    lua_setfield(L, b.fn, "ops");
}

/* The ceiling of a gate that is handed a graph grows with it: what the tables of an op and its values take, and as much again for
 * what the gate notes about them (measured: 2.2 KB an op under the whole rule pack, 200,000 ops of one chain). */
enum { GRAPH_OP_BYTES = 4096 };

static void make_room(lua_State *L, const assay_program *p) {
    uint64_t ops = 0;
    for (uint32_t i = 0; i < p->n_functions; i++) ops += p->functions[i]->n_all_ops;
    assay_sandbox_grow(assay_sandbox_of(L), ops * GRAPH_OP_BYTES);
}

void assay_lua_push_graph(lua_State *L, const assay_program *p) {
    luaL_checkstack(L, 32, "graph");
    make_room(L, p);
    lua_newtable(L);
    lua_pushinteger(L, p->spec_version);
    lua_setfield(L, -2, "spec_version");
    lua_newtable(L);
    for (uint32_t i = 0; i < p->n_metadata; i++) set_string(L, p->metadata[i].key, p->metadata[i].value);
    lua_setfield(L, -2, "metadata");
    lua_newtable(L);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        push_function(L, p, p->functions[i]);
        append(L, lua_gettop(L) - 1);
    }
    lua_setfield(L, -2, "functions");
}
