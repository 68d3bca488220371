# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/linear.h>."""
from binding import numpy
from oracle import NUMBERS

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def wide(x):
    return x.astype(numpy.float64) if x.dtype.kind == "f" else x


def judged(draw, trace, function, *operands):
    """A sum of products: errors are of the size of the sum of absolute values."""
    expected = function(*map(wide, operands))
    scale = abs(function(*(abs(wide(operand)) for operand in operands)))
    return draw.trial(trace, expected, ulp=8, scale=scale)


def batch(draw, rank):
    """Shapes of two operands that broadcast."""
    full = draw.extents(rank)
    return [[1 if draw.random() < 0.3 else extent for extent in full[draw.randint(0, rank):]] for _ in range(2)]


@case
def matmul(draw):
    m, k, n = draw.extents(3)
    dtype, (left, right) = draw.choice(NUMBERS), batch(draw, draw.randint(0, 3))
    a = draw.operand(draw.choice([[k], left + [m, k], left + [m, k]]), dtype)
    b = draw.operand(draw.choice([[k], right + [k, n], right + [k, n]]), dtype)
    return judged(draw, lambda t, x, y: [t.matmul(x, y)], numpy.matmul, a, b)


@case
def tensordot(draw):
    dtype, paired = draw.choice(NUMBERS), draw.extents(0, 2)
    count, sides, axes = len(paired), [], []
    for _ in range(2):
        extents = paired + draw.extents(0, 2)
        order = draw.sample(range(len(extents)), len(extents))
        sides.append(draw.operand([extents[i] for i in order], dtype))
        axes.append([order.index(i) for i in range(count)])
    return judged(draw, lambda t, x, y: [t.tensordot(x, y, *axes)],
                  lambda x, y: numpy.tensordot(x, y, axes if count else 0), *sides)


@case
def outer(draw):
    dtype = draw.choice(NUMBERS)
    a, b = (draw.operand(draw.extents(0, 2), dtype) for _ in range(2))
    return judged(draw, lambda t, x, y: [t.outer(x, y)], numpy.multiply.outer, a, b)


@case
def kron(draw):
    dtype = draw.choice(NUMBERS)
    a, b = (draw.operand(draw.extents(0, 3, least=1), dtype) for _ in range(2))
    return judged(draw, lambda t, x, y: [t.kron(x, y)], numpy.kron, a, b)


@case
def trace_matrix(draw):
    x, k = draw.operand(draw.extents(2, 4), draw.choice(NUMBERS)), draw.randint(-4, 4)
    a, b = draw.sample(range(x.ndim), 2)
    return judged(draw, lambda t, i: [t.trace_matrix(i, k, a, b)],
                  lambda i: numpy.trace(i, k, a, b, dtype=i.dtype), x)
