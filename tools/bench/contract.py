#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contracts instances with weft, numpy, torch and jax, alternating, in weft's order and in the peers' own. See
README.md."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import instance as forms

DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
PEERS = ("numpy", "torch", "jax")
CALM_S = 0.05  # thread pools spin for a while after their last call


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/contract", description=__doc__)
    parser.add_argument("instances", nargs="+", help="instance files")
    parser.add_argument("--dtype", choices=DTYPES, default="f32", help="of the operands (default f32)")
    parser.add_argument("--threads", type=int, default=1, help="of everyone (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="of all contestants (default 5)")
    parser.add_argument("--repeat", type=int, default=5, help="calls in each round; the median counts (default 5)")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of " + ", ".join(PEERS) + " (default all)")
    parser.add_argument("--most", type=float, default=11, help="log10 of multiplications beyond which nothing is run")
    parser.add_argument("--largest", type=float, default=27, help="log2 of the elements of a result, likewise")
    parser.add_argument("--json", help="file that gets a line for each instance")
    parser.add_argument("--weft", help=argparse.SUPPRESS)
    parser.add_argument("--weft-option", action="append", default=[], help="one more word of weft's command line")
    return parser.parse_args()


def limit_threads(threads):
    """Before the peers are imported."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)
    eigen = "false" if threads == 1 else "true"
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={threads}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


# ---- data ----


def draw_operands(x, dtype, seed):
    """Positive, or nearly so, that nothing cancels; scaled so that results are around 1, however many terms they sum."""
    import numpy

    draw = numpy.random.default_rng(seed)
    labels = {label for labels in x.inputs for label in labels}
    log2 = [math.log2(max(size, 1)) for size in x.sizes]
    summed = sum(log2[label] for label in labels) - sum(log2[label] for label in x.output)
    sizes = [sum(log2[label] for label in labels) for labels in x.inputs]
    share = summed / sum(sizes) if sum(sizes) > 0 else 0
    operands = []
    for shape, size in zip(x.shapes, sizes):
        values = draw.random(shape) + 0.5
        if dtype.startswith("c"):
            values = values + 0.1j * (draw.random(shape) - 0.5)
        operands.append((numpy.asarray(values) * 2 ** (-share * size)).astype(DTYPES[dtype]))
    return operands


def differ(x, pairs, dtype, a, b):
    """Whether rounding does not explain the difference: errors of the terms that each element sums, one by one."""
    import numpy

    terms = sum(1 + work / size for work, size in forms.steps(x, pairs) if size)
    bound = 16 * numpy.finfo(DTYPES[dtype]).eps * math.sqrt(terms)
    return a.shape != b.shape or not (abs(a - b) <= bound * numpy.maximum(abs(a), abs(b))).all()


# ---- weft ----


class Weft:
    """Through the command: each call is a process, which compiles anew and runs `repeat` times."""

    def __init__(self, options, x, operands, folder):
        import numpy

        self.options, self.folder = options, folder
        terms = ["[" + " ".join(map(str, labels)) + "]" for labels in [*x.inputs, x.output]]
        files = []
        for number, operand in enumerate(operands):
            files.append(f"{number}.npy")
            numpy.save(folder / files[-1], operand)
        self.words = ["einsum", ",".join(terms[:-1]) + "->" + terms[-1], *files]
        self.find_order(x)

    def call(self, *words):
        done = subprocess.run([self.options.weft, *self.words, "--stats", "--threads", str(self.options.threads), *words],
                              capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.splitlines()

    def find_order(self, x):
        order, stats = self.call("--plan-only", "--print-order", "ssa", *self.options.weft_option)[-2:]
        self.pairs = [tuple(pair) for pair in json.loads(order)]
        self.plan_ms = json.loads(stats)["plan_ms"]
        (self.folder / "order").write_text(order)

    def run(self):
        stats = json.loads(self.call("--order", "order", "-o", "out.npy", "--repeat", str(self.options.repeat))[-1])
        self.compile_ms = stats["compile_ms"]
        return stats["run_ms"]

    def result(self):
        import numpy

        return numpy.load(self.folder / "out.npy")


# ---- peers, each through opt_einsum: pairs in the given order, or in the one it finds ----


class Peer:
    def __init__(self, name, x, operands, pairs, options):
        import opt_einsum

        symbol = opt_einsum.get_symbol
        terms = ["".join(map(symbol, labels)) for labels in [*x.inputs, x.output]]
        text = ",".join(terms[:-1]) + "->" + terms[-1]
        optimize = "auto" if pairs is None else forms.to_path(pairs, len(x.inputs))
        begin = time.perf_counter()
        path, _ = opt_einsum.contract_path(text, *x.shapes, shapes=True, optimize=optimize)
        self.plan_ms = (time.perf_counter() - begin) * 1e3
        self.pairs = forms.from_path(path, len(x.inputs))
        if not fits(options, x, self.pairs):
            raise ValueError("its order takes 10^%.1f multiplications, its largest result 2^%.1f elements" %
                             forms.cost(x, self.pairs))
        expression = opt_einsum.contract_expression(text, *x.shapes, optimize=path)
        self.repeat, self.compile_ms = options.repeat, None
        getattr(self, "bind_" + name)(expression, operands)

    def bind_numpy(self, expression, operands):
        self.function = lambda: expression(*operands, backend="numpy")

    def bind_torch(self, expression, operands):
        import torch

        torch.set_num_threads(int(os.environ["NPROC"]))
        tensors = [torch.from_numpy(operand) for operand in operands]
        self.function = lambda: expression(*tensors, backend="torch")

    def bind_jax(self, expression, operands):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        arrays = [jax.device_put(operand) for operand in operands]
        begin = time.perf_counter()
        compiled = jax.jit(lambda *given: expression(*given, backend="jax")).lower(*arrays).compile()
        self.compile_ms = (time.perf_counter() - begin) * 1e3
        self.function = lambda: compiled(*arrays).block_until_ready()

    def run(self):
        times = []
        for _ in range(self.repeat):
            begin = time.perf_counter()
            self.value = self.function()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3

    def result(self):
        import numpy

        return numpy.asarray(self.value)


# ---- measuring ----


def fits(options, x, pairs):
    flops, size = forms.cost(x, pairs)
    return flops <= options.most and size <= options.largest


def contestants(options, x, operands, folder):
    """By name; one that fails says why on standard error."""
    weft = Weft(options, x, operands, folder)
    made = {"weft": weft}
    if not fits(options, x, weft.pairs):
        return made, False
    for name in options.peers.split(","):
        for order, pairs in (("our order", weft.pairs), ("own order", None)):
            try:
                peer = Peer(name, x, operands, pairs, options)
                peer.run()
                made[f"{name}, {order}"] = peer
            except Exception as failure:  # of whatever kind: limits on labels, on axes, on memory
                print(f"{x.name}, {name}, {order}: {type(failure).__name__}: {str(failure)[:200]}", file=sys.stderr)
    return made, True


def measure(options, path, folder):
    x = forms.load(path)
    operands = draw_operands(x, options.dtype, 1)
    made, runs = contestants(options, x, operands, folder)
    times = {name: [] for name in made}
    names = list(made)
    for round_ in range(options.rounds if runs else 0):
        for name in names[round_ % len(names):] + names[:round_ % len(names)]:
            time.sleep(CALM_S if options.threads > 1 else 0)
            times[name].append(made[name].run())
    result = made["weft"].result() if runs else None
    rows = {}
    for name, who in made.items():
        flops, size = forms.cost(x, who.pairs)
        rows[name] = {"log10_flops": flops, "log2_size": size, "plan_ms": who.plan_ms, "times_ms": times[name]}
        if runs:
            rows[name]["compile_ms"] = who.compile_ms
            rows[name]["differs"] = differ(x, made["weft"].pairs, options.dtype, result, who.result())
    return {"instance": x.name, "dtype": options.dtype, "threads": options.threads, "contestants": rows}


def number(value, digits=4):
    return "-" if value is None else f"{value:.{digits}g}"


def print_table(measured):
    print("| instance | contestant | log10 multiplies | log2 size | planning ms | compiling ms | running ms (least) | "
          "weft is faster by | agrees |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for one in measured:
        rows = one["contestants"]
        for name, row in rows.items():
            times, speed = row["times_ms"], None
            if times:
                speed = statistics.median(t / w for t, w in zip(times, rows["weft"]["times_ms"]))
            run = f"{statistics.median(times):.4g} ({min(times):.4g})" if times else "not run"
            print(f"| {one['instance']}, {one['dtype']} | {name} | {row['log10_flops']:.3f} | {row['log2_size']:.1f} | "
                  f"{row['plan_ms']:.4g} | {number(row.get('compile_ms'))} | {run} | {number(speed, 3)} | "
                  f"{'-' if not times else 'no' if row['differs'] else 'yes'} |")


def main():
    options = parse_arguments()
    limit_threads(options.threads)
    measured = []
    for path in options.instances:
        with tempfile.TemporaryDirectory() as folder:
            measured.append(measure(options, path, pathlib.Path(folder)))
        if options.json:
            with open(options.json, "a") as log:
                print(json.dumps(measured[-1]), file=log)
    print_table(measured)
    sys.exit(any(row.get("differs") for one in measured for row in one["contestants"].values()))


if __name__ == "__main__":
    main()
