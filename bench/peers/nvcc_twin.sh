#!/usr/bin/env bash
# The time of `nvcc -ptx` for a CUDA C++ twin of examples/matmul.tsa, and of `tarsia compile` for
# the program itself, elapsed and on the processor: the least of COUNT processes each (default 15),
# which other work on the machine disturbs least.
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

# least COMMAND...: the least time of COUNT runs in milliseconds, elapsed and on the processor.
least() {
  local TIMEFORMAT='%3R %3U %3S'
  for _ in $(seq "$count"); do
    { time "$@" >/dev/null 2>&1; } 2>&1
  done | awk '{
    elapsed = $1 * 1000; used = ($2 + $3) * 1000
    if (NR == 1 || elapsed < e) e = elapsed
    if (NR == 1 || used < u) u = used
  } END { print e, u }'
}

include=$(dirname "$(dirname "$nvcc")")/include
read -r twin twin_used < <(
  least "$nvcc" -ptx -arch=sm_90a "-I$include" -o "$folder/twin.ptx" bench/peers/matmul_twin.cu
)
read -r ours ours_used < <(
  least "$tarsia" compile examples/matmul.tsa --set K=4096 --set N=4096 --target sm_90a \
    -o "$folder/ours.ptx"
)
[ -s "$folder/twin.ptx" ] && [ -s "$folder/ours.ptx" ]
"$nvcc" --version | tail -1
awk -v a="$twin" -v b="$ours" -v c="$twin_used" -v d="$ours_used" 'BEGIN {
  print "nvcc -ptx bench/peers/matmul_twin.cu: " a " ms, " c " ms on the processor"
  print "tarsia compile examples/matmul.tsa:   " b " ms, " d " ms on the processor"
  printf "ratio: %.1f, %.1f on the processor\n", a / b, c / d
}'
