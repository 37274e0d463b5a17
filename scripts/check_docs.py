#!/usr/bin/env python3
"""Runs the examples of the documentation.

    scripts/check_docs.py TARSIA FILE.md...

TARSIA is the command. The files have these blocks:

- A block fenced as `tsa` must pass `tarsia check` and be in canonical form, so that `tarsia fmt` does
  not change it. A block fenced as `tsa NAME` also becomes the file of that name.
- A block fenced as `tsa-error` must be rejected by `tarsia check`.
- A block fenced as `text NAME` or `json NAME` becomes the file of that name.
- In a block fenced as `console`, lines that begin with `$ ` are commands. They run in a new folder
  with these files and the folder examples/. A command must print (to standard output, then to
  standard error) the lines below it; `...` stands for any lines.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def check_console(tarsia, lines, folder):
    environment = dict(os.environ, PATH=os.path.dirname(os.path.abspath(tarsia)) + ":" + os.environ["PATH"],
                       TARSIA_CUDA_DRIVER="no-such-driver.so")  # no GPU, on any machine
    commands = []
    for line in lines:
        if line.startswith("$ "):
            commands.append((line[2:].strip(), []))
        elif commands:
            commands[-1][1].append(line)
    for command, expected in commands:
        while command.endswith("\\") and expected:
            command = command[:-1] + " " + expected.pop(0).strip()
        result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        got = result.stdout + result.stderr
        if not matches(expected, got):
            return f"`{command}` printed\n{got}"
    return None


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    tarsia, files = sys.argv[1], sys.argv[2:]
    examples = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
    failed = passed = 0
    for path in files:
        folder = tempfile.mkdtemp()
        shutil.copytree(examples, os.path.join(folder, "examples"))
        for kind, line, lines in blocks(path):
            kind, *name = kind.split()
            if name and kind in FILES:
                with open(os.path.join(folder, name[0]), "w", encoding="utf-8") as file:
                    file.writelines(lines)
            if kind in PROGRAMS:
                problem = check_program(tarsia, kind, "".join(lines))
            elif kind == "console":
                problem = check_console(tarsia, lines, folder)
            else:
                continue
            if problem is None:
                passed += 1
            else:
                failed += 1
                print(f"{path}:{line}: {problem}")
        shutil.rmtree(folder)
    print(f"{passed} examples passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
