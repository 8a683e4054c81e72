/* script/lua_constant.h: constants of a program in the tables of script/lua_graph.h. */
#ifndef ASSAY_SCRIPT_LUA_CONSTANT_H
#define ASSAY_SCRIPT_LUA_CONSTANT_H
#include "program/program.h"
#include "script/lua_sandbox.h"

void assay_lua_open_constant(lua_State *L);
/* Sets static, bits, number, numbers, text, data or absent on the value table on top of the stack. */
void assay_lua_set_constant(lua_State *L, const assay_mil_const *c);
#endif
