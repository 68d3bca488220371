#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies permuted tensors with weft, numpy, torch and jax, alternating, beside memcpy of as many bytes. See README.md."""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import contestants
import needs

DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
RANKS = (2, 3, 5, 8, 12, 16, 20)
PEERS = ("numpy", "torch", "jax")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/permute", description=__doc__)
    parser.add_argument("--dtypes", default="f32", help="some of " + ", ".join(DTYPES) + " (default f32)")
    parser.add_argument("--log2", default="22", help="of the elements, about; some numbers (default 22)")
    parser.add_argument("--extents", default="2,3,4,5,8,mixed", help="of the axes of high rank (default all kinds)")
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)), help="some ranks (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="of everyone (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="of all contestants (default 5)")
    parser.add_argument("--repeat", type=int, default=9, help="calls in each round; the median counts (default 9)")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of " + ", ".join(PEERS) + " (default all)")
    parser.add_argument("--seed", type=int, default=1, help="of the permutations (default 1)")
    parser.add_argument("--json", help="file that gets a line for each case")
    parser.add_argument("--weft", help=argparse.SUPPRESS)
    return parser.parse_args()


def shapes(options):
    """Each kind of extent with the ranks that bring it about the size wanted; low ranks have what extents they need."""
    for log2 in map(int, options.log2.split(",")):
        for rank in map(int, options.ranks.split(",")):
            if rank <= 5:
                yield (int(round(2 ** (log2 / rank))),) * rank
        for kind in options.extents.split(","):
            draw = random.Random(f"{kind} {log2} {options.seed}")
            shape = []
            while math.prod(shape) < 2**log2 * 0.7:
                shape.append(draw.choice((2, 3, 4, 5, 8)) if kind == "mixed" else int(kind))
            yield tuple(shape)


class Weft:
    def __init__(self, options, dtype, shape, axes, folder):
        self.options, self.folder = options, folder
        dims = str(list(shape)).replace(" ", "")
        text = ("weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = DTYPE, shape = DIMS} : DTYPEDIMS\n"
                "  %0 = permute(%x) {axes = AXES}\n  return y = %0\n}\n")
        text = text.replace("DTYPE", dtype).replace("DIMS", dims).replace("AXES", str(axes))
        (folder / "permute.weft").write_text(text)

    def run(self):
        words = [self.options.weft, "run", "permute.weft", "x=x.npy", "-o", "y=y.npy", "--stats"]
        words += ["--threads", str(self.options.threads), "--repeat", str(self.options.repeat)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout.splitlines()[-1])["run_ms"]


class Peer:
    def __init__(self, name, options, array, axes):
        self.repeat = options.repeat
        getattr(self, "bind_" + name)(options, array, axes)

    def bind_numpy(self, options, array, axes):
        import numpy

        view = array.transpose(axes)
        out = numpy.empty_like(view, order="C")
        self.function = lambda: numpy.copyto(out, view)

    def bind_torch(self, options, array, axes):
        import torch

        torch.set_num_threads(options.threads)
        view = torch.from_numpy(array).permute(axes)
        out = torch.empty(view.shape, dtype=view.dtype)
        self.function = lambda: out.copy_(view)

    def bind_jax(self, options, array, axes):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        given = jax.device_put(array)
        compiled = jax.jit(lambda x: jax.numpy.transpose(x, axes)).lower(given).compile()
        self.function = lambda: compiled(given).block_until_ready()

    def bind_memcpy(self, options, array, axes):
        import numpy

        flat = array.reshape(-1)
        out = numpy.empty_like(flat)
        self.function = lambda: numpy.copyto(out, flat)

    def run(self):
        times = []
        for _ in range(self.repeat):
            begin = time.perf_counter()
            self.function()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3


def measure(options, dtype, shape, folder):
    import numpy

    axes = list(range(len(shape)))
    random.Random(f"{shape} {options.seed}").shuffle(axes)
    if axes == sorted(axes):
        axes.reverse()
    bits = numpy.random.default_rng(1).integers(0, 2**15, numpy.dtype(DTYPES[dtype]).itemsize // 2 * math.prod(shape))
    array = bits.astype(numpy.uint16).view(DTYPES[dtype]).reshape(shape)
    numpy.save(folder / "x.npy", array)
    made = {"weft": Weft(options, dtype, shape, axes, folder)}
    for name in ["memcpy", *options.peers.split(",")]:
        try:
            made[name] = Peer(name, options, array, axes)
        except Exception as failure:  # of whatever kind: limits on axes, dtypes
            print(f"{shape}, {name}: {type(failure).__name__}: {str(failure)[:200]}", file=sys.stderr)
    times = {name: [] for name in made}
    names = list(made)
    for round_ in range(options.rounds):
        for name in names[round_ % len(names):] + names[:round_ % len(names)]:
            time.sleep(contestants.CALM_S if options.threads > 1 else 0)
            times[name].append(made[name].run())
    agrees = numpy.load(folder / "y.npy").tobytes() == numpy.ascontiguousarray(array.transpose(axes)).tobytes()
    return {"dtype": dtype, "shape": shape, "axes": axes, "bytes": array.nbytes, "threads": options.threads,
            "times_ms": times, "agrees": agrees}


def print_table(rows, names):
    print("| shape | GB/s | " + " | ".join("against " + name for name in names) + " | agrees |")
    print("| --- | ---: | " + "---: | " * len(names) + "--- |")
    for row in rows:
        weft = row["times_ms"]["weft"]
        cells = [f"{row['bytes'] / statistics.median(weft) / 1e6:.2f}"]
        for name in names:
            times = row["times_ms"].get(name)
            cells.append("-" if times is None else f"{statistics.median(t / w for t, w in zip(times, weft)):.2f}")
        shape = "x".join(map(str, row["shape"])) if len(row["shape"]) < 9 else f"{len(row['shape'])} axes, " + ",".join(
            map(str, sorted(set(row["shape"]))))
        print(f"| {row['dtype']} {shape} | " + " | ".join(cells) + f" | {'yes' if row['agrees'] else 'no'} |")


def main():
    options = parse_arguments()
    needs.modules("numpy")
    contestants.limit_threads(options.threads)
    rows = []
    for dtype in options.dtypes.split(","):
        for shape in shapes(options):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(options, dtype, shape, pathlib.Path(folder)))
            if options.json:
                with open(options.json, "a") as log:
                    print(json.dumps(rows[-1]), file=log)
    print_table(rows, ["memcpy", *options.peers.split(",")])
    sys.exit(not all(row["agrees"] for row in rows))


if __name__ == "__main__":
    main()
