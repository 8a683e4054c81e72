#!/bin/sh
# Every shell script of the project parses, with the shell that its first line names.
set -u
cd "$(dirname "$0")/../.."
status=0 count=0
for file in dev .ci/run $(find tests -name '*.sh') $(find tests/cli/cases -name cmd); do
    case $(head -1 "$file") in '#!/bin/sh'*) shell=sh ;; *) shell=bash ;; esac
    $shell -n "$file" || { echo "$file: does not parse"; status=1; }
    count=$((count + 1))
done
echo "$count scripts parsed"
[ "$count" -gt 0 ] || status=1
exit $status
