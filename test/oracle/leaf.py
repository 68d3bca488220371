# SPDX-License-Identifier: Apache-2.0
"""Ops without operands: inputs, constants, indices, extents."""
from binding import numpy
from number import DTYPES, REAL, Case, kind_of, narrow


def inputs(draw, dtype):
    """The text has this node twice, as for any operand and as the node that counts."""
    for _ in range(2):
        x = draw.strided(draw.any(dtype, draw.shape(0, 4)), 0.1)
        yield Case([x], x, dtype, {"name": "x0", "dtype": dtype, "shape": x.shape}, bits=True)


def spelled(value):
    """An element as text."""
    if value.dtype.kind == "c":
        return f"({spelled(value.real)}, {spelled(value.imag)})"
    return repr(value.item()).lower()


def constants(draw, dtype):
    x = draw.any(dtype, draw.shape(0, 3, 300))
    if dtype == "bf16":
        x = draw.bits(dtype, x.shape)
    attributes = {"dtype": dtype, "shape": x.shape}
    yield Case([], x, dtype, {**attributes, "data": f'bytes "{x.tobytes().hex()}"'}, bits=True)
    if dtype != "bf16":
        data = f"[{', '.join(spelled(value) for value in x.reshape(-1))}]"
        yield Case([], x, dtype, {**attributes, "data": data})


def iotas(draw, dtype):
    """Converted from i64, so u8 wraps; bf16 and f16 round from 256 and 2048 on."""
    for shape in (draw.shape(1, 4), [draw.randint(300, 4000)]):
        axis = draw.randrange(len(shape))
        places = numpy.indices(shape)[axis]
        expected = places.astype(DTYPES[dtype]) if kind_of(dtype) in "iu" else narrow(places.astype(REAL), dtype)
        yield Case([], expected, dtype, {"dtype": dtype, "shape": shape, "axis": axis})


def extents(draw, dtype):
    """Always i64; the row takes all dtypes because it has no operand."""
    if dtype == "i64":
        for value in (0, 1, draw.randint(2, 4000)):
            yield Case([], numpy.array(value), dtype, {"value": value})


ENTRIES = {"input": inputs, "constant": constants, "iota": iotas, "extent": extents}
