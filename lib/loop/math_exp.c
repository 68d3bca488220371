/* SPDX-License-Identifier: Apache-2.0 */
/* exp */
#include "lib/loop/math_lower.h"

/* exp(r) on |r| <= 0.3467, 1 and r kept: error 2^-28.2. */
static const double single_exp[] = {0x1.0p+0,      0x1.0p+0,      0x1.fffffcp-2, 0x1.555492p-3,
                                    0x1.5558a8p-5, 0x1.12398ap-7, 0x1.6a55e6p-10};

/* The same, error 2^-57.9. */
static const double double_exp[] = {0x1.0p+0,
                                    0x1.0p+0,
                                    0x1.000000000000ap-1,
                                    0x1.5555555555505p-3,
                                    0x1.55555555506a7p-5,
                                    0x1.1111111124f2fp-7,
                                    0x1.6c16c1847efa8p-10,
                                    0x1.a01a013974a19p-13,
                                    0x1.a019994327bd2p-16,
                                    0x1.71df03977a49fp-19,
                                    0x1.28ae1aa639038p-22,
                                    0x1.adb4c563d6e85p-26};

const math_exp_constants weft_math_exp_constants[MATH_FORMATS] = {
    [MATH_F32] = {.log2_e = 0x1.715476p+0,
                  .ln2 = 0x1.62e43p-1,
                  .ln2_high = 0x1.62e4p-1,
                  .ln2_low = 0x1.7f7d1cp-20,
                  .least = -104.0,
                  .most = 89.0,
                  .series = single_exp,
                  .count = sizeof single_exp / sizeof *single_exp},
    [MATH_F64] = {.log2_e = 0x1.71547652b82fep+0,
                  .ln2 = 0x1.62e42fefa39efp-1,
                  .ln2_high = 0x1.62e42fefa38p-1,
                  .ln2_low = 0x1.ef35793c7673p-45,
                  .least = -746.0,
                  .most = 710.0,
                  .series = double_exp,
                  .count = sizeof double_exp / sizeof *double_exp},
};

weft_inst_id weft_math_round_scaled(const writer *w, weft_inst_id x, double scale, int shift, weft_inst_id *out_shifted)
{
    weft_inst_id magic = real(w, 1.5 * (double)((uint64_t)1 << w->format->fraction) + shift);
    *out_shifted = fma3(w, x, real(w, scale), magic);
    return sub(w, *out_shifted, magic);
}

weft_inst_id weft_math_power(const writer *w, weft_inst_id exponent)
{
    return as_real(w, binary(w, WEFT_SCALAR_shl, exponent, integer(w, w->format->fraction)));
}

/* `significand` * 2^n as two factors of about 2^(n/2), so that overflow and gradual underflow happen in the last
 * multiplication, rounded once; `shifted` is of weft_math_round_scaled with a shift of twice the bias. */
static weft_inst_id scale(const writer *w, weft_inst_id significand, weft_inst_id shifted)
{
    weft_inst_id both = as_integer(w, shifted);
    weft_inst_id half = binary(w, WEFT_SCALAR_shr, both, integer(w, 1));
    weft_inst_id rest = sub(w, both, half);
    weft_inst_id scaled = mul(w, significand, weft_math_power(w, half));
    return mul(w, scaled, weft_math_power(w, rest));
}

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2. */
weft_inst_id weft_math_exp(const writer *w, const weft_inst_id *x)
{
    const math_exp_constants *c = &weft_math_exp_constants[w->number];
    weft_inst_id shifted;
    weft_inst_id within = at_least(w, at_most(w, x[0], c->most), c->least);
    weft_inst_id n = weft_math_round_scaled(w, within, c->log2_e, 2 * w->format->bias, &shifted);
    weft_inst_id r = fma3(w, n, real(w, -c->ln2_high), within);
    r = fma3(w, n, real(w, -c->ln2_low), r);
    return scale(w, polynomial(w, r, c->series, c->count), shifted);
}
