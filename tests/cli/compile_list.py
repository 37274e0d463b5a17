#!/usr/bin/env python3
"""Tests `tarsia compile --list` on a list of 100 lines: bytes, memory, interrupts, progress.

usage: compile_list.py --tarsia PATH --root REPOSITORY [--sanitized]
"""

import argparse
import filecmp
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time

TYPES = ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "i2", "i3", "i4", "i5", "i6", "i7", "i8",
         "f8e4m3fn", "f8e5m2", "f6e3m2", "f5e2m2", "f4e2m1"]
LINES = [(kind, 4096 + 512 * i) for i in range(5) for kind in TYPES]
MIB = 1024  # of the KiB in which the system counts


class Lists:
    """Runs the command in a new folder."""

    def __init__(self, tarsia, root, folder):
        self.tarsia, self.program, self.folder = tarsia, root / "examples/matmul.tsa", folder

    def command(self, count, jobs, out):
        list_file = self.folder / f"{count}.txt"
        list_file.write_text("".join(f"W={kind} K={k}\n" for kind, k in LINES[:count]))
        return [str(self.tarsia), "compile", str(self.program), "--set", "N=4096", "--list",
                str(list_file), "--jobs", str(jobs), "-o", str(self.folder / out)]

    def run(self, count, jobs, out):
        """The most memory that it held at a time, in KiB."""
        process = subprocess.Popen(self.command(count, jobs, out), stdout=subprocess.PIPE)
        paths = process.stdout.read().decode().split()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0, f"exit status {status}"
        expected = [str(self.folder / out / name_of(kind, k)) for kind, k in LINES[:count]]
        assert paths == expected, f"printed {paths}"
        assert sorted(os.listdir(self.folder / out)) == sorted(map(os.path.basename, expected))
        return usage.ru_maxrss


def name_of(kind, k):
    return f"matmul.W={kind}.K={k}.sm_90a.ptx"


def test_bytes(lists):
    """Every number of threads writes what the command writes for one specialisation."""
    for jobs in (1, 2, 16):
        lists.run(len(TYPES), jobs, f"jobs{jobs}")
    alone = lists.folder / "alone.ptx"
    for kind, k in LINES[:len(TYPES)]:
        subprocess.run([lists.tarsia, "compile", lists.program, "--set", f"W={kind}", "--set",
                        f"K={k}", "--set", "N=4096", "-o", alone], check=True)
        for jobs in (1, 2, 16):
            path = lists.folder / f"jobs{jobs}" / name_of(kind, k)
            assert filecmp.cmp(path, alone, shallow=False), f"{path} differs"


def test_memory(lists):
    """Memory does not grow with the lines, and 100 lines on 64 threads take less than 1.5 GB."""
    few = lists.run(len(TYPES), 2, "few")
    many = lists.run(len(LINES), 2, "many")
    assert many - few < 8 * MIB, f"{few} KiB for {len(TYPES)} lines, {many} for {len(LINES)}"
    wide = lists.run(len(LINES), 64, "wide")
    assert wide < 1.5e9 / 1024, f"{wide} KiB on 64 threads"
    print(f"memory: {few // MIB} MiB for {len(TYPES)} lines and {many // MIB} MiB for {len(LINES)} "
          f"on 2 threads, {wide // MIB} MiB on 64 threads")


def test_interrupt(lists):
    """An interrupt leaves whole files and no others."""
    lists.run(len(LINES), 2, "whole")
    process = subprocess.Popen(lists.command(len(LINES), 2, "cut"), stdout=subprocess.DEVNULL)
    cut = lists.folder / "cut"
    while process.poll() is None and not (cut.exists() and len(os.listdir(cut)) > 4):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.wait() == -signal.SIGINT, f"exit status {process.returncode}"
    left = os.listdir(cut)
    assert 0 < len(left) < len(LINES), f"{len(left)} files"
    for name in left:
        assert filecmp.cmp(cut / name, lists.folder / "whole" / name, shallow=False), name


def test_progress(lists):
    """A terminal shows how many lines are done."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(lists.command(len(LINES), 1, "shown"), stdout=subprocess.DEVNULL,
                               stderr=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(controller, 4096)
        except OSError:  # nothing has the terminal open any more
            break
    assert process.wait() == 0
    assert f"of {len(LINES)} lines".encode() in shown, shown


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", type=lambda p: pathlib.Path(p).resolve(), required=True)
    parser.add_argument("--root", type=lambda p: pathlib.Path(p).resolve(), required=True)
    parser.add_argument("--sanitized", action="store_true", help="leave out the test of memory")
    arguments = parser.parse_args()
    tests = [test_bytes, test_interrupt, test_progress]
    if not arguments.sanitized:
        tests.append(test_memory)
    failures = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Lists(arguments.tarsia, arguments.root, pathlib.Path(folder)))
                print(f"{test.__name__}: passed")
            except AssertionError as error:
                failures += 1
                print(f"{test.__name__}: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
