#!/usr/bin/env python3
"""Runs every example of every `tarsia COMMAND --help`: each must succeed and print no error.

usage: help_examples.py --tarsia PATH --root REPOSITORY
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import golden


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commands_of(tarsia):
    """The names in the overview."""
    lines = output_of(tarsia, "--help").splitlines()
    begin = lines.index("Commands:") + 1
    return [line.split()[0] for line in lines[begin:lines.index("", begin)]]


def examples_of(tarsia, command):
    lines = output_of(tarsia, command, "--help").splitlines()
    begin = [i for i, line in enumerate(lines) if line in ("Example:", "Examples:")]
    if not begin:
        return []
    return [line.strip() for line in lines[begin[0] + 1:] if line.strip()]


def prepare(folder, root):
    (folder / "examples").symlink_to(root / "examples")
    (folder / "x.npy").write_bytes(golden.npy_bytes("<f2", [4, 64], [1.0] * 256))
    (folder / "w.npy").write_bytes(golden.npy_bytes("|u1", [64, 32], [3] * 2048))
    (folder / "s.npy").write_bytes(golden.npy_bytes("<f4", [2, 32], [0.5] * 64))
    weights = [(i * 37 % 101 - 50) / 64 for i in range(128 * 256)]
    (folder / "model.safetensors").write_bytes(golden.safetensors_bytes(
        "a.qweight I32 [8, 1] = [0] * 8\na.qzeros I32 [1, 1] = [0]\na.scales F16 [1, 8] = [1] * 8\n"))
    (folder / "weights.npy").write_bytes(golden.npy_bytes("<f4", [128, 256], weights))
    (folder / "rows.npy").write_bytes(golden.npy_bytes("<f4", [3, 128], weights[:384]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", type=lambda p: pathlib.Path(p).resolve(), required=True)
    parser.add_argument("--root", type=lambda p: pathlib.Path(p).resolve(), required=True)
    arguments = parser.parse_args()
    failures = count = 0
    environment = dict(os.environ)
    environment["PATH"] = f"{arguments.tarsia.parent}:{environment['PATH']}"
    for command in commands_of(arguments.tarsia):
        examples = examples_of(arguments.tarsia, command)
        if not examples:
            print(f"`tarsia {command} --help` shows no example")
            failures += 1
        for example in examples:
            count += 1
            with tempfile.TemporaryDirectory() as scratch:
                prepare(pathlib.Path(scratch), arguments.root)
                done = subprocess.run(["sh", "-c", example], cwd=scratch, env=environment,
                                      capture_output=True, text=True, timeout=120)
            if done.returncode != 0 or done.stderr:
                print(f"{example}\n  exit {done.returncode}\n{done.stderr}")
                failures += 1
    print(f"{count} examples, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
