/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/math/function.h"

static const bool is_function[WEFT_OP_COUNT] = {
#define IS_FUNCTION_F32(name) [WEFT_OP_##name] = true,
#define IS_FUNCTION_F64(name)
#define WEFT_MATH(name, dtype, ulp) IS_FUNCTION_##dtype(name)
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

bool weft_op_is_function(const weft_op_def *op)
{
    weft_op_id id = weft_op_id_of(op);
    return id < WEFT_OP_COUNT && is_function[id];
}
