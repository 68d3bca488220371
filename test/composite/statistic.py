# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/statistics.h>."""
import ctypes

from binding import Tensor, numpy
from oracle import FLOATS, NUMBERS, SPECIALS

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def along(draw, special=False, least=0):
    """An operand, axes and whether they are kept; elements in f64 for numpy."""
    shape = draw.extents(1, 4, least)
    x = draw.operand(shape, draw.float(), special=special)
    return x.astype(numpy.float64), tuple(draw.axes(len(shape))), draw.random() < 0.5


@case
def mean(draw):
    x, axes, keep = along(draw)
    size = abs(x).mean(axes, keepdims=keep)
    return draw.trial(lambda t, a: [t.mean(a, axes, keep)], x.mean(axes, keepdims=keep), scale=size)


@case
def variance(draw):
    x, axes, keep = along(draw)
    x += 1000
    draw.operands[-1].data = draw.operands[-1].data + draw.operands[-1].data.dtype.type(1000)
    x, correction = draw.operands[-1].data.astype(numpy.float64), draw.randint(0, 2)
    expected = x.var(axes, ddof=correction, keepdims=keep)
    # The mean is off by half a unit of 1000, which adds its square.
    scale = 1000 * numpy.sqrt(expected) + 1000 ** 2 * float(numpy.finfo(draw.operands[-1].data.dtype).eps)
    return draw.trial(lambda t, a: [t.variance(a, axes, correction, keep)], expected, scale=scale)


@case
def standard_deviation(draw):
    x, axes, keep = along(draw)
    return draw.trial(lambda t, a: [t.standard_deviation(a, axes, 1, keep)], x.std(axes, ddof=1, keepdims=keep),
                      ulp=64)


@case
def logsumexp(draw):
    x, axes, keep = along(draw, special=draw.random() < 0.5)
    greatest = x.max(axes, keepdims=True, initial=-numpy.inf)
    shift = numpy.where(numpy.isfinite(greatest), greatest, 0)
    sums = numpy.log(numpy.exp(x - shift).sum(axes, keepdims=True)) + shift
    return draw.trial(lambda t, a: [t.logsumexp(a, axes, keep)],
                      sums if keep else sums.squeeze(tuple(axis % x.ndim for axis in axes)))


def norms(x, axes, keep, p):
    if p == 0:
        return (x != 0).sum(axes, keepdims=keep).astype(x.dtype)
    if abs(p) == numpy.inf:
        return abs(x).max(axes, keepdims=keep, initial=0) if p > 0 else abs(x).min(axes, keepdims=keep, initial=p * p)
    return (abs(x) ** p).sum(axes, keepdims=keep) ** (1 / p)


@case
def norm(draw):
    x, axes, keep = along(draw)
    p = draw.choice([0.0, 1.0, 3.0, 0.5, -1.0, 2.0, numpy.inf, -numpy.inf])
    return draw.trial(lambda t, a: [t.norm(a, axes, float(p), keep)], norms(x, axes, keep, p))


@case
def count_nonzero(draw):
    shape = draw.extents(1, 4)
    x, axes = draw.operand(shape, draw.choice([*NUMBERS, numpy.bool_])), tuple(draw.axes(len(shape)))
    keep = draw.random() < 0.5
    return draw.trial(lambda t, a: [t.count_nonzero(a, axes, keep)],
                      numpy.asarray(numpy.count_nonzero(x, axes, keepdims=keep), numpy.int64))


@case
def narrow_columns(draw):
    """Reductions of columns that are reduced many rows at a time, where extents are known."""
    dtype = draw.choice([numpy.bool_, numpy.uint8, numpy.int32, numpy.int64, *FLOATS])
    shape = [*draw.extents(0, 1, 1), draw.choice([draw.randint(500, 6000), 4096]), draw.randint(1, 9)]
    x = draw.operand(shape, dtype)
    if dtype in FLOATS:
        x[tuple(draw.randint(0, extent - 1) for extent in shape)] = draw.choice(SPECIALS)
    elif draw.random() < 0.5:
        x[...] = draw.random() < 0.5  # of which one is another one
        x[tuple(draw.randint(0, extent - 1) for extent in shape)] ^= True
    axes = (-2,) if len(shape) == 2 or draw.random() < 0.7 else (0, 1)
    names = ["any", "all"] if dtype is numpy.bool_ else ["max", "min"] if dtype in FLOATS else [
        "sum", "prod", "max", "min"]
    expected = [getattr(x, name)(axes).astype(dtype) for name in names]

    def trace(t, a):
        return [getattr(t, "reduce_" + name)(a, axes, False) for name in names] + [t.count_nonzero(a, axes, False)]
    return draw.trial(trace, *expected, numpy.count_nonzero(x, axes))


@case
def quantile(draw):
    shape = draw.extents(1, 3, least=1)
    x = draw.operand(shape, draw.float(), special=draw.random() < 0.3)
    axis, keep, q = draw.axis(len(shape)), draw.random() < 0.5, draw.choice([0.0, 0.25, 0.5, 0.9, 1.0, draw.random()])
    wide = x.astype(numpy.float64)
    # Beside an infinity numpy gives NaN, also where that takes no part.
    low, high = (numpy.quantile(wide, q, axis, keepdims=keep, method=name) for name in ("lower", "higher"))
    part = q * (shape[axis] - 1) % 1
    far = low * (1 - part) + high * part
    expected = numpy.where(numpy.isfinite(high - low), numpy.quantile(wide, q, axis, keepdims=keep), far)
    expected = numpy.where((low == high) | (part == 0), low, expected)
    middle = numpy.median(wide, axis, keepdims=keep)
    return draw.trial(lambda t, a: [t.quantile(a, q, axis, keep), t.median(a, axis, keep)], expected, middle,
                      scale=numpy.where(numpy.isfinite(expected), 1e2, 0))


@case
def top_k(draw):
    shape = draw.extents(1, 3)
    x = draw.operand(shape, draw.choice(NUMBERS))
    axis, smallest = draw.axis(len(shape)), draw.random() < 0.5
    k = draw.randint(0, x.shape[axis])
    order = numpy.argsort(x if smallest else -x, axis, kind="stable").take(range(k), axis)

    def trace(t, a):
        indices = Tensor()
        return [t.top_k(a, axis, t.weft.extent_of(k), smallest, ctypes.byref(indices)), indices]
    return draw.trial(trace, numpy.take_along_axis(x, order, axis), order)


@case
def searchsorted(draw):
    dtype, right, batch = draw.choice(NUMBERS), draw.random() < 0.5, draw.extents(0, 2)
    floats = numpy.dtype(dtype).kind == "f"
    rows = draw.operand(batch + draw.extents(1), dtype, special=floats and draw.random() < 0.5)
    rows = numpy.sort(rows, -1)
    draw.operands[-1].data = rows
    values = draw.operand(batch + draw.extents(1) if batch else draw.extents(0, 2), dtype, special=floats)
    side = "right" if right else "left"
    places = numpy.zeros(values.shape, numpy.int64)
    if not batch:
        places[...] = numpy.searchsorted(rows, values, side)
    for row in numpy.ndindex(*batch):
        places[row] = numpy.searchsorted(rows[row], values[row], side)
    return draw.trial(lambda t, a, b: [t.searchsorted(a, b, right)], places)


@case
def unique(draw):
    dtype, size = draw.choice(NUMBERS), draw.randint(0, 8)
    x = draw.operand(draw.extents(0, 3), dtype, special=numpy.dtype(dtype).kind == "f")
    found, often = numpy.unique(x, return_counts=True)
    values, counts = numpy.zeros(size, x.dtype), numpy.zeros(size, numpy.int64)
    count = min(size, len(found))
    values[:count], counts[:count] = found[:count], often[:count]

    def trace(t, a):
        times = Tensor()
        return [t.unique(a, t.weft.extent_of(size), ctypes.byref(times)), times]
    return draw.trial(trace, values, counts)


def beside(points):
    """Floats, and those next to them."""
    return numpy.concatenate([points, *(numpy.nextafter(points, points.dtype.type(way)) for way in (-numpy.inf, numpy.inf))])


def edge_dtype(dtype, low, high):
    if dtype.kind != "f":
        return numpy.dtype(float)
    wide = [numpy.dtype(name) for name in (dtype, numpy.float32, float)]
    return next(name for name in wide if numpy.isfinite(numpy.asarray([low, high]).astype(name)).all())


def binned(values, bins, low, high):
    """numpy's rule: an element is in the bin between whose edges it is, which have its dtype."""
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = numpy.linspace(low, high, bins + 1).astype(edge_dtype(values.dtype, low, high)).astype(float)
    return numpy.histogram(values.astype(float), edges)[0]


@case
def histogram_edges(draw):
    """Elements on edges and next to them, in bins that are wide, and narrower than elements are apart."""
    dtype = numpy.dtype(draw.choice([numpy.float16, numpy.float32, float, numpy.int32, numpy.uint8, numpy.int64]))
    bins = draw.choice([1, 2, 3, 7, 10, 49, 100, 333, 1000])
    low, high = draw.choice([(0.0, 1.0), (-1.0, 1.0), (0.1, 0.7), (-2.0, 3.5), (5.0, 5.0), (0.0, 1e-40), (1000.0, 1001.0),
                             (-3e4, 6e4), (0.0, 1e5), (0.0, 5e-324), (1.0, 1.0 + 2**-20), (-0.3, 100.1)])
    kind = edge_dtype(dtype, low, high)
    edges = numpy.linspace(low, high, bins + 1).astype(dtype if kind == dtype else float)
    if dtype.kind == "f":
        special = numpy.array([0.0, -0.0, 5e-324, -1e-45, 6e-8, numpy.nan, numpy.inf, -numpy.inf]).astype(dtype)
        values = numpy.concatenate([beside(edges.astype(dtype)), draw.values.uniform(low - 1, high + 1, 500).astype(dtype),
                                    draw.values.uniform(low, high, 500).astype(dtype), special])
    else:
        limits = numpy.iinfo(dtype)
        values = numpy.concatenate([numpy.clip(numpy.floor(edges), limits.min, 2.0**31 - 1 if limits.max > 255 else 255),
                                    draw.values.integers(0, 200, 500)]).astype(dtype)
    expected = binned(values, bins, low, high)
    wide = dtype.kind != "f" or kind == dtype and (high - low or 1) / bins > 4 * numpy.finfo(dtype).eps * max(-low, high)
    if wide and dtype != numpy.float16 and high - low not in (1e-40, 5e-324):
        assert (expected == numpy.histogram(values, bins, (low, high))[0]).all()
    operand = draw.operand(values.shape, dtype)
    operand[:] = values
    return draw.trial(lambda t, a: [t.histogram(a, bins, low, high)], expected)


@case
def counting(draw):
    count, bins = draw.extents(1, least=1)[0], draw.randint(1, 20)
    x = draw.operand(draw.extents(0, 3), draw.choice([numpy.int32, numpy.int64, numpy.uint8]), low=0, high=12)
    weights, values = draw.operand(x.shape, draw.float()), draw.operand(x.shape, draw.float(), special=True)
    inside = x < count
    sums = numpy.bincount(x[inside].ravel(), weights[inside].ravel(), count).astype(float)
    return draw.trial(lambda t, a, b, c: [t.bincount(a, t.weft.extent_of(count), Tensor()),
                                          t.bincount(a, t.weft.extent_of(count), b), t.histogram(c, bins, -2.0, 3.5)],
                      numpy.bincount(x[inside].ravel(), minlength=count), sums,
                      numpy.histogram(values, bins, (-2.0, 3.5))[0], scale=numpy.abs(weights).sum())
