/* cli/lint_print.h: findings of the rule pack as text, and the table of rules as a list or a reference page. */
#ifndef ASSAY_CLI_LINT_PRINT_H
#define ASSAY_CLI_LINT_PRINT_H
#include "base/json.h"
#include <stdbool.h>
/* verdict: of a gate made by rules.gate. `all`: every place; otherwise the first few of each rule. */
void assay_lint_print(const assay_json *verdict, bool all);
/* rules: the table of the module rules.pack; waiting: that of rules.waiting. */
void assay_lint_print_rules(const assay_json *rules);
void assay_lint_print_page(const assay_json *rules, const assay_json *waiting);
#endif
