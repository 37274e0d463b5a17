#!/usr/bin/env python3
"""Compares the symbols that libtarsia.so exports with the frozen list, and both with the header.

A symbol of the list must stay for ever, with its version. A new function is added to tarsia.map
(in the node of its version), to the header and to the list.

The list of libtarsia_loader.so has some functions of the header (--subset).

usage: symbols.py [--subset] --binary libtarsia.so --list symbols.txt --header tarsia.h
"""

import argparse
import pathlib
import re
import subprocess
import sys


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = {line.split()[-1] for line in lines}
    # The names of the versions themselves are absolute symbols.
    return {s for s in symbols if not re.fullmatch(r"(TARSIA_(?:LOADER_)?[0-9.]+)(@@\1)?", s)}


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.DOTALL)
    return set(re.findall(r"TARSIA_API\b[^;{]*?\b(tarsia_\w+)\(", text))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--binary", "--list", "--header"):
        parser.add_argument(option, required=True)
    parser.add_argument("--subset", action="store_true")
    arguments = parser.parse_args()
    frozen = set(pathlib.Path(arguments.list).read_text().split())
    found = exported(arguments.binary)
    names = {symbol.split("@")[0] for symbol in frozen}
    problems = [f"the library lacks {s}" for s in sorted(frozen - found)]
    problems += [f"the library exports {s}, which is not in the list" for s in sorted(found - frozen)]
    problems += [f"the header lacks {n}" for n in sorted(names - declared(arguments.header))]
    if not arguments.subset:
        problems += [f"the list lacks {n}, which the header declares"
                     for n in sorted(declared(arguments.header) - names)]
    print("\n".join(problems) or f"{len(frozen)} symbols")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
