/* Diagnoses: codes that explain a failure and never decide; and the letters of calibration.md section 4. */
#include "similarity.h"
#include <string.h>

static const double fp16_max = 65504;

static void overflow(sim_pair *p, double max_score, sim_report *out) {
    if (!p->all.nonfinite_cand || !(max_score > fp16_max)) return;
    sim_add(out, 2, SIM_DIAGNOSIS, "fp16_overflow_suspected", "",
            "the largest unscaled score is %.6g, above the fp16 maximum 65504: scale before the product", max_score);
}
static void overflow_of_reference(sim_pair *p, sim_report *out) {
    assay_pair_stats self;
    if (!p->all.nonfinite_cand || sim_has_code(out, "fp16_overflow_suspected") ||
        p->s->m->pair(&p->r, &p->r, -1, &self, NULL) != ASSAY_OK)
        return;
    if (self.peak_ref > fp16_max)
        sim_add(out, 2, SIM_DIAGNOSIS, "fp16_overflow_suspected", "", "the reference reaches %.6g, above the fp16 maximum 65504",
                self.peak_ref);
}

static void subnormal(sim_pair *p, sim_report *out) {
    if (p->all.rms_ref < 0x1p-14)
        sim_add(out, 15, SIM_DIAGNOSIS, "fp16_subnormal_range", "",
                "the reference's rms %.4g is below 2^-14: fp16 has few digits there", p->all.rms_ref);
}

/* The first row is right and most others are not: rows start at the wrong place. */
static void layout(sim_pair *p, sim_report *out) {
    const sim_slices *rows = sim_pair_slices(p, SIM_ROW);
    uint64_t wrong = 0;
    if (rows->n < 2 || !(rows->at[0].cosine >= 0.9999)) return;
    for (uint64_t i = 1; i < rows->n; i++) wrong += !(rows->at[i].cosine >= 0.9);
    if (2 * wrong >= rows->n - 1)
        sim_add(out, 15, SIM_DIAGNOSIS, "layout_mismatch_suspected", "",
                "row 0 is right, %llu of %llu other rows have a cosine below 0.9: check strides and padding",
                (unsigned long long)wrong, (unsigned long long)(rows->n - 1));
}

static void hard_drop(const sim_elements *e, sim_report *out) {
    if (e->dropped && 100 * e->dropped >= e->strong)
        sim_add(out, 15, SIM_DIAGNOSIS, "hard_drop_to_zero", "",
                "%llu of %llu elements with abs(r) >= 2^-5 rms are exactly 0, the first at %lld", (unsigned long long)e->dropped,
                (unsigned long long)e->strong, (long long)e->first_dead);
}

/* Only beside a failure: called after the rules. */
void sim_diagnose(sim_pair *p, const sim_elements *e, double max_score, sim_report *out) {
    if (!sim_has(out, SIM_KILL) && !sim_has(out, SIM_INVALID)) return;
    overflow(p, max_score, out);
    overflow_of_reference(p, out);
    if (!sim_finite(p)) return;
    subnormal(p, out);
    layout(p, out);
    hard_drop(e, out);
}

void sim_letters(sim_pair *p, sim_pair *control, char out[8]) {
    const assay_pair_stats *a = &p->all;
    bool finite = sim_finite(p);
    const sim_rows *rows = finite ? sim_pair_rows(p) : NULL;
    struct {
        char letter;
        bool rejects;
    } all[] = {
        {'Z', !finite || a->constant_cand},
        {'C', !(a->cosine >= 0.9999)},
        {'P', !(a->psnr_db >= 40) && !a->identical},
        {'S', !(a->snr_db >= 40) && !a->identical},
        {'R', !finite || (rows->applied && !(rows->cosine >= 0.999))},
        {'G', !(fabs(a->gain - 1) <= 0.01)},
        {'M', control && !(a->max_abs <= 4 * control->all.max_abs)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].rejects) *out++ = all[i].letter;
    *out = 0;
}
