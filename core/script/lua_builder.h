/* script/lua_builder.h: `ctx.mil`: building and changing programs from Lua. Ops are methods that take one table:
 *   local s = m:matmul { q, k, transpose_y = true, name = "scores" }
 * Positional values bind to the op's parameters in the order of the op table; numbers, booleans, strings, lists and tensors
 * become constants of the type that the parameter takes. */
#ifndef ASSAY_SCRIPT_LUA_BUILDER_H
#define ASSAY_SCRIPT_LUA_BUILDER_H
#include "script/lua_sandbox.h"
#include "program/program.h"

typedef struct assay_mil {
    assay_program *program;                      /* owned until taken; NULL afterwards: old handles then raise */
    assay_mil_function *function;
    assay_mil_op *before;                        /* where new ops go; NULL: at the end */
    int32_t precision;                           /* MIL fp16 or fp32: type of inputs and of numbers without a better hint */
} assay_mil;

typedef struct assay_mil_handle { assay_mil *mil; assay_mil_value *value; assay_mil_op *op; } assay_mil_handle;   /* a value or an op */

void assay_lua_open_builder(lua_State *L);
/* Pushes a builder that owns `p`; its main function is edited. */
assay_mil *assay_lua_push_mil(lua_State *L, assay_program *p, int32_t precision);
assay_mil *assay_lua_check_mil(lua_State *L, int idx);
/* The value handle at `idx`, or NULL; raises when its program is gone. */
assay_mil_value *assay_lua_value_at(lua_State *L, int idx);
void assay_lua_push_value(lua_State *L, int mil_idx, assay_mil_value *v);
void assay_lua_push_op(lua_State *L, int mil_idx, assay_mil_op *op);
/* A constant from the Lua value at `idx` for a parameter that takes `dtypes` (optable.h); `like` is the type of the other
 * operands (0: none). Raises with `who` in the message. */
const assay_mil_const *assay_lua_make_const(lua_State *L, assay_mil *m, int idx, const char *dtypes, int32_t like, const char *who);
/* Methods for changing programs, added to the builder's table (lua_rewrite.c). */
void assay_lua_add_rewrites(lua_State *L);
#endif
