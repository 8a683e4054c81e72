#!/bin/sh
# Shows that c_codes.sh fails on a code that no README lists, and passes on those that one lists.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/plugins/gates/g" "$made/docs/reference"
: >"$made/docs/reference/statistics.md"
echo '| `listed`, `added`, `of_a_table` |' >"$made/plugins/gates/g/README.md"
{
    echo '    f->reason(f, "listed", "x", "");'
    echo '    sim_add(out, 15, SIM_KILL, "added", "", "x");'
    echo '        { n < 3, "of_a_table", "fewer than 3" },'
} >"$made/plugins/gates/g/gate.c"
sh "$here/c_codes.sh" "$made"
for line in 'f->invalid(f, "unlisted", "x", "");' '    { few, "unlisted_row", "too few" },'; do
    echo "$line" >"$made/plugins/gates/g/more.c"
    if sh "$here/c_codes.sh" "$made" >"$made/out"; then echo "an unlisted code passed: $line"; exit 1; fi
    grep -q unlisted "$made/out"
done
