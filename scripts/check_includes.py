#!/usr/bin/env python3
"""Fails on an include that the order of the folders forbids.

    support <- dtypes <- layout <- isa <- {launch <- vm, compiler, planner} <- runtime <- {tools, bench}
    support <- dtypes <- ptx <- runtime
    within isa: its own files, graph <- {text, bytecode, validate}
    within ptx: table <- {parse, race, count}, parse <- memory, all of these <- machine <- exec
    within compiler: {facts, tile <- simplify, select, rules, cost <- solve} <- passes <- loops <-
      its own files
    within compiler/llvm: element <- code <- lower
    within planner: its own files; planner/check sees none of them

A folder includes only folders to its left; vm, ptx and compiler never see each other. The table
MAY_SEE in this file has the rules. It also checks that

- only compiler/llvm includes LLVM, only runtime/cuda CUDA, only tools CLI11, only tests GoogleTest,
  and only bench Google Benchmark and OpenBLAS;
- the public header is plain C;
- an include in quotes names a path from the root of the repository;
- the guard of a header is named after its path;
- a tarsia_library() links only what its folder may include.
"""

import argparse
import pathlib
import re
import sys

FOUNDATION = ["support", "dtypes", "layout", "isa"]
BELOW_RUNTIME = FOUNDATION + ["launch", "vm", "ptx", "compiler"]
# What the compiler knows of a program before any code is made.
COMPILER_PLANS = [f"compiler/{name}.h" for name in (
    "compile", "diagnostics", "entry", "layout_plan", "plan_shared", "report_buffer",
    "runtime_checks", "target", "tile_layout")] + ["compiler/facts", "compiler/select"]
PUBLIC = ["include", "tarsia"]  # include/tarsia/tarsia.h is included as "tarsia/tarsia.h"

# What the files of a folder may include from this repository, besides their own folder: whole
# folders or single headers. For a path the entry with the longest folder applies.
MAY_SEE = {
    "support": [],
    "dtypes": ["support"],
    "layout": ["support", "dtypes"],
    "layout/text": ["support", "dtypes", "layout"],
    "layout/picture": ["support", "dtypes", "layout"],
    "isa": ["support", "dtypes", "layout", "isa/graph", "isa/validate/check_kernel.h"],
    "isa/graph": ["support", "dtypes", "layout", "isa"],
    "isa/text": ["support", "dtypes", "layout", "isa"],
    "isa/bytecode": ["support", "dtypes", "layout", "isa"],
    "isa/validate": ["support", "dtypes", "layout", "isa"],
    "launch": FOUNDATION,
    "vm": FOUNDATION + ["launch"],
    "planner": FOUNDATION,
    "planner/check": ["support"],
    "ptx": ["support", "dtypes"],
    "ptx/table": ["support", "dtypes"],
    "ptx/parse": ["support", "dtypes", "ptx/table"],
    "ptx/race": ["support", "dtypes", "ptx/table"],
    "ptx/count": ["support", "dtypes", "ptx/table"],
    "ptx/memory": ["support", "dtypes", "ptx/table", "ptx/parse"],
    "ptx/machine": ["support", "dtypes", "ptx/table", "ptx/parse", "ptx/race", "ptx/count",
                    "ptx/memory"],
    "ptx/exec": ["support", "dtypes", "ptx/table", "ptx/parse", "ptx/race", "ptx/count",
                 "ptx/memory", "ptx/machine"],
    "compiler": FOUNDATION + ["compiler/facts", "compiler/select", "compiler/tile",
                              "compiler/simplify", "compiler/loops", "compiler/passes",
                              "compiler/llvm/element", "compiler/llvm/lower"],
    "compiler/facts": FOUNDATION,
    "compiler/select": FOUNDATION + ["compiler/target.h", "compiler/tile_layout.h"],
    "compiler/rules": FOUNDATION + ["compiler/tile_layout.h", "compiler/select"],
    "compiler/cost": FOUNDATION + ["compiler/target.h", "compiler/tile_layout.h",
                                   "compiler/select"],
    "compiler/solve": ["compiler/cost"],
    "compiler/tile": FOUNDATION,
    "compiler/simplify": FOUNDATION + ["compiler/target.h", "compiler/tile"],
    "compiler/passes": FOUNDATION + ["compiler/plan_shared.h", "compiler/target.h", "compiler/tile_layout.h", "compiler/facts", "compiler/tile",
                                     "compiler/select", "compiler/rules", "compiler/cost",
                                     "compiler/solve"],
    "compiler/loops": FOUNDATION + ["compiler/plan_shared.h", "compiler/target.h",
                                    "compiler/tile_layout.h", "compiler/facts", "compiler/select",
                                    "compiler/tile", "compiler/cost", "compiler/passes"],
    "compiler/compiled": FOUNDATION + COMPILER_PLANS[:1] + ["compiler/target.h",
                                                            "compiler/report_buffer.h",
                                                            "compiler/diagnostics.h"],
    "compiler/assemble": ["support", "compiler/diagnostics.h", "compiler/target.h"],
    "compiler/llvm/element": FOUNDATION + ["compiler/target.h"],
    "compiler/llvm/code": FOUNDATION + COMPILER_PLANS + ["compiler/cost", "compiler/llvm/element",
                                                         "compiler/llvm/backend.h"],
    "compiler/llvm/lower": FOUNDATION + COMPILER_PLANS + ["compiler/llvm/element",
                                                          "compiler/llvm/code"],
    "runtime": BELOW_RUNTIME + ["planner"] + PUBLIC,
    "runtime/files": ["support", "dtypes", "runtime/diagnostics.h"],
    "runtime/weights": FOUNDATION[:3] + ["vm/worker_pool.h", "runtime/files",
                                         "runtime/diagnostics.h"],
    "runtime/importers": FOUNDATION[:3] + ["runtime/files", "runtime/weights",
                                           "runtime/diagnostics.h"],
    "runtime/cuda": ["support", "dtypes"] + PUBLIC + ["runtime/diagnostics.h", "runtime/log.h"],
    "runtime/devices": BELOW_RUNTIME + PUBLIC + ["runtime/diagnostics.h", "runtime/log.h",
                                                 "runtime/cuda", "runtime/files", "runtime/cache",
                                                 "runtime/build_id.h"],
    "runtime/cache": ["support", "runtime/files", "planner/limit.h", "runtime/diagnostics.h", "runtime/log.h"] + PUBLIC,
    "runtime/plans": BELOW_RUNTIME + PUBLIC + ["runtime/devices", "runtime/diagnostics.h",
                                               "runtime/build_id.h"],
    "runtime/matmul": BELOW_RUNTIME + ["runtime/devices", "runtime/files", "runtime/plans", "runtime/weights",
                                       "runtime/diagnostics.h", "runtime/library.h"],
    "runtime/graphs": BELOW_RUNTIME + ["planner", "runtime/devices", "runtime/files",
                                       "runtime/diagnostics.h"],
    "runtime/api": BELOW_RUNTIME + ["planner"] + PUBLIC + ["runtime"],
    "tools": BELOW_RUNTIME + ["planner", "runtime"] + PUBLIC,
    "bench": BELOW_RUNTIME + ["planner", "runtime"] + PUBLIC,
    "tests": BELOW_RUNTIME + ["planner", "runtime", "tools", "bench"] + PUBLIC,
    "examples": PUBLIC,
    "include": PUBLIC,
    "cmake": [],
}

# Headers of other libraries, and the only places that may include them.
ONLY_IN = [
    (r"(llvm|llvm-c)/", ["compiler/llvm", "tests"]),
    (r"(cuda|cuda_runtime|cuda_runtime_api|nvrtc|nvJitLink|nvPTXCompiler|cublas_v2)\.h$",
     ["runtime/cuda", "compiler/assemble", "bench", "tests"]),
    (r"CLI/", ["tools", "bench", "tests"]),
    (r"(gtest|gmock)/", ["tests"]),
    (r"benchmark/", ["bench"]),
    (r"(cblas|openblas/.*)\.?h?$", ["bench"]),
]
# Outside projects as users would write them: they include files beside them, and what is installed.
STANDALONE = ("examples/engine/",)
HEAVY_IN_HEADERS = {"iostream", "regex"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
LIBRARY = re.compile(r"tarsia_library\(\s*(\w+)([^)]*)\)")


def is_under(path, folder):
    return path == folder or path.startswith(folder + "/")


def owner_of(path):
    """The folder of MAY_SEE with the longest prefix of `path`, or None."""
    owners = [folder for folder in MAY_SEE if is_under(path, folder)]
    return max(owners, key=len, default=None)


def check_own(path, owner, target):
    """An error about a quoted include of `target` in the file `path`, or None."""
    folder = target.split("/")[0]
    known = {name.split("/")[0] for name in MAY_SEE} | set(PUBLIC)
    if path.startswith(STANDALONE):
        return None if "/" not in target else f'"{target}" is outside of the project'
    if "/" not in target or folder not in known:
        return f'"{target}" is not a path from the root of the repository'
    target_owner = owner_of(target) or folder
    allowed = target_owner == owner or target in MAY_SEE[owner] or any(
        is_under(target_owner, seen) for seen in MAY_SEE[owner])
    return None if allowed else f'{owner}/ must not see "{target}"'


def check_foreign(path, target):
    """An error about an include of another library's `target`, or None."""
    for pattern, places in ONLY_IN:
        if re.match(pattern, target) and not any(is_under(path, place) for place in places):
            return f"<{target}> may be seen only by {', '.join(places)}"
    if path.endswith(".h") and target in HEAVY_IN_HEADERS:
        return f"<{target}> is too heavy for a header"
    return None


def check_guard(path, text):
    if path.startswith("include/"):
        path = path[len("include/"):]
    stem = re.sub(r"[^A-Za-z0-9]", "_", path).upper()
    guard = (stem if stem.startswith("TARSIA_") else "TARSIA_" + stem) + "_"
    if re.search(rf"^#ifndef {guard}\n#define {guard}$", text, re.MULTILINE):
        return None
    return f"the header guard should be {guard}"


def check_source(path, text):
    owner = owner_of(path)
    if owner is None:
        return []
    errors = []
    for match in INCLUDE.finditer(text):
        quote, target = match.groups()
        error = check_own(path, owner, target) if quote == '"' else None
        error = error or check_foreign(path, target)
        if error:
            line = text.count("\n", 0, match.start(1)) + 1
            errors.append(f"{path}:{line}: {error}")
    if path.endswith(".h"):
        error = check_guard(path, text)
        if error:
            errors.append(f"{path}:1: {error}")
    return errors


def check_links(path, text):
    """Errors in the libraries that a folder's CMakeLists.txt links."""
    owner = owner_of(path)
    if owner is None or owner == "tests":
        return []
    errors = []
    for match in LIBRARY.finditer(text):
        arguments = match.group(2).split()
        depends = arguments[arguments.index("DEPENDS") + 1:] if "DEPENDS" in arguments else []
        for name in depends:
            if name in ("PUBLIC", "PRIVATE"):
                break
            if name not in MAY_SEE[owner]:
                errors.append(f"{path}: tarsia_{match.group(1)} must not link tarsia_{name}")
    return errors


def check(root):
    errors, count = [], 0
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if owner_of(path) is None or not file.is_file():
            continue
        if file.suffix in (".h", ".cc", ".c", ".def"):
            count += 1
            errors += check_source(path, file.read_text(encoding="utf-8"))
        elif file.name == "CMakeLists.txt":
            errors += check_links(path, file.read_text(encoding="utf-8"))
    return errors, count


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, metavar="DIR",
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the folder of the sources (default: this repository)")
    errors, count = check(parser.parse_args().root)
    for error in errors:
        print(error, file=sys.stderr)
    print(f"includes: {count} files, {len(errors)} errors")
    return 1 if errors or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
