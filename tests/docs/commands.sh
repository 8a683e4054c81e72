#!/usr/bin/env bash
# Runs the examples of one Markdown file: every fence that opens with ```sh test is run as one script, in file order, in one
# temporary folder with `assay` on the path, $SRC and $SHARED set; it must exit 0. A fence ```sh test exit=N must exit N. A fence
# ```lua file=NAME writes NAME into that folder. A fence with "shared" needs the shared material.
set -u
doc=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") program=$2
export SRC; SRC=$(cd "$(dirname "$0")/../.." && pwd)
export SHARED=${ASSAY_SHARED:-$SRC/../shared} NO_COLOR=1 LC_ALL=C
work=$(mktemp -d); trap 'cd /; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/cwd"; ln -s "$program" "$work/bin/assay"; export PATH=$work/bin:$PATH
cd "$work/cwd"
awk -v out="$work/block" '
    /^```/ && !open { if ($0 ~ /^```sh test/ || $0 ~ /^```[a-z]+ file=/) { open = 1; n++; f = sprintf("%s.%03d", out, n); print substr($0, 4) > f; next } else { open = 2; next } }
    /^```/ && open { open = 0; if (f) close(f); next }
    open == 1 { print > f }' "$doc"
ran=0 skipped=0
for block in "$work"/block.*; do
    [ -f "$block" ] || continue
    head=$(head -1 "$block"); tail -n +2 "$block" >"$block.body"
    if [[ $head == *file=* ]]; then
        name=${head#*file=}; name=${name%% *}; mkdir -p "$(dirname "$name")"; cp "$block.body" "$name"; continue
    fi
    if [[ $head == *shared* && ! -d $SHARED ]]; then
        [ -n "${CI:-}" ] && { echo "$SHARED is absent in CI"; exit 1; }
        skipped=$((skipped + 1)); continue
    fi
    want=0; [[ $head == *exit=* ]] && { want=${head#*exit=}; want=${want%% *}; }
    bash -e "$block.body" >"$work/out" 2>&1 </dev/null; code=$?
    ran=$((ran + 1))
    if [ "$code" != "$want" ]; then
        echo "$doc: this example exits with $code, expected $want:"; cat "$block.body"; echo "--- output"; tail -40 "$work/out"; exit 1
    fi
done
echo "$ran examples run, $skipped skipped"
[ $((ran + skipped)) -gt 0 ] || { echo "$doc has no examples"; exit 1; }
[ $ran -gt 0 ] || exit 77
