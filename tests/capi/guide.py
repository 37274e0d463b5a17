#!/usr/bin/env python3
"""Compiles the C programs of docs/capi.md against libtarsia.so, runs each, and compares what it
prints with what its last comment says: /* prints: ... */

usage: guide.py --guide docs/capi.md --cc COMPILER --include FOLDER --shared libtarsia.so
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    for option in ("--guide", "--cc", "--include", "--shared"):
        parser.add_argument(option, required=True)
    parser.add_argument("flags", nargs="*")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.guide).read_text()
    programs = re.findall(r"^```c\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    failures = 0 if len(programs) >= 2 else 1
    folder = pathlib.Path(arguments.shared).parent
    with tempfile.TemporaryDirectory() as scratch:
        for i, program in enumerate(programs):
            source = pathlib.Path(scratch) / f"program{i}.c"
            source.write_text(program)
            binary = source.with_suffix("")
            subprocess.run([arguments.cc, "-std=c11", "-Wall", "-Wextra", "-Werror",
                            *arguments.flags, "-I", arguments.include, source, "-o", binary,
                            arguments.shared, f"-Wl,-rpath,{folder}"], check=True)
            done = subprocess.run([binary], capture_output=True, text=True, check=False)
            wanted = re.findall(r"/\* prints: (.*?) \*/", program)
            if done.returncode != 0 or not wanted or done.stdout != wanted[-1] + "\n":
                failures += 1
                print(f"program {i + 1} of {arguments.guide} returns {done.returncode} and prints\n"
                      f"{done.stdout}{done.stderr}instead of\n{wanted}")
    print(f"{len(programs)} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
