#!/usr/bin/env python3
"""Puts small faults into the source, one at a time, and checks that the named tests detect each.

The faults stand in scripts/mutants/<folder>.toml, each as

    [[mutant]]
    name = "nearest-ignores-insertions"     # kebab-case, unique
    file = "support/diagnostic.cc"          # from the root of the repository
    old = "row[j - 1] + 1"                  # must occur in the file exactly once;
    new = "row[j - 1] + 9"                  # use '''...''' for text of several lines
    target = "unit_support"                 # what to build (one name, or a list)
    test = "^unit.support$"                 # the tests that should kill it, as in ctest -R; of a
                                            # list, each has to
    filter = "Facts.*"                      # which cases of them, as in --gtest_filter; optional

A mutant that does not compile, or whose old text is no longer there, counts as a failure. The
sources are copied to a folder of their own, so the checkout is never changed. The copy keeps its
build folder, so that only changed files are built.

exit status: 0 all killed, 1 a survivor or a mutant that cannot be tried, 2 bad usage
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = {"name", "file", "old", "new", "target", "test", "filter"}
TEST_TIMEOUT_S = 300  # a mutant may make a loop endless


class Unusable(Exception):
    """A mutant that cannot be tried, and why."""


def read_mutants(folder):
    """All mutants of a folder, as dictionaries of FIELDS; raises Unusable on a bad list."""
    mutants, names = [], set()
    for path in sorted(folder.glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
        except tomllib.TOMLDecodeError as error:
            raise Unusable(f"{path.name}: {error}") from error
        for table in tables:
            name = table.get("name", "without a name")
            table.setdefault("filter", "*")
            if set(table) != FIELDS:
                wrong = ", ".join(sorted(set(table) ^ FIELDS))
                raise Unusable(f"{path.name}: mutant {name}: missing or unknown fields: {wrong}")
            if name in names:
                raise Unusable(f"{path.name}: mutant {name}: the name is taken")
            names.add(name)
            for field in ("target", "test"):
                table[field] = table[field] if isinstance(table[field], list) else [table[field]]
            mutants.append(table)
    return mutants


def mutated(root, mutant):
    """The text of the mutant's file with the fault in it; raises Unusable if it does not fit."""
    path = root / mutant["file"]
    if not path.is_file():
        raise Unusable(f"no file {mutant['file']}")
    text = path.read_text(encoding="utf-8")
    count = text.count(mutant["old"])
    if count != 1:
        raise Unusable(f"the old text occurs {count} times in {mutant['file']}")
    if mutant["old"] == mutant["new"]:
        raise Unusable("the new text is the old")
    return text.replace(mutant["old"], mutant["new"])


def copy_sources(work):
    """Copies tracked and new files to work/source; unchanged files keep their time there."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wanted = {name for name in listing.split("\0") if name and (ROOT / name).is_file()}
    source = work / "source"
    for path in source.rglob("*"):
        if path.is_file() and path.relative_to(source).as_posix() not in wanted:
            path.unlink()
    for name in wanted:
        copy = source / name
        data = (ROOT / name).read_bytes()
        if not copy.is_file() or copy.read_bytes() != data:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
            shutil.copymode(ROOT / name, copy)
    return source


def pinned_tools():
    """The folders of ptxas and nvdisasm in .venv, which the copy does not have."""
    return sorted({str(tool.parent) for name in ("ptxas", "nvdisasm") for tool in
                   ROOT.glob(f".venv/lib/python*/site-packages/nvidia/*/bin/{name}")})


# A test program ends at its first failure, and does not have its PTX assembled.
TEST_ENVIRONMENT = {**os.environ, "GTEST_FAIL_FAST": "1", "TARSIA_ASSEMBLE": "none"}


def run(command, log, timeout=None, cases="*"):
    """Whether a command succeeds; its output goes to the file `log`. A timeout is a failure."""
    with open(log, "w", encoding="utf-8") as out:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT, timeout=timeout, check=False,
                                  env={**TEST_ENVIRONMENT, "GTEST_FILTER": cases})
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


class Workshop:
    """A copy of the sources with a build folder, in which faults are tried."""

    def __init__(self, work, jobs):
        self.work, self.build, self.jobs = work, work / "build", str(jobs)
        work.mkdir(parents=True, exist_ok=True)
        self.source = copy_sources(work)
        self.log = work / "log.txt"

    def configure(self):
        command = ["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja",
                   "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1",
                   "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1", "-DTARSIA_BENCH=OFF", "-DTARSIA_WERROR=OFF",
                   "-DTARSIA_UNITY_BATCH=0", "-DTARSIA_PTX_TOOLS=" + ";".join(pinned_tools())]
        if not run(command, self.log):
            raise Unusable(f"the unchanged sources do not configure; see {self.log}")

    def compiles(self, targets):
        return run(["ninja", "-C", str(self.build), "-j", self.jobs, *targets], self.log)

    def passes(self, test, cases):
        return run(["ctest", "--test-dir", str(self.build), "-R", test, "-j", self.jobs,
                    "--no-tests=error", "--stop-on-failure", "--output-on-failure",
                    "--timeout", str(TEST_TIMEOUT_S)], self.log, 4 * TEST_TIMEOUT_S, cases)

    def check_unchanged(self, mutants):
        """The tests must pass without a fault; otherwise they would kill every mutant."""
        self.configure()
        if not self.compiles(sorted({name for m in mutants for name in m["target"]})):
            raise Unusable(f"the unchanged sources do not build; see {self.log}")
        for test, cases in sorted({(test, m["filter"]) for m in mutants for test in m["test"]}):
            if not self.passes(test, cases):
                raise Unusable(f"without any fault, {test} fails; see {self.log}")

    def kills(self, mutant):
        """Whether the tests detect the fault. The file is restored in any case."""
        path = self.source / mutant["file"]
        original = path.read_text(encoding="utf-8")
        path.write_text(mutated(self.source, mutant), encoding="utf-8")
        try:
            if not self.compiles(mutant["target"]):
                raise Unusable(f"does not compile: {first_error(self.log)}")
            return not any(self.passes(test, mutant["filter"]) for test in mutant["test"])
        finally:
            path.write_text(original, encoding="utf-8")


def first_error(log):
    text = log.read_text(encoding="utf-8", errors="replace")
    match = re.search(r"error: .*", text)
    return match.group(0) if match else "see the log"


def try_all(workshop, mutants):
    """Tries each mutant, prints a line for each, and returns how many were not killed."""
    failures = 0
    for mutant in mutants:
        start = time.monotonic()
        try:
            outcome = "killed" if workshop.kills(mutant) else "SURVIVED"
        except Unusable as error:
            outcome = f"UNUSABLE: {error}"
        failures += outcome != "killed"
        seconds = time.monotonic() - start
        print(f"{mutant['name']:<44} {mutant['file']:<32} {seconds:5.1f} s  {outcome}", flush=True)
    return failures


def check_only(mutants):
    failures = 0
    for mutant in mutants:
        try:
            mutated(ROOT, mutant)
        except Unusable as error:
            failures += 1
            print(f"{mutant['name']}: {error}", file=sys.stderr)
    return failures


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="try only this one; may be repeated")
    parser.add_argument("--check", action="store_true",
                        help="only check that each fault still fits the source")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--mutants", type=pathlib.Path, default=ROOT / "scripts" / "mutants", metavar="DIR",
                        help="the folder of the faults (default: scripts/mutants)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutate", metavar="DIR",
                        help="the folder for the copy of the sources (default: build/mutate)")
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N",
                        help="processes of the build and the tests (default: %(default)s)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        mutants = read_mutants(arguments.mutants)
        names = [m["name"] for m in mutants]
        for name in arguments.only or []:
            if name not in names:
                print(f"mutate: no mutant {name}", file=sys.stderr)
                return 2
        mutants = [m for m in mutants if not arguments.only or m["name"] in arguments.only]
        if arguments.list:
            print("\n".join(m["name"] for m in mutants))
            return 0
        if arguments.check:
            failures = check_only(mutants)
            print(f"mutants: {len(mutants)} faults, {failures} that no longer fit")
            return 1 if failures else 0
        workshop = Workshop(arguments.work.resolve(), arguments.jobs)
        workshop.check_unchanged(mutants)
        failures = try_all(workshop, mutants)
    except Unusable as error:
        print(f"mutate: error: {error}", file=sys.stderr)
        return 1
    print(f"{len(mutants)} mutants, {len(mutants) - failures} killed, {failures} not killed")
    return 1 if failures or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
