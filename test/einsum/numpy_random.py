# SPDX-License-Identifier: Apache-2.0
"""Random einsum expressions on generated code against numpy.einsum: numpy_random.py BUILD [NUMBER...].

Expressions have up to six operands and eight labels, repeated labels, ellipses, axes of one that broadcast, empty
axes, implicit outputs, and operands and results of any layout. Even ones have known extents and run under both orders.
Odd ones have symbols and run under one order in turn, twice, the second time with other extents. What is wrong is
printed with its number, which repeats it alone.
"""
import ctypes
import functools
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from binding import POINTER, SIZE, TEXT, Failure, Ints, Layout, Weft, numpy, structure

ORDERS = ["auto", "left"]  # as weft_einsum_order counts
DTYPES = [numpy.float32, numpy.float64, numpy.int64]
COUNT = 1000
GAP = 77
EXTENTS, WEIGHTS = (0, 1, 2, 3, 5, 7), (1, 3, 8, 8, 6, 4)
POINTS = 20000  # that numpy goes through at most for one expression

# ---- weft -----------------------------------------------------------------------------------------------------------

EinsumOptions = structure("weft_einsum_options", size=SIZE, order=ctypes.c_int, minimize=ctypes.c_int, path=Ints,
                          nested=TEXT, tree=POINTER)


class Einsum(Weft):
    def __init__(self, build):
        super().__init__(build / "extensions/einsum/libweft-einsum.so", ["llvm"], ["einsum"])

    def compile_one(self, text, dtype, shapes, order):
        """A program of one einsum; extents in `shapes` are numbers or the names of symbols."""
        graph = self.create_graph()
        inputs = [self.input(graph, f"x{number}", dtype, shape) for number, shape in enumerate(shapes)]
        options = EinsumOptions(size=ctypes.sizeof(EinsumOptions), order=ORDERS.index(order))
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
        if self.dtype == numpy.int64:
            create = functools.partial(values.integers, -2**63, 2**63)
        else:
            create = values.standard_normal
        return [layout.view(shape, lambda base: create(size=base).astype(self.dtype))
                for layout, shape in zip(self.layouts, self.shapes())]


# ---- comparison -----------------------------------------------------------------------------------------------------

def compare(expression, operands, result):
    """Integers agree exactly, floats within the rounding of as many sums and products as one element can take."""
    wide = numpy.int64 if expression.dtype == numpy.int64 else numpy.float64
    operands = [operand.astype(wide) for operand in operands]
    expected = numpy.einsum(expression.text, *operands, optimize=False)
    if result.shape != expected.shape:
        raise Failure(f"the result has the shape {result.shape}, not {expected.shape}")
    if wide == numpy.int64:
        wrong = result != expected
    else:
        size = numpy.einsum(expression.text, *map(abs, operands), optimize=False)
        sums = expression.points / max(expected.size, 1)
        allowed = 2 * (sums + len(operands)) * numpy.finfo(expression.dtype).eps * size
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
    shape = numpy.einsum(expression.text, *operands, optimize=False).shape
    layout = Layout(random.Random(expression.result_seed), len(shape))
    result = layout.view(shape, lambda base: numpy.full(base, GAP, expression.dtype))
    compare(expression, operands, weft.run_one(program, operands, result))
    result[...] = GAP
    while result.base is not None:
        result = result.base
    if (result != GAP).any():
        raise Failure("elements between those of the result have changed")


def check(weft, number):
    """Whether expression `number` is right. Layouts stay the same from run to run, so that kernels are found again."""
    expression = Expression(random.Random(number))
    symbolic = number % 2 == 1
    for order in ORDERS[number // 2 % 2::2] if symbolic else ORDERS:
        try:
            program = weft.compile_one(expression.text, expression.dtype, expression.shapes(symbolic), order)
            run(weft, expression, program)
            if symbolic:
                expression.draw_extents()
                run(weft, expression, program)
            weft.program_release(program)
        except Failure as failure:
            shapes = ", ".join(map(str, expression.shapes()))
            print(f"{number}: {expression.text} of {shapes}, {expression.dtype.__name__}, {order}: {failure}")
            return False
    return True


def main():
    weft = Einsum(pathlib.Path(sys.argv[1]))
    numbers = [int(number) for number in sys.argv[2:]] or range(COUNT)
    failed = sum(not check(weft, number) for number in numbers)
    print(f"{len(numbers)} expressions, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
