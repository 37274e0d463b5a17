#!/usr/bin/env python3
"""Times `tarsia reduce` on the device `cpu` beside KeOps, numpy, faiss and PyTorch, on two threads.

    python3 -m venv build/peers
    build/peers/bin/pip install numpy pykeops faiss-cpu torch
    build/peers/bin/python bench/peers/reduce_cpu.py build/release/tools/tarsia

All of a case run in turn, RUNS times, on the same data; the figures are the least and the median. Each
result is compared with that of the peer. `tarsia` states the time of execution without reading and
writing files; peers are timed without their first run, which may compile. A peer that is not installed
is left out. Prints a table in Markdown.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

THREADS = 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)  # read when the peers are imported

import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "reduce"
RNG = np.random.default_rng(1)


def normal(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


class Tarsia:
    """One command line, whose inputs lie in a folder."""

    def __init__(self, command, graph, sets, inputs, outputs, options=()):
        self.folder = tempfile.TemporaryDirectory()
        self.outputs = outputs
        folder = pathlib.Path(self.folder.name)
        self.line = [command, "reduce", str(graph), "--device", "cpu", "--threads", str(THREADS),
                     "--json", *options]
        for name, value in sets.items():
            self.line += ["--set", f"{name}={value}"]
        for name, value in inputs.items():
            np.save(folder / f"{name}.npy", value)
            self.line += ["--in", f"{name}={folder / name}.npy"]
        for name in outputs:
            self.line += ["--out", f"{name}={folder / name}.out.npy"]

    def __call__(self, *options):
        done = subprocess.run([*self.line, *options], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["nanoseconds"] / 1e9

    def result(self, name):
        return np.load(pathlib.Path(self.folder.name) / f"{name}.out.npy")


BELOW = "tarsia, scratch at most 1/100 of the matrix"


def below(matrix_bytes):
    return "--limit-kind", "scratch", "--limit", str(matrix_bytes // 100)


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def rbf(tarsia):
    """sum over j of exp(-|x_i - z_j|^2 / 2) v_j"""
    n, d = 50_000, 3
    x, z, v = RNG.random((n, d), dtype=np.float32), RNG.random((n, d), dtype=np.float32), normal(n)
    ours = Tarsia(tarsia, EXAMPLES / "rbf.tsa", {"n": n, "m": n, "d": d}, {"x": x, "z": z, "v": v},
                  ["y"])
    results = {}
    runs = {"tarsia": ours, BELOW: lambda: ours(*below(n * n * 4))}
    try:
        from pykeops.numpy import Genred
        product = Genred("Exp(-SqDist(X,Z)*IntInv(2))*V", [f"X=Vi({d})", f"Z=Vj({d})", "V=Vj(1)"],
                         reduction_op="Sum", axis=1)

        def keops():
            results["KeOps"] = product(x, z, v[:, None], backend="CPU")[:, 0]
        runs["KeOps"] = lambda: timed(keops)
    except ImportError:
        pass

    def chunks():
        out = np.empty(n, np.float32)
        squares = (z * z).sum(1)
        for at in range(0, n, 500):
            part = x[at:at + 500]
            s = (part * part).sum(1)[:, None] + squares - 2 * part @ z.T
            out[at:at + 500] = np.exp(-s / 2) @ v
        results["numpy, in chunks"] = out
    runs["numpy, in chunks"] = lambda: timed(chunks)
    return f"RBF matvec, {n:,} x {n:,}, d = {d}, f32", runs, results, lambda: ours.result("y"), 2e-3


def knn(tarsia):
    """the 10 nearest of 100,000 points to 1,000 points in 100 dimensions"""
    n, m, d, k = 1000, 100_000, 100, 10
    x, z = normal(n, d), normal(m, d)
    ours = Tarsia(tarsia, EXAMPLES / "knn.tsa", {"n": n, "m": m, "d": d, "k": k}, {"x": x, "z": z},
                  ["distance", "at"], ["--graph", "knn"])
    results = {}
    runs = {"tarsia": ours, "tarsia --fast": lambda: ours("--fast"),
            BELOW + ", --fast": lambda: ours("--fast", *below(n * m * 4))}
    try:
        import faiss
        faiss.omp_set_num_threads(THREADS)
        index = faiss.IndexFlatL2(d)
        index.add(z)

        def search():
            results["faiss IndexFlatL2"] = index.search(x, k)[0]
        runs["faiss IndexFlatL2"] = lambda: timed(search)
    except ImportError:
        pass
    return (f"k-NN L2, {n:,} x {m:,} x {d}, k = {k}, f32", runs, results,
            lambda: ours.result("distance"), 1e-3)


def attention(tarsia):
    """softmax(q kT / sqrt(d)) v"""
    heads, n, d = 4, 8192, 64
    q, k, v = (normal(heads, n, d) for _ in range(3))
    causal = (EXAMPLES / "attention.tsa").read_text()
    full = causal.replace("select(iota<j> <= iota<i>, %s, -inf)", "%s")
    assert full != causal
    folder = tempfile.TemporaryDirectory()
    graph = pathlib.Path(folder.name) / "attention.tsa"
    graph.write_text(full)
    ours = Tarsia(tarsia, graph, {"heads": heads, "n": n, "d": d}, {"q": q, "k": k, "v": v}, ["y"])
    ours.graph_folder = folder
    results = {}
    runs = {"tarsia": ours, BELOW: lambda: ours(*below(heads * n * n * 4))}
    try:
        import torch
        torch.set_num_threads(THREADS)
        tensors = [torch.from_numpy(t)[None] for t in (q, k, v)]

        def sdpa():
            y = torch.nn.functional.scaled_dot_product_attention(*tensors)
            results["PyTorch"] = y[0].numpy()
        runs["PyTorch"] = lambda: timed(sdpa)
    except ImportError:
        pass
    return (f"attention, {heads} heads x {n} x {d}, f32", runs, results, lambda: ours.result("y"),
            1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarsia", help="the command, built with the preset `release`")
    parser.add_argument("--runs", type=int, default=5, help="of each (default: %(default)s)")
    arguments = parser.parse_args()
    print("| case | who | least, s | median, s | times the peer's least | difference |")
    print("|---|---|---:|---:|---:|---:|", flush=True)
    for make in (rbf, knn, attention):
        name, runs, results, result, bound = make(arguments.tarsia)
        times = {who: [] for who in runs}
        for run in range(arguments.runs + 1):
            for who, function in runs.items():
                seconds = function()
                if run > 0:  # the first one may compile
                    times[who].append(seconds)
        peers = [who for who in runs if not who.startswith("tarsia")]
        for who, list_of in times.items():
            row = f"| {name} | {who} | {min(list_of):.3f} | {statistics.median(list_of):.3f} |"
            if who in results:
                apart = np.abs(results[who] - result()).max() / np.abs(results[who]).max()
                if apart > bound:
                    raise SystemExit(f"{name}: {who} differs by {apart:.2e} of the largest element")
                row += f" 1 | {apart:.1e} |"
            else:
                least = {peer: min(list_of) / min(times[peer]) for peer in peers}
                row += " " + ", ".join(f"{x:.2f} ({peer})" for peer, x in least.items()) + " | |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
