#!/usr/bin/env bash
# Runs the long tests: fuzzers, random and exhaustive tests, sanitizers, mutants. Continuous
# integration runs short forms of them. Prints a summary, and writes it to build/nightly/summary.txt.
#
#   scripts/nightly.sh [--fuzz-seconds N] [--random-modules N] [--seed N] [STEP...]
#     STEP              rehearse fuzz random exhaustive engine asan tsan tidy mutants (default: all,
#                       in this order); rehearse is the check of a GPU (gpu_check.sh) as a whole, on
#                       the emulated driver; random is the tests of random programs, exhaustive every
#                       other test over its whole range (hours); engine is a real model with every
#                       type of weights; tidy is clang-tidy on every source
#     --fuzz-seconds    how long each fuzzer runs (default 600)
#     --random-modules  how many programs the random tests make (default 50000)
#     --seed            where random tests start (default: taken from the clock, and printed)
#
# Tests take their long form from the environment: TARSIA_RANDOM_MODULES is the number of random
# programs, TARSIA_SEED the first seed, TARSIA_LONG=1 selects exhaustive ranges.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

fuzz_seconds=600 random_modules=50000 seed=$(date +%s) steps=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --fuzz-seconds) fuzz_seconds=${2:?} && shift 2 ;;
    --random-modules) random_modules=${2:?} && shift 2 ;;
    --seed) seed=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' scripts/nightly.sh && exit 0 ;;
    rehearse | fuzz | random | exhaustive | engine | asan | tsan | tidy | mutants) steps+=("$1") && shift ;;
    *) echo "nightly: error: unknown argument $1; see --help" >&2 && exit 2 ;;
  esac
done
[[ ${#steps[@]} -gt 0 ]] || steps=(rehearse fuzz random exhaustive engine asan tsan tidy mutants)

readonly logs=build/nightly
mkdir -p "$logs"
: >"$logs/summary.txt"
failures=0

note() { printf '%s\n' "$*" | tee -a "$logs/summary.txt"; }

# run NAME COMMAND...: runs it with its output in a separate log, and records how it ended.
run() {
  local name=$1 start=$SECONDS outcome=ok
  shift
  "$@" >"$logs/$name.log" 2>&1 </dev/null || {
    outcome="FAILED (see $logs/$name.log)"
    failures=$((failures + 1))
  }
  note "$(printf '%-28s %6d s  %s' "$name" $((SECONDS - start)) "$outcome")"
}

build() { cmake --preset "$1" && cmake --build --preset "$1"; }

# Each fuzzer starts from its committed corpus and writes its findings to build/.
fuzz_one() {
  local name=$1 found=$logs/corpus/$1
  mkdir -p "$found" "$logs/findings/$name"
  "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$fuzz_seconds" -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$logs/findings/$name/" \
    "$found" "tests/fuzz/corpus/$name"
}

fuzz() {
  run build-fuzz build fuzz
  local binary
  for binary in build/fuzz/tests/fuzz/fuzz_*; do
    [[ -x $binary ]] || continue
    local name=${binary##*/fuzz_}
    run "fuzz-$name" fuzz_one "$name"
    note "  $(grep -E '^stat::number_of_executed_units' "$logs/fuzz-$name.log" || echo 'no statistics')"
  done
}

# Packs the bundle and rehearses it: every group of cases, every measurement.
rehearse() {
  run build-dev build dev
  run gpu-bundle scripts/gpu_bundle.sh
  run rehearse gpu-bundle/tarsia-gpu/gpu_check.sh --jobs "$(nproc)" --out "$logs/rehearsal.json" \
    --rehearse build/dev/lib/libtarsia_emulated_cuda.so
  note "  $(tail -n 1 "$logs/rehearse.log")"
}

# The random tests in parts of 1,000 programs, on all cores. Prints what a part says; a part that
# fails does not stop the others.
readonly part=1000
random_parts() {
  local test first
  for test in random_compiled random random_scalar; do
    for ((first = 0; first < random_modules; first += part)); do
      printf '%s %s %s\n' "$test" $((seed + first)) \
        $((random_modules - first < part ? random_modules - first : part))
    done
  done | xargs -P "$(nproc)" -L 1 bash -c \
    'export TARSIA_SEED=$1 TARSIA_RANDOM_MODULES=$2
     said=$("build/dev/tests/random/${0}_test" --gtest_brief=1 2>&1) || failed=1
     printf "%s from seed %s on:\n%s\n" "$0" "$1" "$said"
     exit "${failed:-0}"'
}

random() {
  run build-dev build dev
  run random random_parts
  note "  $(awk '/ kernels and targets from seed /{n += $1; refused += $9} END {
    print n + 0, "kernels and targets were compared,", refused + 0, "of them refused"}' \
    "$logs/random.log")"
}

exhaustive() {
  run build-dev build dev
  TARSIA_LONG=1 TARSIA_SEED=$seed run exhaustive ctest --preset dev -E '^(random|engine$)' --timeout 14400
}

# A real model with every type of weights, against a formula. Bytes and cosines must be those that
# docs/accuracy.md is made of; they do not depend on the machine.
engine() {
  run build-dev build dev
  TARSIA_LONG=1 run engine ctest --preset dev -R '^engine$' --timeout 3600
  run engine-table python3 tests/engine/engine_test.py --table "$logs/engine.json" --venv .venv \
    --engine build/dev/tests/engine/engine --tarsia build/dev/tools/tarsia \
    --driver build/dev/lib/libtarsia_emulated_cuda.so
  run engine-same diff "$logs/engine.json" bench/results/engine.json
  note "  $(grep -c '"type"' "$logs/engine.json") rows of types: cp $logs/engine.json bench/results/ changes them"
}

sanitized() {
  run "build-$1" build "$1"
  TARSIA_SEED=$seed run "$1" ctest --preset "$1" --timeout 3600
}

tidy() {
  run configure-tidy cmake --preset tidy
  run tidy scripts/check_tidy.py --all
}

scripts/setup.sh check || exit 1
note "commit $(git rev-parse --short HEAD), $(nproc) cores, seed $seed"
for step in "${steps[@]}"; do
  case "$step" in
    rehearse) rehearse ;;
    fuzz) fuzz ;;
    random) random ;;
    exhaustive) exhaustive ;;
    engine) engine ;;
    asan | tsan) sanitized "$step" ;;
    tidy) tidy ;;
    mutants) run mutants scripts/mutate.sh ;;
  esac
done
note "$failures failures"
[[ $failures -eq 0 ]]
