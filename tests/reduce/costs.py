#!/usr/bin/env python3
"""Compares what the kernels of plans for GPUs cost with their floor, on each target: the sectors of global
memory that the bytes of each access need, shared wavefronts at most 5% above those without conflicts, no
spills. Where a kernel does not reach that yet, its case says what it has
instead; when it reaches the floor, that must go. The loop of a kernel product also is held to the count of its
formula: exponentials, and multiplications and additions with those of `exp`, plus 25%.

usage: costs.py --tarsia PATH --root REPOSITORY [--show]
  --show  prints what each kernel costs
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import example_costs

SIZES = {"n": 1024, "m": 256, "d": 32, "k": 8, "heads": 16}
SIZE = 16  # of other constants
POINTS = {"n": 4096, "m": 256, "d": 3}
GRAPHS = ["attention", "density", "gelu", "histogram", "kmeans", "knn", "layer_norm", "matern", "softmax", "tsne"]
# Kernels with a limit on scratch that keeps no matrix of pairs in memory.
LIMIT = ["--limit-kind", "scratch", "--limit", "1000000"]

# What is above the floor: by graph and kernel, the most of each figure, on any target.
MISSING = {
    # Half a sector of the k = 8 indices, and of the two coordinates, of each row.
    ("knn", "nearest_at"): {"sectors above ideal": 1024},
    ("tsne", "force"): {"sectors above ideal": 8192},
}


def constants_of(text, graph):
    found = re.search(rf"graph {graph}\(.*?\n\s*const ([^\n]*)", text, re.S)
    return [part.split(":")[0].strip() for part in found.group(1).split(",")] if found else []


def arguments(parameters):
    """Values of the scalars of a kernel: one range from 0, the first."""
    out = []
    for parameter in parameters.split(", "):
        name, kind = parameter[1:].split(": ")
        if not kind.startswith("ptr"):
            value = {"bool": "1"}.get(kind, "0" if name.endswith("_low") else "64")
            out += ["--arg", f"{name}={value}"]
    return out


def kernels(text):
    return re.findall(r"^kernel (\w+)\((.*?)\)$", text, re.M)


def faults(found, missing):
    floor = {"sectors above ideal": 0, "wavefronts": example_costs.WAVEFRONTS, "spills": 0}
    out = []
    for what, least in floor.items():
        most = missing.get(what, least)
        if found[what] > most:
            out.append(f"{found[what]:g} {what}, {most:g} are enough")
    return out


class Checker:
    def __init__(self, runner, root, show):
        self.runner, self.root, self.show = runner, root, show
        self.failed = 0
        self.reached = {key: True for key in MISSING}  # their floor, on all targets

    def report(self, what, problems):
        self.failed += len(problems)
        for problem in problems:
            print(f"{what}: {problem}")

    def cost(self, name, parameters, target):
        """The cost report of a kernel of plan.tsa, and its figures; or None, None and the error."""
        call = ["compile", "plan.tsa", "--kernel", name, "--target", target, "--emit"]
        output, error = self.runner.call(*call, "cost-json", *arguments(parameters))
        if error:
            return None, None, error
        report = json.loads(output)
        total = report["total"]
        ideal = total["shared_ideal_wavefronts"]
        return report, {"sectors above ideal": total["global_sectors"] - total["global_ideal_sectors"],
                        "wavefronts": total["shared_wavefronts"] / ideal if ideal else 0,
                        "spills": report["resources"]["spill_bytes"]}, None

    def plan(self, path, graph, sizes, target):
        """Writes plan.tsa; returns its text."""
        sets = [word for name in constants_of((self.root / path).read_text(), graph)
                for word in ("--set", f"{name}={sizes.get(name, SIZE)}")]
        text, error = self.runner.call("reduce", path, "--graph", graph, *sets, *LIMIT, "--device",
                                       f"ptx:{target}", "--emit", "tsa")
        self.report(f"{graph} for {target}", [error] if error else [])
        (self.runner.folder / "plan.tsa").write_text(text or "")
        return text or ""

    def check_graph(self, path, graph, target):
        for name, parameters in kernels(self.plan(path, graph, SIZES, target)):
            what = f"{graph}, kernel {name}, for {target}"
            _, found, error = self.cost(name, parameters, target)
            if self.show:
                print(f"{what}: {found}")
            missing = MISSING.get((graph, name), {})
            self.report(what, [error] if error else faults(found, missing))
            if missing and found and faults(found, {}):
                self.reached[graph, name] = False

    def check_kernel_product(self, path, graph, pair, target):
        """`pair`: multiplications and additions of the formula for one pair of points, without `exp`."""
        (self.runner.folder / "exp.tsa").write_text(
            "kernel one(%x: ptr<f32>, %y: ptr<f32>)\n  warps 1\n{\n  %gx = view %x : global<f32>[1024]\n"
            "  %gy = view %y : global<f32>[1024]\n  %t = load %gx[0] : [1024]\n  %t = exp %t\n"
            "  store %gy[0], %t\n}\n")
        mix, error = self.runner.call("compile", "exp.tsa", "--target", target, "--emit", "cost-json")
        self.report(f"exp for {target}", [error] if error else [])
        exponential = json.loads(mix)["total"]["classes"]["f32"] / 32  # a warp has 32 elements a thread
        for name, parameters in kernels(self.plan(path, graph, POINTS, target)):
            report, _, error = self.cost(name, parameters, target)
            self.report(f"{graph}, kernel {name}", [error] if error else [])
            total = report["total"]
            pairs = POINTS["n"] * POINTS["m"] / 32  # of warps
            if total["classes"].get("f32", 0) < pairs:
                continue  # not the loop over pairs
            found = total["classes"]["f32"] / pairs
            floor = pair + exponential
            what = f"{graph}, kernel {name}, for {target}"
            if self.show:
                print(f"{what}: {found:.2f} instructions of f32 a pair, floor {floor}")
            if found > 1.25 * floor:
                self.report(what, [f"{found:.2f} instructions of f32 a pair, {floor} and 25% are enough"])
            return
        self.report(f"{graph} for {target}", ["no kernel goes over the pairs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tarsia", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        root = options.root.resolve()
        (folder / "examples").symlink_to(root / "examples")
        checker = Checker(example_costs.Runner(options.tarsia, folder), root, options.show)
        for target in example_costs.TARGETS:
            for path in sorted((root / "examples" / "reduce").glob("*.tsa")):
                relative = f"examples/reduce/{path.name}"
                for graph in re.findall(r"^graph (\w+)", path.read_text(), re.M):
                    if graph in GRAPHS:
                        checker.check_graph(relative, graph, target)
            # Three differences, squares and their sum; the factor; the product with v; Kahan's four.
            checker.check_kernel_product("examples/reduce/rbf.tsa", "rbf", 6 + 1 + 1 + 4, target)
        for (graph, kernel), reached in checker.reached.items():
            if reached:
                checker.report(f"{graph}, kernel {kernel}", ["its floor is reached: what is missing is obsolete"])
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
