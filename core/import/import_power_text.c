/* The text output of powermetrics: every layout seen names its rails on lines "ANE Power: 0 mW". A rail can stand twice in one
 * sample (GPU), and a last block over the whole run is no sample. */
#include "import/power.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512 };

static bool is_text(const assay_foreign *in) {
    return !in->json && assay_starts_with(in->text + strspn(in->text, "\r\n"), "Machine model:") && strstr(in->text, "\n*** Sampled system activity (");
}

/* One line without its end; *whole is false for a last line that was cut. */
static bool next_line(const char **text, char line[LINE], bool *whole) {
    size_t n = strcspn(*text, "\n"), keep = n < LINE - 1 ? n : LINE - 1;
    if (!**text) return false;
    memcpy(line, *text, keep);
    line[keep] = 0;
    *whole = (*text)[n] == '\n';
    *text += n + *whole;
    return true;
}

static int month_of(const char *name) {
    static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (int i = 0; i < 12; i++)
        if (!strcmp(name, names[i])) return i + 1;
    return 0;
}

/* "*** Sampled system activity (Sun Feb 28 00:20:09 2021 -0800) (1004.84ms elapsed) ***": local time and a numeric zone. */
static assay_json *begin_sample(const char *line, assay_json *samples) {
    char month[4] = "";
    int day, hour, minute, second, year, zone;
    double elapsed_ms;
    int n = sscanf(line, "*** Sampled system activity (%*3s %3s %2d %2d:%2d:%2d %4d %5d) (%20lfms elapsed)", month, &day, &hour, &minute,
                   &second, &year, &zone, &elapsed_ms);
    if (n != 8) return NULL;
    double local = assay_power_seconds(year, month_of(month), day, hour, minute, second);
    int sign = zone < 0 ? -1 : 1, hhmm = sign * zone;
    return assay_power_add(samples, local - sign * (hhmm / 100 * 3600 + hhmm % 100 * 60), elapsed_ms / 1000);
}

static void read_rail(const char *line, assay_json *rails) {
    static const struct {
        const char *line, *rail;
    } known[] = {{"ANE Power: ", "ane"},   {"CPU Power: ", "cpu"},         {"GPU Power: ", "gpu"},
                 {"DRAM Power: ", "dram"}, {"Package Power: ", "package"}, {"Clusters Total Power: ", "clusters"},
                 {"Combined Power (CPU + GPU + ANE): ", "combined"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double mw;
        char unit[3] = "";
        if (!assay_starts_with(line, known[i].line)) continue;
        if (sscanf(line + strlen(known[i].line), "%15lf %2s", &mw, unit) == 2 && !strcmp(unit, "mW") && mw >= 0)
            assay_power_set(rails, known[i].rail, mw);
    }
}

static void read_header(const char *line, assay_json *record) {
    static const char *const keys[][2] = {{"Machine model: ", "hw_model"}, {"OS version: ", "os_build"}, {"Boot time: ", "boot_time"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (assay_starts_with(line, keys[i][0])) assay_json_set_string(record, keys[i][1], line + strlen(keys[i][0]));
}

/* A log that was cut inside its last sample lacks rails there that the sample before has: none of its rails counts. */
static bool last_is_cut(const assay_json *samples) {
    size_t n = assay_json_len(samples);
    if (n < 2) return false;
    return assay_json_len(assay_json_get(assay_json_at(samples, n - 1), "rails_mw")) <
           assay_json_len(assay_json_get(assay_json_at(samples, n - 2), "rails_mw"));
}

static assay_status read_text(const assay_foreign *in, assay_json *record, assay_error *err) {
    assay_json *samples = assay_power_begin(record), *rails = NULL;
    char line[LINE];
    bool whole;
    double number = 0, summaries = 0;
    for (const char *p = in->text; next_line(&p, line, &whole);) {
        number++;
        if (assay_starts_with(line, "*** Sampled system activity") && whole) {
            rails = begin_sample(line, samples);
            if (!rails) return assay_fail(err, ASSAY_E_INPUT, "%s:%.0f: the head of a sample cannot be read", in->what, number);
        } else if (assay_starts_with(line, "*** Summary system activity")) {
            summaries++;
            rails = NULL;
        } else if (rails && whole) {
            read_rail(line, rails);
        } else if (assay_json_len(samples) == 0) {
            read_header(line, record);
        }
    }
    bool cut = last_is_cut(samples);
    if (cut) assay_json_set(assay_json_at(samples, assay_json_len(samples) - 1), "rails_mw", assay_json_object());
    assay_json_set_number(record, "cut", cut);
    assay_json_set_number(record, "summaries", summaries);
    return ASSAY_OK;
}

const assay_importer assay_import_power_text = {"powermetrics text", 1, is_text, read_text};

/* ---- the help text of the host's own tool: which samplers it offers */
static const char samplers_head[] = "The following samplers are supported by --samplers:\n";

static bool is_help(const assay_foreign *in) { return !in->json && strstr(in->text, samplers_head); }

static assay_status read_help(const assay_foreign *in, assay_json *record, assay_error *err) {
    const char *p = strstr(in->text, samplers_head) + sizeof samplers_head - 1;
    assay_json_set_string(record, "schema", "power-samplers/1");
    assay_json *list = assay_json_set(record, "samplers", assay_json_array());
    char line[LINE], name[64];
    bool whole;
    while (next_line(&p, line, &whole)) {
        if (*line == ' ' && whole && sscanf(line, " %63s", name) == 1)
            assay_json_append(list, assay_json_new_string(name));
        else if (assay_json_len(list) || *line)
            break; /* the list ends with an empty line */
    }
    if (assay_json_len(list)) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: the list of samplers is empty", in->what);
}

const assay_importer assay_import_power_help = {"powermetrics help", 1, is_help, read_help};
