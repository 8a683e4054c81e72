#!/bin/sh
# The lint itself: planted calls are found, words in comments, strings and longer names are not.
# usage: no_libm_test.sh SOURCE_DIR
set -eu
lint=$1/tests/lint/no_libm.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/core" "$dir/plugins"

clean() { printf '%s\n' "$1" > "$dir/core/x.c"; sh "$lint" "$dir" > /dev/null || { echo "wrongly refused: $1"; exit 1; }; }
planted() { printf '%s\n' "$1" > "$dir/core/x.c"; if sh "$lint" "$dir" > /dev/null; then echo "missed: $1"; exit 1; fi; }

clean 'double f(double x) { return assay_exp(x) + sqrt(x) + fma(x, x, x); } /* exp(x) */'
clean 'const char *s = "exp(x)"; double g(void) { return m->log(2) + t.sin(1) + op_exp(1); }'
clean '/* a comment
   over lines: exp(x), log(y) */ int x;'
clean 'typedef struct t { double (*exp)(double); } t;'
planted 'double f(double x) { return exp(x); }'
planted 'float f(float x) { return 2 * tanhf (x); }'
planted 'double f(double x) { return /* fast */ __builtin_pow(x, 2); }'
planted 'double f(double x) { return -lgamma(x); }'
planted 'double f(double x) { return "a" + 1, erfcl(x); }'
