# SPDX-License-Identifier: Apache-2.0
"""Arrays of gradients.json, and how two arrays are compared."""
from binding import numpy
from oracle import number

WIDE = {"f64": numpy.float64, "c128": numpy.complex128, "i64": numpy.int64, "bool": numpy.bool_, "f32": numpy.float32}
# By how much results may differ from those of f64 at the same rounded inputs, relative to an element and to the largest:
# 170 and 17 units of rounding of f32, 16 and 4 of the others. See `narrow_tolerance`.
NARROW = {"f32": (1e-5, 1e-6), "f16": (16 * 2**-11, 4 * 2**-11), "bf16": (16 * 2**-8, 4 * 2**-8)}


def elements(array, dtype):
    """Numbers of the file, of which infinities and NaN are strings, as an array of the numpy dtype."""
    shape = array["shape"]
    if numpy.dtype(dtype).kind == "c":
        pairs = numpy.array([float(number) for number in array["data"]], numpy.float64)
        return pairs.view(numpy.complex128).reshape(shape).astype(dtype)
    if numpy.dtype(dtype).kind in "iub":
        return numpy.array(array["data"], numpy.int64).reshape(shape).astype(dtype)
    with numpy.errstate(over="ignore"):
        return numpy.array([float(number) for number in array["data"]], numpy.float64).reshape(shape).astype(dtype)


def narrow(array, floats):
    """The array in what stands for f64 and c128 if it is of these."""
    with numpy.errstate(all="ignore"):
        if array.dtype == numpy.complex128 and floats == "f32":
            return array.astype(numpy.complex64)
        return number.narrow(array, floats) if array.dtype == numpy.float64 else array


def widened(array):
    """The array in f64 if it is of f16 or bf16, for which numpy has nothing to compare with."""
    return number.wide(array).astype(numpy.float64) if array.dtype.str[1:] in ("f2", "V2") else array


def narrow_tolerance(tolerance, floats):
    """The tolerance of a case. That of most cases, 1e-10 in f64, is 4.5e5 units of rounding. A case that takes more in
    f64 takes as many times more in f32."""
    if floats == "f64":
        return tolerance
    relative, absolute = NARROW[floats]
    factor = max(1.0, tolerance["relative"] / 1e-10) if floats == "f32" else 1
    return {"relative": relative * factor, "absolute": absolute * factor}


def allowed(expected, tolerance):
    """By how much each element may differ."""
    finite = numpy.where(numpy.isfinite(expected), abs(expected), 0.0)
    largest = max(1.0, finite.max(initial=0.0))
    return tolerance["relative"] * numpy.maximum(finite, 1e-3 * largest) + tolerance["absolute"] * largest


def parts_agree(result, expected, slack):
    """For each element whether it is right; what is not finite must be equal, all NaN are."""
    same = (result == expected) | (numpy.isnan(result) & numpy.isnan(expected))
    return same | (numpy.isfinite(result) & numpy.isfinite(expected) & (abs(result - expected) <= slack))


def difference(result, expected, tolerance):
    """A sentence on how they differ, or None."""
    if result.shape != expected.shape:
        return f"the shape is {list(result.shape)}, not {list(expected.shape)}"
    if result.dtype.kind != expected.dtype.kind:
        return f"the dtype is {result.dtype}, not {expected.dtype}"
    with numpy.errstate(all="ignore"):
        if result.dtype.kind in "fc":
            expected = expected.astype(result.dtype)  # what overflows in f32 is infinite
            slack = allowed(expected.astype(numpy.complex128), tolerance)
            right = parts_agree(result.real, expected.real, slack) & parts_agree(result.imag, expected.imag, slack)
        else:
            right = result == expected
    if right.all():
        return None
    at = tuple(int(i) for i in numpy.argwhere(~right)[0])
    return f"{(~right).sum()} of {right.size} elements differ; at {list(at)} is {result[at]}, not {expected[at]}"
