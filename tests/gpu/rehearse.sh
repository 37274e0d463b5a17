#!/usr/bin/env bash
# Rehearses scripts/gpu_check.sh on the emulated driver, with the programs of a usual build in place of
# those of the bundle: measurements, and the groups of cases whose names match.
#
#   rehearse.sh SOURCE CASES MEASURE TARSIA DRIVER GROUPS
set -euo pipefail
readonly source=$1 cases=$2 measure=$3 tarsia=$4 driver=$5 groups=$6

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$cases" "$folder/gpu_cases"
ln -s "$measure" "$folder/gpu_measure"
ln -s "$tarsia" "$folder/tarsia"
ln -s "$source/examples" "$folder/examples"
mkdir "$folder/tests"
ln -s "$source/tests/spec" "$folder/tests/spec"
cp "$source"/kernels/copy.tsa "$source"/tests/gpu/*.tsa "$source"/scripts/gpu_check.sh "$source"/scripts/gpu_counters.sh "$folder/"
echo "a rehearsal" > "$folder/commit.txt"

status=0
"$folder/gpu_check.sh" --rehearse "$driver" --only "$groups" --jobs 2 --out "$folder/result.json" || status=$?
# What failed, without the records of groups that hold.
((status == 0)) || python3 - "$folder/result.json" <<'END'
import json, sys
with open(sys.argv[1]) as file:
    result = json.load(file)
print(json.dumps(result["measured"], indent=1))
for group in result["groups"]:
    if group.get("status") != 0:
        group.pop("report", None)
        print(json.dumps(group, indent=1))
END
exit "$status"
