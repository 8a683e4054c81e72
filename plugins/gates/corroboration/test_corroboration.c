/* The corroboration gate: each rule by itself on small records (rows in the names). */
#include "unit/suite.h"
#include "plugin/evidence.h"
#include <math.h>

static assay_registry *registry;

static void add(assay_evidence_set *ev, const char *role, const char *json) {
    assay_json *j = NULL;
    assay_error err = {0};
    if (!json) return;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(json, strlen(json), role, &j, &err), ASSAY_OK);
    assay_evidence_add_json(ev, role, "", NULL, ASSAY_ORIGIN_IMPORTED, "", j);
    assay_json_free(j);
}

#define ON(build, boot) "\"hw_model\":\"Macmini9,1\",\"os_build\":\"" build "\",\"boot_time\":\"" boot "\""
#define LOG_ON(build, samples) "{\"schema\":\"power-log/1\"," ON(build, "b") ",\"samples\":[" samples "]}"
#define LOG(samples) LOG_ON("24G720", samples)
#define AT(end, rails) "{\"end_s\":" end ",\"elapsed_s\":1,\"rails_mw\":{" rails "}}"
#define FIVE(a, b, c, d, e) LOG(AT("11", a) "," AT("12", b) "," AT("13", c) "," AT("14", d) "," AT("30", e))
#define ZERO "\"ane\":0"
#define SOME "\"ane\":47"
#define TIMES_ON(boot) "{\"schema\":\"prediction-intervals/1\"," ON("24G720", boot) ",\"intervals\":[[10,12],[12,14.4]]}"
#define TIMES TIMES_ON("b")
#define SAMPLERS "{\"schema\":\"power-samplers/1\",\"samplers\":[\"tasks\",\"cpu_power\"]}"

typedef struct given {
    const char *rails, *intervals, *cpu_only, *idle, *positive, *samplers, *trace;
} given;

/* A run that passes; each test takes something away. */
static given right(void) {
    return (given){.rails = FIVE(SOME, SOME, SOME, SOME, ZERO), .intervals = TIMES, .cpu_only = LOG(AT("5", ZERO)), .samplers = SAMPLERS};
}

static assay_json *verdict_of(given g) {
    assay_error err = {0};
    assay_json *params = assay_json_object(), *v = NULL;
    if (!registry) {
        registry = assay_registry_new();
        CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/corroboration.so", &err), ASSAY_OK);
    }
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "rails", g.rails);
    add(ev, "intervals", g.intervals);
    add(ev, "cpu_only", g.cpu_only);
    add(ev, "idle", g.idle);
    add(ev, "positive", g.positive);
    add(ev, "samplers", g.samplers);
    add(ev, "trace", g.trace);
    CU_ASSERT_EQUAL_FATAL(assay_judge(registry, "corroboration", params, ev, &v, &err), ASSAY_OK);
    assay_evidence_free(ev);
    assay_json_free(params);
    return v;
}

static void expect(given g, const char *want) {
    assay_json *v = verdict_of(g);
    assay_buf b = {0};
    assay_buf_str(&b, assay_printed_verdict(v));
    const assay_json *lists[] = {assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons")};
    for (int k = 0; k < 2; k++)
        for (const assay_json *r = assay_json_first(lists[k]); r; r = assay_json_next(r))
            assay_buf_printf(&b, " %s", assay_json_string(r, "code", ""));
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) printf("\n  got:  %s\n  want: %s\n", b.data, want);
    assay_buf_free(&b);
    assay_json_free(v);
}

/* Only samples that the predictions fill count. */
static void M41_yes_power_during_the_predictions(void) {
    assay_json *v = verdict_of(right());
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(v), "pass");
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.run.samples")), 4);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.run.peak")), 47);
    assay_json_free(v);
}

static void M41_no_power_outside_of_them(void) {
    given g = right();
    g.rails = FIVE(ZERO, ZERO, ZERO, ZERO, SOME);
    expect(g, "inconclusive zero_without_positive_control");
    g.positive = LOG(AT("5", ZERO));
    expect(g, "inconclusive zero_without_positive_control");
    g.positive = LOG(AT("5", SOME));
    expect(g, "kill rail_silent");
    g.rails = FIVE(SOME, ZERO, ZERO, ZERO, SOME);
    expect(g, "inconclusive too_few_nonzero");
}

static void M41_no_three_states(void) {
    given g = right();
    g.rails = FIVE("", "", "", "", "");
    expect(g, "not-measured rail_not_sampled");
    g.rails = NULL;
    expect(g, "not-measured no_rail_log");
    g.rails = "{\"schema\":\"power-log/9\"}";
    expect(g, "not-measured unknown_format no_rail_log");
    g.rails = FIVE(SOME, SOME, "", "", SOME);
    expect(g, "inconclusive too_few_samples");
}

static void M41_no_intervals_of_this_boot(void) {
    given g = right();
    g.intervals = NULL;
    expect(g, "inconclusive no_intervals");
    g.intervals = TIMES_ON("another");
    expect(g, "invalid logs_of_different_hosts");
    g = right();
    g.cpu_only = LOG_ON("25F84", AT("5", ZERO));
    expect(g, "invalid logs_of_different_hosts");
}

static void M47_no_contrast(void) {
    given g = right();
    g.cpu_only = NULL;
    expect(g, "inconclusive no_cpu_only_contrast");
    g.cpu_only = LOG(AT("5", ""));
    expect(g, "inconclusive no_cpu_only_contrast");
    g.cpu_only = LOG(AT("5", SOME));
    expect(g, "inconclusive contrast_not_silent");
    g = right();
    g.idle = LOG(AT("5", SOME));
    expect(g, "inconclusive contrast_not_silent");
}

/* M47_yes M48_yes: silent contrasts, and the sampler is on the host's own list. */
static void silent_contrasts_pass(void) {
    given g = right();
    g.idle = LOG(AT("5", ZERO));
    expect(g, "pass");
}

static void M48_no_sampler_is_assumed(void) {
    given g = right();
    g.samplers = NULL;
    expect(g, "inconclusive samplers_not_enumerated");
    g.samplers = "{\"schema\":\"power-samplers/1\",\"samplers\":[\"tasks\"]}";
    expect(g, "invalid sampler_not_offered");
}

static void M46_no_trace_alone(void) {
    given g = {.trace = "\"<trace-query-result/>\""};
    expect(g, "not-measured unknown_trace_schema no_rail_log");
}

static void M46_yes_a_trace_beside_the_rails_adds_nothing(void) {
    given g = right();
    g.trace = "\"<trace-query-result/>\"";
    expect(g, "pass unknown_trace_schema");
}

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("corroboration", TEST(M41_yes_power_during_the_predictions), TEST(M41_no_power_outside_of_them), TEST(M41_no_three_states),
            TEST(M41_no_intervals_of_this_boot), TEST(M47_no_contrast), TEST(silent_contrasts_pass), TEST(M48_no_sampler_is_assumed),
            TEST(M46_no_trace_alone), TEST(M46_yes_a_trace_beside_the_rails_adds_nothing), TEST(tear_down))
