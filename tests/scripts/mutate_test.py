"""scripts/mutate.py must refuse lists and mutants that would prove nothing."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import mutate  # noqa: E402

ENTRY = """
[[mutant]]
name = "a"
file = "x.cc"
old = "1 + 1"
new = "1 - 1"
target = "unit_x"
test = "^unit.x$"
"""


class Lists(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "x.toml").write_text(text, encoding="utf-8")
            return mutate.read_mutants(pathlib.Path(folder))

    def test_reads(self):
        mutants = self.read(ENTRY)
        self.assertEqual([m["name"] for m in mutants], ["a"])
        self.assertEqual(mutants[0]["target"], ["unit_x"])

    def test_refuses(self):
        for bad in (ENTRY + ENTRY, ENTRY.replace('test = "^unit.x$"', ""),
                    ENTRY + 'typo = "x"\n', "[[mutant"):
            with self.subTest(bad=bad), self.assertRaises(mutate.Unusable):
                self.read(bad)


class Mutants(unittest.TestCase):
    def mutate(self, text, **fields):
        mutant = {"file": "x.cc", "old": "1 + 1", "new": "1 - 1"} | fields
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "x.cc").write_text(text, encoding="utf-8")
            return mutate.mutated(pathlib.Path(folder), mutant)

    def test_replaces(self):
        self.assertEqual(self.mutate("a = 1 + 1;"), "a = 1 - 1;")

    def test_refuses(self):
        for text, fields in (("a = 2;", {}), ("1 + 1; 1 + 1;", {}), ("1 + 1", {"new": "1 + 1"}),
                             ("1 + 1", {"file": "y.cc"})):
            with self.subTest(text=text, fields=fields), self.assertRaises(mutate.Unusable):
                self.mutate(text, **fields)


if __name__ == "__main__":
    unittest.main()
