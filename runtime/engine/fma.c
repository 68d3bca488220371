/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/fma.h"
#include <stdbool.h>
#include <stdint.h>
#include "runtime/base/float_bits.h"

__extension__ typedef unsigned __int128 wide;

/* ---- sums with their errors ---- */

/*
 * Sums are rounded to odd where they will be rounded again: one that is not exact goes to the neighbour whose last bit
 * is set. A second rounding, to at least two bits less, then gives what rounding the exact sum would (Boldo and
 * Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd, IEEE Transactions on
 * Computers 57(4), 2008). All of it needs products and sums that are rounded each: -ffp-contract=off.
 */

/* The exact sum of two numbers: Knuth's TwoSum. The error is NaN where the sum is not finite. */
typedef struct exact_sum {
    double sum, error;
} exact_sum;

static exact_sum add(double a, double b)
{
    double sum = a + b, part = sum - a;
    return (exact_sum){sum, (a - (sum - part)) + (b - part)};
}

static double add_to_odd(double a, double b)
{
    exact_sum s = add(a, b);
    uint64_t bits = weft_bits_of_f64(s.sum);
    if ((s.error > 0 || s.error < 0) && (bits & 1) == 0) bits += (s.error > 0) == (s.sum > 0) ? 1 : UINT64_MAX;
    return weft_f64_of_bits(bits);
}

/* The product of two f32 has at most 48 bits and is exact in f64, which has more than two bits more than f32. */
float weft_fma_f32(float a, float b, float c)
{
    return (float)add_to_odd((double)a * b, c);
}

/* ---- f64 by floats ---- */

enum { FRACTION = 52, BIAS = 1023, SPECIAL = 0x7ff };

/* Whether neither products nor errors of such numbers overflow or underflow: from 2^-400 to 2^400. */
static bool is_moderate(uint64_t bits)
{
    enum { MOST = 400 };
    return (bits >> FRACTION & SPECIAL) - (BIAS - MOST) < 2 * MOST;
}

/* The first 26 bits of a number, or 25 and a sign, as Veltkamp splits it. */
static double first_half(double value)
{
    const double scaled = 0x1.0p27 * value + value;
    return scaled - (scaled - value);
}

static double product_error(double a, double b, double product)
{
    double a_high = first_half(a), a_low = a - a_high, b_high = first_half(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/* The algorithm Fmac of Boldo and Melquiond, with Dekker's product. */
static double multiply_and_add_moderate(double a, double b, double c)
{
    double product = a * b;
    exact_sum low = add(c, product_error(a, b, product)), high = add(product, low.sum);
    return high.sum + add_to_odd(low.error, high.error);
}

/* ---- f64 by integers of 128 bits ---- */

/* significand * 2^exponent, with 53 bits in the significand. */
typedef struct parts {
    uint64_t significand;
    int exponent;
} parts;

static bool is_special(uint64_t bits)
{
    return (bits >> FRACTION & SPECIAL) == SPECIAL;
}

/* Of a finite number other than zero. */
static parts take_apart(uint64_t bits)
{
    const uint64_t implied = UINT64_C(1) << FRACTION;
    int exponent = (int)(bits >> FRACTION & SPECIAL);
    uint64_t fraction = bits & (implied - 1);
    if (exponent > 0) return (parts){fraction | implied, exponent - BIAS - FRACTION};
    int shift = __builtin_clzll(fraction) - (63 - FRACTION);
    return (parts){fraction << shift, 1 - shift - BIAS - FRACTION};
}

/* The last bit of the result says as well whether there was anything below it. */
static wide shift_right(wide value, int by)
{
    if (by == 0) return value;
    if (by > 127) return value != 0;
    return value >> by | (value << (128 - by) != 0);
}

/*
 * magnitude * 2^exponent, rounded. A bit of `magnitude` is far enough below those of the result to stand for all below
 * it: there are 128 of them, and none was shifted out if the first of them are zero.
 */
static double round_to_f64(bool negative, wide magnitude, int exponent)
{
    uint64_t high = (uint64_t)(magnitude >> 64), sign = (uint64_t)negative << 63;
    int zeros = high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)magnitude);
    uint64_t top = (uint64_t)shift_right(magnitude << zeros, 64);
    int biased = exponent + 127 - zeros + BIAS, dropped = 63 - FRACTION;
    if (biased >= SPECIAL) return weft_f64_of_bits(sign | (uint64_t)SPECIAL << FRACTION);
    if (biased < 1) { /* subnormal, without an implied bit */
        top = (uint64_t)shift_right(top, 1 - biased);
        biased = 1;
    }
    uint64_t kept = top >> dropped, rest = top << (64 - dropped), half = UINT64_C(1) << 63;
    kept += rest > half || (rest == half && (kept & 1) != 0);
    /* The bit that is implied, or to which a subnormal was rounded up, counts as one in the exponent. */
    return weft_f64_of_bits(sign | (kept + ((uint64_t)(biased - 1) << FRACTION)));
}

/*
 * The product, exact with 105 or 106 bits, and the addend get their first bits two or three places below the top. Then
 * the one with the smaller exponent is shifted right. Bits are lost only if the exponents differ by more than 20, which
 * leaves at least 123 bits of the sum, the last of them set: as above, rounding that once more is rounding the exact
 * sum.
 */
static double multiply_and_add(uint64_t a, uint64_t b, uint64_t c)
{
    enum { PRODUCT_SHIFT = 20, ADDEND_SHIFT = 72 };
    parts x = take_apart(a), y = take_apart(b), z = take_apart(c);
    wide product = (wide)x.significand * y.significand << PRODUCT_SHIFT, addend = (wide)z.significand << ADDEND_SHIFT;
    int exponent = x.exponent + y.exponent - PRODUCT_SHIFT, ahead = z.exponent - ADDEND_SHIFT - exponent;
    bool negative = ((a ^ b) >> 63) != 0, differs = ((a ^ b ^ c) >> 63) != 0;
    if (ahead > 0) product = shift_right(product, ahead);
    else addend = shift_right(addend, -ahead);
    if (ahead > 0) exponent += ahead;
    wide sum = differs ? product - addend : product + addend;
    if (sum == 0) return 0;
    bool below = differs && product < addend;
    return round_to_f64(negative != below, below ? -sum : sum, exponent);
}

double weft_fma_f64(double a, double b, double c)
{
    uint64_t x = weft_bits_of_f64(a), y = weft_bits_of_f64(b), z = weft_bits_of_f64(c);
    if (is_moderate(x) && is_moderate(y) && is_moderate(z)) return multiply_and_add_moderate(a, b, c);
    if (is_special(x) || is_special(y) || a == 0 || b == 0) return a * b + c;
    if (is_special(z)) return c + c; /* whose product may overflow */
    if (c == 0) return a * b;        /* whose product may underflow to a zero of the other sign */
    return multiply_and_add(x, y, z);
}
