#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Einsums whose order depends on sizes, and derivatives of such, in objects: order.py WEFT CC LIBRARY.

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
INPUTS  VALUES = OP(OPERANDS) {equation = "EXPR", order = "ORDER", path = [PATH], sliced = [], planner = ""PASSES}
NEGATIONS  return RESULTS
}
"""
SYMBOLS = {"n": (1, 2000), "m": (1, 900), "k": (0, 1 << 40)}
CHAIN, NETWORK = "ij,jk,kl,lm->im", "abc,bd,cde,ef,afg,gh->dh"
CHAIN_SHAPES = ["n m", "m n", "n m", "m 7"]
CHAIN_SIZES = [dict(n=3, m=40), dict(n=1, m=64), dict(n=300, m=2)], [dict(n=5, m=6), dict(n=90, m=1), dict(n=1, m=200)]
# Expression, dtype, shapes of inputs, sizes to compile for, other sizes; of derivatives the passes; for each result the
# sums of products of inputs that it is.
CASES = {
    "chain": (CHAIN, "f64", CHAIN_SHAPES, *CHAIN_SIZES, "", [[(CHAIN, [0, 1, 2, 3])]]),
    "network": (NETWORK, "f32", ["n m k", "m 5", "k 5 n", "n m", "n m 3", "3 k"],
                [dict(n=4, m=9, k=6), dict(n=20, m=3, k=2), dict(n=4, m=4, k=0)],
                [dict(n=7, m=2, k=11), dict(n=2, m=2, k=0)], "", [[(NETWORK, [0, 1, 2, 3, 4, 5])]]),
    "gradient": (CHAIN, "f64", [*CHAIN_SHAPES, "n 7"], *CHAIN_SIZES, "0, 1, 0, 4, 0, 1, 2, 3",
                 [[("jk,kl,lm,im->ij", [1, 2, 3, 4])], [("ij,kl,lm,im->jk", [0, 2, 3, 4])],
                  [("ij,jk,lm,im->kl", [0, 1, 3, 4])], [("ij,jk,kl,im->lm", [0, 1, 2, 4])]]),
    "tangent": (CHAIN, "f32", [*CHAIN_SHAPES, "m n", "m 7"], *CHAIN_SIZES, "1, 2, 1, 3",
                [[(CHAIN, [0, 4, 2, 3]), (CHAIN, [0, 1, 2, 5])]]),
    # The gradient for operand 1, along tangents of operand 0 and of the cotangent.
    "second": (CHAIN, "f64", [*CHAIN_SHAPES, "n 7", "n m", "n 7"], *CHAIN_SIZES, "0, 1, 0, 1, 1, 1, 2, 0, 4",
               [[("ij,kl,lm,im->jk", [5, 2, 3, 4]), ("ij,kl,lm,im->jk", [0, 2, 3, 6])]]),
}


class Workspace(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pool", ctypes.c_void_p), ("binding", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 508)]


class Case:
    def __init__(self, name, folder, weft, compiler, library):
        self.name, self.folder, self.weft, self.compiler, self.library = name, folder, weft, compiler, library
        self.expression, self.dtype, shapes, self.groups, self.others, self.passes, self.results = CASES[name]
        self.op = "einsum.derivative" if self.passes else "einsum.einsum"
        self.shapes = [shape.split() for shape in shapes]
        self.symbols = [symbol for symbol in SYMBOLS if any(symbol in shape for shape in self.shapes)]

    def write(self, name, order, path):
        symbols = "".join(f"symbol {s} in [{SYMBOLS[s][0]}, {SYMBOLS[s][1]}]\n" for s in self.symbols)
        inputs = "".join(f'  %a{i} = input() {{name = "a{i}", dtype = {self.dtype}, shape = [{", ".join(shape)}]}}\n'
                         for i, shape in enumerate(self.shapes))
        text, results = GRAPH, range(len(self.results))
        for key, value in [("SYMBOLS", symbols), ("INPUTS", inputs), ("VALUES", ", ".join(f"%v{i}" for i in results)),
                           ("OP", self.op), ("OPERANDS", ", ".join(f"%a{i}" for i in range(len(self.shapes)))),
                           ("EXPR", self.expression), ("ORDER", order), ("PATH", path),
                           ("PASSES", f", passes = [{self.passes}]" if self.passes else ""),
                           ("NEGATIONS", "".join(f"  %y{i} = neg(%v{i})\n" for i in results)),
                           ("RESULTS", ", ".join(f"y{i} = %y{i}" for i in results))]:
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
            if f"order     of {self.op}, for {sizes}\n" not in told:
                sys.exit(f"{self.name}: no order for {sizes} in\n{told}")
        typical = re.search(rf"^order     of {self.op}, for all other sizes: the one for (.*)$", told, re.MULTILINE)[1]
        typical = {s: int(v) for s, v in (part.split(" = ") for part in typical.split(", "))}
        assert typical == {s: {"n": 44, "m": 30, "k": 1}[s] for s in self.symbols}, typical
        self.given = self.write(f"{self.name}-path", "path", self.find_path(typical))
        shared = self.folder / f"{self.name}.so"
        subprocess.run([self.compiler, "-shared", self.folder / f"{self.name}.o", self.library, "-Wl,--gc-sections",
                        "-pthread", "-o", shared], check=True)
        self.loaded = ctypes.CDLL(str(shared))

    def refuse(self):
        """What is decided at run time alone."""
        text = self.graph.read_text()
        sliced = f'order = "left", path = [], sliced = [{ord(self.expression[1])}]'
        for old, new, fault in [('planner = ""', 'planner = "time limit=100000"', "a memory limit is kept at run time"),
                                ('order = "auto", path = [], sliced = []', sliced,
                                 "labels with symbolic extents are sliced at run time")]:
            file = self.folder / "refused.weft"
            file.write_text(text.replace(old, new))
            ran = subprocess.run([self.weft, "compile", file, "-o", self.folder], check=False, stderr=subprocess.PIPE,
                                 text=True)
            if ran.returncode == 0 or fault not in ran.stderr:
                sys.exit(f"{self.name}: not refused with {fault!r} but {ran.stderr!r}")

    def draw(self, sizes):
        draw = numpy.random.default_rng(7)
        shapes = [[sizes.get(axis) if axis in sizes else int(axis) for axis in shape] for shape in self.shapes]
        arrays = [draw.standard_normal(shape).astype(self.dtype.replace("f64", "f8").replace("f32", "f4")) for shape in shapes]
        for i, array in enumerate(arrays):
            numpy.save(self.folder / f"a{i}.npy", array)
        return arrays

    def find_path(self, sizes):
        self.draw(sizes)
        files = [self.folder / f"a{i}.npy" for i in range(self.expression.count(",") + 1)]
        printed = self.call("einsum", self.expression, *files, "--plan-only", "--print-order", "path")
        return ", ".join(re.findall(r"\d+", printed.splitlines()[-1]))

    def run_weft(self, graph):
        files = [f"a{i}={self.folder / f'a{i}.npy'}" for i in range(len(self.shapes))]
        outputs = [self.folder / f"y{i}.npy" for i in range(len(self.results))]
        self.call("run", graph, *files, *(word for i, file in enumerate(outputs) for word in ("-o", f"y{i}={file}")))
        return list(map(numpy.load, outputs))

    def run_object(self, sizes, arrays):
        results = [numpy.full(exact.shape, numpy.nan, exact.dtype) for exact in self.evaluate(arrays)]
        call = (ctypes.c_uint64 * (len(self.symbols) + 2 * (len(arrays) + len(results))))()
        for i, symbol in enumerate(self.symbols):
            call[i] = sizes[symbol]
        for i, array in enumerate([*arrays, *results]):
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
        return results

    def evaluate(self, arrays):
        return [sum(numpy.einsum(text, *[arrays[i] for i in numbers], optimize=True) for text, numbers in terms)
                for terms in self.results]

    def check(self, sizes, graph):
        arrays = self.draw(sizes)
        found, expected = self.run_object(sizes, arrays), self.run_weft(graph)
        wide = [array.astype("f8") for array in arrays]
        exact, scales = self.evaluate(wide), self.evaluate([abs(array) for array in wide])
        for i, (array, same, near, scale) in enumerate(zip(found, expected, exact, scales)):
            if array.tobytes() != same.tobytes():
                sys.exit(f"{self.name}: {sizes}: the bits of result {i} are not those of {graph.name}")
            if (abs(array + near) > 64 * numpy.finfo(array.dtype).eps * scale).any():
                sys.exit(f"{self.name}: {sizes}: result {i} is far from numpy's")


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
            case.refuse()


if __name__ == "__main__":
    main()
