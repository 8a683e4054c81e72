/* Building the neutral record of a power log. */
#include "import/power.h"
#include <math.h>

assay_json *assay_power_begin(assay_json *record) {
    assay_json_set_string(record, "schema", "power-log/1");
    assay_json_set_string(record, "hw_model", NULL);
    assay_json_set_string(record, "os_build", NULL);
    assay_json_set_string(record, "boot_time", NULL);
    return assay_json_set(record, "samples", assay_json_array());
}

assay_json *assay_power_add(assay_json *samples, double end_s, double elapsed_s) {
    assay_json *sample = assay_json_append(samples, assay_json_object());
    assay_json_set_number(sample, "end_s", end_s);
    assay_json_set_number(sample, "elapsed_s", elapsed_s);
    return assay_json_set(sample, "rails_mw", assay_json_object());
}

void assay_power_set(assay_json *rails, const char *rail, double mw) {
    if (rails && !assay_json_get(rails, rail)) assay_json_set_number(rails, rail, mw);
}

/* Days are counted from March, so that the leap day is the last of its year. */
double assay_power_seconds(int year, int month, int day, int hour, int minute, int second) {
    bool valid = year >= 1970 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 && hour < 24 &&
                 minute >= 0 && minute < 60 && second >= 0 && second <= 60;
    if (!valid) return NAN;
    int64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
    return (double)(days * 86400 + hour * 3600 + minute * 60 + second);
}
