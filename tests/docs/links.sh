#!/usr/bin/env bash
# Every relative link in every tracked Markdown file leads to a file that exists.
set -u
cd "$(dirname "$0")/../.."
failed=0 count=0
while IFS= read -r file; do
    dir=$(dirname "$file")
    while IFS= read -r target; do
        target=${target%%#*}
        case "$target" in ''|http://*|https://*|mailto:*) continue ;; esac
        count=$((count + 1))
        [ -e "$dir/$target" ] || { echo "$file: dead link to $target"; failed=1; }
    done < <(grep -oE '\]\([^) ]+\)' "$file" | sed -E 's/^\]\(//; s/\)$//')
done < <(find . -name '*.md' -not -path './build*' -not -path './.git/*' -not -path './runs/*')
echo "$count links checked"
[ "$count" -gt 0 ] && exit $failed || exit 1
