/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives of elementwise ops. Most are a slope for each operand, by which tangents and cotangents are multiplied,
 * chosen so that no intermediate overflows or cancels where the slope itself does not.
 */
#include <weft/elementwise.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

static weft_tensor number(weft_tensor like, double value)
{
    return weft_scalar(like.graph, weft_tensor_dtype(like), value);
}

static weft_tensor times(weft_tensor x, double factor)
{
    return weft_mul(x, number(x, factor));
}

static bool is_complex(weft_tensor x)
{
    return weft_dtype_info_of(weft_tensor_dtype(x))->kind == WEFT_KIND_COMPLEX;
}

/* An imaginary zero keeps its sign, which says on which side of a branch cut x is. */
static weft_tensor plus(weft_tensor x, double term)
{
    return is_complex(x) ? weft_sub(x, number(x, -term)) : weft_add(x, number(x, term));
}

static weft_tensor over(double value, weft_tensor x)
{
    return weft_div(number(x, value), x);
}

/* 1 - x^2 without cancellation. */
static weft_tensor one_less_square(weft_tensor x)
{
    weft_tensor one_less = is_complex(x) ? weft_neg(plus(x, -1)) : weft_sub(number(x, 1), x);
    return weft_mul(one_less, plus(x, 1));
}

/* ---- slopes: of op(x, ..) = y by operand `i` ---- */

typedef weft_tensor (*slope_function)(const weft_tensor *x, weft_tensor y, size_t i);

#define SLOPE(name, ...)                                                                                               \
    static weft_tensor slope_##name(const weft_tensor *x, weft_tensor y, size_t i)                                     \
    {                                                                                                                  \
        (void)x, (void)y, (void)i;                                                                                     \
        return __VA_ARGS__;                                                                                            \
    }

SLOPE(abs, weft_sign(x[0]))
SLOPE(exp, y)
SLOPE(exp2, times(y, M_LN2))
SLOPE(expm1, weft_exp(x[0]))
SLOPE(log, over(1, x[0]))
SLOPE(log2, over(1 / M_LN2, x[0]))
SLOPE(log10, over(1 / M_LN10, x[0]))
SLOPE(log1p, over(1, plus(x[0], 1)))
SLOPE(sqrt, over(0.5, y))
SLOPE(rsqrt, weft_div(times(y, -0.5), x[0]))
SLOPE(cbrt, weft_div(over(1.0 / 3, y), y))
SLOPE(tanh, one_less_square(y))
SLOPE(sigmoid, weft_mul(y, weft_sub(number(y, 1), y)))
SLOPE(sin, weft_cos(x[0]))
SLOPE(cos, weft_neg(weft_sin(x[0])))
SLOPE(tan, plus(weft_mul(y, y), 1))
SLOPE(asin, over(1, weft_sqrt(one_less_square(x[0]))))
SLOPE(acos, over(-1, weft_sqrt(one_less_square(x[0]))))
SLOPE(atan, over(1, plus(weft_mul(x[0], x[0]), 1)))
SLOPE(sinh, weft_cosh(x[0]))
SLOPE(cosh, weft_sinh(x[0]))
SLOPE(acosh, weft_div(over(1, weft_sqrt(plus(x[0], -1))), weft_sqrt(plus(x[0], 1))))
SLOPE(atanh, over(1, one_less_square(x[0])))
SLOPE(erf, times(weft_exp(weft_neg(weft_mul(x[0], x[0]))), M_2_SQRTPI))
SLOPE(erfc, times(weft_exp(weft_neg(weft_mul(x[0], x[0]))), -M_2_SQRTPI))
SLOPE(lgamma, weft_digamma(x[0]))
SLOPE(tgamma, weft_gradient_scale(y, weft_digamma(x[0])))
SLOPE(digamma, weft_polygamma(1, x[0]))
SLOPE(copysign, weft_mul(weft_sign(x[0]), weft_copysign(number(x[1], 1), x[1])))

/* Beyond sqrt(1 / epsilon) of the dtype 1 + x^2 is x^2, which may overflow. */
static weft_tensor slope_asinh(const weft_tensor *x, weft_tensor y, size_t i)
{
    (void)y, (void)i;
    if (is_complex(x[0])) return over(1, weft_sqrt(plus(weft_mul(x[0], x[0]), 1)));
    double far = weft_tensor_dtype(x[0]) == WEFT_F64 ? 0x1p27 : 0x1p13;
    weft_tensor size = weft_abs(x[0]), near = weft_max(weft_min(x[0], number(size, far)), number(size, -far));
    return weft_select(weft_gt(size, number(size, far)), over(1, size),
                       over(1, weft_sqrt(plus(weft_mul(near, near), 1))));
}

/* By the exponent nothing where a is 0 and y with it. */
static weft_tensor slope_by_exponent(const weft_tensor *x, weft_tensor y)
{
    weft_tensor real = is_complex(x[1]) ? weft_real(x[1]) : x[1], zero = number(y, 0);
    weft_tensor flat = weft_and(weft_eq(x[0], zero), weft_ge(real, number(real, 0)));
    return weft_select(flat, zero, weft_gradient_scale(y, weft_log(x[0])));
}

static weft_tensor slope_pow(const weft_tensor *x, weft_tensor y, size_t i)
{
    if (i == 1) return slope_by_exponent(x, y);
    weft_tensor zero = number(y, 0);
    return weft_select(weft_eq(x[1], zero), zero, weft_gradient_scale(x[1], weft_pow(x[0], plus(x[1], -1))));
}

/* (x dy - y dx) / (x^2 + y^2) over the greater of both: no square over- or underflows. 0 at the origin and at infinity.
 */
static weft_tensor slope_atan2(const weft_tensor *x, weft_tensor y, size_t i)
{
    (void)y;
    weft_tensor size = weft_max(weft_abs(x[0]), weft_abs(x[1])), zero = number(size, 0), one = number(size, 1);
    weft_tensor flat = weft_or(weft_eq(size, zero), weft_eq(size, number(size, INFINITY)));
    size = weft_select(flat, one, size);
    weft_tensor u = weft_div(weft_select(flat, one, x[1]), size), v = weft_div(weft_select(flat, one, x[0]), size);
    weft_tensor square = weft_add(weft_mul(u, u), weft_mul(v, v));
    return weft_select(flat, zero, weft_div(weft_div(i == 0 ? u : weft_neg(v), square), size));
}

typedef enum slope_kind {
    SLOPE_FINITE, /* plain products will do */
    SLOPE_GUARDED /* products are 0 where the other factor is 0 and the slope is not finite */
} slope_kind;

typedef struct slope_row {
    slope_function slope;
    slope_kind kind;
} slope_row;

static const slope_row slopes[WEFT_OP_COUNT] = {
    [WEFT_OP_abs] = {slope_abs, SLOPE_FINITE},           [WEFT_OP_exp] = {slope_exp, SLOPE_GUARDED},
    [WEFT_OP_exp2] = {slope_exp2, SLOPE_GUARDED},        [WEFT_OP_expm1] = {slope_expm1, SLOPE_GUARDED},
    [WEFT_OP_log] = {slope_log, SLOPE_GUARDED},          [WEFT_OP_log2] = {slope_log2, SLOPE_GUARDED},
    [WEFT_OP_log10] = {slope_log10, SLOPE_GUARDED},      [WEFT_OP_log1p] = {slope_log1p, SLOPE_GUARDED},
    [WEFT_OP_sqrt] = {slope_sqrt, SLOPE_GUARDED},        [WEFT_OP_rsqrt] = {slope_rsqrt, SLOPE_GUARDED},
    [WEFT_OP_cbrt] = {slope_cbrt, SLOPE_GUARDED},        [WEFT_OP_tanh] = {slope_tanh, SLOPE_FINITE},
    [WEFT_OP_sigmoid] = {slope_sigmoid, SLOPE_FINITE},   [WEFT_OP_sin] = {slope_sin, SLOPE_FINITE},
    [WEFT_OP_cos] = {slope_cos, SLOPE_FINITE},           [WEFT_OP_tan] = {slope_tan, SLOPE_GUARDED},
    [WEFT_OP_asin] = {slope_asin, SLOPE_GUARDED},        [WEFT_OP_acos] = {slope_acos, SLOPE_GUARDED},
    [WEFT_OP_atan] = {slope_atan, SLOPE_FINITE},         [WEFT_OP_sinh] = {slope_sinh, SLOPE_GUARDED},
    [WEFT_OP_cosh] = {slope_cosh, SLOPE_GUARDED},        [WEFT_OP_asinh] = {slope_asinh, SLOPE_FINITE},
    [WEFT_OP_acosh] = {slope_acosh, SLOPE_GUARDED},      [WEFT_OP_atanh] = {slope_atanh, SLOPE_GUARDED},
    [WEFT_OP_erf] = {slope_erf, SLOPE_FINITE},           [WEFT_OP_erfc] = {slope_erfc, SLOPE_FINITE},
    [WEFT_OP_lgamma] = {slope_lgamma, SLOPE_GUARDED},    [WEFT_OP_tgamma] = {slope_tgamma, SLOPE_GUARDED},
    [WEFT_OP_digamma] = {slope_digamma, SLOPE_GUARDED},  [WEFT_OP_pow] = {slope_pow, SLOPE_GUARDED},
    [WEFT_OP_copysign] = {slope_copysign, SLOPE_FINITE}, [WEFT_OP_atan2] = {slope_atan2, SLOPE_GUARDED},
};

static weft_tensor multiply(const slope_row *row, weft_tensor g, weft_tensor slope)
{
    return row->kind == SLOPE_GUARDED ? weft_gradient_scale(g, slope) : weft_mul(g, slope);
}

/* The sign of b alone has no slope. */
static bool depends(const weft_gradient_context *c, size_t i)
{
    return i == 0 || weft_op_id_of(c->op) != WEFT_OP_copysign;
}

/* A function with its operands: 16-bit floats as f32, since slopes may be beyond them where products are not. */
typedef struct function {
    weft_tensor x[2], y;
} function;

static function widen(const weft_gradient_context *c)
{
    function f = {.y = weft_composite_widen(c->outputs.items[0])};
    for (size_t i = 0; i < c->inputs.count; i++) f.x[i] = weft_composite_widen(c->inputs.items[i]);
    return f;
}

static weft_tensor narrow_back(weft_tensor x, weft_tensor like)
{
    return weft_composite_cast(x, weft_tensor_dtype(like));
}

static weft_status *vjp_slope(const weft_gradient_context *c, weft_tensor *out_values)
{
    const slope_row *row = &slopes[weft_op_id_of(c->op)];
    const function f = widen(c);
    weft_tensor g = weft_composite_widen(c->given.items[0]);
    for (size_t i = 0; i < c->inputs.count; i++) {
        if (!c->needs[i] || !depends(c, i)) continue;
        weft_tensor slope = weft_gradient_conj(row->slope(f.x, f.y, i));
        out_values[i] = narrow_back(multiply(row, g, slope), c->inputs.items[i]);
    }
    return NULL;
}

static weft_status *jvp_slope(const weft_gradient_context *c, weft_tensor *out_values)
{
    const slope_row *row = &slopes[weft_op_id_of(c->op)];
    const function f = widen(c);
    weft_tensor sum = WEFT_NO_TENSOR;
    for (size_t i = 0; i < c->inputs.count; i++) {
        if (!weft_gradient_given(c, i) || !depends(c, i)) continue;
        weft_tensor dx = weft_composite_widen(c->given.items[i]);
        sum = weft_gradient_add(sum, multiply(row, dx, row->slope(f.x, f.y, i)));
    }
    if (sum.graph != NULL) out_values[0] = narrow_back(sum, c->outputs.items[0]);
    return NULL;
}

/* ---- sums and products ---- */

static weft_tensor negate(weft_tensor x)
{
    return x.graph == NULL ? x : weft_neg(x);
}

static weft_status *vjp_neg(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_neg(c->given.items[0]);
    return NULL;
}

static weft_status *jvp_neg(const weft_gradient_context *c, weft_tensor *out_values)
{
    return vjp_neg(c, out_values);
}

static weft_status *vjp_add(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = out_values[1] = c->given.items[0];
    return NULL;
}

static weft_status *jvp_add(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_gradient_add(c->given.items[0], c->given.items[1]);
    return NULL;
}

static weft_status *vjp_sub(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = c->given.items[0];
    if (c->needs[1]) out_values[1] = weft_neg(c->given.items[0]);
    return NULL;
}

static weft_status *jvp_sub(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor a = c->given.items[0], b = c->given.items[1];
    if (a.graph == NULL || b.graph == NULL) out_values[0] = a.graph == NULL ? negate(b) : a;
    else out_values[0] = weft_sub(a, b);
    return NULL;
}

static weft_status *vjp_mul(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++)
        if (c->needs[i]) out_values[i] = weft_mul(c->given.items[0], weft_gradient_conj(c->inputs.items[1 - i]));
    return NULL;
}

static weft_status *jvp_mul(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++)
        if (weft_gradient_given(c, i))
            out_values[0] = weft_gradient_add(out_values[0], weft_mul(c->given.items[i], c->inputs.items[1 - i]));
    return NULL;
}

/* By way of g / b: b^2 might over- or underflow. */
static weft_status *vjp_div(const weft_gradient_context *c, weft_tensor *out_values)
{
    const function f = widen(c);
    weft_tensor g = weft_composite_widen(c->given.items[0]);
    weft_tensor share = weft_gradient_scale(g, over(1, weft_gradient_conj(f.x[1])));
    if (c->needs[0]) out_values[0] = narrow_back(share, c->inputs.items[0]);
    if (!c->needs[1]) return NULL;
    share = weft_neg(weft_gradient_scale(share, weft_gradient_conj(f.y)));
    out_values[1] = narrow_back(share, c->inputs.items[1]);
    return NULL;
}

static weft_status *jvp_div(const weft_gradient_context *c, weft_tensor *out_values)
{
    const function f = widen(c);
    weft_tensor slope = over(1, f.x[1]), sum = WEFT_NO_TENSOR;
    if (weft_gradient_given(c, 0)) sum = weft_gradient_scale(weft_composite_widen(c->given.items[0]), slope);
    if (weft_gradient_given(c, 1)) {
        weft_tensor db = weft_gradient_scale(weft_composite_widen(c->given.items[1]), slope);
        db = weft_gradient_scale(db, f.y);
        sum = sum.graph == NULL ? weft_neg(db) : weft_sub(sum, db);
    }
    out_values[0] = narrow_back(sum, c->outputs.items[0]);
    return NULL;
}

/* a - q b: q as what leads to y exactly. */
static weft_tensor quotient(const weft_gradient_context *c)
{
    return weft_round(weft_div(weft_sub(c->inputs.items[0], c->outputs.items[0]), c->inputs.items[1]));
}

static weft_status *vjp_remainder(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = c->given.items[0];
    if (c->needs[1]) out_values[1] = weft_neg(weft_mul(c->given.items[0], quotient(c)));
    return NULL;
}

static weft_status *jvp_remainder(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = c->given.items[0];
    if (!weft_gradient_given(c, 1)) return NULL;
    weft_tensor share = weft_neg(weft_mul(c->given.items[1], quotient(c)));
    out_values[0] = weft_gradient_add(out_values[0], share);
    return NULL;
}

/* ---- the greater and the less ---- */

/* What operand `i` gets of g: all where it alone is the result, half where they are equal, nothing where one is NaN. */
static weft_tensor share_of(const weft_gradient_context *c, size_t i, weft_tensor g)
{
    weft_tensor own = c->inputs.items[i], other = c->inputs.items[1 - i], zero = number(g, 0);
    weft_tensor wins = weft_op_id_of(c->op) == WEFT_OP_max ? weft_gt(own, other) : weft_lt(own, other);
    return weft_select(wins, g, weft_select(weft_eq(own, other), times(g, 0.5), zero));
}

static weft_status *vjp_extremum(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++)
        if (c->needs[i]) out_values[i] = share_of(c, i, c->given.items[0]);
    return NULL;
}

static weft_status *jvp_extremum(const weft_gradient_context *c, weft_tensor *out_values)
{
    for (size_t i = 0; i < 2; i++)
        if (weft_gradient_given(c, i))
            out_values[0] = weft_gradient_add(out_values[0], share_of(c, i, c->given.items[i]));
    return NULL;
}

/* ---- complex numbers and their parts ---- */

static weft_tensor zero_like(weft_tensor x)
{
    return weft_scalar_like(x, 0);
}

/* z / |z|, 0 at 0. */
static weft_tensor direction(const weft_gradient_context *c)
{
    weft_tensor z = c->inputs.items[0], size = c->outputs.items[0], none = weft_eq(size, zero_like(size));
    weft_tensor re = weft_select(none, zero_like(size), weft_div(weft_real(z), size));
    weft_tensor im = weft_select(none, zero_like(size), weft_div(weft_imag(z), size));
    return weft_complex(re, im);
}

static weft_status *vjp_abs(const weft_gradient_context *c, weft_tensor *out_values)
{
    if (!is_complex(c->inputs.items[0])) return vjp_slope(c, out_values);
    weft_tensor s = direction(c), g = c->given.items[0];
    out_values[0] = weft_complex(weft_gradient_scale(g, weft_real(s)), weft_gradient_scale(g, weft_imag(s)));
    return NULL;
}

static weft_status *jvp_abs(const weft_gradient_context *c, weft_tensor *out_values)
{
    if (!is_complex(c->inputs.items[0])) return jvp_slope(c, out_values);
    weft_tensor s = direction(c), dz = c->given.items[0];
    out_values[0] =
        weft_add(weft_gradient_scale(weft_real(dz), weft_real(s)), weft_gradient_scale(weft_imag(dz), weft_imag(s)));
    return NULL;
}

static weft_status *vjp_real(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor g = c->given.items[0];
    bool is_real = weft_op_id_of(c->op) == WEFT_OP_real;
    out_values[0] = is_real ? weft_complex(g, zero_like(g)) : weft_complex(zero_like(g), g);
    return NULL;
}

static weft_status *vjp_complex(const weft_gradient_context *c, weft_tensor *out_values)
{
    if (c->needs[0]) out_values[0] = weft_real(c->given.items[0]);
    if (c->needs[1]) out_values[1] = weft_imag(c->given.items[0]);
    return NULL;
}

static weft_status *jvp_complex(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor re = c->given.items[0], im = c->given.items[1];
    out_values[0] = weft_complex(re.graph == NULL ? zero_like(im) : re, im.graph == NULL ? zero_like(re) : im);
    return NULL;
}

/* ---- others ---- */

static weft_status *vjp_select(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor g = c->given.items[0], p = c->inputs.items[0];
    if (c->needs[1]) out_values[1] = weft_select(p, g, zero_like(g));
    if (c->needs[2]) out_values[2] = weft_select(p, zero_like(g), g);
    return NULL;
}

static weft_status *jvp_select(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor a = c->given.items[1], b = c->given.items[2];
    out_values[0] =
        weft_select(c->inputs.items[0], a.graph == NULL ? zero_like(b) : a, b.graph == NULL ? zero_like(a) : b);
    return NULL;
}

/* To the dtype of the operand: of a real one it is the real part. */
static weft_status *vjp_cast(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = weft_composite_cast(c->given.items[0], weft_tensor_dtype(c->inputs.items[0]));
    return NULL;
}

/* The operand itself. */
static weft_status *same(const weft_gradient_context *c, weft_tensor *out_values)
{
    out_values[0] = c->given.items[0];
    return NULL;
}

#define SLOPED(name)                                                                                                   \
    {                                                                                                                  \
        WEFT_OP_##name, vjp_slope, jvp_slope, NULL                                                                     \
    }
#define STEP(name)                                                                                                     \
    {                                                                                                                  \
        WEFT_OP_##name, NULL, NULL, NULL                                                                               \
    }

static const weft_gradient_row rows[] = {
    STEP(input),
    STEP(constant),
    STEP(iota),
    STEP(extent),
    {WEFT_OP_neg, vjp_neg, jvp_neg, NULL},
    {WEFT_OP_abs, vjp_abs, jvp_abs, NULL},
    SLOPED(exp),
    SLOPED(log),
    SLOPED(sqrt),
    SLOPED(tanh),
    {WEFT_OP_real, vjp_real, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_imag, vjp_real, weft_gradient_jvp_linear, NULL},
    {WEFT_OP_complex, vjp_complex, jvp_complex, NULL},
    SLOPED(exp2),
    SLOPED(expm1),
    SLOPED(log2),
    SLOPED(log10),
    SLOPED(log1p),
    SLOPED(rsqrt),
    SLOPED(cbrt),
    SLOPED(sinh),
    SLOPED(cosh),
    SLOPED(asinh),
    SLOPED(acosh),
    SLOPED(atanh),
    SLOPED(sigmoid),
    STEP(floor),
    STEP(ceil),
    STEP(round),
    STEP(trunc),
    STEP(sign),
    STEP(is_nan),
    STEP(is_finite),
    SLOPED(sin),
    SLOPED(cos),
    SLOPED(tan),
    SLOPED(asin),
    SLOPED(acos),
    SLOPED(atan),
    SLOPED(erf),
    SLOPED(erfc),
    SLOPED(lgamma),
    SLOPED(tgamma),
    SLOPED(digamma),
    STEP(not ),
    STEP(population_count),
    {WEFT_OP_add, vjp_add, jvp_add, NULL},
    {WEFT_OP_sub, vjp_sub, jvp_sub, NULL},
    {WEFT_OP_mul, vjp_mul, jvp_mul, NULL},
    {WEFT_OP_div, vjp_div, jvp_div, NULL},
    {WEFT_OP_remainder, vjp_remainder, jvp_remainder, NULL},
    {WEFT_OP_fmod, vjp_remainder, jvp_remainder, NULL},
    SLOPED(pow),
    SLOPED(copysign),
    {WEFT_OP_max, vjp_extremum, jvp_extremum, NULL},
    {WEFT_OP_min, vjp_extremum, jvp_extremum, NULL},
    SLOPED(atan2),
    STEP(and),
    STEP(or),
    STEP(xor),
    STEP(shift_left),
    STEP(shift_right),
    STEP(eq),
    STEP(ne),
    STEP(lt),
    STEP(le),
    STEP(gt),
    STEP(ge),
    {WEFT_OP_select, vjp_select, jvp_select, NULL},
    {WEFT_OP_cast, vjp_cast, weft_gradient_jvp_linear, NULL},
    STEP(bitcast),
    STEP(stop_gradient),
    {WEFT_OP_barrier, same, same, NULL},
};

const weft_gradient_family weft_gradient_elementwise = {sizeof rows / sizeof *rows, rows};
