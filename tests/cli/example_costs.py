#!/usr/bin/env python3
"""Compares what the examples move, as `tarsia compile --emit cost-json` counts it, with the floor: global
sectors as few as the bytes need, shared wavefronts at most 5% above it, and no spills.

usage: example_costs.py --tarsia PATH --root REPOSITORY
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import golden

PACKED = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"
WEIGHTS = ["--set", "K=256", "--set", "N=256", "--set", "W=u4"]
MATMUL = WEIGHTS + ["--arg", "m=16"]
SCALED = ["--set", "G=128", "--in", "z=z.npy"]
# Name of the example, and how it is launched.
CASES = [
    ("matmul", MATMUL),
    ("matmul", MATMUL + ["--set", "PACK=" + PACKED]),
    ("matmul", WEIGHTS + ["--set", "PACK=" + PACKED, "--arg", "m=13"]),
    ("matmul_scaled", MATMUL + SCALED),
    ("matmul_scaled", MATMUL + SCALED + ["--set", "PACK=" + PACKED]),
    ("softmax", ["--arg", "rows=16"]),
    ("gemm", ["--set", "M=128", "--set", "N=256", "--set", "K=128"]),
    ("attention", ["--set", "D=64", "--set", "LENGTH=128", "--arg", "heads=2"]),
    ("attention", ["--set", "D=128", "--set", "LENGTH=128", "--arg", "heads=2"]),
]
TARGETS = ["sm_80", "sm_90a"]
WAVEFRONTS = 1.05  # of the ideal


def faults(total, spilled):
    found = []
    if total["global_sectors"] != total["global_ideal_sectors"]:
        found.append(f"{total['global_sectors']} sectors, {total['global_ideal_sectors']} are ideal")
    if total["shared_wavefronts"] > WAVEFRONTS * total["shared_ideal_wavefronts"]:
        found.append(f"{total['shared_wavefronts']} wavefronts, "
                     f"{total['shared_ideal_wavefronts']} are ideal")
    if spilled:
        found.append(f"{spilled} bytes are spilled")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(arguments.root.resolve() / "examples")
        (folder / "z.npy").write_bytes(golden.npy_bytes("|u1", [2, 256], [0] * 512))
        for example, options in CASES:
            for target in TARGETS:
                command = [arguments.tarsia.resolve(), "compile", f"examples/{example}.tsa", "--target",
                           target, "--emit", "cost-json", *options]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    found = [done.stderr]
                else:
                    report = json.loads(done.stdout)
                    found = faults(report["total"], report["resources"]["spill_bytes"])
                for fault in found:
                    failed += 1
                    print(f"{example} {' '.join(options)} for {target}: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
