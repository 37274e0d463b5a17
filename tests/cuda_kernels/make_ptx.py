#!/usr/bin/env python3
"""Compiles kernels/*.cu to ptx/: each as it is, and once for every fault that it can be given.

A person runs it, after a change to a kernel; nothing else does, since another nvcc writes other PTX.
A line `// arch: sm_90a` in a kernel names its target (sm_80 without), and the faults are those that
its comments `finds FAULT_...` name. Paths in the PTX are made relative. COMMANDS.txt keeps nvcc's
version and every command.

usage: make_ptx.py [--nvcc NVCC] [NAME...]   (all kernels without a name)
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

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


def relative(line):
    """A `.file` line without the folders of the machine that ran nvcc."""
    line = line.replace(str(HERE) + "/", "")
    return re.sub(r'"[^"]*/include/', '"', line)


def compile_one(command):
    """Whether it compiled, and what nvcc said."""
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    log = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        return False, log
    out = HERE / command[command.index("-o") + 1]
    lines = [relative(line) if line.lstrip().startswith(".file") else line.rstrip()
             for line in out.read_text().rstrip("\n").split("\n")]
    out.write_text("\n".join(lines) + "\n")
    return True, log


def write_commands(nvcc):
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    commands = [" ".join(["nvcc", *command_of(nvcc, source, fault)[1:]])
                for source in sorted((HERE / "kernels").glob("*.cu"))
                for fault in [None, *faults_of(source.read_text())]]
    release = re.search(r"release [^\n]*", version)
    (HERE / "ptx" / "COMMANDS.txt").write_text(
        f"# nvcc, {release.group(0) if release else version.strip()}; run in tests/cuda_kernels.\n"
        + "\n".join(commands) + "\n")
    return {re.search(r"-o ptx/(\S+)", command).group(1) for command in commands}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sources = [source for source in sorted((HERE / "kernels").glob("*.cu"))
               if not options.names or source.stem in options.names]
    commands = [command_of(options.nvcc, source, fault) for source in sources
                for fault in [None, *faults_of(source.read_text())]]
    (HERE / "ptx").mkdir(exist_ok=True)
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command, (ok, log) in zip(commands, pool.map(compile_one, commands)):
            failures += not ok
            if log:
                print(f"{' '.join(command)}\n{log}", file=sys.stderr)
    wanted = write_commands(options.nvcc)
    for file in (HERE / "ptx").glob("*.ptx"):
        if file.name not in wanted:
            file.unlink()
    print(f"{len(commands)} compiled, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
