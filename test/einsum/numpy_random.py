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

try:
    import numpy
except ImportError:
    print("numpy is not installed: nothing to compare with")
    sys.exit(77)

ORDERS = ["auto", "left"]  # as weft_einsum_order counts
DTYPES = [numpy.float32, numpy.float64, numpy.int64]
COUNT = 1000
GAP = 77
EXTENTS, WEIGHTS = (0, 1, 2, 3, 5, 7), (1, 3, 8, 8, 6, 4)
POINTS = 20000  # that numpy goes through at most for one expression

# ---- weft -----------------------------------------------------------------------------------------------------------

POINTER, SIZE, TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p


def structure(name, **fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


Extent = structure("weft_extent", graph=POINTER, value=ctypes.c_int64)
Tensor = structure("weft_tensor", graph=POINTER, node=ctypes.c_uint32, output=ctypes.c_uint32)
Shape = structure("weft_shape", rank=SIZE, extents=ctypes.POINTER(Extent))
Tensors = structure("weft_tensors", count=SIZE, items=ctypes.POINTER(Tensor))
Ints = structure("weft_ints", count=SIZE, items=POINTER)
EinsumOptions = structure("weft_einsum_options", size=SIZE, order=ctypes.c_int, minimize=ctypes.c_int, path=Ints,
                          nested=TEXT, tree=POINTER)
ExecutorOptions = structure("weft_executor_options", allocator=POINTER, threads=ctypes.c_uint, variant_capacity=SIZE,
                            kernel_capacity=SIZE, buffer_capacity=SIZE)
Run = structure("weft_run", runtime=TEXT, input_count=SIZE, inputs=POINTER, output_count=SIZE, outputs=POINTER,
                extent_count=SIZE, extents=POINTER, donated=POINTER, cancelled=POINTER, specialize=ctypes.c_bool,
                report=POINTER)

RESULTS = {
    "weft_einsum": Tensor, "weft_input": Tensor, "weft_symbol": Extent, "weft_extent_of": Extent,
    "weft_einsum_extension": POINTER, "weft_runtime_llvm": POINTER, "weft_status_message": TEXT,
    "weft_program_input_count": SIZE, "weft_program_input_name": TEXT, "weft_array_rank": SIZE,
    "weft_array_shape": ctypes.POINTER(ctypes.c_int64),
}
STATUSES = ["weft_graph_create", "weft_compile", "weft_executor_create", "weft_executor_register_runtime",
            "weft_executor_register_extension", "weft_executor_run", "weft_array_wrap", "weft_array_copy"]


class Failure(Exception):
    pass


class Weft:
    """An executor on generated code, and the C functions without their prefix; a status becomes a Failure."""

    def __init__(self, build):
        self.library = ctypes.CDLL(str(build / "extensions/einsum/libweft-einsum.so"))
        for name, result in RESULTS.items():
            getattr(self.library, name).restype = result
        for name in STATUSES:
            function = getattr(self.library, name)
            function.restype, function.errcheck = POINTER, self.check
        self.executor = POINTER()
        self.executor_create(ctypes.byref(ExecutorOptions(threads=1)), ctypes.byref(self.executor))
        self.executor_register_runtime(self.executor, POINTER(self.runtime_llvm()))
        self.executor_register_extension(self.executor, POINTER(self.einsum_extension()))

    def __getattr__(self, name):
        return getattr(self.library, "weft_" + name)

    def check(self, status, _function, _arguments):
        if status is not None:
            message = self.status_message(POINTER(status)).decode()
            self.status_destroy(POINTER(status))
            raise Failure(message)

    def dtype(self, dtype):
        found = ctypes.c_int()
        kind = numpy.dtype(dtype)
        self.dtype_find(f"{kind.kind}{8 * kind.itemsize}".encode(), ctypes.byref(found))
        return found

    def wrap(self, view):
        """A weft_array over the elements of `view` where they are."""
        strides = [stride // view.itemsize for stride in view.strides]
        array = POINTER()
        self.array_wrap(None, self.dtype(view.dtype), SIZE(view.ndim), items(ctypes.c_int64, view.shape),
                        items(ctypes.c_int64, strides), POINTER(view.ctypes.data), None, None, ctypes.byref(array))
        return array

    def read(self, array, dtype):
        """A copy of the elements of a weft_array."""
        result = numpy.empty(self.array_shape(array)[:self.array_rank(array)], dtype)
        view = self.wrap(result)
        self.array_copy(view, array)
        self.array_release(view)
        return result

    def compile(self, text, dtype, shapes, order):
        """A program of one einsum; extents in `shapes` are numbers or the names of symbols."""
        graph, program = POINTER(), POINTER()
        self.graph_create(None, ctypes.byref(graph))
        try:
            inputs = [self.input(graph, b"x%d" % number, self.dtype(dtype), self.shape(graph, shape))
                      for number, shape in enumerate(shapes)]
            options = EinsumOptions(size=ctypes.sizeof(EinsumOptions), order=ORDERS.index(order))
            result = self.einsum(text.encode(), Tensors(len(inputs), items(Tensor, inputs)), ctypes.byref(options))
            self.library.weft_compile(graph, Tensors(1, items(Tensor, [result])), None, ctypes.byref(program))
        finally:
            self.graph_destroy(graph)
        return program

    def shape(self, graph, extents):
        values = [self.extent_of(ctypes.c_int64(extent)) if isinstance(extent, int) else
                  self.symbol(graph, extent.encode(), ctypes.c_int64(0), ctypes.c_int64(1 << 20)) for extent in extents]
        return Shape(len(values), items(Extent, values))

    def run(self, program, operands, result=None):
        """Runs `program` on views; the result is a copy, or lies in the view `result`."""
        arrays = [self.wrap(operand) for operand in operands]
        names = [self.program_input_name(program, SIZE(i)) for i in range(self.program_input_count(program))]
        inputs = items(POINTER, [arrays[int(name[1:])] for name in names])
        outputs = items(POINTER, [None if result is None else self.wrap(result)])
        call = Run(input_count=len(names), inputs=ctypes.cast(inputs, POINTER), output_count=1,
                   outputs=ctypes.cast(outputs, POINTER))
        try:
            self.executor_run(self.executor, program, ctypes.byref(call))
            return self.read(POINTER(outputs[0]), operands[0].dtype) if result is None else result
        finally:
            for array in [*arrays, POINTER(outputs[0])]:
                self.array_release(array)


def items(kind, values):
    return (kind * len(values))(*values)


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


class Layout:
    """Axes in any order, backwards, with gaps, or with one element repeated."""

    def __init__(self, draw, rank, repeated=0.0):
        self.order = draw.sample(range(rank), rank)
        self.steps = [draw.choice([1, 1, 1, -1, 2, -3]) for _ in range(rank)]
        self.single = [draw.random() < repeated for _ in range(rank)]

    def view(self, shape, create):
        """A view of what `create` gives for a shape."""
        base = [0] * len(shape)
        for axis, place in enumerate(self.order):
            base[place] = 1 if self.single[axis] else shape[axis] * abs(self.steps[axis])
        steps = [slice(None, None, step) for step in self.steps]
        view = create(base).transpose(self.order)[(..., *steps)]
        return numpy.broadcast_to(view, shape) if any(self.single) else view


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
        compare(expression, operands, weft.run(program, operands))
        return
    shape = numpy.einsum(expression.text, *operands, optimize=False).shape
    layout = Layout(random.Random(expression.result_seed), len(shape))
    result = layout.view(shape, lambda base: numpy.full(base, GAP, expression.dtype))
    compare(expression, operands, weft.run(program, operands, result))
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
            program = weft.compile(expression.text, expression.dtype, expression.shapes(symbolic), order)
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
    weft = Weft(pathlib.Path(sys.argv[1]))
    numbers = [int(number) for number in sys.argv[2:]] or range(COUNT)
    failed = sum(not check(weft, number) for number in numbers)
    print(f"{len(numbers)} expressions, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
