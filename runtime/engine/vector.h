/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_VECTOR_H
#define WEFT_RUNTIME_ENGINE_VECTOR_H
/* Shared by the kernels of products, whatever the width of their vectors. */

/* Elements of operands may lie anywhere. */
typedef float any_float __attribute__((aligned(1), may_alias));
typedef double any_double __attribute__((aligned(1), may_alias));

/* Before a loop whose arrays are registers. */
#define UNROLL _Pragma("GCC unroll 16")
#endif
