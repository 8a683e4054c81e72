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
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(d, "gates")), 8);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(d, "claims")), 4);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_get(d, "options"), "gain", 0), 2.5);
    const assay_json *cpu = assay_json_at(assay_json_get(d, "arms"), 2), *dead = assay_json_at(assay_json_get(d, "arms"), 3);
    CU_ASSERT_STRING_EQUAL(assay_json_string(cpu, "compute_units", ""), "cpu_only");
    CU_ASSERT_STRING_EQUAL(assay_json_string(cpu, "source", ""), "like");
    CU_ASSERT_STRING_EQUAL(assay_json_string(dead, "compute_units", ""), "cpu_and_ne");
    CU_ASSERT_TRUE(assay_json_bool(dead, "mutate", false));
    CU_ASSERT_STRING_EQUAL(assay_json_string(dead, "where", ""), "whisper_d750.lua:49");
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

/* A script with the given words, one a line from line 4 on; a control, a candidate, a fixture and a claim are there. */
static const char *with(const char *words) {
    static char text[4096];
    snprintf(text, sizeof text, "local function b() end\nreturn experiment { name = 'a', arm { name = 'explicit', role = 'control', build = b },\n"
             "  arm { name = 'fused', role = 'candidate', build = b }, fixture { name = 'stress', inputs = { x = 'x.npy' } },\n%s\n}", words);
    return text;
}

static void gate_parameters_are_checked_against_the_gate(void) {
    expect_error(with("  gate { use = 'parity', cosine_min = '0.9999' },"), ASSAY_E_INPUT, "whisper.lua:4: gate \"parity\".cosine_min: expected number, got string \"0.9999\"");
    expect_error(with("  gate { use = 'latency', arm = 'fusd' },"), ASSAY_E_INPUT, "whisper.lua:4: gate \"latency\".arm: no arm 'fusd' (did you mean 'fused'?)");
    expect_error(with("  gate { use = 'parity', cosin_min = 0.9999 },"), ASSAY_E_INPUT, "whisper.lua:4: gate \"parity\": unknown parameter 'cosin_min' (did you mean 'cosine_min'?)");
    expect_error(with("  gate { use = 'parity', fixture = 'stres' },"), ASSAY_E_INPUT, "whisper.lua:4: gate \"parity\".fixture: no fixture 'stres' (did you mean 'stress'?)");
    expect_error(with("  gate { use = 'conversion', require = { scaled_dot_product_atention = 1 } },"), ASSAY_E_INPUT,
                 "whisper.lua:4: gate \"conversion\".require: no op 'scaled_dot_product_atention' (did you mean 'scaled_dot_product_attention'?)");
    expect_error(with("  gate { use = 'conversion', require = { matmul = 'one' } },"), ASSAY_E_INPUT, "gate \"conversion\".require: expected a table NAME = integer, got string \"one\"");
    expect_error(with("  gate { use = 'party' },"), ASSAY_E_INPUT, "whisper.lua:4: gate \"party\".use: no gate 'party' (did you mean 'parity'?)");
}

static void names_refer_to_what_is_there(void) {
    expect_error(with("  arm { name = 'dead', role = 'must_fail', like = 'fussed' },"), ASSAY_E_INPUT, "whisper.lua:4: arm \"dead\".like: no arm 'fussed' (did you mean 'fused'?)");
    expect_error(with("  kill { gate = 'parity', metric = 'm', at_most = 0, why = 'w' },"), ASSAY_E_INPUT, "whisper.lua:4: kill \"parity\".gate: no gate 'parity'");
    expect_error(with("  claim { id = 'c', text = 't', needs = { 'parity' } },"), ASSAY_E_INPUT, "whisper.lua:4: claim \"c\".needs: no gate 'parity'");
    expect_error(with("  compare { 'fused', 'explicite' },"), ASSAY_E_INPUT, "whisper.lua:4: compare.second: no arm 'explicite' (did you mean 'explicit'?)");
    expect_error(with("  arm { name = 'fused', role = 'negative', like = 'explicit' },"), ASSAY_E_INPUT, "whisper.lua:4: arm \"fused\": the name is taken (");
    expect_error(with("  arm { name = 'x', role = 'negative', like = 'y' }, arm { name = 'y', role = 'negative', like = 'x' },"), ASSAY_E_INPUT, "arms are like each other in a circle");
    expect_error(with("  arm { name = 'second', role = 'control', like = 'fused' },"), ASSAY_E_INPUT, "an experiment has one control, and \"explicit\" is it already");
}

static void lists_nest_and_strays_are_told(void) {
    expect_error(with("  { { 3 } },"), ASSAY_E_INPUT, "expected a word, such as arm { ... }, or a list of words");
    expect_error(with("  { name = 'lost', role = 'control' },"), ASSAY_E_INPUT, "is a table with a field");
    expect_error("return 3", ASSAY_E_INPUT, "the script must end with `return experiment { ... }`, it returned number");
}

static void a_sweep_and_an_earlier_run_are_words_of_their_own(void) {
    expect_error(with("  sweep { axis = { S = { 1, 2 } } },"), ASSAY_E_INPUT, "sweep: unknown field 'axis' (did you mean 'axes'?)");
    expect_error(with("  follows { receit = 'r.json' },"), ASSAY_E_INPUT, "follows: unknown field 'receit' (did you mean 'receipt'?)");
    expect_error(with("  sweep { axes = { S = { 1 } } }, sweep { axes = { S = { 1 } } },"), ASSAY_E_INPUT, "sweep: an experiment has one");
}

static void missing_files_are_named(void) {
    expect_error(with("  arm { name = 'p', role = 'negative', package = 'no.mlpackage' },"), ASSAY_E_INPUT, "whisper.lua:4: arm \"p\".package: no such file or folder: ");
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(assay_script_open("/no/such.lua", NULL, &s, &err), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "/no/such.lua: no such script");
}

static void expect_set(const char *text, const char *set, assay_status status, const char *expected) {
    const char *path = write_script("whisper.lua", text);
    const char *const sets[] = { set };
    assay_script_options o = { .set = sets, .n_set = set ? 1 : 0 };
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(assay_script_open(path, &o, &s, &err), status);
    if (!strstr(err.message, expected)) {
        printf("\n  wanted: %s\n  got:    %s\n", expected, err.message);
        CU_FAIL("message");
    }
    assay_script_close(s);
}

static void options_are_checked(void) {
    static const char text[] = "local o = options { gain = { 'number', default = 2.5, help = 'weight gain' } }\nreturn experiment { name = 'a' }";
    expect_set(text, NULL, ASSAY_OK, "");
    expect_set(text, "gian=1", ASSAY_E_USAGE, "--set gian: no such option (did you mean 'gain'?); the script takes gain, stop, opset, precision, compute_units");
    expect_set(text, "gain=much", ASSAY_E_USAGE, "--set gain=much: expected number; weight gain");
    expect_set(text, "gain", ASSAY_E_USAGE, "--set gain: expected NAME=VALUE");
    expect_set(text, "precision=fp8", ASSAY_E_INPUT, "experiment \"a\".precision: expected fp16 or fp32, got string \"fp8\"");
    expect_set("options { data = { 'path', help = 'folder' } }", NULL, ASSAY_E_USAGE, "whisper.lua:1: option 'data' has no default: --set data=path; folder");
    expect_set("options { n = { 'integer', default = 'x' } }", NULL, ASSAY_E_INPUT, "options.n.default: expected integer, got string \"x\"");
    expect_set("options { n = { 'intger' } }", NULL, ASSAY_E_INPUT, "(did you mean 'integer'?)");
}

/* Arms and fixtures that cannot be made: the message begins with their place. */
static void expect_make(const char *text, bool fixture, const char *expected) {
    const char *path = write_script("whisper.lua", text);
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL_FATAL(assay_script_open(path, NULL, &s, &err), ASSAY_OK);
    assay_program *p = NULL;
    assay_own_tensor *t = NULL;
    size_t n;
    CU_ASSERT_NOT_EQUAL(fixture ? assay_script_make_fixture(s, 0, NULL, &t, &n, &err) : assay_script_make_arm(s, 0, &p, &err), ASSAY_OK);
    if (!strstr(err.message, expected)) {
        printf("\n  wanted: %s\n  got:    %s\n", expected, err.message);
        CU_FAIL("message");
    }
    assay_script_close(s);
}

static void failing_arms_name_arm_and_line(void) {
    assay_ops_register();
    expect_make("return experiment { name = 'a',\n arm { name = 'c', role = 'control', build = function(ctx)\n  return ctx.mil:lineer {} end } }", false,
                "whisper.lua:2: arm \"c\": ");
    expect_make("return experiment { name = 'a',\n arm { name = 'c', role = 'control', build = function(ctx)\n  return ctx.mil:lineer {} end } }", false,
                "whisper.lua:3: no op 'lineer' (did you mean 'linear'?)");
    expect_make("return experiment { name = 'a', arm { name = 'c', role = 'control', build = function(ctx) end } }", false,
                "the function must return its output value, or a list of them; it returned nil");
    expect_make("return experiment { name = 'a', arm { name = 'c', role = 'control', build = function(ctx) return ctx.weigths end } }", false,
                "ctx has no 'weigths'");
    expect_make("return experiment { name = 'a', arm { name = 'c', role = 'control', convert = { 'python3', 'c.py' } } }", false, "does not run converters yet");
    expect_make("local kept\nreturn experiment { name = 'a', arm { name = 'c', role = 'control', build = function(ctx) error('mine') end } }", false, "whisper.lua:2: mine");
}

static void fixtures_that_do_not_fit_are_refused(void) {
    expect_make("return experiment { name = 'a', shapes = { x = { 2, 30, 128 } },\n fixture { name = 'f', inputs = { x = assay.fixture('normal', 'mini') } } }", true,
                "whisper.lua:2: fixture \"f\": input \"x\" has shape [2,30,256], but `shapes` says [2,30,128]");
    expect_make("return experiment { name = 'a', fixture { name = 'f', inputs = { x = assay.full { value = 0 / 0, shape = { 4 } } } } }", true,
                "fixture \"f\": input \"x\" is not finite at flat index 0");
    expect_make("return experiment { name = 'a', fixture { name = 'f', inputs = { x = 'none.npy' } } }", true, "none.npy");
    expect_make("return experiment { name = 'a', fixture { name = 'f', inputs = { x = function() return 3 end } } }", true, "expected a file path, recipe, tensor or function");
}

static void perturbations_change_one_token_and_leave_the_fixture(void) {
    assay_script *s = open_config("mini.lua", NULL, 0);
    assay_own_tensor *a, *b;
    size_t n;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(assay_script_make_fixture(s, 0, "{\"token\":{\"batch\":1,\"position\":20}}", &a, &n, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_script_make_fixture(s, 0, "{}", &b, &n, &err), ASSAY_OK);
    const uint16_t *pa = a[0].t.data, *pb = b[0].t.data;
    size_t differ = 0, outside = 0;
    for (size_t i = 0; i < 2 * 30 * 256; i++) {
        differ += pa[i] != pb[i];
        outside += pa[i] != pb[i] && i / 256 != 30 + 20;
    }
    CU_ASSERT_TRUE(differ > 250);
    CU_ASSERT_EQUAL(outside, 0);
    assay_tensor_free(a);
    assay_tensor_free(b);
    free(a);
    free(b);
    CU_ASSERT_NOT_EQUAL(assay_script_make_fixture(s, 0, "{\"tokn\":{}}", &a, &n, &err), ASSAY_OK);
    CU_ASSERT_NOT_EQUAL(assay_script_make_fixture(s, 0, "{\"token\":{\"position\":30}}", &a, &n, &err), ASSAY_OK);
    assay_script_close(s);
}

ASSAY_SUITE("script", TEST(describes_the_main_experiment), TEST(options_come_from_the_command_line), TEST(makes_arms_and_fixtures),
            TEST(unknown_field_names_line_arm_and_suggestion), TEST(gate_parameters_are_checked_against_the_gate), TEST(names_refer_to_what_is_there),
            TEST(lists_nest_and_strays_are_told), TEST(a_sweep_and_an_earlier_run_are_words_of_their_own), TEST(missing_files_are_named), TEST(options_are_checked),
            TEST(failing_arms_name_arm_and_line), TEST(fixtures_that_do_not_fit_are_refused), TEST(perturbations_change_one_token_and_leave_the_fixture))
