#!/usr/bin/env python3
"""Prints docs/ptx.md, the list of the PTX that the emulator runs, from the tables in this folder.

usage: python3 ptx/document.py [--check FILE]

With --check it compares FILE with what it would print.
"""

import math
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent / "table"
WIDTH = 96

HEAD = """<!-- Made by `python3 ptx/document.py > docs/ptx.md` from ptx/*/*.def. Do not edit. -->
# The PTX that the emulator runs

This page lists every form of every instruction that [the emulator](emulator.md) accepts. A modifier, a
type or an operand that is not listed is an error. The emulator reads PTX of any version up to 9.x.

| notation | meaning |
|---|---|
| `[..]` | an optional part |
| `a\\|b` | one of the alternatives |
| `*` | a number |
| modifiers directly after the mnemonic | they have this order |
| modifiers after a blank | they may have any order, as in ptxas; but types, state spaces, layouts (`.row`, `.col`) and operations (`.and`, `.popc`) keep their order among themselves |
| `d`; `a`, `b`, `c`, ..; `p`; `{a..}` | a destination; sources; a predicate; a list of registers |
| `:type` | the type of an operand, if it is not that of the instruction |
| `.parts` | halves (`.h10`) or bytes (`.b3210`), by number |
| `since` | the first target and version of PTX that have the form, and then the modifiers of the form that were added later. In a module of an older target or version they are errors |
| `sm_90a`, `sm_90a+` | only this target; this target and all later ones with a suffix |

Not covered: textures and surfaces, `multimem`, `tcgen05`, sparse matrices (`mma.sp`,
`wgmma.mma_async.sp`), `mma.m8n8k4` of f16, im2col, video instructions on one value.
"""


def definitions(text):
    """The macros of instructions.def, each a string."""
    known = {}
    for name, value in re.findall(r"#define (PTX_\w+) (.*)", text):
        known[name] = joined(value, known)
    return known


def joined(expression, known):
    """The text of string literals and macros beside each other."""
    parts = re.findall(r'"([^"]*)"|(PTX_\w+)', expression)
    return "".join(known[macro] if macro else literal for literal, macro in parts)


def arguments(text):
    """The arguments of a row, apart by the commas outside of quotes."""
    return [part.strip() for part in re.findall(r'(?:"[^"]*"|[^",])+', text)]


def read_rows():
    """(section, mnemonic, modifiers, operands, since, name) for each row, in its order."""
    text = (FOLDER / "instructions.def").read_text().replace("\\\n", "")
    known = definitions(text)
    section, rows = "", []
    for line in text.splitlines():
        if heading := re.match(r"// ---- (.*?) -*$", line):
            section = heading[1]
        if row := re.match(r"PTX\((.*)\)$", line):
            name, mnemonic, modifiers, operands, _, *since = arguments(row[1])
            texts = [joined(part, known) for part in (mnemonic, modifiers, operands)]
            rows.append((section, *texts, since[0].strip('"') if since else "", name))
    return rows


def read_later():
    """The words of each row that came later, with since when."""
    later = {}
    text = (FOLDER / "since.def").read_text()
    for name, word, since in re.findall(r'^PTX_SINCE\((\w+), "(.*?)", "(.*?)"\)', text, re.M):
        later.setdefault(name, []).append((word, since))
    return later


def modifier(slot):
    """`a|b?` as `[.a|.b]`."""
    slot = slot.lstrip(".")
    optional = slot.endswith("?")
    words = "|".join("." + word for word in slot.rstrip("?").split("|"))
    return f"[{words}]" if optional else f"({words})" if "|" in words else words


def operand(shape, letters):
    """What stands for the shape of an operand."""
    if shape in ("call", "brx"):
        return {"call": "[(results),] (function[, (arguments)]|"
                        "address:b64[, (arguments)], prototype|targets)",
                "brx": "a:u32, targets"}[shape]
    shape = shape.rstrip("?")
    if shape == "l":
        return "label"
    if shape == "m":
        return "[address]"
    kind, _, kind_type = shape.lstrip("|").rstrip("!~").partition(":")
    parts = "[.parts]" if kind_type.endswith("@") else ""
    kind_type = kind_type.rstrip("@")
    predicate = kind_type == "p"
    name = ("p" if predicate else "d") if kind[0] == "d" else "p" if predicate else next(letters)
    own = kind_type if re.match(r"[a-z]\d", kind_type) and not kind_type.startswith("w") else ""
    own = f":{own}" if own else ""
    return {"*": f"{{{name}..}}{own}", "m": f"{{{name}..}}|descriptor", "v": f"{name}|{{{name}..}}",
            "g": f"{name}|{{{name}..}}"}.get(kind[1:], name + parts + own)


def operands(text):
    """The operands after the mnemonic."""
    letters = iter("abcdefghijklm")
    parts = ""
    for shape in text.split():
        separator = "|" if shape.startswith("|") else ", " if parts else ""
        optional = shape.endswith("?") or shape.startswith("|")
        part = separator + operand(shape, letters)
        parts += f"[{part}]" if optional else part
    return parts


def wrapped(parts, last):
    """Parts without blanks between them, then `last`, in lines of at most WIDTH columns."""
    lines, line = [], ""
    for part in [*parts, f"  {last}" if last else ""]:
        if len(line) + len(part) > WIDTH and line:
            lines.append(line.rstrip())
            line = "    "
        line += part
    return [*lines, line]


def entry(row, later):
    """The lines of a form."""
    _, mnemonic, modifiers, shapes, since, name = row
    slots = modifiers.split()
    leading = [s for s in slots if s.startswith(".")]
    free = slots[len(leading):]
    parts = [mnemonic + "".join(modifier(s) for s in leading) + (" " if free else "")]
    parts += [modifier(s) for s in free]
    lines = wrapped(parts, operands(shapes))
    words = [f".{word} {when}" for word, when in later.get(name, [])]
    if since or words:
        lines += notes([since or "ever", *words])
    return lines


def notes(words):
    """`since ..`, wrapped at its commas."""
    lines, line = [], "    since "
    for i, word in enumerate(words):
        word += "," if i + 1 < len(words) else ""
        if len(line) + len(word) > WIDTH:
            lines.append(line.rstrip())
            line = "      "
        line += word + " "
    return [*lines, line.rstrip()]


def names(table, macro):
    """The names in a table of the form MACRO(constant, "name", ..)."""
    text = (FOLDER / table).read_text()
    return " ".join(f"`{name}`" for name in re.findall(rf'^{macro}\(\w+, "(.*?)"', text, re.M))


APPROXIMATIONS = """## Approximations

How far the result of an approximate form may lie from the true one, for the forms that the compiler
uses. The sections are those of the PTX ISA, version 9.1. A ulp is counted from the correctly rounded
result, any other error from the true one. [emulator.md](emulator.md) says how to run a kernel at the
ends of these errors.

The column *operands* has the magnitudes of those (for two, of the last) for which this holds.
Of several rows the first counts; beyond all, nothing is promised.

| form | operands | at most | section |
|---|---|---|---|"""


def power(number):
    """0x1p-8 as 2^-8; a number from 0.1 to 1000 as it is."""
    value = float.fromhex(number) if "x" in number else float(number)
    if value == 0 or 0.1 <= value < 1000:
        return f"{value:.6g}"
    return f"2^{round(math.log2(value), 2):g}"


def approximations():
    """The table of errors."""
    text = (FOLDER / "approximations.def").read_text()
    rows = {row[-1]: row for row in read_rows()}
    lines = [APPROXIMATIONS]
    pattern = r'^PTX_APPROXIMATION(?:_IN)?\((\w+), k(\w+), ([\w.+-]+)(.*), "(.*?)"\)'
    for name, unit, bound, limits, section in re.findall(pattern, text, re.M):
        words = {"Ulp": f"{bound} ulp", "Relative": f"{power(bound)}, relative",
                 "Absolute": f"{power(bound)}, absolute"}
        where = "all"
        if limits:
            where = " to ".join(power(limit) for limit in limits.strip(", ").split(", "))
        kind = "f64" if name.endswith("F64") else "f32"
        lines.append(f"| `{rows[name][1]}.approx.{kind}` | {where} | {words[unit]} | {section} |")
    return "\n".join(lines) + "\n\nThe sections of the forms of f64 give no bound; " \
        "compiled programs rely on no more than 2^-8.\n"


def document():
    """The whole page."""
    rows, later = read_rows(), read_later()
    lines = [HEAD]
    section = None
    for row in rows:
        if row[0] != section:
            lines += ["```\n"] if section is not None else []
            section = row[0]
            lines += [f"## {section[0].upper()}{section[1:]}\n", "```"]
        lines += entry(row, later)
    lines += ["```\n", approximations(), "## Types\n", names("types.def", "PTX_TYPE") + "\n",
              "## Special registers\n", names("specials.def", "PTX_SPECIAL(?:_ZERO)?")]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:2] != ["--check"]:
        print(document(), end="")
        return 0
    if pathlib.Path(sys.argv[2]).read_text() == document():
        return 0
    print(f"{sys.argv[2]} is not what is made: scripts/check_generated.sh --write", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
