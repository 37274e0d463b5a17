#!/usr/bin/env bash
# Regenerates each file of scripts/generated.txt and fails if what is committed differs. With
# --write it rewrites them instead.
#
#   scripts/check_generated.sh [--write] [BUILD_FOLDER]    (default: build/dev)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

write=0
[[ ${1:-} == --write ]] && write=1 && shift
readonly build=${1:-build/dev}
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
