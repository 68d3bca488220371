# SPDX-License-Identifier: Apache-2.0
"""What the cases of composites are made of: operands drawn at random, and calls of tracing functions on them."""
import ctypes
import dataclasses
import random

from binding import SIZE, Tensor, numpy

FLOATS = [numpy.float32, numpy.float64, numpy.float16]
NUMBERS = [*FLOATS, numpy.int32, numpy.int64]
NAMES = ["bool", "u1", "i4", "u4", "i8", None, "f2", "f4", "f8", "c8", "c16"]  # as weft_dtype counts
SPECIALS = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-30, -1e30]


@dataclasses.dataclass
class Operand:
    """Its elements, and the same in the dtype in which numpy computes what is expected."""
    data: numpy.ndarray
    static: tuple


@dataclasses.dataclass
class Trial:
    """Operands; a function that traces them to a list of tensors; what these are; and the tolerance: so many units in
    the last place of what is expected and of `scale`."""
    operands: list
    trace: object
    expected: list
    ulp: float = 16
    scale: object = 1.0


class Draw(random.Random):
    """Choices of one trial."""

    def __init__(self, seed):
        super().__init__(seed)
        self.values = numpy.random.default_rng(self.getrandbits(32))
        self.operands = []

    def float(self):
        return self.choice(FLOATS)

    def extents(self, low, high=None, least=0):
        """Between `low` and `high` extents, few of them 0 or 1."""
        choices = [extent for extent in (0, 1, 2, 3, 4, 5, 6, 7, 17, 33) if extent >= least]
        weights = [1 if extent < 2 else 4 if extent < 8 else 2 for extent in choices]
        return self.choices(choices, weights, k=self.randint(low, low if high is None else high))

    def axis(self, rank):
        return self.randint(-rank, rank - 1)

    def axes(self, rank, least=0):
        axes = self.sample(range(rank), self.randint(least, rank))
        return [axis - rank if self.random() < 0.5 else axis for axis in axes]

    def operand(self, shape, dtype, static=(), low=None, high=None, special=False):
        """Another operand; its elements. Axes in `static` never become symbols."""
        kind = numpy.dtype(dtype).kind
        if kind == "b":
            data = self.values.random(shape) < 0.5
        elif kind in "iu":
            data = self.values.integers(-5 if low is None else low, 6 if high is None else high, shape)
        elif kind == "c":
            data = self.values.standard_normal([*shape, 2]) @ [1, 1j] * self.choice([1, 1, 3])
        elif low is not None:
            data = self.values.uniform(low, high, shape)
        else:
            data = self.values.standard_normal(shape) * self.choice([1, 1, 3, 20])
        data = numpy.asarray(data, dtype)
        if special:
            data = numpy.where(self.values.random(shape) < 0.15, self.values.choice(SPECIALS, shape), data)
            data = numpy.asarray(data, dtype)
        axes = {axis % len(shape) for axis in static} if len(shape) else set()
        self.operands.append(Operand(data, tuple(axes)))
        return data

    def trial(self, trace, *expected, **tolerance):
        return Trial(self.operands, trace, list(expected), **tolerance)


class Tracer:
    """Calls tracing functions in one graph; extents of `symbols` are traced as symbols."""

    def __init__(self, weft, symbolic):
        self.weft, self.symbolic = weft, symbolic
        self.graph = weft.create_graph()
        self.symbols = {}

    def name(self, extent):
        if not self.symbolic or extent == 1:
            return int(extent)
        self.symbols[f"n{extent}"] = int(extent)
        return f"n{extent}"

    def inputs(self, operands):
        return [self.weft.input(self.graph, f"x{number}", operand.data.dtype, [
            int(extent) if axis in operand.static else self.name(extent)
            for axis, extent in enumerate(operand.data.shape)]) for number, operand in enumerate(operands)]

    def extent(self, value):
        """An extent, a symbol where operands with it may have one."""
        return self.weft.shape(self.graph, [self.name(value)]).extents[0]

    def extents(self, values):
        return [self.extent(value) for value in values]

    def dtype(self, dtype):
        return self.weft.dtype(dtype)

    def dtypes(self, tensors):
        return [numpy.dtype(NAMES[self.weft.tensor_dtype(tensor)]) for tensor in tensors]

    def scalar(self, dtype, value):
        return self.weft.trace("scalar", self.graph, self.dtype(dtype), float(value))

    def several(self, name, count, *arguments):
        """What a function writes into an array of `count` tensors, its last argument."""
        out = (Tensor * count)()
        self.weft.trace(name, *arguments, out)
        return list(out)

    def chunk_all(self, x, axis, parts):
        """What weft_chunk writes."""
        out, count = (Tensor * parts)(), SIZE()
        self.weft.trace("chunk", x, axis, parts, out, ctypes.byref(count))
        return list(out)[:count.value]

    def __getattr__(self, name):
        return lambda *arguments: self.weft.trace(name, *arguments)


def differences(result, expected, ulp, scale):
    """A sentence on how they differ, or None."""
    expected = numpy.asarray(expected)
    if result.shape != expected.shape:
        return f"the result has the shape {result.shape}, not {expected.shape}"
    kind = result.dtype.kind
    if kind != expected.dtype.kind or (kind not in "fc" and result.dtype != expected.dtype):
        return f"the result has the dtype {result.dtype}, not {expected.dtype}"
    if kind not in "fc":
        wrong = result != expected
    else:
        with numpy.errstate(all="ignore"):
            wide = result.astype(numpy.float64 if kind == "f" else complex)
            rounded = expected.astype(result.dtype).astype(wide.dtype)
            allowed = ulp * numpy.finfo(result.dtype).eps * (abs(expected) + scale)
            same = (wide == rounded) | (numpy.isnan(wide) & numpy.isnan(rounded))
            wrong = ~(same | (numpy.isfinite(expected) & (abs(wide - expected) <= allowed)))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements differ; at {at} is {result[at]}, not {expected[at]}"
