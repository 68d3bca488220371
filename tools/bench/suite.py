#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the programs of the suite beside numpy, jax, torch, onnxruntime and BLIS. See README.md."""

import argparse
import ctypes
import functools
import html
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import bench
import needs
import peers
import suite_peers

MODULES = ["numpy", "jax", "torch", "onnxruntime"]
PEERS = [*MODULES, "blis"]
BOUNDS = {"f64": 1e-10, "c128": 1e-10, "bf16": 3e-2, "f16": 4e-3}
BOUND = 2e-4  # of f32 and c64, over the greatest magnitude: sums of another order
BLIS_DTYPES = {"f32": 0, "f64": 1}
CUBE, PRODUCTS = 1024, 10  # of numpy and BLIS, before all
LEAST_RATE = 0.8  # of numpy over BLIS


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/suite", description=__doc__)
    parser.add_argument("--families", help="beginnings of families, separated by commas (default all)")
    parser.add_argument("--programs", help="a part of the names (default all)")
    parser.add_argument("--peers", default=",".join(PEERS), help="which of them, separated by commas; '' for none")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each contestant (default 7)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wall", action="store_true", help="time that passes, not what the process runs")
    parser.add_argument("--neighbour", action="store_true", help="another process keeps the next processor busy")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--svg", help="file for a plot of speeds by family")
    parser.add_argument("--library", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    if any(name not in PEERS for name in options.peers):
        parser.error(f"--peers takes some of {', '.join(PEERS)}")
    if options.rounds < 1:
        parser.error("--rounds takes a positive number")
    if options.threads > 1 and not options.wall:
        parser.error("more than one thread needs --wall: processor time adds up that of all threads")
    return options


# ---- weft ----


class Program(ctypes.Structure):
    _fields_ = [("family", ctypes.c_char_p), ("name", ctypes.c_char_p), ("inputs", ctypes.c_char_p),
                ("trace", ctypes.c_void_p), ("flops", ctypes.c_double)]


class Suite:
    def __init__(self, path):
        import native

        self.library = native.Library(path)
        self.c, self.facts = self.library.c, native.Facts
        pointer, size, i64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
        for name, result, arguments in (
            ("weft_suite_count", size, []),
            ("weft_suite_at", ctypes.POINTER(Program), [size]),
            ("weft_suite_create", pointer, [size, ctypes.c_uint, ctypes.c_int, pointer, ctypes.POINTER(pointer)]),
            ("weft_suite_destroy", None, [pointer]),
            ("weft_suite_facts_of", ctypes.POINTER(native.Facts), [pointer]),
            ("weft_suite_input_count", size, [pointer]),
            ("weft_suite_array", pointer, [pointer, size]),
            ("weft_suite_run", pointer, [pointer, i64, ctypes.POINTER(i64)]),
            ("weft_suite_peak", ctypes.c_double, [ctypes.c_bool]),
            ("weft_bench_blis", None, [ctypes.c_bool, i64, i64, i64, pointer, pointer, pointer]),
            ("weft_array_data", pointer, [pointer]),
            ("weft_array_dtype", ctypes.c_int, [pointer]),
            ("weft_array_rank", size, [pointer]),
            ("weft_array_shape", ctypes.POINTER(i64), [pointer]),
            ("weft_dtype_name", ctypes.c_char_p, [ctypes.c_int]),
        ):
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments
        self.peaks = {4: self.c.weft_suite_peak(False), 8: self.c.weft_suite_peak(True)}

    def programs(self):
        return [self.c.weft_suite_at(i).contents for i in range(self.c.weft_suite_count())]

    @functools.cache
    def copy_rate(self, threads, power):
        return self.c.weft_bench_bandwidth(threads, 1 << power)

    def multiply(self, a, b, c):
        """By BLIS, on one thread."""
        (m, k), n = a.shape, b.shape[1]
        self.c.weft_bench_blis(a.itemsize == 8, m, n, k, a.ctypes.data, b.ctypes.data, c.ctypes.data)
        return c


class Ready:
    """One program, compiled and run once. `extents`: weft_suite_extents of suite.h."""

    def __init__(self, suite, index, threads, extents=0, arrays_of=None):
        self.suite, self.threads, self.handle = suite, threads, ctypes.c_void_p()
        create, arrays = suite.c.weft_suite_create, arrays_of and arrays_of.handle
        suite.library.try_(create(index, threads, extents, arrays, ctypes.byref(self.handle)))
        self.program = suite.c.weft_suite_at(index).contents
        self.facts = suite.c.weft_suite_facts_of(self.handle).contents
        self.types, self.arrays = [], []
        while array := suite.c.weft_suite_array(self.handle, len(self.arrays)):
            self.add(array)
        count = suite.c.weft_suite_input_count(self.handle)
        self.inputs, self.results = self.arrays[:count], self.arrays[count:]

    def add(self, array):
        import numpy

        c = self.suite.c
        name = c.weft_dtype_name(c.weft_array_dtype(array)).decode()
        dtype, shape = numpy_dtype(name), tuple(c.weft_array_shape(array)[: c.weft_array_rank(array)])
        memory = (ctypes.c_char * max(1, math.prod(shape) * dtype.itemsize)).from_address(c.weft_array_data(array))
        self.types.append(name)
        self.arrays.append(numpy.frombuffer(memory, dtype=dtype, count=math.prod(shape)).reshape(shape))

    def run(self, repeat):
        spent = ctypes.c_int64()
        self.suite.library.try_(self.suite.c.weft_suite_run(self.handle, repeat, ctypes.byref(spent)))
        return spent.value

    def flops(self):
        """Those of a contraction of two operands follow from its text."""
        name = self.program.name.decode()
        if self.program.family != b"einsum" or len(self.arrays) != 3:
            return self.program.flops
        terms = name.split("->")[0].split(",")
        extents = {label: extent for term, array in zip(terms, self.arrays) for label, extent in zip(term, array.shape)}
        return 2 * math.prod(extents.values())

    def floor_ns(self):
        """What the bytes take at the rate of a copy of as many, or the flops at the peak, on all threads."""
        moved = sum(array.nbytes for array in self.arrays)
        size = {"f64": 8, "c128": 8}.get(self.types[0], 4)
        power = max(12, min(27, moved.bit_length() - 1))
        return max(moved / self.suite.copy_rate(self.threads, power),
                   self.flops() / (self.threads * self.suite.peaks[size])) * 1e9

    def close(self):
        for arrays in (self.arrays, self.inputs, self.results):
            arrays.clear()
        self.suite.c.weft_suite_destroy(self.handle)


def numpy_dtype(name):
    import numpy

    if name == "bf16":
        import ml_dtypes

        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype("?" if name == "bool" else name[0] + str(int(name[1:]) // 8))


# ---- the peers: what runs a way, and how its result becomes an array of numpy ----


def make_numpy(way, ready):
    import numpy

    return functools.partial(way, numpy, *ready.inputs), numpy.asarray


def make_jax(way, ready):
    import jax
    import numpy

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    inputs = [jax.device_put(array) for array in ready.inputs]
    jitted = jax.jit(functools.partial(way, jax.numpy))
    jitted(*inputs)
    return lambda: jax.block_until_ready(jitted(*inputs)), numpy.asarray


def make_torch(way, ready):
    import numpy
    import torch

    torch.set_num_threads(int(os.environ["NPROC"]))
    torch.set_grad_enabled(False)

    def tensor(name, array):
        return torch.from_numpy(array.view(numpy.uint16)).view(torch.bfloat16) if name == "bf16" else torch.from_numpy(array)

    inputs = [tensor(*pair) for pair in zip(ready.types, ready.inputs)]
    return (functools.partial(way, torch, *inputs),
            lambda x: (x.float() if x.dtype == torch.bfloat16 else x.resolve_conj()).numpy())


def make_onnxruntime(nodes, ready):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["NPROC"])
    options.inter_op_num_threads = 1
    arrays = ready.arrays
    session = onnxruntime.InferenceSession(peers.model_of(nodes, arrays), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for value, array in zip(session.get_inputs(), arrays):
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    result = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(arrays[-1]))
    binding.bind_ortvalue_output("y", result)

    def run():
        session.run_with_iobinding(binding)
        return result

    return run, lambda x: x.numpy()


def make_blis(way, ready):
    import numpy

    a, b, c = ready.arrays
    made = numpy.zeros_like(c)
    return functools.partial(ready.suite.multiply, a, b, made), numpy.asarray


MAKERS = {"numpy": make_numpy, "jax": make_jax, "torch": make_torch, "onnxruntime": make_onnxruntime, "blis": make_blis}


def ways_of(ready):
    """Those of the peers, and BLIS where the program is one product of matrices as they lie."""
    family, name = ready.program.family.decode(), ready.program.name.decode()
    ways = dict(suite_peers.ways_of(family, name))
    shapes = [array.shape for array in ready.arrays]
    multiplies = (family.endswith("products") and ".T" not in name and len(shapes) == 3 and
                  [len(shape) for shape in shapes] == [2, 2, 2])
    if multiplies and ready.types[0] in BLIS_DTYPES and ready.threads == 1:
        ways["blis"] = None
    return ways


def refuse_slow(numpy_ns, blis_ns, core):
    """OpenBLAS does not know every processor, and nothing that numpy is compared with then says anything."""
    if blis_ns < LEAST_RATE * numpy_ns:
        sys.exit(f"suite: numpy's product of {CUBE} runs at {blis_ns / numpy_ns:.2f} of that of BLIS, with OpenBLAS's "
                 f"core {core}: nothing to quote")


def check_numpy(suite):
    import numpy

    a, b = (numpy.random.default_rng(seed).random((CUBE, CUBE), "f4") for seed in (1, 2))
    c = numpy.empty_like(a)
    runs = functools.partial(numpy.matmul, a, b, out=c), functools.partial(suite.multiply, a, b, c)
    least = [math.inf, math.inf]
    for _ in range(PRODUCTS):
        least = [min(ns, timed(function, time.process_time_ns, 1)) for ns, function in zip(least, runs)]
    refuse_slow(*least, peers.core_in_use())


def difference(ours, theirs):
    """Over the greatest magnitude."""
    import numpy

    if ours.shape != theirs.shape:
        return math.inf
    wide = numpy.complex128 if ours.dtype.kind == "c" else numpy.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with numpy.errstate(invalid="ignore"):
        most = numpy.max(numpy.where(a == b, 0, numpy.abs(a - b)), initial=0)
    return float(most / max(1e-30, numpy.max(numpy.abs(b), initial=0)))


def timed(function, clock, repeat):
    begin = clock()
    for _ in range(repeat):
        function()
    return clock() - begin


# ---- measuring ----


def measure(suite, index, options):
    ready = Ready(suite, index, options.threads)
    family, name = ready.program.family.decode(), ready.program.name.decode()
    clock = time.perf_counter_ns if options.wall else time.process_time_ns
    runs, differs = {"weft": functools.partial(bench_run, ready, clock)}, {}
    try:
        for peer, way in ways_of(ready).items():
            if peer not in options.peers:
                continue
            function, convert = MAKERS[peer](way, ready)
            made = function()
            theirs = [convert(array) for array in (made if len(ready.results) > 1 else [made])]
            found = max(map(difference, ready.results, theirs))
            if not found <= BOUNDS.get(ready.types[-1], BOUND):
                differs[peer] = found
                print(f"{family}: {name}: {peer} differs by {found:.2g}", file=sys.stderr)
                continue
            runs[peer] = functools.partial(timed, function, clock)
        times = bench.sample(runs, options.rounds, options.threads)
        facts = ready.facts
        return {"family": family, "name": name, "floor_ns": ready.floor_ns(), "times_ns": times, "differs": differs,
                "median_ns": {key: statistics.median(values) for key, values in times.items()},
                "relative": {key: bench.paired(values, times["weft"]) for key, values in times.items() if key != "weft"},
                "peak_bytes": facts.peak_bytes, "steps": facts.steps,
                "compile_ms": (facts.program_ns + facts.compile_ns) / 1e6}
    finally:
        runs.clear()
        ready.close()


def bench_run(ready, clock, repeat):
    begin = clock()
    ready.run(repeat)
    return clock() - begin


def chosen(programs, options):
    starts = tuple((options.families or "").split(","))
    found = [i for i, program in enumerate(programs)
             if program.family.decode().startswith(starts) and (options.programs or "") in program.name.decode()]
    if not found:
        sys.exit("the suite has no such program; see --families and --programs")
    return found


def start_neighbour(options):
    """Keeps the processor after those of the contestants busy with multiplications until this process ends."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) <= options.threads:
        sys.exit("suite: --neighbour needs a processor more than there are threads")
    code = ("import ctypes, os, sys\nos.sched_setaffinity(0, [int(sys.argv[2])])\nc = ctypes.CDLL(sys.argv[1])\n"
            "while os.getppid() == int(sys.argv[3]): c.weft_suite_peak(False)")
    return subprocess.Popen([sys.executable, "-c", code, options.library, str(processors[options.threads]),
                             str(os.getpid())])


def work(options):
    neighbour = start_neighbour(options) if options.neighbour else None
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    peers.limit_threads(options.threads)
    suite = Suite(options.library)
    if "numpy" in options.peers and options.threads == 1:
        check_numpy(suite)  # BLIS has one thread
    results = []
    for index in chosen(suite.programs(), options):
        results.append(measure(suite, index, options))
        print(line_of(results[-1]), file=sys.stderr)
    if neighbour is not None:
        neighbour.kill()
    json.dump({"machine": bench.machine(), "threads": options.threads, "wall": options.wall,
               "neighbour": options.neighbour,
               "versions": peers.versions([name for name in options.peers if name in MODULES]),
               "peak_flops": suite.peaks[4], "results": results}, sys.stdout)


# ---- reporting ----


def best_of(result):
    """The fastest peer, and weft's speed relative to it; None where there is none."""
    return min(((value, name) for name, value in result["relative"].items()), default=None)


def line_of(result):
    best = best_of(result)
    cells = [result["family"], result["name"], bench.scaled(result["median_ns"]["weft"]), bench.scaled(result["floor_ns"]),
             bench.scaled(result["median_ns"][best[1]]) + " " + best[1] if best else "-", f"{best[0]:.2f}" if best else "-"]
    return "| " + " | ".join(cells) + " |"


def families_of(results):
    families = {}
    for result in results:
        if best_of(result):
            families.setdefault(result["family"], []).append(best_of(result)[0])
    return families


def print_tables(run):
    about, versions = run["machine"], "".join(f", {name} {text}" for name, text in run["versions"].items())
    print(f"{about['cpu']}, threads: {run['threads']}, {'time' if run['wall'] else 'processor time'}, "
          f"{'beside a busy neighbour, ' if run['neighbour'] else ''}load {about['load']:.1f}, "
          f"{run['peak_flops'] / 1e9:.0f} GF/s{versions}, {about['date']}\n")
    print("| family | program | weft | floor | best peer | speed |\n|---|---|---:|---:|---:|---:|")
    for result in run["results"]:
        print(line_of(result))
    print("\n| family | programs | geometric mean | least | behind (below 0.95) |\n|---|---:|---:|---:|---:|")
    for family, speeds in families_of(run["results"]).items():
        behind = sum(speed < 0.95 for speed in speeds)
        print(f"| {family} | {len(speeds)} | {statistics.geometric_mean(speeds):.2f} | {min(speeds):.2f} | {behind} |")


def svg_of(run):
    """A row for each family: a dot for each program, a bar at the geometric mean; a logarithmic axis from 1/4 to 16."""
    width, left, row = 720, 140, 24
    families = families_of(run["results"])
    height = row * (len(families) + 2)

    def across(speed):
        return left + (width - left - 20) * (math.log2(min(16, max(0.25, speed))) + 2) / 6

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>']
    for speed in (0.25, 0.5, 1, 2, 4, 8, 16):
        x, colour = across(speed), "#444" if speed == 1 else "#ddd"
        parts.append(f'<path d="M{x:.1f} 8V{height - row}" stroke="{colour}"/>'
                     f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{speed:g}</text>')
    for number, (family, speeds) in enumerate(families.items()):
        y = row * (number + 1)
        parts.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{html.escape(family)}</text>')
        parts += [f'<circle cx="{across(speed):.1f}" cy="{y}" r="3" fill="#2a6fbb" fill-opacity="0.5"/>' for speed in speeds]
        x = across(statistics.geometric_mean(speeds))
        parts.append(f'<path d="M{x:.1f} {y - 8}V{y + 8}" stroke="#c0392b" stroke-width="3"/>')
    return "\n".join([*parts, "</svg>\n"])


def main():
    options = parse_arguments()
    if options.worker:
        modules = [name for name in options.peers if name in MODULES]
        needs.modules("numpy", "ml_dtypes", *modules, *(["onnx"] if "onnxruntime" in modules else []))
        work(options)
        return
    command = [sys.executable, "-B", __file__, *sys.argv[1:], "--worker"]
    worker = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **peers.MEMORY}, check=False)
    if worker.returncode != 0:
        sys.exit(worker.returncode)
    run = json.loads(worker.stdout)
    print_tables(run)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(run, indent=1), encoding="utf-8")
    if options.svg:
        pathlib.Path(options.svg).write_text(svg_of(run), encoding="utf-8")


if __name__ == "__main__":
    main()
