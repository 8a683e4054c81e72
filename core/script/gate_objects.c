/* Evidence, requests and findings as a Lua gate sees them. Each is a thin view of the object a C gate gets. */
#include "script/lua_gate.h"
#include "script/lua_constant.h"
#include "script/lua_graph.h"
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include "program/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static assay_gate_call *call_of(lua_State *L, const char *what) {
    char meta[64];
    snprintf(meta, sizeof meta, "assay.%s", what);
    return *(assay_gate_call **)luaL_checkudata(L, 1, meta);
}

void assay_lua_push_gate_object(lua_State *L, assay_gate_call *c, const char *what) {
    char meta[64];
    snprintf(meta, sizeof meta, "assay.%s", what);
    *(assay_gate_call **)lua_newuserdatauv(L, sizeof c, 0) = c;
    luaL_setmetatable(L, meta);
}

/* ---- evidence */
static int absent(lua_State *L, assay_gate_call *c, const char *role, const char *why) {
    c->absent = true;
    snprintf(c->why, sizeof c->why, "%.60s: %.180s", role, why);
    return assay_lua_fail(L, ASSAY_E_MISSING, NULL, "no evidence for %s", c->why);
}

/* The item of a role (and label, where given); raises when it is not there or could not be collected. */
static assay_item find_item(lua_State *L, assay_gate_call *c, const char *role, const char *label) {
    assay_item item;
    assay_error err;
    uint32_t n = c->evidence->count(c->evidence, role);
    for (uint32_t i = 0; i < n; i++) {
        memset(&item, 0, sizeof item);
        item.struct_size = sizeof item;
        if (c->evidence->item(c->evidence, role, i, &item, &err)) break;
        if (label && strcmp(item.label ? item.label : "", label)) continue;
        if (item.state != ASSAY_OK_STATE) absent(L, c, role, item.why && *item.why ? item.why : "it was not measured");
        return item;
    }
    absent(L, c, role, "nothing was given");
    memset(&item, 0, sizeof item);
    return item;
}

static int e_tensor(lua_State *L) {              /* ev:tensor(role [, label]) */
    assay_gate_call *c = call_of(L, "evidence");
    const char *role = luaL_checkstring(L, 2);
    assay_item item = find_item(L, c, role, luaL_optstring(L, 3, NULL));
    if (item.kind != ASSAY_K_OUTPUT) return assay_lua_fail(L, ASSAY_E_TYPE, NULL, "the evidence for %s is no tensor", role);
    assay_lua_push_borrowed(L, &item.tensor);
    return 1;
}

static int e_record(lua_State *L) {              /* ev:record(role [, label]): a JSON document as a table */
    assay_gate_call *c = call_of(L, "evidence");
    const char *role = luaL_checkstring(L, 2);
    assay_item item = find_item(L, c, role, luaL_optstring(L, 3, NULL));
    assay_json *j = NULL;
    if (!item.json || assay_json_parse(item.json, strlen(item.json), role, &j, NULL)) return assay_lua_fail(L, ASSAY_E_TYPE, NULL, "the evidence for %s is no record", role);
    assay_lua_push_json(L, j);
    assay_json_free(j);
    return 1;
}

static int e_program(lua_State *L) {             /* ev:program(role [, label]): the facts of `assay inspect` as a table */
    assay_gate_call *c = call_of(L, "evidence");
    const char *role = luaL_checkstring(L, 2);
    assay_item item = find_item(L, c, role, luaL_optstring(L, 3, NULL));
    if (!item.program) return assay_lua_fail(L, ASSAY_E_TYPE, NULL, "the evidence for %s is no program", role);
    assay_json *facts = assay_program_facts(item.program);
    assay_lua_push_json(L, facts);
    assay_json_free(facts);
    return 1;
}

/* ev:graph(role [, label]): ops, values and uses as tables (script/lua_graph.h). Only of a valid program, so that whoever walks it
 * finds the arguments that an op must have. */
static int e_graph(lua_State *L) {
    assay_gate_call *c = call_of(L, "evidence");
    const char *role = luaL_checkstring(L, 2);
    assay_item item = find_item(L, c, role, luaL_optstring(L, 3, NULL));
    if (!item.program) return assay_lua_fail(L, ASSAY_E_TYPE, NULL, "the evidence for %s is no program", role);
    assay_error err;
    assay_status st = assay_program_validate(item.program, 1, &err);
    if (st) return assay_lua_fail(L, st, "", "the program is not valid: %s", err.message);
    assay_lua_push_graph(L, item.program);
    return 1;
}

static int e_count(lua_State *L) {               /* ev:count(role) */
    assay_gate_call *c = call_of(L, "evidence");
    lua_pushinteger(L, (lua_Integer)c->evidence->count(c->evidence, luaL_checkstring(L, 2)));
    return 1;
}

static int e_labels(lua_State *L) {              /* ev:labels(role): labels in order, "" where there is none */
    assay_gate_call *c = call_of(L, "evidence");
    const char *role = luaL_checkstring(L, 2);
    lua_newtable(L);
    for (uint32_t i = 0, n = c->evidence->count(c->evidence, role); i < n; i++) {
        assay_item item = { .struct_size = sizeof item };
        if (c->evidence->item(c->evidence, role, i, &item, NULL)) break;
        lua_pushstring(L, item.label ? item.label : "");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ---- requests */
static const char *field(lua_State *L, const char *key) {
    const char *s = NULL;
    if (lua_getfield(L, 3, key) == LUA_TSTRING) s = lua_tostring(L, -1);
    else if (!lua_isnil(L, -1)) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "request: %s must be a string", key);
    return s;                                    /* stays on the stack, so it stays alive */
}

/* Pushes the canonical JSON of field `key`, a table; NULL when absent. */
static const char *json_field(lua_State *L, const char *key) {
    char why[160];
    if (lua_getfield(L, 3, key) == LUA_TNIL) return NULL;
    assay_json *j = assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
    if (!j) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "request: %s must be plain data, got %s", key, why);
    char *text = assay_json_print(j);
    assay_json_free(j);
    lua_pushstring(L, text);
    free(text);
    return lua_tostring(L, -1);
}

static int ask(lua_State *L, int32_t kind) {     /* req:KIND(role, { arm = ..., fixture = ..., perturb = {...}, label = ... }) */
    assay_gate_call *c = call_of(L, "request");
    const char *role = luaL_checkstring(L, 2);
    static const char *const known[] = { "arm", "fixture", "perturb", "label", "output", "record", "repeats" };
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
        bool ok = false;
        for (size_t i = 0; lua_type(L, -2) == LUA_TSTRING && i < sizeof known / sizeof *known; i++) ok = ok || strcmp(known[i], lua_tostring(L, -2)) == 0;
        if (!ok) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "request: unknown field '%s'; known are arm, fixture, perturb, label, output, record, repeats",
                                       lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?");
    }
    assay_query q = { .struct_size = sizeof q, .kind = kind };
    q.arm = field(L, "arm");
    q.fixture = field(L, "fixture");
    q.output = field(L, "output");
    q.record = field(L, "record");
    q.perturb = json_field(L, "perturb");
    const char *label = field(L, "label");
    lua_getfield(L, 3, "repeats");
    q.repeats = (uint32_t)lua_tointeger(L, -1);
    if (!q.arm && kind != ASSAY_K_RECORD) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "request for %s: an arm is needed, such as arm = p.arm", role);
    assay_error err;
    assay_status st = c->request->need(c->request, role, label ? label : q.fixture ? q.fixture : "", &q, &err);
    if (st) return assay_lua_fail(L, st, NULL, "%s", err.message);
    return 0;
}

static int r_output(lua_State *L) { return ask(L, ASSAY_K_OUTPUT); }
static int r_program(lua_State *L) { return ask(L, ASSAY_K_PROGRAM); }
static int r_plan(lua_State *L) { return ask(L, ASSAY_K_PLAN); }
static int r_record(lua_State *L) { return ask(L, ASSAY_K_RECORD); }

/* ---- findings */
static int f_metric(lua_State *L) {              /* finding:metric(name, number or list [, unit]); nil and NaN are undefined */
    assay_gate_call *c = call_of(L, "finding");
    const char *name = luaL_checkstring(L, 2), *unit = luaL_optstring(L, 4, "1");
    uint64_t n = lua_istable(L, 3) ? (uint64_t)lua_rawlen(L, 3) : 1;
    double *v = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *v, 0);
    for (uint64_t i = 0; i < n; i++) {
        if (lua_istable(L, 3)) lua_rawgeti(L, 3, (lua_Integer)i + 1);
        else lua_pushvalue(L, 3);
        if (lua_isboolean(L, -1)) v[i] = lua_toboolean(L, -1);
        else v[i] = lua_isnil(L, -1) ? NAN : luaL_checknumber(L, -1);
        lua_pop(L, 1);
    }
    c->finding->metric(c->finding, name, v, n, unit);
    return 0;
}

static void give(assay_gate_call *c, assay_verdict v) {
    c->decided = true;
    c->finding->verdict(c->finding, v);
}

/* Code and message are needed where something went wrong. */
static int conclude(lua_State *L, assay_verdict v) {
    assay_gate_call *c = call_of(L, "finding");
    const char *code = luaL_checkstring(L, 2), *message = luaL_checkstring(L, 3);
    c->finding->reason(c->finding, code, message, luaL_optstring(L, 4, ""));
    give(c, v);
    return 0;
}

static int f_pass(lua_State *L) {
    give(call_of(L, "finding"), ASSAY_PASS);
    return 0;
}
static int f_kill(lua_State *L) { return conclude(L, ASSAY_KILL); }
static int f_inconclusive(lua_State *L) { return conclude(L, ASSAY_INCONCLUSIVE); }
static int f_not_measured(lua_State *L) { return conclude(L, ASSAY_NOT_MEASURED); }

static int f_reason(lua_State *L) {              /* finding:reason(code, message [, where]): a diagnosis, no verdict */
    assay_gate_call *c = call_of(L, "finding");
    c->finding->reason(c->finding, luaL_checkstring(L, 2), luaL_checkstring(L, 3), luaL_optstring(L, 4, ""));
    return 0;
}

static int f_invalid(lua_State *L) {             /* may we believe it: apart from the verdict, and ahead of it when printed */
    assay_gate_call *c = call_of(L, "finding");
    c->finding->invalid(c->finding, luaL_checkstring(L, 2), luaL_checkstring(L, 3), luaL_optstring(L, 4, ""));
    if (!c->decided) give(c, ASSAY_INCONCLUSIVE);
    return 0;
}

static int f_detail(lua_State *L) {              /* finding:detail(key, table) */
    assay_gate_call *c = call_of(L, "finding");
    const char *key = luaL_checkstring(L, 2);
    char why[160];
    assay_json *j = assay_lua_to_json(L, 3, why, sizeof why);
    if (!j) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "detail %s: expected plain data, got %s", key, why);
    char *text = assay_json_print(j);
    assay_json_free(j);
    c->finding->detail(c->finding, key, text);
    free(text);
    return 0;
}

static const luaL_Reg evidence_methods[] = { { "tensor", e_tensor }, { "record", e_record }, { "program", e_program }, { "graph", e_graph }, { "count", e_count }, { "labels", e_labels }, { NULL, NULL } };
static const luaL_Reg request_methods[] = { { "output", r_output }, { "program", r_program }, { "plan", r_plan }, { "record", r_record }, { NULL, NULL } };
static const luaL_Reg finding_methods[] = { { "metric", f_metric }, { "pass", f_pass }, { "kill", f_kill }, { "inconclusive", f_inconclusive },
    { "not_measured", f_not_measured }, { "reason", f_reason }, { "invalid", f_invalid }, { "detail", f_detail }, { NULL, NULL } };

static void add_meta(lua_State *L, const char *what, const luaL_Reg *methods) {
    lua_pushfstring(L, "assay.%s", what);
    luaL_newmetatable(L, lua_tostring(L, -1));
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    assay_lua_protect(L, what);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

void assay_lua_open_gate(lua_State *L) {
    assay_lua_open_tensor(L);
    assay_lua_open_constant(L);
    add_meta(L, "evidence", evidence_methods);
    add_meta(L, "request", request_methods);
    add_meta(L, "finding", finding_methods);
}
