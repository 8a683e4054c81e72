#!/usr/bin/env bash
# ./dev fuzz [target] [seconds]: libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer on one parser, or 60 s on each.
# ASSAY_FUZZ_RUNS bounds the executions of each as well. Corpora and findings stay in BUILD/corpus/TARGET; seeds come from tests/fuzz/seeds/TARGET and the shared material.
set -euo pipefail
build=$1; shift
target=${1:-all} seconds=${2:-60}
src=$(cd "$(dirname "$0")/../.." && pwd)
shared=${ASSAY_SHARED:-$src/../shared}
CC=clang cmake -S "$src" -B "$build" -G Ninja -DASSAY_FUZZ=ON -DASSAY_WERROR=OFF -DASSAY_TESTS=ON \
    -DASSAY_SANITIZE=address,undefined,fuzzer-no-link -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
targets=$target
[ "$target" = all ] && targets=$(cd "$src/tests/fuzz" && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
seeds() {
    [ -d "$src/tests/fuzz/seeds/$1" ] && cp -n "$src/tests/fuzz/seeds/$1"/* "$2/" 2>/dev/null || true
    [ -d "$shared" ] || return 0
    case $1 in
        npy) cp -n "$shared"/cases/*/*.npy "$2/" 2>/dev/null || true ;;
        json) find "$shared/cases" -name '*.json' -size -20k -exec cp -n {} "$2/" \; 2>/dev/null || true ;;
        mil) find "$shared/cases" -name '*.mil' -exec cp -n {} "$2/" \; 2>/dev/null || true ;;
        manifest) find "$shared/corpus" -name Manifest.json -size -20k | head -60 | while read -r f; do cp "$f" "$2/$(sha256sum <"$f" | head -c 16)"; done || true ;;
        blob) find "$shared/corpus/coremltools" -name weight.bin -size -20k | head -100 | while read -r f; do { printf '\0'; cat "$f"; } >"$2/$(sha256sum <"$f" | head -c 16)"; done || true ;;
        mlmodel) find "$shared/corpus/coremltools" -name '*.mlmodel' -size -20k | head -200 | while read -r f; do cp "$f" "$2/$(echo "$f" | sha256sum | head -c 16)"; done || true ;;
    esac
}
status=0
for t in $targets; do
    cmake --build "$build" --target "fuzz_$t" >/dev/null
    corpus=$build/corpus/$t; mkdir -p "$corpus"; seeds "$t" "$corpus"
    echo "fuzz $t for $seconds s"
    "$build/tests/fuzz_$t" ${ASSAY_FUZZ_RUNS:+-runs="$ASSAY_FUZZ_RUNS"} -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$build/corpus/$t-" "$corpus" 2>"$build/fuzz_$t.log" || { tail -40 "$build/fuzz_$t.log"; status=1; }
    grep -E 'stat::number_of_executed_units|cov:' "$build/fuzz_$t.log" | tail -2
done
exit $status
