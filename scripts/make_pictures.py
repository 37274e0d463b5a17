#!/usr/bin/env python3
"""Draws the pictures of the documentation, or reports those that are out of date.

    scripts/make_pictures.py [--write] TARSIA

TARSIA is the command, which runs in the folder above docs/. In the pages docs/*.md, a line `<!-- tarsia layout ... -->` is the command that
draws the picture of the next line, `![text](pictures/NAME.svg)`. The command may also be a script that
prints the picture, `<!-- scripts/NAME.py ... -->`; TARSIA is added to its arguments. With --write the pictures are drawn
again. Without it nothing is changed, and the exit status is 1 if a picture differs from what its
command draws, has no command, or is shown on no page.
"""
import pathlib
import re
import shlex
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
COMMAND = re.compile(r"<!-- ((?:tarsia|scripts/\w+\.py) .*) -->$")
IMAGE = re.compile(r"!\[[^\]]+\]\((pictures/[\w.-]+\.svg)\)$")


def pictures(page):
    """Pairs of an image's path and the command that draws it (None where none is given)."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for before, line in zip([""] + lines, lines):
        image = IMAGE.match(line)
        if image:
            command = COMMAND.match(before)
            yield image.group(1), shlex.split(command.group(1)) if command else None


def draw(tarsia, command):
    program, *arguments = command
    if program == "tarsia":
        call = [tarsia, *arguments, "--svg", "-"]
    else:
        call = [sys.executable, "-B", str(DOCS.parent / program), *arguments, tarsia]
    result = subprocess.run(call, capture_output=True, text=True, cwd=DOCS.parent)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())
    return result.stdout


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    write = len(arguments) < len(sys.argv) - 1
    if len(arguments) != 1:
        sys.exit(__doc__.strip())
    problems, shown = [], set()
    for page in sorted(DOCS.glob("*.md")):
        for path, command in pictures(page):
            shown.add(path)
            if command is None:
                problems.append(f"{page.name}: no command above {path}")
                continue
            try:
                fresh = draw(arguments[0], command)
            except RuntimeError as error:
                problems.append(f"{path}: {error}")
                continue
            file = DOCS / path
            if write:
                file.parent.mkdir(exist_ok=True)
                file.write_text(fresh, encoding="utf-8")
            elif not file.exists() or file.read_text(encoding="utf-8") != fresh:
                problems.append(f"{path} is out of date: scripts/make_pictures.py --write TARSIA")
    for file in sorted((DOCS / "pictures").glob("*.svg")):
        if f"pictures/{file.name}" not in shown:
            problems.append(f"pictures/{file.name} is shown on no page")
    for problem in problems:
        print(problem)
    print(f"{len(shown)} pictures, {len(problems)} problems")
    return 1 if problems or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
