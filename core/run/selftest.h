/* run/selftest.h: a gate proves itself on its own cases (plugins/gates/<name>/cases, installed beside it as NAME.cases). */
#ifndef ASSAY_RUN_SELFTEST_H
#define ASSAY_RUN_SELFTEST_H
#include "plugin/registry.h"
/* {gate, cases, ok, problems:[text]}. A gate without cases (a Lua gate, a plugin from elsewhere) has none to fail. */
assay_json *assay_gate_selftest(const assay_registry *r, const assay_gate_type *g);
#endif
