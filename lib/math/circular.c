/* SPDX-License-Identifier: Apache-2.0 */
/* sin, cos and tan */
#include "lib/math/extended.h"
#include "lib/math/circular_data.h"

static const series sin_series[MATH_FORMATS] = WEFT_SERIES(sin);
static const series cos_series[MATH_FORMATS] = WEFT_SERIES(cos);

enum {
    TANGENT_TERMS = sizeof single_tangent / sizeof *single_tangent,
    HALF_TURN_TERMS = sizeof single_half_turn / sizeof *single_half_turn
};

/* x = n pi/2 + high - lack, |high| <= pi/4 or a little more; `turns` has n modulo 4 in its low bits. The sign of `lack`
 * is such that -0 is its own sine. */
typedef struct reduced {
    weft_inst_id high, lack, turns;
} reduced;

/* pi/2 in three numbers of the format, and what is smaller than `most` reduced with them. The first two are positive,
 * for -0 to stay what it is. */
typedef struct quarter_turn {
    double parts[3], inverse, most;
} quarter_turn;

static const quarter_turn quarter_turns[MATH_FORMATS] = {
    [MATH_F32] = {{0x1.921fb4p+0, 0x1.4442d2p-24, -0x1.ee59dap-50}, 0x1.45f306p-1, 0x1p15},
    [MATH_F64] = {{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}, 0x1.45f306dc9c883p-1, 0x1p31},
};

/*
 * x - n parts[0] is exact. From it n parts[1] is taken with its rounding error, which takes the difference d, and what
 * d lacks of it where the product is the larger one.
 */
static reduced reduce_near(const writer *w, weft_inst_id x)
{
    const quarter_turn *quarter = &quarter_turns[w->number];
    weft_inst_id shifted, n = weft_math_round_scaled(w, x, quarter->inverse, 0, &shifted);
    weft_inst_id rest = fma3(w, n, real(w, -quarter->parts[0]), x);
    weft_inst_id d = sub(w, rest, fma3(w, n, real(w, -quarter->parts[1]), rest));
    weft_inst_id lack = multiply_subtract(w, n, real(w, quarter->parts[1]), d);
    lack = fma3(w, n, real(w, quarter->parts[2]), lack);
    weft_inst_id high = sub(w, rest, d);
    return (reduced){high, lack, as_integer(w, shifted)};
}

/*
 * The quarter turns x 2/pi, of which multiples of four count for nothing. x is an integer times a power of two at least
 * 2^e, so 2/pi 2^e modulo 4 serves as well as 2/pi: its row of the table is chosen by the exponent, and x / 2^e taken
 * in its place; both scalings are in the table.
 *
 * For floats a row is a chunk of so few bits that its product is exact, and the 53 bits after it: no float comes
 * nearer to a multiple of pi/2 than 2^-30.
 */
typedef struct single_turns {
    weft_inst_id x;             /* as a double */
    weft_inst_id first, factor; /* quarter turns: the exact part, and what x is multiplied by for the rest */
} single_turns;

static single_turns find_turns(const writer *n, weft_inst_id operand)
{
    writer wide = widened(n), *w = &wide;
    weft_inst_id bits = as_integer(n, at_least(n, absolute(n, operand), 0x1p23));
    weft_inst_id row = shift_right(n, sub(n, bits, integer(n, (127 + 23) << 23)), 23), x = widen(w, operand);
    weft_inst_id first = mul(w, x, look_up(w, WEFT_TABLE_single_turns, 0, row));
    return (single_turns){x, first, look_up(w, WEFT_TABLE_single_turns, 1, row)};
}

/*
 * The sine or cosine of a large float, as a double: from the nearest zero, which is an even or odd number of quarter
 * turns away, it is the sine of what is left, or minus that. A double next to 1.5 2^53 rounds to even numbers.
 */
static weft_inst_id far_wave(const writer *w, single_turns turns, bool is_cosine)
{
    weft_inst_id magic = real(w, 0x1.8p53),
                 shifted = add(w, is_cosine ? plus(w, turns.first, 1.0) : turns.first, magic);
    weft_inst_id left = sub(w, turns.first, sub(w, shifted, magic));
    weft_inst_id t = fma3(w, turns.x, turns.factor, is_cosine ? plus(w, left, 1.0) : left);
    weft_inst_id wave = mul(w, t, polynomial(w, mul(w, t, t), single_half_turn, HALF_TURN_TERMS));
    weft_inst_id sign = shift_left(w, as_integer(w, shifted), 63);
    return as_real(w, binary(w, WEFT_SCALAR_xor, as_integer(w, wave), sign));
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
    weft_inst_id lack = minus(w, r.low);
    return (reduced){r.high, lack, as_integer(w, shifted)};
}

/* Few elements are as large as a table is needed for, or infinite or NaN. */
static weft_inst_id is_far(const writer *w, weft_inst_id x)
{
    weft_inst_id usual = below(w, absolute(w, x), quarter_turns[w->number].most);
    return unary(w, WEFT_SCALAR_not, usual);
}

/* Of doubles. */
static reduced reduce(const writer *w, weft_inst_id x)
{
    weft_inst_id rare = is_far(w, x);
    reduced near = reduce_near(w, x), far = reduce_double(w, x);
    reduced chosen = {.high = rarely(w, rare, far.high, near.high)};
    chosen.lack = rarely(w, rare, far.lack, near.lack);
    chosen.turns = rarely(w, rare, far.turns, near.turns);
    return chosen;
}

/* high - lack */
typedef struct difference {
    weft_inst_id high, lack;
} difference;

/* Sine and cosine of what is left of doubles. */
static void evaluate_double(const writer *w, reduced r, difference *out_sin, difference *out_cos)
{
    weft_inst_id z = mul(w, r.high, r.high), cube = mul(w, r.high, z), one = real(w, 1.0);
    weft_inst_id near = fma3(w, z, real(w, -0.5), one), error = sub(w, near, one);
    error = fma3(w, z, real(w, 0.5), error);
    weft_inst_id p = weft_math_series(w, z, sin_series), q = weft_math_series(w, z, cos_series);
    *out_sin = (difference){r.high, subtract_product(w, cube, p, mul(w, r.lack, near))};
    error = subtract_product(w, r.high, r.lack, error);
    *out_cos = (difference){near, subtract_product(w, mul(w, z, z), q, error)};
}

/* The same of floats, rounded. */
static void evaluate_single(const writer *w, reduced r, weft_inst_id *out_sin, weft_inst_id *out_cos)
{
    weft_inst_id product = mul(w, r.high, r.lack), twice = add(w, product, product);
    weft_inst_id z = multiply_subtract(w, r.high, r.high, twice), cube = mul(w, r.high, z);
    const series *p = &sin_series[MATH_F32], *q = &cos_series[MATH_F32];
    *out_sin = sub(w, r.high, subtract_product(w, cube, polynomial(w, z, p->terms, p->count), r.lack));
    weft_inst_id rest = polynomial(w, z, q->terms, q->count);
    *out_cos = fma3(w, z, rest, real(w, 1.0));
}

static weft_inst_id is_odd(const writer *w, weft_inst_id n)
{
    weft_inst_id bit = mask(w, n, 1);
    return binary(w, WEFT_SCALAR_ne, bit, integer(w, 0));
}

/* sin(x), where `x` is after the reduction. */
static weft_inst_id sine_of(const writer *w, reduced x)
{
    weft_inst_id odd = is_odd(w, x.turns), result;
    if (is_short(w)) {
        weft_inst_id sine, cosine;
        evaluate_single(w, x, &sine, &cosine);
        result = choose(w, odd, cosine, sine);
    } else {
        difference sine, cosine;
        evaluate_double(w, x, &sine, &cosine);
        weft_inst_id high = choose(w, odd, cosine.high, sine.high);
        result = sub(w, high, choose(w, odd, cosine.lack, sine.lack));
    }
    unsigned top = 8 * (unsigned)weft_dtype_size(w->format->real) - 1;
    weft_inst_id sign = mask(w, shift_left(w, x.turns, top - 1), (uint64_t)1 << top);
    return as_real(w, binary(w, WEFT_SCALAR_xor, as_integer(w, result), sign));
}

/* The branch for large floats ends with the result: one in the middle has the registers of the rest to save. */
static weft_inst_id wave(const writer *w, weft_inst_id x, bool is_cosine)
{
    reduced parts = is_short(w) ? reduce_near(w, x) : reduce(w, x);
    if (is_cosine) parts.turns = add(w, parts.turns, integer(w, 1));
    weft_inst_id result = sine_of(w, parts);
    if (!is_short(w)) return one_nan(w, result);
    weft_inst_id rare = is_far(w, x);
    writer wide = widened(w);
    weft_inst_id far = far_wave(&wide, find_turns(w, x), is_cosine);
    return rarely(w, rare, narrow(&wide, far), result);
}

weft_inst_id weft_math_sin(const writer *w, const weft_inst_id *x)
{
    return wave(w, x[0], false);
}

weft_inst_id weft_math_cos(const writer *w, const weft_inst_id *x)
{
    return wave(w, x[0], true);
}

/*
 * With v = 2 tan(r / 2) the tangent of what is left is v / (1 - v^2 / 4), and after an odd number of quarter turns
 * minus the inverse of that: one quotient, of sums of two numbers.
 */
static weft_inst_id tan_of_double(const writer *w, weft_inst_id x, reduced parts)
{
    enum { TERMS = sizeof double_half_tangent / sizeof *double_half_tangent };
    weft_inst_id r = parts.high, z = mul(w, r, r), one = real(w, 1.0), minus_quarter = real(w, -0.25);
    weft_inst_id curve = paired_polynomial(w, z, double_half_tangent, TERMS);
    pair v = fast_two_sum(w, r, multiply_subtract(w, mul(w, r, z), curve, parts.lack));
    pair square = two_product(w, v.high, v.high);
    square.low = fma3(w, times(w, v.high, 2.0), v.low, square.low);
    pair rest = {fma3(w, square.high, minus_quarter, one), 0};
    rest.low = fma3(w, square.high, minus_quarter, sub(w, one, rest.high));
    rest.low = fma3(w, square.low, minus_quarter, rest.low);
    weft_inst_id odd = is_odd(w, parts.turns);
    pair over = choose_pair(w, odd, rest, v), under = choose_pair(w, odd, v, rest);
    pair ratio = weft_math_ratio(w, over, under);
    weft_inst_id sign = shift_left(w, parts.turns, 63), tangent = as_integer(w, add(w, ratio.high, ratio.low));
    tangent = as_real(w, binary(w, WEFT_SCALAR_xor, tangent, sign));
    /* Where products underflow a number is its own tangent, -0 too. */
    return choose(w, below(w, absolute(w, x), 0x1p-27), x, tangent);
}

/*
 * The tangent t = high - lack of what is left, or -1 / t after an odd number of quarter turns, with what the quotient
 * leaves.
 */
static weft_inst_id tan_of_single(const writer *w, reduced r)
{
    weft_inst_id z = mul(w, r.high, r.high), cube = mul(w, r.high, z);
    /* With the derivative 1 + t^2, nearly; and what z lacks, which matters where z is large. */
    weft_inst_id lack = fma3(w, times(w, r.lack, 1.5), z, r.lack), square = multiply_subtract(w, r.high, r.high, z);
    lack = subtract_product(w, square, times(w, r.high, 0.6), lack);
    weft_inst_id less_change = subtract_product(w, cube, polynomial(w, z, single_tangent, TANGENT_TERMS), lack);
    difference t = {.high = sub(w, r.high, less_change)};
    t.lack = sub(w, less_change, sub(w, r.high, t.high));
    weft_inst_id inverse = quotient(w, real(w, -1.0), t.high), left = fma3(w, inverse, t.high, real(w, 1.0));
    left = subtract_product(w, inverse, t.lack, left);
    weft_inst_id inverted = fma3(w, inverse, left, inverse);
    return choose(w, is_odd(w, r.turns), inverted, t.high);
}

weft_inst_id weft_math_tan(const writer *w, const weft_inst_id *x)
{
    if (!is_short(w)) return one_nan(w, tan_of_double(w, x[0], reduce(w, x[0])));
    weft_inst_id result = tan_of_single(w, reduce_near(w, x[0])), rare = is_far(w, x[0]);
    writer wide = widened(w);
    single_turns turns = find_turns(w, x[0]);
    weft_inst_id sine = far_wave(&wide, turns, false);
    weft_inst_id far = quotient(&wide, sine, far_wave(&wide, turns, true));
    return rarely(w, rare, narrow(&wide, far), result);
}
