#!/usr/bin/env python3
"""Compares what the programs of the cookbook cost with their floor, on each target: the sectors of global
memory that their inputs and outputs fill, shared wavefronts at most 5% above those without conflicts, no
spills, and no calls in the machine code. Where a program does not reach that yet, its case says what it has
instead; when it reaches the floor, that must go. Slices of k that warps share must cost hardly more than none.

usage: costs.py --tarsia PATH --root REPOSITORY [--show]
  --show  prints what each program costs
"""

import argparse
import json
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import example_costs
import golden


def sectors(*transfers):
    """The sectors of 32 bytes of (elements, bits) that are moved once each."""
    return sum(math.ceil(elements * bits / 256) for elements, bits in transfers)


def words(option, values):
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]


class Case:
    """A launch of examples/PROGRAM.tsa, the fewest sectors that it can move, and what it still has above its
    floor: figures by name."""

    def __init__(self, program, least, settings=None, arguments=None, kernel=None, missing=None, inputs=()):
        self.path = f"examples/{program}.tsa"
        self.compiled = (["--kernel", kernel] if kernel else []) + words("--set", settings or {})
        self.launched = self.compiled + words("--arg", arguments or {}) + [
            word for name in inputs for word in ("--in", f"{name}=zeros.npy")]
        self.floor = {"sectors": least, "sectors above ideal": 0, "wavefronts": example_costs.WAVEFRONTS, "spills": 0,
                      "calls": 0}
        self.missing = missing or {}
        self.what = f"{self.path} {' '.join(self.launched)}"


def rms_norm(rows, d, **missing):
    # x twice, as a row is longer than a tile; the weights once in each block of 4 rows.
    return Case("rms_norm", sectors((2 * rows * d, 16), (rows // 4 * d, 16), (rows * d, 16)), {"D": d},
                {"rows": rows, "eps": 0.00001}, missing=missing)


def argmax(rows, n, **missing):
    # Each warp has a row, and writes the sectors of its two results.
    return Case("argmax", sectors((rows * n, 16)) + 2 * rows, {"N": n}, {"rows": rows}, missing=missing)


def topk(rows, experts, k, **missing):
    return Case("topk", sectors((rows * experts, 16), (rows * k, 32), (rows * k, 32)), {"E": experts, "K": k},
                {"rows": rows}, missing=missing)


def transpose(m, n, name, bits, **missing):
    return Case("transpose", sectors((2 * m * n, bits)), {"M": m, "N": n, "T": name}, missing=missing)


CODES = {"u4": ({"W": "u4", "ZERO": 8}, 7), "i8": ({"W": "i8", "ZERO": 0}, 127)}


def quantise(kernel, k, n, name, bits, **missing):
    codes, largest = CODES[name]
    settings = {"K": k, "N": n, **codes}
    if kernel == "quantise":
        settings["LARGEST"] = largest
    # To read the scales back, each of the four warps, which share the rows of a group, needs all of them.
    scales = k // 128 * n * (4 if kernel == "dequantise" else 1)
    least = sectors((k * n, 16), (k * n, bits), (scales, 16))
    return Case("quantise", least, settings, kernel=kernel, missing=missing)


def swiglu(m, n, k, pack, **missing):
    # A block of 64 columns reads all of x.
    least = sectors((n // 64 * m * k, 16), (2 * k * n, 4), (2 * k // 128 * n, 16), (m * n, 16))
    return Case("swiglu", least, {"K": k, "N": n, "PACK": pack}, {"m": m}, missing=missing)


def split_k(kernel, m, n, k, splits, **missing):
    # Tiles of 32 x 64: a is read once for each tile of columns, b for each tile of rows.
    settings = {"N": n, "SPLITS": splits}
    if kernel == "split_k_sum":
        least = sectors((splits * m * n, 32), (m * n, 16))
    else:
        settings["K"] = k
        least = sectors((n // 64 * m * k, 16), (m // 32 * k * n, 16), (splits * m * n, 32))
    return Case("split_k", least, settings, {"m": m}, kernel, missing)


def sliced_k(m, n, k, **missing):
    # A tile of 64 columns by 16 warps, and blocks that have all turns of one: no block leaves sums to another. Each
    # reads all of x. Turns of two groups of 128.
    settings = {"K": k, "N": n, "G": 128, "PACK": example_costs.PACKED, "P": n // 64, "BM": m, "BN": 64, "BK": 256,
                "KS": 4, "WARPS": 16}
    least = sectors((n // 64 * m * k, 16), (k * n, 4), (k // 128 * n, 16), (m * n, 16))
    return Case("stream_k", least, settings, {"m": m}, missing=missing, inputs=["z"])


def stream_k(m, n, k, group, blocks, **missing):
    # A turn is 64 rows of w and 128 columns: 16 rows of x, the weights and their scales. The turns are shared
    # equally, and a tile by several blocks: all but the last of them leave their sums in f32, which that one reads.
    turns = n // 128 * (k // 64)
    leavers = blocks - n // 128
    least = sectors((turns * 16 * 64, 16), (k * n, 4), (turns * 128, 16), (2 * leavers * 16 * 128, 32), (m * n, 16))
    least += 2 * leavers  # its semaphore is raised and lowered
    settings = {"K": k, "N": n, "G": group, "P": blocks, "PACK": example_costs.PACKED}
    return Case("stream_k", least, settings, {"m": m}, missing=missing, inputs=["z"])


def kernel_matvec(n, m, **missing):
    # A block of 32 points x reads all y; each of its four warps, which share x, reads all weights.
    least = sectors((n * 3, 32), (n // 32 * m * 3, 32), (4 * n // 32 * m, 32), (n, 32))
    return Case("kernel_matvec", least, arguments={"n": n, "m": m, "s": 0.5}, missing=missing)


def nearest(n, m, **missing):
    # A block of 32 points x reads all y.
    least = sectors((n * 3, 32), (n // 32 * m * 3, 32), (n, 32), (n, 32))
    return Case("nearest", least, arguments={"n": n, "m": m}, missing=missing)


def prefix_sum(rows, n, **missing):
    return Case("prefix_sum", sectors((2 * rows * n, 32)), {"N": n}, {"rows": rows}, missing=missing)


def histogram(n, **missing):
    # A block counts 4096 * 16 bytes, and adds to each of the 256 counts.
    return Case("histogram", sectors((n, 8), (n // (4096 * 16) * 256, 32)), arguments={"n": n}, missing=missing)


CASES = [
    rms_norm(16, 4096),
    argmax(8, 4096),
    # One lane stores the eight results of a row in two accesses, each half a sector.
    topk(64, 128, 8, sectors=768, **{"sectors above ideal": 128}),
    transpose(128, 256, "f16", 16),
    transpose(128, 256, "i8", 8),
    transpose(128, 256, "f32", 32),
    quantise("quantise", 512, 256, "u4", 4),
    quantise("quantise", 512, 256, "i8", 8),
    quantise("dequantise", 512, 256, "u4", 4),
    quantise("dequantise", 512, 256, "i8", 8),
    swiglu(16, 256, 512, "row_major"),
    swiglu(16, 256, 512, example_costs.PACKED),
    split_k("split_k_red", 32, 128, 1024, 4),
    split_k("split_k_parts", 32, 128, 1024, 4),
    split_k("split_k_sum", 32, 128, 1024, 4),
    # Divisions of numbers of turns, before the first one.
    sliced_k(8, 128, 2048, calls=5),
    sliced_k(16, 128, 2048, calls=5),
    # Divisions of 64 bits, of operands that do not fit in 32.
    stream_k(16, 256, 512, 128, 4, calls=5),
    prefix_sum(8, 2048),
    # Two warps add to each sector of the counts.
    histogram(65536, sectors=2112),
    # One lane of a warp stores its eight sums one by one, as a tile may end between them.
    kernel_matvec(64, 128, sectors=312),
    # The same of both results.
    nearest(64, 256, sectors=344),
]


class Sliced:
    """A product by packed weights of which warps share slices of k: with KS slices of 64 rows a block has KS times
    the warps, and each of them does what it does without slices."""

    MOST = 0.1  # instructions a weight more
    SLICES = 4
    ROWS, WARPS, WEIGHTS = 64, 4, 256 // 32  # rows of a slice, and warps for it; weights of a product, of a thread

    def __init__(self, program, m, columns, group):
        self.path = f"examples/{program}.tsa"
        self.rows = m
        self.settings = {"K": 8192, "N": 8192, "G": group, "PACK": example_costs.PACKED, "BM": m, "BN": columns}
        self.what = f"{self.path} {' '.join(words('--set', self.settings))}"

    def a_weight(self, runner, target, slices):
        """Instructions of the main loop for a weight of a thread; or None and the error."""
        settings = {**self.settings, "BK": slices * self.ROWS, "KS": slices, "WARPS": slices * self.WARPS}
        call = ["compile", self.path, "--target", target, "--emit", "mix"]
        output, error = runner.call(*call, *words("--set", settings))
        if error:
            return None, error
        mix = {line.rsplit(None, 2)[0].strip(): int(line.split()[-2]) for line in output.splitlines()[1:]}
        # A product is of 8 rows.
        return mix["sum"] / (mix["tensor"] * 8 / self.rows * self.WEIGHTS), None

    def faults(self, runner, target, show):
        without, error = self.a_weight(runner, target, 1)
        with_slices, error = self.a_weight(runner, target, self.SLICES) if not error else (None, error)
        if error:
            return [error]
        what = f"{with_slices:.3f} instructions a weight in slices, {without:.3f} without"
        if show:
            print(f"{self.what} for {target}: {what}")
        return [what] if with_slices > without + self.MOST else []


SLICED = [Sliced(program, m, columns, group) for program, group in (("stream_k", 128), ("matmul_scaled", 8192))
          for m in (8, 16) for columns in (64, 128)]


def cost(runner, case, target):
    """Sectors, wavefronts relative to the ideal, spilled bytes, and calls; or None and the error."""
    call = ["compile", case.path, "--target", target, "--emit"]
    output, error = runner.call(*call, "cost-json", *case.launched)
    code, error = (None, error) if error else runner.call(*call, "sass", *case.compiled)
    if error:
        return None, error
    report = json.loads(output)
    total = report["total"]
    ideal = total["shared_ideal_wavefronts"]
    # How often a block looks at a semaphore depends on when the others come.
    polls = sum(line.get("global_sectors", 0) for line in report["lines"] if "semaphore.lock" in line["text"])
    # A call of a function. ptxas also leaves some loops by a `CALL` of a local label, which is a jump.
    calls = sum("CALL" in line and "$" in line for line in code.splitlines())
    return {"sectors": total["global_sectors"] - polls,
            "sectors above ideal": total["global_sectors"] - total["global_ideal_sectors"],
            "wavefronts": total["shared_wavefronts"] / ideal if ideal else 0,
            "spills": report["resources"]["spill_bytes"], "calls": calls}, None


def faults(case, found):
    """Against the floor, or against what is known to be missing."""
    out = []
    for what, least in case.floor.items():
        most = case.missing.get(what, least)
        if found[what] > most:
            out.append(f"{found[what]:g} {what}, {most:g} are enough")
        elif what in case.missing and found[what] <= least:
            out.append(f"{found[what]:g} {what} are its floor: {what}={case.missing[what]:g} is obsolete")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(options.root.resolve() / "examples")
        (folder / "zeros.npy").write_bytes(golden.npy_bytes("|u1", [4, 256], [0] * 1024))
        runner = example_costs.Runner(options.tarsia, folder, "costs")
        for sliced in SLICED:
            for target in example_costs.TARGETS:
                problems = sliced.faults(runner, target, options.show)
                failed += example_costs.show(f"{sliced.what} for {target}", problems)
        for case in CASES:
            for target in example_costs.TARGETS:
                found, error = cost(runner, case, target)
                if options.show and found:
                    print(f"{case.what} for {target}: {found}, floor {case.floor['sectors']} sectors")
                problems = [error] if error else faults(case, found)
                failed += example_costs.show(f"{case.what} for {target}", problems)
        failed += example_costs.show("predicted cycles", runner.history.faults())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
