/* The simulated device: what a profile file may say, and what is refused. */
#include "simulated.h"

static char *scratch(const char *name, const char *text) {
    char *path = assay_xprintf("/tmp/assay-sim-%ld-%s.lua", (long)getpid(), name);
    CU_ASSERT_EQUAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    return path;
}

static void expect_refusal(const char *body, const char *message) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = scratch("bad", body);
    CU_ASSERT(assay_sim_profile_load(path, &p, &err) != ASSAY_OK);
    if (!strstr(err.message, message)) printf("\n  got: %s\n  want: %s\n", err.message, message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, message));
    unlink(path);
    free(path);
}

static void refuse(const char *fields, const char *message) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = derived(fields);
    CU_ASSERT_EQUAL(assay_sim_profile_load(path, &p, &err), ASSAY_E_INPUT);
    if (!strstr(err.message, message)) printf("\n  got: %s\n  want: %s\n", err.message, message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, message));
    drop(path);
}

static void every_shipped_profile_loads(void) {
    char **names = NULL;
    size_t n = 0, loaded = 0;
    CU_ASSERT_EQUAL_FATAL(assay_list_dir(ASSAY_SOURCE_DIR "/configs/devices", &names, &n, NULL), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        char *path = assay_path_join(ASSAY_SOURCE_DIR "/configs/devices", names[i]), *file = NULL;
        assay_sim_profile p;
        assay_error err = {0};
        CU_ASSERT_EQUAL(assay_sim_profile_load(path, &p, &err), ASSAY_OK);
        file = p.id ? assay_xprintf("%s.lua", p.id) : NULL;
        CU_ASSERT_STRING_EQUAL(file ? file : err.message, names[i]);
        loaded++;
        assay_sim_profile_free(&p);
        free(file);
        free(path);
    }
    CU_ASSERT(loaded >= 13);
    assay_list_free(names, n);
}

static void what_is_no_profile_is_refused(void) {
    expect_refusal("return 3", "the file must end with `return { ... }`");
    expect_refusal("return { schema = 2, id = 'x', simulated = true }", "schema: expected 1");
    expect_refusal("return { schema = 1, id = 'x' }", "must say simulated = true");
    expect_refusal("return { schema = 1, id = 'x', simulated = false }", "must say simulated = true");
    expect_refusal("return { schema = 1, id = 'a/b', simulated = true }", "id: a plain name is needed");
    expect_refusal("return { schema = 1, id = 'x', simulated = true, claims = { os = function() end } }", "claims.os: the file is data only, a function cannot stand in it");
    expect_refusal("while true do end", "instructions");
    expect_refusal("return { schema = 1,", "<eof>");
    expect_refusal("return { schema = 1, id = 'x', simulated = true }", "'claims' is missing");
    expect_refusal("return { schema = 1, id = 'x', simulated = true, placement_first = {} }", "there is no base");
}

static void every_name_is_of_a_closed_set(void) {
    refuse("fault = {}", "unknown field 'fault' (did you mean 'faults'?)");
    refuse("faults = { { id = 'a', when = { opp = 'linear' }, effect = 'zero', grade = 'I', source = 's' } }", "faults[1] (a).when: unknown field 'opp' (did you mean 'op'?)");
    refuse("faults = { { id = 'a', when = { op = 'liner' }, effect = 'zero', grade = 'I', source = 's' } }", "unknown op 'liner' (did you mean 'linear'?)");
    refuse("faults = { { id = 'a', when = { on = 'ene' }, effect = 'zero', grade = 'I', source = 's' } }", "unknown 'ene' (did you mean 'ane'?)");
    refuse("faults = { { id = 'a', when = {}, effect = 'zeros', grade = 'I', source = 's' } }", "unknown 'zeros' (did you mean 'zero'?)");
    refuse("placement_first = { { id = 'a', when = { any_dtype = 'fp61' }, device = 'cpu', grade = 'I', source = 's' } }", "unknown type 'fp61' (did you mean 'fp16'?)");
    refuse("placement_first = { { id = 'a', when = { max_rank = {} }, device = 'cpu', grade = 'I', source = 's' } }", "expected a table with gt or lt");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', grade = 'I', source = 's' }, { id = 'a', when = {}, effect = 'nan', grade = 'I', source = 's' } }", "id 'a' stands twice");
    refuse("cost = { jitter = { spike_p = 2 } }", "cost.jitter.spike_p: must be at most 1");
    refuse("cost = { jitter = { sigma = 1e308 } }", "cost.jitter.sigma: must be at most 10");
    refuse("placement_first = { { id = 'a', when = { on = 'ane' }, device = 'cpu', grade = 'I', source = 's' } }", "unknown field 'on'");
    refuse("placement_first = { { id = 'a', when = {}, device = 'ne', grade = 'I', source = 's' } }", "device: unknown 'ne'");
    refuse("numerics = { ane = { order = 'flush' } }", "unknown 'flush' (did you mean 'flash'?)");
    refuse("base_ = 1", "unknown field 'base_'");
}

static void grades_and_sources_are_mandatory(void) {
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', source = 's' } }", "faults[1] (a): 'grade' is missing");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', grade = 'I' } }", "faults[1] (a): 'source' is missing");
    refuse("placement_first = { { id = 'a', when = {}, device = 'cpu', grade = 'I' } }", "'source' is missing");
    refuse("placement_first = { { id = 'a', when = {}, device = 'cpu', grade = 'Z', source = 's' } }", "grade: unknown 'Z'");
    refuse("cost = { jitter = { grade = 'C' } }", "cost.jitter: 'source' is missing");
}

static void an_effect_takes_its_own_field_only(void) {
    refuse("faults = { { id = 'a', when = {}, effect = 'gain', grade = 'I', source = 's' } }", "effect 'gain' needs 'x'");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', x = 2, grade = 'I', source = 's' } }", "effect 'zero' takes no 'x'");
    refuse("faults = { { id = 'a', when = {}, effect = 'flip', every_n = 0, grade = 'I', source = 's' } }", "every_n must be at least 1");
    refuse("cost = { ane = { flops = 0 } }", "cost.ane.flops: must be above 0");
    refuse("placement_first = { { id = 'a', when = {}, device = 'gpu', grade = 'I', source = 's' } }", "numerics.gpu and cost.gpu are missing");
    refuse("placement_first = { { id = 'a', when = {}, grade = 'I', source = 's' } }", "one of 'device' and 'reject = true' is needed");
    refuse("placement_first = { { id = 'a', when = {}, reject = true, otherwise = 'gpu', grade = 'I', source = 's' } }", "'reject' takes no 'otherwise'");
    refuse("placement_first = { { id = 'a', when = {}, device = 'ane', otherwise = 'gpu', grade = 'I', source = 's' } }", "numerics.gpu and cost.gpu are missing");
}

static void a_base_is_joined_before_the_digest(void) {
    assay_sim_profile plain = load("cost = {}"), same = load("cost = { fused = { factor = 1.0 } } --[[ a remark ]]"), other = load("cost = { fused = { factor = 0.5 } }");
    CU_ASSERT_STRING_EQUAL(plain.sha256, same.sha256);
    CU_ASSERT_STRING_NOT_EQUAL(plain.sha256, other.sha256);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(other.json, "cost.jitter"), "seed", ""), "m1-jitter");
    assay_sim_profile_free(&plain);
    assay_sim_profile_free(&same);
    assay_sim_profile_free(&other);
    assay_sim_profile first = load("placement_first = { { id = 'mine', when = {}, device = 'cpu', grade = 'I', source = 's' } }");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(first.json, "placement"), 0), "id", ""), "mine");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(first.json, "placement"), 1), "id", ""), "P1");
    assay_sim_profile_free(&first);
    refuse("base = 'mine'", "has a base of its own");
    refuse("base = 'm1-macos15.7.8'", "no such profile (did you mean 'm1-macos15.7.7'?)");
}

ASSAY_SUITE("simulated device, profile", TEST(every_shipped_profile_loads), TEST(what_is_no_profile_is_refused),
            TEST(every_name_is_of_a_closed_set), TEST(grades_and_sources_are_mandatory),
            TEST(an_effect_takes_its_own_field_only), TEST(a_base_is_joined_before_the_digest))
