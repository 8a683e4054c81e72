#!/usr/bin/env bash
# Lints the public corpus under both profiles and compares every finding with public.tsv; each must be defended by a line of
# defences.tsv (rule, pattern of programs, why the finding is true). Whoever changes a rule: public.sh ASSAY --print >public.tsv,
# read the difference, defend what is new.
set -eu
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

if [ "${2:-}" = --print ]; then findings; exit; fi
got=$(mktemp)
trap 'rm -f "$got"' EXIT
findings >"$got"
diff -u "$here/public.tsv" "$got" | head -30
cmp -s "$here/public.tsv" "$got" || { echo "the findings differ from tests/rules/public.tsv"; exit 1; }
awk -F'\t' '
    FNR == NR { if (NF == 3 && !/^#/) { rule[++n] = $1; like[n] = $2 } next }
    { for (i = 1; i <= n; i++) if (rule[i] == $4 && $2 ~ like[i]) { used[i] = 1; next }
      print "not defended: " $0; bad = 1 }
    END { for (i = 1; i <= n; i++) if (!used[i]) { print "defends nothing: " rule[i] " " like[i]; bad = 1 }
          exit bad }' "$here/defences.tsv" "$got"
