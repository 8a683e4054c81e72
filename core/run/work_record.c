/* In the worker: a record that the backend itself leaves, as a simulated device does; those of other machines are imported. */
#include "run/work.h"
#include "base/names.h"

assay_status assay_work_record(const assay_work *w, assay_json *trial, bool *arm_failed, assay_error *err) {
    const assay_json *request = assay_json_get(w->job, "request");
    assay_json *facts = assay_json_object(), *record = NULL;
    assay_bound_arm a;
    *arm_failed = true;
    assay_status st = assay_arm_open(w, assay_json_string(w->job, "arm_path", ""), assay_json_string(request, "compute_units", "all"), facts, &a, err);
    assay_work_take_facts(w, facts, trial);
    assay_json_free(facts);
    if (st == ASSAY_OK) st = w->backend->record(a.session, assay_json_string(request, "record", ""), &record, err);
    if (st == ASSAY_OK) {
        *arm_failed = false;
        st = assay_work_write_json(w, "record.json", "record", record, trial, err);
    }
    assay_json_free(record);
    assay_arm_close(&a);
    return st;
}
