# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans, sorts and products.

Every sum and product begins with its identity, so that a sum of -0 is +0, where numpy may give -0. In products of
complex numbers the signs of zeros depend on the order. The reference
accumulates in long double, generated code in the dtype (16-bit floats in f32) and in another order: results that are not
exact may be so many roundings of the sum of the sizes away.
"""
from binding import numpy
from number import LONG, Case, epsilon, kind_of, narrow, wide

POISON = [numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0]


def is_inexact(dtype):
    return kind_of(dtype) in "fc"


def tolerance(dtype, steps, size):
    """For so many roundings of numbers as great as `size`."""
    return {"ulp": (0.51, 0.51), "slack": (steps * LONG * size, steps * epsilon(dtype) * size)}


def powers_of_two(draw, dtype, shape):
    """Products of them are exact; of integers they wrap."""
    values = draw.values.choice([-2, -1, 1, 1, 2] + [0.5, -0.5] * is_inexact(dtype), shape)
    if kind_of(dtype) == "c":
        values = values * draw.values.choice([1, 1j], shape)
    return narrow(values if is_inexact(dtype) else values.astype(numpy.int64), dtype)


def addends(draw, dtype, shape):
    """Operands of a sum and whether it is exact: whole numbers, others, infinities and NaN, zeros."""
    yield draw.small(dtype, shape()), True
    yield draw.moderate(dtype, shape()), not is_inexact(dtype)
    if kind_of(dtype) == "f":
        yield draw.rare(dtype, shape(), POISON), False
        yield narrow(numpy.full(shape(), -0.0), dtype), True
    if kind_of(dtype) in "iu":
        yield draw.any(dtype, shape()), True


def factors(draw, dtype, shape):
    yield powers_of_two(draw, dtype, shape()), True
    if is_inexact(dtype):
        size = numpy.exp(draw.values.normal(0, 0.3, shape()))
        yield narrow(size * (1j if kind_of(dtype) == "c" else 1) ** draw.randint(0, 3), dtype), False
    if kind_of(dtype) == "f":
        yield draw.rare(dtype, shape(), POISON), False
    if kind_of(dtype) in "iu":
        yield draw.any(dtype, shape()), True


# ---- reductions -----------------------------------------------------------------------------------------------------

def some(draw, rank):
    """Axes, seldom none."""
    return draw.axes(rank) or draw.axes(rank)


def total(function, operands, size):
    """A sum or product over random axes."""
    def cases(draw, dtype):
        for data, exact in operands(draw, dtype, lambda: draw.shape(1, 4, 1500)):
            x, axes = draw.strided(data, 0.1), some(draw, data.ndim)
            values = wide(x)
            expected = numpy.asarray(function.reduce(values, axis=tuple(axes), dtype=values.dtype,
                                                     initial=values.dtype.type(function.identity)))
            steps = numpy.prod([x.shape[axis] for axis in axes])
            yield Case([x], expected, dtype, {"axes": axes}, zeros=kind_of(dtype) != "c",
                       **({} if exact else tolerance(dtype, steps, size(values, tuple(axes), expected))))
    return cases


def sum_of_sizes(values, axes, _):
    sizes = abs(values)
    return numpy.where(numpy.isfinite(sizes), sizes, 0).sum(axes)


def product_of_sizes(_values, _axes, expected):
    return numpy.where(numpy.isfinite(abs(expected)), 2 * abs(expected), 0)


def least(dtype):
    kind = kind_of(dtype)
    return -numpy.inf if kind == "f" else kind != "b" and numpy.iinfo(wide(narrow(0, dtype)).dtype).min


def greatest(dtype):
    kind = kind_of(dtype)
    return numpy.inf if kind == "f" else kind == "b" or numpy.iinfo(wide(narrow(0, dtype)).dtype).max


def ordered(draw, dtype, shape):
    """Operands of a maximum: everything, no NaN, few values, several NaN."""
    yield draw.any(dtype, shape())
    yield draw.moderate(dtype, shape())
    yield draw.small(dtype, shape())
    if kind_of(dtype) == "f":
        yield draw.rare(dtype, shape(), POISON)


def extreme(function, identity):
    def cases(draw, dtype):
        for data in ordered(draw, dtype, lambda: draw.shape(1, 4)):
            x, axes = draw.strided(data, 0.1), some(draw, data.ndim)
            values = wide(x)
            expected = function.reduce(values, axis=tuple(axes), initial=values.dtype.type(identity(dtype)))
            yield Case([x], numpy.asarray(expected), dtype, {"axes": axes}, zeros=False)
    return cases


def logical(function):
    def cases(draw, dtype):
        for chance in (0.02, 0.5, 0.98):
            shape = draw.shape(1, 4)
            x, axes = draw.strided(draw.values.random(shape) < chance, 0.1), some(draw, len(shape))
            yield Case([x], numpy.asarray(function(x, tuple(axes))), dtype, {"axes": axes})
    return cases


def places(function):
    """Of nothing: 0."""
    def cases(draw, dtype):
        for data in ordered(draw, dtype, lambda: draw.shape(1, 4)):
            x, axis = draw.strided(data, 0.1), draw.randrange(data.ndim)
            rest = [extent for other, extent in enumerate(x.shape) if other != axis]
            expected = function(wide(x), axis) if x.shape[axis] else numpy.zeros(rest, numpy.int64)
            yield Case([x], numpy.asarray(expected), "i64", {"axis": axis})
    return cases


# ---- scans ----------------------------------------------------------------------------------------------------------

def accumulate(function, values, identity, attributes):
    """Combines from the identity on, one after the other."""
    axis = attributes["axis"]
    values = numpy.flip(values, axis) if attributes["reverse"] else values
    begin = numpy.full([extent if other != axis else 1 for other, extent in enumerate(values.shape)], identity,
                       values.dtype)
    running = function.accumulate(numpy.concatenate([begin, values], axis), axis, dtype=values.dtype)
    part = [slice(None)] * values.ndim
    part[axis] = slice(0, -1) if attributes["exclusive"] else slice(1, None)
    running = running[tuple(part)]
    return numpy.flip(running, axis) if attributes["reverse"] else running


def scan_attributes(draw, rank):
    return {"axis": draw.randrange(rank), "reverse": draw.random() < 0.5, "exclusive": draw.random() < 0.5}


def running_total(function, operands, size):
    def cases(draw, dtype):
        for data, exact in operands(draw, dtype, lambda: draw.shape(1, 3)):
            x, attributes = draw.strided(data, 0.1), scan_attributes(draw, data.ndim)
            values = wide(x)
            expected = accumulate(function, values, function.identity, attributes)
            yield Case([x], expected, dtype, attributes, zeros=kind_of(dtype) != "c", **({} if exact else tolerance(
                dtype, x.shape[attributes["axis"]], size(values, attributes, expected))))
    return cases


def running_sizes(values, attributes, _):
    sizes = abs(values)
    return accumulate(numpy.add, numpy.where(numpy.isfinite(sizes), sizes, 0), 0, attributes)


def running_extreme(function, identity):
    def cases(draw, dtype):
        for data in ordered(draw, dtype, lambda: draw.shape(1, 3)):
            x, attributes = draw.strided(data, 0.1), scan_attributes(draw, data.ndim)
            expected = accumulate(function, wide(x), identity(dtype), attributes)
            yield Case([x], expected, dtype, attributes, zeros=False)
    return cases


def recur(a, b, axis, reverse):
    """y[i] = a[i] y[i - 1] + b[i], from y[0] = b[0] on."""
    a, b = (numpy.moveaxis(numpy.flip(x, axis) if reverse else x, axis, 0) for x in (a, b))
    y = b.copy()
    for i in range(1, len(y)):
        y[i] = a[i] * y[i - 1] + b[i]
    y = numpy.moveaxis(y, 0, axis)
    return numpy.flip(y, axis) if reverse else y


def recurrences(draw, dtype):
    """Factors of size one or less, so that errors do not grow; of the first one nothing comes through."""
    for b, exact in addends(draw, dtype, lambda: draw.shape(1, 3)):
        axis, reverse = draw.randrange(b.ndim), draw.random() < 0.5
        a = draw.values.choice([-1, 0, 1, 1], b.shape)
        if not exact and is_inexact(dtype):
            a = draw.values.uniform(-1, 1, b.shape)
        a = narrow(a if is_inexact(dtype) else a.astype(numpy.int64), dtype)
        if kind_of(dtype) == "f" and b.shape[axis] > 0:
            numpy.moveaxis(a, axis, 0)[-1 if reverse else 0] = narrow(draw.choice(POISON), dtype)
        if kind_of(dtype) in "iu" and draw.random() < 0.5:
            a = draw.any(dtype, b.shape)
        a, b = (draw.strided(x, 0.1) for x in (a, b))
        values = wide(a), wide(b)
        sizes = [numpy.where(numpy.isfinite(abs(x)), abs(x), 0) for x in values]
        yield Case([a, b], recur(*values, axis, reverse), dtype,
                   {"axis": axis, "reverse": reverse}, zeros=kind_of(dtype) != "c",
                   **({} if exact else tolerance(dtype, 2 * b.shape[axis], recur(*sizes, axis, reverse))))


# ---- sorting --------------------------------------------------------------------------------------------------------

def order(values, axis, descending):
    """Stable; NaN last in both directions, where numpy has it first if a sort is turned round."""
    if not descending:
        return numpy.argsort(values, axis, kind="stable")
    turned = numpy.argsort(numpy.flip(values, axis), axis, kind="stable")
    places = numpy.flip(values.shape[axis] - 1 - turned, axis)
    nan = numpy.take_along_axis(values != values, places, axis)
    return numpy.take_along_axis(places, numpy.argsort(nan, axis, kind="stable"), axis)


def sorts(gives_places):
    def cases(draw, dtype):
        for shape in (lambda: draw.shape(1, 4), lambda: [draw.choice([64, 257, 1009])]):
            for data in ordered(draw, dtype, shape):
                x, axis, descending = draw.strided(data, 0.1), draw.randrange(data.ndim), draw.random() < 0.5
                places = order(wide(x), axis, descending)
                expected = places if gives_places else numpy.take_along_axis(x, places, axis)
                yield Case([x], expected, "i64" if gives_places else dtype, {"axis": axis, "descending": descending},
                           bits=True)
    return cases


# ---- products -------------------------------------------------------------------------------------------------------

class Axes:
    """Of two operands: batch, free and contracted ones in any order."""

    def __init__(self, draw):
        self.batch, self.free_a, self.free_b, self.contract = (
            [draw.choice([0, 1, 2, 2, 3, 3, 4, 5, 7, 13, 37]) for _ in range(draw.choice(counts))]
            for counts in ([0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 1, 2], [0, 1, 1, 1, 2]))
        self.order_a, self.order_b = (self.order(draw, len(free)) for free in (self.free_a, self.free_b))

    def order(self, draw, free):
        """Where batch, contracted and free axes stand in an operand; free ones keep their order in the result."""
        fixed = len(self.batch) + len(self.contract)
        order = draw.sample(range(fixed + free), fixed + free)
        return order[:fixed] + sorted(order[fixed:])

    def shapes(self):
        for order, free in ((self.order_a, self.free_a), (self.order_b, self.free_b)):
            extents = [*self.batch, *self.contract, *free]
            yield [extents[order.index(axis)] for axis in range(len(order))]

    def points(self):
        return numpy.prod([*self.batch, *self.contract, *self.free_a, *self.free_b], dtype=float)

    @property
    def attributes(self):
        first, second = len(self.batch), len(self.batch) + len(self.contract)
        return {"batch_a": self.order_a[:first], "batch_b": self.order_b[:first],
                "contract_a": self.order_a[first:second], "contract_b": self.order_b[first:second]}

    def product(self, a, b):
        batch, contract = (int(numpy.prod(extents)) for extents in (self.batch, self.contract))
        a = a.transpose(self.order_a).reshape(batch, contract, int(numpy.prod(self.free_a)))
        b = b.transpose(self.order_b).reshape(batch, contract, int(numpy.prod(self.free_b)))
        result = numpy.add.reduce(a[:, :, :, None] * b[:, :, None, :], 1, dtype=a.dtype)
        return result.reshape([*self.batch, *self.free_a, *self.free_b])


def dots(draw, dtype):
    """Of bools whether any pair is true."""
    for exact in (True, True, not is_inexact(dtype)):
        axes = Axes(draw)
        while axes.points() > 60000:
            axes = Axes(draw)
        fill = draw.small if exact and is_inexact(dtype) else draw.moderate
        a, b = (draw.strided(fill(dtype, shape), 0.05) for shape in axes.shapes())
        values = wide(a), wide(b)
        steps = numpy.prod(axes.contract) + 2
        yield Case([a, b], axes.product(*values), dtype, axes.attributes,
                   **({} if exact else tolerance(dtype, steps, axes.product(*map(abs, values)))))


ENTRIES = {
    "reduce_sum": total(numpy.add, addends, sum_of_sizes),
    "reduce_prod": total(numpy.multiply, factors, product_of_sizes),
    "reduce_max": extreme(numpy.maximum, least),
    "reduce_min": extreme(numpy.minimum, greatest),
    "reduce_any": logical(numpy.any),
    "reduce_all": logical(numpy.all),
    "argmax": places(numpy.argmax),
    "argmin": places(numpy.argmin),
    "scan_sum": running_total(numpy.add, addends, running_sizes),
    "scan_prod": running_total(numpy.multiply, factors, product_of_sizes),
    "scan_max": running_extreme(numpy.maximum, least),
    "scan_min": running_extreme(numpy.minimum, greatest),
    "scan_linear": recurrences,
    "sort": sorts(False),
    "argsort": sorts(True),
    "dot": dots,
}
