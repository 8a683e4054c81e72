/* The zoo of plugins: what loads, what is refused, and with which words. */
#include "unit/suite.h"
#include "base/fs.h"
#include "base/process.h"
#include "plugin/evidence.h"
#include "plugin/registry.h"
#include <unistd.h>

#define ZOO ASSAY_BUILD_DIR "/zoo/"

static void refused(const char *name, const char *words) {
    assay_registry *r = assay_registry_new();
    assay_error err = {0};
    char *path = assay_xprintf(ZOO "%s.so", name);
    CU_ASSERT_EQUAL(assay_registry_load_file(r, path, &err), ASSAY_E_ABI);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, path));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, words));
    if (!strstr(err.message, words)) printf("\n  %s: %s\n", name, err.message);
    const assay_refusal *list;
    CU_ASSERT_EQUAL(assay_registry_refusals(r, &list), 1);
    const assay_gate_type *const *gates;
    CU_ASSERT_EQUAL(assay_registry_gates(r, &gates), 0);
    free(path);
    assay_registry_free(r);
}

static void loads(const char *name, const char *gate) {
    assay_registry *r = assay_registry_new();
    assay_error err = {0};
    char *path = assay_xprintf(ZOO "%s.so", name);
    if (assay_registry_load_file(r, path, &err)) printf("\n  %s\n", err.message);
    const assay_gate_type *g = assay_registry_gate(r, gate, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    CU_ASSERT_STRING_EQUAL(g->path, path);
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *v = NULL;
    CU_ASSERT_EQUAL(assay_judge(r, gate, NULL, ev, &v, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(v), "not-measured");
    assay_json_free(v);
    assay_evidence_free(ev);
    free(path);
    assay_registry_free(r);
}

static void same_major_loads(void) {
    loads("good", "animal");
    loads("older_minor", "older");
    loads("newer_minor", "newer");
}

static void other_majors_are_refused(void) {
    refused("old_abi", "built for plugin ABI 0.9, this program wants 1.x: rebuild it");
    refused("next_abi", "built for plugin ABI 2.1, this program wants 1.x: rebuild it");
}

static const assay_gate any = {.struct_size = sizeof any, .name = "any"};
ASSAY_GATE_PLUGIN(any)
/* A plugin that refuses its host says for which ABI it was built; the host adds its own. */
static void the_macro_names_both_numbers(void) {
    char built_for[16];
    assay_error err = {0};
    snprintf(built_for, sizeof built_for, "%u.%u", ASSAY_ABI >> 16, ASSAY_ABI & 0xffffu);
    CU_ASSERT_STRING_EQUAL(ASSAY_ABI_TEXT, built_for);
    CU_ASSERT_PTR_NOT_NULL(assay_plugin_query(ASSAY_ABI + 1, &err)); /* a newer minor */
    CU_ASSERT_PTR_NULL(assay_plugin_query(ASSAY_ABI + 0x10000u, &err));
    CU_ASSERT_EQUAL(err.code, ASSAY_E_ABI);
    CU_ASSERT_STRING_EQUAL(err.message, "it was built for " ASSAY_ABI_TEXT "; rebuild it with the headers of this assay");
    refused("next_host", "its query refused plugin ABI 1.0: it was built for 2.0; rebuild it");
}

static void objects_that_cannot_be_used_are_refused(void) {
    refused("no_symbol", "exports no assay_plugin_query");
    refused("failing_query", "its query refused plugin ABI 1.0: the licence server is down");
    refused("core_symbol", "assay_xstrdup");
    refused("not_there", "cannot be loaded");
    refused("text", "cannot be loaded");
}

static void short_tables_are_refused(void) {
    refused("short_plugin", "its descriptor is 12 bytes, at least 32 are wanted");
    refused("short_gate", "gate 0: descriptor is 40 bytes, at least 72 are wanted");
    refused("empty", "it holds no gate and no backend");
    refused("too_many", "4000000000 gates and 0 backends in one plugin");
    refused("bad_name", "gate 0: name 'Big Gate' is not lower_snake_case");
    refused("no_judge", "gate 'animal': create, judge and destroy must be there");
}

static void bad_schemas_are_refused(void) {
    refused("bad_schema", "default of parameter 'share': 1.5 is outside 0 .. 1");
    refused("double_row", "parameter 'share' stands twice");
}

static void a_second_gate_of_a_name_is_refused(void) {
    assay_registry *r = assay_registry_new();
    const assay_refusal *list;
    CU_ASSERT_EQUAL(assay_registry_load_file(r, ZOO "good.so", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_registry_load_file(r, ZOO "twin.so", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_registry_refusals(r, &list), 1);
    CU_ASSERT_STRING_EQUAL(list[0].path, ZOO "twin.so");
    CU_ASSERT_STRING_EQUAL(list[0].why, "gate 'animal' is already there from " ZOO "good.so");
    CU_ASSERT_STRING_EQUAL(assay_registry_gate(r, "animal", NULL)->version, "1.0");
    assay_registry_free(r);
}

/* Asking for a refused gate by name tells why it was refused. */
static void the_refusal_is_told_when_asked_for(void) {
    assay_registry *r = assay_registry_new();
    assay_error err = {0};
    assay_registry_load_file(r, ZOO "old_abi.so", NULL);
    CU_ASSERT_PTR_NULL(assay_registry_gate(r, "old_abi", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "gate 'old_abi' was refused: " ZOO "old_abi.so: built for plugin ABI 0.9"));
    assay_registry_free(r);
}

/* ---- assay gates check: the plugin may crash, the answer comes all the same */
static int check(const char *name, char *out, size_t size) {
    char dir[] = "/tmp/assay-abi-XXXXXX";
    if (!mkdtemp(dir)) return -1;
    char *plugin = assay_xprintf(ZOO "%s.so", name), *file = assay_xprintf("%s/out", dir), *text = NULL;
    const char *argv[] = {ASSAY_BUILD_DIR "/bin/assay", "gates", "check", plugin, NULL};
    assay_run_result res = {0};
    assay_error err = {0};
    size_t len = 0;
    CU_ASSERT_EQUAL(assay_run_process(&(assay_run_args){.argv = argv, .stdout_path = file, .timeout_s = 60}, &res, &err),
                    ASSAY_OK);
    CU_ASSERT_EQUAL(assay_read_file(file, 1 << 20, &text, &len, &err), ASSAY_OK);
    snprintf(out, size, "%s", text ? text : "");
    assay_remove_tree(dir, NULL);
    free(text);
    free(file);
    free(plugin);
    return res.exit_code;
}

static void fails_check(const char *name, const char *words) {
    char out[4096];
    CU_ASSERT_EQUAL(check(name, out, sizeof out), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, words));
    if (!strstr(out, words)) printf("\n  %s:\n%s\n", name, out);
}

static void check_finds_what_a_plugin_does(void) {
    char out[4096];
    CU_ASSERT_EQUAL(check("good", out, sizeof out), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "ok       leaves locale, folder, signals and floating point alone"));
    fails_check("crash_query", "failed   loads: the plugin crashed: signal 6");
    fails_check("crash_judge", "failed   animal does not pass without evidence: the plugin crashed: signal 6");
    fails_check("exits", "failed   animal does not pass without evidence: the plugin ended the program with exit code 0");
    fails_check("passes_all", "failed   animal does not pass without evidence: it passes");
    fails_check("passes_all", "failed   animal does not pass a dead candidate: it passes");
    fails_check("no_verdict", "gave no verdict");
    fails_check("forgets", "two calls with the same evidence differ");
    fails_check("old_abi", "failed   loads: plugin " ZOO "old_abi.so: built for plugin ABI 0.9");
}

static void check_finds_changed_surroundings(void) {
    fails_check("rude_signal", "it installed a signal handler");
    fails_check("rude_locale", "it changed the locale");
    fails_check("rude_rounding", "it changed the rounding mode");
}

ASSAY_SUITE("abi", TEST(same_major_loads), TEST(other_majors_are_refused), TEST(the_macro_names_both_numbers), TEST(objects_that_cannot_be_used_are_refused),
            TEST(short_tables_are_refused), TEST(bad_schemas_are_refused), TEST(a_second_gate_of_a_name_is_refused),
            TEST(the_refusal_is_told_when_asked_for), TEST(check_finds_what_a_plugin_does),
            TEST(check_finds_changed_surroundings))
