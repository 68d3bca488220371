# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/shape.h>."""
from binding import numpy
from oracle import FLOATS, NUMBERS

CASES = {}
DTYPES = [*NUMBERS, numpy.bool_, numpy.uint8]


def case(function):
    CASES[function.__name__] = function
    return function


@case
def filling(draw):
    dtype, shape = draw.choice(NUMBERS), draw.extents(0, 3)
    x = draw.operand(shape, dtype)
    return draw.trial(lambda t, a: [t.zeros(t.graph, t.dtype(dtype), t.extents(shape)),
                                    t.ones(t.graph, t.dtype(dtype), t.extents(shape)), t.full_like(a, 2.5)],
                      numpy.zeros(shape, dtype), numpy.ones(shape, dtype), numpy.full_like(x, dtype(2.5)), ulp=0)


@case
def arange(draw):
    dtype, count = draw.choice(NUMBERS), draw.extents(1)[0]
    whole = dtype not in FLOATS
    start, step = (draw.randint(-9, 9), draw.randint(-3, 3)) if whole else (draw.gauss(0, 5), draw.gauss(0, 1))
    expected = (start + numpy.arange(count, dtype=numpy.int64 if whole else numpy.float64) * step).astype(dtype)
    return draw.trial(lambda t: [t.arange(t.graph, t.dtype(dtype), float(start), float(step), t.extent(count))],
                      expected, ulp=0)


@case
def linspace(draw):
    dtype, count = draw.float(), draw.extents(1)[0]
    start, stop = draw.gauss(0, 5), draw.gauss(0, 5)
    return draw.trial(lambda t: [t.linspace(t.graph, t.dtype(dtype), start, stop, t.extent(count))],
                      numpy.linspace(start, stop, count).astype(dtype), ulp=0)


@case
def eye(draw):
    (rows, columns), k, dtype = draw.extents(2), draw.randint(-4, 4), draw.choice(DTYPES)
    return draw.trial(lambda t: [t.eye(t.graph, t.dtype(dtype), t.extent(rows), t.extent(columns), k)],
                      numpy.eye(rows, columns, k, dtype))


@case
def one_hot(draw):
    shape, count, dtype = draw.extents(0, 2), draw.extents(1)[0], draw.choice(DTYPES)
    x = draw.operand(shape, draw.choice([numpy.int32, numpy.int64]), low=-1, high=8)
    return draw.trial(lambda t, a: [t.one_hot(a, t.extent(count), t.dtype(dtype))],
                      (x[..., None] == numpy.arange(count)).astype(dtype))


@case
def axes(draw):
    shape = draw.extents(1, 4)
    x = draw.operand(shape, draw.choice(DTYPES))
    a, b, new, rank = draw.axis(x.ndim), draw.axis(x.ndim), draw.axis(x.ndim + 1), x.ndim
    count = draw.randint(0, rank)
    sources, targets = draw.sample(range(rank), count), draw.sample(range(-rank, 0), count)
    first, last = sorted((a % rank, b % rank))
    flat = x.reshape(*x.shape[:first], -1 if x.size else int(numpy.prod(x.shape[first:last + 1])), *x.shape[last + 1:])
    return draw.trial(lambda t, i: [t.transpose(i, a, b), t.moveaxis(i, sources, targets), t.unsqueeze(i, new),
                                    t.squeeze(t.unsqueeze(i, new), new), t.flatten(i, first, last - rank)],
                      x.swapaxes(a, b), numpy.moveaxis(x, sources, targets), numpy.expand_dims(x, new), x, flat)


@case
def broadcast_like(draw):
    shape = draw.extents(0, 4)
    own = [1 if draw.random() < 0.3 else extent for extent in shape[draw.randint(0, len(shape)):]]
    x, y = draw.operand(own, draw.choice(DTYPES)), draw.operand(shape, draw.choice(DTYPES))
    return draw.trial(lambda t, a, b: [t.broadcast_like(a, b)], numpy.broadcast_to(x, y.shape))


@case
def stack(draw):
    shape, dtype = draw.extents(0, 3), draw.choice(DTYPES)
    xs = [draw.operand(shape, dtype) for _ in range(draw.randint(1, 4))]
    axis = draw.axis(len(shape) + 1)
    return draw.trial(lambda t, *all: [t.stack(all, axis)], numpy.stack(xs, axis))


@case
def split(draw):
    shape, parts = draw.extents(1, 3), draw.randint(1, 4)
    axis = draw.axis(len(shape))
    shape[axis] *= parts
    x = draw.operand(shape, draw.choice(DTYPES))
    return draw.trial(lambda t, a: t.several("split", parts, a, axis, parts), *numpy.split(x, parts, axis))


@case
def split_at(draw):
    shape, sizes = draw.extents(1, 3), draw.extents(1, 4)
    axis = draw.axis(len(shape))
    shape[axis] = sum(sizes)
    x = draw.operand(shape, draw.choice(DTYPES), static=[axis])
    cuts = numpy.cumsum(sizes)[:-1]
    return draw.trial(lambda t, a: t.several("split_at", len(sizes), a, axis, [
        t.weft.extent_of(size) for size in sizes]), *numpy.split(x, cuts, axis))


@case
def chunk(draw):
    shape, parts = draw.extents(1, 3), draw.randint(1, 5)
    axis = draw.axis(len(shape))
    x = draw.operand(shape, draw.choice(DTYPES), static=[axis])
    size = -(-x.shape[axis] // parts)
    pieces = numpy.split(x, range(size, x.shape[axis], size), axis) if size else [x]
    return draw.trial(lambda t, a: t.chunk_all(a, axis, parts), *pieces)


@case
def repeat(draw):
    shape, count = draw.extents(1, 3), draw.randint(0, 4)
    axis, x = draw.axis(len(shape)), draw.operand(shape, draw.choice(DTYPES))
    return draw.trial(lambda t, a: [t.repeat(a, axis, t.extent(count))], numpy.repeat(x, count, axis))


@case
def tile(draw):
    shape, counts = draw.extents(0, 3), [draw.randint(0, 3) for _ in range(draw.randint(0, 4))]
    x = draw.operand(shape, draw.choice(DTYPES))
    return draw.trial(lambda t, a: [t.tile(a, t.extents(counts))], numpy.tile(x, counts))


@case
def roll(draw):
    shape = draw.extents(1, 3)
    axes = [draw.axis(len(shape)) for _ in range(draw.randint(0, len(shape)))]
    shifts = [draw.randint(-20, 20) for _ in axes]
    x = draw.operand(shape, draw.choice(DTYPES))
    return draw.trial(lambda t, a: [t.roll(a, shifts, axes)], numpy.roll(x, shifts, axes) if axes else x)


@case
def triangles(draw):
    x, k = draw.operand(draw.extents(2, 4), draw.choice(DTYPES)), draw.randint(-4, 4)
    return draw.trial(lambda t, a: [t.tril(a, k), t.triu(a, k)], numpy.tril(x, k), numpy.triu(x, k))


@case
def diagonal(draw):
    x, k = draw.operand(draw.extents(2, 4), draw.choice(DTYPES)), draw.randint(-4, 4)
    a, b = draw.sample(range(x.ndim), 2)
    # numpy starts beyond the end where there is no such diagonal.
    expected = numpy.diagonal(x, k, a, b)
    return draw.trial(lambda t, i: [t.diagonal(i, k, a, b - x.ndim)], expected)


@case
def diag(draw):
    x, k = draw.operand(draw.extents(1, 2), draw.choice(DTYPES)), draw.randint(-4, 4)
    return draw.trial(lambda t, a: [t.diag(a, k)], numpy.diag(x, k))


@case
def meshgrid(draw):
    xs = [draw.operand(draw.extents(1), draw.choice(DTYPES)) for _ in range(draw.randint(1, 4))]
    swap = draw.random() < 0.5
    expected = numpy.meshgrid(*xs, indexing="xy" if swap else "ij")
    return draw.trial(lambda t, *all: t.several("meshgrid", len(all), all, swap), *expected)
