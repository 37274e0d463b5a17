"""scripts/check_includes.py must reject each kind of error that it names, and accept the rest."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import check_includes  # noqa: E402


def errors_of(files):
    """The errors about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check_includes.check(root)[0]


class Folders(unittest.TestCase):
    def accepts(self, path, include):
        self.assertEqual(errors_of({path: f"#include {include}\n"}), [])

    def rejects(self, path, include):
        errors = errors_of({path: f"// A comment.\n#include {include}\n"})
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith(f"{path}:2: "), errors[0])

    def test_every_pair(self):
        order = ["support", "dtypes", "layout", "isa", "vm", "compiler", "runtime", "tools", "bench"]
        left = {"vm": order[:4], "compiler": order[:4], "tools": order[:7], "bench": order[:7]}
        for i, source in enumerate(order):
            for target in order:
                allowed = target == source or target in left.get(source, order[:i])
                judge = self.accepts if allowed else self.rejects
                with self.subTest(source=source, target=target):
                    judge(f"{source}/a.cc", f'"{target}/b.h"')

    def test_the_emulator_and_the_interpreter_are_strangers(self):
        self.accepts("ptx/exec/a.cc", '"dtypes/b.h"')
        self.accepts("runtime/a.cc", '"ptx/machine/b.h"')
        self.rejects("ptx/exec/a.cc", '"layout/b.h"')
        self.rejects("ptx/exec/a.cc", '"isa/b.h"')
        self.rejects("ptx/exec/a.cc", '"vm/b.h"')
        self.rejects("vm/a.cc", '"ptx/table/b.h"')
        self.rejects("compiler/a.cc", '"ptx/table/b.h"')

    def test_parts_of_the_emulator(self):
        order = ["table", "parse", "memory", "machine", "exec"]
        for i, source in enumerate(order):
            for j, target in enumerate(order):
                judge = self.accepts if j <= i else self.rejects
                with self.subTest(source=source, target=target):
                    judge(f"ptx/{source}/a.cc", f'"ptx/{target}/b.h"')
        for source, target in [("parse", "race"), ("race", "parse"), ("count", "race"),
                               ("memory", "race")]:
            self.rejects(f"ptx/{source}/a.cc", f'"ptx/{target}/b.h"')

    def test_parts_of_code_generation(self):
        order = ["element", "code", "lower"]
        for i, source in enumerate(order):
            for j, target in enumerate(order):
                judge = self.accepts if j <= i else self.rejects
                with self.subTest(source=source, target=target):
                    judge(f"compiler/llvm/{source}/a.cc", f'"compiler/llvm/{target}/b.h"')
        self.accepts("compiler/llvm/code/a.cc", '"compiler/facts/facts.h"')
        self.rejects("compiler/llvm/code/a.cc", '"compiler/llvm/generate.h"')
        self.accepts("compiler/llvm/a.cc", '"compiler/llvm/lower/b.h"')
        self.rejects("compiler/llvm/a.cc", '"compiler/llvm/code/b.h"')

    def test_paths_start_at_the_root(self):
        self.rejects("isa/a.cc", '"b.h"')
        self.rejects("isa/a.cc", '"../layout/b.h"')
        self.rejects("isa/a.cc", '"nowhere/b.h"')

    def test_the_public_header(self):
        self.accepts("runtime/a.cc", '"tarsia/tarsia.h"')
        self.accepts("examples/a.c", '"tarsia/tarsia.h"')
        self.rejects("isa/a.cc", '"tarsia/tarsia.h"')
        self.rejects("examples/a.c", '"runtime/a.h"')

    def test_foreign_headers(self):
        self.accepts("compiler/llvm/a.cc", "<llvm/IR/IRBuilder.h>")
        self.rejects("compiler/a.cc", "<llvm/IR/IRBuilder.h>")
        self.accepts("runtime/cuda/a.cc", "<cuda.h>")
        self.rejects("runtime/a.cc", "<cuda.h>")
        self.accepts("tools/a.cc", "<CLI/CLI.hpp>")
        self.rejects("runtime/a.cc", "<CLI/CLI.hpp>")
        self.rejects("isa/a.cc", "<gtest/gtest.h>")
        self.rejects("vm/a.cc", "<cblas.h>")
        self.accepts("bench/a.cc", "<cblas.h>")


class Headers(unittest.TestCase):
    def test_guard(self):
        good = "#ifndef TARSIA_ISA_A_B_H_\n#define TARSIA_ISA_A_B_H_\n#endif\n"
        self.assertEqual(errors_of({"isa/a_b.h": good}), [])
        self.assertEqual(len(errors_of({"isa/a_c.h": good})), 1)
        public = good.replace("ISA_A_B", "TARSIA")
        self.assertEqual(errors_of({"include/tarsia/tarsia.h": public}), [])

    def test_heavy(self):
        text = "#ifndef TARSIA_ISA_A_H_\n#define TARSIA_ISA_A_H_\n#include <iostream>\n#endif\n"
        self.assertEqual(len(errors_of({"isa/a.h": text})), 1)


class Links(unittest.TestCase):
    def test_depends(self):
        self.assertEqual(errors_of({"vm/CMakeLists.txt": "tarsia_library(vm DEPENDS isa)\n"}), [])
        text = "tarsia_library(vm DEPENDS isa compiler PRIVATE hwy::hwy)\n"
        self.assertEqual(len(errors_of({"vm/CMakeLists.txt": text})), 1)


if __name__ == "__main__":
    unittest.main()
