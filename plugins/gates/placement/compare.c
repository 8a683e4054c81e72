/* Two plans beside each other: were they asked for with the same units, what moved between them, and which op the compiler
 * says it refused. All of it explains a verdict; only different policies make one impossible. */
#include "placement.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "CPU_AND_NE" and "cpuAndNeuralEngine" are one policy: letters only, in lower case. */
static void policy_of(const assay_item *plan, char out[64]) {
    cJSON *doc = plan->json && *plan->json ? cJSON_Parse(plan->json) : NULL;
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "requested_units"));
    size_t n = 0;
    for (; s && *s && n < 63; s++)
        if (isalpha((unsigned char)*s)) out[n++] = (char)tolower((unsigned char)*s);
    out[n] = 0;
    char *whole = strstr(out, "neuralengine");
    if (whole) memmove(whole + 1, "e", 2); /* "ne" */
    cJSON_Delete(doc);
}

void placement_check_policy(const assay_item *plan, const assay_item *control, const char *where, report *r) {
    char a[64], b[64];
    policy_of(plan, a);
    policy_of(control, b);
    if (*a && *b && strcmp(a, b))
        placement_invalid(r, "policies_differ", where,
                          "the plans were made for different units (%s, the control's for %s): ask for both with one policy", a, b);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const assay_op_row *const *)a)->output, (*(const assay_op_row *const *)b)->output);
}

static const assay_op_row **sorted_rows(const assay_item *plan) {
    const assay_op_row **rows = malloc((size_t)(plan->row_count + 1) * sizeof *rows);
    for (uint64_t i = 0; rows && i < plan->row_count; i++) rows[i] = &plan->rows[i];
    if (rows) qsort(rows, (size_t)plan->row_count, sizeof *rows, by_name);
    return rows;
}

static const char *why_moved(const assay_op_row *from, const assay_op_row *to) {
    if (to->preferred == ASSAY_DEV_UNKNOWN) return "the later plan names no device";
    if (from->preferred == ASSAY_DEV_UNKNOWN) return "the earlier plan names no device";
    if (to->supported && !(to->supported >> from->preferred & 1)) return "the earlier device no longer supports it";
    if (to->supported) return "still supported there: the choice changed";
    return "the later plan does not say what is supported";
}

static void put_move(cJSON *list, const assay_op_row *from, const assay_op_row *to) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "op", to->output);
    cJSON_AddStringToObject(o, "type", to->type);
    cJSON_AddStringToObject(o, "from", placement_device_name(from->preferred));
    cJSON_AddStringToObject(o, "to", placement_device_name(to->preferred));
    cJSON_AddStringToObject(o, "why", why_moved(from, to));
    cJSON_AddItemToArray(list, o);
}

void placement_moved(const assay_item *before, const assay_item *plan, cJSON *list) {
    const assay_op_row **rows = sorted_rows(before);
    for (uint64_t i = 0; rows && i < plan->row_count; i++) {
        const assay_op_row *to = &plan->rows[i];
        const assay_op_row **from = *to->output ? bsearch(&to, rows, (size_t)before->row_count, sizeof *rows, by_name) : NULL;
        if (from && placement_is_computing(to) && (*from)->preferred != to->preferred) put_move(list, *from, to);
    }
    free(rows);
}

/* The compiler's own words (analytics): the first op in data-flow order that the Neural Engine refused. One such op can take
 * the whole graph with it. */
void placement_refusals(const cJSON *doc, const char *where, report *r) {
    const cJSON *op;
    cJSON_ArrayForEach(op, cJSON_GetObjectItemCaseSensitive(doc, "operations")) {
        const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(op, "refused"), "ane"));
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(op, "name"));
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(op, "type"));
        if (!message) continue;
        placement_reason(r, "refused_by_compiler", where, "the first op that the Neural Engine refused is %s '%s': %s", type ? type : "",
                         name ? name : "", message);
        return;
    }
}
