/* program/iface.h: the interface "assay.program/1" (assay/program.h) over programs of this part. */
#ifndef ASSAY_PROGRAM_IFACE_TABLE_H
#define ASSAY_PROGRAM_IFACE_TABLE_H
#include "assay/program.h"
const assay_program_1 *assay_program_iface(void);
#endif
