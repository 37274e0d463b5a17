#!/usr/bin/env python3
"""Compares what the examples and the small programs of tests/cli/costs move, as `tarsia compile --emit
cost-json` counts it, with the floor: global sectors as few as the bytes need, shared wavefronts at most 5%
above it, no spills, and no more barriers than the program needs. Small programs must also compute the
same on the interpreter and on the emulator.

usage: example_costs.py --tarsia PATH --root REPOSITORY
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import golden
import predicted_cycles

PACKED = "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"
WEIGHTS = ["--set", "K=256", "--set", "N=256", "--set", "W=u4"]
MATMUL = WEIGHTS + ["--arg", "m=16"]
SCALED = ["--set", "G=128", "--in", "z=z.npy"]
# Rows of 256 codes are whole sectors, whatever their width.
ROWS = ["--set", "K=128", "--set", "N=512", "--set", "BN=256", "--arg", "m=16"]
# The program, and how it is launched.
CASES = [
    *[("examples/matmul", ROWS + ["--set", f"W=u{bits}"]) for bits in range(1, 9)],
    ("examples/matmul", MATMUL),
    ("examples/matmul", MATMUL + ["--set", "PACK=" + PACKED]),
    ("examples/matmul", WEIGHTS + ["--set", "PACK=" + PACKED, "--arg", "m=13"]),
    ("examples/matmul_scaled", MATMUL + SCALED),
    ("examples/matmul_scaled", MATMUL + SCALED + ["--set", "PACK=" + PACKED]),
    ("examples/softmax", ["--arg", "rows=16"]),
    ("examples/gemm", ["--set", "M=128", "--set", "N=256", "--set", "K=128"]),
    ("examples/attention", ["--set", "D=64", "--set", "LENGTH=128", "--arg", "heads=2"]),
    ("examples/attention", ["--set", "D=128", "--set", "LENGTH=128", "--arg", "heads=2"]),
]
# Small programs: name, settings, the type and shape of each input, and of the output; the barriers of a
# warp in a block, by what must pass between warps (two for each tile).
HEADS = [16 * n for n in (2, 3, 4, 5, 6, 7, 8, 10, 12)]
SMALL = [
    ("rows_per_warp", [], {"x": ("<f2", [32, 1024])}, {"y": ("<f2", [32, 1024])}, 0),
    ("column_sums", [], {"x": ("<f4", [64, 128])}, {"y": ("<f4", [1, 128])}, 0),
    # The four operands of its dots, and the result.
    *[("head", ["--set", f"D={d}"], {"q": ("<f2", [64, d]), "k": ("<f2", [64, d])},
       {"o": ("<f2", [64, d])}, 10) for d in HEADS],
    # Only the operands.
    ("sums", [], {"a": ("<f2", [64, 64]), "b": ("<f2", [64, 64])}, {"c": ("<f4", [64, 64])}, 4),
]
# Codes of each width: what a thread has of them is no power of two of bytes, so that only sectors are held to
# the floor.
def codes(program, rows, columns, bits):
    stored = ("|u1", [(rows * columns * bits + 7) // 8])
    values = ("<f2", [rows, columns])
    return (program, ["--set", f"W=u{bits}"], {"w": stored, "x": values},
            {"copy": stored, "h": values, "q": stored})


CODES = [codes("codes", 128, 512, bits) for bits in range(1, 9)]
# Rows of these begin within bytes. Two stores of so many codes: a thread has 8 at least that follow each other,
# as many as fill 16 bytes of f16, and shares the words at both ends, each of which takes two atomic operations.
ODD_CODES = [codes("odd_codes", 100, 501, bits) for bits in range(1, 8)]
MOST_ATOMICS = 2 * 100 * 512 * 4 // 8
# The same without results, which are not exact.
CASES += [("costs/swiglu", ["--arg", "m=16"])]
TARGETS = ["sm_80", "sm_90a"]
WAVEFRONTS = 1.05  # of the ideal


def faults(report, most_wavefronts):
    total, found = report["total"], []
    if total["global_sectors"] != total["global_ideal_sectors"]:
        found.append(f"{total['global_sectors']} sectors, {total['global_ideal_sectors']} are ideal")
    if total["shared_wavefronts"] > most_wavefronts * total["shared_ideal_wavefronts"]:
        found.append(f"{total['shared_wavefronts']} wavefronts, "
                     f"{total['shared_ideal_wavefronts']} are ideal")
    if report["resources"]["spill_bytes"]:
        found.append(f"{report['resources']['spill_bytes']} bytes are spilled")
    return found


def barriers_of_warp(report):
    warps = report["threads"] // 32
    for blocks in report["grid"]:
        warps *= blocks
    return report["total"]["barriers"] / warps


def show(what, problems):
    """Prints them; returns their number."""
    for problem in problems:
        print(f"{what}: {problem}")
    return len(problems)


class Runner:
    """Runs the command, and keeps what programs cost in the history of this name, if there is one."""

    def __init__(self, tarsia, folder, name=None):
        self.tarsia = tarsia.resolve()
        self.folder = folder
        self.history = predicted_cycles.History(name) if name else None
        # A program that is compiled, and disassembled or run after that, is compiled once.
        self.environment = {**os.environ, "TARSIA_CACHE": str(folder / "cache")}

    def call(self, *arguments):
        """Its output, or None and the error."""
        # No test reads the machine code of a report, and most of the time of a small program is nvdisasm's.
        tools = {"TARSIA_NVDISASM": "none"} if "cost-json" in arguments else {}
        done = subprocess.run([self.tarsia, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False, env={**self.environment, **tools})
        if self.history and done.returncode == 0 and "cost-json" in arguments:
            self.history.see(arguments[1:], json.loads(done.stdout)["total"]["cycles"])
        return (done.stdout, None) if done.returncode == 0 else (None, done.stderr)

    def cost_faults(self, path, target, options, most_barriers=None, most_wavefronts=WAVEFRONTS):
        output, error = self.call("compile", path, "--target", target, "--emit", "cost-json", *options)
        if error:
            return [error]
        report = json.loads(output)
        found = faults(report, most_wavefronts)
        if most_barriers is not None and barriers_of_warp(report) > most_barriers:
            found.append(f"{barriers_of_warp(report):g} barriers, {most_barriers} are enough")
        return found

    def atomic_faults(self, path, target, options):
        output, error = self.call("compile", path, "--target", target, "--emit", "cost-json", *options)
        if error:
            return [error]
        atomics = json.loads(output)["total"]["atomics"]
        return [] if atomics <= MOST_ATOMICS else [f"{atomics} atomics, {MOST_ATOMICS} are enough"]

    def outputs(self, path, device, options, inputs, outputs):
        """The bytes of the outputs, or None and the error."""
        call = ["run", path, "--device", device, *options]
        for pointer, (descr, shape) in inputs.items():
            # Small whole numbers: sums are exact in any order. Bytes are codes.
            count = range(math.prod(shape))
            values = [(7 * i + i // 13) % (256 if descr == "|u1" else 3) for i in count]
            if descr != "|u1":
                values = [value - 1 for value in values]
            (self.folder / f"{pointer}.npy").write_bytes(golden.npy_bytes(descr, shape, values))
            call += ["--in", f"{pointer}={pointer}.npy"]
        for pointer in outputs:
            call += ["--out", f"{pointer}={pointer}.npy"]
        _, error = self.call(*call)
        if error:
            return None, error
        return [(self.folder / f"{pointer}.npy").read_bytes() for pointer in outputs], None

    def result_faults(self, path, options, inputs, outputs):
        expected, error = self.outputs(path, "cpu", options, inputs, outputs)
        for device in ["ptx:sm_80", "ptx:sm_90a"] if not error else []:
            found, error = self.outputs(path, device, options, inputs, outputs)
            if not error and found != expected:
                error = f"{device} computes something else"
            if error:
                break
        return [error] if error else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0

    def report(what, found):
        nonlocal failed
        failed += show(what, found)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(arguments.root.resolve() / "examples")
        (folder / "costs").symlink_to(arguments.root.resolve() / "tests/cli/costs")
        (folder / "z.npy").write_bytes(golden.npy_bytes("|u1", [2, 256], [0] * 512))
        runner = Runner(arguments.tarsia, folder, "example_costs")
        for example, options in CASES:
            for target in TARGETS:
                found = runner.cost_faults(f"{example}.tsa", target, options)
                report(f"{example} {' '.join(options)} for {target}", found)
        small = [(*row, WAVEFRONTS) for row in SMALL] + [(*row, None, math.inf) for row in CODES]
        for program, options, inputs, outputs, barriers, wavefronts in small:
            path, what = f"costs/{program}.tsa", f"{program} {' '.join(options)}"
            for target in TARGETS:
                found = runner.cost_faults(path, target, options, barriers, wavefronts)
                report(f"{what} for {target}", found)
            report(what, runner.result_faults(path, options, inputs, outputs))
        for program, options, inputs, outputs in ODD_CODES:
            path, what = f"costs/{program}.tsa", f"{program} {' '.join(options)}"
            for target in TARGETS:
                report(f"{what} for {target}", runner.atomic_faults(path, target, options))
            report(what, runner.result_faults(path, options, inputs, outputs))
        report("predicted cycles", runner.history.faults())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
