#!/bin/sh
# Shows that lua_codes.sh fails on a code that the page does not list, and passes on one that it lists.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/scripts/gates" "$made/scripts/assay" "$made/docs/reference/gates"
echo 'finding:kill("listed", "x") finding:metric("no_code", 1) finding:inconclusive("prefix_" .. name)' >"$made/scripts/gates/g.lua"
echo '| g | `listed`, `prefix_NAME` |' >"$made/docs/reference/gates/codes-of-lua-gates.md"
sh "$here/lua_codes.sh" "$made"
echo 'finding:invalid("unlisted", "x")' >"$made/scripts/assay/h.lua"
if sh "$here/lua_codes.sh" "$made" >"$made/out"; then echo "an unlisted code passed"; exit 1; fi
grep -q unlisted "$made/out"
