#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the polynomials and tables of the math lowerings, *_data.h next to itself and table_data.h of loop.

Polynomials interpolate at the Chebyshev points of the interval, in 400-bit arithmetic; the rest of a row after its
first coefficient is fitted as (f(center + t) - f(center)) / t, so that the first coefficient stays exact. Polynomials
"of floats" are evaluated in floats: their coefficients are rounded, with nearly the least largest error that allows.
"""
import os
from math import nextafter
import struct
import sys

from mpmath import mp, mpf, e, pi, cos, sin, tan, cosh, sinh, tanh, atan, asin, erf, erfc, exp, log, loggamma, digamma, sqrt, cbrt, matrix, lu_solve, nint, ldexp, floor

mp.prec = 400
SMALL = mpf(10) ** -40
WIDE = mpf("0.102")
ROWS_START = mpf(float.fromhex("0x1.625p-1"))
HERE = os.path.dirname(os.path.abspath(__file__))


def double(value):
    """The nearest double."""
    return float(mpf(value))


def single(value):
    """The nearest float."""
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def chopped(value, bits_below_one):
    """The nearest multiple of 2^-bits_below_one."""
    return nint(ldexp(value, bits_below_one)) / mpf(2) ** bits_below_one


def interpolate(f, low, high, count):
    """Coefficients, constant first, of the polynomial of `count` terms through f at Chebyshev points."""
    low, high = mpf(low), mpf(high)
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    # Newton's divided differences, then expanded.
    table = [f(x) for x in xs]
    newton = []
    for level in range(count):
        newton.append(table[0])
        table = [(table[i + 1] - table[i]) / (xs[i + level + 1] - xs[i]) for i in range(len(table) - 1)]
    coefficients = [mpf(0)]
    for i in reversed(range(count)):
        shifted = [mpf(0)] + coefficients
        coefficients = [s - xs[i] * c for s, c in zip(shifted, coefficients + [mpf(0)])]
        coefficients[0] += newton[i]
    return coefficients[:count]


def fitted(f, low, high, count, weight):
    """The same by least squares of the error times `weight`, where that varies a lot."""
    low, high, points = mpf(low), mpf(high), 8 * count
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    powers = matrix([[weight(x) * x ** k for k in range(count)] for x in xs])
    return list(lu_solve(powers, matrix([weight(x) * f(x) for x in xs])))


def least_largest(f, xs, low_terms, count, weight):
    """The rest of a polynomial after low_terms: least squares, reweighted after Lawson."""
    first, shares = len(low_terms), [mpf(1) / len(xs)] * len(xs)
    goal = [(f(x) - evaluate(low_terms, x)) * weight(x) for x in xs]
    powers = [[weight(x) * x ** k for k in range(first, count)] for x in xs]
    best, found = None, None
    for _ in range(40):
        roots = [sqrt(share) for share in shares]
        rest = lu_solve(matrix([[r * p for p in row] for r, row in zip(roots, powers)]),
                        matrix([r * g for r, g in zip(roots, goal)]))
        errors = [abs(sum(p * c for p, c in zip(row, rest)) - g) for row, g in zip(powers, goal)]
        if best is None or max(errors) < best:
            best, found = max(errors), list(rest)
        shares = [share * error for share, error in zip(shares, errors)]
        shares = [share / sum(shares) + SMALL for share in shares]
    return found


def rounded(f, low, high, count, weight):
    """Coefficients that are floats, rounded one by one from the constant up, each time with the others fitted again."""
    low, high, points, values = mpf(low), mpf(high), 12 * count, []
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    while len(values) < count:
        c = least_largest(f, xs, values, count, weight)[0]
        values.append(mpf(single(c)))
    return values


def raised(f, low, high, count, weight):
    """The same, the second one a little larger."""
    values = rounded(f, low, high, count, weight)
    return [values[0], mpf(single(values[1] * (1 + 5 * mpf(2) ** -18)))] + values[2:]


def evaluate(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + mpf(c)
    return total


def error_bits(f, coefficients, low, high, weight):
    worst = mpf(0)
    for i in range(201):
        x = mpf(low) + (mpf(high) - mpf(low)) * i / 200
        if abs(x) < SMALL:
            continue
        worst = max(worst, abs((evaluate(coefficients, x) - f(x)) * weight(x)))
    return float(log(worst, 2)) if worst else -999.0


def hexadecimal(value):
    text = float(value).hex()
    if "." not in text:
        return text
    head, tail = text.split("p")
    head = head.rstrip("0")
    return head.rstrip(".") + ("" if "." in head and not head.endswith(".") else ".0") + "p" + tail


def wrapped(values):
    lines, line = [], "   "
    for text in [hexadecimal(v) for v in values]:
        if len(line) + len(text) + 2 > 118:
            lines.append(line)
            line = "   "
        line += " " + text + ","
    return lines + [line]


class Writer:
    def __init__(self, name, prologue):
        self.path = os.path.join(HERE, name)
        folders = {"../loop": "LOOP", "../composite/random": "COMPOSITE_RANDOM"}
        folder = folders.get(os.path.dirname(name), "MATH")
        guard = f"WEFT_LIB_{folder}_" + os.path.basename(name).upper().replace(".", "_")
        self.lines = ["/* SPDX-License-Identifier: Apache-2.0 */", "#ifndef " + guard, "#define " + guard, prologue]

    def array(self, name, values, comment=None):
        if comment:
            self.lines += ["", "/* " + comment + " */"]
        body = wrapped(values)
        self.lines.append("static const double %s[] = {" % name)
        self.lines += body
        self.lines[-1] = self.lines[-1].rstrip(",") + "};"

    def table(self, name, rows, size, comment):
        self.lines += ["", "/* " + comment + " */"]
        self.lines.append("static const double %s_table[%d][%d] = {" % (name, size, len(rows[0])))
        for row in rows:
            body = wrapped(row)
            body[0] = "    {" + body[0].lstrip()
            body[-1] = body[-1].rstrip(",") + "},"
            self.lines += [body[0]] + ["     " + line.lstrip() for line in body[1:]]
        self.lines[-1] = self.lines[-1].rstrip(",") + "};"

    def write(self):
        with open(self.path, "w") as out:
            out.write("\n".join(self.lines + ["#endif"]) + "\n")


def root(f):
    return lambda z: f(sqrt(z))


def expanded(f, center, half, count):
    """f(center) in two doubles and the rest of the Taylor-like row."""
    middle = f(mpf(center))
    first = double(middle)
    def slope(t):
        t = t if abs(t) > SMALL else SMALL
        return (f(center + t) - middle) / t
    rest = interpolate(slope, -half, half, count)
    return [first, double(middle - mpf(first))] + [double(c) for c in rest]


def row_bits(f, center, half, row, relative):
    worst = mpf(0)
    for i in range(41):
        t = mpf(half) * (i - 20) / 20
        if t == 0:
            continue
        exact = f(center + t)
        found = mpf(row[0]) + mpf(row[1]) + t * evaluate(row[2:], t)
        worst = max(worst, abs(found - exact) / (abs(exact) if relative else 1))
    return float(log(worst, 2)) if worst else -999.0


def rows_of(name, f, centers, halves, count, relative=True):
    rows, worst = [], (-999.0, 0)
    for center, half in zip(centers, halves):
        row = expanded(f, mpf(center), mpf(half), count)
        worst = max(worst, (row_bits(f, mpf(center), mpf(half), row, relative), float(center)))
        rows.append(row)
    print("%-24s %d rows of %d, 2^%.1f at %g" % (name, len(rows), count + 2, *worst))
    return rows


def single_row(f, middle, half, count):
    """A float c next to the middle where f(c) is nearly a float, that float, and floats for (f(c + t) - f(c)) / t."""
    step = half / 2 ** 12
    centers = [mpf(single(middle + step * (k - 256))) for k in range(512)]
    center = min(centers, key=lambda c: abs(f(c) / mpf(single(f(c))) - 1))
    start = f(center)
    def slope(t):
        t = t if abs(t) > SMALL else SMALL
        return (f(center + t) - start) / t
    rest = interpolate(slope, -half, half, count)
    row = [float(center), single(start)] + [single(c) for c in rest]
    print("single row at %g, 2^%.1f" % (row[0], row_bits(f, center, half, [row[1], 0] + row[2:], True)))
    return row


def weighted_row(f, middle, half, count):
    """The same with coefficients whose error is nearly the least."""
    center, start = single_row(f, middle, half, count)[:2]
    start = mpf(start)

    def slope(t):
        t = t if abs(t) > SMALL else SMALL
        return (f(center + t) - start) / t
    return [center, float(start)] + rounded(slope, middle - half - center, middle + half - center, count,
                                            lambda t: t / f(center + t))


def inverse_row(logarithm, power, middle, places, nearest):
    """A number c of a format next to 1 / middle whose logarithm is nearly a multiple of 2^-places, and minus that."""
    start, unit = nint(ldexp(logarithm(middle), places)), mpf(2) ** -places
    def row(i):
        value = (start + i) * unit
        return mpf(nearest(power(-value))), value
    c, value = min(map(row, range(-256, 257)), key=lambda row: abs(logarithm(row[0]) + row[1]))
    print("inverse of %.4f: %.6f, 2^%.1f" % (middle, c, float(log(abs(logarithm(c) + value), 2))))
    return [float(c), float(value)]


def inverse_rows(logarithm, power, places, nearest):
    """For 8 rows by the significand from ROWS_START to twice that. Those next to 1 have c = 1."""
    rows = []
    for k in range(8):
        middle = ROWS_START + (mpf(k) + mpf(1) / 2) / 16
        middle = middle if middle < 1 else 2 * middle - 1
        one = abs(middle - 1) < mpf(1) / 10
        rows.append([1.0, 0.0] if one else inverse_row(logarithm, power, middle, places, nearest))
    return rows


def write_log_tables(out):
    bases = [(log, exp), (lambda x: log(x, 2), lambda x: mpf(2) ** x), (lambda x: log(x, 10), lambda x: mpf(10) ** x)]
    for name, nearest, places in (("single", single, (17, 16, 18)), ("double", double, (42, 41, 43))):
        rows = [inverse_rows(*base, place, nearest) for base, place in zip(bases, places)]
        out.table(name + "_inverse", [sum(row, []) for row in zip(*rows)], 8,
                  "for 8 parts of the significands that log takes, and for bases e, 2 and 10: c near the inverse, -log(c)")


def cbrt_row(lowest, k, nearest):
    """A number c of a format near the inverse of the middle of the k-th of 8 parts of the three octaves from `lowest`
    on, with 1 / c^(1/3) nearly a number too, and that."""
    def place(i):
        octave, part = divmod(3 * i, 8)
        return mpf(2) ** octave * (1 + mpf(part) / 8)
    middle = nearest(2 / (place(k) + place(k + 1)))
    step = mpf(middle) * mpf(2) ** (-22 if nearest is single else -51)
    centers = [mpf(nearest(mpf(middle) + i * step)) for i in range(-256, 257)]
    def root(c):
        return cbrt(lowest / c)
    c = min(centers, key=lambda c: abs(root(c) / mpf(nearest(root(c))) - 1))
    return [float(c / lowest), nearest(root(c))]


def write_cbrt_tables(out):
    for name, nearest, lowest in (("single", single, mpf(2) ** -125), ("double", double, mpf(2) ** -1021)):
        out.table(name + "_cbrt", [cbrt_row(lowest, k, nearest) for k in range(8)], 8,
                  "for 8 parts of three octaves by exponent and significand: c near the inverse, c^(-1/3)")


def write_tanh_table(out):
    rows = []
    for k in range(8):
        low, high = [(mpf(2) ** (i // 2) * (1 + mpf(i % 2) / 2) - 1) / mpf("1.6") for i in (k, k + 1)]
        if k > 0:
            center, start, *rest = weighted_row(tanh, (low + high) / 2, (high - low) / 2, 7)
            rows.append([center, start, 0.0] + rest)
        else:
            one, *rest = rounded(lambda t: tanh(t) / t if t > SMALL else mpf(1), 0, high, 7,
                                 lambda t: t / tanh(t) if t > SMALL else mpf(1))
            rows.append([0.0, 0.0, one, 0.0] + rest)
    out.table("tanh", rows[2:] + rows[:2], 8, "for x next to c: c, tanh(c), what is 1 for c = 0 alone, and (tanh(x) - "
              "tanh(c)) / (x - c) less that; a row for each half octave of 1.6 x + 1")


def write_single_erf_table(out):
    width = mpf(8) / 15
    end = width / 2 * mpf("1.0001")
    rest = rounded(lambda t: erf(t) / t - 1 if t > SMALL else 2 / sqrt(pi) - 1, 0, end, 7,
                   lambda t: t / erf(t) if t > SMALL else mpf(1))
    rows = [[0.0, 0.0, 1.0] + rest]
    # In the next row results may be half of erf(c): c is its own erf, so that x itself is what the rest is added to.
    fixed = mpf(single(mp.findroot(lambda x: erf(x) - x, mpf("0.6175"))))
    rows.append([float(fixed), float(fixed), 1.0] +
                rounded(lambda t: (erf(fixed + t) - fixed) / t - 1 if abs(t) > SMALL else mpf(0), width - end - fixed,
                        width + end - fixed, 7, lambda t: t / erf(fixed + t)))
    for k in range(2, 8):
        center, start, *rest = weighted_row(erf, k * width, end, 7)
        rows.append([center, start, 0.0] + rest)
    out.table("single_erf", rows, 8, "for x next to c, the row-th multiple of 8/15 or near it: c, erf(c), 1 where "
              "these are equal, and (erf(x) - erf(c)) / (x - c) less that")


def pieces(value, widths):
    """`value` as a sum of doubles; the first ones cut to multiples of the given powers of two."""
    found = []
    for width in widths:
        piece = double(value) if width is None else double(chopped(value, width))
        found.append(piece)
        value -= mpf(piece)
    return found


def scaled(values, exponent):
    return [double(mpf(value) * mpf(2) ** exponent) for value in values]


def turns(exponent):
    """2/pi 2^exponent modulo 4, nearest to zero."""
    mp.prec = 1600
    value = 2 / pi * mpf(2) ** exponent
    value -= 4 * nint(value / 4)
    return value


def fit(out, prefix, name, f, low, high, count, weight, what, how=None):
    values = [double(c) for c in (how(f, low, high, count, weight) if how else interpolate(f, low, high, count))]
    bits = error_bits(f, values, low, high, weight)
    print("%-24s %2d terms 2^%.1f" % (prefix + "_" + name, count, bits))
    out.array(prefix + "_" + name, values, "%s: error 2^%.1f." % (what, bits))


def fit_both(out, name, f, low, high, counts, weight, what):
    fit(out, "single", name, f, low, high, counts[0], weight, what)
    fit(out, "double", name, f, low, high, counts[1], weight, "The same")


def shifted_power(row):
    """2^(row / 8), of whose bits those are taken that the row has in the fraction."""
    bits = struct.unpack("I", struct.pack("f", single(mpf(2) ** (mpf(row) / 8))))[0]
    return struct.unpack("f", struct.pack("I", bits - (row << 20)))[0]


def write_exponential():
    out = Writer("exp_data.h", PROLOGUE)
    low, high = log(mpf("0.75") * mpf("0.999")), log(mpf("1.5") * mpf("1.001"))

    def growth(r):
        r = r if abs(r) > SMALL else SMALL
        return (exp(r) - 1 - r) / r ** 2
    fit(out, "single", "expm1", growth, low, high, 6, lambda r: r ** 2 / (exp(r) - 1) if abs(r) > SMALL else mpf(0),
        "(exp(r) - 1 - r) / r^2, log(3/4) <= r <= log(3/2), of floats", rounded)
    fit(out, "double", "expm1", growth, low, high, 11, lambda r: r, "The same")
    for name, scale in (("exp", mpf(1)), ("exp2", log(mpf(2)))):
        end = log(mpf(2)) / (32 * scale) * mpf("1.001")

        def growth_ratio(r):
            return (exp(scale * r) - 1) / r if abs(r) > SMALL else scale
        fit(out, "single", name + "_row", growth_ratio, -end, end, 3, lambda r: r, "(%s(r) - 1) / r, |r| <= %s, of floats, the "
            "second a little larger: the powers in the table that are least accurate are too small" %
            (name, "log(2) / 32" if name == "exp" else "1/32"), raised)
        fit(out, "fast", name + "_row", lambda r: 2 * growth_ratio(r), -2 * end, 2 * end, 3, lambda r: r / 2, "2 (%s(r) - 1) / r, "
            "|r| <= %s, of floats" % (name, "log(2) / 16" if name == "exp" else "1/16"), rounded)
    fit(out, "single", "odd", root(lambda r: (sinh(r) / r - 1) / r ** 2), SMALL, high ** 2, 3, lambda z: z,
        "(sinh(r) / r - 1) / r^2 over r^2, |r| <= log(3/2), of floats", rounded)
    fit(out, "double", "odd", root(lambda r: (sinh(r) / r - 1) / r ** 2), SMALL, high ** 2, 6, lambda z: z, "The same")
    fit(out, "single", "even", root(lambda r: (cosh(r) - 1) / r ** 2), SMALL, high ** 2, 3, lambda z: z,
        "(cosh(r) - 1) / r^2 over r^2, |r| <= log(3/2), of floats", rounded)
    fit(out, "double", "even", root(lambda r: (cosh(r) - 1) / r ** 2), SMALL, high ** 2, 6, lambda z: z, "The same")
    out.write()


def write_logarithm():
    out = Writer("log_data.h", PROLOGUE)
    low, high = mpf("-0.121"), mpf("0.1343")
    for name, base in (("log", e), ("log2", mpf(2)), ("log10", mpf(10))):
        def rest(r):
            r = r if abs(r) > SMALL else SMALL
            return (log(1 + r) - r) / r ** 2 / log(base)

        def weight(r):
            return abs(r ** 2 * log(base) / log(1 + r)) if abs(r) > SMALL else SMALL
        what = "(log(1 + r) - r) / r^2, -0.121 <= r <= 0.1343" + (", over log(%d)" % base if base != e else "")
        fit(out, "single", name, rest, low, high, 6, weight, what + ", of floats", rounded)
        # Where a correction of log leaves nearly nothing, r^2 / 2 decides how it is rounded: it is no less than that.
        first = mpf(nextafter(double(-1 / (2 * log(base))), -1.0))
        def slope(r):
            r = r if abs(r) > SMALL else SMALL
            return (rest(r) - first) / r
        values = [double(first)] + [double(c) for c in fitted(slope, low, high, 12, lambda r: r * weight(r))]
        bits = error_bits(rest, values, low, high, weight)
        print("double_%-17s %2d terms 2^%.1f" % (name, len(values), bits))
        out.array("double_" + name, values, "The same: error 2^%.1f." % bits)
    out.write()


def write_root():
    out = Writer("root_data.h", PROLOGUE)
    low, high = mpf("-0.1582"), mpf("0.1582")

    def rest(t):
        t = t if abs(t) > SMALL else SMALL
        return (cbrt(1 + t) - 1) / t
    weight = lambda t: t / cbrt(1 + t)
    fit(out, "single", "cbrt", rest, low, high, 6, weight, "((1 + t)^(1/3) - 1) / t, |t| <= 0.1582, of floats", rounded)
    fit(out, "double", "cbrt", rest, low, high, 13, weight, "The same", fitted)
    out.write()


def write_circular():
    out = Writer("circular_data.h", PROLOGUE)
    quarter, wide = (pi / 4) ** 2 * mpf("1.002"), mpf("0.789") ** 2
    sin_rest = root(lambda r: (sin(r) / r - 1) / r ** 2)
    cos_rest = root(lambda r: (cos(r) - 1 + r ** 2 / 2) / r ** 4)
    fit(out, "single", "sin", sin_rest, SMALL, wide, 3, lambda z: z,
        "(sin(r) / r - 1) / r^2 over r^2, |r| <= 0.789, of floats", rounded)
    fit(out, "double", "sin", sin_rest, 0, quarter, 7, lambda z: z, "The same, |r| <= 0.786")
    fit(out, "single", "cos", root(lambda r: (cos(r) - 1) / r ** 2), SMALL, wide, 4,
        lambda z: z / cos(sqrt(z)), "(cos(r) - 1) / r^2 over r^2, |r| <= 0.789, of floats", rounded)
    fit(out, "double", "cos", cos_rest, 0, quarter, 6, lambda z: z ** 2,
        "(cos(r) - 1 + r^2 / 2) / r^4 over r^2, |r| <= 0.786")
    fit(out, "single", "half_turn", root(lambda t: sin(pi / 2 * t) / t), 0, mpf("1.063") ** 2, 6,
        root(lambda t: t / sin(pi / 2 * t)), "sin(t pi/2) / t over t^2, |t| <= 1.063")
    fit(out, "single", "tangent", root(lambda r: (tan(r) / r - 1) / r ** 2), SMALL, wide, 7,
        lambda z: z * sqrt(z) / tan(sqrt(z)), "(tan(r) / r - 1) / r^2 over r^2, |r| <= 0.789, of floats", rounded)
    fit(out, "double", "half_tangent", root(lambda r: (2 * tan(r / 2) / r - 1) / r ** 2), SMALL, quarter, 9, lambda z: z,
        "(2 tan(r / 2) / r - 1) / r^2 over r^2, |r| <= 0.786")
    out.write()


def write_inverse():
    out = Writer("inverse_data.h", PROLOGUE)
    atan_rest = root(lambda r: (atan(r) / r - 1) / r ** 2)
    asin_rest = root(lambda r: (asin(r) / r - 1) / r ** 2)
    fit(out, "single", "atan", atan_rest, 0, 1, 10, lambda z: z * sqrt(z) / atan(sqrt(z)),
        "(atan(r) / r - 1) / r^2 over r^2, |r| <= 1, of floats", rounded)
    fit(out, "double", "atan", atan_rest, 0, 1, 22, lambda z: z * mpf("1.28"), "The same")
    fit(out, "single", "asin", asin_rest, 0, mpf(1) / 4, 5, lambda z: z * sqrt(z) / asin(sqrt(z)),
        "(asin(r) / r - 1) / r^2 over r^2, |r| <= 1/2, of floats", rounded)
    fit(out, "double", "asin", asin_rest, 0, mpf(1) / 4, 13, lambda z: z, "The same")
    out.write()


def write_extended():
    out = Writer("extended_data.h", PROLOGUE)
    half = mpf("0.3467")
    fit_both(out, "growth", lambda r: (exp(r) - 1 - r) / r ** 2, -half, half, (6, 10), lambda r: r * r,
             "(exp(r) - 1 - r) / r^2, |r| <= 0.3467")
    half = mpf("0.0125")

    def log_rest(r):
        r = r if abs(r) > SMALL else SMALL
        return (log(1 + r) - r + r ** 2 / 2) / r ** 3
    fit_both(out, "log_rest", log_rest, -half, half, (2, 8), lambda r: r ** 3,
             "(log(1 + r) - r + r^2 / 2) / r^3, |r| <= 0.0125, absolute")
    out.write()


def write_gamma():
    out = Writer("gamma_data.h", PROLOGUE)
    quarter = mpf(1) / 4
    first = -pi ** 2 / 6
    print("sinpi", hexadecimal(double(first)), hexadecimal(double(first - mpf(double(first)))))
    fit_both(out, "sinpi", root(lambda r: ((sin(pi * r) / (pi * r) - 1) / r ** 2 - first) / r ** 2), SMALL, quarter,
             (4, 8), lambda z: z * z * pi / 2, "((sin(pi r) / (pi r) - 1) / r^2 + pi^2 / 6) / r^2 over r^2, |r| <= 1/2")
    least, most = mpf(10) ** -12, mpf("7.4") ** -2

    def stirling(s):
        z = 1 / sqrt(s)
        return (loggamma(1 + z) - (z + mpf(1) / 2) * log(z) + z - log(2 * pi) / 2) * z

    def asymptotic(s):
        z = 1 / sqrt(s)
        return (digamma(1 + z) - log(z) - 1 / (2 * z)) / s
    fit_both(out, "stirling", stirling, least, most, (3, 8), sqrt,
             "z (log(z!) - (z + 1/2) log(z) + z - log(2 pi) / 2) over z^-2, z >= 7.4, absolute")
    fit_both(out, "asymptotic", asymptotic, least, most, (3, 8), lambda s: s,
             "z^2 (digamma(1 + z) - log(z) - 1 / (2 z)) over z^-2, z >= 7.4, absolute")
    out.write()


PROLOGUE = """\
/*
 * Polynomials, written by constants.py, constant first. Those called single are for results that are floats. `error`
 * is relative, of the function built on the polynomial.
 */"""


def write_tables():
    out = Writer("../loop/table_data.h", """\
/*
 * The tables of table.def, written by constants.py. In tables of polynomials a row is f(c) in two doubles and the
 * coefficients of (f(c + t) - f(c)) / t, constant first. Rows that are not given are zero and never used.
 */""")
    rows = [scaled(pieces(2 / pi if e == 0 else turns(e), (27, None)), -e) for e in range(105)]
    out.table("single_turns", rows, 128, "(2/pi 2^row modulo 4) / 2^row: a multiple of 2^-27 and the rest, before the division")
    mp.prec = 1600
    rows = [scaled(pieces(2 / pi if e == 0 else turns(32 * e), (None,) * 4), 512 - 32 * e) for e in range(31)]
    mp.prec = 400
    out.table("double_turns", rows, 32, "(2/pi 2^(32 row) modulo 4) / 2^(32 row - 512) in four doubles")
    step = mpf(25) / 64
    out.table("erf", rows_of("erf", erf, [k * step for k in range(16)], [step / 2] * 16, 13), 16,
              "erf at c = 25 row / 64, |t| <= 25/128")
    # The two last bits of the exponent of x + 1 are 3 for the first octave.
    rows = [[0.0] * 9 for k in range(16)]
    for k in range(14):
        half = mpf(2) ** (k // 4) / 8
        rows[(k + 12) % 16] = single_row(lambda x: erfc(x) * exp(x * x), half * (2 * (k % 4) + 9) - 1, half, 7)
    out.table("single_erfc", rows, 16, "for x next to the middle c of the row-th of 4 parts of each octave of x + 1: "
              "c, erfc(c) exp(c^2), and (erfc(x) exp(x^2) less that) / (x - c)")
    centers, halves = [], []
    for k in range(80):
        octave, part = divmod(k, 16)
        centers.append(mpf(2) ** octave * (1 + (mpf(part) + mpf(1) / 2) / 16) - 1)
        halves.append(mpf(2) ** octave / 32)
    out.table("scaled_erfc", rows_of("scaled_erfc", lambda x: erfc(x) * exp(x * x), centers, halves, 9), 128,
              "erfc(x) exp(x^2) at the middle of the row-th of 16 parts of each octave of x + 1")
    out.table("log_gamma", rows_of("log_gamma", lambda z: loggamma(1 + z), [mpf(k) / 8 for k in range(64)],
                                   [mpf(1) / 16] * 64, 12), 64, "log(gamma(1 + z)) at c = row / 8, |t| <= 1/16")
    zero = mp.findroot(lambda z: digamma(1 + z), mpf("0.4616"))
    print("digamma zero", hexadecimal(double(zero)), hexadecimal(double(zero - mpf(double(zero)))))
    centers = [mpf(k) / 8 for k in range(64)]
    halves = [mpf(1) / 16] * 64
    rows = rows_of("digamma", lambda z: digamma(1 + z), centers, halves, 12)
    f = lambda z: digamma(1 + z)
    zero = mpf(double(zero))
    rest = interpolate(lambda t: (f(zero + t) - f(zero)) / t, -WIDE, WIDE, 12)
    rows[4] = [0.0, double(f(zero))] + [double(c) for c in rest]
    worst = mpf(0)
    for i in range(101):
        t = WIDE * (2 * i - 99) / 100
        worst = max(worst, abs((rows[4][1] + t * evaluate(rows[4][2:], t)) / f(zero + t) - 1))
    print("digamma zero row 2^%.1f" % float(log(worst, 2)))
    out.table("digamma", rows, 64, "digamma(1 + z) at c = row / 8, |t| <= 1/16; row 4 at the double next to the zero with 0 + f(c), |t| <= 0.102")
    rows = []
    start = mpf(float.fromhex("0x1.6a09e667f3bcdp-1"))
    worst = 0
    for k in range(128):
        # Rows divide [sqrt(1/2), sqrt(2)) by significand bits: twice as long after 1.
        def place(i):
            m = start + mpf(i) / 256
            return m if m < 1 else 1 + (m - 1) * 2
        low, high = place(k), place(k + 1)
        middle = (low + high) / 2
        inverse = chopped(1 / middle, 7 if middle < 1 else 8)
        if abs(middle - 1) < mpf(1) / 100:
            inverse = mpf(1)
        worst = max(worst, abs(low * inverse - 1), abs(high * inverse - 1))
        value = -log(inverse)
        head = chopped(value, 42)
        rows.append([double(inverse), double(head), double(value - head)])
    print("logarithm |r| <=", float(worst), "bound .0125")
    out.table("logarithm", rows, 128, "of [sqrt(1/2), sqrt(2)) by bits of the significand: c near 1 / m, -log(c) as a multiple of 2^-42 and the rest")
    out.table("single_power", [[single(mpf(2) ** (mpf(k) / 16))] for k in range(16)], 16, "2^(row / 16)")
    out.table("shifted_power", [[shifted_power(k)] for k in range(8)], 8, "2^(row / 8), of whose bits row * 2^20 is taken")
    write_log_tables(out)
    write_tanh_table(out)
    write_cbrt_tables(out)
    write_single_erf_table(out)
    out.write()


if __name__ == "__main__":
    write_exponential()
    write_logarithm()
    write_root()
    write_circular()
    write_inverse()
    write_extended()
    write_gamma()
    write_tables()
