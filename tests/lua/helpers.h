/* Helpers of Lua tests that reach into the program: running what a build function made, and judging a gate on tensors. */
#ifndef ASSAY_TEST_LUA_HELPERS_H
#define ASSAY_TEST_LUA_HELPERS_H
#include "script/lua_sandbox.h"

/* t.run(m, { x = tensor, ... } [, precision]): the outputs of the built program by name; precision as in `assay exec`. */
int t_run(lua_State *L);
/* t.judge(gate, params, { role = tensor or data, ["role:label"] = ... }): { verdict = printed verdict, codes = "a b", metrics = {...} }.
 * The gate is the shared object of that name in the build, else scripts/gates/NAME.lua. */
int t_judge(lua_State *L);
#endif
