#!/usr/bin/env bash
# tests/bench/latency.sh BUILD [REPEATS] [TOKENS] [WIDTH] [BLOCKS] [PROCESSES] [FIRST]: the latency gate on this machine, THREADS=1, MAX_WAIT=0.02: A/A
# repeats of BLOCKS blocks in each of PROCESSES with the seeds from FIRST on, a planted slowdown of about 3 %, and both again with a load on the other
# core during the second half. Prints what came out, no verdict on it. The main experiment's arm: latency.sh BUILD 20 750 1280 8 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
repeats=${2:-20} tokens=${3:-200} width=${4:-256} blocks=${5:-16} processes=${6:-5} first=${7:-1}
out=$(mktemp -d)
burner=
trap '[ -z "$burner" ] || kill "$burner" 2>/dev/null || true; rm -rf "$out"' EXIT
host=bench

# measure NAME SEED EXTRA BLOCKS [RESOLVE_MS]: one run (0 blocks: as many as the pilot plans to find RESOLVE_MS, or 1 % of the level).
measure() {
    "$build/bin/assay" run -q "$here/latency.lua" --out "$out/$1" --host $host --threads "${THREADS:-1}" --set "tokens=$tokens" --set "width=$width" \
        --set "seed=$2" --set "extra=$3" --set "blocks=$4" --set "processes=$processes" --set "resolve=${5:-0}" --set "max_wait=${MAX_WAIT:-0.02}" >/dev/null 2>"$out/err" || case $? in 1 | 4 | 5) ;; *) cat "$out/err" >&2; exit 3 ;; esac
}
line() {
    awk -v name="$1" -v load="$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo -)" '
        function number(key,    s) { s = $0; if (!match(s, "\"" key "\":\"?[-a-z0-9.e+]+")) return "-"; s = substr(s, RSTART, RLENGTH); sub(/.*:"?/, "", s); return s }
        { verdict = $0; sub(/.*"printed":"/, "", verdict); sub(/".*/, "", verdict)
          gain = number("gain_ms"); level = number("level_ms")
          codes = ""; rest = $0; while (match(rest, /"code":"[a-z_]+"/)) { codes = codes " " substr(rest, RSTART + 8, RLENGTH - 9); rest = substr(rest, RSTART + RLENGTH) }
          printf "%-12s %-12s gain %+.4f ms (%+.2f %%), interval %+.4f to %+.4f, %d blocks, detectable %.2g ms, load %s:%s\n", name, verdict, gain, 100 * gain / level,
                 number("gain_ms_ci_low"), number("gain_ms_ci_high"), number("planned_blocks"), number("mde_ms"), load, codes }' "$out/rows"
}
# judge NAME: the gate's row of the receipt, metrics of the run before those of the pilot.
judge() {
    "$build/bin/assay" judge "$out/$1" --host $host --no-write --json 2>/dev/null >"$out/receipt" || true
    tr -d '\n' <"$out/receipt" | sed 's/.*"gates":\[//; s/"identity":.*//' >"$out/rows"
    line "$1"
}
# Starts a busy loop on the first core when half of the processes are timed; the timed process sits on the last.
load_later() {
    local name=$1 pid=$2
    until [ "$(find "$out/$name/evidence" -name samples.bin 2>/dev/null | wc -l)" -ge 4 ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    if command -v taskset >/dev/null; then taskset -c 0 sh -c 'while :; do :; done' & else sh -c 'while :; do :; done' & fi
    burner=$!
    wait "$pid" || true
    kill "$burner"
    wait "$burner" 2>/dev/null || true
    burner=
}

date -u '+%Y-%m-%d %H:%M UTC'
echo "A/A, [2, $tokens, $width], $repeats repeats of $processes x $blocks blocks"
differ=0
for i in $(seq "$first" $((first + repeats - 1))); do
    measure "aa$i" "$i" 0 "$blocks"
    judge "aa$i" | tee "$out/last"
    if grep -qE ' (pass|kill) ' "$out/last"; then differ=$((differ + 1)); fi
    rm -rf "${out:?}/aa$i"
done
echo "not different: $((repeats - differ)) of $repeats"

# What a quarter and three quarters of a multiplication cost, and on that line the share that costs 3 %; the pilot plans the run for it.
for share in 0.25 0.75; do measure "calibrate$share" 1 "$share" "$blocks"; judge "calibrate$share"; done | tee "$out/costs"
read -r extra resolve < <(sed 's/.*gain \([-+0-9.]*\) ms (\([-+0-9.]*\) %).*/\1 \2/' "$out/costs" | awk '
    { cost[NR] = -$2; if ($2 + 0) level = 100 * $1 / $2 }
    END { extra = cost[2] > cost[1] ? 0.25 + 0.5 * (3 - cost[1]) / (cost[2] - cost[1]) : 1
          if (extra < 0.02) extra = 0.02
          if (extra > 50) extra = 50
          printf "%.2f %.4f\n", extra, 0.03 * level }')
echo "planted: $extra multiplications, 3 % or $resolve ms; the pilot plans the blocks for it"
found=0 planted=$((repeats < 10 ? repeats : 10))
for i in $(seq "$first" $((first + planted - 1))); do
    measure "planted$i" "$((100 + i))" "$extra" 0 "$resolve"
    judge "planted$i" | tee "$out/last"
    if grep -q ' kill ' "$out/last"; then found=$((found + 1)); fi
    rm -rf "${out:?}/planted$i"
done
echo "found: $found of $planted"
echo "with a load on the other core during the second half"
for i in "$first" $((first + 1)); do
    for n in 0 "$extra"; do
        measure "load$n-$i" "$((200 + i))" "$n" "$blocks" &
        load_later "load$n-$i" $!
        judge "load$n-$i"
    done
done
