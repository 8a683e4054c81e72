/* run/merge.h: several run directories of one plan, measured on several machines, joined into one. */
#ifndef ASSAY_RUN_MERGE_H
#define ASSAY_RUN_MERGE_H
#include "run/trial.h"

/* Joins the evidence of `dirs` (two or more, equal plan digests) in the new directory `out`, made in <out>.tmp and renamed. Refused:
 * other plans, a seal on some of them only, one trial of one host with different contents. Receipts are left out: they are judged
 * anew from what was joined. */
assay_status assay_merge(const char *const *dirs, size_t n, const char *out, assay_error *err);
#endif
