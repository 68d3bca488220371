/* SPDX-License-Identifier: Apache-2.0 */
/* Functions without rounding, of floats and integers. */
#include "lib/math/lower.h"

/* A small number of the operands' dtype. */
static weft_inst_id number(const writer *w, int value)
{
    if (w->format != NULL) return real(w, value);
    unsigned bits = 8 * (unsigned)weft_dtype_size(w->dtype);
    return constant(w, w->dtype, (uint64_t)(int64_t)value & UINT64_MAX >> (64 - bits));
}

weft_inst_id weft_math_sign(const writer *w, const weft_inst_id *x)
{
    weft_inst_id zero = number(w, 0), positive = less(w, zero, x[0]);
    weft_inst_id result = choose(w, positive, number(w, 1), x[0]);
    if (weft_dtype_info_of(w->dtype)->kind == WEFT_KIND_UNSIGNED) return result;
    weft_inst_id negative = less(w, x[0], zero);
    return choose(w, negative, number(w, -1), result);
}

weft_inst_id weft_math_copysign(const writer *w, const weft_inst_id *x)
{
    return with_sign(w, absolute(w, x[0]), x[1]);
}

weft_inst_id weft_math_is_nan(const writer *w, const weft_inst_id *x)
{
    return binary(w, WEFT_SCALAR_ne, x[0], x[0]);
}

weft_inst_id weft_math_is_finite(const writer *w, const weft_inst_id *x)
{
    weft_inst_id a = absolute(w, x[0]);
    return less(w, a, real(w, HUGE_VAL));
}

/* Where a shift by `count` keeps bits; *out_count is a count that any shift takes: `otherwise` elsewhere. */
static weft_inst_id is_inside(const writer *w, weft_inst_id count, int otherwise, weft_inst_id *out_count)
{
    weft_inst_id inside = less(w, count, number(w, 8 * (int)weft_dtype_size(w->dtype)));
    if (weft_dtype_info_of(w->dtype)->kind == WEFT_KIND_SIGNED) {
        weft_inst_id counts = binary(w, WEFT_SCALAR_ge, count, number(w, 0));
        inside = binary(w, WEFT_SCALAR_and, inside, counts);
    }
    *out_count = choose(w, inside, count, number(w, otherwise));
    return inside;
}

weft_inst_id weft_math_shift_left(const writer *w, const weft_inst_id *x)
{
    weft_inst_id count, inside = is_inside(w, x[1], 0, &count);
    weft_inst_id shifted = binary(w, WEFT_SCALAR_shl, x[0], count);
    return choose(w, inside, shifted, number(w, 0));
}

weft_inst_id weft_math_shift_right(const writer *w, const weft_inst_id *x)
{
    weft_inst_id count, inside;
    if (weft_dtype_info_of(w->dtype)->kind == WEFT_KIND_SIGNED) {
        is_inside(w, x[1], 8 * (int)weft_dtype_size(w->dtype) - 1, &count);
        return binary(w, WEFT_SCALAR_sar, x[0], count);
    }
    inside = is_inside(w, x[1], 0, &count);
    weft_inst_id shifted = binary(w, WEFT_SCALAR_shr, x[0], count);
    return choose(w, inside, shifted, number(w, 0));
}
