#!/usr/bin/env python3
"""Runs the examples of the documentation.

    scripts/check_docs.py [--write] TARSIA FILE.md...

TARSIA is the command. The files have these blocks:

- A block fenced as `tsa` must pass `tarsia check` and be in canonical form, so that `tarsia fmt` does
  not change it. A block fenced as `tsa NAME` also becomes the file of that name.
- A block fenced as `tsa-error` must be rejected by `tarsia check`.
- A block fenced as `text NAME` or `json NAME` becomes the file of that name.
- In a block fenced as `console`, lines that begin with `$ ` are commands. They run in a new folder
  with these files and the folder examples/. A command must print (to standard output, then to
  standard error) the lines below it; `...` stands for any lines.

--write puts what the commands print in place of the lines below them, except where they have `...`.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
PROGRAMS = ("tsa", "tsa-error")
FILES = PROGRAMS + ("text", "json")


def blocks(path):
    kind, start, lines = None, 0, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if kind is None and line.startswith("```") and line.strip() != "```":
                kind, start, lines = line.strip()[3:], number, []
            elif kind is not None and line.startswith("```"):
                yield kind, start, lines
                kind = None
            elif kind is not None:
                lines.append(line)


def matches(expected, got):
    pattern = "".join("(?s:.*?)" if line.strip() == "..." else re.escape(line) for line in expected)
    return re.fullmatch(pattern, got) is not None


def check_program(tarsia, kind, text):
    result = subprocess.run([tarsia, "check", "-"], input=text, capture_output=True, text=True)
    if kind == "tsa-error":
        return None if result.returncode == 1 else f"exit {result.returncode}, expected 1"
    if result.returncode != 0:
        return result.stderr
    result = subprocess.run([tarsia, "fmt", "-"], input=text, capture_output=True, text=True)
    return None if result.stdout == text else "not in canonical form; `tarsia fmt` prints\n" + result.stdout


def commands_of(lines):
    """[command, the lines that it is written in, those that it must print], for each command."""
    commands = []
    for line in lines:
        if line.startswith("$ "):
            commands.append([line[2:].strip(), [line], []])
        elif commands and commands[-1][0].endswith("\\") and not commands[-1][2]:
            commands[-1][0] = commands[-1][0][:-1] + " " + line.strip()
            commands[-1][1].append(line)
        elif commands:
            commands[-1][2].append(line)
    return commands


def run_console(tarsia, lines, folder):
    """The lines of a block as they should be, and the first problem, or None."""
    environment = dict(os.environ, PATH=os.path.dirname(os.path.abspath(tarsia)) + ":" + os.environ["PATH"],
                       TARSIA_CUDA_DRIVER="no-such-driver.so")  # no GPU, on any machine
    problem, right = None, []
    for command, written, expected in commands_of(lines):
        result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        got = result.stdout + result.stderr
        if matches(expected, got):
            right += written + expected
            continue
        problem = problem or f"`{command}` printed\n{got}"
        right += written + (expected if "...\n" in expected else got.splitlines(keepends=True))
    return right, problem


def check_page(tarsia, path, write):
    """The numbers of examples that passed and failed."""
    with open(path, encoding="utf-8") as file:
        page = file.readlines()
    folder = tempfile.mkdtemp()
    shutil.copytree(EXAMPLES, os.path.join(folder, "examples"))
    passed = failed = moved = 0
    for kind, line, lines in list(blocks(path)):
        kind, *name = kind.split()
        problem = None
        if name and kind in FILES:
            with open(os.path.join(folder, name[0]), "w", encoding="utf-8") as file:
                file.writelines(lines)
        if kind in PROGRAMS:
            problem = check_program(tarsia, kind, "".join(lines))
        elif kind == "console":
            right, problem = run_console(tarsia, lines, folder)
            if write and right != lines:
                page[line + moved:line + moved + len(lines)] = right
                moved += len(right) - len(lines)
                problem = None
        else:
            continue
        passed += problem is None
        failed += problem is not None
        if problem is not None:
            print(f"{path}:{line}: {problem}")
    shutil.rmtree(folder)
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(page)
    return passed, failed


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    if write:
        arguments.remove("--write")
    if len(arguments) < 2 or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(arguments) == 1 else 2
    results = [check_page(arguments[0], path, write) for path in arguments[1:]]
    passed, failed = sum(p for p, _ in results), sum(f for _, f in results)
    print(f"{passed} examples passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
