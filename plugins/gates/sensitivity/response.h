/* response.h: how much an output moved between two states of the input, in the reference and in the candidate. */
#ifndef ASSAY_GATES_RESPONSE_H
#define ASSAY_GATES_RESPONSE_H
#include "similarity.h"

typedef struct states {
    const assay_item *ref_base, *ref, *cand_base, *cand;
    double noise_floor;
    bool floor_known;
} states;
typedef struct response {
    const sim *s;
    assay_tensor r, c;    /* D_r and D_c, float64, shape of the output; memory is ours */
    sim_pair all, moving; /* all rows; the rows that must move, [rows, width] */
    bool has_all, has_moving;
    double *buffer, *rows_r, *rows_c, *row_scale; /* row_scale: norm of the reference's own row, of each moving row */
    uint64_t n_moving, n_still;
    double still_max_abs;
    sim moving_sim;
} response;
/* Shapes must be equal and everything finite. Release with response_close, also after an error. */
assay_status response_open(const sim *s, const states *st, response *o, assay_error *err);
void response_close(response *o);
/* Rules 2, 4, 7, 9 and 11 on the response, and the rows that must not move. */
void response_rules(response *o, const states *st, double cosine_min, sim_report *out);
void response_emit(response *o, const states *st, const char *label, const assay_finding *f);
#endif
