/* program/facts_more.h: parts of the facts that have a file of their own. All results belong to the caller. */
#ifndef ASSAY_PROGRAM_FACTS_MORE_H
#define ASSAY_PROGRAM_FACTS_MORE_H
#include "program/program.h"
/* [{op, type, spelling: [words], query, key, value, output, mask?, scale?, reachable}]; empty when no finder is registered. */
assay_json *assay_sites_json(const assay_mil_function *f);
/* {type: count} of the reachable ops that only move elements. */
assay_json *assay_layout_json(const assay_mil_function *f);
/* [{weight, scheme, elements, stored_bytes, bits_per_element, layers}] of the decoded weights: everything stored for a weight
 * (codes, tables, scales, masks) over its elements. */
assay_json *assay_compression_json(const assay_mil_function *f);
/* Converter versions as the model tells them: {version, source, source_dialect, conversion_date, coremlc-version ...}. */
assay_json *assay_versions_json(const assay_program *p);
#endif
