#!/usr/bin/env python3
"""One program gives the same bits with every vector unit of this processor (TARSIA_SIMD), and where
the C library is told that the processor has no fused multiply-add and nothing newer.

usage: same_results_test.py TARSIA PROGRAM
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

COUNT = 4096
OUTPUTS = ["y64", "y32", "y16", "s64", "s32", "d64", "d32", "b"]
OLD_LIBRARY = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable,-AVX2,-FMA,-FMA4,-AVX512F"}
VARIANTS = {"TARSIA_SIMD=" + name: {"TARSIA_SIMD": name} for name in ("sse4", "avx2", "avx512")}
VARIANTS["an old C library"] = OLD_LIBRARY
VARIANTS["an old processor"] = {**OLD_LIBRARY, "TARSIA_SIMD": "sse4"}


def values():
    """Half between -1 and 1, half of all sizes, infinities, a NaN and subnormal numbers too."""
    rng = random.Random(1)
    out = [rng.uniform(-1, 1) for _ in range(COUNT // 2)]
    out += [float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 5e-324, 1e-310, 1e-40, 6e-8]
    while len(out) < COUNT:
        out.append(rng.uniform(-1, 1) * 10 ** rng.uniform(-3, 4))
    return out


def write_npy(path, numbers):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * ((64 - (11 + len(header)) % 64) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(numbers)}d", *numbers))


def run(tarsia, program, folder, environment):
    """The bytes of all outputs; None where the processor lacks the vector unit."""
    command = [tarsia, "run", program, "--device", "cpu", "--in", "x=x.npy"]
    for name in OUTPUTS:
        command += ["--out", f"{name}={name}.npy"]
    kept = {k: v for k, v in os.environ.items() if k not in ("TARSIA_SIMD", "GLIBC_TUNABLES")}
    done = subprocess.run(command, cwd=folder, env={**kept, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if "this processor has no such instructions" in done.stdout:
        return None
    if done.returncode != 0:
        sys.exit(f"{environment}: {done.stdout}")
    return {name: (folder / f"{name}.npy").read_bytes() for name in OUTPUTS}


def main():
    tarsia, program = (os.path.abspath(path) for path in sys.argv[1:])
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_npy(folder / "x.npy", values())
        expected = run(tarsia, program, folder, {})
        for variant, environment in VARIANTS.items():
            got = run(tarsia, program, folder, environment)
            if got is None:
                print(f"{variant}: skipped, this processor has no such instructions")
                continue
            different = [output for output in OUTPUTS if got[output] != expected[output]]
            print(f"{variant}: " + (f"other bits in {different}" if different else "the same"))
            failures += bool(different)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
