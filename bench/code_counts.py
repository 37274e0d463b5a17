#!/usr/bin/env python3
"""Counts the machine code of the examples for sm_80, beside published kernels of others.

    bench/code_counts.py build/dev/tools/tarsia > counts.md

A figure is the number of instructions of the main loop, the innermost loop with tensor instructions, all of
them: copies, addresses, scales, sums and branches too. Of weights it is per weight of a thread, the least
among some of the candidates that the program lists, none of which spills registers; of products of `f16`
those beside a tensor instruction. The peers' figures were counted the same way, with nvdisasm, from what nvcc 13.0 and
ptxas 13.0 (12.9 for Triton) make of their own sources, K = N = 4096. Needs ptxas and nvdisasm. Prints
tables in Markdown; the exit status is 1 if a peer has less than Tarsia.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = "sm_80"
# Instructions a weight, m <= 16, groups of 128: Marlin, vLLM's Marlin, Humming, Tilus.
PEERS = ("Marlin", "vLLM Marlin", "Humming", "Tilus")
WEIGHTS = {
    "u1": (None, None, 2.97, None),
    "u2": (None, None, 2.91, 5.81),
    "u3": (None, None, 3.18, 6.34),
    "u4": (2.60, 2.65, 2.92, 3.32),
    "u5": (None, None, 3.44, 7.07),
    "u6": (None, None, 3.32, 8.58),
    "u7": (None, None, 3.67, 8.07),
    "u8": (None, 2.50, 2.85, 2.91),
    "f4e2m1": (None, 3.82, 3.92, 6.93),
    "f6e3m2": (None, None, 4.26, 10.1),
    "f8e4m3fn": (None, 3.25, 3.84, 4.15),
}
# The same with one scale for a column.
CHANNEL_PEERS = ("Marlin", "vLLM Marlin", "Humming")
CHANNELS = {
    "u1": (None, None, 2.45),
    "u2": (None, None, 2.40),
    "u3": (None, None, 2.69),
    "u4": (1.93, 1.99, 2.34),
    "u5": (None, None, 2.90),
    "u6": (None, None, 2.73),
    "u7": (None, None, 3.09),
    "u8": (None, None, 2.31),
    "f4e2m1": (None, None, 3.34),
    "f6e3m2": (None, None, 3.66),
    "f8e4m3fn": (None, None, 3.31),
}
# Others beside each tensor instruction of an f16 product.
GEMMS = [("CUTLASS, 128x128x32, 4 stages", 1.53), ("CUTLASS, 128x256x32", 1.34), ("Triton, 128x128x32", 1.70),
         ("Triton, 128x256x64", 1.07)]
LEFT_OPERAND = 256  # weights of an instruction for 8 rows of activations: 16 x 16
WARP = 32
THREADS = 128


def packed(kind):
    """The packed order of a type (docs/layouts.md), and the rows of its tile."""
    bits = int(kind[1])
    odd = bits % 2 == 1 and bits != 1
    fragments, rows = ("1, 8", 128) if bits == 6 else ("2, 8", 128) if odd else ("1, 4", 64)
    return f"packed(permute(local({fragments}) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))", rows


class Tarsia:
    def __init__(self, command):
        self.command = command

    def mix(self, program, settings):
        """Instructions of the main loop by class; nothing if registers are spilled."""
        words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        compile_to = [self.command, "compile", str(program), "--target", TARGET, *words, "--emit"]
        text = subprocess.run([*compile_to, "mix"], check=True, capture_output=True, text=True).stdout
        classes = {name: int(count) for name, count in re.findall(r"^(\S.*?)\s+(\d+)\s+\d+$", text, re.M)}
        return None if "local" in " ".join(classes) else classes

    def a_weight(self, program, kind, m, candidates, group):
        """The least of the candidates, and which it is."""
        order, rows = packed(kind)
        raw = program.stem == "matmul_unpack"
        best = None
        for bk, bn, stages in candidates:
            if bk % rows != 0 or (raw and bk != group):
                continue
            settings = {"K": 4096, "N": 4096, "W": kind, "G": group, "BM": m, "BK": bk, "BN": bn, "STAGES": stages}
            found = self.mix(program, settings if raw else {**settings, "PACK": order})
            if found is None:
                continue
            # A turn passes one barrier. Tensor cores compute corrections, too.
            weights = (found["barrier"] * bk * bn / THREADS if raw
                       else found["tensor"] / (m // 8) * LEFT_OPERAND / WARP)
            count = found["sum"] / weights
            if best is None or count < best[0]:
                best = (count, f"{bk} x {bn}, {stages} stages")
        return best


def figure(value):
    return "" if value is None else f"{value:.2f}"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def weights_table(tarsia, program, finite, peers, table, group, candidates):
    """Prints a table of weights; whether a peer has less."""
    print(row("weights", "Tarsia, m = 16", "tile of a turn", "Tarsia, m = 8", *peers))
    print(row("---", "---:", "---", "---:", *["---:"] * len(peers)))
    beaten = False
    for kind, others in table.items():
        programs = [(kind, program)] + ([(f"{kind}, `finite`", finite)] if kind.startswith("f8") else [])
        counts = []
        for name, source in programs:
            wide = tarsia.a_weight(source, kind, 16, candidates, group)
            narrow = tarsia.a_weight(source, kind, 8, candidates, group)
            counts.append(wide[0])
            print(row(f"`{kind}`" + name[len(kind):], figure(wide[0]), wide[1], figure(narrow[0]),
                      *map(figure, others)), flush=True)
        # Peers take every code for a number.
        beaten |= any(other is not None and other <= counts[-1] for other in others)
    return beaten


def products_table(tarsia):
    print(row("product of `f16`", "others beside a tensor instruction"))
    print(row("---", "---:"))
    ours = []
    for bn, warps in ((128, 4), (256, 8)):
        mix = tarsia.mix(ROOT / "examples/gemm.tsa",
                         {"M": 4096, "N": 4096, "K": 4096, "BN": bn, "WARPS": warps, "STAGES": 3})
        ours.append((mix["sum"] - mix["tensor"]) / mix["tensor"])
        print(row(f"Tarsia, 128x{bn}x64, {warps} warps, 3 stages", figure(ours[-1])))
    for name, others in GEMMS:
        print(row(name, figure(others)))
    return any(others <= max(ours) for _, others in GEMMS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarsia", help="the command")
    tarsia = Tarsia(parser.parse_args().tarsia)
    program = ROOT / "examples/matmul_scaled.tsa"
    candidates = list(itertools.product((64, 128), (128, 256), (4, 6)))
    beaten = False
    with tempfile.TemporaryDirectory() as folder:
        finite = pathlib.Path(folder) / "finite.tsa"
        finite.write_text(program.read_text().replace("cast %b : X", "cast %b finite : X"))
        print("## Weights in groups of 128\n")
        beaten |= weights_table(tarsia, program, finite, PEERS, WEIGHTS, 128, candidates)
        print("\n## The same, as raw codes that sums correct\n")
        raw = ROOT / "examples/matmul_unpack.tsa"
        kinds = {kind: others for kind, others in WEIGHTS.items() if not kind.startswith("f8")}
        beaten |= weights_table(tarsia, raw, raw, PEERS, kinds, 128, candidates)
        print("\n## Weights with a scale for each column\n")
        beaten |= weights_table(tarsia, program, finite, CHANNEL_PEERS, CHANNELS, 4096, candidates)
    print("\n## Products\n")
    beaten |= products_table(tarsia)
    return int(beaten)


if __name__ == "__main__":
    sys.exit(main())
