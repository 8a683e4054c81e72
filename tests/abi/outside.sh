#!/usr/bin/env bash
# A gate made by `assay new gate`, built outside the tree, loaded with --gate-path; its own name is in, the template's is out.
set -eu
assay=$1 cmake=$2 src=$(cd "$(dirname "$0")/../.." && pwd)
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

# Its cases stand beside it and are judged before a run: one that errs makes the run invalid.
sed 's/^  gate { use = "parity"/  gate { use = "token_budget", arm = "fused", max_abs_max = 0.1 },\n&/' "$src/configs/mini.lua" >x.lua
"$assay" run -q x.lua --gate-path token_budget/build --out good >out || { cat out; exit 1; }
sed -i.was 's/"verdict": "pass"/"verdict": "kill"/' token_budget/build/token_budget.cases/close/expected.json
code=0; "$assay" run -q x.lua --gate-path token_budget/build --out bad >out || code=$?
[ $code = 5 ] && grep -q gate_self_test_failed out || { cat out; echo "a gate that errs on its own case was believed"; exit 1; }
# `gates check` finds the copy too, where the source is not near.
mkdir away && cp -r token_budget/build/token_budget.so token_budget/build/token_budget.cases away
if "$assay" gates check away/token_budget.so >out; then cat out; echo "the copy of the cases was not judged"; exit 1; fi
grep -q 'case close' out || { cat out; exit 1; }
