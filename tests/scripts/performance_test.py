#!/usr/bin/env python3
"""bench/performance.py makes tables of what `tarsia bench matmul --json` writes, with or without peers.

usage: performance_test.py --tarsia BINARY --root DIR
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)


def tables(root, path):
    """The cells of all rows of tables."""
    done = subprocess.run([sys.executable, "-B", f"{root}/bench/performance.py", path], capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 0 and not done.stderr, f"performance.py: exit {done.returncode}, {done.stderr}")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()
            if line.startswith("| ")]


def main():
    parser = argparse.ArgumentParser()
    for option in ("tarsia", "root"):
        parser.add_argument(f"--{option}", required=True)
    arguments = parser.parse_args()
    environment = dict(os.environ, TARSIA_CUDA_DRIVER="no-such-driver.so")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.json")
        for options in ([], ["--zero", "int"]):
            subprocess.run([arguments.tarsia, "bench", "matmul", "--shape", "128x64", "--w", "u4", "--w", "u3", "--m", "1",
                            "--device", "cpu", "--json", path, *options], check=True, env=environment, capture_output=True)
            result = json.loads(path.read_text())
            names = [row["name"] for row in result["rows"]]
            expect(names == [" ".join([f"{kind}/m=1/128x64", *options]) for kind in ("u4", "u3")], f"names: {names}")
            wanted = [["`u3`, 128 x 64, 1", 1], ["128 x 64, 1", 0]] if not options else \
                [[f"`{' '.join(options)}`, 128 x 64, 1", 0], [f"`{' '.join(options)}`, 128 x 64, 1", 1]]
            rows = tables(arguments.root, path)
            for name, index in wanted:
                median = result["rows"][index]["median_us"]
                text = f"{median:.2f}" if median < 100 else f"{median:.1f}"
                expect(any(row[:2] == [name, text] and len(row) == 4 for row in rows), f"no {name}, {text} in {rows}")
        # Beside a peer, the quotient; a row that failed, or that has counts only, has no line.
        row = {**result["rows"][0], "options": [], "median_us": 4.0, "floor_us": 1.0, "cublas_us": 8.0}
        result["rows"] = [row, {"name": "x", "error": "wrong"}, {"name": "y", "w": "u4", "options": []}]
        path.write_text(json.dumps(result))
        rows = [cells for cells in tables(arguments.root, path) if cells[0] == "128 x 64, 1"]
        expect(rows == [["128 x 64, 1", "4.00", "1.00", "25%", "8.00", "2.00"]], f"beside a peer: {rows}")
    print("\n".join(problems) or "the tables say what was measured")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
