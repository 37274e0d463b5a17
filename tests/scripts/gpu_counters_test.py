"""scripts/gpu_counters.sh must read the output of ncu, and say why if it cannot."""

import json
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "gpu_counters.sh"

# Output of ncu --csv, with its own lines and those of the program around it.
SAMPLE = """==PROF== Connected to process 4711 (/tmp/tarsia)
==PROF== Profiling "copy" - 0: 0%....50%....100% - 1 pass
y: i32[10000], 0.1 ms, cuda:0
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__data_pipe_lsu_wavefronts_mem_shared.sum","","0"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum","sector","0"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","5,000"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum","sector","0"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum","sector","5,003"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum","sector","n/a"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum","sector","0"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","smsp__inst_executed.sum","inst","1,234,567"
"0","4711","tarsia","127.0.0.1","copy","1","7","(256, 1, 1)","(3, 1, 1)","0","9.0","Command line profiler metrics","smsp__thread_inst_executed_pred_on.sum","inst","66,080"
"""

# Replaces tarsia: counts as in `compile --emit cost-json`.
TARSIA = """#!/bin/sh
[ "$1" = compile ] || exit 0
case "$2" in *softmax*) exit 2 ;; esac
echo '{"file": "copy.tsa", "occupancy": {"warps": 48}, "total": {"warp_instructions": 1234000,' \\
  '"thread_instructions": 66080, "global_sectors": 10000, "global_ideal_sectors": 2504,' \\
  '"shared_wavefronts": 0, "local_sectors": 0, "classes": {"move": 1}},' \\
  '"lines": [{"line": 2, "global_sectors": 77}]}'
"""


class Folder:
    """A folder with programs that replace tarsia and ncu."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.program("tarsia", TARSIA)

    def program(self, name, text):
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run(self, ncu):
        environment = dict(os.environ, TARSIA_NCU=str(ncu))
        done = subprocess.run([str(SCRIPT), "--tarsia", str(self.path / "tarsia")], check=True,
                              capture_output=True, text=True, env=environment)
        return json.loads(done.stdout)


class Parsing(unittest.TestCase):
    def measured(self, count, text=SAMPLE):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([str(SCRIPT), "--parse", count, file.name], check=True,
                                  capture_output=True, text=True)
        return json.loads(done.stdout)

    def test_numbers(self):
        self.assertEqual(self.measured("warp_instructions"), 1234567)
        self.assertEqual(self.measured("shared_wavefronts"), 0)
        self.assertEqual(self.measured("global_sectors"), 10003)

    def test_launches_are_summed(self):
        again = "".join(line + "\n" for line in SAMPLE.splitlines() if line.startswith('"0"'))
        self.assertEqual(self.measured("global_sectors", SAMPLE + again), 20006)

    def test_lines_may_end_as_on_windows(self):
        self.assertEqual(self.measured("warp_instructions", SAMPLE.replace("\n", "\r\n")), 1234567)

    def test_what_is_missing_is_null(self):
        self.assertIsNone(self.measured("local_sectors"))  # one of two has no number
        self.assertIsNone(self.measured("global_sectors", SAMPLE.replace("op_red", "op_xyz")))
        self.assertIsNone(self.measured("warp_instructions", ""))


class Comparing(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.folder.cleanup)

    def ncu(self, text, status=0):
        (self.folder.path / "out").write_text(text, encoding="utf-8")
        return self.folder.program(
            "ncu", f'#!/bin/sh\necho "$@" >> {self.folder.path}/calls\n'
            f"cat {self.folder.path}/out\nexit {status}\n")

    def test_differences(self):
        kernels = self.folder.run(self.ncu(SAMPLE))
        self.assertEqual([kernel["kernel"] for kernel in kernels], ["copy", "softmax", "matmul"])
        counts = kernels[0]["counts"]
        self.assertEqual(counts["global_sectors"],
                         {"predicted": 10000, "measured": 10003, "difference": 3})
        self.assertEqual(counts["warp_instructions"]["difference"], 567)
        self.assertEqual(counts["thread_instructions"]["difference"], 0)
        self.assertEqual(counts["local_sectors"],
                         {"predicted": 0, "measured": None, "difference": None})
        self.assertIn("skipped", kernels[1])
        call = (self.folder.path / "calls").read_text(encoding="utf-8").splitlines()[0]
        self.assertTrue(call.startswith("--csv --metrics smsp__inst_executed.sum,smsp__thread"), call)
        self.assertIn("run ./copy.tsa --arg n=10000 --device cuda:0 --out x=", call)

    def test_no_ncu(self):
        self.assertEqual(self.folder.run(self.folder.path / "none"), {"skipped": "no ncu"})

    def test_no_permission(self):
        text = ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
                "Performance Counters on the target device 0.\n")
        kernels = self.folder.run(self.ncu(text, 1))
        self.assertIn("no permission", kernels[0]["skipped"])

    def test_ncu_fails(self):
        self.assertEqual(self.folder.run(self.ncu("==ERROR== no\n", 9))[0]["skipped"],
                         "ncu fails (9)")
        self.assertEqual(self.folder.run(self.ncu("nothing\n"))[0]["skipped"], "ncu fails (0)")


if __name__ == "__main__":
    unittest.main()
