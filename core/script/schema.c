/* The words of an experiment script. Field lists are a contract: add, never rename. */
#include "script/schema.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

#define REQ ASSAY_W_REQUIRED
#define UNITS "cpu_only|cpu_and_gpu|cpu_and_ne|all"
#define PROVENANCE "synthetic|standin|trained|recorded"
#define USES "finite|dead|parity|scale|sensitivity"

static const assay_word_field target_fields[] = {
    { "framework", ASSAY_W_STRING, 0, NULL, "\"coreml\"", NULL, "framework the claims are about; \"reference\": assay's own reference backend", NULL },
    { "unit", ASSAY_W_STRING, 0, "NE|GPU|CPU", "\"NE\"", NULL, "unit the claims are about", NULL },
    { "hosts", ASSAY_W_STRINGS, 0, NULL, NULL, NULL, "hosts that count as the target; none named: any with that framework", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };
static const assay_word target_word = { "target", "What the experiment's claims are about.", target_fields, NULL, NULL, NULL, ASSAY_WORD_NESTED };

static const assay_word_field experiment_fields[] = {
    { "name", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "name of the experiment; names its run folders", NULL },
    { "target", ASSAY_W_WORD, 0, NULL, NULL, NULL, "framework and unit that the claims are about", &target_word },
    { "opset", ASSAY_W_STRING, 0, "iOS15|iOS16|iOS17|iOS18|iOS26", "\"iOS18\"", NULL, "opset of built programs", NULL },
    { "precision", ASSAY_W_STRING, 0, "fp16|fp32", "\"fp16\"", NULL, "types of built programs", NULL },
    { "compute_units", ASSAY_W_STRING, 0, UNITS, "\"cpu_and_ne\"", NULL, "policy of arms that name none", NULL },
    { "shapes", ASSAY_W_DATA, 0, NULL, NULL, NULL, "shapes of the inputs, and whatever numbers the arms need: ctx.shapes", NULL },
    { "seeds", ASSAY_W_INTEGERS, 0, "fixture|order|script", NULL, NULL, "script seeds math.random; the others are kept in the plan, not read (orders: the gate latency's seed)", NULL },
    { "stop", ASSAY_W_STRING, 0, "kill|never", "\"kill\"", NULL, "never: collect everything, also after a kill", NULL },
    { "mutants", ASSAY_W_STRINGS, 0, NULL, NULL, NULL, "mutants that matter here, for `assay mutate` (default: all that fit the control)", NULL },
    { "mutation_score", ASSAY_W_NUMBER, 0, NULL, NULL, NULL, "share of the mutants that the gates must kill, from 0 to 1", NULL },
    { "equivalent_mutants", ASSAY_W_DATA, 0, NULL, NULL, NULL, "table MUTANT = why it computes what the control does: run and named, never counted", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field claim_fields[] = {
    { "id", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "short name; `kill` refers to it", NULL },
    { "text", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "the sentence that is confirmed or refuted", NULL },
    { "needs", ASSAY_W_STRINGS, REQ, NULL, NULL, "gate", "gates that must pass for it", NULL },
    { "about", ASSAY_W_STRING, 0, "program|output|plan|timing|record", NULL, NULL, "kind of evidence it is about: what no needed gate saw confirms nothing", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field prior_fields[] = {
    { "text", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "what is believed before", NULL },
    { "status", ASSAY_W_STRING, REQ, "documented|verified|firsthand|none|refuted|unknown", NULL, NULL, "how well it is known", NULL },
    { "backend", ASSAY_W_STRING, 0, NULL, NULL, NULL, "backend it was seen on", NULL },
    { "scale", ASSAY_W_STRING, 0, NULL, NULL, NULL, "size of the thing it was seen on", NULL },
    { "source", ASSAY_W_STRING, 0, NULL, NULL, NULL, "where it stands", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field weights_fields[] = {
    { "file", ASSAY_W_STRING, 0, NULL, NULL, NULL, ".safetensors, .npy, or a package (q, k, v found by data flow)", NULL },
    { "recipe", ASSAY_W_RECIPES, 0, NULL, NULL, NULL, "table NAME = recipe, such as fx.wset(1280, 2.5)", NULL },
    { "names", ASSAY_W_DATA, 0, NULL, NULL, NULL, "names in the file: { q = ..., k = ..., v = ..., bq = ..., bv = ... }", NULL },
    { "split", ASSAY_W_STRING, 0, "qkv", NULL, NULL, "one matrix [3N, in] (and one bias [3N]) holds q, k and v", NULL },
    { "provenance", ASSAY_W_STRING, 0, "synthetic|trained|recorded", "\"synthetic\"", NULL, "random weights cap the claim at probe", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field fixture_fields[] = {
    { "name", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "name of the fixture", NULL },
    { "inputs", ASSAY_W_RECIPES, REQ, NULL, NULL, NULL, "table INPUT = file or recipe", NULL },
    { "provenance", ASSAY_W_STRING, 0, PROVENANCE, "\"synthetic\"", NULL, "where the numbers come from", NULL },
    { "use", ASSAY_W_STRINGS, 0, USES, "[\"finite\",\"dead\",\"parity\",\"scale\",\"sensitivity\"]", NULL, "questions it has power for", NULL },
    { "perturb", ASSAY_W_DATA, 0, NULL, NULL, NULL, "table NAME = function(tensors) that changes the inputs; asked for as {\"named\": NAME}", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field reference_fields[] = {
    { "arm", ASSAY_W_STRING, 0, NULL, NULL, "arm", "arm whose program is run (default: the control)", NULL },
    { "program", ASSAY_W_FUNCTION, 0, NULL, NULL, NULL, "build function of a program written for the intent", NULL },
    { "file", ASSAY_W_STRING, 0, NULL, NULL, NULL, "imported tensor (.npy)", NULL },
    { "precision", ASSAY_W_STRING, 0, "fp64|fp32|declared", "\"fp64\"", NULL, "precision it is run with", NULL },
    { "cut", ASSAY_W_STRING, 0, "program|qkv", "\"program\"", NULL, "what is exact: the whole program, or attention on the arm's own rounded q, k, v", NULL },
    { "values", ASSAY_W_DATA, 0, NULL, NULL, NULL, "names of the cut values, when they are not q, k, v", NULL },
    { "with", ASSAY_W_DATA, 0, NULL, NULL, NULL, "what the build function finds in ctx.with", NULL },
    { "framework", ASSAY_W_STRING, 0, NULL, NULL, NULL, "framework and version that made the file", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field arm_fields[] = {
    { "name", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "name of the arm; names its folder", NULL },
    { "role", ASSAY_W_STRING, REQ, "control|candidate|negative|must_fail|mutant", NULL, NULL, "what the arm is for", NULL },
    { "build", ASSAY_W_FUNCTION, 0, NULL, NULL, NULL, "function(ctx) that returns the outputs; ctx.mil builds", NULL },
    { "package", ASSAY_W_STRING, 0, NULL, NULL, NULL, "path of a .mlpackage, .mlmodel, .mlmodelc or .mil", NULL },
    { "convert", ASSAY_W_STRINGS, 0, NULL, NULL, NULL, "command that leaves a package; it runs as a trial", NULL },
    { "like", ASSAY_W_STRING, 0, NULL, NULL, "arm", "another arm, changed by rewrite, mutate or policy", NULL },
    { "with", ASSAY_W_DATA, 0, NULL, NULL, NULL, "what the build function finds in ctx.with", NULL },
    { "rewrite", ASSAY_W_FUNCTION, 0, NULL, NULL, NULL, "function(mil) that changes the program, meant", NULL },
    { "mutate", ASSAY_W_FUNCTION, 0, NULL, NULL, NULL, "function(mil) that plants a fault", NULL },
    { "compute_units", ASSAY_W_STRING, 0, UNITS, NULL, NULL, "policy (default: the experiment's)", NULL },
    { "precision", ASSAY_W_STRING, 0, "fp16|fp32", NULL, NULL, "types of the built program (default: the experiment's)", NULL },
    { "backend", ASSAY_W_STRING, 0, "reference", NULL, NULL, "\"reference\": it runs there whatever runs the others: a model of arithmetic, no program for the device", NULL },
    { "sources", ASSAY_W_STRINGS, 0, NULL, NULL, NULL, "files digested into the identity of a converted arm", NULL },
    { "change", ASSAY_W_STRINGS, 0, NULL, NULL, NULL, "declared differences from the control", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field gate_fields[] = {
    { "use", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "name of the gate (assay gates lists them), or of a Lua gate", NULL },
    { "arm", ASSAY_W_STRING, 0, NULL, NULL, "arm", "arm that is judged (default: the candidate)", NULL },
    { "control", ASSAY_W_STRING, 0, NULL, NULL, "arm", "arm it is compared with (default: the control)", NULL },
    { "after_kill", ASSAY_W_BOOL, 0, NULL, NULL, NULL, "judge it after a kill as well: it explains", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field kill_fields[] = {
    { "gate", ASSAY_W_STRING, REQ, NULL, NULL, "gate", "gate whose metric is looked at", NULL },
    { "metric", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "name of the metric", NULL },
    { "at_most", ASSAY_W_NUMBER, 0, NULL, NULL, NULL, "kills when the metric is at most this", NULL },
    { "at_least", ASSAY_W_NUMBER, 0, NULL, NULL, NULL, "kills when the metric is at least this", NULL },
    { "equals", ASSAY_W_SCALAR, 0, NULL, NULL, NULL, "kills when the metric equals this", NULL },
    { "arm", ASSAY_W_STRING, 0, NULL, NULL, "arm", "only where the gate judges this arm", NULL },
    { "fixture", ASSAY_W_STRING, 0, NULL, NULL, "fixture", "only the figures of this fixture", NULL },
    { "why", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "what it means; printed beside the kill", NULL },
    { "claim", ASSAY_W_STRING, 0, NULL, NULL, "claim", "kills this claim only", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field compare_fields[] = {
    { "fixture", ASSAY_W_STRING, 0, NULL, NULL, "fixture", "fixture on which all of them run (default: the first)", NULL },
    { "expect", ASSAY_W_STRING, 0, "equal|different|any", "\"equal\"", NULL, "of their outputs, bit for bit: all equal, no two equal, or nothing (the table alone)", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field sweep_fields[] = {
    { "axes", ASSAY_W_DATA, REQ, NULL, NULL, NULL, "table NAME = list of values; NAME is an option of the script, or opset, precision, compute_units", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field follows_fields[] = {
    { "receipt", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "receipt.<host>.json of the earlier experiment, relative to the script", NULL },
    { "needs", ASSAY_W_DATA, 0, NULL, NULL, NULL, "table GATE = verdict that the last gate of that name must have had", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field record_fields[] = {
    { "name", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "name by which a gate asks for it: memory, rails, intervals ...", NULL },
    { "file", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "what another tool wrote: powermetrics text or plist, JSON; copied and hashed", NULL },
    { "arm", ASSAY_W_STRING, 0, NULL, NULL, "arm", "arm it was taken of (none: of the machine, or of the experiment as a whole)", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word_field gate_type_fields[] = {
    { "name", ASSAY_W_NAME, REQ, NULL, NULL, NULL, "name that `use` refers to", NULL },
    { "version", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "stands in receipts; change it when the rule changes", NULL },
    { "summary", ASSAY_W_STRING, REQ, NULL, NULL, NULL, "one line for `assay gates`", NULL },
    { "params", ASSAY_W_DATA, 0, NULL, NULL, NULL, "table NAME = { type, default = ..., help = ... }; type: number, integer, boolean, string, arm, fixture, op", NULL },
    { "needs", ASSAY_W_FUNCTION, 0, NULL, NULL, NULL, "function(p, ev, req): asks for evidence, computes nothing", NULL },
    { "judge", ASSAY_W_FUNCTION, REQ, NULL, NULL, NULL, "function(p, ev, finding): pure; ends with finding:pass(), :kill(), :inconclusive() or :invalid()", NULL },
    { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL } };

static const assay_word experiment_word = { "experiment", "One experiment; holds all other words and is what the script returns.", experiment_fields, "name", NULL,
    "the other words, in lists nested as you like", 0 };
static const assay_word claim_word = { "claim", "A sentence with its own fate and evidence level.", claim_fields, "id", NULL, NULL, 0 };
static const assay_word prior_word = { "prior", "What is believed before; printed beside the outcome.", prior_fields, NULL, NULL, NULL, 0 };
static const assay_word weights_word = { "weights", "Weights that build functions find in ctx.weights.", weights_fields, NULL, "file|recipe", NULL, 0 };
static const assay_word fixture_word = { "fixture", "Named input tensors.", fixture_fields, "name", NULL, NULL, 0 };
static const assay_word reference_word = { "reference", "What both arms are compared with; default: the control in float64.", reference_fields, NULL, NULL, NULL, 0 };
static const assay_word arm_word = { "arm", "One variant of the graph.", arm_fields, "name", "build|package|convert|like", NULL, 0 };
static const assay_word gate_word = { "gate", "A question with an answer rule; further fields are the gate's own parameters.", gate_fields, "use", NULL, NULL, ASSAY_WORD_OPEN };
static const assay_word kill_word = { "kill", "A figure that refutes the experiment or one claim: data, never a function.", kill_fields, "gate", "at_most|at_least|equals", NULL, 0 };
static const assay_word compare_word = { "compare", "Arms side by side in one table: figures against the reference, against the first of them, and where their ops are placed.", compare_fields, NULL, NULL, "two arms or more", 0 };
static const assay_word sweep_word = { "sweep", "The experiment once per point.", sweep_fields, NULL, NULL, NULL, 0 };
static const assay_word follows_word = { "follows", "Starts only from the stated outcome of an earlier experiment.", follows_fields, NULL, NULL, NULL, 0 };
static const assay_word record_word = { "record", "A measurement taken outside of assay, for the gate that asks for it.", record_fields, "name", NULL, NULL, 0 };

static const assay_word gate_type_word = { "gate_type", "A gate written in Lua: one file of its own that returns this.", gate_type_fields, "name", NULL, NULL, ASSAY_WORD_GATE };

static const assay_word *const words[] = { &experiment_word, &claim_word, &prior_word, &weights_word, &fixture_word, &reference_word, &arm_word,
    &gate_word, &kill_word, &compare_word, &sweep_word, &follows_word, &record_word, &gate_type_word };

const assay_word *const *assay_words(size_t *n) {
    *n = sizeof words / sizeof *words;
    return words;
}

const assay_word *assay_word_find(const char *name) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i]->name, name) == 0) return words[i];
    return NULL;
}

const assay_word_field *assay_word_field_find(const assay_word *w, const char *name) {
    for (const assay_word_field *f = w->fields; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

const char *assay_word_kind_name(int kind) {
    switch (kind) {
    case ASSAY_W_STRING: return "string";
    case ASSAY_W_NAME: return "name";
    case ASSAY_W_NUMBER: return "number";
    case ASSAY_W_INTEGER: return "integer";
    case ASSAY_W_BOOL: return "boolean";
    case ASSAY_W_SCALAR: return "number, string or boolean";
    case ASSAY_W_STRINGS: return "list of strings";
    case ASSAY_W_FUNCTION: return "function";
    case ASSAY_W_RECIPE: return "file path or recipe";
    case ASSAY_W_RECIPES: return "table of file paths or recipes";
    case ASSAY_W_INTEGERS: return "table of integers";
    default: return "table";
    }
}

/* Cuts "a|b|c" into `out`; the pieces live in `buf`. */
static size_t split_choices(const char *choices, char buf[256], const char **out, size_t max) {
    snprintf(buf, 256, "%s", choices);
    size_t n = 0;
    for (char *p = buf; p && n < max;) {
        out[n++] = p;
        p = strchr(p, '|');
        if (p) *p++ = 0;
    }
    return n;
}

bool assay_choice_has(const char *choices, const char *s) {
    char buf[256];
    const char *list[32];
    size_t n = split_choices(choices, buf, list, 32);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], s) == 0) return true;
    return false;
}

const char *assay_choice_text(const char *choices, char *out, size_t size) {
    char buf[256];
    const char *list[32];
    size_t n = split_choices(choices, buf, list, 32), len = 0;
    out[0] = 0;
    for (size_t i = 0; i < n && len < size; i++) {
        int w = snprintf(out + len, size - len, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", list[i]);
        len += w > 0 ? (size_t)w : 0;
    }
    return out;
}

const char *assay_choice_hint(char out[96], const char *choices, const char *s) {
    char buf[256];
    const char *list[32];
    size_t n = split_choices(choices, buf, list, 32);
    return assay_did_you_mean(out, s, list, n);
}

const char *assay_word_field_hint(char out[96], const assay_word *w, const char *s) {
    const char *list[64];
    size_t n = 0;
    for (const assay_word_field *f = w->fields; f->name && n < 64; f++) list[n++] = f->name;
    return assay_did_you_mean(out, s, list, n);
}
