#!/usr/bin/env bash
# The time of `nvcc -ptx` for a CUDA C++ twin of examples/matmul.tsa, and of `tarsia compile` for
# the program itself: the least of COUNT processes each (default 15), which other work on the machine
# disturbs least.
#
#   bench/peers/nvcc_twin.sh [TARSIA] [COUNT]
#
# TARSIA is build/release/tools/tarsia unless given. nvcc is the one on PATH, else that of the Python
# wheels, which are installed into build/nvcc (from PyPI, by name).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source versions.env

tarsia=${1:-build/release/tools/tarsia}
count=${2:-15}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

nvcc=$(command -v nvcc || true)
if [ -z "$nvcc" ]; then
  nvcc=build/nvcc/nvidia/cu13/bin/nvcc
  if [ ! -x "$nvcc" ]; then
    .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check --no-deps \
      --only-binary :all: --target build/nvcc "nvidia-cuda-nvcc==$NVCC_WHEEL_VERSION" \
      "nvidia-cuda-crt==$NVCC_WHEEL_VERSION" "nvidia-nvvm==$NVCC_WHEEL_VERSION" \
      "nvidia-cuda-runtime==$NVCC_WHEEL_VERSION" nvidia-cuda-cccl
  fi
fi

# least COMMAND...: the least of the times of COUNT runs, in milliseconds.
least() {
  for _ in $(seq "$count"); do
    local begin end
    begin=$(date +%s%N)
    "$@" >/dev/null
    end=$(date +%s%N)
    echo $(((end - begin) / 10000))
  done | sort -n | head -1 | awk '{printf "%.1f", $1 / 100}'
}

include=$(dirname "$(dirname "$nvcc")")/include
twin=$(least "$nvcc" -ptx -arch=sm_90a "-I$include" -o "$folder/twin.ptx" bench/peers/matmul_twin.cu)
ours=$(least "$tarsia" compile examples/matmul.tsa --set K=4096 --set N=4096 --target sm_90a \
  -o "$folder/ours.ptx")
"$nvcc" --version | tail -1
echo "nvcc -ptx bench/peers/matmul_twin.cu: $twin ms"
echo "tarsia compile examples/matmul.tsa:   $ours ms"
awk -v a="$twin" -v b="$ours" 'BEGIN { printf "ratio: %.1f\n", a / b }'
