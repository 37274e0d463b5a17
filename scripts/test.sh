#!/usr/bin/env bash
# Installs what the tests need, builds everything (preset dev) and runs all tests. Arguments go to
# ctest, for example
#
#   scripts/test.sh -R unit.isa
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh test
cmake --preset dev
cmake --build --preset dev
ctest --preset dev "$@"
