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
 * them. Quotients, roots and sizes of c64 are computed in f64, where nothing overflows; those of c128 on operands that
 * are scaled by powers of two first.
 */
#include "lib/loop/math_write.h"

typedef struct pair {
    weft_inst_id re, im;
} pair;

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

static pair choose_pair(const writer *w, weft_inst_id condition, pair yes, pair no)
{
    weft_inst_id re = choose(w, condition, yes.re, no.re);
    return (pair){re, choose(w, condition, yes.im, no.im)};
}

static weft_inst_id either(const writer *w, weft_inst_id a, weft_inst_id b)
{
    return binary(w, WEFT_SCALAR_or, a, b);
}

static weft_inst_id is_infinite(const writer *w, weft_inst_id size)
{
    return binary(w, WEFT_SCALAR_eq, size, real(w, HUGE_VAL));
}

/* ---- scaling by powers of two, in f64 ---- */

/* The biased exponent of the greater part, `least` to 2045: what divides both into numbers around one. */
static weft_inst_id exponent_of(const writer *w, pair z, uint64_t least)
{
    weft_inst_id a = as_integer(w, absolute(w, z.re)), b = as_integer(w, absolute(w, z.im));
    weft_inst_id greater = binary(w, WEFT_SCALAR_max, a, b);
    weft_inst_id exponent = binary(w, WEFT_SCALAR_shr, greater, integer(w, w->format->fraction));
    exponent = binary(w, WEFT_SCALAR_min, exponent, integer(w, 2045));
    return binary(w, WEFT_SCALAR_max, exponent, integer(w, least));
}

/* The power of two with a biased exponent. */
static weft_inst_id power(const writer *w, weft_inst_id exponent)
{
    return as_real(w, binary(w, WEFT_SCALAR_shl, exponent, integer(w, w->format->fraction)));
}

static pair scale(const writer *w, pair z, weft_inst_id factor)
{
    weft_inst_id re = mul(w, z.re, factor);
    return (pair){re, mul(w, z.im, factor)};
}

/* z divided by the power of two with the biased exponent. */
static pair reduce(const writer *w, pair z, weft_inst_id exponent)
{
    return scale(w, z, power(w, sub(w, integer(w, 2 * (uint64_t)w->format->bias), exponent)));
}

/* ---- size ---- */

static weft_inst_id sum_of_squares(const writer *w, pair z)
{
    weft_inst_id square = mul(w, z.im, z.im);
    return add(w, mul(w, z.re, z.re), square);
}

/* Infinite where a part is, even beside a NaN. */
static weft_inst_id or_infinite(const writer *w, pair z, weft_inst_id size)
{
    weft_inst_id re = is_infinite(w, absolute(w, z.re));
    weft_inst_id infinite = either(w, re, is_infinite(w, absolute(w, z.im)));
    return choose(w, infinite, real(w, HUGE_VAL), size);
}

/* Of an f64 pair; with `scaled` nothing overflows on the way. */
static weft_inst_id size_of(const writer *w, pair z, bool scaled)
{
    weft_inst_id exponent = scaled ? exponent_of(w, z, 1) : 0;
    pair small = scaled ? reduce(w, z, exponent) : z;
    weft_inst_id size = unary(w, WEFT_SCALAR_sqrt, sum_of_squares(w, small));
    if (scaled) size = mul(w, size, power(w, exponent));
    return or_infinite(w, z, size);
}

static weft_inst_id expand_abs(const writer *w, pair z)
{
    if (w->format->real == WEFT_F64) return size_of(w, z, true);
    writer wide = writer_of(w->list, WEFT_F64);
    return given(w, WEFT_SCALAR_cast, WEFT_F32, size_of(&wide, cast_pair(w, z, WEFT_F64), false));
}

/* ---- arithmetic ---- */

static pair multiply(const writer *w, pair a, pair b)
{
    weft_inst_id bd = mul(w, a.im, b.im), bc = mul(w, a.im, b.re);
    weft_inst_id re = sub(w, mul(w, a.re, b.re), bd);
    return (pair){re, add(w, mul(w, a.re, b.im), bc)};
}

/* a conj(b) / |b|^2 of f64 pairs; by zero and by infinities each part is divided by |b|. */
static pair divide(const writer *w, pair a, pair b)
{
    weft_inst_id size = sum_of_squares(w, b);
    weft_inst_id bd = mul(w, a.im, b.im), ad = mul(w, a.re, b.im);
    weft_inst_id re = add(w, mul(w, a.re, b.re), bd);
    pair product = {re, sub(w, mul(w, a.im, b.re), ad)};
    weft_inst_id none = binary(w, WEFT_SCALAR_eq, size, real(w, 0));
    pair top = choose_pair(w, either(w, none, is_infinite(w, size)), a, product);
    re = quotient(w, top.re, size);
    return (pair){re, quotient(w, top.im, size)};
}

/* The scales are taken back in two steps, so that what can be represented is reached. */
static pair divide_scaled(const writer *w, pair a, pair b)
{
    weft_inst_id of_a = exponent_of(w, a, 1), of_b = exponent_of(w, b, 1);
    pair small = divide(w, reduce(w, a, of_a), reduce(w, b, of_b));
    weft_inst_id both = sub(w, of_a, of_b), half = binary(w, WEFT_SCALAR_sar, both, integer(w, 1));
    weft_inst_id bias = integer(w, (uint64_t)w->format->bias), rest = sub(w, both, half);
    pair first = scale(w, small, power(w, add(w, half, bias)));
    return scale(w, first, power(w, add(w, rest, bias)));
}

static pair expand_div(const writer *w, pair a, pair b)
{
    if (w->format->real == WEFT_F64) return divide_scaled(w, a, b);
    writer wide = writer_of(w->list, WEFT_F64);
    return cast_pair(w, divide(&wide, cast_pair(w, a, WEFT_F64), cast_pair(w, b, WEFT_F64)), WEFT_F32);
}

static pair by_parts(const writer *w, weft_scalar_op op, pair a, pair b)
{
    weft_inst_id re = binary(w, op, a.re, b.re);
    return (pair){re, binary(w, op, a.im, b.im)};
}

/* ---- square root ---- */

/*
 * The root with a real part that is not negative: with t = sqrt((|z| + |x|) / 2), the parts are t and y / 2t in one
 * order or the other. Of an f64 pair whose |z| does not overflow.
 */
static pair root(const writer *w, pair z, weft_inst_id size)
{
    weft_inst_id half = mul(w, add(w, size, absolute(w, z.re)), real(w, 0.5));
    weft_inst_id t = unary(w, WEFT_SCALAR_sqrt, half), none = binary(w, WEFT_SCALAR_eq, t, real(w, 0));
    weft_inst_id other = quotient(w, mul(w, absolute(w, z.im), real(w, 0.5)), t);
    other = choose(w, none, real(w, 0), other);
    weft_inst_id left = less(w, z.re, real(w, 0));
    pair result = choose_pair(w, left, (pair){other, t}, (pair){t, other});
    result.im = with_sign(w, result.im, z.im);
    /* An infinite imaginary part decides, beside a NaN too. */
    weft_inst_id infinite = is_infinite(w, absolute(w, z.im));
    return choose_pair(w, infinite, (pair){real(w, HUGE_VAL), z.im}, result);
}

static pair root_scaled(const writer *w, pair z)
{
    /* An odd biased exponent is an even power. */
    weft_inst_id exponent = either(w, exponent_of(w, z, 1), integer(w, 1));
    pair small = reduce(w, z, exponent);
    pair found = root(w, small, size_of(w, small, false));
    weft_inst_id bias = integer(w, (uint64_t)w->format->bias);
    weft_inst_id half = binary(w, WEFT_SCALAR_sar, sub(w, exponent, bias), integer(w, 1));
    return scale(w, found, power(w, add(w, half, bias)));
}

static pair expand_sqrt(const writer *w, pair z)
{
    if (w->format->real == WEFT_F64) return root_scaled(w, z);
    writer wide = writer_of(w->list, WEFT_F64);
    pair double_z = cast_pair(w, z, WEFT_F64);
    return cast_pair(w, root(&wide, double_z, size_of(&wide, double_z, false)), WEFT_F32);
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

/* An operation on complex operands: from the last two of them, in parts. */
static weft_status *expand_operation(const writer *w, const weft_inst *inst, weft_inst_id *out_id)
{
    weft_inst_id last = inst->args[inst->arg_count - 1];
    pair b = split(w, last), a = inst->arg_count > 1 ? split(w, inst->args[inst->arg_count - 2]) : b;
    pair order;
    switch (inst->op) {
    case WEFT_SCALAR_real: *out_id = b.re; return NULL;
    case WEFT_SCALAR_imag: *out_id = b.im; return NULL;
    case WEFT_SCALAR_neg: *out_id = join(w, negate(w, b)); return NULL;
    case WEFT_SCALAR_abs: *out_id = expand_abs(w, b); return NULL;
    case WEFT_SCALAR_sqrt: *out_id = join(w, expand_sqrt(w, b)); return NULL;
    case WEFT_SCALAR_add:
    case WEFT_SCALAR_sub: *out_id = join(w, by_parts(w, inst->op, a, b)); return NULL;
    case WEFT_SCALAR_mul: *out_id = join(w, multiply(w, a, b)); return NULL;
    case WEFT_SCALAR_div: *out_id = join(w, expand_div(w, a, b)); return NULL;
    case WEFT_SCALAR_select: *out_id = join(w, choose_pair(w, inst->args[0], a, b)); return NULL;
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
    return weft_kernel_sweep(kernel);
}
