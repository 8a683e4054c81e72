#!/usr/bin/env bash
# Runs the example of every command's help, in an order in which each finds what it reads; a command without one fails.
set -eu
program=$1
src=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/cwd"; ln -s "$program" "$work/bin/assay"; export PATH=$work/bin:$PATH LC_ALL=C
cd "$work/cwd"
ln -s "$src/plugins" plugins
tensor=plugins/gates/parity/cases/rounded
cp "$tensor/reference.npy" "$tensor/candidate.npy" .
printf 'program(1.3)\n{\n  func main<ios18>(tensor<fp16, [1, 4]> x) {\n    tensor<fp16, [1, 4]> y = relu(x = x)[SelectedBackend = string("ane"), BackendSupport = list<string, 1>(["ane"])];\n  } -> (y);\n}\n' >analytics.mil

# example COMMAND [EXIT]: what its help shows is run, and must end so.
example() {
    local line code=0
    line=$(assay help "$1" | sed -n '/^example:/{n;s/^  //p;}')
    [ -n "$line" ] || { echo "assay help $1 shows no example"; exit 1; }
    [ "${line#assay }" != "$line" ] || { echo "the example of $1 is another program's: $line"; exit 1; }
    bash -o pipefail -c "$line" >"$work/out" 2>&1 </dev/null || code=$?
    [ "$code" = "${2:-0}" ] || { echo "$line: exit $code, expected ${2:-0}"; cat "$work/out"; exit 1; }
    echo "$1" >>"$work/ran"
}
example new
sed 's/^return experiment {/&\n  mutants = { "scale_twice", "heads_rotated" },/' first.lua >few.lua && mv few.lua first.lua      # seconds, not all mutants
for c in run plan seal trials trial judge report diff inspect exec lint trace mutate compare gate case import backends gates ops schema doctor calibrate; do
    example $c
done
cp -r planned copy
example merge
example promote 1                # the reference backend's evidence promotes nothing that is said of a target
example matrix 4                 # nothing is known on that build
assay --help | sed -n '/^commands:/,/^everywhere:/s/^  \([a-z]*\) .*/\1/p' | sort >"$work/all"
sort "$work/ran" | diff "$work/all" - || { echo "a command was not tried"; exit 1; }
