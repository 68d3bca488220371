/* SPDX-License-Identifier: Apache-2.0 */
/* sin, cos and tan */
#include "lib/math/extended.h"
#include "lib/math/circular_data.h"

static const series sin_series[MATH_FORMATS] = WEFT_SERIES(sin);
static const series cos_series[MATH_FORMATS] = WEFT_SERIES(cos);

enum { SINGLE_TERMS = sizeof single_half_turn / sizeof *single_half_turn };

/* x = n pi/2 + r, |r| <= pi/4 or a little more; `turns` has n modulo 4 in its low bits. */
typedef struct reduced {
    pair r;
    weft_inst_id turns;
} reduced;

/*
 * The quarter turns x 2/pi, of which multiples of four count for nothing. x is an integer times a power of two at least
 * 2^e, so 2/pi 2^e modulo 4 serves as well as 2/pi: its row of the table is chosen by the exponent, and x / 2^e taken
 * in its place; both scalings are in the table.
 *
 * For floats a row is a chunk of so few bits that its product is exact, and the 53 bits after it: no float comes
 * nearer to a multiple of pi/2 than 2^-30. The exact part is `high`; with x times `factor` it is the whole.
 */
typedef struct single_turns {
    weft_inst_id x; /* as a double */
    weft_inst_id high, factor;
} single_turns;

static single_turns find_turns(const writer *narrow_writer, weft_inst_id operand)
{
    const writer *n = narrow_writer;
    writer wide = widened(n), *w = &wide;
    weft_inst_id bits = as_integer(n, at_least(n, absolute(n, operand), 0x1p23));
    weft_inst_id row = shift_right(n, sub(n, bits, integer(n, (127 + 23) << 23)), 23), x = widen(w, operand);
    weft_inst_id high = mul(w, x, look_up(w, WEFT_TABLE_single_turns, 0, row));
    return (single_turns){x, high, look_up(w, WEFT_TABLE_single_turns, 1, row)};
}

static reduced reduce_single(const writer *narrow_writer, weft_inst_id operand)
{
    writer wide = widened(narrow_writer), *w = &wide;
    single_turns turns = find_turns(narrow_writer, operand);
    weft_inst_id magic = real(w, 0x1.8p52), shifted = add(w, turns.high, magic);
    weft_inst_id rest = fma3(w, turns.x, turns.factor, sub(w, turns.high, sub(w, shifted, magic)));
    return (reduced){{times(w, rest, 0x1.921fb54442d18p+0), 0}, as_integer(w, shifted)};
}

/*
 * The sine or cosine of a float: from the nearest zero, which is an even or odd number of quarter turns away, it is the
 * sine of what is left, or minus that. A double next to 1.5 2^53 rounds to even numbers.
 */
static weft_inst_id single_wave(const writer *narrow_writer, weft_inst_id operand, bool is_cosine)
{
    writer wide = widened(narrow_writer), *w = &wide;
    single_turns turns = find_turns(narrow_writer, operand);
    weft_inst_id magic = real(w, 0x1.8p53), shifted = add(w, is_cosine ? plus(w, turns.high, 1.0) : turns.high, magic);
    weft_inst_id left = sub(w, turns.high, sub(w, shifted, magic));
    weft_inst_id t = fma3(w, turns.x, turns.factor, is_cosine ? plus(w, left, 1.0) : left);
    weft_inst_id wave = mul(w, t, polynomial(w, mul(w, t, t), single_half_turn, SINGLE_TERMS));
    weft_inst_id sign = shift_left(w, as_integer(w, shifted), 63);
    return narrow(w, as_real(w, binary(w, WEFT_SCALAR_xor, as_integer(w, wave), sign)));
}

/* x minus the nearest multiple of four */
static weft_inst_id modulo_four(const writer *w, weft_inst_id x)
{
    weft_inst_id quarters = unary(w, WEFT_SCALAR_round, times(w, x, 0.25));
    return fma3(w, quarters, real(w, -4.0), x);
}

/*
 * For doubles a row serves 32 exponents and has four doubles. Of the six products the first three are as large as 2^86,
 * 2^33 and 2^33 and count modulo 4; a double comes as near to a multiple of pi/2 as 2^-62, so what cancels is kept.
 */
static reduced reduce_double(const writer *w, weft_inst_id x)
{
    weft_inst_id a = at_least(w, absolute(w, x), 0x1p52);
    weft_inst_id row = shift_right(w, plus_bits(w, as_integer(w, a), -((uint64_t)(1023 + 52) << 52)), 57);
    x = times(w, x, 0x1p-512);
    pair products[3];
    for (uint32_t i = 0; i < 3; i++) products[i] = two_product(w, x, look_up(w, WEFT_TABLE_double_turns, i, row));
    weft_inst_id last = fma3(w, x, look_up(w, WEFT_TABLE_double_turns, 3, row), products[2].low);
    weft_inst_id first = modulo_four(w, products[0].high);
    pair second = two_sum(w, products[0].low, products[1].high);
    second.high = modulo_four(w, second.high);
    weft_inst_id magic = real(w, 0x1.8p52), shifted = add(w, add(w, first, second.high), magic);
    first = sub(w, first, sub(w, shifted, magic));
    pair high = two_sum(w, first, second.high);
    pair third = two_sum(w, products[1].low, products[2].high);
    pair middle = two_sum(w, second.low, third.high);
    pair turn = two_sum(w, high.high, middle.high);
    weft_inst_id low = add(w, middle.low, third.low);
    low = add(w, add(w, add(w, low, last), high.low), turn.low);
    pair r = two_product(w, turn.high, real(w, 0x1.921fb54442d18p+0));
    r.low = fma3(w, turn.high, real(w, 0x1.1a62633145c07p-54), r.low);
    r.low = fma3(w, low, real(w, 0x1.921fb54442d18p+0), r.low);
    return (reduced){r, as_integer(w, shifted)};
}

/* Sine and cosine of r, the low parts not added yet; a float has none. */
static void evaluate(const writer *w, pair r, pair *out_sin, pair *out_cos)
{
    weft_inst_id z = mul(w, r.high, r.high);
    weft_inst_id p = weft_math_series(w, z, sin_series), q = weft_math_series(w, z, cos_series);
    weft_inst_id one = real(w, 1.0), near = fma3(w, z, real(w, -0.5), one);
    if (is_short(w)) {
        *out_sin = (pair){mul(w, r.high, fma3(w, z, p, one)), 0};
        *out_cos = (pair){fma3(w, mul(w, z, z), q, near), 0};
        return;
    }
    weft_inst_id cube = mul(w, r.high, z);
    *out_sin = (pair){r.high, fma3(w, cube, p, mul(w, r.low, near))};
    weft_inst_id error = sub(w, one, near);
    error = fma3(w, z, real(w, -0.5), error);
    error = subtract_product(w, r.high, r.low, error);
    *out_cos = (pair){near, fma3(w, mul(w, z, z), q, error)};
}

/* Whether bit `bit` of n is set, as the sign of an integer. */
static weft_inst_id bit_as_sign(const writer *w, weft_inst_id n, unsigned bit)
{
    return shift_left(w, n, 63 - bit);
}

static weft_inst_id is_odd(const writer *w, weft_inst_id n)
{
    weft_inst_id sign = bit_as_sign(w, n, 0);
    return less(w, sign, integer(w, 0));
}

/* sin(r + n pi/2) of doubles */
static weft_inst_id sine_of(const writer *w, reduced x)
{
    pair sine, cosine;
    evaluate(w, x.r, &sine, &cosine);
    weft_inst_id odd = is_odd(w, x.turns), high = choose(w, odd, cosine.high, sine.high);
    weft_inst_id result = add(w, high, choose(w, odd, cosine.low, sine.low));
    weft_inst_id sign = mask(w, bit_as_sign(w, x.turns, 1), (uint64_t)1 << 63);
    return as_real(w, binary(w, WEFT_SCALAR_xor, as_integer(w, result), sign));
}

/* Products of smaller numbers would underflow; a number so small is its own sine and tangent. */
static weft_inst_id unless_tiny(const writer *w, weft_inst_id x, weft_inst_id result)
{
    weft_inst_id tiny = below(w, absolute(w, x), 0x1p-27);
    return choose(w, tiny, x, result);
}

weft_inst_id weft_math_sin(const writer *w, const weft_inst_id *x)
{
    if (is_short(w)) return single_wave(w, x[0], false);
    return narrow(w, unless_tiny(w, x[0], sine_of(w, reduce_double(w, x[0]))));
}

weft_inst_id weft_math_cos(const writer *w, const weft_inst_id *x)
{
    if (is_short(w)) return single_wave(w, x[0], true);
    reduced parts = reduce_double(w, x[0]);
    parts.turns = add(w, parts.turns, integer(w, 1));
    return narrow(w, sine_of(w, parts));
}

/* s / c, or -c / s after an odd number of quarter turns. */
weft_inst_id weft_math_tan(const writer *narrow_writer, const weft_inst_id *operands)
{
    writer writer_of_doubles = widened(narrow_writer), *w = &writer_of_doubles;
    weft_inst_id x = operands[0];
    reduced parts = is_short(w) ? reduce_single(narrow_writer, x) : reduce_double(w, x);
    pair sine, cosine;
    evaluate(w, parts.r, &sine, &cosine);
    weft_inst_id odd = is_odd(w, parts.turns);
    pair over = {choose(w, odd, minus(w, cosine.high), sine.high), 0};
    pair under = {choose(w, odd, sine.high, cosine.high), 0};
    if (is_short(w)) return narrow(w, quotient(w, over.high, under.high));
    over.low = choose(w, odd, minus(w, cosine.low), sine.low);
    under.low = choose(w, odd, sine.low, cosine.low);
    over = fast_two_sum(w, over.high, over.low);
    under = fast_two_sum(w, under.high, under.low);
    pair ratio = weft_math_ratio(w, over, under);
    return narrow(w, unless_tiny(w, x, add(w, ratio.high, ratio.low)));
}
