/* Compute plans: one row per op. What a tool did not say stays unknown; it is never read as CPU, and a missing cost is NaN. */
#include "plugin/evidence_plan.h"
#include "base/names.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

int32_t assay_device_parse(const char *name) {
    static const struct {
        const char *name;
        int32_t dev;
    } known[] = {{"CPU", ASSAY_DEV_CPU}, {"GPU", ASSAY_DEV_GPU},         {"NE", ASSAY_DEV_NE},
                 {"ANE", ASSAY_DEV_NE},  {"NeuralEngine", ASSAY_DEV_NE}, {"none", ASSAY_DEV_NONE}};
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(name, known[i].name)) return known[i].dev;
    return ASSAY_DEV_UNKNOWN;
}

const char *assay_device_name(int32_t dev) {
    static const char *const names[] = {"unknown", "none", "CPU", "GPU", "NE"};
    return dev >= ASSAY_DEV_UNKNOWN && dev <= ASSAY_DEV_NE ? names[dev] : "unknown";
}

/* "ios18.linear" -> "linear". The prefix is the opset where that op last changed, so it differs inside one model. */
static const char *without_opset(const char *type) {
    if (strncmp(type, "ios", 3)) return type;
    const char *p = type + 3;
    while (isdigit((unsigned char)*p)) p++;
    return p > type + 3 && *p == '.' ? p + 1 : type;
}

static uint32_t supported_set(const assay_json *list) {
    uint32_t set = 0;
    for (size_t i = 0; assay_json_kind(list) == ASSAY_J_ARRAY && i < assay_json_len(list); i++) {
        int32_t dev = assay_device_parse(assay_json_text(assay_json_at(list, i)));
        if (dev > ASSAY_DEV_NONE) set |= 1u << dev;
    }
    return set;
}

const assay_op_row *assay_plan_rows(assay_arena *a, const assay_json *doc, uint64_t *n) {
    const assay_json *ops = assay_json_get(doc, "operations");
    size_t count = assay_json_kind(ops) == ASSAY_J_ARRAY ? assay_json_len(ops) : 0;
    assay_op_row *rows = assay_arena_alloc(a, (count ? count : 1) * sizeof *rows);
    const char *function = assay_json_string(doc, "function", "main");
    for (size_t i = 0; i < count; i++) {
        const assay_json *op = assay_json_at(ops, i);
        rows[i].function = assay_arena_strdup(a, assay_json_string(op, "function", function));
        rows[i].output = assay_arena_strdup(a, assay_json_string(op, "name", ""));
        rows[i].type = assay_arena_strdup(a, without_opset(assay_json_string(op, "type", "")));
        rows[i].preferred = assay_device_parse(assay_json_string(op, "preferred", NULL));
        rows[i].supported = supported_set(assay_json_get(op, "supported"));
        rows[i].cost = assay_json_number(op, "cost", NAN);
    }
    *n = count;
    return rows;
}
