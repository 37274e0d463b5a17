#!/usr/bin/env python3
"""Compiles kernels/*.cu to ptx/: each as it is, and once for every fault that it can be given.

A person runs it, after a change to a kernel; nothing else does, since another nvcc writes other PTX.
A line `// arch: sm_90a` in a kernel names its target (sm_80 without), and the faults are those that
its comments `finds FAULT_...` name. Paths in the PTX are made relative, and their hashes those of
relative paths. Of the PTX with a fault only the patch is kept that makes it of the PTX without; the
build applies it (make_twins.py). COMMANDS.txt keeps nvcc's version and every command.

usage: make_ptx.py [--nvcc NVCC] [NAME...]   (all kernels without a name)
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import zlib

import make_twins

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-ptx", "-lineinfo", "-O3", "-std=c++17"]


def faults_of(text):
    return sorted(set(re.findall(r"\bfinds (FAULT_\w+):", text)))


def command_of(nvcc, source, fault):
    name = source.stem + (f".{fault[len('FAULT_'):].lower()}" if fault else "")
    arch = re.search(r"^// arch: (\w+)$", source.read_text(), re.MULTILINE)
    define = [f"-D{fault}"] if fault else []
    return [nvcc, *FLAGS, f"-arch={arch.group(1) if arch else 'sm_80'}", *define,
            "-o", f"ptx/{name}.ptx", f"kernels/{source.name}"]


def output_of(command):
    return HERE / command[command.index("-o") + 1]


def relative(line):
    """A `.file` line without the folders of the machine that ran nvcc."""
    line = line.replace(str(HERE) + "/", "")
    return re.sub(r'"[^"]*/include/', '"', line)


def with_relative_hash(text, source):
    """The text with the CRC-32 of the source's relative path where nvcc writes that of the whole
    path: in names of what is local to a source, which stand in debug data as bytes too."""
    def part_of_name(path):
        return f"_{zlib.crc32(str(path).encode()):08x}_"

    old, new = part_of_name(source), part_of_name(source.relative_to(HERE))
    as_bytes = r"(,|\n\.b8 )".join(str(ord(char)) for char in old)
    text = re.sub(rf"\b{as_bytes}\b", lambda match: "".join(
        between + str(ord(char)) for between, char in zip(["", *match.groups()], new)), text)
    return text.replace(old, new)


def compile_one(command):
    """Whether it compiled, and what nvcc said."""
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    log = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        return False, log
    out = output_of(command)
    lines = [relative(line) if line.lstrip().startswith(".file") else line.rstrip()
             for line in out.read_text().rstrip("\n").split("\n")]
    out.write_text(with_relative_hash("\n".join(lines) + "\n", HERE / command[-1]))
    return True, log


def keep_patch(source, twin):
    """Puts a patch of the kernel's PTX in place of its twin's."""
    patch = twin.with_suffix(".patch")
    patch.write_text(make_twins.make_patch(twin.with_name(f"{source.stem}.ptx"), twin))
    twin.unlink()
    make_twins.twin_of(patch)


def write_commands(nvcc):
    """Writes COMMANDS.txt, and returns the names of the files that belong into ptx/."""
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    variants = [(source, fault) for source in sorted((HERE / "kernels").glob("*.cu"))
                for fault in [None, *faults_of(source.read_text())]]
    commands = [command_of("nvcc", source, fault) for source, fault in variants]
    release = re.search(r"release [^\n]*", version)
    (HERE / "ptx" / "COMMANDS.txt").write_text(
        f"# nvcc, {release.group(0) if release else version.strip()}; run in tests/cuda_kernels.\n"
        "# Of the PTX of a kernel with a fault (-DFAULT_...) a patch is kept: make_ptx.py.\n"
        + "\n".join(" ".join(command) for command in commands) + "\n")
    return {output_of(command).with_suffix(".patch" if fault else ".ptx").name
            for (_, fault), command in zip(variants, commands)} | {"COMMANDS.txt"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sources = [source for source in sorted((HERE / "kernels").glob("*.cu"))
               if not options.names or source.stem in options.names]
    variants = [(source, fault) for source in sources
                for fault in [None, *faults_of(source.read_text())]]
    commands = [command_of(options.nvcc, source, fault) for source, fault in variants]
    (HERE / "ptx").mkdir(exist_ok=True)
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command, (ok, log) in zip(commands, pool.map(compile_one, commands)):
            failures += not ok
            if log:
                print(f"{' '.join(command)}\n{log}", file=sys.stderr)
    print(f"{len(commands)} compiled, {failures} failed")
    if failures:
        return 1
    for (source, fault), command in zip(variants, commands):
        if fault:
            keep_patch(source, output_of(command))
    wanted = write_commands(options.nvcc)
    for file in (HERE / "ptx").iterdir():
        if file.name not in wanted:
            file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
