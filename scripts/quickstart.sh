#!/usr/bin/env bash
# Sets up, builds the tarsia command (preset release) and runs the main job: layers of a real model
# are quantised, multiplied by a VM program on the default device, and checked. Arguments go to the
# main job; see scripts/main_job.py --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build
cmake --preset release
cmake --build --preset release --target tarsia
exec .venv/bin/python scripts/main_job.py --tarsia build/release/tools/tarsia "$@"
