/* Lua files that are data alone: run in the sandbox, answered as JSON. */
#include "script/lua_values.h"
#include "script/script.h"
#include "base/fs.h"

/* Where in `j` something stands that is no data ("claims.os"), and what; false when all is data. */
static bool find_function(const assay_json *j, const char *at, assay_buf *where, const char **what) {
    static const char *const kinds[] = {"function", "recipe", "tensor"};
    for (size_t k = 0; assay_json_kind(j) == ASSAY_J_OBJECT && k < sizeof kinds / sizeof *kinds; k++)
        if (assay_json_len(j) == 1 && assay_json_get(j, kinds[k])) {
            assay_buf_str(where, at);
            *what = kinds[k];
            return true;
        }
    size_t i = 0;
    for (const assay_json *c = assay_json_first(j); c; c = assay_json_next(c), i++) {
        assay_buf path = {0};
        const char *key = assay_json_key(c);
        if (key) assay_buf_printf(&path, "%s%s%s", at, *at ? "." : "", key);
        else assay_buf_printf(&path, "%s[%zu]", at, i + 1);
        bool found = find_function(c, path.data, where, what);
        assay_buf_free(&path);
        if (found) return true;
    }
    return false;
}

static assay_status take_data(lua_State *L, const char *path, assay_json **out, assay_error *err) {
    char why[160] = "";
    if (!lua_istable(L, -1)) return assay_fail(err, ASSAY_E_INPUT, "%s: the file must end with `return { ... }`, it returned a %s", path, luaL_typename(L, -1));
    assay_json *j = assay_lua_to_json(L, -1, why, sizeof why);
    if (!j) return assay_fail(err, ASSAY_E_INPUT, "%s: the file is data only, but holds %s", path, why);
    assay_buf where = {0};
    const char *what = "";
    if (find_function(j, "", &where, &what)) {
        assay_fail(err, ASSAY_E_INPUT, "%s: %s: the file is data only, a %s cannot stand in it", path, where.len ? where.data : "the table", what);
        assay_buf_free(&where);
        assay_json_free(j);
        return ASSAY_E_INPUT;
    }
    *out = j;
    return ASSAY_OK;
}

assay_status assay_script_read_data(const char *path, assay_json **out, assay_error *err) {
    static const assay_limits small = {.memory_bytes = (uint64_t)16 << 20, .tensor_bytes = 1, .instructions = 10000000, .seconds = 5};
    *out = NULL;
    if (!assay_is_file(path)) return assay_fail(err, ASSAY_E_INPUT, "%s: there is no such file", path);
    assay_sandbox *s = assay_sandbox_open(path, NULL, &small, NULL);
    if (!s) return assay_fail(err, ASSAY_E_NOMEM, "%s: no memory for a Lua state", path);
    assay_status st = assay_lua_load(s, path, path, NULL, err);
    if (st == ASSAY_OK) st = assay_lua_call(s, 0, 1, err);
    if (st == ASSAY_OK) st = take_data(s->L, path, out, err);
    assay_sandbox_close(s);
    return st;
}
