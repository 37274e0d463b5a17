#!/usr/bin/env python3
"""Times kernels of Tarsia on this machine's GPU beside PyTorch and, where it is at hand, Marlin.

    bench/gpu.py LIBTARSIA --examples examples --json out.json [--sections weights,gemm,rows,attention,reduce]
    bench/gpu.py LIBTARSIA --rehearse          small sizes, no times: for the emulated driver

LIBTARSIA is libtarsia.so. Every result is compared before it is timed: weights with the interpreter on
the CPU, the others with PyTorch. A figure is the median over rounds of the time of a launch in a CUDA graph
of launches. Weights are read from other memory in each launch of a graph, more than the L2 cache holds.
`--marlin` is a library with `marlin_run`, the function of Marlin with C linkage. Prints a table, and writes
all of it as JSON.
"""

import argparse
import concurrent.futures
import ctypes
import itertools
import json
import pathlib
import statistics
import sys
import threading
import time

import numpy as np

from code_counts import ROOT, packed

try:
    import torch
except ImportError:
    torch = None

C = ctypes
ROUNDS = 7
L2_BYTES = 160 << 20  # more than the L2 cache of any GPU


# ---- The C API (include/tarsia/tarsia.h) ---------------------------------------------------

class ModuleOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("format", C.c_int), ("name", C.c_char_p)]


class Binding(C.Structure):
    _fields_ = [("size", C.c_size_t), ("name", C.c_char_p), ("text", C.c_char_p)]


class PlanOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("device", C.c_char_p), ("kernel", C.c_char_p),
                ("bindings", C.POINTER(Binding)), ("binding_count", C.c_size_t), ("flags", C.c_uint64),
                ("workspace_limit", C.c_uint64), ("cancel", C.c_void_p), ("cancel_user", C.c_void_p),
                ("compile_limit_ms", C.c_uint64), ("without", C.c_void_p), ("without_count", C.c_size_t)]


class Pointer(C.Structure):
    _fields_ = [("data", C.c_void_p), ("bytes", C.c_uint64)]


class Value(C.Union):
    _fields_ = [("pointer", Pointer), ("code", C.c_uint64), ("f32", C.c_float), ("i32", C.c_int32)]


class Argument(C.Structure):
    _fields_ = [("size", C.c_size_t), ("kind", C.c_int), ("dtype", C.c_int), ("value", Value)]


class Geometry(C.Structure):
    _fields_ = [("size", C.c_size_t), ("grid", C.c_int64 * 3), ("warps", C.c_uint32), ("threads", C.c_uint32),
                ("workspace_bytes", C.c_uint64)]


class GraphOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("device", C.c_char_p), ("graph", C.c_char_p),
                ("bindings", C.POINTER(Binding)), ("binding_count", C.c_size_t), ("limit", C.c_uint64),
                ("limit_kind", C.c_int), ("flags", C.c_uint32), ("cancel", C.c_void_p), ("cancel_user", C.c_void_p),
                ("compile_limit_ms", C.c_uint64), ("rank", C.c_uint32), ("ranks", C.c_uint32)]


class GraphInfo(C.Structure):
    _fields_ = [("size", C.c_size_t), ("graph", C.c_char_p), ("device", C.c_char_p), ("peak", C.c_uint64),
                ("limit", C.c_uint64), ("limit_kind", C.c_int), ("input_count", C.c_size_t),
                ("output_count", C.c_size_t), ("kernel_count", C.c_size_t), ("step_count", C.c_size_t),
                ("shared_axis", C.c_char_p), ("share_begin", C.c_int64), ("share_end", C.c_int64)]


class GraphTensor(C.Structure):
    """An input or an output."""
    _fields_ = [("size", C.c_size_t), ("data", C.c_void_p), ("bytes", C.c_uint64), ("function", C.c_void_p),
                ("user", C.c_void_p)]


class GraphExecuteOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("threads", C.c_uint32), ("arena", C.c_void_p), ("arena_bytes", C.c_uint64),
                ("progress", C.c_void_p), ("progress_user", C.c_void_p), ("cancel", C.c_void_p),
                ("cancel_user", C.c_void_p), ("send", C.c_void_p), ("receive", C.c_void_p),
                ("exchange_user", C.c_void_p), ("host_limit", C.c_uint64)]


class Failure(Exception):
    """A call of the library failed."""


class Library:
    def __init__(self, path):
        self.c = C.CDLL(str(path))
        self.c.tarsia_last_error.restype = C.c_char_p
        self.kinds = {}

    def call(self, name, *args):
        if getattr(self.c, "tarsia_" + name)(*args) != 0:
            raise Failure(self.c.tarsia_last_error().decode())

    def dtype(self, name):
        if name not in self.kinds:
            found = C.c_int()
            self.call("dtype_find", name.encode(), C.byref(found))
            self.kinds[name] = found.value
        return self.kinds[name]

    def module(self, text, name):
        options = ModuleOptions(C.sizeof(ModuleOptions), 1, name.encode())
        out = C.c_void_p()
        self.call("module_create", text.encode(), C.c_size_t(len(text.encode())), C.byref(options), C.byref(out),
                  None)
        return out

    def device(self, name):
        out = C.c_void_p()
        self.call("device_open", name.encode(), C.byref(out))
        return out

    def pointer(self, address, size):
        argument = Argument(C.sizeof(Argument), 1, 0)
        argument.value.pointer = Pointer(address, size)
        return argument

    def scalar(self, kind, value):
        argument = Argument(C.sizeof(Argument), 3, self.dtype(kind))
        setattr(argument.value, kind, value)
        return argument


class Plan:
    """A kernel with constants for a device."""

    def __init__(self, api, module, device, constants):
        self.api, self.constants = api, constants
        bindings = (Binding * len(constants))(*[
            Binding(C.sizeof(Binding), name.encode(), str(value).encode()) for name, value in constants.items()])
        options = PlanOptions(C.sizeof(PlanOptions), device.encode(), None, bindings, len(constants))
        self.handle = C.c_void_p()
        begin = time.perf_counter()
        api.call("plan_create", module, C.byref(options), C.byref(self.handle), None)
        self.seconds = time.perf_counter() - begin

    def workspace(self, arguments, memory):
        """Memory for the scratch of a launch; None if it needs none."""
        query = C.c_void_p()
        self.api.call("query_create", self.handle, arguments, C.c_size_t(len(arguments)), C.byref(query))
        geometry = Geometry(C.sizeof(Geometry))
        self.api.call("query_geometry", query, C.byref(geometry))
        self.api.c.tarsia_query_destroy(query)
        size = geometry.workspace_bytes
        if size == 0:
            return None
        out = memory.empty(size)
        self.api.call("workspace_init", self.handle, arguments, C.c_size_t(len(arguments)),
                          C.c_void_p(out.address), C.c_uint64(size), None)
        return out

    def run(self, arguments, workspace=None, stream=None):
        self.api.call("execute", self.handle, arguments, C.c_size_t(len(arguments)),
                          C.c_void_p(workspace.address if workspace else None), C.c_void_p(stream), None, None)


class GraphPlan:
    """A graph with constants, below a limit of scratch in bytes, for a device."""

    def __init__(self, api, module, device, graph, constants, limit=0, fast=False):
        self.api = api
        bindings = (Binding * len(constants))(*[
            Binding(C.sizeof(Binding), name.encode(), str(value).encode()) for name, value in constants.items()])
        scratch, fast_flag = 1, 2
        options = GraphOptions(C.sizeof(GraphOptions), device.encode(), graph.encode(), bindings, len(constants),
                               limit, scratch, fast_flag if fast else 0)
        self.handle = C.c_void_p()
        api.call("graph_plan_create", module, C.byref(options), C.byref(self.handle), None)
        self.info = GraphInfo(C.sizeof(GraphInfo))
        api.call("graph_plan_get", self.handle, C.byref(self.info))

    def run(self, inputs, outputs, arena):
        """Inputs and outputs are pairs of an address and a size; returns when they are computed."""
        def tensors(pairs):
            return (GraphTensor * len(pairs))(*[GraphTensor(C.sizeof(GraphTensor), a, n) for a, n in pairs])
        options = GraphExecuteOptions(C.sizeof(GraphExecuteOptions), 0, arena[0], arena[1])
        self.api.call("graph_execute", self.handle, tensors(inputs), C.c_size_t(len(inputs)), tensors(outputs),
                          C.c_size_t(len(outputs)), C.byref(options), None)


# ---- Memory and time -------------------------------------------------------------------------

class HostMemory:
    """Memory of a device by the library alone, for the CPU and the emulated driver."""

    class Buffer:
        def __init__(self, memory, size):
            self.memory, self.size = memory, size
            out = C.c_void_p()
            memory.api.call("memory_alloc", memory.device, C.c_uint64(size), C.byref(out))
            self.address = out.value

        def read(self, kind, shape):
            array = np.empty(shape, kind)
            self.memory.api.call("memory_read", self.memory.device, array.ctypes.data_as(C.c_void_p),
                                     C.c_void_p(self.address), C.c_uint64(array.nbytes), None)
            return array

        def __del__(self):
            self.memory.api.c.tarsia_memory_free(self.memory.device, C.c_void_p(self.address))

    def __init__(self, api, device):
        self.api, self.device = api, api.device(device)

    def empty(self, size):
        return self.Buffer(self, size)

    def copy(self, array):
        out = self.Buffer(self, array.nbytes)
        array = np.ascontiguousarray(array)
        self.api.call("memory_write", self.device, C.c_void_p(out.address), array.ctypes.data_as(C.c_void_p),
                          C.c_uint64(array.nbytes), None)
        return out


class TorchMemory:
    """Memory of PyTorch."""

    class Buffer:
        def __init__(self, tensor):
            self.tensor, self.address, self.size = tensor, tensor.data_ptr(), tensor.numel() * tensor.element_size()

        def read(self, kind, shape):
            return self.tensor.view(torch.uint8).flatten().cpu().numpy().view(kind).reshape(shape)

    def empty(self, size):
        return self.Buffer(torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda"))

    def copy(self, array):
        array = np.ascontiguousarray(array)
        return self.Buffer(torch.from_numpy(array.view(np.uint8).reshape(-1).copy()).cuda())


def microseconds(launches):
    """The median time of a launch, of those in a list of functions of a stream, in a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launches[0](stream.cuda_stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for launch in launches:
                launch(torch.cuda.current_stream().cuda_stream)
        graph.replay()
        times = []
        for _ in range(ROUNDS):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / len(launches))
            if start.elapsed_time(end) > 100:  # milliseconds
                break
    return statistics.median(times)


def wall_microseconds(run, rounds):
    """The median time of a function that returns when its work on the GPU is done, or enqueued."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def repeats(one_us):
    """How many launches make a graph of about two milliseconds."""
    return max(2, min(200, int(2000 / max(one_us, 1))))


def constants_text(constants):
    return " ".join(f"{name}={value}" for name, value in constants.items() if name not in ("K", "N", "PACK", "G", "W"))


class Bench:
    def __init__(self, options):
        self.options = options
        self.api = Library(options.libtarsia)
        self.rehearse = options.rehearse
        self.device = "cuda:0"
        self.cpu = HostMemory(self.api, "cpu")
        self.memory = HostMemory(self.api, self.device) if self.rehearse else TorchMemory()
        self.rng = np.random.default_rng(1)
        self.rows = []
        self.pool = concurrent.futures.ThreadPoolExecutor(options.threads)
        self.modules = {}
        self.written = time.monotonic()

    def write(self):
        """All figures so far, into the file of the option."""
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps(self.rows, indent=1))
        self.written = time.monotonic()

    def module(self, name, edit=None):
        """The module of an example, whose text `edit` changes."""
        if (name, edit) not in self.modules:
            text = (pathlib.Path(self.options.examples) / f"{name}.tsa").read_text()
            self.modules[name, edit] = self.api.module(edit(text) if edit else text, name)
        return self.modules[name, edit]

    def plans(self, jobs):
        """(key, module, constants) -> [(key, plan)], in parallel; failures are recorded."""
        def make(job):
            key, module, constants = job
            try:
                return key, Plan(self.api, module, self.device, constants)
            except Failure as failure:
                return key, str(failure)
        out = []
        for key, plan in self.pool.map(make, jobs):
            if isinstance(plan, str):
                self.note({"kind": "failure", "case": str(key), "error": plan[:300]})
            else:
                out.append((key, plan))
        return out

    def note(self, row):
        self.rows.append(row)
        if self.options.json and time.monotonic() - self.written > 3:
            self.write()
        if row["kind"] == "failure":
            print("FAILURE", row["case"], row["error"], flush=True)


def difference(found, wanted):
    wanted = wanted.astype(np.float64)
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        return float("inf")
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


# ---- Quantised weights -----------------------------------------------------------------------

GROUP = 128


# Warps, and columns and rows of weights of a turn.
TILES = ((4, 64, 128), (4, 128, 64), (4, 256, 64), (8, 128, 128), (8, 256, 64), (8, 256, 128), (16, 256, 128),
         (16, 512, 64))
# Of a processor, at most.
WARPS_AT_ONCE = 16


def weight_candidates(kind, m, short):
    """Programs and constants; P counts blocks for each processor."""
    _, rows = packed(kind)
    bms = (8,) if m <= 8 else (16,) if m <= 16 else (32, 64)
    for bm, (warps, bn, bk) in itertools.product(bms, TILES):
        if bk % rows != 0:
            continue
        for stages in (4,) if short or bk == 64 else (4, 6):
            tile = {"BM": bm, "WARPS": warps, "BN": bn, "BK": bk, "STAGES": stages}
            yield "matmul_scaled", tile
            blocks = {max(1, 8 // warps)} | ({WARPS_AT_ONCE // warps} if bm <= 16 else set())
            for p, ordered in itertools.product(blocks, ("true", "false")):
                yield "stream_k", {**tile, "P": p, "ORDERED": ordered}


def without_nan(text):
    """The program for weights of which none is NaN."""
    return text.replace("cast %b : X", "cast %b finite : X").replace("cast %q : X", "cast %q finite : X")


def weights(bench):
    """y = x (w s) for packed weights, groups of 128."""
    processors = 132 if bench.rehearse else torch.cuda.get_device_properties(0).multi_processor_count
    if bench.rehearse:
        cases = [("u4", 256, 512, (1, 16), True), ("u3", 256, 512, (16,), True)]
    else:
        cases = [("u4", 8192, 8192, (1, 16, 64), False), ("u4", 8192, 57344, (1, 16, 64), False),
                 ("u4", 3584, 28672, (16,), False)]
        cases += [(kind, k, n, (16,), True) for kind in ("u1", "u2", "u3", "u5", "u6", "u8", "f4e2m1", "f6e3m2", "f8e4m3fn")
                  for k, n in ((8192, 8192), (8192, 57344))]
    if bench.options.kinds:
        cases = [case for case in cases if case[0] in bench.options.kinds.split(",")]
    if bench.options.rows:
        only = [int(m) for m in bench.options.rows.split(",")]
        cases = [(*case[:3], tuple(m for m in case[3] if m in only), case[4]) for case in cases]
    if bench.options.shapes:
        cases = [case for case in cases if f"{case[1]}x{case[2]}" in bench.options.shapes.split(",")]
    given = json.loads(pathlib.Path(bench.options.candidates).read_text()) if bench.options.candidates else None
    marlin = C.CDLL(bench.options.marlin) if bench.options.marlin and not bench.rehearse else None
    f16 = np.float16
    jobs = []
    for at, (kind, k, n, ms, short) in enumerate(cases):
        order, _ = packed(kind)
        for m in ms:
            candidates = weight_candidates(kind, m, short)
            if given:
                bm = 8 if m <= 8 else 16 if m <= 16 else 32
                candidates = [(program, {"BM": bm, **constants}) for program, constants in given]
            for program, constants in candidates:
                full = {"K": k, "N": n, "W": kind, "G": GROUP, "PACK": order, **constants}
                if "P" in full:
                    full["P"] = full["P"] * processors
                module = bench.module(program, without_nan if kind.startswith("f8") else None)
                jobs.append(((at, m, program), module, full))
    begin = time.perf_counter()
    plans = bench.plans(jobs)
    print(f"{len(plans)} plans in {time.perf_counter() - begin:.1f} s, "
          f"median {statistics.median(plan.seconds for _, plan in plans):.2f} s", flush=True)
    for at, (kind, k, n, ms, _) in enumerate(cases):
        bits, order = int(kind[1]), packed(kind)[0]
        size = k * n * bits // 8
        codes = bench.rng.integers(0, 256, size, np.uint8)
        if kind.startswith("f8"):
            codes[(codes & 0x7F) == 0x7F] = 0x3C
        # Any codes are some packed weights; scales make the results moderate.
        scales = bench.rng.uniform(0.5, 1.5, (k // GROUP, n)).astype(f16) * f16(2.0**-6 / (1 << bits if kind[0] == "u" else 1))
        sixteen = bench.rng.standard_normal((16, k)).astype(f16)
        reference = Plan(bench.api, bench.module("matmul_scaled"), "cpu",
                         {"K": k, "N": n, "W": kind, "G": GROUP, "PACK": order})
        inputs = [bench.cpu.copy(value) for value in (sixteen, codes, scales)]
        wanted = bench.cpu.empty(16 * n * 2)
        lib = bench.api
        def arguments(x, w, s, y, m):
            list_of = [lib.pointer(x.address, x.size), lib.pointer(w.address, size),
                       lib.pointer(s.address, s.size), lib.pointer(None, 0), lib.pointer(y.address, y.size),
                       lib.scalar("i32", m)]
            return (Argument * len(list_of))(*list_of)
        reference.run(arguments(*inputs, wanted, 16))
        wanted = wanted.read(f16, (16, n))
        x_all = np.tile(sixteen, (4, 1))
        w = bench.memory.copy(codes)
        s = bench.memory.copy(scales)
        copies = [w]
        if not bench.rehearse:
            for _ in range(max(0, min(24, L2_BYTES // size))):
                copies.append(TorchMemory.Buffer(w.tensor.clone()))
        for m in ms:
            x = bench.memory.copy(x_all[:m])
            best = None
            want = np.tile(wanted, (4, 1))[:m]
            for key, plan in plans:
                if key[:2] != (at, m):
                    continue
                y = bench.memory.empty(m * n * 2)
                case = f"{kind} {k}x{n} m={m} {key[2]} {constants_text(plan.constants)}"
                try:
                    calls = [arguments(x, copy, s, y, m) for copy in copies]
                    work = plan.workspace(calls[0], bench.memory)
                    for repeat in range(2):
                        plan.run(calls[0], work)
                    if not bench.rehearse:
                        torch.cuda.synchronize()
                    apart = difference(y.read(f16, (m, n)), want)
                except Failure as failure:
                    bench.note({"kind": "failure", "case": case, "error": str(failure)[:300]})
                    if not bench.rehearse:
                        torch.cuda.synchronize()
                    continue
                if apart > 2e-3:
                    bench.note({"kind": "failure", "case": case, "error": f"differs by {apart:.2e}"})
                    continue
                row = {"kind": "weights", "type": kind, "k": k, "n": n, "m": m, "who": key[2],
                       "constants": constants_text(plan.constants), "apart": apart,
                       "plan_seconds": round(plan.seconds, 3)}
                if not bench.rehearse:
                    launches = [lambda stream, c=c: plan.run(c, work, stream) for c in calls]
                    row["us"] = microseconds(launches * max(1, 20 // len(launches)))
                    if best is None or row["us"] < best["us"]:
                        best = row
                bench.note(row)
            if bench.rehearse or best is None:
                continue
            moved = size + scales.nbytes + m * (k + n) * 2
            floor = moved / bench.copy_rate / 1e3
            text = f"{kind:9} {k}x{n} m={m:3}: {best['us']:7.2f} us, floor {floor:6.2f} ({100 * floor / best['us']:.0f}%), {best['who']} {best['constants']}"
            dense = torch.randn(k, n, dtype=torch.float16, device="cuda")
            ys = torch.empty(m, n, dtype=torch.float16, device="cuda")
            xs = torch.randn(m, k, dtype=torch.float16, device="cuda")
            others = [dense] + [dense.clone() for _ in range(min(4, L2_BYTES // (2 * k * n)))]
            cublas = microseconds([lambda stream, o=o: torch.mm(xs, o, out=ys) for o in others] * max(1, 10 // len(others)))
            bench.note({"kind": "weights", "type": "f16", "k": k, "n": n, "m": m, "who": "cuBLAS", "us": cublas})
            text += f"; cuBLAS f16 {cublas:.2f} ({cublas / best['us']:.2f}x)"
            if marlin and kind == "u4":
                locks = torch.zeros(n // 128 * 16, dtype=torch.int32, device="cuda")
                def run(stream, w):
                    code = marlin.marlin_run(C.c_void_p(xs.data_ptr()), C.c_void_p(w.address), C.c_void_p(ys.data_ptr()),
                                             C.c_void_p(s.address), m, n, k, C.c_void_p(locks.data_ptr()), GROUP, C.c_void_p(stream))
                    assert code == 0, code
                us = microseconds([lambda stream, w=w: run(stream, w) for w in copies] * max(1, 20 // len(copies)))
                bench.note({"kind": "weights", "type": kind, "k": k, "n": n, "m": m, "who": "Marlin", "us": us})
                text += f"; Marlin {us:.2f} ({us / best['us']:.2f}x)"
            print(text, flush=True)
            del dense, others


# ---- Products and the rest: against PyTorch ----------------------------------------------------

def beside(bench, title, module, candidates, arguments, check, peer, floor_us):
    """Times the candidates of a kernel beside a peer."""
    jobs = [((title,), module, constants) for constants in candidates]
    best = None
    for _, plan in bench.plans(jobs):
        case = f"{title} {constants_text(plan.constants)}"
        try:
            call, y = arguments()
            work = plan.workspace(call, bench.memory)
            plan.run(call, work)
            torch.cuda.synchronize()
            apart = check(y)
        except Failure as failure:
            bench.note({"kind": "failure", "case": case, "error": str(failure)[:300]})
            continue
        if not apart < 3e-3:
            bench.note({"kind": "failure", "case": case, "error": f"differs by {apart:.2e}"})
            continue
        one = microseconds([lambda stream: plan.run(call, work, stream)] * 2)
        us = microseconds([lambda stream: plan.run(call, work, stream)] * repeats(one))
        row = {"kind": title, "who": "Tarsia", "constants": constants_text(plan.constants), "us": us, "apart": apart}
        bench.note(row)
        if best is None or us < best["us"]:
            best = row
    one = microseconds([lambda stream: peer()])
    us = one if one > 1e5 else microseconds([lambda stream: peer()] * repeats(one))
    bench.note({"kind": title, "who": "PyTorch", "us": us})
    if best:
        print(f"{title}: {best['us']:.1f} us, floor {floor_us:.1f} ({100 * floor_us / best['us']:.0f}%), {best['constants']}; "
              f"PyTorch {us:.1f} ({us / best['us']:.2f}x)", flush=True)


def apart(found, wanted):
    found, wanted = found.double(), wanted.double()
    return float(torch.linalg.norm(found - wanted) / torch.linalg.norm(wanted))


def call_of(bench, tensors, scalars):
    lib = bench.api
    list_of = [lib.pointer(t.data_ptr(), t.numel() * t.element_size()) for t in tensors]
    list_of += [lib.scalar(kind, value) for kind, value in scalars]
    return (Argument * len(list_of))(*list_of)


def gemm(bench):
    for n in (4096, 8192):
        a, b = (torch.randn(n, n, dtype=torch.float16, device="cuda") for _ in range(2))
        y = torch.empty_like(a)
        wanted = a @ b
        candidates = [{"M": n, "N": n, "K": n, "BM": bm, "BN": bn, "BK": bk, "WARPS": w, "STAGES": st}
                      for bm, bn, w in ((128, 128, 4), (128, 256, 8), (256, 128, 8)) for bk in (32, 64)
                      for st in (3, 4) if (bm + bn) * bk * st * 2 <= 220 << 10]
        out = torch.empty_like(a)
        beside(bench, f"product of f16, {n}^3", bench.module("gemm"), candidates,
               lambda: (y.fill_(float("nan")), (call_of(bench, (a, b, y), ()), y))[1], lambda found: apart(found, wanted),
               lambda: torch.mm(a, b, out=out), 2 * n**3 / 790e12 * 1e6)


def rows(bench):
    for d in (4096, 16384):
        rows_of = (1 << 28) // d
        x = torch.randn(rows_of, d, dtype=torch.float16, device="cuda")
        w = torch.randn(d, dtype=torch.float16, device="cuda")
        y = torch.empty_like(x)
        floor = 2 * x.numel() * 2 / bench.copy_rate / 1e3
        beside(bench, f"softmax of {rows_of} rows of {d}", bench.module("softmax"), [{"D": d, "BM": bm} for bm in (1, 2, 4, 8)],
               lambda: (y.fill_(float("nan")), (call_of(bench, (x, y), (("i32", rows_of),)), y))[1],
               lambda found: apart(found[:4096], torch.softmax(x[:4096].float(), 1)), lambda: torch.softmax(x, 1), floor)
        beside(bench, f"rms_norm of {rows_of} rows of {d}", bench.module("rms_norm"),
               [{"D": d, "BM": bm, "BK": bk} for bm in (1, 2, 4) for bk in (1024, 2048)],
               lambda: (y.fill_(float("nan")), (call_of(bench, (x, w, y), (("i32", rows_of), ("f32", 1e-6))), y))[1],
               lambda found: apart(found[:4096], torch.nn.functional.rms_norm(x[:4096].float(), (d,), w.float(), 1e-6)),
               lambda: torch.nn.functional.rms_norm(x, (d,), w, 1e-6), floor)


def attention(bench):
    heads, n = 32, 4096
    for d, causal in itertools.product((64, 128), (False, True)):
        q, k, v = (torch.randn(1, heads, n, d, dtype=torch.float16, device="cuda") for _ in range(3))
        y = torch.empty_like(q)
        sdpa = torch.nn.functional.scaled_dot_product_attention
        wanted = sdpa(q, k, v, is_causal=causal)
        flops = 4 * heads * n * n * d / (2 if causal else 1)
        beside(bench, f"attention, {heads} heads x {n} x {d}" + (", causal" if causal else ""), bench.module("attention"),
               [{"D": d, "LENGTH": n, "CAUSAL": "true" if causal else "false", "BM": bm, "BN": bn}
                for bm in (64, 128) for bn in (32, 64, 128)],
               lambda: (y.fill_(float("nan")), (call_of(bench, (q, k, v, y), (("i32", heads),)), y))[1], lambda found: apart(found, wanted),
               lambda: sdpa(q, k, v, is_causal=causal), flops / 790e12 * 1e6)
    n, d = 100_000, 3
    x, z = (torch.rand(n, d, device="cuda") for _ in range(2))
    b = torch.randn(n, device="cuda")
    u = torch.empty(n, device="cuda")

    def chunks():
        return torch.cat([torch.exp(-0.5 * ((part[:, None, :] - z[None]) ** 2).sum(2)) @ b for part in x.split(5000)])
    wanted = chunks()
    # An exponential a pair, 16 a cycle and processor; 5 operations of 128.
    floor = n * n / (132 * 16 * 1.98e9) * 1e6
    beside(bench, f"kernel product, {n} x {n}, d = {d}, f32", bench.module("kernel_matvec"), [{"D": d, "BM": bm, "BN": bn} for bm in (32, 64, 128) for bn in (16, 32, 64)],
           lambda: (u.fill_(float("nan")), (call_of(bench, (x, z, b, u), (("i32", n), ("i32", n), ("f32", 1.0))), u))[1],
           lambda found: apart(found, wanted), chunks, floor)


def held_by(run):
    """The result of a run, and by how many bytes the free memory of the GPU fell while it ran."""
    before = torch.cuda.mem_get_info()[0]
    least, done = [before], threading.Event()

    def watch():
        while not done.is_set():
            least.append(torch.cuda.mem_get_info()[0])
    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return before - min(least)


def reduce_case(bench, title, graph_file, graph, constants, inputs, outputs, matrix_bytes, peer, peer_result, floor_us, fast=False, edit=None):
    """A graph without a limit and below 1/100 of the matrix that it never makes, beside a peer."""
    module = bench.module(f"reduce/{graph_file}", edit)
    pairs = [[(t.data_ptr(), t.numel() * t.element_size()) for t in list_of] for list_of in (inputs, outputs)]
    peer()
    peer_us = wall_microseconds(peer, 3)
    bench.note({"kind": title, "who": "PyTorch", "us": peer_us})
    for limit in (0, matrix_bytes // 100):
        for quick in ((False, True) if fast else (False,)):
            who = "Tarsia" + (", fast" if quick else "") + (f", scratch at most {limit} bytes" if limit else "")
            try:
                plan = GraphPlan(bench.api, module, bench.device, graph, constants, limit, quick)
                for output in outputs:
                    output.view(torch.uint8).fill_(0xFF)
                arena = torch.empty(max(plan.info.peak, 1), dtype=torch.uint8, device="cuda")
                where = (arena.data_ptr(), arena.numel())
                torch.cuda.synchronize()
                plan.run(*pairs, where)
                error = apart(outputs[0], peer_result())
                torch.cuda.synchronize()
                more = held_by(lambda: plan.run(*pairs, where))
                us = wall_microseconds(lambda: plan.run(*pairs, where), 5)
            except Failure as failure:
                bench.note({"kind": "failure", "case": f"{title}, {who}", "error": str(failure)[:300]})
                continue
            row = {"kind": title, "who": who, "us": us, "peak": plan.info.peak, "memory_besides": more, "apart": error,
                   "kernels": plan.info.kernel_count, "steps": plan.info.step_count}
            bench.note(row if error < 3e-3 else {"kind": "failure", "case": f"{title}, {who}", "error": f"differs by {error:.2e}"})
            print(f"{title}: {who}: {us:.0f} us, floor {floor_us:.0f}, PyTorch {peer_us:.0f} ({peer_us / us:.2f}x), peak {plan.info.peak}, besides {more}, error {error:.1e}", flush=True)


def keops(bench):
    """The product of `reduce` by KeOps."""
    from pykeops.torch import Genred
    n, d = 200_000, 3
    x, z = (torch.rand(n, d, device="cuda") for _ in range(2))
    v = torch.randn(n, 1, device="cuda")
    product = Genred("Exp(-SqDist(X,Z)*IntInv(2))*V", [f"X=Vi({d})", f"Z=Vj({d})", "V=Vj(1)"], reduction_op="Sum",
                     axis=1)
    product(x, z, v, backend="GPU")  # compiles
    us = wall_microseconds(lambda: product(x, z, v, backend="GPU"), 5)
    bench.note({"kind": f"RBF matvec, {n} x {n} x {d}", "who": "KeOps", "us": us})
    print(f"RBF matvec: KeOps: {us:.0f} us", flush=True)


def reduce(bench):
    processors, clock = torch.cuda.get_device_properties(0).multi_processor_count, 1.98e9
    n, d = 200_000, 3
    x, z = (torch.rand(n, d, device="cuda") for _ in range(2))
    v = torch.randn(n, device="cuda")
    y = torch.empty(n, device="cuda")
    result = {}

    def chunks():
        squares = (z * z).sum(1)
        result["rbf"] = torch.cat([torch.exp(-0.5 * ((p * p).sum(1)[:, None] + squares - 2 * p @ z.T)) @ v for p in x.split(5000)])
    reduce_case(bench, f"RBF matvec, {n} x {n} x {d}", "rbf", "rbf", {"n": n, "m": n, "d": d}, (x, z, v), (y,), n * n * 4, chunks,
                lambda: result["rbf"], n * n / (processors * 16 * clock) * 1e6)
    n, m, d, k = 10_000, 500_000, 100, 10
    x, z = torch.randn(n, d, device="cuda"), torch.randn(m, d, device="cuda")
    distance, at = torch.empty(n, k, device="cuda"), torch.empty(n, k, dtype=torch.int64, device="cuda")

    def nearest():
        squares, parts = (z * z).sum(1), []
        for p in x.split(2000):
            parts.append(torch.topk((p * p).sum(1)[:, None] + squares - 2 * p @ z.T, k, dim=1, largest=False)[0])
        result["knn"] = torch.cat(parts)
    reduce_case(bench, f"k-NN L2, {n} x {m} x {d}, k = {k}", "knn", "knn", {"n": n, "m": m, "d": d, "k": k}, (x, z), (distance, at), n * m * 4,
                nearest, lambda: result["knn"], 2 * n * m * d / 60e12 * 1e6, fast=True)
    heads, n, d = 16, 8192, 64
    q, key, value = (torch.randn(heads, n, d, device="cuda") for _ in range(3))
    y = torch.empty_like(q)

    def sdpa():
        result["attention"] = torch.nn.functional.scaled_dot_product_attention(q[None], key[None], value[None])[0]
    reduce_case(bench, f"attention, {heads} heads x {n} x {d}, f32", "attention", "attention", {"heads": heads, "n": n, "d": d}, (q, key, value), (y,),
                heads * n * n * 4, sdpa, lambda: result["attention"], 4 * heads * n * n * d / 60e12 * 1e6,
                edit=lambda text: text.replace("select(iota<j> <= iota<i>, %s, -inf)", "%s"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libtarsia", help="libtarsia.so")
    parser.add_argument("--examples", default=str(ROOT / "examples"))
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--sections", default="weights,gemm,rows,attention,reduce")
    parser.add_argument("--kinds", help="types of weights, separated by commas; all without")
    parser.add_argument("--candidates", help="a JSON file with pairs of a program of weights and constants")
    parser.add_argument("--shapes", help="only weights of these K and N: 8192x8192,...")
    parser.add_argument("--rows", help="only weights times so many rows: 1,16,...")
    parser.add_argument("--marlin", help="a library with marlin_run")
    parser.add_argument("--threads", type=int, default=14, help="that compile (default: %(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="small sizes, no times")
    options = parser.parse_args()
    bench = Bench(options)
    if not options.rehearse:
        big = torch.empty(1 << 29, dtype=torch.int32, device="cuda")
        other = torch.empty_like(big)
        us = microseconds([lambda stream: torch.add(big, 1, out=other)] * 3)
        bench.copy_rate = 2 * big.numel() * 4 / us / 1e3  # GB/s
        print(f"{torch.cuda.get_device_name()}: copy {bench.copy_rate:.0f} GB/s", flush=True)
        bench.note({"kind": "copy", "device": torch.cuda.get_device_name(), "gigabytes_per_second": bench.copy_rate})
        del big, other
    sections = {"weights": weights, "gemm": gemm, "rows": rows, "attention": attention, "reduce": reduce,
                "keops": keops}
    for section in options.sections.split(","):
        try:
            sections[section](bench)
        except Exception as failure:  # the other sections still run
            bench.note({"kind": "failure", "case": section, "error": repr(failure)[:500]})
        bench.write()
    failures = sum(row["kind"] == "failure" for row in bench.rows)
    print(f"{len(bench.rows)} rows, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
