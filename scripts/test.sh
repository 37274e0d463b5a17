#!/usr/bin/env bash
# Sets up, builds everything (preset dev) and runs all tests. Arguments go to ctest, for example
#   scripts/test.sh -R unit.isa
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh test
cmake --preset dev
cmake --build --preset dev
ctest --preset dev "$@"
