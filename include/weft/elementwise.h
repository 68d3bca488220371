/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_ELEMENTWISE_H
#define WEFT_ELEMENTWISE_H
/* Elementwise functions composed of the primitives of ops.h, whose rules hold here too: operands broadcast. For a
 * choice between two tensors see weft_select. */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* min(max(x, low), high), so `high` where low > high; anything ordered. */
weft_tensor weft_clamp(weft_tensor x, weft_tensor low, weft_tensor high);
/* a + (b - a) * t; numeric. Of floats b - (b - a) * (1 - t) from t = 1/2 on, so that t = 1 gives b. */
weft_tensor weft_lerp(weft_tensor a, weft_tensor b, weft_tensor t);
/* |a - b| <= absolute + relative * |b| as bool; infinities are close to themselves alone, NaN to nothing.
 * Floats. Tolerances that are negative or NaN are INVALID_ARGUMENT. */
weft_tensor weft_is_close(weft_tensor a, weft_tensor b, double relative, double absolute);
/* Of any dtype, whose elements are true when not 0 (NaN is): bool. */
weft_tensor weft_logical_and(weft_tensor a, weft_tensor b);
weft_tensor weft_logical_or(weft_tensor a, weft_tensor b);
weft_tensor weft_logical_xor(weft_tensor a, weft_tensor b);
weft_tensor weft_logical_not(weft_tensor x);

/*
 * The n-th derivative of weft_digamma, for n from 0 to 20 (else OUT_OF_RANGE); n = 1 is the trigamma function. Floats;
 * those of 16 bits are computed in f32. At zeros infinite: of positive sign for odd n, of the opposite sign of the zero
 * for even n; NaN at negative integers and at -infinity. Errors grow with n: for x > 0 they are up to 2 ulp for n = 1,
 * 5 for n = 7; for x < 0 up to 4 and 20, in the places of 4 n! where an even n gives less than that.
 */
weft_tensor weft_polygamma(int64_t n, weft_tensor x);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_clamp(...) WEFT_LOCATED_THREE_("clamp", weft_clamp, 0, __VA_ARGS__)
#define weft_lerp(...) WEFT_LOCATED_THREE_("lerp", weft_lerp, 0, __VA_ARGS__)
#if WEFT_TAKES_NUMBERS_
static inline weft_tensor weft_is_close_(weft_operand a, weft_operand b, double relative, double absolute)
{
    weft_tensor tensors[2];
    weft_operands_fill("is_close", 0, 2, (weft_operand[]){a, b}, tensors);
    return weft_is_close(tensors[0], tensors[1], relative, absolute);
}
#define weft_is_close(...) WEFT_IS_CLOSE_(__VA_ARGS__)
#define WEFT_IS_CLOSE_(a, b, ...)                                                                                      \
    WEFT_LOCATED("is_close", weft_is_close_(WEFT_OPERAND_(a), WEFT_OPERAND_(b), __VA_ARGS__))
#else
#define weft_is_close(...) WEFT_LOCATED_(is_close, __VA_ARGS__)
#endif
#define weft_logical_and(...) WEFT_LOCATED_TWO_("logical_and", weft_logical_and, __VA_ARGS__)
#define weft_logical_or(...) WEFT_LOCATED_TWO_("logical_or", weft_logical_or, __VA_ARGS__)
#define weft_logical_xor(...) WEFT_LOCATED_TWO_("logical_xor", weft_logical_xor, __VA_ARGS__)
#define weft_polygamma(...) WEFT_LOCATED_(polygamma, __VA_ARGS__)
#define weft_logical_not(...) WEFT_LOCATED_(logical_not, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
