#!/usr/bin/env python3
"""Fails on functions, classes, files and folders that are too large.

- A folder outside of tests/ and bench/ with more than 45 .h, .cc and .def files of its own.
- A class or struct with more than 60 declarations: members, functions, types within it.
- A function of more than 60 lines, its head and its closing brace included. Tables may be longer:
  files *.def do not count, nor does code outside of functions.

It reads the sources as text: it removes comments, strings and preprocessor lines, and counts braces.
"""

import argparse
import pathlib
import re
import sys

MAX_FILES = 45
MAX_DECLARATIONS = 60
MAX_LINES = 60

FOLDERS = ["support", "dtypes", "layout", "isa", "vm", "ptx", "launch", "compiler", "planner",
           "runtime", "tools", "include"]
SKIPPED = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    r"|(?m:^[ \t]*#(?:[^\n\\]|\\\n|\\.)*)", re.DOTALL)
CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?(\w+)"
                   r"[^;{}()=]*$")
FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|&&?|->[^{};]*|\s)*"
                      r"(?::[^{};]*)?$")
# Braces that open a block of statements within a function, or a list of values.
STATEMENT = re.compile(r"\b(?:if|for|while|switch|catch)\s*(?:constexpr\s*)?\(.*\)\s*$|"
                       r"\b(?:else|do|try)\s*$|[=,({]\s*$|\breturn\s*$", re.DOTALL)


def blank(match):
    """The same number of lines, without their contents."""
    return "\n" * match.group(0).count("\n") or " "


class Block:
    """The text between two braces."""

    def __init__(self, kind, name, line):
        self.kind, self.name, self.line, self.declarations = kind, name, line, 0


def kind_of(head, parent):
    """The kind of block that a brace opens after the statement `head`, within a block of a kind."""
    if parent in ("function", "values"):
        return "values"
    if re.search(r"\bnamespace\b[^;(]*$", head) or head.strip() == 'extern':
        return "namespace"
    if re.search(r"\benum\b[^;()]*$", head):
        return "enum"
    if CLASS.search(head):
        return "class"
    if FUNCTION.search(head) and not STATEMENT.search(head):
        return "function"
    return "values"


def scan(text):
    """Yields (kind, name, line, size) of every class and every function of a text."""
    text = SKIPPED.sub(blank, text)
    stack, head, line, head_line = [], "", 1, 1
    for char in text:
        if char == "{":
            parent = stack[-1].kind if stack else "namespace"
            kind = kind_of(head, parent)
            found = CLASS.search(head)
            name = found.group(1) if kind == "class" else " ".join(head.split())[-60:]
            stack.append(Block(kind, name, head_line))
            if kind in ("namespace", "class"):
                head = ""
        elif char == "}":
            if not stack:
                continue  # preprocessor branches may hold one brace twice
            block = stack.pop()
            if block.kind == "class":
                yield "class", block.name, block.line, block.declarations
                head = "}"
            elif block.kind == "function":
                yield "function", block.name, block.line, line - block.line + 1
                if stack and stack[-1].kind == "class":
                    stack[-1].declarations += 1
                head = ""
            elif block.kind != "values":
                head = ""
        elif char == ";":
            if stack and stack[-1].kind == "class":
                stack[-1].declarations += 1
            if not stack or stack[-1].kind in ("namespace", "class"):
                head = ""
        elif not stack or stack[-1].kind in ("namespace", "class"):
            if not head.strip():
                head_line = line
            head += char
            if re.search(r"\b(?:public|private|protected)\s*:$", head):
                head = ""
        if char == "\n":
            line += 1


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".def") and path.is_file():
                yield path


def measure(root):
    """(size, limit, text) for everything that has a limit."""
    files = {}
    for path in sources(root):
        folder = path.parent.relative_to(root).as_posix()
        files[folder] = files.get(folder, 0) + 1
        if path.suffix == ".def":
            continue
        name = path.relative_to(root).as_posix()
        for kind, what, line, size in scan(path.read_text(encoding="utf-8")):
            if kind == "class":
                yield size, MAX_DECLARATIONS, f"{name}:{line}: {what} has {size} declarations"
            else:
                yield size, MAX_LINES, f"{name}:{line}: {what} has {size} lines"
    for folder, count in files.items():
        yield count, MAX_FILES, f"{folder}/ has {count} files"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, metavar="DIR",
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the folder of the sources (default: this repository)")
    parser.add_argument("--list", action="store_true",
                        help="print the largest of each kind, whether too large or not")
    arguments = parser.parse_args()
    measured = list(measure(arguments.root))
    if arguments.list:
        for size, _, text in sorted(measured, key=lambda item: -item[0] / item[1])[:40]:
            print(text)
    too_large = [(limit, text) for size, limit, text in measured if size > limit]
    for limit, text in too_large:
        print(f"{text}, and may have {limit}", file=sys.stderr)
    print(f"sizes: {len(measured)} folders, classes and functions, {len(too_large)} too large")
    return 1 if too_large or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
