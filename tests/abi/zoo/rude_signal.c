/* It takes over a signal. */
#include "zoo.h"
#include <signal.h>
static void handler(int sig) { (void)sig; }
static assay_status create(const assay_host *h, const assay_params *p, void **self, assay_error *err) {
    signal(SIGUSR1, handler);
    return zoo_create(h, p, self, err);
}
ZOO_GATE(.create = create);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
