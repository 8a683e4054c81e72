/* cli/gates_page.h: the reference page of the gates, as Markdown, from their descriptors. */
#ifndef ASSAY_CLI_GATES_PAGE_H
#define ASSAY_CLI_GATES_PAGE_H
#include "plugin/registry.h"

void assay_print_gates_page(const assay_registry *r);
#endif
