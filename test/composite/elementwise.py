# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/elementwise.h>."""
from binding import numpy
from oracle import NUMBERS

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def operands(draw, count, dtype, **options):
    """Of shapes that broadcast."""
    shape = draw.extents(0, 3)
    return [draw.operand([1 if draw.random() < 0.2 else extent for extent in shape[draw.randint(0, len(shape)):]], dtype,
                         **options) for _ in range(count)]


@case
def clamp(draw):
    x, low, high = operands(draw, 3, draw.choice(NUMBERS))
    return draw.trial(lambda t, *all: [t.clamp(*all)], numpy.minimum(numpy.maximum(x, low), high), ulp=0)


@case
def lerp(draw):
    a, b, share = (x.astype(float) for x in operands(draw, 3, draw.float()))
    return draw.trial(lambda t, *all: [t.lerp(*all)], a + (b - a) * share, scale=400)


@case
def is_close(draw):
    dtype = draw.float()
    a, b = operands(draw, 2, dtype, special=True)
    relative, absolute = draw.choice([0.0, 0.5]), draw.choice([0.0, 0.25])
    relative, absolute = float(dtype(relative)), float(dtype(absolute))
    return draw.trial(lambda t, x, y: [t.is_close(x, y, relative, absolute), t.is_close(x, x, 0.0, 0.0)],
                      numpy.isclose(a, b, relative, absolute), ~numpy.isnan(a))


@case
def logical(draw):
    a, b = operands(draw, 2, draw.choice([*NUMBERS, numpy.bool_]))
    return draw.trial(lambda t, x, y: [t.logical_and(x, y), t.logical_or(x, y), t.logical_xor(x, y), t.logical_not(x)],
                      numpy.logical_and(a, b), numpy.logical_or(a, b), numpy.logical_xor(a, b), numpy.logical_not(a))
