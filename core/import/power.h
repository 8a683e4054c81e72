/* import/power.h: what both readers of power logs share. A log: {schema "power-log/1", hw_model, os_build, boot_time, samples:
 * [{end_s, elapsed_s, rails_mw: {ane, cpu, gpu, ...}}], cut, summaries}. end_s: seconds since 1970 UTC. A rail that a sample
 * does not hold was not sampled: it is absent from rails_mw, which is not the same as 0. */
#ifndef ASSAY_IMPORT_POWER_H
#define ASSAY_IMPORT_POWER_H
#include "import/formats.h"
#include <stdint.h>

assay_json *assay_power_begin(assay_json *record);                        /* returns the list of samples */
assay_json *assay_power_add(assay_json *samples, double end_s, double elapsed_s); /* returns the sample's rails */
void assay_power_set(assay_json *rails, const char *rail, double mw);     /* the first value of a rail stays */
/* Seconds since 1970 of a civil time in UTC; NaN when it is none. month 1..12. */
double assay_power_seconds(int year, int month, int day, int hour, int minute, int second);
#endif
