#!/usr/bin/env bash
# Compares the counts of the emulator with those of Nsight Compute's ncu on this machine's GPU, for
# a few kernels. Prints a JSON list with one object per kernel: for each count the prediction, the
# measurement, and the difference; or {"skipped": why}.
#
#   gpu_counters.sh [--tarsia PROGRAM] [--kernels FOLDER] [--examples FOLDER] [--device D] [--parse COUNT FILE]
#
# Searches ncu on PATH and in /usr/local/cuda/bin; TARSIA_NCU names another one. `--parse` only
# prints the value of one count in a file of ncu. Exit status: 0, also if something was skipped;
# people judge the differences, because machine code is not PTX.
set -euo pipefail

tarsia=./tarsia kernels=. examples=examples device=cuda:0

# A count (ptx/count/counts.def), and the metrics whose sum it predicts. Machine code has other
# instructions than PTX, so their difference is only informative; the others should be 0.
readonly table='
warp_instructions   smsp__inst_executed.sum
thread_instructions smsp__thread_inst_executed_pred_on.sum
global_sectors      l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
shared_wavefronts   l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
local_sectors       l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum
'

# Kernels: a name, a file, the common arguments of `tarsia compile` and `tarsia run`, and the
# pointers.
readonly cases='
copy    kernels/copy.tsa     --arg,n=10000                                  x,y
softmax examples/softmax.tsa --set,D=128,--arg,rows=64                      x,y
matmul  examples/matmul.tsa  --set,K=128,--set,N=128,--set,W=u8,--arg,m=64  x,w,y
'

counts() { awk 'NF > 1 { print $1 }' <<< "$table"; }
metrics_of() { awk -v name="$1" '$1 == name { for (i = 2; i <= NF; ++i) print $i }' <<< "$table"; }
all_metrics() { awk '{ for (i = 2; i <= NF; ++i) print $i }' <<< "$table" | paste -sd, -; }

# measured COUNT FILE: the sum of the count's metrics over the launches in ncu's CSV, or null if one
# of them is missing. Fields are in quotes, numbers have commas; lines without quotes are messages
# of ncu or the program.
measured() {
  awk -v wanted="$(metrics_of "$1" | paste -sd' ' -)" '
    BEGIN { needed = split(wanted, list, " "); for (i in list) is_wanted[list[i]] = 1 }
    !/^"/ { next }
    {
      line = $0
      sub(/\r$/, "", line)
      line = substr(line, 2, length(line) - 2)
      fields = split(line, field, /","/)
    }
    !name_at {
      for (i = 1; i <= fields; ++i) {
        if (field[i] == "Metric Name") name_at = i
        if (field[i] == "Metric Value") value_at = i
      }
      next
    }
    (field[name_at] in is_wanted) {
      value = field[value_at]
      gsub(/[,.]/, "", value)
      if (value !~ /^[0-9]+$/) next
      if (!(field[name_at] in seen)) { seen[field[name_at]] = 1; ++found }
      sum += value
    }
    END { if (found == needed) printf "%.0f", sum; else printf "null" }' "$2"
}

# predicted COUNT FILE: the total of the count in a file of `tarsia compile --emit cost-json`.
predicted() {
  sed -n 's/.*"total": {\([^{}]*\).*/\1/p' "$2" | tr ',' '\n' |
    awk -F': ' -v name="\"$1\"" '{ gsub(/^ */, "", $1) } $1 == name { print $2; found = 1; exit }
      END { if (!found) print "null" }'
}

while (($# > 0)); do
  case $1 in
    --tarsia) tarsia=$2 ;;
    --kernels) kernels=$2 ;;
    --examples) examples=$2 ;;
    --device) device=$2 ;;
    --parse)
      measured "$2" "$3"
      echo
      exit 0
      ;;
    *)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
      exit 2
      ;;
  esac
  shift 2
done

skip() {
  printf '{"skipped": "%s"}\n' "$1"
  exit 0
}

ncu=${TARSIA_NCU:-}
if [[ -z $ncu ]]; then
  ncu=$(command -v ncu || command -v /usr/local/cuda/bin/ncu || true)
fi
[[ -n $ncu && -x $ncu ]] || skip "no ncu"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The object of one kernel.
compare() {
  local name=$1 file=$2 options=$3 pointers=$4 argument outputs=() pointer count log comma="" status=0
  file=${file/#kernels\//$kernels/}
  file=${file/#examples\//$examples/}
  IFS=, read -ra argument <<< "$options"
  for pointer in ${pointers//,/ }; do outputs+=(--out "$pointer=$work/$pointer.npy"); done
  log=$work/$name.csv
  printf '{"kernel": "%s", ' "$name"
  if ! "$tarsia" compile "$file" "${argument[@]}" --target "$target" --emit cost-json \
    > "$work/$name.json" 2> "$work/$name.log"; then
    printf '"skipped": "the emulator does not run it"}'
    return
  fi
  "$ncu" --csv --metrics "$(all_metrics)" "$tarsia" run "$file" "${argument[@]}" \
    --device "$device" "${outputs[@]}" > "$log" 2>&1 || status=$?
  if grep -q ERR_NVGPUCTRPERM "$log"; then
    printf '"skipped": "no permission to read the counters (ERR_NVGPUCTRPERM)"}'
    return
  fi
  if ((status != 0)) || ! grep -q '"Metric Name"' "$log"; then
    printf '"skipped": "ncu fails (%d)"}' "$status"
    return
  fi
  printf '"counts": {'
  for count in $(counts); do
    local want have difference=null
    want=$(predicted "$count" "$work/$name.json")
    have=$(measured "$count" "$log")
    [[ $want == null || $have == null ]] || difference=$((have - want))
    printf '%s"%s": {"predicted": %s, "measured": %s, "difference": %s}' \
      "$comma" "$count" "$want" "$have" "$difference"
    comma=', '
  done
  printf '}}'
}

# Emulates the code that the device runs: the target of its compute capability.
capability=$("$tarsia" devices 2> /dev/null |
  sed -n 's/^cuda.*compute capability \([0-9]*\)\.\([0-9]*\).*/\1\2/p' | head -n 1)
case ${capability:-90} in
  80 | 86 | 87) target=sm_80 ;;
  90) target=sm_90a ;;
  *) target=sm_89 ;;
esac

printf '['
comma=
while read -r name file options pointers; do
  [[ -n $name ]] || continue
  printf '%s' "$comma"
  compare "$name" "$file" "$options" "$pointers"
  comma=$',\n'
done <<< "$cases"
printf ']\n'
