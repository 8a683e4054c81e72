#!/usr/bin/env bash
# defend.sh DEFENCES <FINDINGS: adds the defence of each finding as its last column. A finding with none or with two of them, and a
# defence of nothing, are said on standard error and fail.
exec awk -F'\t' -v OFS='\t' '
    FNR == NR { if (NF == 4 && !/^#/) { rule[++n] = $1; like[n] = $2; text[n] = $3; why[n] = $4 } next }
    { hits = 0
      for (i = 1; i <= n; i++) if (rule[i] == $4 && $2 ~ like[i] && $5 ~ text[i]) { hits++; hit = i; used[i] = 1 }
      if (hits == 1) { print $0, why[hit]; next }
      print (hits ? "defended twice: " : "not defended: ") $0 >"/dev/stderr"; bad = 1 }
    END { for (i = 1; i <= n; i++) if (!used[i]) { print "defends nothing: " rule[i], like[i], text[i] >"/dev/stderr"; bad = 1 }
          exit bad }' "$1" -
