#!/usr/bin/env bash
# A gate made by `assay new gate`, built outside the tree, loaded with --gate-path; its own name is in, the template's is out.
set -eu
assay=$1 cmake=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$assay" new gate token_budget >/dev/null
if grep -rniw template token_budget; then echo "the template's name is left"; exit 1; fi
"$cmake" -S token_budget -B token_budget/build >log 2>&1 && "$cmake" --build token_budget/build >>log 2>&1 || { cat log; exit 1; }
"$assay" gates check token_budget/build/token_budget.so
"$assay" gates --gate-path token_budget/build | grep -q '^token_budget ' || { echo "not listed"; exit 1; }
"$assay" gates token_budget --gate-path token_budget/build/token_budget.so | grep -q max_abs_max || { echo "no parameters"; exit 1; }
if "$assay" gates token_budget >/dev/null 2>err; then echo "found without --gate-path"; exit 1; fi
grep -q "no gate 'token_budget'" err || { cat err; exit 1; }
