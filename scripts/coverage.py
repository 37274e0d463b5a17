#!/usr/bin/env python3
"""Measures which lines of a folder the tests run, with gcc's gcov.

    scripts/coverage.py compiler                    all tests that link it
    scripts/coverage.py compiler -R '^(spec|codegen)'

Builds build/coverage (the folder's own code with counters, all else as the preset dev), runs the
tests and prints, for each file, how many lines have code, how many of these ran, and the share; the
last line is their sum. Lines that ran in any test count once.

exit status: 0 the share is at least --least, 1 it is not or a test failed, 2 bad usage
"""

import argparse
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
FLAGS = "-O2 -g1"  # of the preset dev


def build(folder, targets):
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DTARSIA_COVERAGE={folder}",
                    "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++", "-DTARSIA_BENCH=OFF",
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DCMAKE_C_FLAGS_RELWITHDEBINFO={FLAGS}",
                    f"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO={FLAGS}"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, *targets], check=True)
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()


def lines_of(notes, scratch):
    """(file, line) -> how often it ran, of one object file."""
    subprocess.run(["gcov", "--json-format", "--object-directory", notes.parent, notes],
                   cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counts = collections.Counter()
    for report in pathlib.Path(scratch).glob("*.gcov.json.gz"):
        data = json.loads(gzip.decompress(report.read_bytes()))
        for file in data["files"]:
            path = pathlib.Path(data["current_working_directory"], file["file"]).resolve()
            for line in file["lines"]:
                counts[path, line["line_number"]] += line["count"]
        report.unlink()
    return counts


def measure(folder):
    """file -> [lines with code, lines that ran]; headers count once."""
    counts = collections.Counter()
    for notes in sorted((BUILD / folder).rglob("*.gcno")):
        with tempfile.TemporaryDirectory() as scratch:
            for key, count in lines_of(notes, scratch).items():
                counts[key] += count
    files = collections.defaultdict(lambda: [0, 0])
    for (path, _), count in counts.items():
        if ROOT / folder not in path.parents:
            continue
        row = files[path.relative_to(ROOT).as_posix()]
        row[0] += 1
        row[1] += count > 0
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a folder with a library of its own: compiler, isa, ...")
    parser.add_argument("-R", metavar="TESTS", default=".", help="which tests, as in ctest -R")
    parser.add_argument("--target", action="append", default=[], help="what to build (default: all)")
    parser.add_argument("--least", type=float, default=0, help="the share wanted, in per cent")
    arguments = parser.parse_args()
    if not (ROOT / arguments.folder / "CMakeLists.txt").is_file():
        print(f"coverage: no folder {arguments.folder} with a library", file=sys.stderr)
        return 2
    build(arguments.folder, arguments.target)
    tests = subprocess.run(["ctest", "--test-dir", BUILD, "-R", arguments.R, "-j", "2",
                            "--no-tests=error", "--output-on-failure"], check=False)
    files = measure(arguments.folder)
    for name, (lines, ran) in sorted(files.items()):
        print(f"{name:<40} {lines:6} {ran:6} {100 * ran / lines:6.1f}%")
    lines, ran = (sum(row[i] for row in files.values()) for i in (0, 1))
    share = 100 * ran / max(lines, 1)
    print(f"{arguments.folder + '/':<40} {lines:6} {ran:6} {share:6.1f}%")
    return 1 if tests.returncode or share < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
