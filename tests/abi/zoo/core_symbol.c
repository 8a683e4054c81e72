/* It counts on a function of the program: the program exports none. */
#include "zoo.h"
char *assay_xstrdup(const char *s);
static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) { return assay_xstrdup("x") ? zoo_judge(self, ev, f, err) : ASSAY_OK; }
ZOO_GATE(.judge = judge);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
