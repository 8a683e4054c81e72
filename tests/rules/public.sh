#!/usr/bin/env bash
# Lints the public corpus under both profiles and compares every finding, with its defence, with public.tsv. A defence is a line of
# defences.tsv (rule, programs, findings, why they are true); each finding has exactly one, so a finding that differs in kind needs
# words of its own. Whoever changes a rule: public.sh ASSAY --print >public.tsv, read the difference, defend what is new.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
assay=$1
corpus=${ASSAY_SHARED:-$here/../../../shared}/corpus/public
if [ ! -d "$corpus" ]; then
    echo "SKIPPED: $corpus is absent" >&2
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi

# profile, program, severity, rule, place and message of each finding, tab between.
findings() {
    for profile in neural-engine gpu; do
        for folder in "$corpus"/*/; do
            for program in "$folder"*.mlpackage "$folder"*.mlmodelc "$folder"*.mil; do
                [ -e "$program" ] || continue
                "$assay" lint "$program" --profile "$profile" --all 2>/dev/null | awk -v OFS='\t' -v p="$profile" -v n="$(basename "$folder")" '
                    /^(error|warning|design) / { severity = $1; rule = $2; sub(/:$/, "", rule) }
                    /^    / { print p, n, severity, rule, substr($0, 5) }' || true
            done
        done
    done
}

if [ "${2:-}" = --print ]; then findings | "$here/defend.sh" "$here/defences.tsv"; exit; fi
got=$(mktemp)
trap 'rm -f "$got"' EXIT
findings | "$here/defend.sh" "$here/defences.tsv" >"$got"
diff -u "$here/public.tsv" "$got" | head -30 || { echo "the findings differ from tests/rules/public.tsv"; exit 1; }
