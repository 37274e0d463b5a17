#!/usr/bin/env bash
# Refuses tracked files with text that no file should have: paths of one machine, blanks at the end
# of a line, carriage returns, merge marks, notes of unfinished work. Also refuses files of more than
# a megabyte and files that do not end with a newline.
#
#   scripts/check_text.sh
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
if [[ $# -gt 0 ]]; then
  echo "text: error: unknown argument $*; see --help" >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failures=0
# Tests of bad input have bad text on purpose; this file has the patterns.
readonly excluded=(':!scripts/check_text.sh' ':!tests/fuzz/corpus' ':!tests/invalid' ':!tests/cli/*.test' ':!LICENSE')

# refuse WHAT PATTERN: fails on lines of text files that match an extended regular expression.
refuse() {
  if git grep -nIE -e "$2" -- . "${excluded[@]}" >&2; then
    echo "text: error: $1" >&2
    failures=$((failures + 1))
  fi
}

refuse "a path of somebody's machine" '(^|[^A-Za-z0-9_.~])/(work|home|Users|mnt)/[A-Za-z0-9_]'
refuse "blanks at the end of a line" '[[:blank:]]+$'
refuse "a carriage return" $'\r$'
refuse "a mark of an unfinished merge" '^(<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|)( |$)'
refuse "a note of unfinished work" '(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK)([^A-Za-z_]|$)'

while IFS= read -r -d '' file; do
  [[ -f $file && ! -L $file ]] || continue
  if [[ $(stat -c %s "$file") -gt 1048576 ]]; then
    echo "text: error: $file is larger than a megabyte" >&2
    failures=$((failures + 1))
  fi
done < <(git ls-files -z)

while IFS= read -r -d '' file; do
  if [[ -f $file && -s $file && -n $(tail -c 1 "$file") ]]; then
    echo "text: error: $file does not end in a newline" >&2
    failures=$((failures + 1))
  fi
done < <(git grep -zlI -e '' -- . "${excluded[@]}")

echo "text: $(git ls-files | wc -l) files, $failures errors"
[[ $failures -eq 0 ]]
