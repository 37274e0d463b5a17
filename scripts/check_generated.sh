#!/usr/bin/env bash
# Runs the command of each file in scripts/generated.txt and fails if its output differs from the
# file. The commands need a build with the tarsia command.
#
#   scripts/check_generated.sh [--write] [BUILD_FOLDER]    (default: build/dev)
#     --write  rewrites the files instead
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

write=0
[[ ${1:-} == --write ]] && write=1 && shift
readonly build=${1:-build/dev}
if [[ ! -x $build/tools/tarsia ]]; then
  echo "generated: error: $build has no tarsia command; build it first, or name another build folder" >&2
  exit 2
fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

count=0 failures=0
while IFS= read -r line; do
  [[ -z $line || $line == \#* ]] && continue
  file=${line%% : *}
  command=${line#* : }
  command=${command//\{build\}/$build}
  count=$((count + 1))
  if ! bash -c "$command" >"$fresh" </dev/null; then
    echo "generated: error: the command for $file failed: $command" >&2
    failures=$((failures + 1))
  elif [[ $write -eq 1 ]]; then
    mkdir -p "$(dirname "$file")"
    cp "$fresh" "$file"
  elif ! diff -u --label "$file" --label "$command" "$file" "$fresh" >&2; then
    echo "generated: error: $file is not what is made by: $command" >&2
    echo "  help: scripts/check_generated.sh --write $build" >&2
    failures=$((failures + 1))
  fi
done <scripts/generated.txt
echo "generated: $count files, $failures errors"
[[ $failures -eq 0 ]]
