/* simulated/backend.h: the simulated device, as the registry takes it. */
#ifndef ASSAY_SIM_BACKEND_H
#define ASSAY_SIM_BACKEND_H
#include "assay/backend.h"

extern const assay_backend assay_simulated_backend;      /* params: device (a profile), trial (given by the worker) */
uint64_t assay_simulated_last_ns(void *session);         /* invented duration of the session's last predict */
#endif
