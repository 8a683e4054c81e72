/* Reads a frozen plan back, finds its rows, and seals it. */
#include "run/plan.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* A plan that was changed after its seal is a new plan, and the folder's evidence belongs to the old one: nothing may use it. */
static assay_status check_seal(const char *dir, const char *sha256, assay_error *err) {
    char *path = assay_path_join(dir, "seal.json");
    assay_json *seal = NULL;
    assay_status st = assay_is_file(path) ? assay_json_read_file(path, &seal, err) : ASSAY_OK;
    const char *sealed = assay_json_string(seal, "plan_sha256", "");
    if (seal && !assay_streq(sealed, sha256))
        st = assay_fail(err, ASSAY_E_INPUT,
                        "%s: plan.json was changed after it was sealed (sealed as %.12s, now %.12s): put the sealed file back, or make a new plan in another folder ('assay plan X.lua')",
                        dir, *sealed ? sealed : "nothing", sha256);
    assay_json_free(seal);
    free(path);
    return st;
}

assay_status assay_plan_load(const char *dir, assay_plan *out, assay_error *err) {
    memset(out, 0, sizeof *out);
    char *path = assay_path_join(dir, "plan.json");
    assay_status st = ASSAY_OK;
    if (!assay_is_file(path)) {
        st = assay_fail(err, ASSAY_E_INPUT, "%s is not a run directory (no plan.json): make one with 'assay plan X.lua --out %s'", dir, dir);
    } else if ((st = assay_json_read_file(path, &out->json, err)) == ASSAY_OK) {
        const char *schema = assay_json_string(out->json, "schema", "");
        if (!assay_streq(schema, ASSAY_PLAN_SCHEMA))
            st = assay_fail(err, ASSAY_E_INPUT, "%s: schema is \"%s\", expected \"%s\"", path, schema, ASSAY_PLAN_SCHEMA);
        else
            st = assay_sha256_file(path, out->sha256, err);
        if (st == ASSAY_OK) st = check_seal(dir, out->sha256, err);
    }
    free(path);
    if (st != ASSAY_OK) {
        assay_json_free(out->json);
        out->json = NULL;
        return st;
    }
    out->dir = assay_xstrdup(dir);
    return ASSAY_OK;
}

void assay_plan_free(assay_plan *p) {
    if (!p) return;
    assay_json_free(p->json);
    free(p->dir);
    memset(p, 0, sizeof *p);
}

static const assay_json *row_named(const assay_json *list, const char *name) {
    for (size_t i = 0; name && i < assay_json_len(list); i++) {
        const assay_json *row = assay_json_at(list, i);
        if (assay_streq(assay_json_string(row, "name", NULL), name)) return row;
    }
    return NULL;
}

const assay_json *assay_plan_arm(const assay_plan *p, const char *name) {
    if (assay_streq(name, "@reference")) {
        const assay_json *ref = assay_json_get(p->json, "reference");
        return assay_json_string(ref, "path", NULL) ? ref : NULL;
    }
    return row_named(assay_json_get(p->json, "arms"), name);
}

const assay_json *assay_plan_fixture(const assay_plan *p, const char *name) {
    return row_named(assay_json_get(p->json, "fixtures"), name);
}

const assay_json *assay_plan_state(const assay_json *fixture, const char *perturb) {
    if (!fixture || !perturb || !*perturb || assay_streq(perturb, "{}")) return fixture;
    const assay_json *list = assay_json_get(fixture, "perturbed");
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *row = assay_json_at(list, i);
        if (assay_streq(assay_json_string(row, "perturb", NULL), perturb)) return row;
    }
    return NULL;
}

const assay_json *assay_plan_record(const assay_plan *p, const char *name, const char *arm) {
    for (const assay_json *r = assay_json_first(assay_json_get(p->json, "records")); r; r = assay_json_next(r))
        if (assay_streq(assay_json_string(r, "name", ""), name) && assay_streq(assay_json_string(r, "arm", ""), arm ? arm : "")) return r;
    return NULL;
}

const char *assay_plan_arm_of_role(const assay_json *plan, const char *role) {
    const assay_json *arms = assay_json_get(plan, "arms");
    for (size_t i = 0; i < assay_json_len(arms); i++) {
        const assay_json *row = assay_json_at(arms, i);
        if (assay_streq(assay_json_string(row, "role", ""), role)) return assay_json_string(row, "name", NULL);
    }
    return NULL;
}

char *assay_plan_path(const assay_plan *p, const char *relative) { return assay_path_join(p->dir, relative); }

bool assay_plan_is_sealed(const assay_plan *p) {
    char *path = assay_path_join(p->dir, "seal.json");
    bool sealed = assay_is_file(path);      /* that it names this plan was checked by assay_plan_load */
    free(path);
    return sealed;
}

bool assay_plan_target_is_reference(const assay_json *plan) {
    return assay_streq(assay_json_string(assay_json_get(plan, "target"), "framework", ""), "reference");
}

static bool was_given(const assay_json *gate, const char *param) {
    const assay_json *given = assay_json_get(gate, "given");
    for (size_t i = 0; i < assay_json_len(given); i++)
        if (assay_streq(assay_json_text(assay_json_at(given, i)), param)) return true;
    return false;
}

/* Parameters that their gate marks as preregistered (statistics.md 3.2 "Parameters of a sealed plan" and 3.6) must be written down. */
static assay_status check_gate_is_stated(const assay_json *gate, const assay_registry *r, assay_error *err) {
    const char *use = assay_json_string(gate, "use", "");
    const assay_gate_type *type = assay_registry_gate(r, use, err);
    if (!type) return err ? err->code : ASSAY_E_INPUT;
    for (const assay_param *p = type->params; p && p->name; p++)
        if (p->flags & ASSAY_PARAM_PREREGISTERED && !was_given(gate, p->name))
            return assay_fail(err, ASSAY_E_INPUT, "%s: gate \"%s\": a sealed plan states %s itself, no silent default (%s): write it in the script and plan again",
                              assay_json_string(gate, "where", "plan"), use, p->name, p->help);
    return ASSAY_OK;
}

static bool has_evidence(const char *dir) {
    char *path = assay_path_join(dir, "evidence");
    char **names = NULL;
    size_t n = 0;
    bool any = assay_is_dir(path) && assay_list_dir(path, &names, &n, NULL) == ASSAY_OK && n > 0;
    assay_list_free(names, n);
    free(path);
    return any;
}

assay_status assay_plan_seal(const char *dir, const assay_registry *r, assay_error *err) {
    assay_plan p;
    assay_status st = assay_plan_load(dir, &p, err);
    if (st != ASSAY_OK) return st;
    if (assay_plan_is_sealed(&p)) {
        assay_plan_free(&p);
        return ASSAY_OK;
    }
    const assay_json *gates = assay_json_get(p.json, "gates");
    if (has_evidence(dir))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: evidence was collected before the seal; seal a fresh plan ('assay plan X.lua', then 'assay seal')", dir);
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates); i++) st = check_gate_is_stated(assay_json_at(gates, i), r, err);
    if (st == ASSAY_OK) {
        assay_json *seal = assay_json_object();
        assay_json_set_string(seal, "schema", "assay-seal/1");
        assay_json_set_string(seal, "plan_sha256", p.sha256);
        assay_buf text = {0};
        assay_json_write(seal, &text);
        char *path = assay_path_join(dir, "seal.json");
        st = assay_write_file(path, text.data, text.len, err);
        free(path);
        assay_buf_free(&text);
        assay_json_free(seal);
    }
    assay_plan_free(&p);
    return st;
}
