#!/usr/bin/env python3
"""Runs examples/reduce/rbf.tsa on made data below a memory limit, and checks the result.

The graph multiplies the matrix exp(-|x_i - z_j|^2 / 2) of 20,000 times 30,000 pairs of points by a
vector. As a tensor the matrix would take 2.4 GB; the limit is 512 KiB. Some elements of the result are
compared with the formula in double precision. Nothing but Python is needed.

usage: examples/reduce/made_data.py [--tarsia PATH] [--limit BYTES] [--device D]
"""

import argparse
import array
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
N, M, D = 20_000, 30_000, 3
CHECKED = 50  # elements of the result


def write_npy(path, shape, numbers):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     numbers.tobytes())


def read_npy(path):
    data = path.read_bytes()
    length, = struct.unpack("<H", data[8:10])
    return array.array("f", data[10 + length:])


def largest_difference(x, z, v, y):
    """Relative to the sum of absolute values, over some elements of the result."""
    out = 0.0
    for i in range(0, N, N // CHECKED):
        terms = [math.exp(-sum((x[i * D + k] - z[j * D + k]) ** 2 for k in range(D)) / 2) * v[j]
                 for j in range(M)]
        out = max(out, abs(y[i] - math.fsum(terms)) / math.fsum(map(abs, terms)))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tarsia", default=ROOT / "build" / "release" / "tools" / "tarsia")
    parser.add_argument("--limit", default="512KiB")
    parser.add_argument("--device", help="the default is that of `tarsia reduce`")
    options = parser.parse_args()
    made = random.Random(1)
    x, z, v = (array.array("f", (made.gauss(0, 1) for _ in range(count)))
               for count in (N * D, M * D, M))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for tensor, shape, numbers in (("x", (N, D), x), ("z", (M, D), z), ("v", (M,), v)):
            write_npy(folder / f"{tensor}.npy", shape, numbers)
        words = ["reduce", "examples/reduce/rbf.tsa", "--set", f"n={N}", "--set", f"m={M}", "--set",
                 f"d={D}", "--limit", options.limit]
        if options.device:
            words += ["--device", options.device]
        files = ["--in", "x=x.npy", "--in", "z=z.npy", "--in", "v=v.npy", "--out", "y.npy"]
        print("$", " ".join(["tarsia", *words, *files]), flush=True)
        words[1] = str(ROOT / words[1])
        code = subprocess.run([pathlib.Path(options.tarsia).resolve(), *words, *files],
                              cwd=folder).returncode
        if code != 0:
            return code
        y = read_npy(folder / "y.npy")
    difference = largest_difference(x, z, v, y)
    print(f"the matrix would take {4 * N * M / 1e9} GB; {CHECKED} of {len(y)} elements differ from the "
          f"formula by at most {difference:.1e} of the sum of their terms' sizes")
    return 0 if len(y) == N and difference < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
