#!/usr/bin/env bash
# One row of tests/devices/expectations.txt: tests/devices/run.sh PROGRAM "PROFILE | OPTIONS | GATE=VERDICT ... | TEXT ; TEXT". Runs
# tests/devices/arms.lua under the profile and looks for each gate's verdict and for each text in the report.
set -u
program=$1 here=$(cd "$(dirname "$0")" && pwd)
IFS='|' read -r profile options verdicts texts <<<"$2"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
args=()
for o in $options; do args+=(--set "$o"); done
NO_COLOR=1 "$program" run "$here/arms.lua" --device "${profile// /}" "${args[@]}" --require-target --out "$work/run" >"$work/text" 2>"$work/err"
code=$? failed=0
for v in $verdicts; do
    if [[ $v == exit=* ]]; then
        [ "$code" = "${v#exit=}" ] || { echo "exit code $code, expected ${v#exit=}"; failed=1; }
        continue
    fi
    got=$(awk -v g="${v%%=*}" '$1 == g && $2 == "candidate" { print $3; exit }' "$work/text")
    [ "$got" = "${v#*=}" ] || { echo "gate ${v%%=*}: ${got:-nothing}, expected ${v#*=}"; failed=1; }
done
grep -q "standing rehearsal" "$work/text" || { echo "no standing rehearsal"; failed=1; }
while IFS= read -r t; do
    t=$(sed 's/^ *//; s/ *$//' <<<"$t")
    [ -z "$t" ] || grep -qF -- "$t" "$work/text" || { echo "missing: $t"; failed=1; }
done < <(tr ';' '\n' <<<"$texts")
if [ $failed != 0 ]; then cat "$work/err"; head -c 4000 "$work/text"; fi
exit $failed
