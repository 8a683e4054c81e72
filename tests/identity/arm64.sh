#!/bin/sh
# tests/identity/arm64.sh ASSAY SOURCE BUILD: the whole program built for arm64, run under qemu-user: configs/mini.lua gives the
# outputs and the receipt of this machine (`assay diff` calls them equal). Needs the cross compiler and the arm64 libraries;
# without them it is skipped and says so (a failure in CI).
set -eu
assay=$1 source=$2 build=$3/identity/arm64
skip() { echo "SKIPPED: $1"; [ -z "${CI:-}" ] || exit 1; exit 77; }
case $(uname -m) in aarch64 | arm64) echo "SKIPPED: this machine is arm64"; exit 77 ;; esac
command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
qemu=$(command -v qemu-aarch64) || skip "no qemu-aarch64"
[ -e /usr/lib/aarch64-linux-gnu/pkgconfig/lua5.4.pc ] || skip "no arm64 libraries (dpkg --add-architecture arm64; liblua5.4-dev:arm64 ...)"
mkdir -p "$build"
launcher=
command -v ccache >/dev/null && launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache
cmake -S "$source" -B "$build/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$source/cmake/arm64-linux.cmake" $launcher >"$build/cmake.log" 2>&1 || { tail "$build/cmake.log"; exit 1; }
cmake --build "$build/build" >"$build/build.log" 2>&1 || { tail -20 "$build/build.log"; exit 1; }
rm -rf "$build/here" "$build/there"
"$assay" run "$source/configs/mini.lua" --host ci --out "$build/here" >"$build/here.log" 2>&1 || { tail -5 "$build/here.log"; exit 1; }
ASSAY_EMULATOR=$qemu "$qemu" "$build/build/bin/assay" run "$source/configs/mini.lua" --host ci --out "$build/there" >"$build/there.log" 2>&1 ||
    { tail -5 "$build/there.log"; exit 1; }
outputs() { (cd "$1/evidence/ci" && find . -name '*.npy' | LC_ALL=C sort | while read -r f; do echo "$f $(openssl dgst -sha256 -r "$f" | cut -d' ' -f1)"; done); }
outputs "$build/here" >"$build/here.outputs"
outputs "$build/there" >"$build/there.outputs"
[ -s "$build/here.outputs" ] || { echo "nothing was computed"; exit 1; }
cmp "$build/here.outputs" "$build/there.outputs" || exit 1
"$assay" diff "$build/here" "$build/there"
calibrate() { "$@" calibrate latency --runs 20 --only iid --only clocks --only designs --json; }
calibrate "$assay" >"$build/here.calibration"
calibrate "$qemu" "$build/build/bin/assay" >"$build/there.calibration"
cmp "$build/here.calibration" "$build/there.calibration" || exit 1
echo "$(wc -l <"$build/here.outputs") outputs, the receipt and the calibration of the latency gate are the same"
