#!/usr/bin/env bash
# Fails on a tracked C, C++ or CUDA file that is not formatted as .clang-format says, by the pinned
# version. With --fix it formats them. Tables (*.def) are formatted by hand.
set -euo pipefail
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
