#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times draws of 2^20 numbers on one thread, beside numpy's generators, torch and jax, those of them that are installed.

Usage: random_numbers.py BUILD [ROUNDS]. Prints milliseconds of processor time: the least of all rounds, in which the
contestants take turns. Keys are new in every round; results are written to arrays that exist, except by jax.
"""
import ctypes
import os
import pathlib
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test"))

from binding import Weft, numpy

COUNT = 1 << 20
F32, F64, I32, U32 = numpy.float32, numpy.float64, numpy.int32, numpy.uint32
CASES = ["uniform f32", "uniform f64", "normal f32", "normal f64", "exponential f32", "digits i32", "gamma f32",
         "permutation"]


def weft_draws(build):
    weft = Weft(pathlib.Path(build) / "lib" / "libweft.so", ["llvm"])
    number = lambda value: weft.extent_of(ctypes.c_int64(value))
    shape = lambda graph: weft.shape(graph, [COUNT])
    floats = lambda name, dtype, *more: lambda g, key: weft.trace(
        "random_" + name, key, weft.dtype(dtype), shape(g), *more)
    alpha = lambda g: weft.trace("scalar", g, weft.dtype(F32), 2.5)
    traces = {
        "uniform f32": (floats("uniform", F32, 0.0, 1.0), F32), "uniform f64": (floats("uniform", F64, 0.0, 1.0), F64),
        "normal f32": (floats("normal", F32), F32), "normal f64": (floats("normal", F64), F64),
        "exponential f32": (floats("exponential", F32), F32),
        "digits i32": (floats("integers", I32, number(0), number(10)), I32),
        "gamma f32": (lambda g, key: weft.trace("random_gamma", key, alpha(g), shape(g)), F32),
        "permutation": (lambda g, key: weft.trace("random_permutation", key, number(COUNT)), numpy.int64),
    }

    def prepare(trace, dtype):
        graph, key, out = weft.create_graph(), numpy.zeros(2, U32), numpy.empty(COUNT, dtype)
        program = weft.compile(graph, [trace(graph, weft.input(graph, "x0", U32, [2]))])

        def draw():
            key[0] += 1
            weft.run(program, [key], [dtype], [out], runtime=b"llvm")
        return draw
    return {name: prepare(*row) for name, row in traces.items()}


def numpy_draws(bits):
    generator, f32, f64 = numpy.random.Generator(bits), numpy.empty(COUNT, F32), numpy.empty(COUNT)
    return {"uniform f32": lambda: generator.random(dtype=F32, out=f32), "uniform f64": lambda: generator.random(out=f64),
            "normal f32": lambda: generator.standard_normal(dtype=F32, out=f32),
            "normal f64": lambda: generator.standard_normal(out=f64),
            "exponential f32": lambda: generator.standard_exponential(dtype=F32, out=f32),
            "digits i32": lambda: generator.integers(0, 10, COUNT, I32),
            "gamma f32": lambda: generator.standard_gamma(2.5, dtype=F32, out=f32),
            "permutation": lambda: generator.permutation(COUNT)}


def torch_draws():
    import torch
    torch.set_num_threads(1)
    f32, f64, i32 = torch.empty(COUNT), torch.empty(COUNT, dtype=torch.float64), torch.empty(COUNT, dtype=torch.int32)
    alpha = torch.full((COUNT,), 2.5)
    return {"uniform f32": f32.uniform_, "uniform f64": f64.uniform_, "normal f32": f32.normal_, "normal f64": f64.normal_,
            "exponential f32": f32.exponential_, "digits i32": lambda: i32.random_(0, 10),
            "gamma f32": lambda: torch._standard_gamma(alpha), "permutation": lambda: torch.randperm(COUNT)}


def jax_draws():
    import jax
    jax.config.update("jax_enable_x64", True)
    r, shape, state = jax.random, (COUNT,), [0]
    draws = {"uniform f32": lambda k: r.uniform(k, shape, F32), "uniform f64": lambda k: r.uniform(k, shape, F64),
             "normal f32": lambda k: r.normal(k, shape, F32), "normal f64": lambda k: r.normal(k, shape, F64),
             "exponential f32": lambda k: r.exponential(k, shape, F32),
             "digits i32": lambda k: r.randint(k, shape, 0, 10, I32),
             "gamma f32": lambda k: r.gamma(k, F32(2.5), shape, F32), "permutation": lambda k: r.permutation(k, COUNT)}

    def prepare(draw):
        jitted = jax.jit(draw)

        def run():
            state[0] += 1
            jitted(r.key(state[0])).block_until_ready()
        return run
    return {name: prepare(draw) for name, draw in draws.items()}


def contestants(build):
    yield "weft", weft_draws(build)
    yield "numpy Philox", numpy_draws(numpy.random.Philox(1))
    yield "numpy PCG64", numpy_draws(numpy.random.PCG64(1))
    for name, make in (("torch", torch_draws), ("jax", jax_draws)):
        try:
            yield name, make()
        except ImportError:
            print(name, "is not installed")


def main(build, rounds=15):
    least, all_of_them = {}, list(contestants(build))
    for _ in range(int(rounds)):
        for case in CASES:
            for name, draws in all_of_them:
                start = time.process_time()
                draws[case]()
                spent = (time.process_time() - start) * 1e3
                least[case, name] = min(spent, least.get((case, name), spent))
    print("| 2^20 of | " + " | ".join(name for name, _ in all_of_them) + " |")
    print("|---|" + "---:|" * len(all_of_them))
    for case in CASES:
        print("| " + case + " | " + " | ".join("%.1f" % least[case, name] for name, _ in all_of_them) + " |")


if __name__ == "__main__":
    main(*sys.argv[1:])
