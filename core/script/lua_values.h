/* script/lua_values.h: Lua values as JSON and back, and words for people about them. */
#ifndef ASSAY_SCRIPT_LUA_VALUES_H
#define ASSAY_SCRIPT_LUA_VALUES_H
#include "script/lua_sandbox.h"

/* Plain data at `idx` as JSON; NULL with a reason in `why` when it cannot be (a cycle, mixed keys). Functions become
 * {"function": true}, recipes {"recipe": text}, tensors {"tensor": text}. An empty table is []. Raises nothing. */
assay_json *assay_lua_to_json(lua_State *L, int idx, char *why, size_t size);
/* Pushes the Lua value of `j` (NULL and JSON null: nil). Numbers that are integers become integers. */
void assay_lua_push_json(lua_State *L, const assay_json *j);
/* `string "0.9999"`, `number 3`, `table` ...: what a message says it got. */
const char *assay_lua_describe(lua_State *L, int idx, char *out, size_t size);
/* The same for JSON. */
const char *assay_json_describe(const assay_json *j, char *out, size_t size);
#endif
