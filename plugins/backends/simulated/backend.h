/* simulated/backend.h: the simulated device, as the registry takes it. */
#ifndef ASSAY_SIM_BACKEND_H
#define ASSAY_SIM_BACKEND_H
#include "assay/backend.h"
#include "base/json.h"

extern const assay_backend assay_simulated_backend;      /* params: device (a profile), trial (given by the worker) */
uint64_t assay_simulated_last_ns(void *session);         /* invented duration of the session's last predict */
/* The record of that name that such a device would have left while the session's arm ran: rails, intervals, cpu_only, idle, positive,
 * samplers (as the corroboration gate reads them; powers and times are invented), memory (memory-record/1, estimated from the program). */
assay_status assay_simulated_record(void *session, const char *name, assay_json **out, assay_error *err);
#endif
