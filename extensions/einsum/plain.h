/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAIN_H
#define EINSUM_PLAIN_H
/* Costs are floats: they are the same, and trap nothing, however the caller's thread rounds and whatever it traps. */
#include <fenv.h>

/* Begins the definition of a function that computes as threads do at their start; its body follows. `static`
 * may stand before. The body is a function of its own, as compilers move arithmetic. The caller's floating-point
 * environment is as it was afterwards, flags included. Callbacks of a type rule, of a lowering and of a run are called
 * so by weft. */
#define EINSUM_PLAIN_FUNCTION(type, name, parameters, arguments)                                                       \
    type name parameters;                                                                                              \
    static __attribute__((noinline)) type plain_##name parameters;                                                     \
    type name parameters                                                                                               \
    {                                                                                                                  \
        fenv_t saved_;                                                                                                 \
        fegetenv(&saved_);                                                                                             \
        fesetenv(FE_DFL_ENV);                                                                                          \
        type result_ = plain_##name arguments;                                                                         \
        fesetenv(&saved_);                                                                                             \
        return result_;                                                                                                \
    }                                                                                                                  \
    static type plain_##name parameters
#endif
