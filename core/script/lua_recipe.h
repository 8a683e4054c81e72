/* script/lua_recipe.h: recipes: tensors that are described in a script and made when planning needs them. */
#ifndef ASSAY_SCRIPT_LUA_RECIPE_H
#define ASSAY_SCRIPT_LUA_RECIPE_H
#include "script/lua_sandbox.h"
#include "tensor/tensor.h"

typedef struct assay_recipe assay_recipe;
/* Adds the global table `assay`: fixture, weight, attention, normal, full, band, npy, tensor, version. */
void assay_lua_open_recipes(lua_State *L);
assay_recipe *assay_recipe_at(lua_State *L, int idx);
/* "normal d750" into out; NULL when there is no recipe at `idx`. */
const char *assay_recipe_text(lua_State *L, int idx, char *out, size_t size);
/* Pushes the tensor that `idx` stands for: a file path (.npy), a recipe, a tensor, or a function that returns one of these.
 * Raises with `who` in the message. Call in protected mode. */
void assay_lua_materialise(lua_State *L, int idx, const char *who);
#endif
