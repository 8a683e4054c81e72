/* Prints docs/reference/gates/README.md: a table of parameters for each gate. A test compares it with the committed page. */
#include "cli/gates_page.h"
#include "base/fs.h"
#include "base/names.h"
#include "plugin/params_check.h"
#include <stdio.h>
#include <string.h>

/* A cell: '|' would end it. */
static void cell(const char *text) {
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '|') putchar('\\');
        putchar(*p);
    }
}

static void print_row(const assay_param *p) {
    printf("| `%s` | %s | ", p->name, assay_param_type_name(p->type));
    if (!p->def)
        printf("required");
    else if (!*p->def)
        printf("only when given");
    else
        printf("`%s`", p->def);
    printf(" | ");
    cell(p->help);
    if (p->choices) {
        printf(": ");
        cell(p->choices);
    }
    if (p->min <= p->max) {
        char lo[40], hi[40];
        assay_json_format_number(p->min, lo);
        assay_json_format_number(p->max, hi);
        printf("; %s .. %s", lo, hi);
    }
    if (p->unit && *p->unit) printf(" [%s]", p->unit);
    printf(" |\n");
}

static void print_gate(const assay_gate_type *g) {
    const char *base = assay_path_base(g->path);
    bool lua = assay_streq(g->kind, "lua");
    printf("\n## %s\n\n", g->name);
    cell(g->summary);
    if (lua)
        printf(" (a Lua gate, [`scripts/gates/%s`](../../../scripts/gates/%s); [its reasons](codes-of-lua-gates.md)).\n", base, base);
    else
        printf(". Rules, roles, reasons and metrics: [its README](../../../plugins/gates/%s/README.md).\n", g->name);
    if (!g->params || !g->params->name) return;
    printf("\n| parameter | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for (const assay_param *p = g->params; p->name; p++) print_row(p);
}

void assay_print_gates_page(const assay_registry *r) {
    const assay_gate_type *const *gates;
    size_t n = assay_registry_gates(r, &gates);
    printf("# Gates\n\nPrinted by `assay gates --markdown`; a test fails when this page and the program differ. A word such as "
           "`@control` is resolved\n"
           "from the plan of an experiment and names nothing outside one.\n");
    for (size_t i = 0; i < n; i++) print_gate(gates[i]);
}
