/* plugin/abi.h: sizes of what crosses the plugin border as ABI 1.0 had them. Tables only grow at the end: a struct_size below
 * its first size is a broken plugin, and nothing beyond it is touched unless the other side says it is there. */
#ifndef ASSAY_PLUGIN_ABI_H
#define ASSAY_PLUGIN_ABI_H
#include "assay/gate.h"
#include "assay/backend.h"
#include <stddef.h>

#define ASSAY_SIZE_TO(type, last) ((uint32_t)(offsetof(type, last) + sizeof(((type *)0)->last)))
#define ASSAY_V1_ITEM ASSAY_SIZE_TO(assay_item, json)
#define ASSAY_V1_GATE ASSAY_SIZE_TO(assay_gate, destroy)
#define ASSAY_V1_BACKEND ASSAY_SIZE_TO(assay_backend, close)
#define ASSAY_V1_PLUGIN ASSAY_SIZE_TO(assay_plugin, backends)
#define ASSAY_ABI_MAJOR(abi) ((abi) >> 16)
#define ASSAY_ABI_MINOR(abi) ((abi)&0xffffu)
#endif
