#!/bin/sh
# Every reason code that a gate in Lua can give is listed in docs/reference/gates/codes-of-lua-gates.md. lua_codes.sh [ROOT]
set -eu
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
page=$root/docs/reference/gates/codes-of-lua-gates.md
missing=$(grep -rhoE 'finding:(reason|invalid|inconclusive|kill|not_measured)\("[a-z_]+"' "$root/scripts/gates" "$root/scripts/assay" | sed 's/.*("//; s/"//' | sort -u |
    while read -r code; do grep -q "\`$code[\`A-Z]" "$page" || echo "$code"; done)
[ -z "$missing" ] && exit 0
echo "codes that the page does not list:" $missing
exit 1
