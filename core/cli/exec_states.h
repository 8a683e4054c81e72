/* cli/exec_states.h: states of `assay exec` between files and the executor. */
#ifndef ASSAY_CLI_EXEC_STATES_H
#define ASSAY_CLI_EXEC_STATES_H
#include "backends/reference/exec.h"
#include "base/json.h"

/* NAME=FILE.npy, into the state's memory; shapes must be equal, elements are converted. */
assay_status assay_exec_state_load(assay_exec_state *s, const char *given, assay_error *err);
/* Every state to DIR/NAME.npy, in the type in which it is held; a row for each is added to `list`. */
assay_status assay_exec_state_save(const assay_exec_state *s, const char *dir, assay_json *list, assay_error *err);
#endif
