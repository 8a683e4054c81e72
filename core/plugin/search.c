/* Where plugins are looked for: --gate-path, $ASSAY_GATE_PATH, beside the program, the install folder; the first of a name wins.
 */
#include "plugin/registry_private.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool seen_before(const assay_registry *r, const char *path) {
    for (size_t i = 0; i < r->paths.len; i++)
        if (assay_streq(r->paths.items[i], path)) return true;
    return false;
}

static void load_folder(assay_registry *r, const char *dir) {
    char **names = NULL;
    size_t n = 0;
    assay_error err = {0};
    if (assay_list_dir(dir, &names, &n, &err)) {
        assay_registry_refuse(r, dir, err.message);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!assay_ends_with(names[i], ".so")) continue;
        char *path = assay_path_join(dir, names[i]);
        assay_registry_load_file(r, path, NULL); /* a refusal is kept and told when it is asked for */
        free(path);
    }
    assay_list_free(names, n);
}

/* `wanted`: somebody named this path, so its absence is worth a word. */
static void search(assay_registry *r, const char *path, bool wanted) {
    if (!*path) return;
    char *real = realpath(path, NULL);
    const char *kept = assay_arena_strdup(r->arena, real ? real : path);
    free(real);
    if (seen_before(r, kept)) return;
    union {
        const char *in;
        void *out;
    } p = {.in = kept};
    assay_ptrs_push(&r->paths, p.out);
    if (assay_is_dir(kept))
        load_folder(r, kept);
    else if (assay_is_file(kept))
        assay_registry_load_file(r, kept, NULL);
    else if (wanted)
        assay_registry_refuse(r, kept, "no such file or folder");
}

static void search_list(assay_registry *r, const char *list) {
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *one = assay_xstrndup(list, n);
        search(r, one, true);
        free(one);
        list += n + (list[n] == ':');
    }
}

static void search_below(assay_registry *r, const char *dir, const char *rel) {
    char *path = assay_path_join(dir, rel);
    search(r, path, false);
    free(path);
}

/* Beside the program; in the bin folder next to it (the test programs of a build tree); in an install that was moved as a whole. */
static void search_beside(assay_registry *r) {
    char *self = assay_self_path();
    if (!self) return;
    char *dir = assay_path_dir(self), *up = assay_path_dir(dir);
    search_below(r, dir, "gates");
    search_below(r, dir, "backends");
    search_below(r, up, "bin/gates");
    search_below(r, up, "bin/backends");
    search_below(r, up, "lib/assay/gates");
    search_below(r, up, "lib/assay/backends");
    free(up);
    free(dir);
    free(self);
}

void assay_registry_load_all(assay_registry *r, const char *gate_path) {
    search_list(r, gate_path);
    search_list(r, getenv("ASSAY_GATE_PATH"));
    search_beside(r);
    search(r, ASSAY_INSTALL_LIBDIR "/assay/gates", false);
    search(r, ASSAY_INSTALL_LIBDIR "/assay/backends", false);
}
