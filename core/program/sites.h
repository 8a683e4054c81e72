/* program/sites.h: the attentions of a function, found by data flow. Which ops make one is known to the ops part alone
 * (plugins/ops/sites.c), which registers its finder as it registers its ops. */
#ifndef ASSAY_PROGRAM_SITES_H
#define ASSAY_PROGRAM_SITES_H
#include "program/program.h"

/* How a site is spelled; bits of assay_site.spelling. */
enum {
    ASSAY_SITE_FUSED = 1,         /* one op; otherwise two products around a normalisation */
    ASSAY_SITE_SCALE_Q = 2,       /* the query is scaled before the product */
    ASSAY_SITE_SCALE_K = 4,       /* the key is; with SCALE_Q: the scale is split over both sides */
    ASSAY_SITE_SCALE_AFTER = 8,   /* the scores are scaled */
    ASSAY_SITE_RANK3 = 16,        /* heads are folded into the batch */
    ASSAY_SITE_QKV = 32,          /* one projection gives query, key and value */
    ASSAY_SITE_MASK_ADD = 64,     /* something is added to the scores */
    ASSAY_SITE_MASK_SELECT = 128, /* scores are replaced where a condition holds */
    ASSAY_SITE_UNROLLED = 256,    /* one site a head: queries and keys are cut out of the same values */
    ASSAY_SITE_EINSUM = 512,      /* the products are spelled with einsum */
    ASSAY_SITE_MASK = 1024,       /* the fused op has a mask argument */
    ASSAY_SITE_SLICED = 2048,     /* a site for each slice of the query, on the same keys */
    ASSAY_SITE_KINDS = 12
};
typedef struct assay_site {
    uint32_t spelling;
    const assay_mil_op *op;                                  /* the fused op, or the softmax */
    const assay_mil_value *query, *key, *value, *out, *mask; /* mask NULL: none */
    double scale;                                            /* product of all constant factors found; 1 when there is none */
    bool reachable;
} assay_site;
/* Word of one bit, for JSON ("scale_after") and for people ("scale after the product"). */
const char *assay_site_word(uint32_t bit);
const char *assay_site_phrase(uint32_t bit);

/* Sites of f in program order, at most `max` are written; returns how many there are. */
typedef size_t assay_site_finder(const assay_mil_function *f, assay_site *out, size_t max);
void assay_sites_register(assay_site_finder *finder);
/* All sites (malloc'd, caller frees; NULL: none, or no finder is registered). */
assay_site *assay_sites_find(const assay_mil_function *f, size_t *n);
#endif
