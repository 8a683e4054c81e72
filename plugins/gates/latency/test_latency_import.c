/* gates/latency/test_latency_import.c: files of other harnesses: what is read, what is refused, and that damage is survived. */
#include "unit/suite.h"
#include "latency.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const lat_names nobody = { "", "" };
static const char *const hyperfine = "{\"results\":[{\"command\":\"a\",\"times\":[0.5,0.25],\"exit_codes\":[0,0]},{\"command\":\"b\",\"times\":[0.125]}]}";
static const char *const google = "{\"benchmarks\":[{\"run_name\":\"a\",\"run_type\":\"iteration\",\"real_time\":2,\"time_unit\":\"us\"},"
                                  "{\"name\":\"b\",\"real_time\":3},{\"run_name\":\"a\",\"run_type\":\"aggregate\",\"real_time\":9}]}";
static const char *const csv = "process,block,arm,us\n0,0,A,1000\n0,0,B,500\n0,0,B,500\n0,0,A,1000\n1,0,B,500\n1,0,A,1000\n1,0,A,1000\n1,0,B,500\n";

static assay_status import(const char *text, const lat_names *names, lat_data *d) {
    assay_error err = { 0 };
    memset(d, 0, sizeof *d);
    d->paired = d->order_recorded = d->alternating = true;
    if (*text != '{') return lat_import_csv(text, names, d, &err);
    cJSON *doc = cJSON_Parse(text);
    assay_status st = doc ? lat_import_json(doc, names, d, &err) : ASSAY_E_INPUT;
    cJSON_Delete(doc);
    return st;
}

static void hyperfine_is_seconds(void) {
    lat_data d;
    CU_ASSERT_EQUAL(import(hyperfine, &nobody, &d), ASSAY_OK);
    CU_ASSERT_EQUAL(d.n_control, 2);
    CU_ASSERT_EQUAL(d.n_candidate, 1);
    CU_ASSERT_EQUAL(d.control[1], 250.0);
    CU_ASSERT_FALSE(d.paired);
    lat_data_free(&d);
    const lat_names swapped = { "b", "a" };
    CU_ASSERT_EQUAL(import(hyperfine, &swapped, &d), ASSAY_OK);
    CU_ASSERT_EQUAL(d.control[0], 125.0);
    lat_data_free(&d);
}

static void google_benchmark_has_units_and_aggregates(void) {
    lat_data d;
    CU_ASSERT_EQUAL(import(google, &nobody, &d), ASSAY_OK);
    CU_ASSERT_EQUAL(d.n_control, 1);
    CU_ASSERT_DOUBLE_EQUAL(d.control[0], 2e-3, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(d.candidate[0], 3e-6, 1e-18);    /* without a unit: nanoseconds */
    CU_ASSERT_FALSE(d.order_recorded);                      /* the file does not say in which order they ran */
    lat_data_free(&d);
    CU_ASSERT_EQUAL(import("{\"benchmarks\":[{\"name\":\"a\",\"real_time\":3,\"time_unit\":\"min\"},{\"name\":\"b\",\"real_time\":3}]}", &nobody, &d), ASSAY_OK);
    CU_ASSERT_TRUE(d.bad_sample);
    lat_data_free(&d);
}

static void csv_blocks_have_order_and_process(void) {
    lat_data d;
    CU_ASSERT_EQUAL(import(csv, &nobody, &d), ASSAY_OK);
    CU_ASSERT_EQUAL(d.n_blocks, 2);
    CU_ASSERT_EQUAL(d.processes, 2);
    CU_ASSERT_TRUE(d.blocks[0].control_first);
    CU_ASSERT_FALSE(d.blocks[1].control_first);
    CU_ASSERT_EQUAL(d.blocks[1].process, 1);
    CU_ASSERT_EQUAL(d.blocks[0].candidate[1], 0.5);
    CU_ASSERT_TRUE(d.paired);
    lat_data_free(&d);
}

static void refusals(void) {
    static const char *const bad[] = { "", "\n\n# only a comment\n", "arm\nA\n", "arm,ms\n", "arm,ms\nC,1\n", "arm,ms\nA\n", "control,control,candidate\n1,2,3\n",
                                       "control,candidate,order\n1,2,CD\n", "control,candidate\n1,5,2\n", "control,candidate\n1,5,2,5\n", "control,candidate,order\n1,2\n",
                                       "control,candidate,process\n1,2,a\n1,2,b\n1,2,a\n", "control_h,candidate\n1,2\n",
                                       "control,candidate\n1111111111222222222233333333334444444444555555555566666666667777777777,2\n", "control,candidate,arm,ms\n1,2,A,3\n", "{}", "{\"results\":[{\"times\":[1]}]}", "{\"benchmarks\":[{\"real_time\":1}]}" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lat_data d;
        CU_ASSERT_NOT_EQUAL(import(bad[i], &nobody, &d), ASSAY_OK);
        lat_data_free(&d);
    }
}

/* A command is told from another by its whole text; of two files the second may begin with the other arm. */
static void commands_are_told_apart(void) {
#define LONG "a-command-that-is-longer-than-any-name-of-an-arm-would-be-and-ends-in-flag-"
    static const char *const two = "{\"results\":[{\"command\":\"" LONG "1\",\"times\":[0.5]},{\"command\":\"" LONG "2\",\"times\":[0.25]}]}";
    lat_data d;
    assay_error err;
    CU_ASSERT_EQUAL(import(two, &nobody, &d), ASSAY_OK);
    CU_ASSERT_EQUAL(d.n_blocks, 1);
    cJSON *doc = cJSON_Parse(two);
    CU_ASSERT_EQUAL(lat_import_json(doc, &nobody, &d, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "control and arm"));
    const lat_names named = { LONG "2", LONG "1" };
    CU_ASSERT_EQUAL(lat_import_json(doc, &named, &d, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(d.n_blocks, 2);
    CU_ASSERT_EQUAL(d.control[1], 250.0);
    cJSON_Delete(doc);
    lat_data_free(&d);
}

/* Every prefix, and every byte replaced by another: no crash, no read out of bounds (the sanitizer run sees it). */
static void damage_is_survived(void) {
    static const char other[] = { '"', ',', '\n', '-', '9', '[', 'x' };
    const char *const all[] = { hyperfine, google, csv };
    for (size_t k = 0; k < 3; k++) {
        size_t n = strlen(all[k]);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= sizeof other; j++) {
                char *text = malloc(n + 1);
                lat_data d;
                memcpy(text, all[k], n + 1);
                text[i] = j < sizeof other ? other[j] : 0;
                import(text, &nobody, &d);
                CU_ASSERT_TRUE(d.n_blocks <= 8 && d.n_control <= 8);
                lat_data_free(&d);
                free(text);
            }
    }
}

ASSAY_SUITE("latency import", TEST(hyperfine_is_seconds), TEST(google_benchmark_has_units_and_aggregates), TEST(csv_blocks_have_order_and_process), TEST(refusals), TEST(commands_are_told_apart), TEST(damage_is_survived))
