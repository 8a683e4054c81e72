/* gates/latency/test_latency_vectors.c: the estimators against tests/data/latency_vectors.txt, which an independent script computed. */
#include "unit/suite.h"
#include "latency.h"
#include "base/fs.h"
#include "plugin/mathiface.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 64, FIELDS = 14, RESAMPLES = 1000 };
typedef struct line { char *field[FIELDS]; int n; } line;
static int sets, rands, bcas, blocks;

static const assay_math_1 *M(void) { return assay_math_iface(); }

/* "-" is undefined. */
static void same(double got, const char *want, double tolerance) {
    bool undefined = strcmp(want, "-") == 0;
    double w = undefined ? NAN : strtod(want, NULL);
    CU_ASSERT_TRUE(undefined ? isnan(got) : fabs(got - w) <= tolerance * (1.0 + fabs(w)));
}

/* n multiples of 2^-bits between -2 and 6 from the stream of set k. */
static void values(int k, size_t n, int bits, double *out) {
    char label[48];
    snprintf(label, sizeof label, "latency/vectors/%d", k);
    uint64_t s = M()->stream(label);
    for (size_t i = 0; i < n; i++) out[i] = ldexp((double)(M()->u64(s, i) >> (61 - bits)), -bits) - 2.0;
}

static void check_set(const line *l, int k, size_t n) {
    static const double p[] = { 0.05, 0.25, 0.5, 0.95 };
    double v[N_MAX];
    int bits;
    frexp(strtod(l->field[3], NULL), &bits);     /* ticks is a power of two */
    bits--;
    values(k, n, bits, v);
    double *s = lat_sorted_copy(v, n);
    for (int i = 0; i < 4; i++) same(lat_quantile(s, n, p[i]), l->field[4 + i], 1e-12);
    free(s);
    lat_interval o = lat_order_interval(M(), v, n, 0.95);
    same(o.lo, l->field[8], 0.0);
    same(o.hi, l->field[9], 0.0);
    lat_hl h = lat_hodges_lehmann(v, n, 0.95);
    same(h.estimate, l->field[10], 1e-12);
    same(h.ci.lo, l->field[11], 0.0);
    same(h.ci.hi, l->field[12], 0.0);
    sets++;
}

static void check_rand(const line *l, int k, size_t n) {
    double d[N_MAX];
    bool first[N_MAX];
    uint32_t process[N_MAX], p = 0;
    values(1000 + k, n, k % 2 ? 4 : 40, d);
    size_t at = 0;
    for (char *c = l->field[3]; *c; p++) {
        size_t size = strtoul(c, &c, 10);
        for (size_t i = 0; i < size; i++) process[at++] = p;
        c += *c == ',';
    }
    CU_ASSERT_EQUAL(at, n);
    for (size_t i = 0; i < n; i++) first[i] = l->field[4][i] == '1';
    same(lat_randomisation_p(M(), d, first, process, n, "1"), l->field[5], 1e-12);
    same(lat_sign_flip_p(M(), d, n, "1"), l->field[6], 1e-12);
    same(lat_sign_flip_p_median(M(), d, n, "1"), l->field[7], 1e-12);
    rands++;
}

static void check_bca(const line *l, int k, size_t n) {
    double v[N_MAX];
    values(2000 + k, n, 40, v);
    lat_bca b = lat_bca_mean(M(), v, n, "1", RESAMPLES, 0.95);
    lat_pair p = lat_boot_mean(M(), v, n, "1", RESAMPLES, 0.95);
    const double got[] = { b.z0, b.a, b.ci.lo, b.ci.hi, p.lo, p.hi };
    for (int i = 0; i < 6; i++) same(got[i], l->field[3 + i], 1e-9);
    bcas++;
}

static void check_blocks(const line *l, int k, size_t n) {
    double v[N_MAX];
    values(2000 + k, n, 40, v);
    lat_pair p = lat_block_boot(M(), v, n, 0, true, "1", RESAMPLES, 0.95);
    same(p.lo, l->field[3], 1e-12);
    same(p.hi, l->field[4], 1e-12);
    blocks++;
}

static void check(line *l) {
    static const struct { const char *kind; int fields; void (*check)(const line *, int, size_t); } kinds[] = {
        { "set", 13, check_set }, { "rand", 8, check_rand }, { "bca", 9, check_bca }, { "mbb", 5, check_blocks },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(l->field[0], kinds[i].kind) == 0 && l->n == kinds[i].fields) {
            size_t n = strtoul(l->field[2], NULL, 10);
            CU_ASSERT_TRUE_FATAL(n <= N_MAX);
            kinds[i].check(l, (int)strtol(l->field[1], NULL, 10), n);
        }
}

static void stored_values(void) {
    char *text = NULL, *rest, *word;
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(assay_read_file(ASSAY_SOURCE_DIR "/tests/data/latency_vectors.txt", 1 << 20, &text, &len, NULL), ASSAY_OK);
    for (char *row = strtok_r(text, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest)) {
        line l = { .n = 0 };
        char *cells;
        for (word = strtok_r(row, " ", &cells); word && l.n < FIELDS; word = strtok_r(NULL, " ", &cells)) l.field[l.n++] = word;
        if (l.n) check(&l);
    }
    free(text);
    CU_ASSERT_EQUAL(sets, 200);
    CU_ASSERT_EQUAL(rands, 40);
    CU_ASSERT_EQUAL(bcas, 12);
    CU_ASSERT_EQUAL(blocks, 12);
}

/* What no number is has no p: it must not come out as a rare event. */
static void no_number_has_no_p(void) {
    double d[] = { 1.0, NAN, 2.0, 3.0 };
    const bool first[] = { true, false, true, false };
    const uint32_t process[4] = { 0 };
    CU_ASSERT_TRUE(isnan(lat_sign_flip_p(M(), d, 4, "1")));
    CU_ASSERT_TRUE(isnan(lat_sign_flip_p_median(M(), d, 4, "1")));
    CU_ASSERT_TRUE(isnan(lat_sign_flip_p_median(M(), d, 0, "1")));
    CU_ASSERT_TRUE(isnan(lat_randomisation_p(M(), d, first, process, 0, "1")));
}

ASSAY_SUITE("latency vectors", TEST(stored_values), TEST(no_number_has_no_p))
