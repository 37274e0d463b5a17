#!/usr/bin/env python3
"""Compares what the kernels that pack weights on a device move with the floor, as `tarsia compile --emit cost-json`
counts it: global sectors as few as the bytes need, no conflict in shared memory, no spills, at every width of
integers, and of two floats.

usage: packer_costs.py --tarsia PATH --root REPOSITORY
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import example_costs
import library_costs

TYPES = [f"u{bits}" for bits in range(1, 9)] + ["f4e2m1", "f6e3m2"]
TARGETS = ["sm_80", "sm_90a"]


def constants(name):
    bits = int(name[1])
    order = library_costs.packed(bits, "f16")
    rows, columns = (128, 16) if bits == 6 else (128, 32) if bits % 2 == 1 and bits > 1 else (64, 16)
    tile = order[len("packed("):order.index(", lanes")]
    settings = {"K": 256, "N": 512, "W": name, "U": f"u{bits}", "TILE": tile, "TK": rows, "TN": columns, "PACK": order}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kernels").symlink_to(options.root.resolve() / "kernels")
        runner = example_costs.Runner(options.tarsia, folder, "packer_costs")
        calls = [(kernel, kind, constants(kind)) for kernel in ("pack_codes", "unpack_codes") for kind in TYPES]
        rows = ["--set", "ROWS=32", "--set", "FROM=4096", "--set", "TO=4096", "--set", "T=u16"]
        for kernel, kind, words in [*calls, ("copy_rows", "u16", rows)]:
            for target in TARGETS:
                problems = runner.cost_faults("kernels/pack_weights.tsa", target, ["--kernel", kernel, *words],
                                              most_wavefronts=1)
                failed += example_costs.show(f"{kernel} of {kind} for {target}", problems)
        failed += example_costs.show("predicted cycles", runner.history.faults())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
