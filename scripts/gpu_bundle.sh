#!/usr/bin/env bash
# Packs the files that scripts/gpu_check.sh needs on a machine that has only a GPU and its driver:
# programs and libtarsia.so, linked statically except for the C library, kernels, cases, and the
# benchmark beside other libraries (gpu.py). Makes gpu-bundle/tarsia-gpu.tar.xz and the same unpacked
# in gpu-bundle/tarsia-gpu/.
#
#   scripts/gpu_bundle.sh            then, on the other machine:
#   tar xf tarsia-gpu.tar.xz && tarsia-gpu/gpu_check.sh --out result.json
#
# TARSIA_GPU_BUILD names the build folder (build/gpu), TARSIA_GPU_FLAGS the compiler's flags.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly build=${TARSIA_GPU_BUILD:-build/gpu}
readonly flags=${TARSIA_GPU_FLAGS:--O2 -DNDEBUG}
readonly out=gpu-bundle
readonly folder=$out/tarsia-gpu
readonly limit=$((60 * 1024 * 1024))

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_C_FLAGS="$flags" -DTARSIA_STATIC=ON -DTARSIA_TESTS=ON -DTARSIA_BENCH=OFF -DTARSIA_TEST_DATA=
ninja -C "$build" tarsia tarsia_shared gpu_cases gpu_measure

rm -rf "$folder"
mkdir -p "$folder/tests/spec" "$folder/examples/reduce"
for program in tools/tarsia lib/libtarsia.so tests/gpu/gpu_cases tests/gpu/gpu_measure; do
  strip -o "$folder/$(basename "$program")" "$build/$program"
  if ldd "$folder/$(basename "$program")" | grep -vE 'linux-vdso|lib(c|m|dl|rt|pthread)\.so|ld-linux'; then
    echo "gpu_bundle: error: $program needs the libraries above" >&2
    exit 1
  fi
done
cp tests/spec/*.tsa "$folder/tests/spec/"
cp examples/*.tsa "$folder/examples/"
cp kernels/copy.tsa tests/gpu/*.tsa tests/gpu/*.py scripts/gpu_check.sh scripts/gpu_counters.sh \
  bench/gpu.py bench/matmul.py bench/peers/triton_u4.py bench/code_counts.py "$folder/"
cp examples/reduce/*.tsa "$folder/examples/reduce/"
git describe --always --dirty --abbrev=40 > "$folder/commit.txt"

tar -C "$out" -cf - tarsia-gpu | xz -T2 -6 > "$out/tarsia-gpu.tar.xz"
size=$(stat -c %s "$out/tarsia-gpu.tar.xz")
echo "gpu_bundle: $out/tarsia-gpu.tar.xz has $size bytes"
if ((size > limit)); then
  echo "gpu_bundle: error: more than $limit bytes" >&2
  exit 1
fi
