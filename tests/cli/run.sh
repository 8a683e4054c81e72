#!/usr/bin/env bash
# One command-line case: tests/cli/run.sh CASE_DIR PROGRAM. A case is a folder with
#   cmd     shell text, run in an empty temporary folder; `assay` is the program, $SRC the project, $SHARED the shared material
#   exit    the expected exit code
#   stdout, stderr   lines that must appear in this order, each as a substring; a line "!text" must not appear anywhere
#   stdout.exact, stderr.exact   the whole text instead
#   needs   optional: "shared" (skipped where it is absent, a failure in CI), "root", "long" (skipped unless ASSAY_LONG is set)
set -u
case_dir=$(cd "$1" && pwd) program=$2
src=$(cd "$(dirname "$0")/../.." && pwd)
export SRC=$src SHARED=${ASSAY_SHARED:-$src/../shared} NO_COLOR=1 LC_ALL=C
needs=$(cat "$case_dir/needs" 2>/dev/null || true)
if [[ $needs == *shared* && ! -d $SHARED ]]; then
    echo "SKIPPED: $SHARED is absent"
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi
if [[ $needs == *long* && -z ${ASSAY_LONG:-} ]]; then echo "SKIPPED: minutes long, set ASSAY_LONG=1"; exit 77; fi
if [[ $needs == *root* && $(id -u) != 0 ]]; then echo "SKIPPED: needs root"; exit 77; fi
work=$(mktemp -d); trap 'cd /; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/cwd"
ln -s "$program" "$work/bin/assay"
export PATH=$work/bin:$PATH
cd "$work/cwd"
bash "$case_dir/cmd" >"$work/stdout" 2>"$work/stderr" </dev/null
code=$?
failed=0
want=$(cat "$case_dir/exit" 2>/dev/null || echo 0)
if [ "$code" != "$want" ]; then echo "exit code $code, expected $want"; failed=1; fi

check_lines() { # $1 = stdout|stderr
    local expect=$case_dir/$1 got=$work/$1 from=1 line at
    if [ -f "$expect.exact" ]; then diff -u "$expect.exact" "$got" || { echo "$1 differs"; failed=1; }; fi
    [ -f "$expect" ] || return 0
    while IFS= read -r line || [ -n "$line" ]; do
        [ -n "$line" ] || continue
        if [[ $line == '!'* ]]; then
            if grep -qF -- "${line#!}" "$got"; then echo "$1: must not hold: ${line#!}"; failed=1; fi
            continue
        fi
        at=$(tail -n "+$from" "$got" | grep -nF -m1 -- "$line" | cut -d: -f1)
        if [ -z "$at" ]; then echo "$1: missing (from line $from): $line"; failed=1; else from=$((from + at)); fi
    done <"$expect"
}
check_lines stdout
check_lines stderr
if grep -qE 'AddressSanitizer|runtime error:' "$work/stderr"; then echo "sanitizer report"; failed=1; fi
if [ $failed != 0 ]; then
    echo "--- stdout"; head -c 4000 "$work/stdout"; echo "--- stderr"; head -c 4000 "$work/stderr"
fi
exit $failed
