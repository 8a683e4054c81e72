/* The registered finder of attentions, and the words for spellings. */
#include "program/sites.h"
#include <stdlib.h>

static assay_site_finder *registered;

void assay_sites_register(assay_site_finder *finder) { registered = finder; }

assay_site *assay_sites_find(const assay_mil_function *f, size_t *n) {
    *n = registered ? registered(f, NULL, 0) : 0;
    if (!*n) return NULL;
    assay_site *s = assay_xcalloc(*n, sizeof *s);
    registered(f, s, *n);
    return s;
}

static const struct {
    const char *word, *phrase;
} names[ASSAY_SITE_KINDS] = {{"fused", "fused"},
                             {"scale_q", "scale on the query"},
                             {"scale_k", "scale on the key"},
                             {"scale_after", "scale after the product"},
                             {"rank3_heads", "heads in the batch (rank 3)"},
                             {"fused_qkv", "one projection for q, k and v"},
                             {"additive_mask", "additive mask"},
                             {"select_mask", "mask by select"},
                             {"unrolled_heads", "a site for each head"},
                             {"einsum", "einsum"},
                             {"mask_argument", "mask argument"},
                             {"query_slices", "a site for each slice of the query"}};

static int place(uint32_t bit) {
    for (int i = 0; i < ASSAY_SITE_KINDS; i++)
        if (bit == 1u << i) return i;
    return 0;
}
const char *assay_site_word(uint32_t bit) { return names[place(bit)].word; }
const char *assay_site_phrase(uint32_t bit) { return names[place(bit)].phrase; }
