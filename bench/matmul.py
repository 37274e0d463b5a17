#!/usr/bin/env python3
"""Times the library's quantised matmul on this machine's GPU beside cuBLAS, Triton and, where it is at hand,
Marlin.

    bench/matmul.py TARSIA --json out.json [--marlin LIB] [--filter TEXT] [--tune]

TARSIA is the command. Its suite `tarsia bench matmul` checks each product before it times it: the median of
replays of a CUDA graph of launches, each of which reads weights that are in no cache. The others are measured
in the same way; of Triton's kernel (peers/triton_u4.py) the best of its settings. With --tune every candidate is
timed, for the model in runtime/matmul/candidates.cc. Prints a line for each case, and writes all of it as JSON.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parent / "peers"))

GROUP = 128
L2_BYTES = 160 << 20
TYPES = ["u1", "u2", "u3", "u5", "u6", "u7", "u8", "i4", "f4e2m1", "f6e3m2", "f8e4m3fn", "nf4"]


def copies_for(size, most=25):
    """How many weights of so many bytes a graph reads in turn, so that none is in a cache."""
    return max(2, min(most, L2_BYTES // size + 1))


def words(option, values):
    return [word for value in values for word in (option, str(value))]


SQUARE = ["--shape", "8192x8192"]
U4 = ["--w", "u4"]
SUITES = [  # arguments of `tarsia bench matmul`; without --shape the layers of the models
    U4,
    U4 + SQUARE + words("--m", (2, 4, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096)),
    SQUARE + ["--shape", "8192x57344"] + words("--w", TYPES),
    SQUARE + ["--m", "64"] + words("--w", TYPES),
    U4 + SQUARE + ["--group", "32"],
    U4 + SQUARE + ["--zero", "int"],
    U4 + ["--shape", "8192x57344", "--gated", "--act", "silu"]]
TUNED = [(kind, 8192, 8192, m) for kind in ("u4", "u8", "u2", "f8e4m3fn", "u3") for m in (1, 16)]
TUNED += [("u4", k, n, m) for k, n in ((8192, 57344), (4096, 3584)) for m in (1, 16)]
TUNED += [("u4", 8192, 8192, m) for m in (32, 64, 128, 512, 2048)]
TRITON = ((8192, 8192), (8192, 57344), (3584, 28672))  # K and N


def suite(options, arguments):
    """The rows of one suite, those before a failure or an end by the limit of time included."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.json")
        command = [options.tarsia, "bench", "matmul", *arguments, "--device", options.device, "--filter",
                   options.filter, "--json", str(path)]
        try:
            left = max(options.begin + options.seconds - time.monotonic(), 1)
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=left, check=False)
            if not path.exists() and "no case of the suite" not in done.stderr:
                return [{"name": " ".join(arguments), "error": done.stderr.strip()[-300:]}]
        except subprocess.TimeoutExpired:
            pass
        return json.loads(path.read_text())["rows"] if path.exists() else []


def tune(options, case):
    kind, k, n, m = case
    command = [options.tarsia, "matmul", "--m", str(m), "--n", str(n), "--k", str(k), "--w", kind, "--group",
               str(GROUP), "--device", options.device, "--tune", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    row = {"name": f"{kind}/m={m}/{k}x{n}", "w": kind, "k": k, "n": n, "m": m, "options": []}
    try:
        row["candidates"] = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {**row, "error": done.stderr.strip()[-300:]}
    best = row["candidates"][0]
    chosen = min(row["candidates"], key=lambda one: one["predicted_us"])
    print(f"{row['name']}: best {best.get('median_us')} {best['candidate']}; "
          f"chosen {chosen.get('median_us')} {chosen['candidate']}", flush=True)
    return row


class Peers:
    """cuBLAS by PyTorch, Triton, and Marlin."""

    def __init__(self, marlin):
        import torch
        from gpu import microseconds
        self.torch, self.microseconds = torch, microseconds
        self.marlin = ctypes.CDLL(marlin) if marlin else None
        self.known = {}

    def cublas(self, k, n, m):
        if (k, n, m) not in self.known:
            torch = self.torch
            dense = [torch.randn(k, n, dtype=torch.float16, device="cuda") for _ in range(copies_for(2 * k * n, 5))]
            x = torch.randn(m, k, dtype=torch.float16, device="cuda")
            y = torch.empty(m, n, dtype=torch.float16, device="cuda")
            self.known[k, n, m] = self.microseconds([lambda _, w=w: torch.mm(x, w, out=y) for w in dense] * 4)
        return self.known[k, n, m]

    def marlin_u4(self, k, n, m):
        """None where it refuses the shape."""
        torch, pointer = self.torch, ctypes.c_void_p
        size = k * n // 2
        copies = [torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
                  for _ in range(copies_for(size))]
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

    def triton_u4(self, k, n, m):
        import triton_u4
        return triton_u4.best(k, n, m, copies_for, self.microseconds)


def origin():
    """The machine, the day and the commit."""
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True, check=True)
    device, driver = done.stdout.splitlines()[0].split(", ")
    commit = pathlib.Path(__file__).with_name("commit.txt")
    return {"device": device, "driver": driver, "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "commit": commit.read_text().strip() if commit.exists() else ""}


def peers_text(row):
    out = f"{row['name']}: cuBLAS f16 {row['cublas_us']:.2f} us ({row['cublas_us'] / row['median_us']:.2f}x)"
    if row.get("marlin_us"):
        out += f", Marlin {row['marlin_us']:.2f} us ({row['marlin_us'] / row['median_us']:.2f}x)"
    if row.get("triton_us"):
        out += f", Triton {row['triton_us']:.2f} us ({row['triton_us'] / row['median_us']:.2f}x)"
    return out


def measure_peers(options, rows, save):
    """Adds the times of the peers to rows that have a time."""
    peers = Peers(options.marlin)
    timed = [row for row in rows if "median_us" in row]
    for row in timed:
        row["cublas_us"] = peers.cublas(row["k"], row["n"], row["m"])
        save()
    for row in timed:
        if row["w"] == "u4" and not row["options"] and (row["k"], row["n"]) in TRITON and row["m"] <= 16:
            try:
                row["triton_us"], row["triton_settings"] = peers.triton_u4(row["k"], row["n"], row["m"])
            except (ImportError, RuntimeError, ValueError) as failure:
                row["triton_error"] = repr(failure)[:300]
            save()
    for row in timed if peers.marlin else []:  # last, since it may not return
        if row["w"] == "u4" and not row["options"] and row["m"] <= 64:
            row["marlin_us"] = peers.marlin_u4(row["k"], row["n"], row["m"])
            save()
    for row in timed:
        print(peers_text(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarsia", help="the command")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all figures")
    parser.add_argument("--device", default="cuda", help="(default: %(default)s)")
    parser.add_argument("--marlin", help="a library with marlin_run")
    parser.add_argument("--filter", default="", help="only cases with this text in their name: u4/m=1/8192x8192")
    parser.add_argument("--tune", action="store_true", help="time every candidate of fewer cases")
    parser.add_argument("--seconds", type=float, default=1e9, help="time no case after so many")
    options = parser.parse_args()
    options.begin = time.monotonic()
    rows = []
    result = {**origin(), "rows": rows}

    def save():
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    for one in TUNED if options.tune else SUITES:
        if time.monotonic() - options.begin > options.seconds:
            break
        rows += [tune(options, one)] if options.tune else suite(options, one)
        save()
    if not options.tune:
        measure_peers(options, rows, save)
    failures = sum("error" in row for row in rows)
    print(f"{len(rows)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
