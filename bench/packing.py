#!/usr/bin/env python3
"""Times `tarsia pack` and `tarsia import` on made weights in memory, as whole processes.

    .venv/bin/python bench/packing.py [--tarsia build/bench/tools/tarsia] [--mb 1000] [--rounds 5]
                                      [--folder /dev/shm]

It packs f16 weights as u4 with integer zero points in groups of 128, and imports one layer of GPTQ
(4 bits, groups of 128), and matrices [14336, 4096] of GGUF Q4_0 and Q4_K. All files, read and
written, are in a folder of memory. A row has the megabytes read, the least wall time of the rounds,
the least processor time (of all threads, with the system's share), and the rates of both. Rates of
an import are those of the file that it reads. Run it on an idle machine; processor time is nearly
the same on a busy one.
"""

import argparse
import json
import os
import pathlib
import resource
import struct
import subprocess
import tempfile
import time

import numpy as np


def megabytes(path):
    return path.stat().st_size / 1e6


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, (dtype, array) in tensors.items():
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in tensors.values():
            array.tofile(file)


def write_gptq(path, size, random):
    n = 8192
    k = int(size * 1e6 * 2 / n) // 128 * 128
    write_safetensors(path, {
        "l.qweight": ("I32", random.integers(-2**31, 2**31, (k // 8, n), dtype=np.int32)),
        "l.qzeros": ("I32", random.integers(-2**31, 2**31, (k // 128, n // 8), dtype=np.int32)),
        "l.scales": ("F16", random.uniform(0.01, 0.02, (k // 128, n)).astype(np.float16))})


def write_gguf(path, kind, size, random, k=4096, n=14336):
    """Matrices of Q4_0 (blocks of 32: f16 scale) or Q4_K (of 256: two of them), as of a layer."""
    number, elements, bytes_of_block, scales = {"q4_0": (2, 32, 18, 1), "q4_k": (12, 256, 144, 2)}[kind]
    count = max(1, int(size * 1e6 / (n * k / elements * bytes_of_block)))
    blocks = random.integers(0, 256, (n * k // elements, bytes_of_block), dtype=np.uint8)
    blocks[:, :2 * scales] = (random.uniform(0.01, 0.02, (len(blocks), scales)).astype(np.float16)
                              .view(np.uint8))
    head = b"GGUF" + struct.pack("<IQQ", 3, count, 0)
    for i in range(count):
        name = f"blk.{i}.ffn_up.weight".encode()
        head += struct.pack("<Q", len(name)) + name
        head += struct.pack("<IQQIQ", 2, k, n, number, i * blocks.nbytes)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for _ in range(count):
            blocks.tofile(file)


def measure(label, source, outputs, command, rounds):
    walls, cpus = [], []
    for _ in range(rounds):
        for output in outputs.glob("*.tsw"):  # to replace a file takes longer
            output.unlink()
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    size = megabytes(source)
    print(f"| {label} | {size:.0f} | {min(walls):.2f} s | {min(cpus):.2f} s | "
          f"{size / min(walls):.0f} | {size / min(cpus):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarsia", default="build/bench/tools/tarsia")
    parser.add_argument("--mb", type=float, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="/dev/shm")
    options = parser.parse_args()
    if not os.access(options.tarsia, os.X_OK):
        parser.error(f"there is no program {options.tarsia}; --tarsia names one")
    random = np.random.default_rng(1)
    print(f"{os.cpu_count()} processors\n\n| job | MB | wall | processor | MB/s | MB/s of processor |"
          "\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        weights = folder / "w.npy"
        k = 8192
        n = int(options.mb * 1e6 / 2 / k) // 64 * 64
        part = random.standard_normal((k // 8, n), dtype=np.float32).astype(np.float16)
        np.save(weights, np.concatenate([part] * 8))
        measure("pack f16 to u4", weights, folder,
                [options.tarsia, "pack", weights, "--type", "u4", "--group", 128, "--zero", "int",
                 "-o", folder / "w.tsw"], options.rounds)
        weights.unlink()
        gptq = folder / "gptq.safetensors"
        write_gptq(gptq, options.mb / 2, random)
        measure("import GPTQ", gptq, folder / "out",
                [options.tarsia, "import", gptq, "-o", folder / "out", "--format", "gptq-v1",
                 "--bits", 4, "--group", 128], options.rounds)
        gptq.unlink()
        for kind in ("q4_0", "q4_k"):
            path = folder / f"{kind}.gguf"
            write_gguf(path, kind, options.mb / 2, random)
            measure(f"import {kind.upper()}", path, folder / "out",
                    [options.tarsia, "import", path, "-o", folder / "out"], options.rounds)
            path.unlink()


if __name__ == "__main__":
    main()
