/* One compute plan: counts over computing ops, and the rule that every op of interest prefers the device (M49, M56). */
#include "placement.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *placement_device_name(int32_t dev) {
    static const char *const names[] = {"unknown", "none", "CPU", "GPU", "NE"};
    return dev >= ASSAY_DEV_UNKNOWN && dev <= ASSAY_DEV_NE ? names[dev] : "unknown";
}

/* Constants are not scheduled; a plan that says nothing about one has not lost a device. */
bool placement_is_computing(const assay_op_row *row) {
    return row->preferred != ASSAY_DEV_NONE && strcmp(row->type, "const") != 0;
}

void placement_count(const assay_item *plan, const settings *s, counts *c) {
    for (uint64_t i = 0; i < plan->row_count; i++) {
        const assay_op_row *row = &plan->rows[i];
        if (!placement_is_computing(row)) {
            c->not_counted++;
            continue;
        }
        c->computing++;
        c->on_ne += row->preferred == ASSAY_DEV_NE;
        c->on_device += row->preferred == s->device;
        c->supported_on_ne += row->supported >> ASSAY_DEV_NE & 1;
        c->unknown += row->preferred == ASSAY_DEV_UNKNOWN;
        c->cost += row->cost; /* one missing cost (NaN) leaves the share undefined */
        c->cost_on_ne += row->preferred == ASSAY_DEV_NE ? row->cost : 0;
    }
}

static bool of_interest(const settings *s, const char *type) {
    for (uint32_t i = 0; i < s->n_ops; i++)
        if (!strcmp(s->ops[i], type)) return true;
    return false;
}

/* Does the control get the device for its material ops: those of interest, or the products of an explicit attention? */
static bool control_gets_device(const assay_item *control, const settings *s) {
    uint64_t material = 0, placed = 0;
    for (uint64_t i = 0; control && i < control->row_count; i++) {
        const assay_op_row *row = &control->rows[i];
        if (!placement_is_computing(row) ||
            !(of_interest(s, row->type) || !strcmp(row->type, "matmul") || !strcmp(row->type, "softmax")))
            continue;
        material++;
        placed += row->preferred == s->device;
    }
    return material > 0 && placed == material;
}

static void add_supported(cJSON *o, uint32_t set) {
    cJSON *list = set ? cJSON_AddArrayToObject(o, "supported") : cJSON_AddNullToObject(o, "supported");
    for (int32_t dev = ASSAY_DEV_CPU; set && dev <= ASSAY_DEV_NE; dev++)
        if (set >> dev & 1) cJSON_AddItemToArray(list, cJSON_CreateString(placement_device_name(dev)));
}

static void add_row(cJSON *table, const assay_op_row *row, const char *requested) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "op", row->output);
    cJSON_AddStringToObject(o, "type", row->type);
    if (requested)
        cJSON_AddStringToObject(o, "requested", requested);
    else
        cJSON_AddNullToObject(o, "requested");
    add_supported(o, row->supported);
    cJSON_AddStringToObject(o, "preferred", placement_device_name(row->preferred));
    cJSON_AddNullToObject(o, "observed"); /* a plan anticipates; it has not seen the op run */
    if (!isnan(row->cost)) cJSON_AddNumberToObject(o, "cost_estimated", row->cost);
    cJSON_AddItemToArray(table, o);
}

static void not_on_device(const settings *s, const char *where, const char *type, uint64_t misplaced, uint64_t total,
                          const assay_op_row *first, report *r) {
    char code[64];
    snprintf(code, sizeof code, "op_of_interest_not_on_%s",
             s->device == ASSAY_DEV_CPU   ? "cpu"
             : s->device == ASSAY_DEV_GPU ? "gpu"
                                          : "ne");
    placement_reason(r, code, where, "%llu of %llu %s are not preferred on %s (first: '%s' prefers %s%s)",
                     (unsigned long long)misplaced, (unsigned long long)total, type, s->device_name, first->output,
                     placement_device_name(first->preferred), first->supported >> s->device & 1 ? ", although it is supported" : "");
}

/* One op type. Preferred elsewhere kills; unknown kills only where the control shows that the device could be had. */
static assay_verdict judge_type(const assay_item *plan, bool control_placed, const settings *s, const char *type,
                                const char *where, report *r) {
    uint64_t total = 0, misplaced = 0, unknown = 0;
    const assay_op_row *first = NULL;
    for (uint64_t i = 0; i < plan->row_count; i++) {
        const assay_op_row *row = &plan->rows[i];
        if (strcmp(row->type, type) || !placement_is_computing(row)) continue;
        total++;
        if (row->preferred == s->device) continue;
        bool is_unknown = row->preferred == ASSAY_DEV_UNKNOWN;
        unknown += is_unknown;
        if (is_unknown && !control_placed) continue;
        misplaced++;
        if (!first) first = row;
    }
    if (total == 0) {
        placement_invalid(r, "op_of_interest_missing", where, "the plan has no %s: was another program planned?", type);
        return ASSAY_INCONCLUSIVE;
    }
    if (misplaced) {
        not_on_device(s, where, type, misplaced, total, first, r);
        return ASSAY_KILL;
    }
    if (unknown)
        placement_reason(r, "too_many_unknown", where, "%llu of %llu %s have no device in the plan", (unsigned long long)unknown,
                         (unsigned long long)total, type);
    return unknown ? ASSAY_INCONCLUSIVE : ASSAY_PASS;
}

static assay_verdict worse(assay_verdict a, assay_verdict b) {
    if (a == ASSAY_KILL || b == ASSAY_KILL) return ASSAY_KILL;
    return a == ASSAY_INCONCLUSIVE || b == ASSAY_INCONCLUSIVE ? ASSAY_INCONCLUSIVE : ASSAY_PASS;
}

assay_verdict placement_judge_plan(const assay_item *plan, const assay_item *control, const settings *s, const char *where,
                                   report *r, cJSON *table) {
    counts c = {0};
    bool placed = control_gets_device(control, s);
    assay_verdict v = ASSAY_PASS;
    placement_count(plan, s, &c);
    cJSON *doc = plan->json && *plan->json ? cJSON_Parse(plan->json) : NULL;
    const char *requested = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "requested_units"));
    for (uint64_t i = 0; i < plan->row_count; i++)
        if (of_interest(s, plan->rows[i].type)) add_row(table, &plan->rows[i], requested);
    if (s->device == ASSAY_DEV_NE) placement_refusals(doc, where, r);
    cJSON_Delete(doc);
    if (c.unknown == c.computing && !placed) {
        placement_reason(r, "no_device_usage", where,
                         "none of %.0f computing ops has a device in the plan: it decides nothing (an old deployment target of "
                         "the model is one cause)",
                         c.computing);
        return ASSAY_INCONCLUSIVE;
    }
    for (uint32_t i = 0; i < s->n_ops; i++) v = worse(v, judge_type(plan, placed, s, s->ops[i], where, r));
    if (!(c.unknown <= (double)s->max_unknown)) {
        placement_reason(r, "too_many_unknown", where,
                         "%.0f of %.0f computing ops have no device in the plan, %lld are tolerated", c.unknown, c.computing,
                         (long long)s->max_unknown);
        v = worse(v, ASSAY_INCONCLUSIVE);
    }
    return v;
}
