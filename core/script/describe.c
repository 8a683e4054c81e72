/* The description of an experiment: everything declared, as JSON, defaults filled in, no functions. */
#include "script/lua_script.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/optable.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *assay_script_where(assay_script *s, const char *stamp, char *out, size_t size) {
    size_t n = strlen(s->sb->script_path);
    bool own = strncmp(stamp, s->sb->script_path, n) == 0 && stamp[n] == ':';
    snprintf(out, size, "%s%s", own ? assay_path_base(s->sb->script_path) : "", own ? stamp + n : stamp);
    return out;
}

static assay_json *default_of(const assay_word_field *f) {
    assay_json *j = NULL;
    if (f->def) assay_json_parse(f->def, strlen(f->def), "default", &j, NULL);
    if (!j && f->kind == ASSAY_W_STRINGS) j = assay_json_array();
    return j;
}

static void set_where(assay_script *s, assay_json *out, const char *stamp) {
    char where[512];
    assay_json_set_string(out, "where", assay_script_where(s, stamp, where, sizeof where));
}

static void dump_field(lua_State *L, int item, const assay_word_field *f, assay_json *out, const char *stamp, const char *who);

static void dump_fields(lua_State *L, int item, const assay_word *w, assay_json *out, const char *stamp, const char *who) {
    for (const assay_word_field *f = w->fields; f->name; f++) {
        lua_pushstring(L, f->name);
        lua_rawget(L, item);
        dump_field(L, lua_gettop(L), f, out, stamp, who);
        lua_pop(L, 1);
    }
}

/* The value at `v`; `out` belongs to the description already, so that an error leaks nothing. */
static void dump_field(lua_State *L, int v, const assay_word_field *f, assay_json *out, const char *stamp, const char *who) {
    char why[200];
    if (f->kind == ASSAY_W_WORD) {
        assay_json *sub = assay_json_set(out, f->name, assay_json_object());
        if (!lua_istable(L, v)) {
            lua_newtable(L);
            v = lua_gettop(L);
        }
        dump_fields(L, v, f->sub, sub, stamp, who);
        lua_settop(L, v);
        return;
    }
    if (lua_isnil(L, v)) {
        assay_json *def = default_of(f);
        if (def) assay_json_set(out, f->name, def);
        return;
    }
    assay_json *j = assay_lua_to_json(L, v, why, sizeof why);
    if (!j) assay_lua_fail(L, ASSAY_E_INPUT, stamp, "%s.%s: expected plain data, got %s", who, f->name, why);
    if (f->kind == ASSAY_W_STRINGS && assay_json_kind(j) == ASSAY_J_STRING) {
        assay_json *list = assay_json_array();
        assay_json_append(list, j);
        j = list;
    }
    assay_json_set(out, f->name, j);
}

/* ---- words that are more than their fields */
static void existing_path(lua_State *L, assay_script *s, assay_json *out, const char *key, const char *stamp, const char *who) {
    const char *given = assay_json_string(out, key, NULL);
    if (!given) return;
    char *path = assay_sandbox_path(s->sb, given);
    assay_json_set_string(out, key, path);
    bool there = assay_exists(path);
    free(path);
    if (!there) assay_lua_fail(L, ASSAY_E_INPUT, stamp, "%s.%s: no such file or folder: %s", who, key, assay_json_string(out, key, ""));
}

static void finish_arm(lua_State *L, assay_script *s, assay_json *arm, const char *stamp, const char *who) {
    static const char *const sources[] = { "build", "package", "convert", "like" };
    for (size_t i = 0; i < 4; i++) {
        const assay_json *v = assay_json_get(arm, sources[i]);
        if (v && !(assay_json_kind(v) == ASSAY_J_ARRAY && assay_json_len(v) == 0)) assay_json_set_string(arm, "source", sources[i]);
    }
    assay_json_set_bool(arm, "rewrite", assay_json_get(arm, "rewrite") != NULL);
    assay_json_set_bool(arm, "mutate", assay_json_get(arm, "mutate") != NULL);
    assay_json_remove(arm, "build");
    existing_path(L, s, arm, "package", stamp, who);
}

/* The policy of an arm: its own, else that of the arm it is like, else the experiment's. */
static void inherit(assay_script *s, assay_json *arms, const char *key) {
    for (size_t i = 0; i < assay_json_len(arms); i++) {
        assay_json *arm = assay_json_at(arms, i), *from = arm;
        for (size_t steps = 0; from && !assay_json_get(from, key) && steps <= assay_json_len(arms); steps++) {
            const char *like = assay_json_string(from, "like", NULL);
            from = NULL;
            for (size_t k = 0; like && k < assay_json_len(arms); k++)
                if (assay_streq(assay_json_string(assay_json_at(arms, k), "name", NULL), like)) from = assay_json_at(arms, k);
        }
        const char *v = from ? assay_json_string(from, key, NULL) : NULL;
        if (!v) v = assay_json_string(s->description, key, NULL);
        assay_json_set_string(arm, key, v);
    }
}

static const char *control_arm(const assay_json *arms) {
    for (size_t i = 0; i < assay_json_len(arms); i++)
        if (assay_streq(assay_json_string(assay_json_at(arms, i), "role", ""), "control")) return assay_json_string(assay_json_at(arms, i), "name", NULL);
    return NULL;
}

static void one_control(lua_State *L, assay_script *s, const assay_json *arms) {
    const char *first = control_arm(arms);
    for (size_t i = 0; i < assay_json_len(arms); i++) {
        const assay_json *a = assay_json_at(arms, i);
        const char *name = assay_json_string(a, "name", "");
        if (!assay_streq(assay_json_string(a, "role", ""), "control") || assay_streq(name, first)) continue;
        assay_lua_fail(L, ASSAY_E_INPUT, s->sb->script_path, "arm \"%s\".role: an experiment has one control, and \"%s\" is it already", name, first);
    }
}

static void finish_reference(lua_State *L, assay_script *s, assay_json *ref, const char *stamp) {
    const char *kind = assay_json_get(ref, "program") ? "program" : assay_json_get(ref, "file") ? "file" : "arm";
    int given = (assay_json_get(ref, "program") != NULL) + (assay_json_get(ref, "file") != NULL) + (assay_json_get(ref, "arm") != NULL);
    if (given > 1) assay_lua_fail(L, ASSAY_E_INPUT, stamp, "reference: needs one of arm, program or file, got several");
    assay_json_set_string(ref, "kind", kind);
    assay_json_remove(ref, "program");
    if (strcmp(kind, "arm") == 0 && !assay_json_get(ref, "arm"))
        assay_json_set_string(ref, "arm", control_arm(assay_json_get(s->description, "arms")));
    if (!assay_json_get(ref, "values")) {
        assay_json *v = assay_json_set(ref, "values", assay_json_array());
        for (const char *name = "q\0k\0v\0"; *name; name += 2) assay_json_append(v, assay_json_new_string(name));
    }
    existing_path(L, s, ref, "file", stamp, "reference");
}

/* `inputs` becomes the list of names in the order of their bytes; what they are made from moves to `recipes`. */
static void finish_fixture(assay_json *fixture) {
    assay_json *recipes = assay_json_clone(assay_json_get(fixture, "inputs")), *names = assay_json_array();
    assay_json *left = assay_json_clone(recipes);
    while (assay_json_len(left)) {
        size_t best = 0;
        for (size_t i = 1; i < assay_json_len(left); i++)
            if (strcmp(assay_json_key_at(left, i), assay_json_key_at(left, best)) < 0) best = i;
        assay_json_append(names, assay_json_new_string(assay_json_key_at(left, best)));
        assay_json_remove(left, assay_json_key_at(left, best));
    }
    assay_json_free(left);
    assay_json_set(fixture, "recipes", recipes);
    assay_json_set(fixture, "inputs", names);
}

/* Parameters of a gate: whatever is not `use`, `arm`, `control`. */
static void gate_params(lua_State *L, int item, assay_json *gate, const char *stamp, const char *who) {
    assay_json *params = assay_json_set(gate, "params", assay_json_object());
    char why[200];
    for (lua_pushnil(L); lua_next(L, item); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || assay_word_field_find(assay_word_find("gate"), lua_tostring(L, -2))) continue;
        assay_json *j = assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
        if (!j) assay_lua_fail(L, ASSAY_E_INPUT, stamp, "%s.%s: expected plain data, got %s", who, lua_tostring(L, -2), why);
        assay_json_set(params, lua_tostring(L, -2), j);
    }
}

static const struct { const char *word, *key; } plurals[] = { { "claim", "claims" }, { "prior", "priors" }, { "fixture", "fixtures" }, { "arm", "arms" },
    { "gate", "gates" }, { "kill", "kills" }, { "compare", "compares" },
    { "record", "records" } };

static const char *plural_of(const char *word) {
    for (size_t i = 0; i < sizeof plurals / sizeof *plurals; i++)
        if (strcmp(plurals[i].word, word) == 0) return plurals[i].key;
    return NULL;
}

static assay_json *listed_arms(lua_State *L, int item) {
    assay_json *arms = assay_json_array();
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, item); i++) {
        lua_rawgeti(L, item, i);
        assay_json_append(arms, assay_json_new_string(lua_tostring(L, -1)));
        lua_pop(L, 1);
    }
    return arms;
}

/* Keeps what is called or asked again after the description: arms and fixtures by position, the weights, the reference. */
static void keep_item(lua_State *L, assay_script *s, const char *word, int item) {
    bool arm = strcmp(word, "arm") == 0;
    if (arm || strcmp(word, "fixture") == 0) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, arm ? s->arms : s->fixtures);
        lua_pushvalue(L, item);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        lua_pop(L, 1);
    }
    if (strcmp(word, "weights") == 0) {
        lua_pushvalue(L, item);
        s->weights = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    if (strcmp(word, "reference") == 0) {
        lua_pushvalue(L, item);
        lua_setfield(L, LUA_REGISTRYINDEX, "assay.reference");
    }
}

static void describe_item(lua_State *L, assay_script *s, int item) {
    const assay_word *w = assay_lua_word_at(L, item);
    const char *stamp = assay_lua_stamp_at(L, item), *plural = plural_of(w->name);
    char who[160];
    assay_lua_word_title(L, item, who, sizeof who);
    assay_json *out = assay_json_object();
    if (plural) assay_json_append(assay_json_get(s->description, plural), out);
    else assay_json_set(s->description, w->name, out);
    dump_fields(L, item, w, out, stamp, who);
    set_where(s, out, stamp);
    if (strcmp(w->name, "arm") == 0) finish_arm(L, s, out, stamp, who);
    if (strcmp(w->name, "fixture") == 0) finish_fixture(out);
    if (strcmp(w->name, "gate") == 0) gate_params(L, item, out, stamp, who);
    if (strcmp(w->name, "weights") == 0) existing_path(L, s, out, "file", stamp, who);
    if (strcmp(w->name, "compare") == 0) assay_json_set(out, "arms", listed_arms(L, item));
    keep_item(L, s, w->name, item);
}

/* The experiment's own fields, and a place for each thing it lists. */
static void describe_experiment(lua_State *L, assay_script *s, const char *stamp) {
    char who[160];
    assay_lua_word_title(L, 1, who, sizeof who);
    dump_fields(L, 1, assay_lua_word_at(L, 1), s->description, stamp, who);
    set_where(s, s->description, stamp);
    if (!assay_json_get(s->description, "shapes")) assay_json_set(s->description, "shapes", assay_json_object());
    if (!assay_json_get(s->description, "seeds")) assay_json_set(s->description, "seeds", assay_json_object());
    assay_json_set(s->description, "options", assay_json_clone(s->options));
    assay_json_set(s->description, "weights", assay_json_new_null());
    assay_json_set(s->description, "reference", assay_json_object());
    for (size_t i = 0; i < sizeof plurals / sizeof *plurals; i++) assay_json_set(s->description, plurals[i].key, assay_json_array());
}

static void describe_reference(lua_State *L, assay_script *s, const char *stamp) {
    assay_json *ref = assay_json_get(s->description, "reference");
    if (assay_json_len(ref) == 0) {              /* no `reference`: its defaults */
        lua_newtable(L);
        dump_fields(L, lua_gettop(L), assay_word_find("reference"), ref, stamp, "reference");
        set_where(s, ref, stamp);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "assay.reference");
    finish_reference(L, s, ref, lua_istable(L, -1) ? assay_lua_stamp_at(L, -1) : stamp);
}

int assay_script_describe(lua_State *L) {
    assay_script *s = assay_script_of(L);
    const char *stamp = assay_lua_stamp_at(L, 1);
    describe_experiment(L, s, stamp);
    lua_newtable(L);
    s->arms = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    s->fixtures = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 1);
    s->experiment = luaL_ref(L, LUA_REGISTRYINDEX);

    assay_lua_flatten(L, 1);
    int list = lua_gettop(L);
    assay_script_crosscheck(L, list);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, list); i <= n; i++) {
        lua_rawgeti(L, list, i);
        describe_item(L, s, list + 1);
        lua_settop(L, list);
    }
    assay_json *arms = assay_json_get(s->description, "arms");
    one_control(L, s, arms);
    inherit(s, arms, "compute_units");
    inherit(s, arms, "precision");
    describe_reference(L, s, stamp);
    lua_settop(L, 0);
    return 0;
}
