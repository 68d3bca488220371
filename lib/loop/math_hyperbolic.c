/* SPDX-License-Identifier: Apache-2.0 */
/* tanh */
#include "lib/loop/math_lower.h"

typedef struct constants {
    double small, most;   /* up to the one the polynomial, beyond the other tanh is 1 */
    const double *series; /* (tanh(sqrt(z)) / sqrt(z) - 1) / z */
    size_t count;
} constants;

/* (tanh(sqrt(z)) / sqrt(z) - 1) / z on [0, 0.9375^2]: error 2^-28.3. */
static const double single_tanh[] = {-0x1.55554ap-2, 0x1.110e6p-3,  -0x1.b9ad0ap-5, 0x1.620ceap-6,
                                     -0x1.0b59ap-7,  0x1.454f6ap-9, -0x1.b67952p-12};

/* The same on [0, 0.55^2], error 2^-55.5. */
static const double double_tanh[] = {-0x1.555555555549ep-2,  0x1.11111111029bap-3,  -0x1.ba1ba1ad73f5fp-5,
                                     0x1.664f45c33bbf2p-6,   -0x1.226ddd50c7a9ep-7, 0x1.d6c61eac68ap-9,
                                     -0x1.7cf3c6389acb7p-10, 0x1.2fa2b78aa2c5dp-11, -0x1.b90ad12048702p-13,
                                     0x1.ac03d34ff2a52p-15};

static const constants constants_of[MATH_FORMATS] = {
    [MATH_F32] = {0.9375, 9.5, single_tanh, sizeof single_tanh / sizeof *single_tanh},
    [MATH_F64] = {0.55, 20.0, double_tanh, sizeof double_tanh / sizeof *double_tanh},
};

/*
 * For a >= 0: 1 - 1 / d, where d = (exp(2 a) + 1) / 2 and exp(2 a) = 2^n exp(2 u). With s = 2^(n - 1) that is
 * d = (s + 1/2) + (s u) g(u), where the terms in brackets are exact: only g and the sum are rounded.
 */
static weft_inst_id large_tanh(const writer *w, weft_inst_id a)
{
    const math_exp_constants *exp = &weft_math_exp_constants[w->number];
    weft_inst_id shifted;
    a = at_most(w, a, constants_of[w->number].most);
    weft_inst_id n = weft_math_round_scaled(w, a, 2.0 * exp->log2_e, w->format->bias - 1, &shifted);
    weft_inst_id u = fma3(w, n, real(w, -0.5 * exp->ln2), a);
    double doubled[MATH_MOST_EXP];
    for (size_t i = 1; i < exp->count; i++) doubled[i - 1] = exp->series[i] * (double)((uint64_t)1 << i);
    weft_inst_id g = polynomial(w, u, doubled, exp->count - 1);
    weft_inst_id s = weft_math_power(w, as_integer(w, shifted));
    weft_inst_id base = add(w, s, real(w, 0.5));
    weft_inst_id d = fma3(w, mul(w, s, u), g, base);
    weft_inst_id one = real(w, 1.0);
    return sub(w, one, quotient(w, one, d));
}

/* a + a^3 p(a^2) */
static weft_inst_id small_tanh(const writer *w, weft_inst_id a)
{
    const constants *c = &constants_of[w->number];
    weft_inst_id square = mul(w, a, a);
    weft_inst_id p = polynomial(w, square, c->series, c->count);
    return fma3(w, mul(w, a, square), p, a);
}

weft_inst_id weft_math_tanh(const writer *w, const weft_inst_id *x)
{
    weft_inst_id a = absolute(w, x[0]);
    weft_inst_id small = less(w, a, real(w, constants_of[w->number].small));
    weft_inst_id near = small_tanh(w, a);
    return with_sign(w, choose(w, small, near, large_tanh(w, a)), x[0]);
}
