/* script/lua_tensor.h: tensors as Lua userdata. Heavy arithmetic stays in C methods; axes and indices count from 0, as in MIL. */
#ifndef ASSAY_SCRIPT_LUA_TENSOR_H
#define ASSAY_SCRIPT_LUA_TENSOR_H
#include "script/lua_sandbox.h"
#include "tensor/tensor.h"

void assay_lua_open_tensor(lua_State *L);
/* The tensor at `idx`, or NULL. */
assay_own_tensor *assay_lua_tensor_at(lua_State *L, int idx);
/* "tensor fp16[2,3]" into out; NULL when there is no tensor at `idx`. */
const char *assay_lua_tensor_text(lua_State *L, int idx, char *out, size_t size);
/* Pushes an empty tensor object and returns its slot: fill it, then call assay_lua_charge_tensor. */
assay_own_tensor *assay_lua_push_tensor(lua_State *L);
/* Raises ASSAY_E_LIMIT when `bytes` more would pass the ceiling of tensors, even after a collection. */
void assay_lua_reserve_tensor(lua_State *L, uint64_t bytes);
/* Counts the tensor on top of the stack against the ceiling and tells the collector; raises like reserve. */
void assay_lua_charge_tensor(lua_State *L);
/* Pushes a tensor whose memory belongs to someone else and outlives the sandbox (evidence of a gate). */
void assay_lua_push_borrowed(lua_State *L, const assay_tensor *t);
/* Reads a list of sizes at `idx` ({2, 750, 1280}); raises with `who` in the message. Returns the rank. */
uint32_t assay_lua_check_shape(lua_State *L, int idx, const char *who, int64_t shape[ASSAY_RANK_MAX]);
/* Reads a dtype name at `idx`; `def` when absent. Raises. */
int32_t assay_lua_check_dtype(lua_State *L, int idx, int32_t def);
/* Methods (lua_elementwise.c). t:plus(x): x a number or a tensor whose axes of size 1 are repeated. t:lowest(axis), t:highest(axis)
 * keep the axis with size 1. t:beyond(low, high): the largest distance by which an element lies outside. t:row_norm(): the largest
 * Euclidean norm along the last axis. candidate:agreement(reference): { psnr_db, snr_db, cosine, gain, identical }, in float64, the
 * peak from the reference. NaN stays NaN; undefined figures are NaN. */
int assay_lua_tensor_plus(lua_State *L);
int assay_lua_tensor_lowest(lua_State *L);
int assay_lua_tensor_highest(lua_State *L);
int assay_lua_tensor_beyond(lua_State *L);
int assay_lua_tensor_row_norm(lua_State *L);
int assay_lua_tensor_standardised(lua_State *L);   /* t:standardised(eps): zero mean and unit variance along the last axis */
int assay_lua_tensor_agreement(lua_State *L);
/* t:rope { theta =, part =, pairing =, angles =, first = }: the table that a tensor of this shape and dtype should be (lua_rope.c). */
int assay_lua_tensor_rope(lua_State *L);
#endif
