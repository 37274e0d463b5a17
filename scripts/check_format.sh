#!/usr/bin/env bash
# Checks that the pinned clang-format would leave every tracked C, C++ and CUDA file as it is. Tables
# (*.def) are formatted by hand and are not checked.
#
#   scripts/check_format.sh [--fix]    --fix formats the files
#
# Exit status: 0 all files are formatted, 1 some are not, 2 bad usage.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
if [[ $# -gt 1 || ${1:---fix} != --fix ]]; then
  echo "format: error: unknown argument $*; see --help" >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=versions.env
source versions.env

readonly formatter="clang-format-${CLANG_VERSION}"
command -v "$formatter" >/dev/null || {
  echo "format: error: ${formatter} is missing; scripts/setup.sh installs it" >&2
  exit 1
}
mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)

mapfile -d '' files < <(git ls-files -z -- '*.h' '*.cc' '*.c' '*.cu' '*.cuh')
[[ ${#files[@]} -gt 0 ]] || { echo "format: error: no files" >&2; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" "$formatter" "${mode[@]}"
echo "format: ${#files[@]} files"
