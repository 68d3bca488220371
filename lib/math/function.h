/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_MATH_FUNCTION_H
#define WEFT_LIB_MATH_FUNCTION_H
#include "lib/graph/graph.h"

/* Whether the op is a function that expands into many instructions. */
bool weft_op_is_function(const weft_op_def *op);
#endif
