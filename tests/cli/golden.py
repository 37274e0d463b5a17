#!/usr/bin/env python3
"""Runs golden tests of the command line: files that hold inputs, commands and expected output.

    # The subject of the test.
    --- file p.tsa                      a text file
    --- npy x.npy <f2 [2, 3]            a .npy file of numbers, or of `= a Python expression`
    --- safetensors m.safetensors       lines `name F32 [2, 3] = expression`
    --- hex h.bin                       bytes
    --- $ tarsia check p.tsa            a command, run by sh in a folder with the files
    --- stdout                          what it must print; omitted if that is nothing
    --- stderr
    --- exit 1                          omitted for 0

Besides `tarsia`, commands may call `npy FILE...`, which prints type, shape and elements of .npy
files, and `emulated COMMAND...`, which runs a command with the emulated driver as GPU, or
with the one of $DRIVERS that DRIVER names. Times and other values that depend on the machine are
replaced by words before comparison. A line that begins with `---` in an input or output is written with a backslash before it.

usage: golden.py --tarsia PATH --driver PATH [--update] FILE...
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FORMATS = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
           "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "?",
           "c8": "f"}  # its parts, one after the other
SAFETENSORS = {"F16": "e", "F32": "f", "F64": "d", "I8": "b", "I16": "h", "I32": "i", "I64": "q",
               "U8": "B", "BOOL": "?", "BF16": "H", "F8_E4M3": "B", "F8_E5M2": "B"}
MACHINE = [
    (re.compile(r"/[^ :]*/libtarsia_emulated_cuda\w*\.so"), "DRIVER"),
    (re.compile(r"\b\d+(\.\d+)? (us|ms|s)\b"), "TIME"),
    (re.compile(r"\b\d+ threads?, (AVX-512|AVX2|SSE4|SSE2|NEON|none)"), "THREADS"),
    (re.compile(r'"((?:median_)?nanoseconds)": \d+'), r'"\1": TIME'),
    (re.compile(r'"milliseconds": \d+\.\d+'), '"milliseconds": TIME'),
    (re.compile(r'"threads": \d+, "vector_unit": "[^"]*"'), "THREADS"),
    (re.compile(r" of \d+ runs"), " of RUNS"),
    (re.compile(r'"runs": \d+'), '"runs": RUNS'),
]


def numbers_of(text):
    text = text.strip()
    if text.startswith("="):
        return list(eval(text[1:], {"__builtins__": {"range": range, "list": list, "min": min}}))
    return [float(w) if re.search(r"[.einf]", w) else int(w) for w in text.split()]


def npy_bytes(descr, shape, values):
    """A .npy file; descr may be raw (|V1), whose values are its bytes."""
    shape_text = "(" + "".join(f"{n}, " for n in shape).rstrip(" ") + ")"
    if len(shape) > 1:
        shape_text = "(" + ", ".join(str(n) for n in shape) + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_text}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    form = "B" if descr[1] == "V" else FORMATS[descr[1:]]
    data = b"".join(struct.pack("<" + form, v) for v in values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def safetensors_bytes(text):
    header, data = {"__metadata__": {"made": "by golden.py"}}, b""
    for line in text.splitlines():
        name, dtype, rest = line.split(None, 2)
        shape, expression = rest.split("=", 1)
        values = numbers_of("=" + expression)
        chunk = b"".join(struct.pack("<" + SAFETENSORS[dtype], v) for v in values)
        header[name] = {"dtype": dtype, "shape": json.loads(shape),
                        "data_offsets": [len(data), len(data) + len(chunk)]}
        data += chunk
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


def show_npy(path):
    raw = pathlib.Path(path).read_bytes()
    if raw[:8] != b"\x93NUMPY\x01\x00":
        return f"{path}: not a .npy file of version 1.0"
    (length,) = struct.unpack("<H", raw[8:10])
    header = eval(raw[10:10 + length].decode(), {"__builtins__": {}})
    data = raw[10 + length:]
    descr, shape = header["descr"], list(header["shape"])
    if descr[1] == "V":
        size = int(descr[2:])
        values = [data[i:i + size].hex() for i in range(0, len(data), size)]
    else:
        size = struct.calcsize(FORMATS[descr[1:]])
        values = [struct.unpack_from("<" + FORMATS[descr[1:]], data, i)[0]
                  for i in range(0, len(data) // size * size, size)]
    row = max(shape[-1], 1) if shape else 1
    lines = [f"{descr} {shape}" + (" unaligned" if (10 + length) % 64 else "")]
    for i in range(0, len(values), row):
        shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in values[i:i + row]]
        lines.append(" ".join(shown))
    return "\n".join(lines)


def parse(text):
    """A list of [head, body] from the lines `--- head`; the first head is None."""
    sections = [[None, []]]
    for line in text.splitlines():
        if line.startswith("--- "):
            sections.append([line[4:], []])
        else:
            sections[-1][1].append(line[1:] if line.startswith("\\---") else line)
    return sections


def write_input(folder, head, body):
    kind, name, *rest = head.split(None, 2)
    path = folder / name
    text = "".join(line + "\n" for line in body)
    if kind == "file":
        path.write_text(text)
    elif kind == "npy":
        descr, shape = rest[0].split(None, 1)
        path.write_bytes(npy_bytes(descr, json.loads(shape), numbers_of(text)))
    elif kind == "safetensors":
        path.write_bytes(safetensors_bytes(text))
    elif kind == "hex":
        path.write_bytes(bytes.fromhex(text))
    else:
        raise SystemExit(f"unknown section `{head}`")


def neutral(text):
    for pattern, word in MACHINE:
        text = pattern.sub(word, text)
    return text


def output_section(name, text):
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "(no newline)"
    return [f"--- {name}"] + ["\\" + line if line.startswith("---") else line for line in lines]


def run_command(command, folder, environment):
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True)
    out = done.stdout.decode("utf-8", "backslashreplace")
    err = done.stderr.decode("utf-8", "backslashreplace")
    lines = output_section("stdout", neutral(out)) + output_section("stderr", neutral(err))
    return lines + ([f"--- exit {done.returncode}"] if done.returncode else [])


def write_script(path, line):
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def actual_text(path, tarsia, driver):
    """The test file that matches the output of the commands."""
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        bins, folder = pathlib.Path(scratch, "bin"), pathlib.Path(scratch, "work")
        bins.mkdir()
        folder.mkdir()
        (bins / "tarsia").symlink_to(tarsia)
        write_script(bins / "npy",
                     f'exec {sys.executable} {os.path.abspath(__file__)} --show-npy "$@"')
        write_script(bins / "emulated",
                     f'TARSIA_CUDA_DRIVER="${{DRIVER:-{driver}}}" TARSIA_CUDA_CODE=ptx exec "$@"')
        environment = {"PATH": f"{bins}:/usr/bin:/bin", "HOME": scratch, "LC_ALL": "C.UTF-8",
                       "DRIVERS": str(pathlib.Path(driver).parent),
                       "TARSIA_CUDA_DRIVER": "no-such-driver.so"}  # no GPU, on any machine
        for head, body in parse(path.read_text()):
            if head is not None and head.split()[0] in ("stdout", "stderr", "exit"):
                continue
            if head is not None:
                lines.append(f"--- {head}")
            if head is not None and head.startswith("$ "):
                lines += run_command(head[2:], folder, environment)
                continue
            lines += ["\\" + line if line.startswith("---") else line for line in body]
            if head is not None:
                write_input(folder, head, body)
    return "".join(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarsia", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--driver", type=lambda p: pathlib.Path(p).resolve(), default="/none",
                        help="the emulated CUDA driver")
    parser.add_argument("--update", action="store_true", help="rewrite the expected output")
    parser.add_argument("--show-npy", nargs="+", metavar="FILE")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.show_npy:
        print("\n".join(show_npy(name) for name in arguments.show_npy))
        return 0
    failures = 0
    for path in arguments.files:
        expected, actual = path.read_text(), actual_text(path, arguments.tarsia, arguments.driver)
        if expected == actual:
            continue
        if arguments.update:
            path.write_text(actual)
            continue
        failures += 1
        sys.stdout.writelines(difflib.unified_diff(
            expected.splitlines(True), actual.splitlines(True), f"{path} (expected)", "(actual)"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
