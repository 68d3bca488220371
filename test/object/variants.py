#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variants of an object for sizes known beforehand: variants.py WEFT CC LIBRARY.

Their kernels and products are chosen by these sizes, in the object for all sizes by their bounds, and in a graph of
numbers by the graph. For each dtype that has products the bits of the first two, and of an executor, are the same; and so
are those of an object with other schedules.
"""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

SIZES = [1, 2, 5, 9, 33]
DTYPES = ["f16", "bf16", "f32", "f64", "c64", "c128", "u8"]
# Products with n rows, columns, terms and batches, with operands along and across memory, in blocks of terms and in one;
# what is computed before and after them; reductions over n, and scans, also of many rows.
SHAPES = {"x": "n, 300", "w": "300, 24", "v": "24, 300", "t": "300, n", "q": "n, 40", "k": "n, 40", "b": "24", "u": "24, 10",
          "p": "n, 3, 20", "r": "n, 20, 16", "s": "7, n, 12", "h": "7, 12, n", "l": "70, n"}


def dot(a, b, contract_a, contract_b, batch_a="", batch_b=""):
    return (f"dot(%{a}, %{b}) {{batch_a = [{batch_a}], batch_b = [{batch_b}], contract_a = [{contract_a}], "
            f"contract_b = [{contract_b}]}}")


OPS = {
    "rows": dot("x", "w", 1, 0),
    "lines": dot("x", "v", 1, 1),
    "across": dot("t", "w", 0, 0),
    "columns": dot("v", "x", 1, 1),
    "square": dot("q", "k", 1, 1),
    "terms": dot("q", "k", 0, 0),
    "batches": dot("p", "r", 2, 1, 0, 0),
    "many": dot("s", "h", 2, 1, 0, 0),
    "outer": dot("s", "h", 1, 2, 0, 0),
    "rowsb": "broadcast(%b) {shape = [n, 24], axes = [1]}",
    "biased": "add(%rows, %rowsb)",
    "squared": "mul(%biased, %biased)",
    "layer": dot("squared", "u", 1, 0),
    "doubled": "add(%x, %x)",
    "fed": dot("doubled", "w", 1, 0),
    "permuted": "permute(%lines) {axes = [1, 0]}",
    "ready": dot("square", "k", 1, 0),
    "sums": "reduce_sum(%biased) {axes = [0]}",
    "all": "reduce_sum(%square) {axes = [0, 1]}",
    "short": "reduce_sum(%l) {axes = [1]}",
    "scanned": "scan_sum(%l) {axis = 1, reverse = false, exclusive = false}",
}

# An update in place, beside a product that reads what it changes: decided by its own size, one row would be a part of the
# kernel that reads the update, and come after it.
UPDATE = """weft 0.1
symbol n in [1, 1000]
graph {
  %c = input() {name = "c", dtype = f32, shape = [n, 300]}
  %r = input() {name = "r", dtype = f32, shape = [1, 300]}
  %m = input() {name = "m", dtype = f32, shape = [300, 300]}
  %a = input() {name = "a", dtype = i64, shape = []}
  %u = dynamic_update_slice(%c, %r, %a) {axes = [0]}
  %d = dot(%c, %m) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %s = add(%u, %d)
  return u = %u, s = %s
}
"""


class Workspace(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pool", ctypes.c_void_p), ("binding", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 508)]


def run(*command):
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"{command[:2]}: {ran.stderr}")
    return ran.stdout


def draw(dtype, shape):
    """Numbers of all sizes, as bytes of the dtype."""
    random = numpy.random.default_rng(11)
    if dtype == "u8":
        return random.integers(0, 256, shape, "u1")
    numbers = (random.standard_normal(shape) * 2.0 ** random.integers(-3, 4, shape)).astype("f4")
    if dtype == "bf16":
        return (numbers.view("u4") >> 16).astype("u2").view("V2")
    if dtype[0] == "c":
        numbers = numbers + 1j * random.standard_normal(shape)
    return numbers.astype({"f16": "f2", "f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}[dtype])


class Object:
    """One that is compiled, and loaded."""

    def __init__(self, name, dtype, folder, *options):
        weft, compiler, library = sys.argv[1:]
        self.name = name
        run(weft, "compile", folder / f"{dtype}.weft", "-o", folder, "--name", name, *options)
        self.variants = re.findall(r"^variant .*$", run(weft, "info", folder / f"{name}.o"), re.MULTILINE)
        run(compiler, "-shared", folder / f"{name}.o", library, "-Wl,--gc-sections", "-pthread", "-o", folder / f"{name}.so")
        self.loaded = ctypes.CDLL(str(folder / f"{name}.so"))

    def call(self, size, inputs, outputs):
        pointers = [array.ctypes.data for array in [*inputs, *outputs]]
        call = (ctypes.c_uint64 * (1 + 2 * len(pointers)))(size, *pointers)
        workspace, error = Workspace(), Error()
        for end, more in ("prepare", [None]), ("run", []):
            code = getattr(self.loaded, f"{self.name}_{end}")(ctypes.byref(call), ctypes.byref(workspace), *more, ctypes.byref(error))
            if code != 0:
                sys.exit(f"{self.name}: n = {size}: {error.message.decode()}")
            if workspace.memory is None:
                memory = ctypes.create_string_buffer(workspace.size)
                workspace.memory = ctypes.addressof(memory)


def write(dtype, folder):
    """Bytes are cast to i32, in which they are multiplied."""
    inputs, cast = "", "narrow_" if dtype == "u8" else ""
    for name, shape in SHAPES.items():
        inputs += f'  %{cast}{name} = input() {{name = "{name}", dtype = {dtype}, shape = [{shape}]}}\n'
        inputs += f"  %{name} = cast(%{cast}{name}) {{dtype = i32}}\n" if cast else ""
    ops = "".join(f"  %{name} = {op}\n" for name, op in OPS.items())
    (folder / f"{dtype}.weft").write_text(f"weft 0.1\nsymbol n in [1, 4096]\ngraph {{\n{inputs}{ops}"
                                          f"  return {', '.join(f'{name} = %{name}' for name in OPS)}\n}}\n")


def other_schedules(path):
    """For each kernel that has others than that of the rules the one that is estimated to be the slowest."""
    options = []
    kernels = re.split(r"^# kernel (\d+): .*\n", run(sys.argv[1], "opt", path, "--emit", "schedule"), flags=re.MULTILINE)
    for number, kernel in zip(kernels[1::2], kernels[2::2]):
        others = kernel.partition("# others")[2]
        moves = re.findall(r"^[^#\n].*", others.partition("\n")[2], re.MULTILINE)  # without those that make none
        options += ["--schedule", f"{number}:{moves[-1]}"] if moves else []
    return options


def check(dtype, folder):
    write(dtype, folder)
    general = Object(f"{dtype}_general", dtype, folder)
    options = other_schedules(folder / f"{dtype}.weft")
    scheduled = Object(f"{dtype}_scheduled", dtype, folder, "--isa", "native", *options)
    native = Object(f"{dtype}_native", dtype, folder, "--isa", "native")
    code = [(folder / f"{tested.name}.o").stat().st_size for tested in (scheduled, native)]
    if code[0] == code[1] or not options:
        sys.exit(f"{dtype}: {len(options) // 2} schedules make no other code")
    sized = Object(f"{dtype}_sized", dtype, folder, "--extents", ";".join(f"n={size}" for size in SIZES))
    differing = 0
    for size in SIZES:
        inputs = [draw(dtype, [size if e == "n" else int(e) for e in shape.split(", ")]) for shape in SHAPES.values()]
        for name, array in zip(SHAPES, inputs):
            numpy.save(folder / f"{name}.npy", array)
        run(sys.argv[1], "run", folder / f"{dtype}.weft", *[f"{name}={folder / name}.npy" for name in SHAPES], "-o", folder / "out.npz")
        with numpy.load(folder / "out.npz") as archive:
            expected = [archive[name] for name in OPS]
        for tested in general, sized, scheduled:
            outputs = [numpy.full(array.nbytes, 0x5a, "u1") for array in expected]
            tested.call(size, inputs, outputs)
            for name, found, right in zip(OPS, outputs, expected):
                if found.tobytes() != right.tobytes():
                    sys.exit(f"{tested.name}: n = {size}: {name} has other bits than an executor's")
        how = next(line for line in sized.variants if line.split(": ")[0].endswith(f", n = {size}")).split(": ")[1]
        differing += how != sized.variants[-1].split(": ")[1]
    print(f"{dtype}: {differing} of {len(SIZES)} sizes have other steps than all sizes, {sized.variants[-1].split(': ')[1]}")
    if differing == 0:
        sys.exit(f"{dtype}: no variant decides by its size")


def check_update(folder):
    """Variants agree on which output may have the memory of which input."""
    (folder / "update.weft").write_text(UPDATE)
    sized = Object("update", "update", folder, "--extents", "n=1;n=2")
    for size in 1, 2, 3:
        cache, row, matrix = (draw("f32", shape) for shape in ([size, 300], [1, 300], [300, 300]))
        at, apart, sums = numpy.zeros((), "i8"), numpy.empty_like(cache), [numpy.empty_like(cache) for _ in range(2)]
        sized.call(size, [cache, row, matrix, at], [apart, sums[0]])
        sized.call(size, [cache, row, matrix, at], [cache, sums[1]])
        if cache.tobytes() != apart.tobytes() or sums[0].tobytes() != sums[1].tobytes():
            sys.exit(f"n = {size}: an update in place has other bits")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_update(pathlib.Path(folder))
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory() as folder:
            check(dtype, pathlib.Path(folder))


if __name__ == "__main__":
    main()
