/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complex numbers: they lie in memory as pairs, and are computed with as two reals.
 *
 * requires   a verified kernel in either state
 * maintains  the state
 * breaks     the numbering of instructions
 *
 * Afterwards a complex value is loaded, taken apart by `real` and `imag`, put together by `complex`, and stored:
 * nothing else. Sums, products and dots have pairs of accumulators from the start.
 *
 * (a + bi)(c + di) = (ac - bd) + (ad + bc)i, every operation rounded on its own, infinities and NaN as that formula has
 * them. Quotients, roots and functions of c64 are computed in f64, where nothing overflows on the way; those of c128,
 * and sizes, on operands that are scaled first.
 */
#include "lib/math/complex_write.h"
#include "lib/math/math.h"

static bool is_complex(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX;
}

static writer writer_of(weft_inst_list *list, weft_dtype real)
{
    unsigned number = real == WEFT_F32 ? MATH_F32 : MATH_F64;
    return (writer){list, real, number, &weft_math_formats[number]};
}

static weft_inst_id part_of(const writer *w, weft_inst_id z, weft_scalar_op which)
{
    if (w->list->failed) return 0;
    const weft_inst *inst = &w->list->items[z];
    if (inst->op == WEFT_SCALAR_complex) return inst->args[which == WEFT_SCALAR_imag];
    return given(w, which, weft_dtype_component(inst->dtype), z);
}

static pair split(const writer *w, weft_inst_id z)
{
    weft_inst_id re = part_of(w, z, WEFT_SCALAR_real);
    return (pair){re, part_of(w, z, WEFT_SCALAR_imag)};
}

static weft_inst_id join(const writer *w, pair z)
{
    weft_dtype dtype = w->format->real == WEFT_F32 ? WEFT_C64 : WEFT_C128;
    weft_inst inst = {.op = WEFT_SCALAR_complex, .dtype = dtype, .arg_count = 2, .args = {z.re, z.im}};
    return weft_inst_list_add(w->list, &inst);
}

static pair cast_pair(const writer *w, pair z, weft_dtype to)
{
    weft_inst_id re = given(w, WEFT_SCALAR_cast, to, z.re);
    return (pair){re, given(w, WEFT_SCALAR_cast, to, z.im)};
}

/* ---- size ---- */

static weft_inst_id sum_of_squares(const writer *w, pair z)
{
    weft_inst_id square = mul(w, z.im, z.im);
    return add(w, mul(w, z.re, z.re), square);
}

/* Of an f64 pair with parts of f32: nothing overflows on the way. */
static weft_inst_id size_of(const writer *w, pair z)
{
    return or_infinite(w, z, unary(w, WEFT_SCALAR_sqrt, sum_of_squares(w, z)));
}

/* The power of two of the exponent of x >= 0, as far as its inverse is a normal number too; *out_inverse is that. */
static weft_inst_id power_within(const writer *w, weft_inst_id x, weft_inst_id *out_inverse)
{
    const math_format *format = w->format;
    uint64_t bias = (uint64_t)format->bias, infinity = (2 * bias + 1) << format->fraction;
    weft_inst_id exponent_mask = integer(w, infinity);
    weft_inst_id whole = as_real(w, binary(w, WEFT_SCALAR_and, as_integer(w, x), exponent_mask));
    whole = at_least(w, at_most(w, whole, ldexp(1.0, format->bias - 1)), format->smallest_normal);
    weft_inst_id bits = as_integer(w, whole);
    *out_inverse = as_real(w, sub(w, integer(w, 2 * bias << format->fraction), bits));
    return whole;
}

/* The root of the sum of squares with what they and the root lack, of parts that are divided by a power of two. */
static weft_inst_id expand_abs(const writer *w, pair z)
{
    weft_inst_id re = absolute(w, z.re), im = absolute(w, z.im), swapped = less(w, re, im), inverse;
    weft_inst_id great = choose(w, swapped, im, re), little = choose(w, swapped, re, im);
    weft_inst_id unit = power_within(w, great, &inverse);
    great = mul(w, great, inverse);
    little = mul(w, little, inverse);
    weft_inst_id square = mul(w, great, great), sum = fma3(w, little, little, square), taken = sub(w, square, sum);
    weft_inst_id lost = product_error(w, square, great, great);
    lost = add(w, fma3(w, little, little, taken), lost);
    weft_inst_id root = unary(w, WEFT_SCALAR_sqrt, sum), left = add(w, fma3(w, negative_of(w, root), root, sum), lost);
    weft_inst_id size = fma3(w, left, half_inverse_root(w, sum), root);
    return or_infinite(w, z, mul(w, size, unit));
}

/* ---- arithmetic ---- */

/*
 * a conj(b) / |b|^2 of f64 pairs; by zero and by infinities each part of `whole` is divided by |b|. That is `a` before
 * it was scaled, which may have made a part zero.
 */
static pair divide(const writer *w, pair whole, pair a, pair b)
{
    weft_inst_id size = sum_of_squares(w, b);
    weft_inst_id bd = mul(w, a.im, b.im), ad = mul(w, a.re, b.im);
    weft_inst_id re = add(w, mul(w, a.re, b.re), bd);
    pair product = {re, sub(w, mul(w, a.im, b.re), ad)};
    weft_inst_id none = binary(w, WEFT_SCALAR_eq, size, real(w, 0));
    pair top = choose_pair(w, either(w, none, is_infinite(w, size)), whole, product);
    re = quotient(w, top.re, size);
    return (pair){re, quotient(w, top.im, size)};
}

/*
 * The dividend is scaled to 2^HIGH at most, so that a small part beside a great one is not lost: sums of two products
 * with parts of the divisor, which are below 4 then, are below 2^1024. The scales are taken back in two steps, so that
 * what can be represented is reached.
 */
static pair quotient_of(const writer *w, pair a, pair b, bool scaled)
{
    enum { HIGH = 1019 };
    if (!scaled) return divide(w, a, a, b);
    uint64_t bias = (uint64_t)w->format->bias, back = 2 * bias - HIGH;
    weft_inst_id least = integer(w, HIGH + 1), of_a = binary(w, WEFT_SCALAR_max, greatest_exponent(w, a), least);
    weft_inst_id of_b = exponent_of(w, b);
    pair high = scale(w, a, power(w, sub(w, integer(w, 2 * bias + HIGH), of_a)));
    pair small = divide(w, a, high, reduce(w, b, of_b));
    weft_inst_id both = sub(w, of_a, of_b), half = binary(w, WEFT_SCALAR_sar, both, integer(w, 1));
    weft_inst_id rest = sub(w, both, half);
    pair first = scale(w, small, power(w, add(w, half, integer(w, back - back / 2))));
    return scale(w, first, power(w, add(w, rest, integer(w, back / 2))));
}

static pair by_parts(const writer *w, weft_scalar_op op, pair a, pair b)
{
    weft_inst_id re = binary(w, op, a.re, b.re);
    return (pair){re, binary(w, op, a.im, b.im)};
}

/* ---- square root ---- */

/*
 * The root with a real part that is not negative: with t = sqrt((|z| + |x|) / 2), the parts are t and y / 2t in one
 * order or the other.
 */
static weft_inst_id larger_part(const writer *w, pair z)
{
    weft_inst_id size = size_of(w, z), half = real(w, 0.5);
    return unary(w, WEFT_SCALAR_sqrt, mul(w, add(w, size, absolute(w, z.re)), half));
}

static pair root(const writer *w, pair z, weft_inst_id t)
{
    weft_inst_id none = binary(w, WEFT_SCALAR_eq, t, real(w, 0));
    weft_inst_id half = real(w, 0.5), other = mul(w, quotient(w, absolute(w, z.im), t), half);
    other = choose(w, none, real(w, 0), other);
    weft_inst_id left = less(w, z.re, real(w, 0));
    pair result = choose_pair(w, left, (pair){other, t}, (pair){t, other});
    result.im = with_sign(w, result.im, z.im);
    /* An infinite imaginary part decides, beside a NaN too. */
    weft_inst_id infinite = is_infinite(w, absolute(w, z.im));
    return choose_pair(w, infinite, (pair){real(w, HUGE_VAL), z.im}, result);
}

/* Scaled, |z| neither overflows nor loses digits; the smaller part might, and is not. */
static pair root_of(const writer *w, pair z, pair unused, bool scaled)
{
    (void)unused;
    if (!scaled) return root(w, z, larger_part(w, z));
    /* An odd biased exponent is an even power. */
    weft_inst_id one = integer(w, 1), exponent = either(w, exponent_of(w, z), one);
    weft_inst_id bias = integer(w, (uint64_t)w->format->bias);
    weft_inst_id half = binary(w, WEFT_SCALAR_sar, sub(w, exponent, bias), one);
    weft_inst_id t = larger_part(w, reduce(w, z, exponent));
    return root(w, z, mul(w, t, power(w, add(w, half, bias))));
}

/* ---- functions that are computed in f64 ---- */

static weft_complex_function *const functions[WEFT_SCALAR_COUNT] = {
    [WEFT_SCALAR_div] = quotient_of,          [WEFT_SCALAR_sqrt] = root_of,
    [WEFT_SCALAR_exp] = weft_complex_exp,     [WEFT_SCALAR_log] = weft_complex_log,
    [WEFT_SCALAR_pow] = weft_complex_pow,     [WEFT_SCALAR_sin] = weft_complex_sin,
    [WEFT_SCALAR_cos] = weft_complex_cos,     [WEFT_SCALAR_tan] = weft_complex_tan,
    [WEFT_SCALAR_sinh] = weft_complex_sinh,   [WEFT_SCALAR_cosh] = weft_complex_cosh,
    [WEFT_SCALAR_tanh] = weft_complex_tanh,   [WEFT_SCALAR_log2] = weft_complex_log2,
    [WEFT_SCALAR_log10] = weft_complex_log10, [WEFT_SCALAR_log1p] = weft_complex_log1p,
    [WEFT_SCALAR_asin] = weft_complex_asin,   [WEFT_SCALAR_acos] = weft_complex_acos,
    [WEFT_SCALAR_atan] = weft_complex_atan,   [WEFT_SCALAR_asinh] = weft_complex_asinh,
    [WEFT_SCALAR_acosh] = weft_complex_acosh, [WEFT_SCALAR_atanh] = weft_complex_atanh,
};

static pair expand_function(const writer *w, weft_complex_function *function, pair a, pair b)
{
    bool scaled = w->format->real == WEFT_F64;
    writer wide = writer_of(w->list, WEFT_F64);
    if (!scaled) {
        a = cast_pair(w, a, WEFT_F64);
        b = cast_pair(w, b, WEFT_F64);
    }
    pair result = function(&wide, a, b, scaled);
    result.re = one_nan(&wide, result.re);
    result.im = one_nan(&wide, result.im);
    return scaled ? result : cast_pair(w, result, WEFT_F32);
}

/* ---- casts ---- */

static weft_inst_id expand_cast(weft_inst_list *list, weft_inst_id x, weft_dtype from, weft_dtype to)
{
    writer w = writer_of(list, weft_dtype_component(is_complex(to) ? to : from));
    weft_dtype part = w.format->real;
    if (is_complex(from) && is_complex(to)) return from == to ? x : join(&w, cast_pair(&w, split(&w, x), part));
    if (is_complex(to)) {
        weft_inst_id re = from == part ? x : given(&w, WEFT_SCALAR_cast, part, x);
        return join(&w, (pair){re, real(&w, 0)});
    }
    pair z = split(&w, x);
    if (to != WEFT_BOOL) return to == part ? z.re : given(&w, WEFT_SCALAR_cast, to, z.re);
    weft_inst_id re = given(&w, WEFT_SCALAR_cast, to, z.re);
    return either(&w, re, given(&w, WEFT_SCALAR_cast, to, z.im));
}

/* ---- the pass ---- */

static pair negate(const writer *w, pair z)
{
    weft_inst_id re = unary(w, WEFT_SCALAR_neg, z.re);
    return (pair){re, unary(w, WEFT_SCALAR_neg, z.im)};
}

/* Whether one part or both have a property. */
static weft_inst_id of_parts(const writer *w, weft_scalar_op property, pair z, weft_scalar_op joined)
{
    weft_inst_id re = unary(w, property, z.re);
    return binary(w, joined, re, unary(w, property, z.im));
}

/* An operation on complex operands: from the last two of them, in parts. */
static weft_status *expand_operation(const writer *w, const weft_inst *inst, weft_inst_id *out_id)
{
    weft_inst_id last = inst->args[inst->arg_count - 1];
    pair b = split(w, last), a = inst->arg_count > 1 ? split(w, inst->args[inst->arg_count - 2]) : b;
    pair order;
    if (functions[inst->op] != NULL) {
        *out_id = join(w, expand_function(w, functions[inst->op], a, b));
        return NULL;
    }
    switch (inst->op) {
    case WEFT_SCALAR_real: *out_id = b.re; return NULL;
    case WEFT_SCALAR_imag: *out_id = b.im; return NULL;
    case WEFT_SCALAR_neg: *out_id = join(w, negate(w, b)); return NULL;
    case WEFT_SCALAR_abs: *out_id = expand_abs(w, b); return NULL;
    case WEFT_SCALAR_add:
    case WEFT_SCALAR_sub: *out_id = join(w, by_parts(w, inst->op, a, b)); return NULL;
    case WEFT_SCALAR_mul: *out_id = join(w, multiply(w, a, b)); return NULL;
    case WEFT_SCALAR_select:
    case WEFT_SCALAR_rarely: *out_id = join(w, choose_pair(w, inst->args[0], a, b)); return NULL;
    case WEFT_SCALAR_is_nan: *out_id = of_parts(w, inst->op, b, WEFT_SCALAR_or); return NULL;
    case WEFT_SCALAR_is_finite: *out_id = of_parts(w, inst->op, b, WEFT_SCALAR_and); return NULL;
    case WEFT_SCALAR_eq:
    case WEFT_SCALAR_ne:
        order = by_parts(w, inst->op, a, b);
        *out_id = binary(w, inst->op == WEFT_SCALAR_eq ? WEFT_SCALAR_and : WEFT_SCALAR_or, order.re, order.im);
        return NULL;
    default:
        return weft_status_create(w->list->arena->allocator, WEFT_UNSUPPORTED, "complex numbers",
                                  "%s of %s has no expansion into real arithmetic", weft_scalar_name(inst->op),
                                  weft_dtype_name(w->list->items[last].dtype));
    }
}

static weft_status *expand(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id)
{
    if (inst->arg_count == 0 || inst->op == WEFT_SCALAR_complex) return NULL;
    weft_dtype from = list->items[inst->args[inst->arg_count - 1]].dtype;
    if (inst->op == WEFT_SCALAR_cast && (is_complex(from) || is_complex(inst->dtype))) {
        *out_id = expand_cast(list, inst->args[0], from, inst->dtype);
        return NULL;
    }
    if (!is_complex(from)) return NULL;
    writer w = writer_of(list, weft_dtype_component(from));
    return expand_operation(&w, inst, out_id);
}

weft_status *weft_kernel_expand_complex(weft_kernel *kernel)
{
    WEFT_TRY(weft_kernel_rewrite(kernel, expand));
    return weft_kernel_dce(kernel);
}
