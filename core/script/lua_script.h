/* script/lua_script.h: the inside of an assay_script, shared by the files of core/script. */
#ifndef ASSAY_SCRIPT_LUA_SCRIPT_H
#define ASSAY_SCRIPT_LUA_SCRIPT_H
#include "script/lua_sandbox.h"
#include "script/lua_values.h"
#include "script/lua_words.h"
#include "script/script.h"

typedef struct assay_setting { char *name, *value; bool used; } assay_setting;
struct assay_script {
    assay_sandbox *sb;
    assay_registry *registry; bool mutants, diagnose;
    assay_json *description, *options;           /* options: name -> value used */
    assay_setting *set; size_t n_set;
    char *declared;                              /* text of the declared options, for messages; NULL: none declared */
    const char *option_names[64]; size_t n_options;      /* borrowed from Lua strings kept in the registry */
    int experiment, arms, fixtures, weights;     /* registry references: table of the experiment, flat lists, weights or LUA_NOREF */
};

assay_script *assay_script_of(lua_State *L);
/* options.c: the word `options`, and the scalars that --set changes without a declaration. */
void assay_lua_open_options(lua_State *L);
void assay_script_before_experiment(lua_State *L, int idx);
/* crosscheck.c: names that refer to each other, and parameters of gates. `list` = flat list of words. Raises. */
void assay_script_crosscheck(lua_State *L, int list);
/* describe.c (protected call): the experiment table is argument 1; fills in description and the references. */
int assay_script_describe(lua_State *L);
/* materialise.c: pushes a builder with the program of an arm that has been described; raises. */
void assay_script_push_program(lua_State *L, assay_script *s, const char *arm);
/* Turns a stamp into the form that plans hold ("whisper_d750.lua:13"). */
const char *assay_script_where(assay_script *s, const char *stamp, char *out, size_t size);
/* weights.c: pushes the table of weights as tensors of a MIL float type (fp16 or fp32); raises. */
void assay_script_push_weights(lua_State *L, int32_t dtype);
#endif
