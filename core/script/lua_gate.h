/* script/lua_gate.h: what the functions of a Lua gate are handed: parameters, evidence, requests, findings. */
#ifndef ASSAY_SCRIPT_LUA_GATE_H
#define ASSAY_SCRIPT_LUA_GATE_H
#include "script/lua_sandbox.h"
#include "plugin/params.h"
#include "plugin/registry.h"

/* One call of needs or judge. Pointers are valid during the call, in a state of its own. */
typedef struct assay_gate_call {
    const assay_gate_type *type;
    const assay_params *params;
    const assay_evidence *evidence;
    const assay_request *request;                /* needs only */
    const assay_finding *finding;                /* judge only */
    bool decided;                                /* a verdict was given */
    bool absent; char why[256];                  /* evidence was asked for that is not there */
} assay_gate_call;

/* Adds the metatables of evidence, requests and findings. */
void assay_lua_open_gate(lua_State *L);
void assay_lua_push_gate_params(lua_State *L, const assay_gate_call *c);
/* Pushes `what`: "evidence", "request" or "finding". */
void assay_lua_push_gate_object(lua_State *L, assay_gate_call *c, const char *what);
/* Reads `params` of the gate_type table at `idx` into a table in `arena`, the standard ones (arm, control, fixture) first. Raises. */
const assay_param *assay_lua_read_params(lua_State *L, int idx, assay_arena *arena);
#endif
