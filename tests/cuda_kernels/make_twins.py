#!/usr/bin/env python3
"""Makes the PTX of the twins with a fault: each ptx/KERNEL.FAULT.patch applied to ptx/KERNEL.ptx.

The build runs it. A patch is a unified diff without context, as `diff -U0` writes it. Its first two
lines name the kernel's PTX and the twin's, each with its SHA-256, and both are checked.

usage: make_twins.py OUT   (writes OUT/KERNEL.FAULT.ptx)
"""

import hashlib
import pathlib
import re
import subprocess
import sys

PTX = pathlib.Path(__file__).resolve().parent / "ptx"
HEADER = re.compile(r"(?:---|\+\+\+) (\S+)\tsha256:([0-9a-f]{64})")
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class PatchError(Exception):
    pass


def label(file):
    return f"{file.name}\tsha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def make_patch(base, twin):
    """The patch that makes the file `twin` of the file `base`."""
    labels = ["--label", label(base), "--label", label(twin)]
    done = subprocess.run(["diff", "--minimal", "-U0", *labels, base, twin],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 1:
        raise PatchError(f"{twin.name} does not differ from {base.name}, or diff failed")
    return done.stdout


def check(name, text, header):
    """Raises an error unless the first two lines of a patch name this file with this text."""
    match = HEADER.fullmatch(header)
    if match is None or match.group(1) != name:
        raise PatchError(f"its head has to name {name} with a SHA-256, and is '{header}'")
    if match.group(2) != hashlib.sha256(text.encode()).hexdigest():
        raise PatchError(f"{name} has another SHA-256 than the patch says")


def apply_hunks(base, patch):
    """The lines that the hunks `patch` make of the lines `base`."""
    twin, taken, at = [], 0, 0
    while at < len(patch):
        match = HUNK.fullmatch(patch[at])
        if match is None:
            raise PatchError(f"not the head of a hunk: '{patch[at]}'")
        removed = int(match.group(2) or 1)
        start = int(match.group(1)) - (removed > 0)  # a hunk that only adds names the line before
        twin += base[taken:start]
        for line in base[start:start + removed]:
            at += 1
            if at == len(patch) or patch[at] != "-" + line:
                raise PatchError(f"does not remove '{line}', as '{match.group(0)}' says")
        taken, at = start + removed, at + 1
        while at < len(patch) and patch[at].startswith("+"):
            twin.append(patch[at][1:])
            at += 1
    return twin + base[taken:]


def apply_patch(base_name, base, twin_name, patch):
    """The text of the twin."""
    lines = patch.splitlines()
    if len(lines) < 2:
        raise PatchError("has no head")
    check(base_name, base, lines[0])
    twin = "".join(line + "\n" for line in apply_hunks(base.splitlines(), lines[2:]))
    check(twin_name, twin, lines[1])
    return twin


def twin_of(patch):
    """The name and the text of the twin that a patch file makes."""
    base = PTX / (patch.name.split(".")[0] + ".ptx")
    name = patch.stem + ".ptx"
    try:
        return name, apply_patch(base.name, base.read_text(), name, patch.read_text())
    except (PatchError, OSError) as error:
        raise PatchError(f"{patch}: {error}; make_ptx.py makes PTX and patches anew") from error


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().split("\n")[-1])
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    try:
        twins = dict(twin_of(patch) for patch in sorted(PTX.glob("*.patch")))
    except PatchError as error:
        sys.exit(f"make_twins: error: {error}")
    for file in out.glob("*.ptx"):
        if file.name not in twins:
            file.unlink()
    for name, text in twins.items():
        (out / name).write_text(text)


if __name__ == "__main__":
    main()
