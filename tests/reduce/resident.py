#!/usr/bin/env python3
"""Runs every graph of examples/reduce on made data below a limit of about a quarter of what it takes
without one, and compares the peak of resident memory, as the operating system counts it, with that of
a dry run: the limit and 5 MB are the most that a run may have besides.

usage: resident.py --tarsia PATH --root REPOSITORY --folder SCRATCH
"""

import argparse
import array
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from out_of_core import BESIDE, run, write_npy

SIZES = {"n": 60_000, "m": 300, "d": 32, "k": 10, "p": 200, "r": 100, "h": 64, "b": 20, "heads": 2,
         "window": 100, "rows": 4000, "columns": 3000, "elements": 4000, "modes": 40, "batch": 64,
         "channels": 128, "outputs": 96}
# Of graphs whose time grows faster than their data.
SMALLER = {"attention": 1500, "attention_window": 1500, "attention_gradient": 400, "tsne": 600, "mmd": 3000,
           "energy": 3000, "sparse_gp_bound": 3000, "sparse_gp": 6000, "softmax_backward": 20_000}
# .npy names of types, and their codes for `array`; others are stored as bytes.
NAMED = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i"), "i64": ("<i8", "q"),
         "u32": ("<u4", "I"), "u64": ("<u8", "Q"), "u8": ("|u1", "B")}
BLOCK = 1 << 20  # bytes that are written at a time

failures = 0


def expect(condition, text):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {text}")


def write_input(path, dtype, shape):
    """Floats between -1 and 1, integers from 0 to 6, bytes as they come."""
    count = 1
    for extent in shape:
        count *= extent
    descr, code = NAMED.get(dtype, ("|u1", "B"))
    if dtype in NAMED:
        period = [(i * 37 % 101) / 50.5 - 1 if dtype[0] == "f" else i % 7 for i in range(101)]
        size = count * array.array(code).itemsize
    else:
        period = [i * 37 % 101 for i in range(101)]
        bits = {"c64": 64, "c32": 32}.get(dtype) or int(re.match(r"[a-z](\d+)", dtype).group(1))
        size = (count * bits + 7) // 8
        shape = (size,)
    block = array.array(code, period * max(1, BLOCK // 404)).tobytes()
    write_npy(path, descr, tuple(shape),
              (block[:size - begin] for begin in range(0, size, len(block))))


def inputs_of(text):
    """Name, type and extents of the inputs in the header of `--emit graph`."""
    extents, out = {}, []
    for name, dtype, axes in re.findall(r"%(\w+): (\w+)(?:\[(.*?)\])?", text.split(" -> ")[0]):
        shape = []
        for axis in filter(None, axes.split(", ")):
            axis, _, extent = axis.partition(":")
            if extent:
                extents[axis] = int(extent)
            shape.append(extents[axis])
        out.append((name, dtype, shape))
    return out


def check(tarsia, folder, path, graph, constants):
    sets = []
    for name in constants:
        value = SMALLER.get(graph, SIZES[name]) if name == "n" else SIZES[name]
        sets += ["--set", f"{name}={value}"]
    base = [tarsia, "reduce", path, "--graph", graph, *sets, "--device", "cpu"]
    whole = run([*base, "--dry-run", "--json"])
    expect(whole.returncode == 0, whole.said)
    limit = json.loads(whole.said)["peak"] // 4
    dry = run([*base, "--dry-run", "--limit", str(limit)])
    if dry.returncode == 1:
        limit = int(re.search(r"smallest limit: (\d+) bytes", dry.said).group(1))
        dry = run([*base, "--dry-run", "--limit", str(limit)])
    expect(dry.returncode == 0, dry.said)
    files = []
    for name, dtype, shape in inputs_of(run([*base, "--emit", "graph"]).said):
        write_input(folder / f"{name}.npy", dtype, shape)
        files += ["--in", f"{name}={folder / name}.npy"]
    done = run([*base, *files, "--limit", str(limit)])
    expect(done.returncode == 0, done.said)
    more = done.peak - dry.peak
    print(f"{graph}: {more} bytes resident beside a dry run, limit {limit}, {done.seconds:.2f} s")
    expect(more < limit + BESIDE, f"{graph}: {more} bytes more are resident than in a dry run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", required=True)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    try:
        for path in sorted((arguments.root / "examples" / "reduce").glob("*.tsa")):
            for graph, body in re.findall(r"^graph (\w+)(.*?)^\{", path.read_text(), re.M | re.S):
                constants = re.search(r"const (.*)", body).group(1)
                names = [part.split(":")[0].strip() for part in constants.split(",")
                         if "=" not in part]
                check(arguments.tarsia, arguments.folder, path, graph, names)
    finally:
        shutil.rmtree(arguments.folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
