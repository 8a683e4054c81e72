/* Got against expected: numbers within a tolerance, intervals by their ends, everything else equal. */
#include "run/case.h"
#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *assay_case_worst(const char *a, const char *b) {
    static const char *const order[] = {"invalid", "kill", "inconclusive", "not-measured", "pass"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (assay_streq(a, order[i]) || assay_streq(b, order[i])) return order[i];
    return a ? a : b;
}

static bool differ(char **diff, const char *where, const assay_json *got, const assay_json *expected) {
    char *g = got ? assay_json_print(got) : assay_xstrdup("nothing"), *e = assay_json_print(expected);
    *diff = assay_xprintf("%s: got %.200s, expected %.200s", where, g, e);
    free(g);
    free(e);
    return false;
}

static bool near(double got, double expected, double rel, double abs) {
    return got == expected || fabs(got - expected) <= abs + rel * fabs(expected);
}

/* {lo, hi, rank_lo?, rank_hi?, tol?}; the other fields only describe. */
static bool interval(const assay_json *got, const assay_json *expected, double rel, double abs, const char *where, char **diff) {
    static const char *const ends[] = {"lo", "hi"}, *const ranks[] = {"rank_lo", "rank_hi"};
    double tol = assay_json_number(expected, "tol", 0);
    for (int i = 0; i < 2; i++) {
        double g = assay_json_number(got, ends[i], NAN), e = assay_json_number(expected, ends[i], NAN);
        if (!(fabs(g - e) <= tol || near(g, e, rel, abs))) return differ(diff, where, got, expected);
        if (assay_json_get(expected, ranks[i]) && assay_json_int(got, ranks[i], -1) != assay_json_int(expected, ranks[i], -2))
            return differ(diff, where, got, expected);
    }
    return true;
}

static bool members(const assay_json *got, const assay_json *expected, double rel, double abs, const char *where, char **diff) {
    bool list = assay_json_kind(expected) == ASSAY_J_ARRAY, same = true;
    if (list && assay_json_len(got) != assay_json_len(expected)) return differ(diff, where, got, expected);
    for (size_t i = 0; same && i < assay_json_len(expected); i++) {
        const char *key = list ? NULL : assay_json_key_at(expected, i);
        const assay_json *g = list ? assay_json_at(got, i) : assay_json_get(got, key);
        char *name = list ? assay_xprintf("%s[%zu]", where, i) : assay_xprintf("%s%s%s", where, *where ? "." : "", key);
        same = g ? assay_case_agrees(g, assay_json_at(expected, i), rel, abs, name, diff)
                 : differ(diff, name, NULL, assay_json_at(expected, i));
        free(name);
    }
    return same;
}

bool assay_case_agrees(const assay_json *got, const assay_json *expected, double rel, double abs, const char *where,
                       char **diff) {
    int kind = assay_json_kind(expected);
    bool infinite = kind == ASSAY_J_STRING && isinf(assay_json_value(expected)); /* old files: "inf" = null with identical */
    if (infinite && assay_json_kind(got) == ASSAY_J_NULL) return true;
    if (assay_json_kind(got) != kind) return differ(diff, where, got, expected);
    if (kind == ASSAY_J_NUMBER)
        return near(assay_json_value(got), assay_json_value(expected), rel, abs) || differ(diff, where, got, expected);
    if (kind == ASSAY_J_OBJECT && assay_json_get(expected, "lo") && assay_json_get(expected, "hi"))
        return interval(got, expected, rel, abs, where, diff);
    if (kind == ASSAY_J_OBJECT || kind == ASSAY_J_ARRAY) return members(got, expected, rel, abs, where, diff);
    return assay_json_equal(got, expected) || differ(diff, where, got, expected);
}
