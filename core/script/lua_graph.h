/* script/lua_graph.h: a program as plain Lua tables, built once, so that rules walk data flow without crossing back into C.
 *
 *   graph     { spec_version, metadata = { key = text }, functions = { fn... } }          functions in the order of the file
 *   fn        { name, opset, inputs = { value... }, outputs = { value... }, ops = { op... }, sites = { site... } }
 *   op        { type, name, index, args = { key = value }, lists = { key = { value... } }, operands = { value... }, out, outs,
 *               layout, constexpr, known, nested, fn }
 *   value     { name, kind, dtype, rank, shape, count, op, users = { op... }, input, output, flexible, static, bits,
 *               number, numbers, text, data, absent }
 *   site      { fused, scale_q, scale_k, scale_after, unrolled_heads, query_slices, fused_qkv, ...
 *               (the words of program/sites.h), op, query, key, value, out, mask, scale }
 *
 * `ops` are those from which an output can be reached, in program order, without `const` ops: their values stand for them
 * (static = true, no `op`). A value made by a constexpr op is static and has its op. `lists` holds parameters bound to more than one
 * value, `args` the first of each. kind: tensor, state, list ...; sizes that are not known are -1 and make `count` nil.
 * Of a constant: `number` (one element), `numbers` (up to 16), `text`, `data` (more than one element, bytes there):
 *   data:at(i) from 0, data:stats() -> { min, max, nan, neg_inf, pos_inf } (min, max of the finite ones), data:digest([first, n])
 *   of the unpacked bytes of n elements; `absent` says why the bytes are not there. `bits` counts the stored size of all elements.
 * The tables are ordinary ones; they and the handles of data live no longer than the program. */
#ifndef ASSAY_SCRIPT_LUA_GRAPH_H
#define ASSAY_SCRIPT_LUA_GRAPH_H
#include "program/program.h"
#include "script/lua_sandbox.h"

/* Pushes the graph of an indexed program (assay_program_index); assay_lua_open_constant comes first. Raises when memory runs out. */
void assay_lua_push_graph(lua_State *L, const assay_program *p);
#endif
