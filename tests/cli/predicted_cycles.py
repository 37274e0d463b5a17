"""What programs cost by the formula of docs/compiler.md, in cycles, and what they cost before: a change that makes
a program slower is meant, or a fault. The tables in tests/cli/predicted_cycles/ hold no bound that a program must
reach; the floors of the other tests do."""

import json
import os
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent / "predicted_cycles"
TOLERATED = 1.01


class History:
    """The costs of one test. TARSIA_REWRITE=1 writes the table again: say in the commit why a program is slower."""

    def __init__(self, name):
        self.path = FOLDER / f"{name}.json"
        self.rewrites = os.environ.get("TARSIA_REWRITE") == "1"
        self.before = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.now = {}

    def see(self, arguments, cycles):
        self.now[" ".join(arguments)] = cycles

    def faults(self):
        """Programs that are slower, new, or gone."""
        if self.rewrites:
            self.path.write_text(json.dumps(self.now, indent=0, sort_keys=True) + "\n")
            return []
        again = f"TARSIA_REWRITE=1 writes {self.path.name} again"
        out = [f"{what}: {self.now[what]} cycles by the formula of the cost, {before} before; {again}"
               for what, before in self.before.items() if self.now.get(what, 0) > TOLERATED * before]
        out += [f"{what}: it is in one of table and test only; {again}"
                for what in sorted(self.before.keys() ^ self.now.keys())]
        return out
