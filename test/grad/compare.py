# SPDX-License-Identifier: Apache-2.0
"""Arrays of gradients.json, and how two arrays are compared."""
from binding import numpy

WIDE = {"f64": numpy.float64, "c128": numpy.complex128, "i64": numpy.int64, "bool": numpy.bool_, "f32": numpy.float32}
NARROW = {numpy.dtype("f8"): numpy.dtype("f4"), numpy.dtype("c16"): numpy.dtype("c8")}
# An f32 has 29 bits less than an f64; see `narrow_tolerance`.
NARROW_RELATIVE, NARROW_ABSOLUTE = 1e-5, 1e-6


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


def narrow(array):
    """The array in f32 or c64 if it is of floats."""
    with numpy.errstate(all="ignore"):
        return array.astype(NARROW.get(array.dtype, array.dtype))


def narrow_tolerance(tolerance):
    """The tolerance of a case in f32, beside f64 at the same rounded inputs: that of most cases, 1e-10 in f64, is 4.5e5
    units of rounding, of which 170 are plenty here. A case that takes more in f64 takes as many times more in f32."""
    factor = max(1.0, tolerance["relative"] / 1e-10)
    return {"relative": NARROW_RELATIVE * factor, "absolute": NARROW_ABSOLUTE * factor}


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
