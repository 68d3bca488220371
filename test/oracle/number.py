# SPDX-License-Identifier: Apache-2.0
"""Elements of every dtype in numpy: drawing them, widening them to where they compute, rounding, comparing.

Arrays hold elements as weft does; bf16 has no dtype in numpy, so there they are two bytes each ("V2"). Wide values are
long double for floats, pairs of these for complex numbers, and what they were for all others.
"""
import dataclasses
import random

from binding import Layout, numpy

DTYPES = {name: numpy.dtype(code) for name, code in {
    "bool": "?", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "bf16": "V2", "f16": "f2", "f32": "f4", "f64": "f8",
    "c64": "c8", "c128": "c16"}.items()}
PARTS = {"c64": "f32", "c128": "f64"}
REAL, COMPLEX = numpy.longdouble, numpy.clongdouble
LONG = REAL(2) ** -63


@dataclasses.dataclass
class Format:
    precision: int  # bits of the significand
    most: int       # the greatest exponent

    def spacing(self, values):
        """Units of the last place of wide values."""
        exponent = numpy.frexp(numpy.where(numpy.isfinite(values), values, 0))[1]
        return numpy.ldexp(REAL(1), numpy.maximum(exponent, 2 - self.most) - self.precision)


FORMATS = {"bf16": Format(8, 127), "f16": Format(11, 15), "f32": Format(24, 127), "f64": Format(53, 1023)}


def name_of(array):
    return next(name for name, dtype in DTYPES.items() if dtype == array.dtype)


def kind_of(dtype):
    return "f" if dtype in FORMATS else DTYPES[dtype].kind


def format_of(dtype):
    """Of a float, or of the parts of a complex number."""
    return FORMATS[PARTS.get(dtype, dtype)]


def epsilon(dtype):
    """Half a unit of one in what sums of a dtype accumulate in."""
    return REAL(2) ** -max(format_of(dtype).precision, 24)


def wide(array):
    if array.dtype.kind == "V":
        bits = numpy.left_shift(array.view(numpy.uint16), 16, dtype=numpy.uint32, casting="unsafe")
        return numpy.asarray(bits.view(numpy.float32), REAL)
    return array.astype({"f": REAL, "c": COMPLEX}.get(array.dtype.kind, array.dtype))


def rounded(values, form):
    """To the nearest even of a format of less precision than long double."""
    unit = form.spacing(values)
    result = numpy.copysign(numpy.rint(values / unit) * unit, values)
    result = numpy.where(abs(result) >= REAL(2) ** (form.most + 1), numpy.copysign(REAL(numpy.inf), values), result)
    return numpy.where(numpy.isfinite(values), result, values)


def narrow(values, dtype):
    """Wide values as elements: integers wrap, floats are rounded once."""
    values = numpy.asarray(values)
    if dtype not in ("bf16", "f16"):
        return values.astype(DTYPES[dtype])
    exact = rounded(values.astype(REAL), FORMATS[dtype]).astype(numpy.float32)
    if dtype == "f16":
        return exact.astype(numpy.float16)
    return numpy.asarray(exact.view(numpy.uint32) >> 16, numpy.uint16).view("V2")


# ---- drawing --------------------------------------------------------------------------------------------------------

def float_specials(form):
    unit, normal = REAL(2) ** -form.precision, REAL(2) ** (1 - form.most)
    sizes = [0, normal * 2 * unit, normal * (1 - 2 * unit), normal, 0.25, 0.5, 1 - unit, 1, 1 + 2 * unit, 1.5, 2, 2.5,
             3, 10, REAL(2) ** form.precision, REAL(2) ** form.most * (2 - 2 * unit), numpy.inf]
    return [sign * REAL(size) for size in sizes for sign in (1, -1)] + [REAL(numpy.nan)]


def specials(dtype):
    """Values where something may happen."""
    kind = kind_of(dtype)
    if kind == "b":
        return numpy.array([False, True])
    if kind in "iu":
        info = numpy.iinfo(DTYPES[dtype])
        values = {0, 1, 2, 3, 7, 8, 31, 32, 63, 64, -1, -2, -3, -8, info.max, info.max - 1, info.min, info.min + 1}
        return numpy.array(sorted(value for value in values if info.min <= value <= info.max), DTYPES[dtype])
    if kind == "f":
        return narrow(numpy.array(float_specials(FORMATS[dtype])), dtype)
    parts = numpy.array([0.0, -0.0, 1, -1, 0.5, -3, numpy.inf, -numpy.inf, numpy.nan])
    result = numpy.empty((parts.size, parts.size), DTYPES[dtype])
    result.real, result.imag = parts[:, None], parts
    return result.reshape(-1)


class Draw(random.Random):
    """Choices of one round."""

    def __init__(self, seed):
        super().__init__(seed)
        self.values = numpy.random.default_rng(self.getrandbits(32))

    def shape(self, low, high, most=2000):
        """Extents: few are 0 or 1, some prime, not too many elements together."""
        while True:
            shape = self.choices((0, 1, 2, 3, 4, 5, 7, 8, 13, 17, 37), (1, 2, 4, 4, 2, 4, 3, 2, 2, 2, 1),
                                 k=self.randint(low, high))
            if numpy.prod(shape) <= most:
                return shape

    def axes(self, rank):
        """Some of them, increasing."""
        return sorted(self.sample(range(rank), self.randint(0, rank)))

    def moderate(self, dtype, shape):
        """Nothing that overflows soon."""
        kind = kind_of(dtype)
        if kind == "b":
            return self.values.random(shape) < 0.5
        if kind in "iu":
            return self.values.integers(0 if kind == "u" else -100, 100, shape).astype(DTYPES[dtype])
        scale = self.choice([0.3, 1, 3, 30])
        values = self.values.standard_normal(shape) * scale
        if kind == "c":
            values = values + 1j * self.values.standard_normal(shape) * scale
        return narrow(numpy.asarray(values), dtype)

    def small(self, dtype, shape, signed=True):
        """Whole numbers, whose sums are exact."""
        kind = kind_of(dtype)
        def part():
            return self.values.integers(0 if kind in "bu" or not signed else -4, 2 if kind == "b" else 5, shape)
        return narrow(part() + 1j * part() if kind == "c" else part(), dtype)

    def bits(self, dtype, shape):
        """Any pattern of bits that is a value."""
        count = int(numpy.prod(shape))
        if kind_of(dtype) == "b":
            return self.values.random(shape) < 0.5
        octets = self.values.integers(0, 256, count * DTYPES[dtype].itemsize, numpy.uint8)
        return octets.view(DTYPES[dtype]).reshape(shape)

    def mixed(self, part, *others):
        """Each element from one of several arrays."""
        result = part.copy()
        choice = self.values.integers(0, 1 + len(others), result.shape)
        for number, other in enumerate(others, 1):
            result[choice == number] = other[choice == number]
        return result

    def special(self, dtype, shape):
        return self.values.choice(specials(dtype).view(self.plain(dtype)), shape).view(DTYPES[dtype]).reshape(shape)

    @staticmethod
    def plain(dtype):
        return numpy.uint16 if dtype == "bf16" else DTYPES[dtype]

    def any(self, dtype, shape):
        """All that there is; of complex numbers nothing that overflows."""
        others = [] if kind_of(dtype) == "c" else [self.bits(dtype, shape)]
        return self.mixed(self.special(dtype, shape), self.moderate(dtype, shape), *others)

    def rare(self, dtype, shape, values):
        """Moderate elements, some of them replaced by one of `values`."""
        result = self.moderate(dtype, shape)
        chosen = self.values.random(shape) < self.choice([0.02, 0.2, 1])
        some = narrow(self.values.choice(values, shape), dtype)
        return numpy.where(chosen, some.view(self.plain(dtype)), result.view(self.plain(dtype))).view(DTYPES[dtype])

    def strided(self, data, repeated=0.0):
        """The same in memory of some other order, backwards or with gaps; some axes become one element repeated."""
        shape = data.shape
        layout = Layout(self, data.ndim)
        single = [self.random() < repeated and extent > 0 for extent in shape]
        data = data[tuple(slice(1 if one else None) for one in single)]
        view = layout.view(data.shape, lambda base: numpy.zeros(base, data.dtype))
        view[...] = data
        return numpy.broadcast_to(view, shape)


# ---- cases ----------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Case:
    """One node: its operands and attributes, and what it is. Of floats the result may be so many units of its last
    place away, plus `slack`: pairs, for the reference and for generated code."""
    operands: list
    expected: numpy.ndarray  # wide, or elements of `dtype`
    dtype: str
    attributes: dict = dataclasses.field(default_factory=dict)
    ulp: tuple = (0, 0)
    slack: tuple = (0, 0)
    zeros: bool = True   # their signs count
    unsigned: object = False  # where zeros and infinities may have any sign
    bits: bool = False   # those of NaN count as well
    results: int = 1     # of the node; the first one is compared
    fails: str = None    # what the run says, in place of a result


def parts_of(values):
    """Complex numbers with their parts along a last axis."""
    return numpy.stack([values.real, values.imag], -1) if values.dtype.kind == "c" else values


def spread(each, values):
    """One for each element, for both parts of complex numbers."""
    return numpy.asarray(each)[..., None] if values.dtype.kind == "c" else numpy.asarray(each)


def wrong_elements(found, case, runtime):
    """Which elements, or parts of them, are not as expected."""
    raw = case.expected if case.expected.dtype == found.dtype else narrow(case.expected, case.dtype)
    if case.bits:
        return found.view(f"V{found.itemsize}") != raw.view(f"V{raw.itemsize}")
    got, expected = parts_of(wide(found)), parts_of(wide(raw))
    if kind_of(case.dtype) not in "fc":
        return got != expected
    unsigned = spread(case.unsigned, found) & ((got == 0) | numpy.isinf(got))
    got, expected = (numpy.where(unsigned, abs(values), values) for values in (got, expected))
    signed = numpy.signbit(got) == numpy.signbit(expected)
    same = (got == expected) & (signed | (got != 0) | (not case.zeros)) | numpy.isnan(got) & numpy.isnan(expected)
    ulp, slack = case.ulp[runtime], spread(case.slack[runtime], found)
    if ulp == 0 and not numpy.any(slack):
        return ~same
    form = format_of(case.dtype)
    exact = expected if case.expected.dtype == found.dtype else parts_of(case.expected.astype(
        COMPLEX if kind_of(case.dtype) == "c" else REAL))
    limited = numpy.where(numpy.isinf(got), numpy.copysign(REAL(2) ** (form.most + 1), got), got)
    near = numpy.isfinite(exact) & (abs(limited - exact) <= ulp * form.spacing(exact) + slack)
    return ~(same | near & (signed | (got != 0) | (slack > 0)))


def differences(found, case, runtime):
    """A sentence on how they differ, or None."""
    if found.shape != case.expected.shape:
        return f"the result has the shape {found.shape}, not {case.expected.shape}"
    wrong = wrong_elements(found, case, runtime)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    place = at[:found.ndim]
    operands = [wide(operand)[place] for operand in case.operands if operand.shape == found.shape]
    return (f"{wrong.sum()} of {wrong.size} differ; at {place} is {wide(found)[place]!r}, not "
            f"{case.expected[place]!r}, of {operands}")
