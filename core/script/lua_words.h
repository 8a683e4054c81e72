/* script/lua_words.h: constructors of the words: they check their table against the schema and stamp it with file:line. */
#ifndef ASSAY_SCRIPT_LUA_WORDS_H
#define ASSAY_SCRIPT_LUA_WORDS_H
#include "script/lua_sandbox.h"
#include "script/schema.h"

/* Adds `experiment`, `arm`, ... to the globals; in a gate's file, `gate_type` alone. */
void assay_lua_open_words(lua_State *L, bool gate_file);
/* The word that the table at `idx` was made by, or NULL. */
const assay_word *assay_lua_word_at(lua_State *L, int idx);
/* Its stamp, as the chunk is called; lives as long as the table. */
const char *assay_lua_stamp_at(lua_State *L, int idx);
/* Makes the table at `idx` an instance of `w`, checked; `where` is its stamp. */
void assay_lua_make_word(lua_State *L, int idx, const assay_word *w, const char *where);
/* `arm "fused"`: how messages call the table at `idx`. */
const char *assay_lua_word_title(lua_State *L, int idx, char *out, size_t size);
/* Pushes a flat list of the words inside the experiment at `idx`, in script order. */
void assay_lua_flatten(lua_State *L, int idx);
#endif
