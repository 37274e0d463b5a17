#!/usr/bin/env python3
"""Prints docs/accuracy.md from the results of `tests/engine/engine_test.py --table FILE.json`.

    bench/accuracy.py FILE.json
"""

import json
import pathlib
import sys

WEIGHTS = 10_616_832  # of the linear layers

INTRO = """# Accuracy with a real model

[examples/engine](../examples/engine) embeds a sentence with the transformer {model}, whose {layers} linear layers
are [quantised products](capi.md#the-quantised-matmul) through the C API ([how to run it](weights.md#a-real-model)).
For every type of weights this page has the bytes of all packed weights, with their scales and zero points, and the
cosine between the embedding and that of full precision.

The sentence is "{sentence}" In f16 the {weights:,} weights
take {dense:.2f} MB. Where nothing else is said, 128 weights share a scale of f16 that follows from the largest of
them, activations are f16, and unsigned integers have integer zero points. The device is `{device}`; results do not depend on the processor. `scripts/nightly.sh engine`
computes all of it again and compares each embedding with a formula in double precision that has the same weights.
The figures are in [`{file}`](../{file}).
"""


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cells(row):
    return [f"{row['bytes'] / 1e6:.2f}", f"{row['bytes'] / WEIGHTS * 8:.2f}", f"{50 * row['bytes'] / WEIGHTS:.1f}%",
            f"{row['cosine']:.4f}"]


HEAD = ["MB", "bits a weight", "of f16", "cosine"]


def bits_of(name):
    return int(name[1])


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    rows = result["rows"]
    plain = [row for row in rows if not row["options"]]
    print(INTRO.format(layers=36, weights=WEIGHTS, dense=2 * WEIGHTS / 1e6, file=sys.argv[1], **result))
    for title, sign in (("Unsigned integers, with zero points", "u"), ("Signed integers", "i")):
        some = [row for row in plain if row["type"][0] == sign and row["type"][1:].isdigit()]
        print(f"## {title}\n\n" + table(["type", *HEAD], [[f"`{row['type']}`", *cells(row)] for row in some]))
    print("## Codebooks\n")
    some = [row for row in plain if row["type"] in ("nf4", "fp4", "iq4_nl")]
    print(table(["codebook", *HEAD], [[f"`{row['type']}`", *cells(row)] for row in some]))
    print("## Floats\n\nOf each width the best first. Those beyond the range of f16 have bf16 activations and scales.\n")
    some = [row for row in rows if row["type"][0] == "f" and row["type"] != "fp4" and
            row["options"] in ([], ["--compute", "bf16"])]
    some.sort(key=lambda row: (bits_of(row["type"]), -row["cosine"]))
    print(table(["type", *HEAD], [
        [f"`{row['type']}`" + (", bf16" if row["options"] else ""), *cells(row)] for row in some]))
    print("## Smaller groups, and scales by least squares\n\nAs options of examples/engine.\n")
    some = [row for row in rows if row["options"] and "--compute" not in row["options"]]
    print(table(["type, options", *HEAD], [
        [f"`{row['type']}`, `{' '.join(row['options'])}`", *cells(row)] for row in some]), end="")


if __name__ == "__main__":
    main()
