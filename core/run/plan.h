/* run/plan.h: the frozen plan of one experiment and the run directory it stands in.
 *
 * plan.json ("assay-plan/1") holds everything that trials and judging need, so that no Lua of the experiment runs later:
 *   name, target, opset, precision, compute_units, shapes, seeds, stop, options, claims, priors, weights {provenance}, kills,
 *   compares, mutation_score, equivalent_mutants (as declared)
 *   reference {kind, arm, precision, cut:[value names], framework, path, structural, tree, outputs:[names] | tensors:{FIXTURE:{file, sha256}}}
 *   arms      [{name, role, source, like, compute_units, precision, change, path, structural, tree, outputs, origin, where}]
 *   fixtures  [{name, provenance, use, digest, inputs:[{name, file, sha256, shape, dtype}],
 *               perturbed:[{perturb, digest, inputs:[...]}]}]
 *   gates     [{use, version, kind, params (effective, @-words resolved), given:[names], also:[fixtures], after_kill, script, where}]
 *   records   [{name, arm, file, sha256 | why: the file was not there}] (absent when the script has no word `record`)
 *   sources   [{row, question, gate, chosen, source, says, not_chosen: [{name, source, says}]}]
 *   scripts   [{name, sha256}]
 * Paths are relative to the run directory. `perturb` is canonical JSON text. A changed plan is a new plan. */
#ifndef ASSAY_RUN_PLAN_H
#define ASSAY_RUN_PLAN_H
#include "plugin/registry.h"
#include "script/script.h"

#define ASSAY_PLAN_SCHEMA "assay-plan/1"
#define ASSAY_PLAN_RECORD "plan"                 /* a record of this name is an arm's compute plan, made elsewhere */

typedef struct assay_plan {
    char *dir;                                   /* the run directory */
    assay_json *json;                            /* plan.json */
    char sha256[65];                             /* of plan.json as it stands on disk */
} assay_plan;

/* ASSAY_E_INPUT when `dir` holds no plan, one of another schema, or one that is not the plan its seal.json names. */
assay_status assay_plan_load(const char *dir, assay_plan *out, assay_error *err);
void assay_plan_free(assay_plan *p);
/* Borrowed rows by name; NULL when there is none. The arm "@reference" is the reference's row when it has a program. */
const assay_json *assay_plan_arm(const assay_plan *p, const char *name);
const assay_json *assay_plan_fixture(const assay_plan *p, const char *name);
/* The inputs and digest of a fixture in the state `perturb` (canonical JSON; NULL or "{}": as it is); NULL when not in the plan. */
const assay_json *assay_plan_state(const assay_json *fixture, const char *perturb);
/* What the word `record` brought under this name, of this arm (NULL or "": of none); NULL when the plan has no such row. */
const assay_json *assay_plan_record(const assay_plan *p, const char *name, const char *arm);
/* Name of the only arm with a role (the first of several); NULL when there is none. */
const char *assay_plan_arm_of_role(const assay_json *plan, const char *role);
/* The experiment says that its claims are about the reference backend itself (target.framework = "reference"): only then are that
 * backend's device tables and timings the target's own evidence. */
bool assay_plan_target_is_reference(const assay_json *plan);
char *assay_plan_path(const assay_plan *p, const char *relative);             /* caller frees */
bool assay_plan_is_sealed(const assay_plan *p);

typedef struct assay_plan_options {
    const char *script;                          /* X.lua */
    const char *out;                             /* run directory, must not exist; NULL: runs/<experiment>-<next free k> */
    const char *const *set; size_t n_set;        /* NAME=value of --set */
    const char *scripts_dir;                     /* NULL: found beside the program */
    assay_registry *registry;
    bool mutants;                                /* plan the experiment's mutants instead of its own arms */
    bool diagnose;                               /* with mutants: and the gate that names the one nearest to the candidate */
    void (*chosen)(void *ctx, const char *dir);  /* told the directory before anything is materialised; may be NULL */
    void (*note)(void *ctx, const char *what);   /* progress ("arm fused"); may be NULL */
    void *ctx;
} assay_plan_options;
/* Runs the script and materialises the run directory in <dir>.tmp, renamed to <dir> at the end. *dir: caller frees. */
assay_status assay_plan_make(const assay_plan_options *o, char **dir, assay_error *err);
/* Freezes the numbers: writes seal.json. Refused when evidence exists already, or when a preregistered parameter of a gate
 * (statistics.md 3.2 and 3.6: max_abs_factor_vs_control, layers, min_prize_ms) was left to its default. */
assay_status assay_plan_seal(const char *dir, const assay_registry *r, assay_error *err);
#endif
