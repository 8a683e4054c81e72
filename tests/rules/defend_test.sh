#!/usr/bin/env bash
# The defences against the stored findings: all are defended; a new finding, one that differs in kind, a second defence and a defence
# of nothing each fail. Needs no corpus.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
cut -f1-5 "$here/public.tsv" >"$dir/found"
fails() { # WHAT WORDS: the run on found and defences must fail and say so
    if "$here/defend.sh" "$dir/defences" <"$dir/found.$1" >/dev/null 2>"$dir/err"; then echo "FAIL: $1 passed"; bad=1; fi
    grep -q "$2" "$dir/err" || { echo "FAIL: $1: no '$2' in: $(head -1 "$dir/err")"; bad=1; }
}
cp "$here/defences.tsv" "$dir/defences"
"$here/defend.sh" "$dir/defences" <"$dir/found" | cmp - "$here/public.tsv" || { echo "FAIL: public.tsv is not what the defences give"; bad=1; }

(cat "$dir/found"; printf 'gpu\tnew-pkg\terror\tio_layout\tmain/x: [1, 2, 3] has three axes\n') >"$dir/found.program"
fails program '^not defended: gpu.new-pkg'
(cat "$dir/found"; printf 'gpu\tdtln-128-part1-pkg\terror\tcontrol_flow\tmain/x (cond): control flow: cond\n') >"$dir/found.kind"
fails kind '^not defended: .*flow: cond'

cp "$dir/found" "$dir/found.twice"
tail -n 1 "$here/defences.tsv" >>"$dir/defences"
fails twice '^defended twice: '

cp "$dir/found" "$dir/found.nothing"
(cat "$here/defences.tsv"; printf 'io_layout\t^gone\t.\tit was there once\n') >"$dir/defences"
fails nothing '^defends nothing: io_layout'
exit "$bad"
