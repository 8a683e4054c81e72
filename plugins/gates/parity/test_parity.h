/* gates/parity/test_parity.h: a reference, a candidate that is it rounded, and a control that is off by 2^-10 of each element. */
#ifndef ASSAY_TEST_PARITY_H
#define ASSAY_TEST_PARITY_H
#include "unit/gate_pair.h"

enum { B = 2, H = 3, S = 40, E = 16, N = B * H * S * E };
static const int64_t shape[] = {B, H, S, E};
#define BHSD "\"layout\":\"BHSD\""
#define AT(b, h, s, e) ((((size_t)(b)*H + (size_t)(h)) * S + (size_t)(s)) * E + (size_t)(e))

static double r[N], c[N], k[N];
__attribute__((unused)) static void reset(void) {
    fill(r, N, "test/parity/r");
    for (int i = 0; i < N; i++) c[i] = r[i], k[i] = r[i] * (1 + (i % 2 ? 0x1p-10 : -0x1p-10));
}
__attribute__((unused)) static assay_evidence_set *pair_of(const double *ref, const double *cand) {
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "reference", "", ASSAY_F64, 4, shape, ref);
    put(ev, "candidate", "", ASSAY_F16, 4, shape, cand);
    return ev;
}
__attribute__((unused)) static assay_json *alone(const char *params) { return judge("parity", pair_of(r, c), params, NULL); }
__attribute__((unused)) static assay_json *with_control(const char *params) {
    assay_evidence_set *ev = pair_of(r, c);
    put(ev, "control", "", ASSAY_F16, 4, shape, k);
    return judge("parity", ev, params, NULL);
}
#endif
