#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Einsums whose order depends on sizes, in objects: order.py WEFT CC LIBRARY.

For sizes of --extents the bits are those of the executor, which plans for them. For others they are those of the order
that `weft info` names, given as a path to the executor, and near numpy's.
"""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

GRAPH = """weft 0.1
SYMBOLSgraph {
INPUTS  %0 = einsum.einsum(OPERANDS) {equation = "EXPR", order = "ORDER", path = [PATH], sliced = [], planner = ""}
  %1 = neg(%0)
  return y = %1
}
"""
SYMBOLS = {"n": (1, 2000), "m": (1, 900), "k": (0, 1 << 40)}
# Expression, dtype, shapes, sizes to compile for, other sizes.
CASES = {
    "chain": ("ij,jk,kl,lm->im", "f64", ["n m", "m n", "n m", "m 7"],
              [dict(n=3, m=40), dict(n=1, m=64), dict(n=300, m=2)], [dict(n=5, m=6), dict(n=90, m=1), dict(n=1, m=200)]),
    "network": ("abc,bd,cde,ef,afg,gh->dh", "f32", ["n m k", "m 5", "k 5 n", "n m", "n m 3", "3 k"],
                [dict(n=4, m=9, k=6), dict(n=20, m=3, k=2), dict(n=4, m=4, k=0)], [dict(n=7, m=2, k=11), dict(n=2, m=2, k=0)]),
}


class Workspace(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pool", ctypes.c_void_p), ("binding", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 508)]


class Case:
    def __init__(self, name, folder, weft, compiler, library):
        self.name, self.folder, self.weft, self.compiler, self.library = name, folder, weft, compiler, library
        self.expression, self.dtype, shapes, self.groups, self.others = CASES[name]
        self.shapes = [shape.split() for shape in shapes]
        self.symbols = [symbol for symbol in SYMBOLS if any(symbol in shape for shape in self.shapes)]

    def write(self, name, order, path):
        symbols = "".join(f"symbol {s} in [{SYMBOLS[s][0]}, {SYMBOLS[s][1]}]\n" for s in self.symbols)
        inputs = "".join(f'  %a{i} = input() {{name = "a{i}", dtype = {self.dtype}, shape = [{", ".join(shape)}]}}\n'
                         for i, shape in enumerate(self.shapes))
        text = GRAPH
        for key, value in [("SYMBOLS", symbols), ("INPUTS", inputs), ("EXPR", self.expression), ("ORDER", order), ("PATH", path),
                           ("OPERANDS", ", ".join(f"%a{i}" for i in range(len(self.shapes))))]:
            text = text.replace(key, value, 1)
        file = self.folder / f"{name}.weft"
        file.write_text(text)
        return file

    def call(self, *arguments):
        ran = subprocess.run([self.weft, *arguments], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            sys.exit(f"{self.name}: {ran.stderr}")
        return ran.stdout

    def compile(self):
        self.graph = self.write(self.name, "auto", "")
        extents = ";".join(",".join(f"{s}={v}" for s, v in group.items()) for group in self.groups)
        self.call("compile", self.graph, "-o", self.folder, "--extents", extents)
        told = self.call("info", self.folder / f"{self.name}.o")
        for group in self.groups:
            sizes = ", ".join(f"{s} = {v}" for s, v in group.items())
            if f"order     of einsum.einsum, for {sizes}\n" not in told:
                sys.exit(f"{self.name}: no order for {sizes} in\n{told}")
        typical = re.search(r"^order     of einsum.einsum, for all other sizes: the one for (.*)$", told, re.MULTILINE)[1]
        typical = {s: int(v) for s, v in (part.split(" = ") for part in typical.split(", "))}
        assert typical == {s: {"n": 44, "m": 30, "k": 1}[s] for s in self.symbols}, typical
        self.given = self.write(f"{self.name}-path", "path", self.find_path(typical))
        shared = self.folder / f"{self.name}.so"
        subprocess.run([self.compiler, "-shared", self.folder / f"{self.name}.o", self.library, "-Wl,--gc-sections",
                        "-pthread", "-o", shared], check=True)
        self.loaded = ctypes.CDLL(str(shared))

    def draw(self, sizes):
        draw = numpy.random.default_rng(7)
        shapes = [[sizes.get(axis) if axis in sizes else int(axis) for axis in shape] for shape in self.shapes]
        arrays = [draw.standard_normal(shape).astype(self.dtype.replace("f64", "f8").replace("f32", "f4")) for shape in shapes]
        for i, array in enumerate(arrays):
            numpy.save(self.folder / f"a{i}.npy", array)
        return arrays

    def find_path(self, sizes):
        arrays = self.draw(sizes)
        files = [self.folder / f"a{i}.npy" for i in range(len(arrays))]
        printed = self.call("einsum", self.expression, *files, "--plan-only", "--print-order", "path")
        return ", ".join(re.findall(r"\d+", printed.splitlines()[-1]))

    def run_weft(self, graph):
        files = [f"a{i}={self.folder / f'a{i}.npy'}" for i in range(len(self.shapes))]
        self.call("run", graph, *files, "-o", self.folder / "y.npy")
        return numpy.load(self.folder / "y.npy")

    def run_object(self, sizes, arrays):
        count = len(arrays) + 1
        call = (ctypes.c_uint64 * (len(self.symbols) + 2 * count))()
        y = numpy.full(numpy.einsum(self.expression, *[a[..., :] for a in arrays], optimize=True).shape, numpy.nan, arrays[0].dtype)
        for i, symbol in enumerate(self.symbols):
            call[i] = sizes[symbol]
        for i, array in enumerate([*arrays, y]):
            call[len(self.symbols) + i] = array.ctypes.data
        workspace, error = Workspace(), Error()
        for end in "prepare", "run":
            function = getattr(self.loaded, f"{self.name}_{end}")
            shapes = [None] if end == "prepare" else []
            code = function(ctypes.byref(call), ctypes.byref(workspace), *shapes, ctypes.byref(error))
            if code != 0:
                sys.exit(f"{self.name}: {sizes}: {error.message.decode()}")
            if end == "prepare":
                memory = ctypes.create_string_buffer(workspace.size)
                workspace.memory = ctypes.addressof(memory)
        return y

    def check(self, sizes, graph):
        arrays = self.draw(sizes)
        found, expected = self.run_object(sizes, arrays), self.run_weft(graph)
        if found.tobytes() != expected.tobytes():
            sys.exit(f"{self.name}: {sizes}: the bits are not those of {graph.name}")
        wide = [array.astype("f8") for array in arrays]
        exact = -numpy.einsum(self.expression, *wide, optimize=True)
        scale = numpy.einsum(self.expression, *[abs(array) for array in wide], optimize=True)
        if (abs(found - exact) > 64 * numpy.finfo(found.dtype).eps * scale).any():
            sys.exit(f"{self.name}: {sizes}: far from numpy")


def main():
    weft, compiler, library = sys.argv[1:]
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            case = Case(name, pathlib.Path(folder), weft, compiler, library)
            case.compile()
            for sizes in case.groups:
                case.check(sizes, case.graph)
            for sizes in case.others:
                case.check(sizes, case.given)


if __name__ == "__main__":
    main()
