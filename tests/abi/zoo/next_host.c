/* Built with the macro, for a host of major 2. */
#include <assay/gate.h>
#undef ASSAY_ABI
#undef ASSAY_ABI_TEXT
#define ASSAY_ABI 0x00020000u
#define ASSAY_ABI_TEXT "2.0"
static const assay_gate later = {.struct_size = sizeof later, .name = "later"};
ASSAY_GATE_PLUGIN(later)
