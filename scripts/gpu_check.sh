#!/usr/bin/env bash
# Checks and measures Tarsia on this machine's GPU, from the folder that scripts/gpu_bundle.sh
# packs. Needs the driver, bash and coreutils; uses compute-sanitizer, ncu and PyTorch if available.
#
#   gpu_check.sh [--out FILE] [--minutes N] [--jobs N] [--only REGEX] [--rehearse LIBRARY]
#
# Runs every case on the GPU against the interpreter and the expected values, each group of cases in
# a separate process, because a fault of a kernel ends all further work of its process. Writes one
# JSON file: device, driver, commit, measurements, counters against the emulator's
# (gpu_counters.sh), groups. Ends within N minutes (9): groups that would begin later are recorded
# as skipped. `--only` selects groups whose names match. `--rehearse` runs on the emulated driver, a
# library, with little work and no times, and skips no group. Exit status: 0 all cases hold, 1 some
# fail, 3 no GPU.
set -euo pipefail

out=gpu_check.json minutes=9 jobs=4 only=. rehearse= per_group=120
usage() {
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 2
}
while (($# > 0)); do
  [[ $# -ge 2 ]] || usage
  case $1 in
    --out) out=$2 ;;
    --minutes) minutes=$2 ;;
    --jobs) jobs=$2 ;;
    --only) only=$2 ;;
    --rehearse) rehearse=$(realpath "$2") ;;
    *) usage ;;
  esac
  shift 2
done
out=$(realpath -m "$out")
cd "$(dirname "${BASH_SOURCE[0]}")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TARSIA_WITNESSES=interpreter,cuda TARSIA_CUDA_WITNESS=gpu
measure_options=()
if [[ -n $rehearse ]]; then
  export TARSIA_CUDA_DRIVER=$rehearse TARSIA_CUDA_CODE=ptx TARSIA_EMULATED_LIMIT=20000000
  export TARSIA_EMULATED_TOLERATE=uninitialised,race  # which GPUs do not detect
  measure_options=(--small)
  minutes=1440 per_group=3600
fi
deadline=$(($(date +%s) + minutes * 60 - 30))  # half a minute to write the result
export work deadline per_group

# Standard input as a JSON string, without control characters; long text keeps its end.
json_string() {
  printf '"'
  tail -c 4000 | LC_ALL=C tr -cd '\11\12\40-\176' |
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' |
    awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'
  printf '"'
}

# A member of the result: a file that a program wrote if it is JSON, else null.
json_file() {
  if [[ -s $1 && $(head -c 1 "$1") == '{' ]]; then cat "$1"; else printf null; fi
}

# The cases of a filter, one per line.
list_cases() {
  ./gpu_cases --gtest_list_tests --gtest_filter="$1" |
    awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }'
}

# failing_alone FILTER: a JSON list of the cases that fail in a separate process: after one that
# destroys its context, the rest of the group fails without a fault.
failing_alone() {
  local one comma=
  printf '['
  for one in $(list_cases "$1"); do
    (($(date +%s) < deadline)) || break
    timeout 20 ./gpu_cases --gtest_filter="$one" > /dev/null 2>&1 && continue
    printf '%s"%s"' "$comma" "$one"
    comma=', '
  done
  printf ']'
}

# run_group NAME FILTER: the record of one group, in $work/groups/NAME.json.
run_group() {
  local name=$1 filter=$2 status=0 record="$work/groups/$1.json"
  if (($(date +%s) >= deadline)); then
    printf '{"group": "%s", "skipped": "out of time"}' "$name" > "$record"
    return
  fi
  timeout "$per_group" ./gpu_cases --gtest_filter="$filter" \
    --gtest_output="json:$work/$name.report" > "$work/$name.log" 2>&1 || status=$?
  {
    printf '{"group": "%s", "status": %d, "report": ' "$name" "$status"
    json_file "$work/$name.report"
    if ((status != 0)); then
      printf ', "output": '
      json_string < "$work/$name.log"
      printf ', "failing_alone": '
      failing_alone "$filter"
    fi
    printf '}'
  } > "$record"
  echo "gpu_check: $name: $( ((status == 0)) && echo holds || echo "FAILS ($status)")"
}
export -f run_group list_cases failing_alone json_string json_file

# Names and filters of the groups: an instruction's cases, or those of a test of a suite.
list_groups() {
  ./gpu_cases --gtest_list_tests | awk '
    /^[^ ]/ { suite = $1; next }
    suite == "Case/SpecCaseTest." {
      name = $1; sub(/^Holds\//, "", name); sub(/_[0-9]+$/, "", name)
      if (!(name in seen)) { seen[name] = 1; print name, suite "Holds/" name "_*" }
      next
    }
    suite !~ /SpecFileTest|^Spec\.|^SpecRunner|Running/ && $1 !~ /OnTheEmulator/ {
      test = $1; sub(/\/.*/, "", test)
      name = suite test; gsub(/[^A-Za-z0-9]/, "_", name)
      if (!(name in seen)) { seen[name] = 1; print name, suite test (test == $1 ? "" : "/*") }
    }' | awk -v only="$only" '$1 ~ only'
}

# The groups' records as a JSON list.
join_groups() {
  local first=1 record
  printf '['
  for record in "$work"/groups/*.json; do
    [[ -e $record ]] || continue
    ((first)) || printf ',\n'
    first=0
    cat "$record"
  done
  printf ']'
}

# A few groups again, with compute-sanitizer.
run_sanitizer() {
  local tool status=0 path
  for path in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer; do
    tool=$(command -v "$path") && break
  done
  if [[ -z ${tool:-} || -n $rehearse ]]; then
    printf '{"skipped": "no compute-sanitizer"}'
    return
  fi
  if (($(date +%s) + 60 >= deadline)); then
    printf '{"skipped": "out of time"}'
    return
  fi
  timeout "$per_group" "$tool" --error-exitcode 99 ./gpu_cases \
    --gtest_filter='*SpecCaseTest.Holds/load_*:*SpecCaseTest.Holds/store_*:*SpecCaseTest.Holds/dot_*' \
    > "$work/sanitizer.log" 2>&1 || status=$?
  printf '{"tool": "%s", "status": %d, "output": ' "$tool" "$status"
  json_string < "$work/sanitizer.log"
  printf '}'
}

# The counts of ncu against the predictions of the emulator.
run_counters() {
  if [[ -n $rehearse ]]; then
    printf '{"skipped": "a rehearsal"}'
    return
  fi
  if (($(date +%s) + 60 >= deadline)); then
    printf '{"skipped": "out of time"}'
    return
  fi
  timeout "$per_group" ./gpu_counters.sh 2> "$work/counters.log" > "$work/counters.json" ||
    printf '{"skipped": "it fails"}' > "$work/counters.json"
  cat "$work/counters.json"
}

status=0
echo "gpu_check: measuring"
timeout "$per_group" ./gpu_measure "${measure_options[@]}" > "$work/measure.json" \
  2> "$work/measure.log" || status=$?
if ((status == 3)); then
  cat "$work/measure.log" >&2
  exit 3
fi
mkdir "$work/groups"
list_groups | xargs -r -P "$jobs" -L 1 bash -c 'run_group "$0" "$1"'
sanitizer=$(run_sanitizer)
counters=$(run_counters)
torch='{"skipped": "no PyTorch"}'
if [[ -z $rehearse ]] && command -v python3 > /dev/null; then
  torch=$(timeout "$per_group" python3 measure_torch.py 2> /dev/null || printf '{"skipped": "no PyTorch"}')
fi

{
  printf '{"commit": '
  tr -d '\n' < commit.txt | json_string
  printf ',\n"date": "%s",\n"measured": ' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  json_file "$work/measure.json"
  printf ',\n"measured_status": %d,\n"torch": %s,\n"sanitizer": %s,\n"counters": %s,\n"groups": ' \
    "$status" "$torch" "$sanitizer" "$counters"
  join_groups
  printf '}\n'
} > "$out"

count() { { grep -lE "$1" "$work"/groups/*.json 2> /dev/null || true; } | wc -l; }
held=$(count '"status": 0') skipped=$(count '"skipped"') all=$(count '.')
echo "gpu_check: $held of $all groups hold, $skipped skipped; $out"
[[ $sanitizer == *'"status": 0'* || $sanitizer == *skipped* ]] || status=1
((status == 0 && all > 0 && held + skipped == all))
