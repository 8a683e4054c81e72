/* script/script.h: runs an experiment script in the sandbox and hands over its description; then materialises programs and
 * fixtures on request (that is the only time Lua functions of the experiment run). One lua_State per script; single thread.
 * No Lua type leaves this header. */
#ifndef ASSAY_SCRIPT_SCRIPT_H
#define ASSAY_SCRIPT_SCRIPT_H
#include "base/json.h"
#include "program/program.h"
#include "plugin/registry.h"

typedef struct assay_script assay_script;
typedef struct assay_script_options {
    const char *scripts_dir;                     /* installed libraries (root 2 of require); NULL: found beside the program */
    const char *prelude_dir;                     /* NULL: embedded */
    const char *const *set; size_t n_set;        /* "name=value" of --set */
    assay_registry *registry;                    /* gates known so far; Lua gates named by `use` are added to it */
    uint64_t memory_bytes, tensor_bytes, instructions; double seconds, call_seconds;  /* 0: defaults (256 MiB, 4 GiB, 2e9, 120 s, 5 s) */
    bool mutants;                                /* hand over the experiment with the mutants of assay.mutants as arms */
    bool diagnose;                               /* with mutants: and with the gate that names the one nearest to the candidate */
    const char *tripped_cleanup;                 /* folder the watchdog's exit leaves behind (named in its line); may be NULL */
} assay_script_options;

assay_status assay_script_open(const char *path, const assay_script_options *o, assay_script **out, assay_error *err);
void assay_script_close(assay_script *s);
/* The description, JSON, borrowed. Everything declared, defaults filled in, functions replaced by {"function": true}:
 * { name, where, target{framework, unit, hosts}, opset, precision, compute_units, shapes, seeds, stop, options{name: value},
 *   claims:[{id, text, needs, where}], priors:[...], weights:{...}|null,
 *   reference:{kind: "arm"|"program"|"file", arm, precision, cut, file, framework, where},
 *   fixtures:[{name, provenance, use:[...], inputs:[names], where}],
 *   arms:[{name, role, source: "build"|"package"|"convert"|"like", package, convert:[...], sources:[...], like, rewrite: bool,
 *          mutate: bool, compute_units, precision, change:[...], where}],
 *   gates:[{use, arm, control, params:{...}, where}], kills:[...], compares:[...], sweep, follows }
 * Arms stand in the order of the script; `like` names an arm of the list. */
const assay_json *assay_script_description(const assay_script *s);
/* Files read: [{name: "whisper_d750.lua" or "assay/attention.lua", path, sha256}], the script first. */
const assay_json *assay_script_files(const assay_script *s);
/* Program of arm i: build(ctx), a package read, or the program of `like` rewritten or mutated. The caller frees it. */
assay_status assay_script_make_arm(assay_script *s, size_t i, assay_program **out, assay_error *err);
/* Program of the reference when its kind is "program". */
assay_status assay_script_make_reference(assay_script *s, assay_program **out, assay_error *err);
/* Input tensors of fixture i, in the order of its `inputs`; `perturb` is canonical JSON ({"token": {...}}), "{}" or NULL for
 * none. The caller frees each. `n` = number of inputs. */
assay_status assay_script_make_fixture(assay_script *s, size_t i, const char *perturb, assay_own_tensor **out, size_t *n, assay_error *err);
/* Loads a Lua gate (scripts/gates/NAME.lua or a path) into the registry. */
assay_status assay_script_load_gate(assay_registry *r, const char *path, const char *scripts_dir, assay_error *err);
/* The modules that a Lua gate requires when it is read: name as in `files` ("rules/pack.lua") and path. They live as long as the
 * registry; NULL and 0 for any other gate. */
typedef struct assay_gate_module { const char *name, *path; } assay_gate_module;
const assay_gate_module *assay_script_gate_modules(const assay_gate_type *t, size_t *n);
/* Runs an installed module ("rules.pack") and hands over the table it returns as plain data; functions become {"function": true}. */
assay_status assay_script_read_module(const char *name, const char *scripts_dir, assay_json **out, assay_error *err);
/* A Lua file that returns a table of data (no functions, tensors or recipes in it), as JSON; an empty table is []. The caller frees. */
assay_status assay_script_read_data(const char *path, assay_json **out, assay_error *err);
/* Folder of the installed libraries (root 2 of require): `given`, or found beside the program; NULL when there is none. The caller frees. */
char *assay_scripts_dir(const char *given);
/* The schema of the words, as JSON, for --help, the editor types and the reference pages. */
assay_json *assay_script_schema(void);
#endif
