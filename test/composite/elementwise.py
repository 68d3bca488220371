# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/elementwise.h>."""
import math

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


def polygamma_of(n, x):
    """The sum of (x + k)^-(n+1), the first 60 terms one by one, and the rest by Euler and Maclaurin."""
    x = numpy.where(x == numpy.round(x), numpy.where(x > 0, x, numpy.nan), x).astype(numpy.longdouble)
    s, w = n + 1, x + 60
    rest = w ** -n / n + w ** -s / 2
    for j, number in enumerate((1 / 12, -1 / 720, 1 / 30240)):
        rest += number * math.prod(range(s, s + 2 * j + 1)) * w ** -(s + 2 * j + 1)
    terms = sum((x + k) ** -s for k in range(60))
    return (-1) ** s * math.factorial(n) * (terms + rest)


@case
def polygamma(draw):
    (x,) = operands(draw, 1, draw.float(), low=-20.0, high=20.0)
    return draw.trial(lambda t, x: [t.polygamma(1, x), t.polygamma(2, x), t.polygamma(3, x)],
                      *(polygamma_of(n, x) for n in (1, 2, 3)), scale=24)


@case
def logical(draw):
    a, b = operands(draw, 2, draw.choice([*NUMBERS, numpy.bool_]))
    return draw.trial(lambda t, x, y: [t.logical_and(x, y), t.logical_or(x, y), t.logical_xor(x, y), t.logical_not(x)],
                      numpy.logical_and(a, b), numpy.logical_or(a, b), numpy.logical_xor(a, b), numpy.logical_not(a))


@case
def complex_functions(draw):
    (x,) = operands(draw, 1, draw.choice([numpy.complex64, numpy.complex128]))
    wide = x.astype(complex)
    names = ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "angle", "abs", "conj"]
    return draw.trial(lambda t, z: [getattr(t, name)(z) for name in names],
                      *(getattr(numpy, name)(wide) for name in names), scale=0)


@case
def complex_powers(draw):
    a, b = operands(draw, 2, draw.choice([numpy.complex64, numpy.complex128]))
    return draw.trial(lambda t, *all: [t.pow(*all)], a.astype(complex) ** b, ulp=128, scale=0)


@case
def complex_kinds(draw):
    re, im = (draw.operand([17], numpy.float64, special=True) for _ in range(2))
    z = re + 0j
    z.imag = im
    return draw.trial(lambda t, x, y: [t.is_nan(t.complex(x, y)), t.is_finite(t.complex(x, y))],
                      numpy.isnan(z), numpy.isfinite(z))
