/* plugin/registry.h: what gates and backends there are, from where, and why others were refused. C gates come from shared
 * objects, Lua gates from scripts, the reference backend is linked in. A user of a gate cannot tell the kinds apart. */
#ifndef ASSAY_PLUGIN_REGISTRY_H
#define ASSAY_PLUGIN_REGISTRY_H
#include "assay/gate.h"
#include "assay/backend.h"
#include "base/json.h"

typedef struct assay_registry assay_registry;
/* One gate type, C or Lua. The functions mirror assay_gate; `ctx` is the owner's. */
typedef struct assay_gate_type {
    const char *name, *version, *summary, *path; /* path: file it came from */
    const char *kind;                            /* "c" or "lua" */
    const assay_param *params;
    assay_status (*create)(const struct assay_gate_type *, const assay_host *, const assay_params *, void **self, assay_error *);
    assay_status (*needs)(const struct assay_gate_type *, void *self, const assay_evidence *, const assay_request *, assay_error *);
    assay_status (*judge)(const struct assay_gate_type *, void *self, const assay_evidence *, const assay_finding *, assay_error *);
    void (*destroy)(const struct assay_gate_type *, void *self);
    void *ctx;
} assay_gate_type;
/* What a simulated device would have recorded under this name while the session's arm ran; ASSAY_E_UNSUPPORTED: nothing of that name. */
typedef assay_status (*assay_record_fn)(void *session, const char *name, assay_json **out, assay_error *err);
typedef struct assay_backend_type {
    const assay_backend *backend; const char *path; int32_t origin; /* ASSAY_ORIGIN_... */ char sha256[65];
    uint64_t (*last_ns)(void *session);          /* simulated: the invented duration of the last predict; NULL: the clock tells */
    assay_record_fn record;                      /* NULL: takes no records; they are imported by the word `record` */
} assay_backend_type;
typedef struct assay_refusal { const char *path, *why; } assay_refusal;

/* Empty; the core's interfaces are provided from here on. */
assay_registry *assay_registry_new(void);
void assay_registry_free(assay_registry *r);
/* Search order: gate_path (may be NULL; ':'-separated), $ASSAY_GATE_PATH, <dir of program>/gates and ../bin/gates, install
 * folder. Loads every *.so; a refused one is kept with its reason and is an error only when it is asked for by name. */
void assay_registry_load_all(assay_registry *r, const char *gate_path);
assay_status assay_registry_load_file(assay_registry *r, const char *path, assay_error *err);
void assay_registry_add_gate(assay_registry *r, const assay_gate_type *g);           /* copied */
void assay_registry_add_backend(assay_registry *r, const assay_backend *b, int32_t origin);
/* Its origin is simulated. */
void assay_registry_add_simulated(assay_registry *r, const assay_backend *b, uint64_t (*last_ns)(void *session), assay_record_fn record);
const assay_gate_type *assay_registry_gate(const assay_registry *r, const char *name, assay_error *err);       /* did-you-mean, refusal's reason */
const assay_backend_type *assay_registry_backend(const assay_registry *r, const char *name, assay_error *err);
size_t assay_registry_gates(const assay_registry *r, const assay_gate_type *const **list);                      /* sorted by name */
size_t assay_registry_backends(const assay_registry *r, const assay_backend_type *const **list);
size_t assay_registry_refusals(const assay_registry *r, const assay_refusal **list);
size_t assay_registry_paths(const assay_registry *r, const char *const **list);
/* The host table handed to plugins (log, param, get). */
const assay_host *assay_host_table(void);
/* Hands what plugins log as information (level 1) to `fn` until it is called with NULL; without a listener it goes nowhere. */
void assay_host_listen(void (*fn)(void *ctx, const char *msg), void *ctx);
/* Makes an interface ("assay.program/1") available through host->get; static table. */
void assay_host_provide(const char *id, const void *table);
/* Provides those that live in the core: program, metrics, math. assay_registry_new() does it. */
void assay_host_provide_core(void);
#endif
