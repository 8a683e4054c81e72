/* Opening scripts: descriptions of the shipped configs, options, and what the reader of an error sees. */
#include "suite.h"
#include "script/script.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/assay-script-XXXXXX";

static const char *write_script(const char *name, const char *text) {
    static char path[512];
    if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) exit(70);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    return path;
}

static assay_registry *gates(void) {
    static assay_registry *r;
    if (r) return r;
    assay_ops_register();
    r = assay_registry_new();
    assay_registry_load_all(r, ASSAY_BUILD_DIR "/bin/gates");
    return r;
}

/* Opens `text` as whisper.lua in its folder; the message must hold `expected` (after the folder). */
static void expect_error(const char *text, assay_status status, const char *expected) {
    const char *path = write_script("whisper.lua", text);
    assay_script_options o = { .registry = gates() };
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    assay_status st = assay_script_open(path, &o, &s, &err);
    CU_ASSERT_EQUAL(st, status);
    if (!strstr(err.message, expected)) {
        printf("\n  wanted: %s\n  got:    %s\n", expected, err.message);
        CU_FAIL("message");
    }
    assay_script_close(s);
}

static assay_script *open_config(const char *name, const char *const *set, size_t n) {
    char path[512];
    assay_ops_register();
    snprintf(path, sizeof path, "%s/configs/%s", ASSAY_SOURCE_DIR, name);
    assay_script_options o = { .set = set, .n_set = n };   /* the gates have tests of their own */
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    if (assay_script_open(path, &o, &s, &err)) {
        printf("\n  %s\n", err.message);
        CU_FAIL_FATAL("open");
    }
    return s;
}

static void describes_the_main_experiment(void) {
    assay_script *s = open_config("whisper_d750.lua", NULL, 0);
    const assay_json *d = assay_script_description(s);
    CU_ASSERT_STRING_EQUAL(assay_json_string(d, "name", ""), "whisper-d750");
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(d, "arms")), 4);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(d, "gates")), 6);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(d, "claims")), 4);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_get(d, "options"), "gain", 0), 2.5);
    const assay_json *cpu = assay_json_at(assay_json_get(d, "arms"), 2), *dead = assay_json_at(assay_json_get(d, "arms"), 3);
    CU_ASSERT_STRING_EQUAL(assay_json_string(cpu, "compute_units", ""), "cpu_only");
    CU_ASSERT_STRING_EQUAL(assay_json_string(cpu, "source", ""), "like");
    CU_ASSERT_STRING_EQUAL(assay_json_string(dead, "compute_units", ""), "cpu_and_ne");
    CU_ASSERT_TRUE(assay_json_bool(dead, "mutate", false));
    CU_ASSERT_STRING_EQUAL(assay_json_string(dead, "where", ""), "whisper_d750.lua:30");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_get(d, "reference"), "cut", ""), "program");
    CU_ASSERT_EQUAL(assay_json_len(assay_script_files(s)), 4);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_script_files(s), 1), "name", ""), "assay/attention.lua");
    assay_script_close(s);
}

static void options_come_from_the_command_line(void) {
    const char *const set[] = { "gain=1", "cut=qkv", "stop=never" };
    assay_script *s = open_config("mini.lua", set, 3);
    const assay_json *d = assay_script_description(s);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_get(d, "options"), "gain", 0), 1);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_get(d, "reference"), "cut", ""), "qkv");
    CU_ASSERT_STRING_EQUAL(assay_json_string(d, "stop", ""), "never");
    assay_script_close(s);
}

static void makes_arms_and_fixtures(void) {
    assay_script *s = open_config("mini.lua", NULL, 0);
    for (size_t i = 0; i < 4; i++) {
        assay_program *p = NULL;
        assay_error err = { 0, "" };
        assay_status st = assay_script_make_arm(s, i, &p, &err);
        if (st) printf("\n  %s\n", err.message);
        CU_ASSERT_EQUAL_FATAL(st, ASSAY_OK);
        assay_json *f = assay_program_facts(p);
        char *t = assay_json_pretty(f);
        if (getenv("SHOW")) puts(t);
        free(t);
        assay_json_free(f);
        assay_program_free(p);
    }
    assay_own_tensor *t;
    size_t n;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL_FATAL(assay_script_make_fixture(s, 0, NULL, &t, &n, &err), ASSAY_OK);
    char hex[65];
    assay_tensor_digest(&t[0].t, hex);
    CU_ASSERT_NSTRING_EQUAL(hex, "388828bc58e686a2", 16);
    assay_tensor_free(&t[0]);
    free(t);
    CU_ASSERT_EQUAL_FATAL(assay_script_make_fixture(s, 0, "{\"token\":{\"batch\":1,\"position\":20}}", &t, &n, &err), ASSAY_OK);
    assay_tensor_digest(&t[0].t, hex);
    CU_ASSERT_NSTRING_EQUAL(hex, "c808f0d175cb53af", 16);
    assay_tensor_free(&t[0]);
    free(t);
    assay_script_close(s);
}

static void unknown_field_names_line_arm_and_suggestion(void) {
    expect_error("local x\nreturn experiment { name = 'a',\n  arm { name = \"fused\", rol = \"control\", build = function() end } }", ASSAY_E_INPUT,
                 "whisper.lua:3: arm \"fused\": unknown field 'rol' (did you mean 'role'?)");
}

ASSAY_SUITE("script", TEST(describes_the_main_experiment), TEST(options_come_from_the_command_line), TEST(makes_arms_and_fixtures),
            TEST(unknown_field_names_line_arm_and_suggestion))
