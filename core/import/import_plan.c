/* Dumps of MLComputePlan: every tool prints its own. Those with a record per op become a compute plan; those with shares or
 * counts only become a summary, which places no op by name. */
#include "import/formats.h"
#include "base/names.h"
#include "plugin/evidence_plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

assay_json *assay_import_add_op(assay_json *operations, const char *name, const char *type, const char *preferred, double cost) {
    assay_json *op = assay_json_append(operations, assay_json_object());
    int32_t dev = assay_device_parse(preferred);
    assay_json_set_string(op, "name", name);
    assay_json_set_string(op, "type", type);
    assay_json_set_string(op, "preferred", dev == ASSAY_DEV_UNKNOWN ? NULL : assay_device_name(dev));
    assay_json_set_number(op, "cost", cost);
    return op;
}

static const assay_json *first_of(const assay_json *list) {
    return assay_json_kind(list) == ASSAY_J_ARRAY ? assay_json_first(list) : NULL;
}

static bool has(const assay_json *j, const char *key) { return assay_json_kind(j) == ASSAY_J_OBJECT && assay_json_get(j, key); }

static void begin_plan(assay_json *record, const char *requested) {
    assay_json_set_string(record, "schema", ASSAY_COMPUTE_PLAN_1);
    assay_json_set_string(record, "requested_units", requested);
}

/* The policy belongs to every share, the chip and the OS to the file: null where the tool did not write them. */
static void set_host(assay_json *record, const assay_json *from) {
    assay_json *host = assay_json_set(record, "host", assay_json_object());
    assay_json_set_string(host, "chip", assay_json_string(from, "chip", NULL));
    assay_json_set_string(host, "version", assay_json_string(from, "macos", NULL));
    assay_json_set_string(host, "build", NULL); /* no dump seen holds the build */
}

/* ---- one record per op, from the coremltools API: no output names, so ops of one type are told apart by order */
static bool is_ops(const assay_foreign *in) { return has(first_of(assay_json_get(in->json, "operations")), "operator"); }

static assay_status read_ops(const assay_foreign *in, assay_json *record, assay_error *err) {
    (void)err;
    begin_plan(record, assay_json_string(in->json, "compute_units", NULL));
    set_host(record, in->json);
    assay_json *ops = assay_json_set(record, "operations", assay_json_array());
    for (const assay_json *o = assay_json_first(assay_json_get(in->json, "operations")); o; o = assay_json_next(o)) {
        assay_json *op = assay_import_add_op(ops, "", assay_json_string(o, "operator", ""), assay_json_string(o, "preferred", NULL),
                                             assay_json_number(o, "cost", NAN));
        assay_json_set_string(op, "function", assay_json_string(o, "function", "main"));
        const assay_json *supported = assay_json_get(o, "supported");
        assay_json_set(op, "supported", supported ? assay_json_clone(supported) : assay_json_new_null());
    }
    return ASSAY_OK;
}

const assay_importer assay_import_plan_ops = {"MLComputePlan per op", 1, is_ops, read_ops};

/* ---- CoreMLProfiler: supported devices as one string; its op_time is cost times a median, not a measurement, and is left out */
static const assay_json *profiler_list(const assay_json *j) {
    if (has(first_of(j), "operatorName")) return j;
    for (const assay_json *c = assay_json_kind(j) == ASSAY_J_OBJECT ? assay_json_first(j) : NULL; c; c = assay_json_next(c))
        if (has(first_of(c), "operatorName")) return c;
    return NULL;
}

static bool is_profiler(const assay_foreign *in) { return profiler_list(in->json) != NULL; }

static void set_supported(assay_json *op, const char *joined) {
    assay_json *list = joined && *joined ? assay_json_set(op, "supported", assay_json_array()) : NULL;
    for (const char *p = joined; list && *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        char *name = assay_xstrndup(p, n);
        if (n) assay_json_append(list, assay_json_new_string(name));
        free(name);
        p += n;
    }
}

static assay_status read_profiler(const assay_foreign *in, assay_json *record, assay_error *err) {
    (void)err;
    begin_plan(record, NULL);
    assay_json *ops = assay_json_set(record, "operations", assay_json_array());
    for (const assay_json *o = assay_json_first(profiler_list(in->json)); o; o = assay_json_next(o))
        set_supported(assay_import_add_op(ops, assay_json_string(o, "operator_id", ""), assay_json_string(o, "operatorName", ""),
                                          assay_json_string(o, "preferred_device", NULL), assay_json_number(o, "cost", NAN)),
                      assay_json_string(o, "supported_devices", NULL));
    return ASSAY_OK;
}

const assay_importer assay_import_plan_profiler = {"CoreMLProfiler", 1, is_profiler, read_profiler};

/* ---- CoreMLInspect: "0.68% G|CN name = ios16.gather(...)"; constants have no prefix */
static const char *letter_device(char c) { return c == 'C' ? "CPU" : c == 'G' ? "GPU" : c == 'N' ? "NE" : NULL; }

/* The start of "X|YZ " after the percentage; NULL when the line is no op. */
static const char *inspect_units(const char *line, double *percent) {
    char *end = NULL;
    double v = strtod(line, &end);
    if (end == line || *end != '%' || end[1] != ' ' || !letter_device(end[2]) || end[3] != '|') return NULL;
    *percent = v;
    return end + 2;
}

static bool inspect_line(const char *text, char *line, size_t size, const char **next) {
    size_t n = strcspn(text, "\n"), keep = n < size - 1 ? n : size - 1;
    if (!*text) return false;
    memcpy(line, text, keep);
    line[keep] = 0;
    *next = text[n] ? text + n + 1 : text + n;
    return true;
}

enum { LINE = 4096 };

static bool is_inspect(const assay_foreign *in) {
    char line[LINE];
    double percent;
    for (const char *p = in->text; inspect_line(p, line, sizeof line, &p);)
        if (inspect_units(line + strspn(line, " \t"), &percent) && strstr(line, " = ")) return true;
    return false;
}

static void read_inspect_line(const char *line, assay_json *ops) {
    double percent = 0;
    const char *units = inspect_units(line, &percent), *equals = strstr(line, " = ");
    if (!units || !equals) return;
    const char *supported = units + 2, *name = supported + strspn(supported, "CGN");
    name += strspn(name, " ");
    if (name > equals) return;
    const char *type = equals + 3;
    char *own_name = assay_xstrndup(name, (size_t)(equals - name)), *own_type = assay_xstrndup(type, strcspn(type, "("));
    assay_json *op = assay_import_add_op(ops, own_name, own_type, letter_device(*units), percent / 100);
    assay_json *list = assay_json_set(op, "supported", assay_json_array());
    assay_json_append(list, assay_json_new_string(letter_device(*units)));
    for (; letter_device(*supported); supported++) assay_json_append(list, assay_json_new_string(letter_device(*supported)));
    free(own_name);
    free(own_type);
}

static assay_status read_inspect(const assay_foreign *in, assay_json *record, assay_error *err) {
    char line[LINE];
    (void)err;
    begin_plan(record, NULL);
    assay_json *ops = assay_json_set(record, "operations", assay_json_array());
    for (const char *p = in->text; inspect_line(p, line, sizeof line, &p);) read_inspect_line(line + strspn(line, " \t"), ops);
    return ASSAY_OK;
}

const assay_importer assay_import_plan_inspect = {"CoreMLInspect", 1, is_inspect, read_inspect};
