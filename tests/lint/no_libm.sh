#!/bin/sh
# No source calls libm's transcendental functions: their last bits differ between machines (architecture.md section 7, rule 4).
# Allowed are the exact ones: sqrt fma fabs floor ceil trunc round rint fmod copysign ldexp frexp nextafter and the like.
# usage: no_libm.sh SOURCE_DIR
set -eu
cd "$1"
banned='a?(sin|cos|tan)h?|atan2|sincos|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|erf|erfc|l?gamma|tgamma|lgamma_r|cbrt|hypot|j0|j1|jn|y0|y1|yn'
# A call: a banned name (or its f or l form) that is not part of a longer name or a member, followed by a bracket. Comments and
# strings are taken out first, so that prose and op names do not count.
find core plugins -name '*.c' -o -name '*.h' | sort | xargs awk -v banned="$banned" '
    FNR == 1 { inside = 0 }
    {
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        if (inside && !sub(/^.*\*\//, "", line)) next
        inside = 0
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
        if (sub(/\/\*.*$/, "", line)) inside = 1
        sub(/\/\/.*$/, "", line)
        if (match(line, "(^|[^A-Za-z0-9_.>])(__builtin_)?(" banned ")[fl]?[ ]*\\(")) {
            print FILENAME ":" FNR ": calls libm: " $0 " (use base/fmath.h)"
            bad = 1
        }
    }
    END { exit bad }'
