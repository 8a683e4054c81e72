#!/bin/sh
# tests/identity/receipts.sh ASSAY DIGESTS SOURCE BUILD: the whole of configs/mini.lua (no latency gate) at every level, with one
# processor and with all: the outputs have the same digests, and the receipts are equal to `assay diff`.
set -eu
assay=$1 digests=$2 source=$3 build=$4/identity/runs
rm -rf "$build"
mkdir -p "$build"

outputs() { (cd "$1/evidence/ci" && find . -name '*.npy' | LC_ALL=C sort | while read -r f; do echo "$f $(openssl dgst -sha256 -r "$f" | cut -d' ' -f1)"; done); }

run() { # run NAME LEVEL [command before]
    name=$1 level=$2
    shift 2
    if ! ASSAY_ISA=$level "$@" "$assay" run "$source/configs/mini.lua" --host ci --out "$build/$name" >"$build/$name.log" 2>&1; then
        tail -5 "$build/$name.log"
        exit 1
    fi
    outputs "$build/$name" >"$build/$name.outputs"
}

first= status=0
for level in $("$digests"); do
    run "$level-all" "$level"
    if command -v taskset >/dev/null; then run "$level-one" "$level" taskset -c 0; fi
    for name in "$level-all" "$level-one"; do
        [ -d "$build/$name" ] || continue
        : "${first:=$name}"
        if ! cmp -s "$build/$first.outputs" "$build/$name.outputs"; then
            echo "DIFFER $name: outputs"
            status=1
        elif ! "$assay" diff "$build/$first" "$build/$name" >"$build/$name.diff" 2>&1; then
            echo "DIFFER $name: receipt: $(head -1 "$build/$name.diff")"
            status=1
        else
            echo "same   $name"
        fi
    done
done
[ "$(wc -l <"$build/$first.outputs")" -gt 0 ] || { echo "receipts: nothing was computed"; exit 1; }
exit $status
