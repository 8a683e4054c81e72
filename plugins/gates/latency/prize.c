/* gates/latency/prize.c: may the gain of one layer be multiplied by the number of layers? (statistics.md 3.6.3)
 *
 * A layer measured alone pays for its own submissions to the units. That cost cancels between the arms only where both are cut into
 * the same number of regions; else a probe of two layers beside that of one tells what a further layer gains. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Runs of ops that the plan prefers on one unit; NaN: a unit is unknown, or there are no rows. */
static double regions(const assay_op_row *rows, uint64_t n) {
    double count = 0.0;
    int32_t last = ASSAY_DEV_NONE;
    for (uint64_t i = 0; i < n; i++) {
        if (rows[i].preferred == ASSAY_DEV_NONE) continue;
        if (rows[i].preferred == ASSAY_DEV_UNKNOWN) return NAN;
        count += rows[i].preferred != last;
        last = rows[i].preferred;
    }
    return count > 0.0 ? count : NAN;
}

assay_status lat_read_regions(const assay_evidence *ev, lat_prize *out, assay_error *err) {
    out->control = out->candidate = NAN;
    for (uint32_t i = 0; i < ev->count(ev, "plan"); i++) {
        assay_item item = { .struct_size = sizeof item };
        assay_status st = ev->item(ev, "plan", i, &item, err);
        if (st != ASSAY_OK) return st;
        if (item.state != ASSAY_OK_STATE || item.kind != ASSAY_K_PLAN) continue;
        *(strcmp(item.label, "control") == 0 ? &out->control : &out->candidate) = regions(item.rows, item.row_count);
    }
    return ASSAY_OK;
}

bool lat_is_comparable(const lat_prize *p) { return p->control == p->candidate; }    /* NaN: not known, so no */

/* Gain of a further layer: two layers less one. Both intervals hold at their confidence, so their difference holds at more than
 * twice the risk allows for (Bonferroni); that errs on the side of no decision. */
void lat_marginal(const lat_decision *one, const lat_decision *two, lat_prize *out) {
    out->marginal = two->gain - one->gain;
    out->lo = two->lo - one->hi;
    out->hi = two->hi - one->lo;
    out->probed = true;
}

assay_verdict lat_prize_rule(const lat_prize *z, const lat_params *p, const assay_finding *f) {
    char text[240];
    if (!z->probed) {
        if (isnan(z->control) || isnan(z->candidate)) snprintf(text, sizeof text, "how often each arm is submitted to a unit is not known");
        else snprintf(text, sizeof text, "control has %g regions, candidate %g", z->control, z->candidate);
        snprintf(text + strlen(text), sizeof text - strlen(text), ": layers x gain is no prize; give 2-layer arms (probe_control, probe_arm)");
        f->reason(f, "prize_not_comparable", text, "");
        return ASSAY_INCONCLUSIVE;
    }
    if (p->layers * z->hi < p->min_prize_ms) {
        snprintf(text, sizeof text, "%g layers gain at most %.6g ms by the 2-layer probe, the prize is %g ms", p->layers, p->layers * z->hi, p->min_prize_ms);
        f->reason(f, "below_prize", text, "");
        return ASSAY_KILL;
    }
    if (p->layers * z->lo >= p->min_prize_ms) return ASSAY_PASS;
    f->reason(f, "prize_not_decided", "the prize lies inside the interval of the 2-layer probe", "");
    return ASSAY_INCONCLUSIVE;
}

void lat_prize_figures(const lat_prize *z, double layers, const assay_finding *f) {
    lat_metric(f, "prize", "control_regions", z->control, "regions");
    lat_metric(f, "prize", "candidate_regions", z->candidate, "regions");
    if (!z->probed) return;
    lat_metric(f, "prize", "marginal_gain_ms", z->marginal, "ms");
    lat_metric(f, "prize", "marginal_gain_ms_ci_low", z->lo, "ms");
    lat_metric(f, "prize", "marginal_gain_ms_ci_high", z->hi, "ms");
    lat_metric(f, "gate", "projected_gain_ms", layers * z->marginal, "ms");
    lat_metric(f, "gate", "prize_low_ms", layers * z->lo, "ms");
    lat_metric(f, "gate", "prize_high_ms", layers * z->hi, "ms");
}

/* "faster" is not "continue": that needs the rest of the gap, closed by the lower bound (M66). */
void lat_gap(double gap_ms, double prize_low_ms, const assay_finding *f) {
    char text[160];
    lat_metric(f, "gate", "gap_ms", gap_ms, "ms");
    lat_metric(f, "gate", "gap_left_ms", gap_ms - prize_low_ms, "ms");
    if (!(gap_ms > 0.0) || isnan(prize_low_ms)) {
        f->detail(f, "metrics:gate.continue", "null");
        return;
    }
    bool closed = prize_low_ms >= gap_ms;
    f->detail(f, "metrics:gate.continue", closed ? "true" : "false");
    snprintf(text, sizeof text, "all layers together gain at least %.6g ms of the %g ms that are missing", prize_low_ms, gap_ms);
    f->reason(f, closed ? "gap_closed" : "gap_not_closed", text, "");
}
