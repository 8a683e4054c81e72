/* run/plan_build.h: the steps of planning; private to run/plan_*.c. */
#ifndef ASSAY_RUN_PLAN_BUILD_H
#define ASSAY_RUN_PLAN_BUILD_H
#include "run/plan.h"

typedef struct assay_plan_build {
    const assay_plan_options *o;
    assay_script *script;
    const assay_json *desc;                      /* the script's description, borrowed */
    char *dir, *tmp;                             /* final folder and the one planning works in */
    assay_json *plan;                            /* plan.json so far */
    assay_program **programs;                    /* one per arm, in plan order; owned */
    size_t n_arms;
} assay_plan_build;

/* arms/<arm>/ and reference/: programs written or copied, large files stored once in objects/. */
assay_status assay_plan_build_arms(assay_plan_build *b, assay_error *err);
assay_status assay_plan_build_reference(assay_plan_build *b, assay_error *err);
/* fixtures/<name>/: inputs written, checked (finite, fit for the control), hashed. */
assay_status assay_plan_build_fixtures(assay_plan_build *b, assay_error *err);
/* Adds the state `perturb` to a fixture unless it is there. */
assay_status assay_plan_build_perturbed(assay_plan_build *b, const char *fixture, const char *perturb, assay_error *err);
/* Gate parameters with the @-words resolved, and the perturbed fixtures that the gates ask for. */
assay_status assay_plan_build_gates(assay_plan_build *b, assay_error *err);
/* records/: files of the word `record`, copied and hashed. A file that is not there (yet) leaves a row that says so. */
assay_status assay_plan_build_records(assay_plan_build *b, assay_error *err);
/* After the gates: a record that no gate asks for is a mistake, said with the names that are asked for. */
assay_status assay_plan_check_records(const assay_plan_build *b, assay_error *err);
/* sources.c, after the gates: `sources`, the alternative that each gate follows where published sources contradict each other. */
assay_status assay_plan_build_sources(assay_plan_build *b, assay_error *err);
/* scripts/: every Lua file used, as used. */
assay_status assay_plan_build_scripts(assay_plan_build *b, assay_error *err);
/* follows.c: the earlier receipt and the verdicts it must hold; adds its digest, verdict and standing to the plan. */
assay_status assay_plan_build_follows(assay_plan_build *b, assay_error *err);
/* Moves a large file to objects/<sha256> and leaves a hard link; a file system without links keeps the file. */
assay_status assay_plan_store_object(const char *run_dir, const char *path, char sha256[65], assay_error *err);
#endif
