#!/usr/bin/env python3
"""Adds an example to each instruction of the reference.

    tarsia isa --markdown | scripts/isa_examples.py > docs/isa.md

The example of an instruction is a kernel of its spec file, tests/spec/MNEMONIC.tsa, with one of its cases:
the first kernel that uses the instruction and is short, and the first short case of that kernel.
"""
import pathlib
import re
import sys

SPEC = pathlib.Path(__file__).resolve().parent.parent / "tests" / "spec"
MADE_BY = "<!-- Made by `tarsia isa --markdown | scripts/isa_examples.py` from isa/isa.def and tests/spec. Do not edit. -->"
NOTE = """- Below an example are the values of one run: constants (`set`), scalars (`arg`), memory before
  (`in`, `inout`) and after it (`out`), and printed lines. [tests/spec](../tests/spec/README.md) describes them.
"""
HEADING = re.compile(r"### `([\w.]+)`$")
SHORT_KERNEL = 20  # lines
SHORT_CASE = 300  # characters


def kernels(text):
    """The text of each kernel, by name."""
    found = re.findall(r"^kernel (\w+)\(.*?^\}$", text, re.M | re.S)
    bodies = [match.group(0) for match in re.finditer(r"^kernel \w+\(.*?^\}$", text, re.M | re.S)]
    return dict(zip(found, bodies))


def cases(text):
    """The directives of each case, with those in front of the first case, which apply to all."""
    common, out = [], []
    for line in re.findall(r"^//: (.*)$", text, re.M):
        if line.startswith("case"):
            out.append(list(common))
        else:
            (out[-1] if out else common).append(line)
    return out or [common]


def runs(case, name, only):
    """Whether the case runs this kernel, and shows results."""
    named = [line.split()[1] for line in case if line.startswith("kernel ")]
    shows = any(line.startswith(("out ", "print ")) for line in case)
    fails = any(line.startswith(("error ", "finding ")) for line in case)
    return (named[-1:] == [name] or (not named and only)) and shows and not fails


def first_short(items, length, limit):
    """The first item within the limit, else the shortest."""
    short = [item for item in items if length(item) <= limit]
    return short[0] if short else min(items, key=length)


def example(mnemonic):
    """Lines of Markdown."""
    text = (SPEC / f"{mnemonic}.tsa").read_text(encoding="utf-8")
    use = re.compile(rf"(^|= ){re.escape(mnemonic)}( |$)")
    all_kernels, all_cases = kernels(text), cases(text)
    usable = []
    for name, body in all_kernels.items():
        fitting = [case for case in all_cases if runs(case, name, len(all_kernels) == 1)]
        if fitting and any(use.search(line.strip()) for line in body.splitlines()):
            usable.append((body, fitting))
    if not usable:
        sys.exit(f"isa_examples: error: tests/spec/{mnemonic}.tsa has no kernel to show")
    body, fitting = first_short(usable, lambda item: item[0].count("\n"), SHORT_KERNEL)
    case = first_short(fitting, lambda lines: len("".join(lines)), SHORT_CASE)
    shown = [line for line in case if not line.startswith("kernel ")]
    return [f"An example, of [{mnemonic}.tsa](../tests/spec/{mnemonic}.tsa):", "", "```tsa", body, "```", "",
            "```text", *shown, "```", ""]


def main():
    if sys.argv[1:]:
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    lines, mnemonic = [MADE_BY], None
    for line in sys.stdin.read().splitlines()[1:]:
        heading = HEADING.match(line)
        if line.startswith("#") and mnemonic:
            lines += example(mnemonic)
            mnemonic = None
        if line == "## Arithmetic":
            lines[-1:] = NOTE.split("\n")
        if heading:
            mnemonic = heading.group(1)
        lines.append(line)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
