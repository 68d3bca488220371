/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <complex.h>
#undef complex /* an op has this name */
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- scalar functions: one for each op and kind of number ---- */

typedef struct rule {
    weft_element_function integer, real, number;
} rule;

static int64_t floor_divide(int64_t a, int64_t b)
{
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* By multiplication, wrapping; 1 / a^n cut off is 0 except for 1 and -1. */
static int64_t integer_power(int64_t a, int64_t n)
{
    if (n < 0) return a == 1 || (a == -1 && n % 2 == 0) ? 1 : a == -1 ? -1 : 0;
    uint64_t result = 1, square = (uint64_t)a;
    for (uint64_t left = (uint64_t)n; left != 0; left >>= 1, square *= square)
        if (left & 1) result *= square;
    return (int64_t)result;
}

static int64_t shift(int64_t a, int64_t n, bool left)
{
    if (n < 0 || n > 63) return left || a >= 0 ? 0 : -1;
    return left ? (int64_t)((uint64_t)a << n) : a >> n;
}

/* From 2^63 on every exponent is an even number, which some libraries do not see. */
static long double real_power(long double a, long double b)
{
    return powl(fabsl(b) >= 0x1p63L ? fabsl(a) : a, b);
}

static long double floored_rest(long double a, long double b)
{
    long double rest = fmodl(a, b);
    if (rest == 0) return copysignl(0, b);
    return (rest < 0) == (b < 0) ? rest : rest + b;
}

static long double greater(long double a, long double b)
{
    return isnan(a) || (!isnan(b) && a >= b) ? a : b;
}

static long double lesser(long double a, long double b)
{
    return isnan(a) || (!isnan(b) && a <= b) ? a : b;
}

/* The plain formula; C's own operator would look for infinities in a NaN. */
static long double _Complex multiply(long double _Complex a, long double _Complex b)
{
    return weft_element_complex(creall(a) * creall(b) - cimagl(a) * cimagl(b),
                                creall(a) * cimagl(b) + cimagl(a) * creall(b));
}

/* By zero and by infinities each part is divided by |b|. */
static long double _Complex divide(long double _Complex a, long double _Complex b)
{
    long double size = creall(b) * creall(b) + cimagl(b) * cimagl(b);
    long double _Complex top = size == 0 || isinf(size) ? a : multiply(a, conjl(b));
    return weft_element_complex(creall(top) / size, cimagl(top) / size);
}

/* For an infinite real part and an infinite or NaN angle libm loses the sign, which C leaves unspecified. */
static long double _Complex complex_sinh(long double _Complex a)
{
    return isinf(creall(a)) && !isfinite(cimagl(a)) ? weft_element_complex(creall(a), NAN) : csinhl(a);
}

static long double _Complex complex_sin(long double _Complex a)
{
    long double _Complex turned = complex_sinh(weft_element_complex(-cimagl(a), creall(a)));
    return weft_element_complex(cimagl(turned), -creall(turned));
}

static long double _Complex scale_parts(long double _Complex a, long double factor)
{
    return weft_element_complex(creall(a) * factor, cimagl(a) * factor);
}

/* Where |1 + z| is near one by the difference |1 + z|^2 - 1, whose terms are added without loss: squares of parts of up
 * to 32 bits are exact, of others their errors are. */
static long double _Complex complex_log1p(long double _Complex a)
{
    long double x = creall(a), y = cimagl(a), xx = x * x, yy = y * y, sum = xx + yy, d = 2 * x + sum;
    if (!(fabsl(d) < 0.5L)) return clogl(weft_element_complex(1 + x, y));
    long double smaller = fminl(xx, yy), lost = smaller - (sum - fmaxl(xx, yy));
    long double left = sum - (d - 2 * x), right = 2 * x - (d - (d - 2 * x));
    d += left + right + lost + fmal(x, x, -xx) + fmal(y, y, -yy);
    return weft_element_complex(log1pl(d) / 2, atan2l(y, 1 + x));
}

/* Zero to a power is 1, 0 or no number. */
static long double _Complex complex_power(long double _Complex a, long double _Complex b)
{
    if (b == 0) return 1;
    if (a == 0) return creall(b) > 0 ? 0 : weft_element_complex(NAN, NAN);
    return cexpl(multiply(b, clogl(a)));
}

/* name_suffix: from two `type`s found in `member` to `expression`, stored in `result`. */
#define FUNCTION(name, suffix, type, member, result, expression)               \
    static weft_element name##_##suffix(weft_element left, weft_element right) \
    {                                                                          \
        const type a = left.member, b = right.member;                          \
        (void)b;                                                               \
        return (weft_element){.result = expression};                           \
    }
#define INTEGERS(name, expression) FUNCTION(name, integer, int64_t, integer, integer, expression)
#define REALS(name, expression) FUNCTION(name, real, long double, real, real, expression)
#define NUMBERS(name, expression) FUNCTION(name, number, long double _Complex, number, number, expression)
#define COMPARISON(name, operator)                                              \
    INTEGERS(name, a operator b)                                                \
    FUNCTION(name, real, long double, real, integer, a operator b)
#define WRAPPED(a, operator, b) (int64_t)((uint64_t)(a) operator(uint64_t)(b))

INTEGERS(neg, WRAPPED(0, -, a)) REALS(neg, -a) NUMBERS(neg, -a)
INTEGERS(abs, a < 0 ? WRAPPED(0, -, a) : a) REALS(abs, fabsl(a))
FUNCTION(abs, number, long double _Complex, number, real, cabsl(a))
REALS(exp, expl(a)) NUMBERS(exp, cexpl(a))
REALS(log, logl(a)) NUMBERS(log, clogl(a))
REALS(sqrt, sqrtl(a)) NUMBERS(sqrt, csqrtl(a))
REALS(tanh, tanhl(a)) NUMBERS(tanh, ctanhl(a))
FUNCTION(real, number, long double _Complex, number, real, creall(a))
FUNCTION(imag, number, long double _Complex, number, real, cimagl(a))
FUNCTION(complex, real, long double, real, number, weft_element_complex(a, b))
REALS(exp2, exp2l(a))
REALS(expm1, expm1l(a))
REALS(log2, log2l(a)) NUMBERS(log2, scale_parts(clogl(a), 1.44269504088896340735992468100189214L))
REALS(log10, log10l(a)) NUMBERS(log10, scale_parts(clogl(a), 0.434294481903251827651128918916605082L))
REALS(log1p, log1pl(a)) NUMBERS(log1p, complex_log1p(a))
REALS(rsqrt, 1 / sqrtl(a))
REALS(cbrt, cbrtl(a))
REALS(sinh, sinhl(a)) NUMBERS(sinh, complex_sinh(a))
REALS(cosh, coshl(a)) NUMBERS(cosh, ccoshl(a))
REALS(asinh, asinhl(a)) NUMBERS(asinh, casinhl(a))
REALS(acosh, acoshl(a)) NUMBERS(acosh, cacoshl(a))
REALS(atanh, atanhl(a)) NUMBERS(atanh, catanhl(a))
REALS(sigmoid, 1 / (1 + expl(-a)))
REALS(floor, floorl(a))
REALS(ceil, ceill(a))
REALS(round, rintl(a))
REALS(trunc, truncl(a))
INTEGERS(sign, (a > 0) - (a < 0)) REALS(sign, a > 0 ? 1 : a < 0 ? -1 : a)
FUNCTION(is_nan, real, long double, real, integer, isnan(a) != 0)
FUNCTION(is_nan, number, long double _Complex, number, integer, isnan(creall(a)) || isnan(cimagl(a)))
FUNCTION(is_finite, real, long double, real, integer, isfinite(a) != 0)
FUNCTION(is_finite, number, long double _Complex, number, integer, isfinite(creall(a)) && isfinite(cimagl(a)))
REALS(sin, sinl(a)) NUMBERS(sin, complex_sin(a))
REALS(cos, cosl(a)) NUMBERS(cos, ccosl(a))
REALS(tan, tanl(a)) NUMBERS(tan, ctanl(a))
REALS(asin, asinl(a)) NUMBERS(asin, casinl(a))
REALS(acos, acosl(a)) NUMBERS(acos, cacosl(a))
REALS(atan, atanl(a)) NUMBERS(atan, catanl(a))
REALS(erf, erfl(a))
REALS(erfc, erfcl(a))
REALS(lgamma, lgammal(a))
REALS(tgamma, tgammal(a))
REALS(digamma, weft_digamma_evaluate(a))
INTEGERS(not, ~a)
INTEGERS(population_count, __builtin_popcountll((uint64_t)a & UINT64_MAX >> (64 - b)))
INTEGERS(add, WRAPPED(a, +, b)) REALS(add, a + b) NUMBERS(add, a + b)
INTEGERS(sub, WRAPPED(a, -, b)) REALS(sub, a - b) NUMBERS(sub, a - b)
INTEGERS(mul, WRAPPED(a, *, b)) REALS(mul, a * b) NUMBERS(mul, multiply(a, b))
INTEGERS(div, floor_divide(a, b)) REALS(div, a / b) NUMBERS(div, divide(a, b))
INTEGERS(remainder, WRAPPED(a, -, WRAPPED(floor_divide(a, b), *, b))) REALS(remainder, floored_rest(a, b))
INTEGERS(fmod, b == -1 ? 0 : a % b) REALS(fmod, fmodl(a, b))
INTEGERS(pow, integer_power(a, b)) REALS(pow, real_power(a, b)) NUMBERS(pow, complex_power(a, b))
REALS(copysign, copysignl(a, b))
INTEGERS(max, a > b ? a : b) REALS(max, greater(a, b))
INTEGERS(min, a < b ? a : b) REALS(min, lesser(a, b))
REALS(atan2, atan2l(a, b))
INTEGERS(and, a & b)
INTEGERS(or, a | b)
INTEGERS(xor, a ^ b)
COMPARISON(eq, ==) FUNCTION(eq, number, long double _Complex, number, integer, a == b)
COMPARISON(ne, !=) FUNCTION(ne, number, long double _Complex, number, integer, a != b)
INTEGERS(shift_left, shift(a, b, true))
INTEGERS(shift_right, shift(a, b, false))
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)

/* One operation that f64 does not represent exactly: in long double it would be rounded twice. */
#define DOUBLES(name, expression) FUNCTION(name, double, double, real, real, expression)
#define PAIRS(name, expression) FUNCTION(name, pair, double _Complex, number, number, expression)

static double rest_of_doubles(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0) return copysign(0, b);
    return (rest < 0) == (b < 0) ? rest : rest + b;
}

DOUBLES(sqrt, sqrt(a))
DOUBLES(add, a + b)
PAIRS(add, a + b) DOUBLES(sub, a - b) PAIRS(sub, a - b) DOUBLES(mul, a *b) DOUBLES(div, a / b)
    DOUBLES(remainder, rest_of_doubles(a, b))

/* The functions an op has follow from the dtypes it takes. */
#define RULE_NUMERIC(name) {name##_integer, name##_real, name##_number}
#define RULE_ALL(name) {name##_integer, name##_real, name##_number}
#define RULE_REAL(name) {name##_integer, name##_real, NULL}
#define RULE_ORDERED(name) {name##_integer, name##_real, NULL}
#define RULE_FLOAT(name) {NULL, name##_real, NULL}
#define RULE_INEXACT(name) {NULL, name##_real, name##_number}
#define RULE_COMPLEX(name) {NULL, NULL, name##_number}
#define RULE_PART(name) {NULL, name##_real, NULL}
#define RULE_INTEGER(name) {name##_integer, NULL, NULL}
#define RULE_BITS(name) {name##_integer, NULL, NULL}
#define RULE_1_none(name, dtypes) [WEFT_OP_##name] = RULE_##dtypes(name),
#define RULE_2_none(name, dtypes) [WEFT_OP_##name] = RULE_##dtypes(name),
#define RULE_3_none(name, dtypes)
#define RULE_1_cast(name, dtypes)

        static const rule rules[WEFT_OP_COUNT] = {
#define WEFT_ELEMENTWISE(name, inputs, attributes, dtypes) RULE_##inputs##_##attributes(name, dtypes)
#include "lib/graph/elementwise.def"
};

weft_element_function weft_element_function_of(weft_op_id op, weft_dtype_kind kind)
{
    if (kind == WEFT_KIND_FLOAT) return rules[op].real;
    return kind == WEFT_KIND_COMPLEX ? rules[op].number : rules[op].integer;
}

weft_element_function weft_element_rounded_of(weft_op_id op, weft_dtype dtype)
{
    static const weft_element_function doubles[WEFT_OP_COUNT] = {
        [WEFT_OP_sqrt] = sqrt_double, [WEFT_OP_add] = add_double, [WEFT_OP_sub] = sub_double,
        [WEFT_OP_mul] = mul_double,   [WEFT_OP_div] = div_double, [WEFT_OP_remainder] = remainder_double};
    static const weft_element_function pairs[WEFT_OP_COUNT] = {[WEFT_OP_add] = add_pair, [WEFT_OP_sub] = sub_pair};
    if (dtype == WEFT_F64 && doubles[op] != NULL) return doubles[op];
    if (dtype == WEFT_C128 && pairs[op] != NULL) return pairs[op];
    return weft_element_function_of(op, weft_element_kind(dtype));
}

/* ---- over tensors ---- */

/* Operands of equal shape, as many as the op has: tracing has put broadcasts between. */
static weft_status *check_shapes(const weft_reference_call *call)
{
    for (size_t i = 0; i < call->input_count; i++)
        if (!weft_view_same_shape(&call->inputs[i], &call->outputs[0]))
            return weft_reference_error(call, WEFT_INTERNAL, "operand %zu does not have the shape of the result", i);
    return NULL;
}

/* Integers have no quotient by zero: a run-time error. */
static weft_status *check_divisors(const weft_reference_call *call, weft_op_id op, const weft_view *divisors)
{
    weft_dtype_kind kind = weft_element_kind(divisors->dtype);
    bool divides = op == WEFT_OP_div || op == WEFT_OP_remainder || op == WEFT_OP_fmod;
    if (!divides || kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX) return NULL;
    int64_t count = weft_view_count(divisors);
    for (int64_t i = 0; i < count; i++)
        if (weft_element_load(divisors->dtype, weft_view_nth(divisors, i)).integer == 0)
            return weft_reference_error(call, WEFT_DATA_ERROR, "division by 0 at position %" PRId64, i);
    return NULL;
}

static weft_status *map(const weft_reference_call *call, weft_op_id op)
{
    const weft_view *a = &call->inputs[0], *b = &call->inputs[call->input_count - 1], *out = &call->outputs[0];
    weft_element_function function = weft_element_rounded_of(op, a->dtype);
    if (function == NULL)
        return weft_reference_error(call, WEFT_DTYPE_MISMATCH, "%s is not taken", weft_dtype_name(a->dtype));
    WEFT_TRY(check_shapes(call));
    WEFT_TRY(check_divisors(call, op, b));
    int64_t count = weft_view_count(out);
    for (int64_t i = 0; i < count; i++) {
        weft_element left = weft_element_load(a->dtype, weft_view_nth(a, i));
        weft_element right = {.integer = 8 * (int64_t)weft_dtype_size(a->dtype)};
        if (call->input_count == 2) right = weft_element_load(b->dtype, weft_view_nth(b, i));
        weft_element_store(out->dtype, function(left, right), weft_view_nth(out, i));
    }
    return NULL;
}

#define MAPPED(name)                                                  \
    weft_status *weft_reference_##name(const weft_reference_call *call) \
    {                                                                 \
        return map(call, WEFT_OP_##name);                             \
    }
#define MAPPED_1_none MAPPED
#define MAPPED_2_none MAPPED
#define MAPPED_3_none(name)
#define MAPPED_1_cast(name)
#define WEFT_ELEMENTWISE(name, inputs, attributes, dtypes) MAPPED_##inputs##_##attributes(name)
#include "lib/graph/elementwise.def"

weft_status *weft_reference_select(const weft_reference_call *call)
{
    const weft_view *condition = &call->inputs[0], *out = &call->outputs[0];
    WEFT_TRY(check_shapes(call));
    int64_t count = weft_view_count(out);
    for (int64_t i = 0; i < count; i++) {
        bool first = weft_element_load(condition->dtype, weft_view_nth(condition, i)).integer != 0;
        memcpy(weft_view_nth(out, i), weft_view_nth(&call->inputs[first ? 1 : 2], i), weft_dtype_size(out->dtype));
    }
    return NULL;
}

weft_status *weft_reference_bitcast(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    WEFT_TRY(check_shapes(call));
    int64_t count = weft_view_count(out);
    for (int64_t i = 0; i < count; i++) memcpy(weft_view_nth(out, i), weft_view_nth(x, i), weft_dtype_size(out->dtype));
    return NULL;
}

weft_status *weft_reference_cast(const weft_reference_call *call)
{
    const weft_view *x = &call->inputs[0], *out = &call->outputs[0];
    WEFT_TRY(check_shapes(call));
    int64_t count = weft_view_count(out);
    for (int64_t i = 0; i < count; i++) {
        weft_element element = weft_element_load(x->dtype, weft_view_nth(x, i));
        weft_element_store(out->dtype, weft_element_cast(x->dtype, element, out->dtype), weft_view_nth(out, i));
    }
    return NULL;
}
