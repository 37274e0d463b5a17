#!/usr/bin/env python3
"""`tarsia reduce` on several ranks: processes that mpirun starts, and devices of one process. Their
results against one rank, and what is left when a rank is killed, interrupted or fails.

usage: ranks.py --tarsia PATH --folder SCRATCH [--mpirun PATH] [--driver LIBRARY]

Without --mpirun only devices are tested, with --driver those of the emulated CUDA driver, too.
"""

import argparse
import array
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

from written_files import can_be_nameless, unfinished

ROWS, COLUMNS = 1003, 37
GRAPHS = {
    # Rows need no merge, and every rank computes %total.
    "rows": """graph rows(%x: f32[i:n, j:37], %w: f32[j:37]) -> f32[i:n], f32
  const n: int
{
  %y = sum<j>(%x * %w)
  %total = sum<j> %w
  return %y, %total
}
""",
    # One axis: what is shared is reduced.
    "column": """graph column(%v: f32[i:n]) -> f32, f32, i64, f32, f32[k:5], i64[k:5]
  const n: int
{
  %sum = sum<i> %v accumulate kahan
  %best, %at = argmax<i> %v
  %log = logsumexp<i> %v
  %top, %top_at = topk<i>(%v, k:5)
  return %sum, %best, %at, %log, %top, %top_at
}
""",
    "slow": """graph slow(%x: f32[i:n, j:37]) -> f32[i:n]
  const n: int
{
  %s = sqdist<j>(%x, rename<i->h>(%x))
  %y = sum<h>(exp(-%s))
  return %y
}
""",
    # Rows of three elements, which a GPU reads in another way.
    "short": """graph short(%x: f32[i:n, d:3], %z: f32[j:n, d]) -> f32[i:n]
  const n: int
{
  %y = sum<j>(exp(-sqdist<d>(%x, %z)))
  return %y
}
""",
    "scalar": """graph scalar(%w: f32[j:1]) -> f32[j:1]
{
  %y = %w * 2
  return %y
}
""",
}
OUTPUTS = {"rows": ["y", "total"], "column": ["sum", "best", "at", "log", "top", "top_at"]}
# Sums of 1003 numbers below 4 in f32, in another order.
TOLERANCE = 1003 * 4 * 2**-23
SLOW_ROWS = 60_000  # minutes on one core
failures = 0


def expect(condition, text):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {text}")


def write_npy(path, kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def read_npy(path):
    data = path.read_bytes()
    size, = struct.unpack("<H", data[8:10])
    header = data[10:10 + size].decode()
    kind = {"<f4": "f", "<i8": "q"}[header.split("'descr': '")[1][:3]]
    return array.array(kind, data[10 + size:])


class Runner:
    def __init__(self, tarsia, folder, mpirun, driver):
        self.tarsia, self.folder, self.mpirun, self.driver = tarsia, folder, mpirun, driver

    def command(self, graph, options, rows=ROWS, ranks=0):
        command = [self.tarsia, "reduce", self.folder / f"{graph}.tsa", *options]
        if graph != "scalar":
            command += ["--set", f"n={rows}"]
        if ranks:
            # On a busy machine a rank may need more than the second that mpirun gives it to end.
            command = [self.mpirun, "--allow-run-as-root", "--oversubscribe", "--mca",
                       "odls_base_sigkill_timeout", "3", "-np", str(ranks), *command]
        return [str(word) for word in command]

    def run(self, graph, options, rows=ROWS, ranks=0, **environment):
        return subprocess.run(self.command(graph, options, rows, ranks), text=True,
                              capture_output=True, timeout=300, env={**os.environ, **environment})

    def inputs(self, graph):
        files = {"rows": ["x", "w"], "column": ["v"], "scalar": ["w"]}[graph]
        return [word for name in files for word in ("--in", f"{name}={self.folder}/{name}.npy")]

    def outputs(self, graph, tag):
        return [word for name in OUTPUTS[graph]
                for word in ("--out", f"{name}={self.folder}/{tag}.{name}.npy")]

    def results(self, graph, tag):
        return [read_npy(self.folder / f"{tag}.{name}.npy") for name in OUTPUTS[graph]]


def check_same(runner, graph, tag, options, ranks=0, **environment):
    done = runner.run(graph, [*runner.inputs(graph), *runner.outputs(graph, tag), *options],
                      ranks=ranks, **environment)
    expect(done.returncode == 0, f"{tag}: {done.stderr}")
    if done.returncode != 0:
        return ""
    for name, one, other in zip(OUTPUTS[graph], runner.results(graph, "one"),
                                runner.results(graph, tag)):
        exact = one.typecode == "q"
        worst = max(abs(a - b) for a, b in zip(one, other))
        expect(len(one) == len(other) and worst <= (0 if exact else TOLERANCE),
               f"{graph} {tag}: %{name} differs by {worst}")
    for path in runner.folder.glob(f"{tag}.*"):
        path.unlink()
    return done.stdout


def check_results(runner):
    for graph, axis in (("rows", "i"), ("column", "i")):
        one = runner.run(graph, [*runner.inputs(graph), *runner.outputs(graph, "one"),
                                 "--device", "cpu"])
        expect(one.returncode == 0, one.stderr)
        limits = [["--limit", "20kB"], ["--limit", "1MB", "--limit-kind", "scratch"], []]
        for limit in limits:
            said = check_same(runner, graph, "devices", ["--device", "cpu,cpu,cpu", *limit])
            expect(f"on each of 3 ranks, which share {axis}" in said, said)
            if runner.mpirun:
                said = check_same(runner, graph, "ranks", ["--device", "cpu", *limit], ranks=4)
                expect(f"on each of 4 ranks, which share {axis}" in said, said)
                expect(said.count("peak") == 1, f"more than rank 0 prints: {said}")
        if runner.driver:
            said = check_same(runner, graph, "gpus", ["--device", "cuda:all"],
                              TARSIA_CUDA_DRIVER=str(runner.driver), TARSIA_EMULATED_DEVICES="2")
            expect("on cuda:0,cuda:1" in said, said)
        for path in runner.folder.glob("one.*"):
            path.unlink()


def check_certificates(runner):
    """The ranges of all ranks, from one command and from --share."""
    path = runner.folder / "c.json"
    done = runner.run("column", ["--device", "cpu,cpu,cpu", "--dry-run", "--certificate", path])
    expect(done.returncode == 0, done.stderr)
    certificates = json.loads(path.read_text())
    ranges = [c["share"]["range"] for c in certificates]
    expect(len(ranges) == 3 and ranges[0][0] == 0 and ranges[2][1] == ROWS, f"{ranges}")
    expect(all(a[1] == b[0] for a, b in zip(ranges, ranges[1:])), f"{ranges}")
    done = runner.run("column", ["--share", "1/3", "--dry-run", "--certificate", path])
    expect(json.loads(path.read_text()) == certificates[1], "--share 1/3 makes another certificate")
    path.unlink()
    for wrong in ("3/3", "1", "a/3", "0/0", "1/5000"):
        done = runner.run("column", ["--share", wrong, "--dry-run"])
        expect(done.returncode == 2 and f"--share {wrong}: " in done.stderr, done.stderr)
    done = runner.run("column", ["--share", "1/3"])
    expect(done.returncode == 2 and "cannot run alone" in done.stderr, done.stderr)


def check_kernels(runner):
    """Kernels are for the kind of device that runs them, one or several."""
    def kernels(device):
        done = runner.run("short", ["--share", "1/3", "--emit", "tsa", "--device", device])
        expect(done.returncode == 0, done.stderr)
        return done.stdout
    expect(kernels("cpu") != kernels("ptx"), "the device cpu and a GPU have the same kernels")
    expect(kernels("cpu") == kernels("cpu,cpu"), "two devices have other kernels than one")


def check_unshared(runner):
    """A graph without an axis of two elements: one rank computes it, with a note."""
    options = [*runner.inputs("scalar"), "--out", f"y={runner.folder}/y.npy", "--device"]
    note = "`scalar` has no axis that 2 ranks can share: one computes all"
    for ranks, device in ((0, "cpu,cpu"), (2, "cpu")):
        if ranks and not runner.mpirun:
            continue
        done = runner.run("scalar", [*options, device], ranks=ranks)
        expect(done.returncode == 0 and note in done.stderr, done.stderr)
        expect(list(read_npy(runner.folder / "y.npy")) == [6.0], "the result is wrong")
        (runner.folder / "y.npy").unlink()


def leftovers(runner):
    return sorted(path.name for path in runner.folder.glob("y.npy*"))


def wait_until(condition):
    """mpirun may end a moment before its ranks have."""
    deadline = time.monotonic() + 2
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def check_errors(runner):
    out = ["--out", f"y={runner.folder}/y.npy"]
    wrong = runner.run("rows", ["--device", "cpu,", *out])
    expect(wrong.returncode == 2 and "a name is missing" in wrong.stderr, wrong.stderr)
    full = runner.run("rows", [*runner.inputs("rows"), "--device", "cpu,cpu", "--out",
                               "y=/dev/full"])
    expect(full.returncode == 1 and "cannot write /dev/full" in full.stderr, full.stderr)
    if not runner.mpirun:
        return
    several = runner.run("rows", ["--device", "cpu,cpu", *out], ranks=2)
    expect(several.returncode == 3 and "each has one device, not 2" in several.stderr,
           several.stderr)
    low = runner.run("rows", ["--limit", "100", *out], ranks=4)
    expect(low.returncode == 1 and low.stderr.count("cannot be computed in 100 bytes") == 1,
           low.stderr)
    missing = runner.run("rows", [*runner.inputs("rows"), *out, "--device", "cpu"], ranks=2,
                         TARSIA_MPI_LIBRARY="/nowhere.so")
    expect(missing.returncode == 3 and "the library for MPI cannot be opened: /nowhere.so" in
           missing.stderr, missing.stderr)
    full = runner.run("rows", [*runner.inputs("rows"), "--device", "cpu", "--out", "y=/dev/full"],
                      ranks=3)
    expect(full.returncode == 1 and "tarsia (rank 0): error: cannot write /dev/full" in full.stderr,
           full.stderr)
    expect(not leftovers(runner), f"failed runs leave {leftovers(runner)}")


def ranks_of(mpirun):
    """The processes of the ranks, by rank."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        for variable in variables if parent == mpirun else ():
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.partition(b"=")[2])] = int(entry.name)
    return found


def interrupt(runner, end):
    """Calls `end` with mpirun's process and those of its ranks in the middle of a run of minutes.
    Returns its exit code, what it printed, and the seconds until it ended."""
    options = ["--in", f"x={runner.folder}/slow.npy", "--out", f"y={runner.folder}/y.npy",
               "--device", "cpu"]
    with subprocess.Popen(runner.command("slow", options, SLOW_ROWS, 4), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + 60
        written = []
        while not written and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
            ranks = ranks_of(process.pid)
            written = unfinished(ranks.get(0), runner.folder)
        expect(written, "rank 0 has no file to write")
        time.sleep(0.5)
        ranks = ranks_of(process.pid)
        expect(sorted(ranks) == [0, 1, 2, 3], f"the ranks are {ranks}")
        started = time.monotonic()
        end(process, ranks)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said, time.monotonic() - started


def check_dying(runner):
    write_npy(runner.folder / "slow.npy", "<f4", (SLOW_ROWS, COLUMNS),
              bytes(4 * SLOW_ROWS * COLUMNS))
    cases = {
        "rank 2 is killed": lambda process, ranks: os.kill(ranks[2], signal.SIGKILL),
        "rank 0 is killed": lambda process, ranks: os.kill(ranks[0], signal.SIGKILL),
        "Ctrl-C": lambda process, ranks: process.send_signal(signal.SIGINT),
    }
    for name, end in cases.items():
        code, said, seconds = interrupt(runner, end)
        print(f"{name}: all ended {seconds:.1f} s later with {code}")
        expect(code != 0, f"{name}: the exit code is 0")
        expect(seconds < 20, f"{name}: {seconds:.1f} s")
        if "killed" in name:
            expect(name[:6] in said, f"{name}: no word of it in {said}")
        wait_until(lambda: not leftovers(runner))
        # A process that is killed removes no file that has a name. After Ctrl-C, mpirun kills what is
        # left of the ranks as soon as some have ended.
        if not can_be_nameless(runner.folder):
            expect("y.npy" not in leftovers(runner), f"{name}: a file is there")
            for left in leftovers(runner):
                (runner.folder / left).unlink()
        expect(not leftovers(runner), f"{name}: leaves {leftovers(runner)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--driver", default="")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        for name, text in GRAPHS.items():
            (folder / f"{name}.tsa").write_text(text)
        numbers = random.Random(1)
        write_npy(folder / "x.npy", "<f4", (ROWS, COLUMNS),
                  array.array("f", [numbers.uniform(-2, 2) for _ in range(ROWS * COLUMNS)]).tobytes())
        write_npy(folder / "w.npy", "<f4", (COLUMNS,),
                  array.array("f", [numbers.uniform(-1, 1) for _ in range(COLUMNS)]).tobytes())
        write_npy(folder / "v.npy", "<f4", (ROWS,),
                  array.array("f", [numbers.uniform(-2, 2) for _ in range(ROWS)]).tobytes())
        runner = Runner(arguments.tarsia, folder, arguments.mpirun, arguments.driver)
        check_results(runner)
        check_certificates(runner)
        check_kernels(runner)
        check_errors(runner)
        if arguments.mpirun:
            check_dying(runner)
        write_npy(folder / "w.npy", "<f4", (1,), array.array("f", [3]).tobytes())
        check_unshared(runner)
    finally:
        shutil.rmtree(folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
