/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions made of operations that round correctly, so that every runtime computes the same bits: no weft_log, whose
 * last bit is not specified. Products and sums are separate operations here, never fused.
 */
#include "lib/composite/random/exact_data.h"
#include "lib/composite/random/random.h"

/* The layout of f32 or f64. */
typedef struct layout {
    weft_dtype integer;
    int mantissa;               /* bits */
    int64_t bias, root_half;    /* sqrt(1/2) as bits */
    double log2_high, log2_low; /* log(2): few enough bits for products with exponents to be exact, and the rest */
    double least_power;         /* exp of what is less is 0 */
} layout;

static const layout *layout_of(weft_tensor x)
{
    static const layout single = {WEFT_I32, 23, 127, 0x3f3504f3, 0x1.62e3p-1, 0x1.2fefa2p-17, -110};
    static const layout wide = {WEFT_I64, 52, 1023, 0x3fe6a09e667f3bcd, 0x1.62e42feep-1, 0x1.a39ef35793c76p-33, -760};
    return weft_tensor_dtype(x) == WEFT_F64 ? &wide : &single;
}

static weft_tensor plus(weft_tensor x, double value)
{
    return weft_add(x, weft_scalar_like(x, value));
}

static weft_tensor times(weft_tensor x, double value)
{
    return weft_mul(x, weft_scalar_like(x, value));
}

/* Of the integer dtype of the layout. */
static weft_tensor bits_like(weft_tensor bits, int64_t value)
{
    return weft_composite_cast(weft_random_integer(bits.graph, value), weft_tensor_dtype(bits));
}

/* ---- polynomials ---- */

/* Coefficients, constant first, for f32 and for f64. */
typedef struct polynomial {
    size_t counts[2];
    const double *values[2];
} polynomial;

#define POLYNOMIAL(name)                                                                                               \
    {                                                                                                                  \
        {sizeof single_##name / sizeof single_##name[0], sizeof double_##name / sizeof double_##name[0]},              \
        {                                                                                                              \
            single_##name, double_##name                                                                               \
        }                                                                                                              \
    }

static weft_tensor evaluate(const polynomial *p, weft_tensor x)
{
    if (!weft_tensor_is_valid(x)) return x;
    bool is_double = weft_tensor_dtype(x) == WEFT_F64;
    size_t i = p->counts[is_double] - 1;
    weft_tensor sum = weft_scalar_like(x, p->values[is_double][i]);
    while (i-- > 0) sum = plus(weft_mul(sum, x), p->values[is_double][i]);
    return sum;
}

/* ---- logarithm ---- */

weft_tensor weft_random_f64(weft_tensor word)
{
    weft_tensor bits = weft_or(word, weft_random_integer(word.graph, 0x4330000000000000));
    return plus(weft_bitcast(bits, WEFT_F64), -0x1p52);
}

/* x = m * 2^exponent, with m in [sqrt(1/2), sqrt(2)). */
typedef struct parts {
    weft_tensor exponent, m;
} parts;

static parts take_apart(weft_tensor x)
{
    const layout *l = layout_of(x);
    if (!weft_tensor_is_valid(x)) return (parts){x, x};
    weft_tensor bits = weft_bitcast(x, l->integer), shift = bits_like(bits, l->mantissa);
    int64_t one = l->bias << l->mantissa, all = 2 * l->bias + 1;
    weft_tensor lifted = weft_shift_right(weft_add(bits, bits_like(bits, one - l->root_half)), shift);
    weft_tensor biased = weft_and(lifted, bits_like(bits, all));
    weft_tensor rest = weft_add(weft_sub(bits, weft_shift_left(biased, shift)), bits_like(bits, one));
    weft_tensor exponent = l->integer == WEFT_I64 ? weft_random_f64(biased) : weft_cast(biased, WEFT_F32);
    return (parts){plus(exponent, -(double)l->bias), weft_bitcast(rest, weft_tensor_dtype(x))};
}

/* f - log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)): log((1 + s) / (1 - s)) with s = f / (2 + f), as in fdlibm. */
static weft_tensor log_loss(weft_tensor f)
{
    static const polynomial rest = POLYNOMIAL(log);
    weft_tensor s = weft_div(f, plus(f, 2)), z = weft_mul(s, s), half = weft_mul(times(f, 0.5), f);
    return weft_sub(half, weft_mul(s, weft_add(half, weft_mul(z, evaluate(&rest, z)))));
}

/* exponent * log(2) + f - loss. */
static weft_tensor join(weft_tensor exponent, weft_tensor f, weft_tensor loss)
{
    const layout *l = layout_of(f);
    weft_tensor low = weft_sub(weft_sub(loss, times(exponent, l->log2_low)), f);
    return weft_sub(times(exponent, l->log2_high), low);
}

weft_tensor weft_random_log(weft_tensor x)
{
    parts p = take_apart(x);
    weft_tensor f = plus(p.m, -1);
    return join(p.exponent, f, log_loss(f));
}

weft_tensor weft_random_log_share(weft_random_share share)
{
    parts p = take_apart(share.u);
    weft_tensor is_near = weft_eq(p.exponent, weft_scalar_like(p.exponent, 0));
    weft_tensor f = weft_select(is_near, weft_neg(share.rest), plus(p.m, -1));
    return join(p.exponent, f, log_loss(f));
}

weft_tensor weft_random_log1p_rest(weft_tensor t)
{
    parts p = take_apart(plus(t, 1));
    weft_tensor is_near = weft_eq(p.exponent, weft_scalar_like(p.exponent, 0));
    weft_tensor f = weft_select(is_near, t, plus(p.m, -1)), loss = log_loss(f);
    return weft_select(is_near, weft_neg(loss), weft_sub(join(p.exponent, f, loss), t));
}

/* ---- exponential function ---- */

/* 2^k of an integral k that is normal: the sum has k in its last bits. */
static weft_tensor power_of_two(weft_tensor k)
{
    const layout *l = layout_of(k);
    weft_tensor bits = weft_bitcast(plus(k, 1.5 * (double)(INT64_C(1) << l->mantissa)), l->integer);
    weft_tensor biased = weft_add(bits, bits_like(bits, l->bias));
    return weft_bitcast(weft_shift_left(biased, bits_like(bits, l->mantissa)), weft_tensor_dtype(k));
}

weft_tensor weft_random_exp(weft_tensor x)
{
    static const polynomial rest = POLYNOMIAL(exp);
    const layout *l = layout_of(x);
    if (!weft_tensor_is_valid(x)) return x;
    x = weft_max(x, weft_scalar_like(x, l->least_power));
    weft_tensor k = weft_round(times(x, 0x1.71547652b82fep+0));
    weft_tensor r = weft_sub(weft_sub(x, times(k, l->log2_high)), times(k, l->log2_low));
    weft_tensor power = plus(weft_add(weft_mul(weft_mul(r, r), evaluate(&rest, r)), r), 1);
    /* In two steps, since results may be subnormal. */
    weft_tensor half = weft_floor(times(k, 0.5));
    return weft_mul(weft_mul(power, power_of_two(half)), power_of_two(weft_sub(k, half)));
}

/* ---- quantile of the normal distribution ---- */

/* Where the argument lies, of three pieces; is_far may be absent. */
typedef struct piece {
    weft_tensor is_middle, is_far, x;
} piece;

/* The polynomial of the piece: coefficients are chosen, not results. */
static weft_tensor evaluate_piece(const piece *p, const polynomial *middle, const polynomial *tail, const double *far)
{
    weft_tensor x = p->x, sum = WEFT_NO_TENSOR;
    if (!weft_tensor_is_valid(x)) return x;
    bool is_double = weft_tensor_dtype(x) == WEFT_F64;
    for (size_t i = middle->counts[is_double]; i-- > 0;) {
        weft_tensor c = weft_scalar_like(x, tail->values[is_double][i]);
        if (!weft_composite_is_absent(p->is_far)) c = weft_select(p->is_far, weft_scalar_like(x, far[i]), c);
        c = weft_select(p->is_middle, weft_scalar_like(x, middle->values[is_double][i]), c);
        sum = weft_composite_is_absent(sum) ? c : weft_add(weft_mul(sum, x), c);
    }
    return sum;
}

weft_tensor weft_random_quantile(weft_tensor tail, weft_tensor middle, bool far)
{
    static const polynomial above[] = {POLYNOMIAL(middle_above), POLYNOMIAL(tail_above)};
    static const polynomial below[] = {POLYNOMIAL(middle_below), POLYNOMIAL(tail_below)};
    weft_tensor square = weft_mul(middle, middle), inside = weft_sub(weft_scalar_like(square, 0x1.72p-3), square);
    weft_tensor root = weft_sqrt(weft_neg(weft_random_log(tail))), t = plus(root, -1.6);
    piece p = {.is_middle = weft_ge(inside, weft_scalar_like(inside, 0)), .is_far = WEFT_NO_TENSOR};
    if (far) {
        p.is_far = weft_gt(root, weft_scalar_like(root, 6.8));
        t = weft_select(p.is_far, plus(root, -6.8), t);
    }
    p.x = weft_select(p.is_middle, inside, t);
    weft_tensor ratio = weft_div(evaluate_piece(&p, &above[0], &above[1], double_far_above),
                                 evaluate_piece(&p, &below[0], &below[1], double_far_below));
    return weft_mul(ratio, weft_select(p.is_middle, middle, weft_scalar_like(ratio, 1)));
}
