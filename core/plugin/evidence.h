/* plugin/evidence.h: a set of evidence addressed by role and label, the requests of a gate, and its finding. `run`, `gate`,
 * `case` and the self-tests all judge through assay_judge(): one path. */
#ifndef ASSAY_PLUGIN_EVIDENCE_H
#define ASSAY_PLUGIN_EVIDENCE_H
#include "plugin/registry.h"
#include "plugin/params.h"
#include "tensor/tensor.h"
#include "program/program.h"

typedef struct assay_evidence_set assay_evidence_set;
assay_evidence_set *assay_evidence_new(void);
void assay_evidence_free(assay_evidence_set *s);
/* Adds one item; strings are copied, the tensor's memory (own) and the program are taken over. Order of adding is kept. */
void assay_evidence_add_tensor(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin, const char *sha256, assay_own_tensor *own);
void assay_evidence_add_program(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin, const char *sha256, assay_program *program);
/* RECORD: canonical JSON text. A JSON array becomes one item per element. A `compute-plan/1` object also gets rows (kind
 * PLAN). Plain text (stderr) is passed as a JSON string. */
void assay_evidence_add_json(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin, const char *sha256, const assay_json *doc);
void assay_evidence_add_samples(assay_evidence_set *s, const char *role, const char *label, const char *arm, int32_t origin, const char *sha256, const assay_sample *samples, uint64_t n, const assay_json *meta);
/* An item that was asked for and is not there: ASSAY_STATE_NOT_MEASURED, _FAILED or _UNAVAILABLE, and why. */
void assay_evidence_add_absent(assay_evidence_set *s, int32_t kind, const char *role, const char *label, const char *arm, int32_t state, const char *why);
/* Loads a file by its suffix and content: .npy, .mil, .mlpackage, .json, text. `key` is ROLE or ROLE:LABEL. Origin: imported. */
assay_status assay_evidence_add_file(assay_evidence_set *s, const char *key, const char *path, assay_error *err);
/* A record that another tool wrote, read by what is in it (import/import.h), else as JSON. ASSAY_E_UNSUPPORTED: no known format;
 * ASSAY_E_INPUT: a simulated device left it. Nothing
 * is added when it fails. */
assay_status assay_evidence_add_record(assay_evidence_set *s, const char *role, const char *label, const char *arm, const char *sha256, const char *path, assay_error *err);
size_t assay_evidence_len(const assay_evidence_set *s);
const assay_item *assay_evidence_at(const assay_evidence_set *s, size_t i);
/* Replaces the tensor of item i (transforms of case files). */
void assay_evidence_replace_tensor(assay_evidence_set *s, size_t i, assay_own_tensor *own);
void assay_evidence_remove(assay_evidence_set *s, size_t i);
const assay_evidence *assay_evidence_view(const assay_evidence_set *s);
/* The roles that gates looked for through the view so far, each once (the first ASSAY_ASKED_MAX); owned by the set. A gate has no
 * list of its roles, so this tells a misspelt one. One thread at a time may look. */
enum { ASSAY_ASKED_MAX = 64 };
size_t assay_evidence_asked(const assay_evidence_set *s, const char *const **roles);

/* What a gate asked for in needs(). */
typedef struct assay_need { const char *role, *label; assay_query query; } assay_need;   /* strings owned by the list */
typedef struct assay_need_list { assay_need *items; size_t len, cap; assay_arena *arena; } assay_need_list;
void assay_need_list_free(assay_need_list *l);

/* Result of a gate: the assay-verdict/1 object of architecture.md section 6. */
typedef struct assay_gate_run assay_gate_run;                          /* one created gate */
assay_status assay_gate_open(const assay_gate_type *type, const assay_json *params, const char *who, assay_gate_run **out, assay_error *err);
void assay_gate_close(assay_gate_run *g);
const assay_json *assay_gate_params(const assay_gate_run *g);          /* effective parameters */
assay_status assay_gate_needs(assay_gate_run *g, const assay_evidence_set *so_far, assay_need_list *out, assay_error *err);
/* {schema, gate, version, verdict, validity:{valid, reasons}, reasons:[{code,message,where}], metrics:{group:{name:..}}, units,
 * details, params, evidence:[{role,label,kind,sha256,origin}]}. A metric key "candidate:b9.cosine" goes to group "candidate:b9", name
 * "cosine" (split at the LAST dot); a key without a dot goes to group "gate". One value = number, several = list; NaN = null.
 * Booleans, strings and objects: finding->detail(key, json) with the same dotted keys lands in metrics too when the key starts
 * with "metrics:"; other details go to `details`. A gate that gives no verdict is an error (ASSAY_E_INTERNAL). */
assay_status assay_gate_judge(assay_gate_run *g, const assay_evidence_set *ev, assay_json **verdict, assay_error *err);
/* "program", "output", "plan", "timing", "record". */
const char *assay_kind_name(int32_t kind);
/* open + judge + close. */
assay_status assay_judge(const assay_registry *r, const char *gate, const assay_json *params, const assay_evidence_set *ev, assay_json **verdict, assay_error *err);
/* "invalid" ahead of any verdict, else pass, kill, inconclusive, not-measured. */
const char *assay_printed_verdict(const assay_json *verdict);
#endif
