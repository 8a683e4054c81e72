#!/usr/bin/env bash
# tests/bench/run.sh BUILD [ROUNDS]: the whole bench (./dev bench). Peers go to build/bench and nowhere else; one that cannot be
# had is left out and said so. Prints figures, no verdicts: docs/reference/bench.md says how to read them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rounds=${2:-${ASSAY_BENCH_ROUNDS:-15}}
peers=$here/../../build/bench
mkdir -p "$peers/data"
say() { printf '%s\n' "$*" >&2; }

onnxruntime() {
    command -v node >/dev/null && command -v npm >/dev/null || { say "ONNX Runtime left out: no node and npm"; echo -; return; }
    if [ ! -d "$peers/node_modules/onnxruntime-node" ]; then
        npm install --ignore-scripts --no-audit --no-fund --silent --prefix "$peers" onnxruntime-node@1.30.0 >&2 ||
            { say "ONNX Runtime left out: npm could not install onnxruntime-node"; echo -; return; }
    fi
    echo "$peers"
}

onednn() {
    if [ ! -e /usr/include/dnnl.h ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libdnnl-dev >/dev/null 2>&1 || true
    fi
    if ${CC:-cc} -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -o "$peers/peer_dnnl" "$here/peer_dnnl.c" -ldnnl -lm 2>/dev/null; then
        echo "$peers/peer_dnnl"
    else
        say "oneDNN left out: no libdnnl-dev 2.x"
        echo -
    fi
}

numpy() { # the metrics' peer
    if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-numpy >/dev/null 2>&1 || true
    fi
    OPENBLAS_NUM_THREADS=1 /usr/bin/python3 "$here/peer_numpy.py" "$1" || say "numpy left out: no python3-numpy"
}

threads="1"
[ "$(getconf _NPROCESSORS_ONLN)" -ge 2 ] && threads="1 2"
date -u '+%Y-%m-%d %H:%M UTC'
uname -srm
sed -n 's/^model name.*: /processor: /p' /proc/cpuinfo 2>/dev/null | head -1
awk '{print "load average before the run: " $1}' /proc/loadavg 2>/dev/null || true
rm -rf "$peers/d750"
if "$build/bin/assay" plan "$here/d750.lua" --out "$peers/d750" >"$peers/plan.log" 2>&1; then
    export ASSAY_BENCH_RUN=$peers/d750
else
    say "programs left out: $(tail -1 "$peers/plan.log")"
fi
pin() { if command -v taskset >/dev/null; then taskset -c "$1" "${@:2}"; else "${@:2}"; fi; }
for t in $threads; do
    echo
    pin "0-$((t - 1))" "$build/bench/bench_kernels" "$t" "$rounds"
done

modules=$(onnxruntime)
dnnl=$(onednn)
if command -v node >/dev/null && [ "$modules$dnnl" != "--" ]; then
    "$build/bench/bench_kernels" dump "$peers/data"
    "$build/bench/bench_minilm" "$peers/data" dump
    node "$here/paired.mjs" "$rounds" "$build/bench/bench_kernels" "$modules" "$dnnl" "$peers/data" $threads
fi

file=$peers/data/random.bin
[ -s "$file" ] || head -c 268435456 /dev/urandom >"$file"
"$build/bench/bench_host" "$build/bin/assay" "$file" "$rounds"
numpy "$((rounds < 5 ? rounds : 5))"
"$build/bench/bench_timing"

# The mutants of the main experiment, three fixtures, through all its gates (wanted: under 3 minutes on two cores, under 3 GB).
echo
rm -rf "$peers/mutants"
start=$(date +%s)
"$build/bin/assay" mutate -q "$here/../../configs/whisper_d750.lua" --out "$peers/mutants" | grep '^mutation score'
peak=$(cat "$peers"/mutants/evidence/*/*/process.json | sed -n 's/.*"max_rss_bytes":\([0-9]*\).*/\1/p' | sort -n | tail -1)
echo "mutants of d750: $(($(date +%s) - start)) s, largest process $((peak / 1048576)) MB"
rm -rf "$peers/mutants"

# Loading: a program of about 7,400 ops with 200 MB of weights (coremltools 9.1 needs 1.6 s), and large public programs.
[ -d "$peers/load.mlpackage" ] || "$build/bench/bench_load" make "$peers"
"$build/bench/bench_load" time "$peers/load.mlpackage" "$rounds"
public=${ASSAY_SHARED:-$here/../../../shared}/corpus/public
for p in "$public"/silero-256ms-modelc/*.mlmodelc "$public"/birdnet-audio-fp16-pkg/*.mlpackage; do
    [ -d "$p" ] && { printf '%s: ' "$(basename "$p")"; "$build/bench/bench_load" time "$p" "$rounds"; }
done

# Rules: the pack over the two largest public programs, and over generated ones of up to 50,000 ops.
echo
for p in "$public"/manga-siamese-opt-pkg/*.mlpackage "$public"/silero-256ms-modelc/*.mlmodelc; do
    [ -d "$p" ] && "$build/bench/bench_rules" "$p" "$rounds"
done
"$build/bench/bench_rules" generated "$((rounds < 5 ? rounds : 5))"

# The latency gate's arithmetic on one core; scipy, where it is or can be installed, on the same differences.
echo
pin 0 "$build/bench/bench_stats" "$rounds"
if ! /usr/bin/python3 -c 'import scipy' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-scipy >/dev/null 2>&1 || true
fi
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    "$build/bench/bench_stats" data | OPENBLAS_NUM_THREADS=1 pin 0 /usr/bin/python3 "$here/peer_scipy.py" 5
else
    say "scipy left out: no python3-scipy"
fi

# How often the latency gate errs: 10,000 simulated experiments a cell. The one part that compares: exit 1 where the design's table is missed.
echo
"$build/bin/assay" calibrate latency --full
