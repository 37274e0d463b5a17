#!/usr/bin/env python3
"""Times the library's quantised matmul on this machine's GPU beside cuBLAS and, where it is at hand, Marlin.

    bench/matmul.py TARSIA --json out.json [--marlin LIB] [--cases FILTER] [--tune] [--parallel 14]

TARSIA is the command. Each case is `tarsia matmul --m M --n N --k K --w TYPE --group 128 --json`, which checks
the product before it times it: the median of replays of a CUDA graph of launches, each of which reads weights
that are in no cache. The others are measured in the same way. With --tune every candidate is timed, for the
model in runtime/matmul/candidates.cc. First all kernels are compiled, several cases at a time, into the cache.
Prints a line for each case, and writes all of it as JSON.
"""

import argparse
import concurrent.futures
import ctypes
import json
import pathlib
import subprocess
import sys
import time

GROUP = 128
L2_BYTES = 160 << 20
SHAPES = [(8192, 10240), (8192, 8192), (8192, 57344), (28672, 8192), (5120, 7168), (5120, 5120), (5120, 55296),
          (27648, 5120), (3584, 8192), (4096, 3584), (3584, 28672), (14336, 3584)]
TYPES = ["u1", "u2", "u3", "u5", "u6", "u7", "u8", "i4", "f4e2m1", "f6e3m2", "f8e4m3fn", "nf4"]


def cases_of(tune):
    """(type, k, n, m, more options)"""
    if tune:
        out = [(kind, 8192, 8192, m, ()) for kind in ("u4", "u8", "u2", "f8e4m3fn", "u3") for m in (1, 16)]
        out += [("u4", k, n, m, ()) for k, n in ((8192, 57344), (4096, 3584)) for m in (1, 16)]
        out += [("u4", 8192, 8192, m, ()) for m in (32, 64, 128, 512, 2048)]
        return out
    out = [("u4", k, n, m, ()) for k, n in SHAPES for m in (1, 16)]
    out += [("u4", 8192, 8192, m, ()) for m in (2, 4, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096)]
    out += [(kind, 8192, n, m, ()) for kind in TYPES for n in (8192, 57344) for m in (1, 16)]
    out += [(kind, 8192, 8192, 64, ()) for kind in TYPES]
    out += [("u4", 8192, 8192, m, ("--group", "32")) for m in (1, 16)]
    out += [("u4", 8192, 8192, m, ("--zero", "int")) for m in (1, 16)]
    out += [("u4", 8192, 57344, m, ("--gated", "--act", "silu")) for m in (1, 16)]
    return out


def command_of(options, case):
    kind, k, n, m, more = case
    out = [options.tarsia, "matmul", "--m", str(m), "--n", str(n), "--k", str(k), "--w", kind, "--json",
           "--device", options.device]
    if "--group" not in more:
        out += ["--group", str(GROUP)]
    return out + (["--tune"] if options.tune else []) + list(more)


def run(options, case):
    try:
        done = subprocess.run(command_of(options, case), capture_output=True, text=True, timeout=90)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": "it takes more than 90 s"}
    except json.JSONDecodeError:
        return {"error": done.stderr.strip()[-300:]}


class Peers:
    """cuBLAS by PyTorch, and Marlin."""

    def __init__(self, marlin):
        import torch
        from gpu import microseconds
        self.torch, self.microseconds = torch, microseconds
        self.marlin = ctypes.CDLL(marlin) if marlin else None
        self.known = {}

    def cublas(self, k, n, m):
        if (k, n, m) not in self.known:
            torch = self.torch
            copies = max(2, min(5, L2_BYTES // (2 * k * n) + 1))
            dense = [torch.randn(k, n, dtype=torch.float16, device="cuda") for _ in range(copies)]
            x = torch.randn(m, k, dtype=torch.float16, device="cuda")
            y = torch.empty(m, n, dtype=torch.float16, device="cuda")
            self.known[k, n, m] = self.microseconds([lambda _, w=w: torch.mm(x, w, out=y) for w in dense] * 4)
        return self.known[k, n, m]

    def marlin_u4(self, k, n, m):
        """None where it refuses the shape."""
        torch, pointer = self.torch, ctypes.c_void_p
        size = k * n // 2
        copies = [torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
                  for _ in range(max(2, min(25, L2_BYTES // size + 1)))]
        scales = torch.rand(k // GROUP, n, dtype=torch.float16, device="cuda")
        x = torch.randn(m, k, dtype=torch.float16, device="cuda")
        y = torch.empty(m, n, dtype=torch.float16, device="cuda")
        locks = torch.zeros(n // 128 * 16, dtype=torch.int32, device="cuda")
        codes = []

        def launch(stream, w):
            codes.append(self.marlin.marlin_run(
                pointer(x.data_ptr()), pointer(w.data_ptr()), pointer(y.data_ptr()), pointer(scales.data_ptr()), m, n, k,
                pointer(locks.data_ptr()), GROUP, pointer(stream)))
        us = self.microseconds([lambda stream, w=w: launch(stream, w) for w in copies] * max(1, 20 // len(copies)))
        return us if not any(codes) else None


def origin():
    """The machine, the day and the commit."""
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True, check=True)
    device, driver = done.stdout.splitlines()[0].split(", ")
    commit = pathlib.Path(__file__).with_name("commit.txt")
    return {"device": device, "driver": driver, "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "commit": commit.read_text().strip() if commit.exists() else ""}


def text_of(case, row):
    kind, k, n, m, more = case
    name = f"{kind:9} {k}x{n} m={m:<4} {' '.join(more)}"
    if "error" in row:
        return f"{name} FAILED: {row['error']}"
    out = f"{name} {row['median_us']:8.2f} us, {100 * row['floor_us'] / row['median_us']:3.0f}% of the floor, " \
          f"predicted {row['predicted_us']:.2f}, {row['candidate']}"
    if "cublas_us" in row:
        out += f"; cuBLAS f16 {row['cublas_us']:.2f} ({row['cublas_us'] / row['median_us']:.2f}x)"
    if row.get("marlin_us"):
        out += f"; Marlin {row['marlin_us']:.2f} ({row['marlin_us'] / row['median_us']:.2f}x)"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarsia", help="the command")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all figures")
    parser.add_argument("--device", default="cuda", help="(default: %(default)s)")
    parser.add_argument("--marlin", help="a library with marlin_run")
    parser.add_argument("--cases", default="", help="only those with this text, as in `u4 8192x8192 m=1 `")
    parser.add_argument("--tune", action="store_true", help="time every candidate of fewer cases")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--parallel", type=int, default=14, help="cases that compile at a time (default: %(default)s)")
    options = parser.parse_args()
    begin = time.monotonic()
    wanted = [case for case in cases_of(options.tune)
              if options.cases in f"{case[0]} {case[1]}x{case[2]} m={case[3]} {' '.join(case[4])}"]
    if not options.tune:  # which compiles in parallel itself
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            list(pool.map(lambda case: run(options, case), wanted))
        print(f"{len(wanted)} cases compiled in {time.monotonic() - begin:.0f} s", flush=True)
    peers = None if options.tune else Peers(options.marlin)
    rows, failures = [], 0
    result = {**origin(), "rows": rows}
    for case in wanted:
        if time.monotonic() - begin > options.seconds:
            break
        found = run(options, case)
        row = found if isinstance(found, dict) else {"candidates": found}
        row.update(zip(("w", "k", "n", "m", "options"), case))
        if peers and "error" not in row:
            row["cublas_us"] = peers.cublas(*case[1:4])
        failures += "error" in row
        rows.append(row)
        if options.tune and "error" not in row:
            best = row["candidates"][0]
            chosen = min(row["candidates"], key=lambda one: one["predicted_us"])
            print(f"{case[0]} {case[1]}x{case[2]} m={case[3]}: best {best.get('median_us')} {best['candidate']}; "
                  f"chosen {chosen.get('median_us')} {chosen['candidate']}", flush=True)
        else:
            print(text_of(case, row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")
    for row in rows if peers and peers.marlin else []:  # last, since it may not return
        if row["w"] == "u4" and not row["options"] and "error" not in row and row["m"] <= 64:
            row["marlin_us"] = peers.marlin_u4(row["k"], row["n"], row["m"])
            print(f"Marlin {row['k']}x{row['n']} m={row['m']}: {row['marlin_us']}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(rows)} of {len(wanted)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
