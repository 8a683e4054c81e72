#!/usr/bin/env bash
# Prints docs/reference/acceptance.md: each row of rows.tsv with the code that names it and the tests that show it.
#   page.sh             the page
#   page.sh --missing   one line for each row that lacks a test of a side
set -eu
cd "$(dirname "$0")/../.."
missing=0; [ "${1:-}" = --missing ] && missing=1
find tests/unit tests/lua tests/cli/cases plugins/gates scripts core -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.lua' -o -name cmd -o -path 'plugins/gates/*/README.md' \) -not -path 'scripts/meta/*' |
    LC_ALL=C sort | { cat; echo tests/rows/rows.tsv; } | LC_ALL=C xargs -n 100000 awk -v missing=$missing -f tests/rows/page.awk
