# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/statistics.h>."""
from binding import numpy
from oracle import NUMBERS

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
    p = draw.choice([0.0, 1.0, 2.0, numpy.inf, -numpy.inf])
    return draw.trial(lambda t, a: [t.norm(a, axes, float(p), keep)], norms(x, axes, keep, p))


@case
def count_nonzero(draw):
    shape = draw.extents(1, 4)
    x, axes = draw.operand(shape, draw.choice([*NUMBERS, numpy.bool_])), tuple(draw.axes(len(shape)))
    keep = draw.random() < 0.5
    return draw.trial(lambda t, a: [t.count_nonzero(a, axes, keep)],
                      numpy.asarray(numpy.count_nonzero(x, axes, keepdims=keep), numpy.int64))
