/* In the worker: what a simulated device said about itself, sorted into the trial. */
#include "run/work.h"
#include "base/names.h"
#include <string.h>

/* A rule of kind K ("placement", "numerics", "fault", "cost") bears on a trial only if its figures come from it. */
static bool bears_on(const char *trial_kind, const char *rule) {
    bool placement = assay_starts_with(rule, "placement.");
    if (assay_streq(trial_kind, "record")) return placement || assay_starts_with(rule, "fault.");
    if (assay_streq(trial_kind, "plan")) return placement;
    return assay_starts_with(rule, "cost.") == assay_streq(trial_kind, "timing") || placement;
}

void assay_work_take_facts(const assay_work *w, assay_json *facts, assay_json *trial) {
    if (w->backend->origin != ASSAY_ORIGIN_SIMULATED) return;
    assay_json *identity = assay_json_get(trial, "identity"), *rules = assay_json_get(trial, "rules");
    if (!rules) rules = assay_json_set(trial, "rules", assay_json_object());
    for (assay_json *c = assay_json_first(facts), *next; c; c = next) {
        const char *key = assay_json_key(c), *rule = assay_starts_with(key, "rule.") ? key + strlen("rule.") : NULL;
        bool profile = assay_starts_with(key, "profile.");
        next = assay_json_next(c);
        if (profile) assay_json_set(identity, key, assay_json_clone(c));
        if (rule && bears_on(assay_json_string(w->job, "kind", ""), rule)) assay_json_set(rules, rule, assay_json_clone(c));
        if (profile || rule) assay_json_remove(facts, key);
    }
}
