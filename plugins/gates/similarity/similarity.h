/* similarity.h: what parity, dead_path and sensitivity share: parameters, figures of a pair, rules, power, findings.
 * The rules are those of statistics.md section 3.2 and keep its numbers. All comparisons are written so that NaN fails. */
#ifndef ASSAY_GATES_SIMILARITY_H
#define ASSAY_GATES_SIMILARITY_H
#include "assay/gate.h"
#include "assay/metrics.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- parameters (params.c). A limit that is NaN is not in force. */
enum { SIM_PRESET_DEFAULT = 0, SIM_PRESET_REPORT, SIM_PRESET_CALIBRATION, SIM_PRESET_NONE };
typedef struct sim_limits {
    double cosine_min, centred_cosine_min, per_head_cosine_min, row_cosine_min, gain_tolerance;
    double rel_l2_max, max_abs_max, psnr_min_db, snr_min_db, atol, rtol;
    double max_abs_factor, row_rel_l2_factor, rel_l2_factor, outlier_share_max;
    double control_floor;                        /* 2^-11, or 0: added to the control-relative limits */
    double row_skip;                             /* rows below this share of the rms row norm take no part; 0: zero rows */
    bool slices_dead;                            /* rule 4 for slices and rows, not for the tensor only */
} sim_limits;
typedef struct sim {
    const assay_host *host; const assay_params *params; const assay_metrics_1 *m;
    int preset; sim_limits lim;
    assay_axes given; int32_t step_axis, repeat_axis; char layout[ASSAY_RANK_MAX + 1];
    int64_t valid_tokens;                        /* positions from here on along the token axis are padding; 0: none is */
    uint32_t repeats;                            /* of each call of the candidate in a run */
    bool any_axis, in_run;                       /* in_run: evidence is asked for by arm */
} sim;
assay_status sim_open(sim *s, const assay_host *host, const assay_params *params, assay_error *err);
/* Axes of a tensor of this rank: layout tag, else parameters, else [B,H,S,E] in a run, else only the last axis = channel. */
assay_status sim_axes(const sim *s, uint32_t rank, assay_axes *out, assay_error *err);
/* Leaves out the padding along the token axis. */
assay_tensor sim_valid(const sim *s, const assay_tensor *t);
const char *sim_param_text(const sim *s, const char *name, uint32_t i);      /* "" when not given */
double sim_param_number(const sim *s, const char *name, double otherwise);
/* The host's metrics; NULL and an error where it has none, or an older table than this gate reads. */
const assay_metrics_1 *sim_metrics(const assay_host *host, assay_error *err);
assay_status sim_fail(assay_error *err, assay_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define SIM_NUMBER(name, unit, lo, hi, help) { name, "", 0, unit, help, lo, hi, ASSAY_T_NUMBER, 0 }
#define SIM_AXIS(name, help) { name, "", 0, "axis", help, 0, ASSAY_RANK_MAX - 1, ASSAY_T_INT, 0 }
#define SIM_TEXT(name, def, help) { name, def, 0, "", help, 1, 0, ASSAY_T_STRING, 0 }
#define SIM_TEXTS(name, def, help) { name, def, 0, "", help, 1, 0, ASSAY_T_STRING | ASSAY_T_LIST, 0 }
#define SIM_PARAMS(fixtures, factor_flags)                                                                                              \
    SIM_TEXT("arm", "@candidate", "arm under test"), SIM_TEXT("control", "@control", "arm it is compared with"),          \
    SIM_TEXTS("fixture", fixtures, "fixtures asked for"), SIM_TEXTS("must_fail", "@must_fail", "arms to be rejected"),   \
    SIM_TEXTS("negative", "@negative", "arms expected to be right, shown only"),                                         \
    { "preset", "default", "default|report|calibration-4|none", "", "rules in force where nothing is said", 1, 0, ASSAY_T_STRING, 0 }, \
    SIM_NUMBER("cosine_min", "", -1, 1, "cosine of the whole tensor (default 0.9999)"),                                  \
    SIM_NUMBER("centred_cosine_min", "", -1, 1, "cosine without the token mean; needs a token axis (default 0.999)"),    \
    SIM_NUMBER("per_head_cosine_min", "", -1, 1, "worst (batch, head); needs a head axis (default 0.9999)"),             \
    SIM_NUMBER("row_cosine_min", "", -1, 1, "worst row along the channel axis (default 0.999)"),                         \
    SIM_NUMBER("gain_tolerance", "", 0, 1e300, "largest abs(gain - 1) (default 2^-7)"),                                  \
    SIM_NUMBER("rel_l2_max", "", 0, 1e300, "norm(c-r)/norm(r) (none)"),                                                  \
    SIM_NUMBER("max_abs_max", "units of the tensor", 0, 1e300, "largest abs(c-r) (none)"),                               \
    SIM_NUMBER("psnr_min_db", "dB", -1e300, 1e300, "peak signal to noise (none); identical tensors meet it"),            \
    SIM_NUMBER("snr_min_db", "dB", -1e300, 1e300, "signal to noise (none); identical tensors meet it"),                  \
    SIM_NUMBER("atol", "units of the tensor", 0, 1e300, "abs(c-r) <= atol + rtol abs(r) for every element (none)"),      \
    SIM_NUMBER("rtol", "", 0, 1e300, "see atol (none)"),                                                                 \
    { "max_abs_factor_vs_control", "", 0, "", "max_abs against the control's (default 4)", 0, 1e300, ASSAY_T_NUMBER, factor_flags }, \
    SIM_NUMBER("row_rel_l2_factor_vs_control", "", 0, 1e300, "worst row against the control's (default 4)"),             \
    SIM_NUMBER("rel_l2_factor_vs_control", "", 0, 1e300, "rel_l2 against the control's (default 2)"),                    \
    SIM_NUMBER("outlier_share_max", "", 0, 1, "energy share of one element that asks for the rules without it (default 0.5)"), \
    SIM_TEXT("layout", "", "axes as a tag: B batch, H head, S token, C D or E channel, 1 none; e.g. BHSD"),              \
    SIM_TEXT("candidate_layout", "", "tag of the candidate where it is known; another one than the reference's is refused"), \
    SIM_AXIS("batch_axis", "batch"), SIM_AXIS("head_axis", "head; batch is axis 0 unless given"),                        \
    SIM_AXIS("token_axis", "token"), SIM_AXIS("channel_axis", "channel")

/* ---- figures of a pair (figures.c), computed on demand and kept. `n` 0: the slice does not exist. */
enum { SIM_BH = 0, SIM_HEAD, SIM_ROW, SIM_CHANNEL, SIM_KINDS };
typedef struct sim_slices { assay_pair_stats *at; uint64_t n; uint32_t keep; bool done; } sim_slices;
typedef struct sim_rows {                        /* over the rows that are not skipped */
    uint64_t total, skipped, dead; int64_t first_dead, worst, worst_error; double cosine, rel_l2, floor; bool applied;
} sim_rows;
typedef struct sim_centred { bool applied; double cosine, share, *bh_cosine, *bh_share; uint64_t n; } sim_centred;
typedef struct sim_further { bool done; double ulp[3]; uint64_t over; sim_centred centred; } sim_further;
typedef struct sim_pair {
    const sim *s; assay_tensor r, c; assay_axes axes; assay_pair_stats all, rest; /* rest: without the element of most energy */
    sim_slices slices[SIM_KINDS]; sim_rows rows; sim_further further; bool rows_done;
} sim_pair;
bool sim_same_shape(const assay_tensor *a, const assay_tensor *b);
int64_t sim_count(const assay_tensor *t);
/* How many query heads share one head of `k` ([..., heads, tokens, width], heads of q a multiple of k's, the other leading axes
 * equal): query group g goes with group g / copies. 0: the leading axes do not belong together. */
int64_t sim_head_copies(const assay_tensor *q, const assay_tensor *k);
/* Shapes must be equal. Release with sim_pair_close. */
assay_status sim_pair_open(const sim *s, const assay_tensor *r, const assay_tensor *c, sim_pair *p, assay_error *err);
void sim_pair_close(sim_pair *p);
const sim_slices *sim_pair_slices(sim_pair *p, int kind);
const sim_rows *sim_pair_rows(sim_pair *p);
/* Centred cosine, ULPs and, where the element rule is declared, the elements beyond it: two passes for all of them. */
const sim_further *sim_pair_further(sim_pair *p);
const sim_centred *sim_pair_centred(sim_pair *p);
bool sim_finite(const sim_pair *p);              /* both tensors */
const char *sim_index_text(const assay_tensor *t, uint32_t keep, int64_t flat, char out[96]);    /* "[0,3,17]" over the kept axes */

/* ---- looks at the elements (elements.c) */
typedef struct sim_elements {
    uint64_t rows_total, rows_nonfinite, leading_rows_equal, subnormal, strong, dropped; bool argmax_equal; int64_t first_dead;
} sim_elements;
assay_status sim_elements_look(const sim_pair *p, sim_elements *out, assay_error *err);
uint64_t sim_differing(const sim *s, const assay_tensor *a, const assay_tensor *b);          /* elements with a != b, NaN counted */
uint32_t sim_constant_axes(const sim *s, const assay_tensor *t);                             /* bit set; axes longer than 1 */
double sim_max_score(const sim *s, const assay_tensor *query, const assay_tensor *key);      /* NaN when shapes do not fit */

/* ---- outcomes of rules (report.c) */
enum { SIM_KILL = 1, SIM_INVALID, SIM_UNDECIDED, SIM_DIAGNOSIS };
typedef struct sim_outcome { int rule, kind; const char *code; char message[480], where[96]; } sim_outcome;
typedef struct sim_line { const char *rule; bool applied; char why[80]; } sim_line;
typedef struct sim_report { sim_outcome *items; size_t n, cap; sim_line *lines; size_t n_lines, cap_lines; } sim_report;
void sim_report_free(sim_report *r);
void sim_add(sim_report *r, int rule, int kind, const char *code, const char *where, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void sim_line_add(sim_report *r, const char *rule, bool applied, const char *why);
bool sim_has(const sim_report *r, int kind);
bool sim_has_code(const sim_report *r, const char *code);
bool sim_applied(const sim_report *r, const char *rule);
/* First failing rule of 0-5 decides; else invalid > kill > inconclusive > pass. */
assay_verdict sim_decide(const sim_report *r, bool *invalid);
/* Hands reasons and invalidity to the finding; the deciding ones first. */
void sim_report_give(const sim_report *r, const char *label, const assay_finding *f);

/* ---- rules (rules.c, relative.c, power.c, diagnose.c). `control` NULL: no control arm. */
void sim_rule_finite_ref(sim_pair *p, sim_report *out);                      /* 1 */
void sim_rule_finite_cand(sim_pair *p, sim_report *out);                     /* 2 */
void sim_rule_fixture(sim_pair *p, sim_report *out);                         /* 3 */
void sim_rule_dead(sim_pair *p, sim_report *out);                            /* 4 */
void sim_rules_absolute(sim_pair *p, sim_report *out);                       /* 7-11 */
void sim_rules_relative(sim_pair *p, sim_pair *control, sim_report *out);    /* 12 */
bool sim_rule_envelope(const sim_pair *p, const sim_pair *control, sim_report *out);   /* 2e; true: it decides. control may be NULL */
void sim_rule_control(sim_pair *control, sim_report *out);                   /* 12c */
void sim_rules_declared(sim_pair *p, sim_report *out);                       /* 13 */
void sim_rule_outlier(sim_pair *p, sim_report *out);                         /* 14 */
void sim_rule_steps(sim_pair *p, sim_report *out, double **cosines, uint64_t *n, int64_t *first_below);  /* 7s; cosines: caller frees */
void sim_check_cosine(const sim *s, const assay_pair_stats *a, sim_report *out);
void sim_check_gain(const sim *s, const assay_pair_stats *a, const char *where, sim_report *out);
void sim_check_declared(const sim *s, const assay_pair_stats *a, uint64_t over, sim_report *out);
bool sim_element_rule(const sim *s);
double sim_atol(const sim *s);                   /* 0 where not declared */
double sim_rtol(const sim *s);
/* All similarity rules in force (7-13) hold, and at least one applies. */
bool sim_met(sim_pair *p, sim_pair *control, bool *any);
typedef struct sim_named { assay_tensor t; const char *arm; } sim_named;
void sim_rule_power(sim_pair *p, sim_pair *control, const sim_named *must_fail, size_t n, sim_report *out);   /* 5 */
void sim_diagnose(sim_pair *p, const sim_elements *e, double max_score, sim_report *out);
void sim_letters(sim_pair *p, sim_pair *control, char out[8]);               /* calibration.md section 4 */

/* ---- evidence (evidence.c) */
typedef struct sim_items { assay_item *at; size_t n; } sim_items;
assay_status sim_items_load(const assay_evidence *ev, const char *const *roles, sim_items *out, assay_error *err);
void sim_items_free(sim_items *s);
const assay_item *sim_item(const sim_items *s, const char *role, const char *label);         /* NULL when absent */
/* Reason `evidence_missing` for a piece that is not usable. */
void sim_tell_missing(const sim_items *s, const char *role, const char *label, const assay_finding *f);
bool sim_usable(const assay_item *it);                                                       /* a tensor that is there */
/* Distinct labels of a role, in order. Returns the number. */
size_t sim_labels(const sim_items *s, const char *role, const char **out, size_t max);
size_t sim_named_of(const sim_items *s, const char *role, const char *label, sim_named *out, size_t max);
/* Asks for reference, control, candidate, must_fail and negative arms on every fixture. */
assay_status sim_ask_fixtures(const sim *s, const assay_request *req, assay_error *err);
assay_status sim_ask(const assay_request *req, const char *role, const char *label, const char *arm, const char *fixture, const char *perturb, assay_error *err);
enum { SIM_LABELS = 256, SIM_ARMS = 32 };

/* ---- metrics and details (emit.c, text.c) */
typedef struct sim_text { char *s; size_t len, cap; } sim_text;
void sim_text_add(sim_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_text_number(sim_text *t, double v);                                 /* null when not finite */
void sim_text_string(sim_text *t, const char *s);                            /* JSON string */
void sim_metric(const assay_finding *f, const char *group, const char *name, double v, const char *unit);
void sim_metric_list(const assay_finding *f, const char *group, const char *name, const double *v, uint64_t n, const char *unit);
void sim_metric_json(const assay_finding *f, const char *group, const char *name, const char *json);
const char *sim_group(char out[160], const char *role, const char *label);
/* Beside a kill: the limits with which this very candidate would have passed, stamped as found afterwards (posthoc.c). */
void sim_post_hoc(const assay_finding *f, const char *label, sim_pair *p, sim_pair *control, sim_report *out);
/* Figures of rules 1-15 of one pair. */
void sim_emit_pair(const assay_finding *f, const char *group, sim_pair *p, const sim_elements *e);
void sim_emit_ratios(const assay_finding *f, const char *group, sim_pair *p, sim_pair *control);
void sim_emit_worst(const assay_finding *f, const char *label, sim_pair *p);
void sim_emit_lines(const assay_finding *f, const char *label, const sim_report *r);
void sim_emit_limits(const assay_finding *f, const sim *s);

/* ---- one label = one fixture or shape, judged on its own (label.c) */
typedef struct sim_label {
    const sim *s; const char *label; const sim_items *items;
    sim_pair pair, control; bool has_pair, has_control;      /* has_pair: shapes equal */
    sim_elements elements; sim_report report; double max_score;
    sim_named must_fail[SIM_ARMS]; size_t n_must_fail;
    assay_verdict verdict; bool invalid;
    assay_tensor run;                            /* with repeat_axis: the run that is judged */
} sim_label;
/* Finds the tensors and applies rules 0 and 6; missing evidence gives a verdict at once (then has_pair is false). */
assay_status sim_label_open(const sim *s, const sim_items *items, const char *label, const assay_finding *f, sim_label *l, assay_error *err);
void sim_label_close(sim_label *l);
/* Figures of candidate, control, must_fail, negative and candidate against control; reasons; sets verdict and invalid. */
assay_status sim_label_finish(sim_label *l, const assay_finding *f, assay_error *err);

/* ---- several labels (tally.c): invalid > kill > inconclusive > not-measured > pass */
typedef struct sim_tally {
    const char *label[SIM_LABELS]; assay_verdict verdict[SIM_LABELS]; bool invalid[SIM_LABELS]; assay_tensor shape[SIM_LABELS]; size_t n;
} sim_tally;
void sim_tally_add(sim_tally *t, const char *label, assay_verdict v, bool invalid, const assay_tensor *shape);
assay_verdict sim_tally_verdict(const sim_tally *t);
/* gate.verdicts, gate.smallest_failing_shape, fixture_disagreement or shape_dependent_fault, and the verdict. */
void sim_tally_give(const sim_tally *t, const assay_finding *f);

/* ---- a whole gate (judge.c) */
assay_status sim_create(const assay_host *host, const assay_params *given, void **self, assay_error *err);
/* The same for a gate without the limits and axes of a similarity gate; in a run when it has a `control`. */
assay_status sim_create_plain(const assay_host *host, const assay_params *given, void **self, assay_error *err);
/* Every label of the candidate by the gate's own rules, then the tally. */
typedef void sim_rules_fn(sim_label *l, const assay_finding *f);
assay_status sim_judge_labels(const sim *s, const assay_evidence *ev, sim_rules_fn *rules, const assay_finding *f, assay_error *err);
#endif
