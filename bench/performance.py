#!/usr/bin/env python3
"""Prints docs/performance.md from results of bench/matmul.py.

    bench/performance.py FILE.json
"""

import json
import pathlib
import sys

INTRO = """# Speed of the quantised matmul

{device}, driver {driver}, {date}, commit {commit}. Made by [`bench/matmul.py`](../bench/matmul.py); all
figures are in [`{file}`](../{file}).

The kernels are those of the library, which its model of costs chooses. Weights have groups of 128 rows with f16
scales, x and y are f16. Each case is checked before it is timed. A time is the median of replays of a CUDA graph
of launches, divided by their number; each launch reads weights that are in no cache. The floor is the time in
which the GPU copies as many bytes as the product reads and writes at least, each once, at the rate of a copy in
the same run, or makes as many products by `mma`, whichever is longer. cuBLAS multiplies f16 weights. `tarsia
matmul`, with the options that a row of the file names, repeats it.
"""


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def us(value):
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def cells(row):
    return [us(row["median_us"]), us(row["floor_us"]), f"{100 * row['floor_us'] / row['median_us']:.0f}%",
            us(row["cublas_us"]), f"{row['cublas_us'] / row['median_us']:.2f}"]


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    rows = [row for row in result["rows"] if "median_us" in row]
    plain = [row for row in rows if not row["options"]]
    print(INTRO.format(**{**result, "commit": result["commit"][:8]}, file=sys.argv[1]))
    head = ["time, us", "floor, us", "floor of time", "cuBLAS f16, us", "cuBLAS / Tarsia"]

    print("## u4 by shape\n\nThe layers of Llama-70B, Qwen2.5-32B and Gemma-2-9B, with few rows.\n")
    some = [row for row in plain if row["w"] == "u4" and row["m"] in (1, 16)]
    print(table(["K x N, rows", *head, "Marlin, us", "Marlin / Tarsia"], [
        [f"{row['k']} x {row['n']}, {row['m']}", *cells(row), us(row.get("marlin_us")),
         f"{row['marlin_us'] / row['median_us']:.2f}" if row.get("marlin_us") else ""] for row in some]))

    print("## u4 by number of rows\n\n8192 x 8192. With many rows the products bound the time: cuBLAS has them made by `wgmma`, Tarsia by `mma`.\n")
    some = sorted((row for row in plain if row["w"] == "u4" and row["k"] == row["n"] == 8192), key=lambda row: row["m"])
    print(table(["rows", *head], [[str(row["m"]), *cells(row)] for row in some]))

    print("## Types of weights\n")
    some = [row for row in plain if row["w"] != "u4"]
    print(table(["type, K x N, rows", *head], [
        [f"`{row['w']}`, {row['k']} x {row['n']}, {row['m']}", *cells(row)] for row in some]))

    print("## Options\n\nu4.\n")
    some = [row for row in rows if row["options"]]
    print(table(["options, K x N, rows", *head], [
        [f"`{' '.join(row['options'])}`, {row['k']} x {row['n']}, {row['m']}", *cells(row)] for row in some]), end="")


if __name__ == "__main__":
    main()
