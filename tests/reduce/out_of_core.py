#!/usr/bin/env python3
"""Reduces files that are larger than the limit with `tarsia reduce`: their answer, the peak of
resident memory, and what is left behind by a run that fails or is interrupted.

Element k of the data is k mod 1009, so that the sums of rows repeat after 1009 rows, and are exact.
1 GB below 32 MiB; with TARSIA_LONG=1, 8 GB below 256 MiB.

usage: out_of_core.py --tarsia PATH --folder SCRATCH
"""

import argparse
import array
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

from written_files import unfinished

PERIOD, COLUMNS = 1009, 16
# What a run may have resident beside the limit and what a dry run has: its own code and buffers of files.
BESIDE = 5_000_000
GRAPH = """graph rows(%x: f32[i:n, j:16], %w: f32[j:16]) -> f32[i:n], f64
  const n: int
{
  %y = sum<j>(%x * %w)
  %total = sum<i>(cast<f64>(%y))
  return %y, %total
}
"""
# The sum of row i is that of row i mod 1009.
ROW_SUMS = [sum((COLUMNS * i + j) % PERIOD for j in range(COLUMNS)) for i in range(PERIOD)]

failures = 0


def expect(condition, text):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {text}")


def write_npy(path, kind, shape, blocks):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for block in blocks:
            file.write(block)


def write_safetensors(path, name, shape, blocks, size):
    header = f'{{"{name}":{{"dtype":"F32","shape":{list(shape)},"data_offsets":[0,{size}]}}}}'
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode())
        for block in blocks:
            file.write(block)


def data_blocks(rows):
    """The data in blocks of a whole number of periods, and the rest."""
    repeat = 64
    block = array.array("f", [k % PERIOD for k in range(PERIOD * COLUMNS)] * repeat).tobytes()
    size = rows * COLUMNS * 4
    for begin in range(0, size, len(block)):
        yield block[:size - begin]


def data_of(path, header):
    with open(path, "rb") as file:
        file.seek(header)
        while block := file.read(PERIOD * 4 * 64):
            yield block


def check_answer(folder, rows):
    wanted = array.array("f", [float(s) for s in ROW_SUMS] * 64).tobytes()
    right, size = True, 0
    for block in data_of(folder / "y.npy", 128):
        right = right and block == wanted[:len(block)]
        size += len(block)
    expect(right and size == 4 * rows, f"{size} bytes of sums, right: {right}")
    total, = struct.unpack("<d", (folder / "t.npy").read_bytes()[-8:])
    whole, rest = divmod(rows, PERIOD)
    expect(total == whole * sum(ROW_SUMS) + sum(ROW_SUMS[:rest]), f"the total is {total}")


def run(command, **options):
    """The process, done, with the peak of its resident memory as the operating system counts it."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options) as process:
        process.said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    process.peak = usage.ru_maxrss * 1024
    process.seconds = time.monotonic() - started
    return process


def leftovers(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith(("y.npy", "t.npy")))


def check_large(tarsia, folder, rows, limit):
    write_npy(folder / "x.npy", "<f4", (rows, COLUMNS), data_blocks(rows))
    base = [tarsia, "reduce", folder / "rows.tsa", "--set", f"n={rows}", "--limit", str(limit)]
    dry = run([*base, "--dry-run"])
    expect(dry.returncode == 0, dry.said)
    files = ["--in", f"x={folder}/x.npy", "--in", f"w={folder}/w.npy"]
    done = run([*base, *files, "--out", f"y={folder}/y.npy", "--out", f"total={folder}/t.npy"])
    expect(done.returncode == 0, done.said)
    check_answer(folder, rows)
    more = done.peak - dry.peak
    print(f"{rows * COLUMNS * 4 / 1e9:.1f} GB below {limit} bytes: {done.seconds:.2f} s, {more} "
          f"bytes resident beside the {dry.peak} of a dry run")
    expect(more < limit + BESIDE, f"{more} bytes more are resident than in a dry run")
    for name in leftovers(folder):
        (folder / name).unlink()
    return [*base, *files]


def check_failures(base, folder):
    """Nothing is left behind by a full disk, a limit of the size of files, and Ctrl-C."""
    full = run([*base, "--out", "y=/dev/full"])
    expect(full.returncode == 1 and "cannot write /dev/full: No space left on device" in full.said,
           full.said)

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    out = ["--out", f"y={folder}/y.npy"]
    large = run([*base, *out], preexec_fn=small_files)
    expect(large.returncode == 1 and "File too large" in large.said, large.said)
    expect(not leftovers(folder), f"a failed run leaves {leftovers(folder)}")

    with subprocess.Popen([*base, *out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + 60
        written = []
        while not written and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
            written = unfinished(process.pid, folder)
        expect(written, "the command has no file to write")
        process.send_signal(signal.SIGINT)
        process.communicate()
    expect(process.returncode not in (0, 1), f"the interrupted run ends with {process.returncode}")
    expect(not leftovers(folder), f"an interrupted run leaves {leftovers(folder)}")


def check_truncated(base, folder):
    """A file that ends too early, and one that shrinks below what its header says."""
    with open(folder / "x.npy", "r+b") as file:
        file.truncate(1_000_000)
    short = run([*base, "--out", f"y={folder}/y.npy"])
    expect(short.returncode == 1 and "bytes, but" in short.said, short.said)
    expect(not leftovers(folder), f"a failed run leaves {leftovers(folder)}")


def check_safetensors(tarsia, folder):
    """Chunks of a tensor in the middle of a .safetensors file."""
    rows = 100_000
    write_safetensors(folder / "m.safetensors", "x", (rows, COLUMNS), data_blocks(rows),
                      rows * COLUMNS * 4)
    done = run([tarsia, "reduce", folder / "rows.tsa", "--set", f"n={rows}", "--limit", "100kB",
                "--in", f"x={folder}/m.safetensors:x", "--in", f"w={folder}/w.npy",
                "--out", f"y={folder}/y.npy", "--out", f"total={folder}/t.npy"])
    expect(done.returncode == 0, done.said)
    check_answer(folder, rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", required=True)
    parser.add_argument("--folder", required=True)
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        (folder / "rows.tsa").write_text(GRAPH)
        write_npy(folder / "w.npy", "<f4", (COLUMNS,), [array.array("f", [1] * COLUMNS).tobytes()])
        long = os.environ.get("TARSIA_LONG", "0") not in ("", "0")
        rows, limit = (125_000_003, 256 << 20) if long else (15_625_003, 32 << 20)
        base = check_large(arguments.tarsia, folder, rows, limit)
        check_failures(base, folder)
        check_truncated(base, folder)
        check_safetensors(arguments.tarsia, folder)
    finally:
        shutil.rmtree(folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
