# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops, each over all pairs of special values and over shapes and layouts at random."""
import pathlib
import re

import gamma
from binding import numpy
from number import COMPLEX, DTYPES, FORMATS, LONG, PARTS, REAL, Case, epsilon, format_of, kind_of, specials, wide

MATH = pathlib.Path(__file__).parents[2] / "lib/math/math.def"
NOISE = 0.01  # of what long double rounds, in units of an f64


def read_bounds():
    """What generated code promises: units of the last place, and below which size those of a fixed size."""
    rows = re.findall(r"^WEFT_MATH(\w*)\((\w+), (\w+), ([\d.]+)\)", MATH.read_text(), re.MULTILINE)
    return tuple({(op, dtype.lower()): float(value) for mark, op, dtype, value in rows if (mark == "_FLOOR") == floor}
                 for floor in (False, True))


BOUNDS, FLOORS = read_bounds()


# ---- operands -------------------------------------------------------------------------------------------------------

def every(draw, dtypes):
    """Every combination of special values, and as many others."""
    grid = numpy.meshgrid(*(numpy.arange(specials(dtype).size) for dtype in dtypes), indexing="ij")
    rows = 3 if len(dtypes) == 1 else grid[0].shape[0]
    operands = []
    for places, dtype in zip(grid, dtypes):
        other = draw.any(dtype, (rows, places.shape[-1]))
        values = specials(dtype)[places].reshape(-1, places.shape[-1])
        operands.append(draw.strided(numpy.concatenate([values, other])))
    return operands


def shaped(draw, dtypes):
    """Of any rank, with elements that repeat."""
    shape = draw.shape(0, 4, 600)
    return [draw.strided(draw.any(dtype, shape), 0.15) for dtype in dtypes]


def both(draw, *dtypes):
    yield every(draw, dtypes)
    yield shaped(draw, dtypes)


# ---- what is exact --------------------------------------------------------------------------------------------------

def arithmetic(function, count=2, **options):
    """numpy's own operation on integers and f64, on wide values for others."""
    def cases(draw, dtype):
        for operands in both(draw, *[dtype] * count):
            wider = dtype in FORMATS and dtype != "f64"
            expected = function(*(wide(x) if wider else x for x in operands))
            yield Case(operands, expected, dtype, **options)
    return cases


def complex_arithmetic(function, size, ulp, count=2):
    """So many units of the last place of f32 or f64 that is as great as `size`, for generated code; one for the
    reference. The floats go through `arithmetic`."""
    plain = arithmetic(function, count)

    def cases(draw, dtype):
        if kind_of(dtype) != "c":
            yield from plain(draw, dtype)
            return
        for operands in both(draw, *[dtype] * count):
            values = [wide(x) for x in operands]
            expected = function(*values)
            unit = format_of(dtype).spacing(size(expected, *map(abs, values)).astype(REAL))
            yield Case(operands, expected, dtype, slack=(unit, ulp * unit))
    return cases


def complex_divide(a, b):
    """By zero and by infinities each part is divided by |b|, which ops.h says; numpy has NaN there."""
    if a.dtype.kind != "c":
        return a / b
    size, result = numpy.where(numpy.isnan(b), numpy.nan, abs(b)), numpy.asarray(a / b)
    for part in ("real", "imag"):
        setattr(result, part, numpy.where((size == 0) | numpy.isinf(size), getattr(a, part) / size,
                                          getattr(result, part)))
    return result


def without_zeros(function):
    """Of integers; a zero is a run-time error."""
    def cases(draw, dtype):
        for a, b in both(draw, dtype, dtype):
            divisors = numpy.where(b == 0, numpy.asarray(3, b.dtype), b)
            yield Case([a, divisors], function(a, divisors), dtype)
        a, b = (draw.small(dtype, [7, 5]) for _ in range(2))
        b[b == 0] = 1
        at = draw.randrange(35)
        b.flat[[at, 34]] = 0
        yield Case([a, b], a, dtype, fails=f"division by 0 at position {at}")
    return cases


def division(integers, floats):
    integer = without_zeros(integers)
    return lambda draw, dtype: (integer if kind_of(dtype) in "iu" else floats)(draw, dtype)


def to_bool(function, count=2):
    def cases(draw, dtype):
        for operands in both(draw, *[dtype] * count):
            yield Case(operands, function(*map(wide, operands)), "bool")
    return cases


# ---- functions ------------------------------------------------------------------------------------------------------

def bounds(op, dtype, values):
    """How far both may be from the exact value: units of the last place, and slack. 16-bit floats are rounded twice."""
    if dtype in ("bf16", "f16"):
        ulp = 0.5 + BOUNDS[op, "f32"] * 2.0 ** (FORMATS[dtype].precision - 24)
    else:
        ulp = BOUNDS[op, dtype]
    floor = FLOORS.get((op, dtype), 0)
    unit = numpy.where(values < 0, FORMATS[dtype].spacing(REAL(floor)), 0) if floor else 0
    return (0.5 + NOISE, ulp + NOISE), (NOISE * unit, ulp * unit)


def function(op, apply, count=1):
    """A function of floats or complex numbers, exactly or in long double."""
    def cases(draw, dtype):
        for operands in both(draw, *[dtype] * count):
            values = [wide(x) for x in operands]
            ulp, slack = bounds(op, dtype, values[0])
            yield Case(operands, apply(*values), dtype, ulp=ulp, slack=slack)
    return cases


def power(a, b):
    """From 2^63 on exponents are even, which not every library sees."""
    return numpy.power(numpy.where(abs(b) >= 2.0**63, abs(a), a), b)


def integer_power(a, b):
    """By whole numbers, wrapping; below zero 1 / a^-b, cut off."""
    def one(a, b):
        a, b = int(a), int(b)
        if b >= 0:
            return pow(a, b, 2**64)
        return (a if b % 2 else 1) % 2**64 if abs(a) == 1 else 0
    values = numpy.array([one(*pair) for pair in zip(a.flat, b.flat)], numpy.uint64)
    return values.reshape(a.shape).astype(a.dtype)


def circular(op, apply, angle):
    """A function of complex numbers or floats. C leaves signs open where the angle, a part's name, is not finite or the
    other part is none."""
    plain = function(op, apply)

    def cases(draw, dtype):
        for case in plain(draw, dtype):
            if kind_of(dtype) == "c":
                x, = case.operands
                case.unsigned = ~numpy.isfinite(getattr(x, angle)) | numpy.isnan(x)
            yield case
    return cases


def complex_powers(draw, dtype):
    """As ops.h has them. The error grows with the exponent of exp, which numpy avoids for small whole numbers."""
    for a, b in both(draw, dtype, dtype):
        base, exponent = wide(a), wide(b)
        turned = exponent * numpy.log(base)
        expected = numpy.asarray(numpy.exp(turned))
        expected[base == 0] = numpy.nan + 1j * numpy.nan
        expected[(base == 0) & (exponent.real > 0)] = 0
        expected[exponent == 0] = 1
        slack = [unit * (1 + abs(turned)) * abs(expected) for unit in (LONG, 4 * epsilon(PARTS[dtype]))]
        yield Case([a, b], expected, dtype, ulp=(0.5 + NOISE, 0.5 + NOISE), unsigned=~numpy.isfinite(turned),
                   slack=tuple(numpy.where(numpy.isfinite(part), part, 0) for part in slack))


def powers(draw, dtype):
    if kind_of(dtype) == "c":
        yield from complex_powers(draw, dtype)
        return
    if dtype in FORMATS:
        yield from function("pow", power, 2)(draw, dtype)
        return
    for a, b in both(draw, dtype, dtype):
        yield Case([a, b], integer_power(a, b), dtype)


def sizes(draw, dtype):
    """Of complex numbers of their parts' dtype."""
    if kind_of(dtype) != "c":
        yield from arithmetic(numpy.abs, 1)(draw, dtype)
        return
    for x, in both(draw, dtype):
        yield Case([x], abs(wide(x)), PARTS[dtype], ulp=(0.5 + NOISE, 2))


def part(name):
    def cases(draw, dtype):
        for x, in both(draw, dtype):
            yield Case([x], getattr(x, name), PARTS[dtype])
    return cases


def complexes(draw, dtype):
    whole = next(whole for whole, part in PARTS.items() if part == dtype)
    for re, im in both(draw, dtype, dtype):
        expected = numpy.empty(re.shape, DTYPES[whole])
        expected.real, expected.imag = re, im
        yield Case([re, im], expected, whole)


# ---- bits -----------------------------------------------------------------------------------------------------------

def integer_function(apply, count=2):
    def cases(draw, dtype):
        for operands in both(draw, *[dtype] * count):
            yield Case(operands, apply(*operands).astype(DTYPES[dtype]), dtype)
    return cases


def population(x):
    octets = x[..., None].copy().view(numpy.uint8)
    return numpy.unpackbits(octets, axis=-1).sum(-1)


def shift(apply, beyond):
    """Counts outside of the width shift everything out, where C and numpy leave it open."""
    def shifted(x, count):
        inside = (count >= 0) & (count < 8 * x.itemsize)
        return numpy.where(inside, apply(x, numpy.where(inside, count, 0).astype(x.dtype)), beyond(x))
    return integer_function(shifted)


# ---- choice, conversion ---------------------------------------------------------------------------------------------

def selects(draw, dtype):
    for condition, a, b in ([draw.strided(draw.small("bool", x.shape)), x, y] for x, y in both(draw, dtype, dtype)):
        plain = draw.plain(dtype)
        expected = numpy.where(condition, a.view(plain), b.view(plain)).view(DTYPES[dtype])
        yield Case([condition, a, b], expected, dtype, bits=True)


def saturated(values, dtype):
    """Toward zero, within the range; NaN is 0."""
    info = numpy.iinfo(DTYPES[dtype])
    whole = numpy.where(numpy.isnan(values), 0, numpy.trunc(values))
    return numpy.clip(whole, REAL(info.min), REAL(info.max)).astype(numpy.int64).astype(DTYPES[dtype])


def converted(values, dtype):
    """Wide values in another dtype: of complex numbers the real part, but true are those with any part."""
    if dtype == "bool":
        return values != 0
    if kind_of(dtype) == "c":
        return values.astype(COMPLEX)
    values = values.real if values.dtype.kind == "c" else values
    if kind_of(dtype) in "iu" and values.dtype.kind == "f":
        return saturated(values, dtype)
    return values.astype(REAL if dtype in FORMATS else DTYPES[dtype])


def casts(draw, dtype):
    for target in DTYPES:
        x, = every(draw, [dtype])
        yield Case([x], converted(wide(x), target), target, {"dtype": target})


def bitcasts(draw, dtype):
    """To every other dtype of its size."""
    for target in DTYPES:
        if target not in ("bool", "c64", "c128") and DTYPES[target].itemsize == DTYPES[dtype].itemsize:
            x, = every(draw, [dtype])
            yield Case([x], x.view(DTYPES[target]), target, {"dtype": target}, bits=True)


def sign(x):
    """Zeros and NaN are their own signs."""
    return numpy.where(x > 0, x.dtype.type(1), numpy.where(x < 0, x.dtype.type(-1) if x.dtype.kind != "u" else x, x))


ENTRIES = {
    "neg": arithmetic(numpy.negative, 1),
    "abs": sizes,
    "sqrt": complex_arithmetic(numpy.sqrt, lambda result, x: abs(result), 2, 1),
    "real": part("real"),
    "imag": part("imag"),
    "complex": complexes,
    "sign": arithmetic(sign, 1),
    "is_nan": to_bool(numpy.isnan, 1),
    "is_finite": to_bool(numpy.isfinite, 1),
    "not": integer_function(numpy.invert, 1),
    "population_count": integer_function(population, 1),
    "add": arithmetic(numpy.add),
    "sub": arithmetic(numpy.subtract),
    "mul": complex_arithmetic(numpy.multiply, lambda result, a, b: a * b, 2),
    "div": division(numpy.floor_divide, complex_arithmetic(complex_divide, lambda result, a, b: abs(result), 4)),
    "remainder": division(numpy.remainder, function("remainder", numpy.remainder, 2)),
    "fmod": division(numpy.fmod, arithmetic(numpy.fmod)),
    "pow": powers,
    "copysign": arithmetic(numpy.copysign),
    "max": arithmetic(numpy.maximum, zeros=False),
    "min": arithmetic(numpy.minimum, zeros=False),
    "and": integer_function(numpy.bitwise_and),
    "or": integer_function(numpy.bitwise_or),
    "xor": integer_function(numpy.bitwise_xor),
    "shift_left": shift(numpy.left_shift, numpy.zeros_like),
    "shift_right": shift(numpy.right_shift, lambda x: -(x < 0).astype(x.dtype)),
    "select": selects,
    "cast": casts,
    "bitcast": bitcasts,
    **{op: arithmetic(apply, 1) for op, apply in {
        "floor": numpy.floor, "ceil": numpy.ceil, "round": numpy.rint, "trunc": numpy.trunc}.items()},
    **{op: to_bool(apply) for op, apply in {
        "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater,
        "ge": numpy.greater_equal}.items()},
    **{op: function(op, apply) for op, apply in {
        "exp2": numpy.exp2, "expm1": numpy.expm1, "log": numpy.log, "log2": numpy.log2,
        "log10": numpy.log10, "log1p": numpy.log1p, "rsqrt": lambda x: 1 / numpy.sqrt(x), "cbrt": numpy.cbrt,
        "asinh": numpy.arcsinh, "acosh": numpy.arccosh,
        "atanh": numpy.arctanh, "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
        "asin": numpy.arcsin, "acos": numpy.arccos, "atan": numpy.arctan,
        "erf": gamma.over(gamma.erf), "erfc": gamma.over(gamma.erfc), "lgamma": gamma.over(gamma.lgamma),
        "tgamma": gamma.over(gamma.tgamma), "digamma": gamma.over(gamma.digamma)}.items()},
    **{op: circular(op, apply, "imag") for op, apply in {
        "exp": numpy.exp, "sinh": numpy.sinh, "cosh": numpy.cosh, "tanh": numpy.tanh}.items()},
    **{op: circular(op, apply, "real") for op, apply in {"sin": numpy.sin, "cos": numpy.cos, "tan": numpy.tan}.items()},
    "atan2": function("atan2", numpy.arctan2, 2),
}
