/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering of exp, log and tanh.
 *
 * requires   a verified kernel in either state; f32 and f64 operands of the three
 * maintains  the state, the values within the bounds of math.def, and the special values of IEEE 754 and C's Annex F
 * breaks     the numbering of instructions
 *
 * Each function is straight-line code that is right for all values at once: no branches, no tables in memory, no
 * operation that AVX2 lacks. The constants are in math_constants.h.
 */
#include "lib/loop/inst.h"
#include <string.h>
#include "lib/loop/math_constants.h"

/* Where the code goes, and for which format. */
typedef struct writer {
    weft_inst_list *list;
    const math_format *format;
} writer;

/* ---- notation: of the arguments of a call at most one emits code, for their order is the C compiler's choice ---- */

static weft_inst_id constant(const writer *w, weft_dtype dtype, uint64_t bits)
{
    weft_inst inst = {.op = WEFT_SCALAR_const, .dtype = dtype, .bits = bits};
    return weft_inst_list_add(w->list, &inst);
}

static weft_inst_id real(const writer *w, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    if (w->format->real == WEFT_F32) memcpy(&bits, &single, sizeof single);
    else memcpy(&bits, &value, sizeof value);
    return constant(w, w->format->real, bits);
}

static weft_inst_id integer(const writer *w, uint64_t bits)
{
    return constant(w, w->format->integer, bits);
}

static weft_inst_id unary(const writer *w, weft_scalar_op op, weft_inst_id a)
{
    return weft_inst_list_apply(w->list, op, 1, &a);
}

static weft_inst_id binary(const writer *w, weft_scalar_op op, weft_inst_id a, weft_inst_id b)
{
    return weft_inst_list_apply(w->list, op, 2, (weft_inst_id[]){a, b});
}

static weft_inst_id fma3(const writer *w, weft_inst_id a, weft_inst_id b, weft_inst_id c)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_fma, 3, (weft_inst_id[]){a, b, c});
}

static weft_inst_id choose(const writer *w, weft_inst_id condition, weft_inst_id yes, weft_inst_id no)
{
    return weft_inst_list_apply(w->list, WEFT_SCALAR_select, 3, (weft_inst_id[]){condition, yes, no});
}

static weft_inst_id choose_real(const writer *w, weft_inst_id condition, double yes, double no)
{
    weft_inst_id first = real(w, yes);
    return choose(w, condition, first, real(w, no));
}

static weft_inst_id as(const writer *w, weft_dtype dtype, weft_inst_id a)
{
    weft_inst inst = {.op = WEFT_SCALAR_bitcast, .dtype = dtype, .arg_count = 1, .args = {a}};
    return weft_inst_list_add(w->list, &inst);
}

static weft_inst_id as_integer(const writer *w, weft_inst_id a)
{
    return as(w, w->format->integer, a);
}

static weft_inst_id as_real(const writer *w, weft_inst_id a)
{
    return as(w, w->format->real, a);
}

/* The sum of coefficients[i] * x^i. */
static weft_inst_id polynomial(const writer *w, weft_inst_id x, const double *coefficients, size_t count)
{
    weft_inst_id sum = real(w, coefficients[count - 1]);
    for (size_t i = count - 1; i > 0; i--) sum = fma3(w, sum, x, real(w, coefficients[i - 1]));
    return sum;
}

/* The smaller of x and `most`, NaN for NaN: the form that is one instruction of x86. */
static weft_inst_id at_most(const writer *w, weft_inst_id x, double most)
{
    weft_inst_id limit = real(w, most);
    return choose(w, binary(w, WEFT_SCALAR_lt, limit, x), limit, x);
}

static weft_inst_id at_least(const writer *w, weft_inst_id x, double least)
{
    weft_inst_id limit = real(w, least);
    return choose(w, binary(w, WEFT_SCALAR_lt, x, limit), limit, x);
}

/* ---- exp ---- */

/*
 * x * scale rounded to an integer n; *out_shifted has n + shift in the low bits of its significand: a number of the
 * size of 1.5 * 2^fraction has no bits below one.
 */
static weft_inst_id round_scaled(const writer *w, weft_inst_id x, double scale, int shift, weft_inst_id *out_shifted)
{
    weft_inst_id magic = real(w, 1.5 * (double)((uint64_t)1 << w->format->fraction) + shift);
    *out_shifted = fma3(w, x, real(w, scale), magic);
    return binary(w, WEFT_SCALAR_sub, *out_shifted, magic);
}

/* The power of two whose biased exponent is in the low bits of `exponent`. */
static weft_inst_id power(const writer *w, weft_inst_id exponent)
{
    return as_real(w, binary(w, WEFT_SCALAR_shl, exponent, integer(w, w->format->fraction)));
}

/*
 * exp(x) = 2^n exp(r), |r| <= ln(2) / 2. The power is applied as two factors of about 2^(n/2), so that overflow and
 * gradual underflow happen in the multiplication, rounded once.
 */
static weft_inst_id lower_exp(const writer *w, weft_inst_id x)
{
    const math_format *format = w->format;
    weft_inst_id shifted;
    x = at_least(w, at_most(w, x, format->exp_most), format->exp_least);
    weft_inst_id n = round_scaled(w, x, format->log2_e, 2 * format->bias, &shifted);
    weft_inst_id r = fma3(w, n, real(w, -format->ln2_high), x);
    r = fma3(w, n, real(w, -format->ln2_low), r);
    weft_inst_id significand = polynomial(w, r, format->exp, format->exp_count);
    weft_inst_id both = as_integer(w, shifted);
    weft_inst_id half = binary(w, WEFT_SCALAR_shr, both, integer(w, 1));
    weft_inst_id rest = binary(w, WEFT_SCALAR_sub, both, half);
    weft_inst_id scaled = binary(w, WEFT_SCALAR_mul, significand, power(w, half));
    return binary(w, WEFT_SCALAR_mul, scaled, power(w, rest));
}

/* ---- log ---- */

/* x = 2^k * m, sqrt(1/2) <= m < sqrt(2), for positive finite x; k as a float. */
static void split(const writer *w, weft_inst_id x, weft_inst_id *out_m, weft_inst_id *out_k)
{
    const math_format *format = w->format;
    double lift = (double)((uint64_t)1 << format->fraction), bias = lift + format->bias;
    weft_inst_id tiny = binary(w, WEFT_SCALAR_lt, x, real(w, format->smallest_normal));
    x = binary(w, WEFT_SCALAR_mul, x, choose_real(w, tiny, lift, 1.0));
    weft_inst_id bits = as_integer(w, x);
    weft_inst_id moved = binary(w, WEFT_SCALAR_add, bits, integer(w, format->one - format->sqrt_half));
    weft_inst_id exponent = binary(w, WEFT_SCALAR_shr, moved, integer(w, format->fraction));
    exponent = as_real(w, binary(w, WEFT_SCALAR_or, exponent, as_integer(w, real(w, lift))));
    *out_k = binary(w, WEFT_SCALAR_sub, exponent, choose_real(w, tiny, bias + format->fraction, bias));
    weft_inst_id fraction = binary(w, WEFT_SCALAR_and, moved, integer(w, ((uint64_t)1 << format->fraction) - 1));
    *out_m = as_real(w, binary(w, WEFT_SCALAR_add, fraction, integer(w, format->sqrt_half)));
}

/*
 * log(x) = k ln(2) + f + f^2 p(f), f = m - 1. The sum of k ln2_high (exact, larger than f or zero) and f is kept
 * together with its rounding error (Dekker's Fast2Sum), because for |k| = 1 it cancels.
 */
static weft_inst_id lower_log(const writer *w, weft_inst_id x)
{
    const math_format *format = w->format;
    weft_inst_id m, k;
    split(w, x, &m, &k);
    weft_inst_id f = binary(w, WEFT_SCALAR_sub, m, real(w, 1.0));
    weft_inst_id high = fma3(w, k, real(w, format->ln2_high), f);
    weft_inst_id taken = fma3(w, k, real(w, -format->ln2_high), high);
    weft_inst_id error = binary(w, WEFT_SCALAR_sub, f, taken);
    weft_inst_id low = fma3(w, k, real(w, format->ln2_low), error);
    weft_inst_id p = polynomial(w, f, format->log, format->log_count);
    low = fma3(w, p, binary(w, WEFT_SCALAR_mul, f, f), low);
    weft_inst_id result = binary(w, WEFT_SCALAR_add, high, low);
    /* Infinity and NaN are their own logarithms. */
    result = choose(w, binary(w, WEFT_SCALAR_lt, x, real(w, HUGE_VAL)), result, x);
    weft_inst_id zero = real(w, 0.0), negative = binary(w, WEFT_SCALAR_lt, x, zero);
    weft_inst_id outside = choose_real(w, negative, (double)NAN, -HUGE_VAL);
    return choose(w, binary(w, WEFT_SCALAR_le, x, zero), outside, result);
}

/* ---- tanh ---- */

/*
 * For a >= 0: 1 - 1 / d, where d = (exp(2 a) + 1) / 2 and exp(2 a) = 2^n exp(2 u). With s = 2^(n - 1) that is
 * d = (s + 1/2) + (s u) g(u), where the terms in brackets are exact: only g and the sum are rounded.
 */
static weft_inst_id large_tanh(const writer *w, weft_inst_id a)
{
    const math_format *format = w->format;
    weft_inst_id shifted;
    a = at_most(w, a, format->tanh_most);
    weft_inst_id n = round_scaled(w, a, 2.0 * format->log2_e, format->bias - 1, &shifted);
    weft_inst_id u = fma3(w, n, real(w, -0.5 * format->ln2), a);
    double doubled[MATH_MAX_EXP];
    for (size_t i = 1; i < format->exp_count; i++) doubled[i - 1] = format->exp[i] * (double)((uint64_t)1 << i);
    weft_inst_id g = polynomial(w, u, doubled, format->exp_count - 1);
    weft_inst_id s = power(w, as_integer(w, shifted));
    weft_inst_id base = binary(w, WEFT_SCALAR_add, s, real(w, 0.5));
    weft_inst_id d = fma3(w, binary(w, WEFT_SCALAR_mul, s, u), g, base);
    weft_inst_id one = real(w, 1.0);
    return binary(w, WEFT_SCALAR_sub, one, binary(w, WEFT_SCALAR_div, one, d));
}

/* a + a^3 p(a^2) */
static weft_inst_id small_tanh(const writer *w, weft_inst_id a)
{
    weft_inst_id square = binary(w, WEFT_SCALAR_mul, a, a);
    weft_inst_id p = polynomial(w, square, w->format->tanh, w->format->tanh_count);
    return fma3(w, binary(w, WEFT_SCALAR_mul, a, square), p, a);
}

static weft_inst_id lower_tanh(const writer *w, weft_inst_id x)
{
    weft_inst_id a = unary(w, WEFT_SCALAR_abs, x);
    weft_inst_id small = binary(w, WEFT_SCALAR_lt, a, real(w, w->format->tanh_small));
    weft_inst_id near = small_tanh(w, a);
    weft_inst_id result = choose(w, small, near, large_tanh(w, a));
    weft_inst_id bits = as_integer(w, x), sign_bit = as_integer(w, real(w, -0.0));
    weft_inst_id sign = binary(w, WEFT_SCALAR_and, bits, sign_bit);
    return as_real(w, binary(w, WEFT_SCALAR_or, as_integer(w, result), sign));
}

/* ---- the pass ---- */

static weft_status *lower(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id)
{
    bool covered = inst->op == WEFT_SCALAR_exp || inst->op == WEFT_SCALAR_log || inst->op == WEFT_SCALAR_tanh;
    if (!covered) return NULL;
    if (inst->dtype != WEFT_F32 && inst->dtype != WEFT_F64)
        return weft_status_create(list->arena->allocator, WEFT_UNSUPPORTED, "math lowering",
                                  "%s of dtype %s has no lowering: it takes f32 and f64", weft_scalar_name(inst->op),
                                  weft_dtype_name(inst->dtype));
    writer w = {list, inst->dtype == WEFT_F32 ? &single_format : &double_format};
    if (inst->op == WEFT_SCALAR_exp) *out_id = lower_exp(&w, inst->args[0]);
    else if (inst->op == WEFT_SCALAR_log) *out_id = lower_log(&w, inst->args[0]);
    else *out_id = lower_tanh(&w, inst->args[0]);
    return NULL;
}

weft_status *weft_kernel_lower_math(weft_kernel *kernel)
{
    return weft_kernel_rewrite(kernel, lower);
}
