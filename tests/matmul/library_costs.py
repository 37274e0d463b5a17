#!/usr/bin/env python3
"""Compares what the kernels that the library chooses for a quantised matmul move with the floor, as `tarsia
compile --emit cost-json` counts it for a smaller matrix and two blocks: the sectors of weights, scales and
zero points are at most 2% above the stored bytes, all sectors are as few as the bytes need, and no access of
shared memory has a conflict.

usage: library_costs.py --tarsia PATH --root REPOSITORY [--show]
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import example_costs
import golden

KERNEL = "kernels/quantised_matmul.tsa"
MOST_STORED = 1.02
N = 512
TARGETS = ["sm_80", "sm_90a"]
# Type, rows of x, group, zero points, activations.
CASES = [(name, m, 128, 0, "f16") for name in ("u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "f6e3m2", "f8e4m3fn")
         for m in (1, 16)]
CASES += [("u4", *case, "f16") for case in ((1, 32, 0), (16, 32, 0), (1, 128, 1), (16, 128, 2), (32, 128, 0))]
CASES += [(name, m, 128, 0, "i8") for name in ("u2", "u3", "u4", "i4", "u8") for m in (1, 16)]
CASES += [("u4", *case, "i8") for case in ((16, 32, 0), (1, 128, 1), (16, 128, 1), (16, 128, 2))]


def packed(bits, compute):
    """The packed order of .tsw files (docs/weights.md)."""
    if compute == "i8":
        return "packed(permute(local(1, 2) * mma.m16n8k32.i8.a, [1, 0]), lanes(i8))"
    tile = "1, 8" if bits == 6 else "2, 8" if bits % 2 == 1 and bits > 1 else "1, 4"
    return f"packed(permute(local({tile}) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"


def chosen(runner, target, name, m, group, zeros, compute):
    """The constants of the best candidate for a large matrix; or None and the error."""
    zero = ["--zero", ("none", "int", "float")[zeros]]
    output, error = runner.call("matmul", "--candidates", "--json", "--device", f"ptx:{target}", "--m", str(m), "--n",
                                "8192", "--k", "8192", "--w", name, "--group", str(group), "--compute", compute, *zero)
    if error:
        return None, error
    constants = dict(re.findall(r"(\w+)=(\w+)", json.loads(output)[0]["candidate"]))
    if "KS" in constants:
        constants["SLICED"] = 1
    if "STREAM" in constants:
        constants["P"] = 2
    return constants, None


def cost(runner, target, name, m, group, zeros, compute):
    """The report, the rows of w, and the constants; or the error."""
    constants, error = chosen(runner, target, name, m, group, zeros, compute)
    if error:
        return None, 0, None, error
    # More turns than a ring has stages: shorter loops have no ring.
    k = max(8, int(constants["STAGES"]) + 4) * int(constants["BK"])
    settings = {"K": k, "N": N, "G": group, "W": name, "PACK": packed(int(name[1]), compute), "ZEROS": zeros,
                "Z": "f32" if zeros == 2 else "u8", **constants}
    if compute == "i8":
        settings.update(X="i8", A="i32", H="u8" if name == "u8" else "i8", Y="f16", B="f32")
        settings["ZEROS"] = 3 if zeros == 1 else zeros
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    for pointer in ("table", "bias", "residual") + (() if zeros else ("z",)):
        words += ["--in", f"{pointer}=zeros.npy"]
    words += ["--in", "rows_of_x=rows.npy"]
    output, error = runner.call("compile", KERNEL, "--kernel", "quantised_matmul", "--target", target, "--emit",
                                "cost-json", *words, "--arg", f"m={m}", "--arg", "scale=1")
    return (None, 0, None, error) if error else (json.loads(output), k, constants, None)


def stored_bytes(name, k, group, zeros):
    zero_bits = (0, 8, 32)[zeros]
    return k * N * int(name[1]) // 8 + k // group * N * (16 + zero_bits) // 8


def faults(report, stored):
    """What is above the floor."""
    out = []
    of_weights = sum(line.get("global_sectors", 0) for line in report["lines"]
                     if re.search(r"= load %g?[wsz]s?\[", line["text"].strip()) and "%x" not in line["text"])
    if not stored <= 32 * of_weights <= MOST_STORED * stored:
        out.append(f"{32 * of_weights} bytes of weights, scales and zero points are read, and {stored} are stored")
    # How often a block looks at a semaphore depends on when the others come.
    lines = [line for line in report["lines"] if "semaphore" not in line["text"]]
    for what, floor in (("global_sectors", "global_ideal_sectors"), ("shared_wavefronts", "shared_ideal_wavefronts")):
        for line in lines:
            if line.get(what, 0) > line.get(floor, 0):
                out.append(f"line {line['line']}: {line[what]} {what}, {line[floor]} are ideal: {line['text'].strip()}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--show", action="store_true", help="print what each case costs")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kernels").symlink_to(options.root.resolve() / "kernels")
        (folder / "zeros.npy").write_bytes(golden.npy_bytes("|u1", [4, 256], [0] * 1024))
        (folder / "rows.npy").write_bytes(golden.npy_bytes("<f4", [32], [0] * 32))
        runner = example_costs.Runner(options.tarsia, folder, "library_costs")
        for target in TARGETS:
            for case in CASES:
                report, k, constants, error = cost(runner, target, *case)
                what = "{} m={} group={} zeros={} x={}".format(*case) + f" for {target}: {constants}"
                problems = [error] if error else faults(report, stored_bytes(case[0], k, *case[2:4]))
                if options.show and report:
                    total = report["total"]
                    print(f"{what}: {total['global_sectors']} sectors, {total['shared_wavefronts']} wavefronts")
                failed += example_costs.show(what, problems)
        failed += example_costs.show("predicted cycles", runner.history.faults())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
