#!/bin/sh
# tests/identity/run.sh DIGESTS SOURCE BUILD: the same bits at every instruction-set level, with 1 and 2 threads, and on arm64
# (a static build under qemu-user). Without the cross compiler or qemu that half is left out and said so; with CI set it fails.
set -eu
digests=$1 source=$2 build=$3/identity
cross=${ASSAY_CROSS_CC:-aarch64-linux-gnu-gcc}
mkdir -p "$build"
rm -f "$build"/*.txt

collect() { # collect PREFIX COMMAND...
    prefix=$1
    shift
    for level in $("$@"); do
        for threads in 1 2; do
            "$@" "$level" $threads >"$build/$prefix-$level-$threads.txt"
        done
    done
}

arm64() {
    command -v "$cross" >/dev/null || { echo "no $cross"; return 1; }
    command -v qemu-aarch64 >/dev/null || { echo "no qemu-aarch64"; return 1; }
    # Only what the program calls is linked (libcrypto is not needed): sections that nothing refers to are dropped.
    # shellcheck disable=SC2046 # a list of files
    "$cross" -std=c11 -O2 -ffp-contract=off -fno-math-errno -D_DEFAULT_SOURCE -D_GNU_SOURCE -DASSAY_KERNELS_ARM -static \
        -ffunction-sections -fdata-sections -Wl,--gc-sections \
        -I"$source/core" -I"$source/core/include" -I"$source/plugins" -o "$build/digests-arm64" \
        "$source/tests/identity/digests.c" "$source/tests/identity/digests_latency.c" "$source/core/plugin/mathiface.c" \
        $(for part in simulate decide interval order series resample dist report figures data; do echo "$source/plugins/gates/latency/$part.c"; done) \
        "$source"/plugins/ops/kernels/dispatch.c "$source"/plugins/ops/kernels/portable.c \
        "$source"/plugins/ops/kernels/level_neon.c "$source"/core/base/fmath*.c "$source"/core/base/threads.c \
        "$source"/core/base/mem.c "$source"/core/base/error.c "$source"/core/tensor/generate.c "$source"/core/tensor/dtype.c \
        -lm -lpthread
}

collect "$(uname -m)" "$digests"
if [ "$(uname -m)" != aarch64 ] && [ "$(uname -m)" != arm64 ]; then
    if why=$(arm64); then
        collect arm64 qemu-aarch64 "$build/digests-arm64"
    elif [ -n "${CI:-}" ]; then
        echo "identity: arm64 cannot be compared: $why"
        exit 1
    else
        echo "identity: arm64 left out ($why)"
    fi
fi

first="$build/$(uname -m)-portable-1.txt"
[ -s "$first" ] || { echo "identity: nothing was computed"; exit 1; }
status=0
for file in "$build"/*.txt; do
    if cmp -s "$first" "$file"; then
        echo "same   $(basename "$file" .txt)"
    else
        echo "DIFFER $(basename "$file" .txt): $(diff "$first" "$file" | sed -n 's/^> \([^ ]*\) .*/\1/p' | tr '\n' ' ')"
        status=1
    fi
done
echo "identity: $(wc -l <"$first") digests of each"
exit $status
