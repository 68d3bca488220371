# SPDX-License-Identifier: Apache-2.0
"""Functions that numpy lacks, in decimal arithmetic of 60 digits: erf, erfc, lgamma, tgamma, digamma."""
import decimal
import fractions
import functools
import math

from binding import numpy

D = decimal.Decimal
CONTEXT = decimal.Context(prec=60, Emin=-10**9, Emax=10**9, traps=[decimal.InvalidOperation])
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
SHIFTED = 40  # where the asymptotic series are good to more digits than are kept


@functools.lru_cache
def bernoulli():
    """B2, B4, ..., as many as the asymptotic series take."""
    numbers = [fractions.Fraction(1)]
    for n in range(1, 61):
        numbers.append(-sum(math.comb(n + 1, k) * numbers[k] for k in range(n)) / (n + 1))
    return [D(number.numerator) / D(number.denominator) for number in numbers[2::2]]


def sine_cosine(x):
    """Of pi x, which is reduced exactly; x is in [-1/2, 1/2]."""
    angle, sine, cosine, term, n = PI * x, D(0), D(0), D(1), 0
    while n < 2 or abs(term) > D(10) ** -65:
        sign = -1 if n % 4 > 1 else 1
        if n % 2 == 0:
            cosine += sign * term
        else:
            sine += sign * term
        n += 1
        term *= angle / n
    return sine, cosine


def erf_series(x):
    """All terms have one sign: exp(-x^2) times the sum of (2 x^2)^n x / (1 3 5 ... (2n + 1))."""
    term, total, n = x, D(0), 0
    while term != 0 and abs(term) > abs(total) * D(10) ** -60:
        total += term
        n += 1
        term *= 2 * x * x / (2 * n + 1)
    return 2 / PI.sqrt() * (-x * x).exp() * (total + term)


def erf(x):
    return D(1).copy_sign(x) if abs(x) > 12 else erf_series(x)


def erfc(x):
    """The continued fraction is good to 50 digits from 3 on."""
    if x < 3:
        return 1 - erf(x)
    fraction = D(0)
    for n in range(400, 0, -1):
        fraction = D(n) / 2 / (x + fraction)
    return (-x * x).exp() / PI.sqrt() / (x + fraction)


def lgamma(x):
    if x in (1, 2):
        return D(0)
    if x < 0:
        return (PI / abs(sine_cosine(x - x.to_integral_value())[0])).ln() - lgamma(1 - x)
    product = D(1)
    while x < SHIFTED:
        product *= x
        x += 1
    series = sum(number / (2 * n * (2 * n - 1) * x ** (2 * n - 1)) for n, number in enumerate(bernoulli(), 1))
    return (x - D("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + series - product.ln()


def tgamma(x):
    if x > 3000:
        return D("inf")
    size = D(0) if x < -3000 else lgamma(x).exp()
    return size.copy_negate() if x < 0 and math.floor(x) % 2 != 0 else size


def digamma(x):
    if x < 0:
        sine, cosine = sine_cosine(x - x.to_integral_value())
        return digamma(1 - x) - PI * cosine / sine
    before = D(0)
    while x < SHIFTED:
        before += 1 / x
        x += 1
    series = sum(number / (2 * n * x ** (2 * n)) for n, number in enumerate(bernoulli(), 1))
    return x.ln() - 1 / (2 * x) - series - before


# At zero (of the sign of x), below zero at a whole number, at infinity, at minus infinity; None: as elsewhere.
SPECIAL = {
    erf: (lambda x: x, None, 1.0, -1.0),
    erfc: (lambda x: 1.0, None, 0.0, 2.0),
    lgamma: (lambda x: math.inf, math.inf, math.inf, math.inf),
    tgamma: (lambda x: math.copysign(math.inf, x), math.nan, math.inf, math.nan),
    digamma: (lambda x: -math.copysign(math.inf, x), math.nan, math.inf, math.nan),
}


def evaluate(function, x):
    at_zero, at_whole, at_infinity, at_minus_infinity = SPECIAL[function]
    if numpy.isnan(x):
        return x
    if x == 0:
        return at_zero(x)
    if numpy.isinf(x):
        return at_infinity if x > 0 else at_minus_infinity
    if x < 0 and x == numpy.floor(x) and at_whole is not None:
        return at_whole
    with decimal.localcontext(CONTEXT):
        return numpy.longdouble(str(function(D(float(x)))))


def over(function):
    """The function of every element of an array of long doubles that are doubles."""
    def apply(values):
        known = {}
        result = numpy.empty(values.shape, numpy.longdouble)
        for at, x in numpy.ndenumerate(values):
            key = (float(x), bool(numpy.signbit(x)))
            if key not in known:
                known[key] = evaluate(function, x)
            result[at] = known[key]
        return result
    return apply
