#!/bin/sh
# Every reason code that a gate in C gives is listed in a gate's README or among the statistics. c_codes.sh [ROOT]
set -eu
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
sources=$(find "$root/plugins/gates" -name '*.c' ! -name 'test_*' ! -path '*/template/*')
# reason(f, "code", invalid(f, "code", sim_add(..., "code"; of a choice between two codes the first
missing=$(grep -hoE '(->|sim_)(reason|invalid|add)\([^"]*"[a-z][a-z0-9_]*"|^ *\{[^"{}]*, "[a-z]+(_[a-z0-9]+)+", "[^"]* ' $sources |
    sed 's/^[^"]*"//; s/".*//' | sort -u |
    while read -r code; do grep -qw "$code" "$root"/plugins/gates/*/README.md "$root/docs/reference/statistics.md" || echo "$code"; done)
[ -z "$missing" ] && exit 0
echo "codes that no README of a gate lists:" $missing
exit 1
