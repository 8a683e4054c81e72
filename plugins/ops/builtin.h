/* plugins/ops/builtin.h: the op families that are linked in. A file op_NAME.c defines `const assay_op_family assay_ops_NAME`;
 * the table is generated from the file names. */
#ifndef ASSAY_OPS_BUILTIN_H
#define ASSAY_OPS_BUILTIN_H
#include "program/optable.h"
typedef struct assay_op_family {
    const assay_op_def *const *defs;
} assay_op_family; /* NULL-ended */
extern const assay_op_family *const assay_ops_table[];
void assay_ops_register(void);       /* adds all families to the op table; safe to call twice */
void assay_ops_register_sites(void); /* the finder of attentions (program/sites.h); done by assay_ops_register */
#endif
