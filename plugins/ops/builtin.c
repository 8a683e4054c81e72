/* Registers the built-in op families. */
#include "ops/builtin.h"

void assay_ops_register(void) {
    static int done;
    if (done) return;
    done = 1;
    for (const assay_op_family *const *f = assay_ops_table; *f; f++) assay_optable_add((*f)->defs);
    assay_ops_register_sites();
}
