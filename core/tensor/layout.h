/* tensor/layout.h: typed layouts: which axis is batch, head, token, channel. */
#ifndef ASSAY_TENSOR_LAYOUT_H
#define ASSAY_TENSOR_LAYOUT_H
#include "tensor/tensor.h"
enum { ASSAY_LAYOUT_NONE = 0, ASSAY_BSD, ASSAY_BHSD, ASSAY_BC1S, ASSAY_B1KQ, ASSAY_BS1D, ASSAY_BHSE };
int32_t assay_layout_parse(const char *tag);                         /* "BSD" ...; 0 when unknown */
const char *assay_layout_name(int32_t layout);
/* Axis index of batch 'B', head 'H', token 'S', channel 'C'/'D'/'E'; -1 when the layout has none. */
int assay_layout_axis(int32_t layout, char role);
/* Conversions among BSD, BHSD and BC1S, each way (the guide's section 4.4 has those of BC1S). Copies; `heads` is how many heads the
 * channels are split into, used where BHSD is made. */
assay_status assay_layout_convert(const assay_tensor *in, int32_t from, int32_t to, int64_t heads, assay_own_tensor *out, assay_error *err);
#endif
