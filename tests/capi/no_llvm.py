#!/usr/bin/env python3
"""Fails if a library needs LLVM's shared library, or has code of LLVM in it.

usage: no_llvm.py LIBRARY
"""

import re
import subprocess
import sys


def main():
    library = sys.argv[1]
    needed = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True,
                            check=True).stdout
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\(NEEDED\).*\[(.*LLVM.*)\]", needed)
    found += [line for line in symbols.splitlines() if re.search(r"_ZNK?4llvm|\bLLVM[A-Z]", line)]
    # A library without any symbols would pass, too.
    if len(symbols.splitlines()) < 1000:
        found.append(f"only {len(symbols.splitlines())} symbols")
    print("\n".join(found[:9]) or "no LLVM")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
