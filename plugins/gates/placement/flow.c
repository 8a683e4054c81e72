/* Segments and transitions of one plan: how often the device changes from op to op in the plan's order, over all and per layer.
 * An op without a device breaks nothing and joins nothing: it is counted as unknown elsewhere. */
#include "placement.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first number in a name: "encoder_layers_3_attn_q" is of layer 3. -1: none. */
static long layer_of(const char *name) {
    for (const char *p = name; *p; p++)
        if (isdigit((unsigned char)*p) && (p == name || p[-1] == '_' || p[-1] == '.')) return strtol(p, NULL, 10);
    return -1;
}

typedef struct run_of_ops {
    int32_t device; /* of the last op with a device; 0: none yet */
    double segments, ops, on_device;
} run_of_ops;

static void take_op(run_of_ops *run, const assay_op_row *row, int32_t wanted) {
    run->ops++;
    if (row->preferred == ASSAY_DEV_UNKNOWN) return;
    run->segments += row->preferred != run->device;
    run->on_device += row->preferred == wanted;
    run->device = row->preferred;
}

static void put_layer(cJSON *layers, long layer, const run_of_ops *run) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "layer", (double)layer);
    cJSON_AddNumberToObject(o, "ops", run->ops);
    cJSON_AddNumberToObject(o, "on_device", run->on_device);
    cJSON_AddNumberToObject(o, "segments", run->segments);
    cJSON_AddNumberToObject(o, "transitions", run->segments > 0 ? run->segments - 1 : 0);
    cJSON_AddItemToArray(layers, o);
}

/* Layers in the order in which their ops stand; an op without a number belongs to the layer around it. */
void placement_flow(const assay_item *plan, const settings *s, double *segments, cJSON *layers) {
    run_of_ops all = {0}, one = {0};
    long layer = -1;
    for (uint64_t i = 0; i < plan->row_count; i++) {
        const assay_op_row *row = &plan->rows[i];
        if (!placement_is_computing(row)) continue;
        long here = layer_of(row->output);
        if (here >= 0 && here != layer) {
            if (layer >= 0) put_layer(layers, layer, &one);
            one = (run_of_ops){0};
            layer = here;
        }
        take_op(&all, row, s->device);
        take_op(&one, row, s->device);
    }
    if (layer >= 0) put_layer(layers, layer, &one);
    *segments += all.segments;
}
