#!/usr/bin/env python3
"""Rates of bulk conversion and packing beside memcpy, and beside the casts of ml_dtypes.

    bench/peers/ml_dtypes_casts.py build/bench/bench/bench_dtypes

Runs bench_dtypes and, on the same core and with arrays of the same sizes, the casts of ml_dtypes, each type right
after its own benchmark; prints Markdown. Rates are GB of f32 (packing: of one-byte codes) a second of processor
time, the best of five runs.
"""
import json
import os
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

SIZES = {"cache": 1 << 15, "memory": 1 << 24}
PEERS = {
    "f4e2m1": "float4_e2m1fn", "f6e2m3": "float6_e2m3fn", "f6e3m2": "float6_e3m2fn", "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3", "f8e5m2": "float8_e5m2", "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e8m0": "float8_e8m0fnu", "i1": "int1", "i2": "int2", "i4": "int4", "u1": "uint1", "u2": "uint2",
    "u4": "uint4",
}


def best_rate(count, work):
    repeats = max(1, (1 << 20) // count)
    best = 0.0
    work()
    for _ in range(5):
        start = time.thread_time()
        for _ in range(repeats):
            work()
        best = max(best, 4 * count * repeats / (time.thread_time() - start))
    return best


def peer_rate(way, name, count):
    """The rate of ml_dtypes for `count` elements, or None if it does not have the type."""
    if not hasattr(ml_dtypes, PEERS.get(name, "")):
        return None
    dtype = getattr(ml_dtypes, PEERS[name])
    rng = np.random.default_rng(1)
    if way == "encode":
        values = np.resize(rng.standard_normal(4096).astype(np.float32), count)
        codes = np.zeros(count, dtype)
        return best_rate(count, lambda: np.copyto(codes, values, casting="unsafe"))
    bits = np.iinfo(np.uint8).bits if name[0] == "e" else int(name[1])
    codes = np.resize(rng.integers(0, 1 << bits, 4096).astype(np.uint8), count).view(dtype)
    values = np.zeros(count, np.float32)
    return best_rate(count, lambda: np.copyto(values, codes, casting="unsafe"))


def ours(bench, pattern):
    command = [bench, f"--benchmark_filter={pattern}", "--benchmark_format=json"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rates = {}
    for row in json.loads(output)["benchmarks"]:
        way, name, place = row["name"].split("/")[:3]
        rates[way, name, place] = row.get("f32_per_s", row.get("codes_per_s")), row["of_memcpy"]
    return rates


def names_of(bench, way):
    listed = subprocess.run([bench, f"--benchmark_filter=^{way}/", "--benchmark_list_tests"],
                            capture_output=True, text=True, check=True).stdout
    return list(dict.fromkeys(line.split("/")[1] for line in listed.splitlines()))


def cells(rate):
    gigabytes, fraction = rate[0] / 1e9, rate[1]
    return f"{gigabytes:.1f} | {fraction:.2f}"


def main():
    bench = sys.argv[1]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    factors = []
    for way in ("encode", "decode"):
        print(f"\n| {way} | cache, GB/s | of memcpy | memory, GB/s | of memcpy | ml_dtypes, GB/s: cache, memory | "
              "times as fast |\n|---|---|---|---|---|---|---|")
        for name in names_of(bench, way):
            rates = ours(bench, f"^{way}/{name}/")
            row = [rates[way, name, place] for place in SIZES]
            peer = [peer_rate(way, name, count) for count in SIZES.values()]
            text, factor = "", ""
            if peer[0] is not None:
                text = ", ".join(f"{rate / 1e9:.2f}" for rate in peer)
                ratios = [mine[0] / theirs for mine, theirs in zip(row, peer)]
                factors += [(ratio, way, name) for ratio in ratios]
                factor = ", ".join(f"{ratio:.0f}" for ratio in ratios)
            print(f"| `{name}` | {cells(row[0])} | {cells(row[1])} | {text} | {factor} |", flush=True)
    print(f"\nLeast of all factors: {min(factors)[0]:.1f} ({min(factors)[1]} `{min(factors)[2]}`).")
    print("\n| bits | pack: cache, GB/s | of memcpy | memory, GB/s | of memcpy | unpack: cache, GB/s | of memcpy | "
          "memory, GB/s | of memcpy |\n|---|---|---|---|---|---|---|---|---|")
    for width in range(1, 9):
        rates = ours(bench, f"^(un)?pack/{width}/")
        row = [cells(rates[way, str(width), place]) for way in ("pack", "unpack") for place in SIZES]
        print(f"| {width} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
