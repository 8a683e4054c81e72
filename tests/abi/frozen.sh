#!/usr/bin/env bash
# Compiles one small program against each frozen set of headers and against today's, and compares what they print: constants, and
# size and offsets of every value that crosses the border in arrays. What begins with struct_size may only have grown.
set -eu
here=$(cd "$(dirname "$0")" && pwd) cc=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cat >"$work/layout.c" <<'C'
#include <assay/backend.h>
#include <assay/gate.h>
#include <stddef.h>
#include <stdio.h>
#define SIZE(t) printf("%s %zu\n", #t, sizeof(t))
#define AT(t, f) printf("%s.%s %zu\n", #t, #f, offsetof(t, f))
int main(void) {
    SIZE(assay_error); SIZE(assay_tensor); SIZE(assay_named_tensor); SIZE(assay_param); SIZE(assay_value); SIZE(assay_op_row); SIZE(assay_sample);
    AT(assay_tensor, nbytes); AT(assay_param, type); AT(assay_value, type); AT(assay_op_row, cost); AT(assay_sample, flags);
    AT(assay_item, json); AT(assay_query, repeats); AT(assay_gate, destroy); AT(assay_backend, close); AT(assay_plugin, backends); AT(assay_host, get);
    AT(assay_finding, verdict); AT(assay_request, need); AT(assay_evidence, item); AT(assay_open_args, params); AT(assay_sink, op);
    printf("%d %d %d %d\n", ASSAY_NOT_MEASURED, ASSAY_U64, ASSAY_DEV_NE, ASSAY_K_RECORD);
    return 0;
}
C
"$cc" -std=c11 -I"$here/../../core/include" "$work/layout.c" -o "$work/now" && "$work/now" >"$work/now.txt"
for set in "$here"/frozen/*/; do
    "$cc" -std=c11 -I"$set" "$work/layout.c" -o "$work/then" && "$work/then" >"$work/then.txt"
    diff -u "$work/then.txt" "$work/now.txt" || { echo "the layout of ABI $(basename "$set") has changed"; exit 1; }
done
