/* Fuzz target: JSON text. What is accepted must print as text that is accepted again and prints the same. */
#include "base/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_json *j = NULL, *again = NULL;
    if (assay_json_parse((const char *)data, size, "fuzz", &j, NULL) != ASSAY_OK) return 0;
    char *text = assay_json_print(j), *pretty = assay_json_pretty(j);
    if (assay_json_parse(pretty, strlen(pretty), "fuzz", &again, NULL) != ASSAY_OK) abort();
    char *second = assay_json_print(again);
    if (strcmp(text, second) != 0) abort();
    free(text);
    free(pretty);
    free(second);
    assay_json_free(j);
    assay_json_free(again);
    return 0;
}
