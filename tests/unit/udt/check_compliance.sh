#!/usr/bin/env bash
# check_compliance.sh [repository root]: fails when a rule (I-1 ... I-27) or a known fault (A1 ... J5) has neither a test
# that names it nor a row in docs/compliance.md, or when a row names a test that does not exist.
set -euo pipefail
cd "${1:-$(dirname "$0")/../../..}"
page=docs/compliance.md
failed=0
complain() {
  echo "$*" >&2
  failed=1
}

ids=()
for number in $(seq 27); do ids+=("I-$number"); done
for group in A:9 B:10 C:14 D:16 E:9 F:9 G:10 H:7 I:8 J:5; do
  for number in $(seq "${group#*:}"); do ids+=("${group%:*}$number"); done
done

named=$(grep -rhA2 'TEST_CASE' --include='*.cpp' tests | grep -oE '\[(I-[0-9]+|[A-J][0-9]+)\]' | sort -u)
for id in "${ids[@]}"; do
  row=$(grep -E "^\| $id \|" "$page" || true)
  proof=${row%|}
  proof=${proof##*| }
  [[ -n ${proof// /} ]] || complain "$id has no row in $page"
  if [[ $proof != *'`tests/'* && $proof != *.* ]] && ! grep -qF "[$id]" <<<"$named"; then
    complain "$id has neither a test nor an explanation"
  fi
done

# The cells are lists, separated by <br>, of `file`: title, and sentences.
while IFS= read -r entry; do
  file=${entry#\`}
  file=${file%%\`*}
  title=${entry#*\`: }
  [[ -f $file ]] || { complain "$page names $file, which does not exist"; continue; }
  grep -qF "\"$title" "$file" || complain "$page names a test that $file does not have: $title"
done < <(grep -E '^\| ' "$page" | sed 's/ |$//; s/.*| //; s/<br>/\n/g' | grep '^`tests/')

exit $failed
