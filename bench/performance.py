#!/usr/bin/env python3
"""Prints docs/performance.md from results of bench/matmul.py, or of `tarsia bench matmul --json`.

    bench/performance.py FILE.json
"""

import json
import pathlib
import sys

INTRO = """# Speed of the quantised matmul

{origin}. Made by {maker}; all
figures are in [`{file}`](../{file}).

The kernels are those of the library, which its model of costs chooses. Weights have groups of 128 rows with f16
scales, x and y are f16. Each case is checked before it is timed. A time is the median of replays of a CUDA graph
of launches, divided by their number; each launch reads weights that are in no cache. The floor is the time in
which the GPU copies as many bytes as the product reads and writes at least, each once, at the rate of a copy in
the same run, or makes as many products by `mma`, whichever is longer. cuBLAS multiplies f16 weights. `tarsia
matmul`, with the options that a row of the file names, repeats it;
[`tarsia bench matmul`](cli.md#tarsia-bench-time-suites-of-benchmarks) measures them all. What was learned
is in [`bench/results/h200.md`](../bench/results/h200.md).
"""


def origin(result):
    """The machine, the day and the commit, as far as the file says them."""
    said = [result["device"]]
    said += [f"driver {result['driver']}"] if result.get("driver") else []
    said += [result["date"][:10]]
    said += [f"commit {result['commit'][:8]}"] if result.get("commit") else []
    return ", ".join(said)


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def us(value):
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.1f}"


HEAD = ["time, us", "floor, us", "floor of time"]
PEERS = {"cublas_us": ("cuBLAS f16, us", "cuBLAS / Tarsia"), "marlin_us": ("Marlin, us", "Marlin / Tarsia"),
         "triton_us": ("Triton, us", "Triton / Tarsia")}


def section(title, what, rows, name, peers):
    """A table of rows, without the peers that none of them was measured beside."""
    if not rows:
        return ""
    peers = [peer for peer in peers if any(row.get(peer) for row in rows)]
    body = []
    for row in rows:
        time = row["median_us"]
        cells = [name(row), us(time), us(row["floor_us"]), f"{100 * row['floor_us'] / time:.0f}%"]
        for peer in peers:
            cells += [us(row[peer]), f"{row[peer] / time:.2f}"] if row.get(peer) else ["", ""]
        body.append(cells)
    head = [what, *HEAD, *(text for peer in peers for text in PEERS[peer])]
    return f"## {title}\n\n" + table(head, body)


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    rows = [row for row in result["rows"] if "median_us" in row]
    plain = [row for row in rows if not row["options"]]
    u4 = [row for row in plain if row["w"] == "u4"]
    maker = "`tarsia bench matmul`" if "suite" in result else "[`bench/matmul.py`](../bench/matmul.py)"
    out = [INTRO.format(origin=origin(result), maker=maker, file=sys.argv[1])]
    out.append(section(
        "u4 by shape\n\nThe layers of Llama-70B, Qwen2.5-32B and Gemma-2-9B, with few rows.",
        "K x N, rows", [row for row in u4 if row["m"] in (1, 16)],
        lambda row: f"{row['k']} x {row['n']}, {row['m']}", PEERS))
    out.append(section(
        "u4 by number of rows\n\n8192 x 8192. With many rows the products bound the time: cuBLAS has them made by "
        "`wgmma`, Tarsia by `mma`.",
        "rows", sorted((row for row in u4 if row["k"] == row["n"] == 8192), key=lambda row: row["m"]),
        lambda row: str(row["m"]), ["cublas_us"]))
    out.append(section(
        "Types of weights", "type, K x N, rows", [row for row in plain if row["w"] != "u4"],
        lambda row: f"`{row['w']}`, {row['k']} x {row['n']}, {row['m']}", ["cublas_us"]))
    out.append(section(
        "Options\n\nu4.", "options, K x N, rows", [row for row in rows if row["options"]],
        lambda row: f"`{' '.join(row['options'])}`, {row['k']} x {row['n']}, {row['m']}", ["cublas_us"]))
    print("\n".join(part for part in out if part), end="")


if __name__ == "__main__":
    main()
