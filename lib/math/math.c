/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering of math functions.
 *
 * requires   a verified kernel in either state; f32 and f64 operands of the functions of math.def
 * maintains  the state, the values within the bounds of math.def, and the special values of IEEE 754 and C's Annex F
 * breaks     the numbering of instructions
 *
 * Each function is straight-line code that handles all values, and has no operation that AVX2 lacks; some look
 * constants up in a table, and some say what is needed `rarely`. Each of the other files has a family of functions,
 * with the constants next to the code.
 *
 * Each polynomial was found here: a weighted minimax fit on the interval named (least squares on Chebyshev points,
 * reweighted after Lawson until the largest error is least, in 240-bit arithmetic), its first coefficients rounded to
 * the format one by one with the others fitted again, the rest rounded at the end. `error` is the largest relative
 * error of the function built on the rounded polynomial in exact arithmetic.
 */
#include "lib/math/lower.h"
#include "lib/math/math.h"

static weft_math_lowering *const lowerings[WEFT_SCALAR_COUNT][MATH_FORMATS] = {
#define WEFT_MATH(name, dtype, ulp) [WEFT_SCALAR_##name][MATH_##dtype] = weft_math_##name,
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

/* In place of these with WEFT_FUNCTIONS_FAST. */
static weft_math_lowering *const fast_lowerings[WEFT_SCALAR_COUNT][MATH_FORMATS] = {
#define WEFT_MATH(name, dtype, ulp)
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#define WEFT_MATH_FAST(name, dtype, ulp) [WEFT_SCALAR_##name][MATH_##dtype] = weft_math_fast_##name,
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

/* Nothing to measure: the same arithmetic for every dtype that the operation takes. */
static weft_math_lowering *const exact_lowerings[WEFT_SCALAR_COUNT] = {
    [WEFT_SCALAR_sign] = weft_math_sign,
    [WEFT_SCALAR_copysign] = weft_math_copysign,
    [WEFT_SCALAR_is_nan] = weft_math_is_nan,
    [WEFT_SCALAR_is_finite] = weft_math_is_finite,
    [WEFT_SCALAR_shift_left] = weft_math_shift_left,
    [WEFT_SCALAR_shift_right] = weft_math_shift_right,
};

bool weft_scalar_is_math(weft_scalar_op op)
{
    return lowerings[op][MATH_F32] != NULL;
}

static weft_status *expand(weft_inst_list *list, const weft_inst *inst, bool fast, weft_inst_id *out_id)
{
    weft_math_lowering *exact = exact_lowerings[inst->op];
    if (exact == NULL && !weft_scalar_is_math(inst->op)) return NULL;
    weft_dtype dtype = list->items[inst->args[inst->arg_count - 1]].dtype;
    writer w = {.list = list, .dtype = dtype, .number = dtype == WEFT_F32 ? MATH_F32 : MATH_F64};
    if (dtype == WEFT_F32 || dtype == WEFT_F64) w.format = &weft_math_formats[w.number];
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    bool is_float = kind == WEFT_KIND_FLOAT, is_integer = kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED;
    if (inst->op == WEFT_SCALAR_pow && is_integer) {
        (void)weft_math_find_integer_power(&w, inst->args, out_id);
        return NULL;
    }
    if (kind == WEFT_KIND_COMPLEX || (exact == NULL && !is_float)) return NULL;
    if (is_float && w.format == NULL)
        return weft_status_create(list->arena->allocator, WEFT_UNSUPPORTED, "math lowering",
                                  "%s of dtype %s has no lowering: it takes f32 and f64", weft_scalar_name(inst->op),
                                  weft_dtype_name(dtype));
    weft_math_lowering *chosen = exact != NULL ? exact : fast ? fast_lowerings[inst->op][w.number] : NULL;
    if (chosen == NULL) chosen = lowerings[inst->op][w.number];
    *out_id = chosen(&w, inst->args);
    return NULL;
}

static weft_status *lower(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id)
{
    return expand(list, inst, false, out_id);
}

static weft_status *lower_fast(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id)
{
    return expand(list, inst, true, out_id);
}

weft_status *weft_kernel_lower_math(weft_kernel *kernel, weft_function_policy policy)
{
    return weft_kernel_rewrite(kernel, policy == WEFT_FUNCTIONS_FAST ? lower_fast : lower);
}
