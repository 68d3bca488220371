# SPDX-License-Identifier: Apache-2.0
"""Views: elements move and keep all their bits."""
from binding import numpy
from number import DTYPES, Case


def moved(choose):
    """Cases of one operand; `choose` gives attributes and the result from it."""
    def cases(draw, dtype):
        for _ in range(2):
            x, attributes, expected = choose(draw, dtype)
            yield Case([x], expected, dtype, attributes, bits=True)
    return cases


def operand(draw, dtype, low=1, high=4):
    return draw.strided(draw.any(dtype, draw.shape(low, high)), 0.1)


def split(draw, count):
    """Extents whose product is `count`."""
    shape = []
    for factor in (2, 3, 5, 7, 13, 17, 37):
        while count > 1 and count % factor == 0:
            count //= factor
            shape.append(factor)
    draw.shuffle(shape)
    merged = [1] * draw.randint(0, 1) + ([0] if count == 0 else [])
    for extent in shape:
        if merged and draw.random() < 0.4:
            merged[-1] *= extent
        else:
            merged.append(extent)
    return merged[:-4] and [numpy.prod(merged[:-3]), *merged[-3:]] or merged


@moved
def reshapes(draw, dtype):
    x = operand(draw, dtype, 0)
    shape = split(draw, x.size)
    return x, {"shape": shape}, x.reshape(shape)


@moved
def permutes(draw, dtype):
    x = operand(draw, dtype, 0)
    axes = draw.sample(range(x.ndim), x.ndim)
    return x, {"axes": axes}, x.transpose(axes)


@moved
def broadcasts(draw, dtype):
    """Axis i of x is axis axes[i] of the result, whose other axes repeat; extents of one stretch."""
    shape = draw.shape(0, 4)
    axes = draw.axes(len(shape))
    own = [1 if draw.random() < 0.2 else shape[axis] for axis in axes]
    x = draw.strided(draw.any(dtype, own))
    aligned = x.reshape([own[axes.index(axis)] if axis in axes else 1 for axis in range(len(shape))])
    return x, {"shape": shape, "axes": axes}, numpy.broadcast_to(aligned, shape)


@moved
def slices(draw, dtype):
    x = operand(draw, dtype, 0)
    starts, sizes, steps, key = [], [], [], []
    for extent in x.shape:
        start, step = draw.randint(0, max(extent - 1, 0)), draw.choice([1, 1, 2, 3, -1, -2, 7])
        room = 0 if extent == 0 else (extent - 1 - start) // step + 1 if step > 0 else start // -step + 1
        starts.append(start)
        sizes.append(draw.choice([room, draw.randint(0, room)]))
        steps.append(step)
        key.append(start + step * numpy.arange(sizes[-1]))
        if sizes[-1] == 0 and (extent == 0 or draw.random() < 0.5):
            starts[-1] = extent if step > 0 else -1
    return x, {"starts": starts, "sizes": sizes, "steps": steps}, x[numpy.ix_(*key)] if key else x


def pads(draw, dtype):
    for _ in range(2):
        x, value = operand(draw, dtype, 0, 3), draw.any(dtype, [])
        low, high = ([draw.choice([0, 0, 1, 3, 8]) for _ in x.shape] for _ in range(2))
        expected = numpy.empty([a + extent + b for a, extent, b in zip(low, x.shape, high)], DTYPES[dtype])
        expected[...] = value
        expected[tuple(slice(a, a + extent) for a, extent in zip(low, x.shape))] = x
        yield Case([x, value], expected, dtype, {"low": low, "high": high}, bits=True)


@moved
def flips(draw, dtype):
    x = operand(draw, dtype, 0)
    axes = draw.axes(x.ndim)
    return x, {"axes": axes}, numpy.flip(x, axes)


@moved
def same(draw, dtype):
    x = operand(draw, dtype, 0)
    return x, {}, x


@moved
def barriers(draw, dtype):
    x = operand(draw, dtype, 0)
    return x, {"number": draw.randrange(9), "keep": draw.random() < 0.5}, x


@moved
def windows(draw, dtype):
    """Windows that lie inside, which may be none."""
    x = operand(draw, dtype, 1, 3)
    axis, size = draw.randrange(x.ndim), draw.choice([1, 2, 3, 5])
    stride, dilation = draw.choice([1, 1, 2, 3]), draw.choice([1, 1, 2, 3])
    count = max(0, (x.shape[axis] - (size - 1) * dilation - 1) // stride + 1)
    places = numpy.arange(count)[:, None] * stride + numpy.arange(size) * dilation
    expected = numpy.moveaxis(numpy.take(x, places, axis), axis + 1, -1)
    return x, {"axis": axis, "size": size, "stride": stride, "dilation": dilation}, expected


def shears(draw, dtype):
    """Element by element along the second axis: each moves by a step more."""
    for _ in range(2):
        x = operand(draw, dtype, 2, 4)
        axis, along = draw.sample(range(x.ndim), 2)
        step = draw.choice([0, 1, 1, 2, -1, -3, 10**6, -2**40, 2**63 - 1, -2**63])
        extent = draw.choice([0, 1, x.shape[axis], x.shape[axis] + x.shape[along], x.shape[axis] + 7])
        shape = list(x.shape)
        shape[axis] = extent
        expected = numpy.zeros(shape, DTYPES[dtype])
        source, target = (numpy.moveaxis(a, (along, axis), (0, 1)) for a in (x, expected))
        for k in range(x.shape[along]):
            first, last = max(0, k * step), min(extent, x.shape[axis] + k * step)
            if first < last:
                target[k, first:last] = source[k, first - k * step:last - k * step]
        yield Case([x], expected, dtype, {"axis": axis, "along": along, "step": step, "extent": extent}, bits=True)


@moved
def diagonals(draw, dtype):
    """The diagonal stands at the lower of the two axes."""
    x = operand(draw, dtype, 1, 3)
    a, b = sorted(draw.sample(range(x.ndim + 1), 2))
    square = numpy.repeat(numpy.expand_dims(x, b), x.shape[a], b).copy()
    taken = numpy.moveaxis(numpy.diagonal(square, 0, a, b), -1, a)
    swapped = draw.random() < 0.5
    return draw.strided(square), {"axis_a": b if swapped else a, "axis_b": a if swapped else b}, taken


def embeddings(draw, dtype):
    for _ in range(2):
        x = draw.strided(draw.any(dtype, draw.shape(1, 3, 300)))
        axis, new_axis = draw.randrange(x.ndim), draw.randint(0, x.ndim)
        old = axis + (new_axis <= axis)
        shape = [*x.shape[:new_axis], x.shape[axis], *x.shape[new_axis:]]
        expected = numpy.zeros(shape, DTYPES[dtype])
        diagonal = expected.transpose([other for other in range(len(shape)) if other not in (old, new_axis)]
                                      + [old, new_axis])
        place = numpy.arange(x.shape[axis])
        diagonal[..., place, place] = numpy.moveaxis(x, axis, -1)
        yield Case([x], expected, dtype, {"axis": axis, "new_axis": new_axis}, bits=True)


ENTRIES = {"reshape": reshapes, "permute": permutes, "broadcast": broadcasts, "slice": slices, "pad": pads,
           "flip": flips, "stop_gradient": same, "barrier": barriers, "window": windows, "shear": shears,
           "extract_diagonal": diagonals, "embed_diagonal": embeddings}
