# SPDX-License-Identifier: Apache-2.0
"""Random einsum expressions on generated code against numpy.einsum: numpy_random.py BUILD [--count N] [--shard I/N]
[NUMBER...].

Expressions have up to six operands and eight labels, repeated labels, ellipses, axes of one that broadcast, empty
axes, implicit outputs, every dtype, and operands and results of any layout: axes in any order, backwards, with gaps,
repeated. Even ones have known extents and run under every order. Odd ones have symbols and run under one order in turn,
twice, the second time with other extents. What is wrong is printed with its number, which repeats it alone.
"""
import argparse
import ctypes
import functools
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from binding import POINTER, SIZE, TEXT, Failure, Ints, Layout, Weft, ints, numpy, shard, structure

ORDERS = {"auto": 0, "left": 1, "path": 2, "ssa": 5}  # weft_einsum_order
BF16 = numpy.dtype("V2")
DTYPES = [numpy.dtype(name) for name in ("?", "u1", "i4", "u4", "i8", BF16, "f2", "f4", "f4", "f8", "f8", "c8", "c16")]
GAP = 1  # each byte between the elements of a result; a truth value too
EXTENTS, WEIGHTS = (0, 1, 2, 3, 5, 7), (1, 3, 8, 8, 6, 4)
POINTS = 20000  # that numpy goes through at most for one expression

# ---- weft -----------------------------------------------------------------------------------------------------------

EinsumOptions = structure("weft_einsum_options", size=SIZE, order=ctypes.c_int, minimize=ctypes.c_int, path=Ints,
                          nested=TEXT, tree=POINTER)


class Einsum(Weft):
    def __init__(self, build):
        super().__init__(build / "extensions/einsum/libweft-einsum.so", ["llvm"], ["einsum"])

    def compile_one(self, text, dtype, shapes, order, path):
        """A program of one einsum; extents in `shapes` are numbers or the names of symbols. `path` is for some orders."""
        graph = self.create_graph()
        inputs = [self.input(graph, f"x{number}", dtype, shape) for number, shape in enumerate(shapes)]
        options = EinsumOptions(size=ctypes.sizeof(EinsumOptions), order=ORDERS[order], path=ints(path))
        return self.compile(graph, [self.trace("einsum", text.encode(), inputs, ctypes.byref(options))])

    def run_one(self, program, operands, result=None):
        """Runs `program` on views; the result is a copy, or lies in the view `result`."""
        return self.run(program, operands, [operands[0].dtype], None if result is None else [result])[0]


# ---- expressions ----------------------------------------------------------------------------------------------------

class Expression:
    """A term is a list of labels and "..."; an axis is a label, or a digit that counts from the end of the ellipsis."""

    def __init__(self, draw):
        self.draw = draw
        self.dtype = draw.choice(DTYPES)
        labels = draw.sample("aBcDijkXyz", draw.randint(1, 8))
        depth = draw.choice([0, 0, 1, 1, 2, 3])
        self.terms = [self.draw_term(labels, depth) for _ in range(draw.choice([1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6]))]
        self.depths = [draw.randint(0, depth) for _ in self.terms]
        self.used = sorted({axis for axes in self.axes() for axis in axes})
        self.ones = [{axis for axis in self.used if draw.random() < 0.1} for _ in self.terms]
        self.text = draw.choice([",", ", "]).join(map("".join, self.terms)) + self.draw_output()
        self.layouts = [Layout(draw, len(axes), 0.1) for axes in self.axes()]
        self.result_seed = draw.choice([None, draw.random()])
        self.draw_extents()

    def draw_term(self, labels, depth):
        term = [self.draw.choice(labels) for _ in range(self.draw.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))]
        if depth > 0 and self.draw.random() < 0.8:
            term.insert(self.draw.randint(0, len(term)), "...")
        return term

    def draw_output(self):
        """Explicit or not. Only numpy with `optimize` would do without the ellipsis."""
        if self.draw.random() < 0.25:
            return ""
        labels = [axis for axis in self.used if axis.isalpha()]
        output = self.draw.sample(labels, self.draw.randint(0, min(len(labels), 5)))
        if any("..." in term for term in self.terms):
            output.insert(self.draw.randint(0, len(output)), "...")
        return "->" + "".join(output)

    def draw_extents(self):
        """Extents anew; axes of one stay."""
        self.points = POINTS + 1
        while self.points > POINTS:
            self.extents = {axis: self.draw.choices(EXTENTS, WEIGHTS)[0] for axis in self.used}
            self.points = math.prod(max(extent, 1) for extent in self.extents.values())

    def axes(self):
        for term, depth in zip(self.terms, self.depths):
            digits = [str(digit) for digit in reversed(range(depth))]
            yield [axis for item in term for axis in (digits if item == "..." else [item])]

    def shapes(self, symbolic=False):
        """Axes of one are numbers always, others symbols if `symbolic`."""
        return [[1 if axis in ones else f"n_{axis}" if symbolic else self.extents[axis] for axis in axes]
                for axes, ones in zip(self.axes(), self.ones)]

    def operands(self):
        """Data anew."""
        values = numpy.random.default_rng(self.draw.getrandbits(32))
        return [layout.view(shape, functools.partial(self.create, values))
                for layout, shape in zip(self.layouts, self.shapes())]

    def create(self, values, shape):
        """Floats are small enough for products of them and sums of those to stay in f16."""
        if self.dtype.kind == "b":
            return values.random(shape) < 0.7
        if self.dtype.kind in "iu":
            return values.integers(0, 2**64, shape, numpy.uint64).astype(self.dtype)
        drawn = values.standard_normal(shape) * (0.5 if self.dtype.itemsize == 2 else 1)
        if self.dtype.kind == "c":
            drawn = drawn + 1j * values.standard_normal(shape)
        return to_bf16(drawn) if self.dtype == BF16 else drawn.astype(self.dtype)

    def path(self, order):
        """Random pairs, of positions or of values."""
        if order not in ("path", "ssa"):
            return []
        live, path = list(range(len(self.terms))), []
        while len(live) > 1:
            pair = self.draw.sample(range(len(live)), 2)
            path += [live[i] for i in pair] if order == "ssa" else pair
            live = [value for i, value in enumerate(live) if i not in pair] + [len(self.terms) + len(path) // 2 - 1]
        return path


# ---- comparison -----------------------------------------------------------------------------------------------------

def to_bf16(values):
    """Cut, not rounded: these are the numbers that are drawn."""
    bits = numpy.asarray(values, "f4").view("u4") >> 16
    return numpy.asarray(bits).astype("u2").view(BF16)


def widen(values):
    """The same numbers in a dtype that numpy computes with, and wide enough to judge by."""
    if values.dtype == BF16:
        bits = numpy.left_shift(numpy.array(values, order="C").view("u2"), 16, dtype="u4")
        return numpy.asarray(bits).view("f4").astype("f8")
    return values.astype({"f": "f8", "c": "c16"}.get(values.dtype.kind, values.dtype))


def compare(expression, operands, result):
    """Integers and truth agree exactly, floats within the rounding of as many sums and products as one element can
    take. Numbers too small to be normal have an absolute error, which later factors multiply."""
    operands, result = [widen(operand) for operand in operands], widen(result)
    expected = numpy.einsum(expression.text, *operands, optimize=False)
    if result.shape != expected.shape:
        raise Failure(f"the result has the shape {result.shape}, not {expected.shape}")
    if expected.dtype.kind in "biu":
        wrong = result != expected
    else:
        size = numpy.einsum(expression.text, *map(abs, operands), optimize=False)
        sums = expression.points / max(expected.size, 1) + len(operands)
        places = numpy.finfo(expression.dtype).eps if expression.dtype != BF16 else 2.0**-7
        tiny = 2.0**-24 if expression.dtype == "f2" else 0
        largest = max([1, *(abs(operand).max() for operand in operands if operand.size)])
        allowed = (6 if expected.dtype.kind == "c" else 2) * sums * (places * size + tiny * largest**len(operands))
        wrong = ~(abs(result - expected) <= allowed)
    if wrong.any():
        at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
        raise Failure(f"{wrong.sum()} of {wrong.size} elements differ; at {at} is {result[at]}, not {expected[at]}")


def run(weft, expression, program):
    """Into a new array, or into one with gaps that must stay as they are."""
    operands = expression.operands()
    if expression.result_seed is None:
        compare(expression, operands, weft.run_one(program, operands))
        return
    shape = numpy.einsum(expression.text, *map(widen, operands), optimize=False).shape
    layout = Layout(random.Random(expression.result_seed), len(shape))
    gap = numpy.full(expression.dtype.itemsize, GAP, "u1").view(expression.dtype)[0]
    result = layout.view(shape, lambda base: numpy.full(base, gap, expression.dtype))
    compare(expression, operands, weft.run_one(program, operands, result))
    result[...] = gap
    while result.base is not None:
        result = result.base
    if (numpy.frombuffer(result.tobytes(), "u1") != GAP).any():
        raise Failure("elements between those of the result have changed")


def check(weft, number):
    """Whether expression `number` is right. Layouts stay the same from run to run, so that kernels are found again."""
    expression = Expression(random.Random(number))
    symbolic = number % 2 == 1
    for order in [list(ORDERS)[number // 2 % len(ORDERS)]] if symbolic else ORDERS:
        try:
            program = weft.compile_one(expression.text, expression.dtype, expression.shapes(symbolic), order,
                                       expression.path(order))
            run(weft, expression, program)
            if symbolic:
                expression.draw_extents()
                run(weft, expression, program)
            weft.program_release(program)
        except Failure as failure:
            shapes = ", ".join(map(str, expression.shapes()))
            print(f"{number}: {expression.text} of {shapes}, {'bf16' if expression.dtype == BF16 else expression.dtype}, {order}: {failure}")
            return False
    return True


def check_all(description, count, library, check):
    """A program's main: checks expressions by number, in the library of a build."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--shard", type=shard, default=slice(None))
    parser.add_argument("numbers", type=int, nargs="*")
    options = parser.parse_args()
    weft = library(options.build)
    numbers = (options.numbers or range(options.count))[options.shard]
    failed = sum(not check(weft, number) for number in numbers)
    print(f"{len(numbers)} expressions, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    check_all(__doc__, 600, Einsum, check)
