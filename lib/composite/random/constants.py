#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes exact_data.h next to itself: coefficients of the functions that random numbers are made with.

Quotients of polynomials are fitted by least squares of the relative error, reweighted by the denominator and, after
Lawson, by the error; the rest interpolates at Chebyshev points. All in 400-bit arithmetic.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "math"))

from mpmath import matrix, lu_solve, mpf, pi, cos, exp, log, erfc, sqrt
from constants import Writer, double, evaluate, interpolate, root

LIMIT = mpf(float.fromhex("0x1.72p-3"))  # of c^2, where the middle ends
PROLOGUE = "/* Written by constants.py. Coefficients, constant first. */"


def quantile(tail, middle):
    """The z >= 0 that a normal number is above with probability `tail`, which is 1/2 - `middle`."""
    z = sqrt(-2 * log(tail)) if tail < mpf("0.02") else middle * sqrt(2 * pi)
    for _ in range(200):
        step = (erfc(z / sqrt(2)) / 2 - tail) * sqrt(2 * pi) * exp(z * z / 2)
        step = step / (1 + z * step / 2) if abs(z * step) < 1 else (1 if step > 0 else -1) / (z + 1)
        z += step
        if abs(step) < mpf(2) ** -300 * max(z, mpf(10) ** -30):
            return z
    raise ArithmeticError("no quantile of %s" % tail)


def by_middle(below_limit):
    square = LIMIT - below_limit
    middle = sqrt(square) if square > 0 else mpf(10) ** -40
    return quantile(mpf(1) / 2 - middle, middle) / middle


def by_root(shift):
    return lambda t: quantile(exp(-(t + shift) ** 2), mpf(1) / 2 - exp(-(t + shift) ** 2))


def quotient(f, low, high, top, bottom):
    """`top` and `bottom` coefficients, the first of the latter being 1, and the largest relative error found."""
    low, high, points = mpf(low), mpf(high), 6 * (top + bottom)
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    fs = [f(x) for x in xs]
    below, shares, best = [mpf(1)] * points, [mpf(1)] * points, None
    for _ in range(30):
        weights = [sqrt(share) / (b * y) for share, b, y in zip(shares, below, fs)]
        rows = [[w * x ** k for k in range(top)] + [-w * y * x ** k for k in range(1, bottom)]
                for w, x, y in zip(weights, xs, fs)]
        found = list(lu_solve(matrix(rows), matrix([w * y for w, y in zip(weights, fs)])))
        above, under = found[:top], [mpf(1)] + found[top:]
        below = [evaluate(under, x) for x in xs]
        errors = [abs(evaluate(above, x) / b / y - 1) for x, b, y in zip(xs, below, fs)]
        if best is None or max(errors) < best[0]:
            best = max(errors), above, under
        shares = [share * error for share, error in zip(shares, errors)]
        shares = [share * points / sum(shares) + mpf(10) ** -30 for share in shares]
    return best


def write_quotient(out, name, f, low, high, top, bottom, what):
    error, above, under = quotient(f, low, high, top, bottom)
    bits = float(log(error, 2))
    print("%-20s 2^%.1f" % (name, bits))
    out.array(name + "_above", [double(c) for c in above], "%s: error 2^%.1f." % (what, bits))
    out.array(name + "_below", [double(c) for c in under])


def write():
    out = Writer("../composite/random/exact_data.h", PROLOGUE)
    start = sqrt(-log(mpf("0.0751"))) - mpf("1.6")
    what = "z / c over 0x1.72p-3 - c^2, which is not negative"
    write_quotient(out, "single_middle", by_middle, 0, LIMIT, 5, 4, what)
    write_quotient(out, "double_middle", by_middle, 0, LIMIT, 9, 8, what)
    what = "z over t = sqrt(-log(1/2 - c)) - 1.6, "
    write_quotient(out, "single_tail", by_root(mpf("1.6")), start, mpf("3.2"), 5, 4, what + "-0.0125 < t <= 3.2")
    write_quotient(out, "double_tail", by_root(mpf("1.6")), start, mpf("5.2"), 9, 8, what + "-0.0125 < t <= 5.2")
    write_quotient(out, "double_far", by_root(mpf("6.8")), mpf(0), mpf("20.5"), 9, 8,
                   "z over t = sqrt(-log(1/2 - c)) - 6.8, t <= 20.5")
    log_rest = root(lambda s: (log((1 + s) / (1 - s)) / s - 2) / s ** 2)
    exp_rest = lambda r: (exp(r) - 1 - r) / r ** 2 if abs(r) > mpf(10) ** -40 else mpf(1) / 2
    for name, f, low, high, counts, what in (
            ("log", log_rest, mpf(0), mpf("0.02945"), (4, 7), "(log((1 + s) / (1 - s)) / s - 2) / s^2 over s^2, |s| <= 0.1716"),
            ("exp", exp_rest, mpf("-0.347"), mpf("0.347"), (6, 11), "(exp(r) - 1 - r) / r^2, |r| <= 0.347")):
        for size, count in zip(("single", "double"), counts):
            c = [double(v) for v in interpolate(f, low, high, count)]
            worst = max(abs(evaluate(c, low + (high - low) * (2 * i + 1) / 400) / f(low + (high - low) * (2 * i + 1) / 400) - 1)
                        for i in range(200))
            print("%-20s 2^%.1f" % (size + "_" + name, float(log(worst, 2))))
            out.array(size + "_" + name, c, "%s: error 2^%.1f." % (what, float(log(worst, 2))))
    out.write()


if __name__ == "__main__":
    write()
