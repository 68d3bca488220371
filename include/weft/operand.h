/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_OPERAND_H
#define WEFT_OPERAND_H
/*
 * Numbers as operands: weft_mul(x, 2), weft_sub(1, x), weft_clamp(x, 0, 6), weft_select(mask, scores, -INFINITY).
 * Included by <weft/ops.h>. In C, with GCC or clang, and unless WEFT_NO_LOCATIONS is defined, the macros of elementwise
 * functions of several operands take numbers (integers of up to 64 bits, a bit-field x as +x, float and double) in
 * place of all of these except one; so do weft_pad and the updates of index.h for their value. Inline functions that
 * use them are static.
 *
 * A number becomes a constant of rank 0 with the dtype of the first tensor beside it (weft_select: beside `a` and `b`;
 * its condition is a tensor). An integer dtype accepts what it can represent exactly: 2.0 but not 2.5 or NaN; bool
 * accepts 0 and 1. A float dtype accepts numbers that are not finite, and those that do not become infinite by
 * rounding, which is done once, to nearest even; a complex dtype accepts the same, as the real part. Anything else is
 * WEFT_OUT_OF_RANGE. Numbers alone have no dtype: WEFT_INVALID_ARGUMENT, or without a graph a failed tensor.
 *
 * Calls of these macros within each other cost the C compiler time and memory that grow with the square of the depth: a
 * hundred deep a second and up to 1.5 GB, and clang refuses more than 256 open brackets. In long chains, especially in
 * generated code, use a variable for each step.
 */
#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_operand_kind {
    WEFT_OPERAND_TENSOR,
    WEFT_OPERAND_SIGNED,
    WEFT_OPERAND_UNSIGNED,
    WEFT_OPERAND_REAL
} weft_operand_kind;

/* A tensor or a number; made by the macros. */
typedef struct weft_operand {
    weft_operand_kind kind;
    weft_tensor tensor;
    union {
        int64_t integer;
        uint64_t natural;
        double real;
    } number;
} weft_operand;

/* The operands as tensors: numbers take the dtype of the first tensor from operand `first` on. Those before it, those
 * without such a tensor and those that the dtype cannot hold become failed tensors, with an error of `function`. */
void weft_operands_fill(const char *function, size_t first, size_t count, const weft_operand *operands,
                        weft_tensor *out_tensors);

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
static inline weft_operand weft_operand_tensor_(weft_tensor tensor)
{
    return (weft_operand){.kind = WEFT_OPERAND_TENSOR, .tensor = tensor};
}
static inline weft_operand weft_operand_signed_(int64_t number)
{
    return (weft_operand){.kind = WEFT_OPERAND_SIGNED, .number = {.integer = number}};
}
static inline weft_operand weft_operand_unsigned_(uint64_t number)
{
    return (weft_operand){.kind = WEFT_OPERAND_UNSIGNED, .number = {.natural = number}};
}
static inline weft_operand weft_operand_real_(double number)
{
    return (weft_operand){.kind = WEFT_OPERAND_REAL, .number = {.real = number}};
}

/* Once in the text, whatever its type: nested calls would double with each level if it were there twice. */
#define WEFT_OPERAND_(value) WEFT_OPERAND_COUNTED_(value, __COUNTER__)
#define WEFT_OPERAND_COUNTED_(value, count) WEFT_OPERAND_NAMED_(value, count)
#define WEFT_OPERAND_NAMED_(value, count)                                                                              \
    __extension__({                                                                                                    \
        __auto_type weft_operand_##count##_ = (value);                                                                 \
        _Generic(weft_operand_##count##_, weft_tensor                                                                  \
                 : weft_operand_tensor_, _Bool                                                                         \
                 : weft_operand_unsigned_, char                                                                        \
                 : weft_operand_signed_, signed char                                                                   \
                 : weft_operand_signed_, short                                                                         \
                 : weft_operand_signed_, int                                                                           \
                 : weft_operand_signed_, long                                                                          \
                 : weft_operand_signed_, long long                                                                     \
                 : weft_operand_signed_, unsigned char                                                                 \
                 : weft_operand_unsigned_, unsigned short                                                              \
                 : weft_operand_unsigned_, unsigned                                                                    \
                 : weft_operand_unsigned_, unsigned long                                                               \
                 : weft_operand_unsigned_, unsigned long long                                                          \
                 : weft_operand_unsigned_, float                                                                       \
                 : weft_operand_real_, double                                                                          \
                 : weft_operand_real_)(weft_operand_##count##_);                                                       \
    })

static inline weft_tensor weft_call_two_(const char *name, weft_tensor (*function)(weft_tensor a, weft_tensor b),
                                         weft_operand a, weft_operand b)
{
    weft_tensor tensors[2];
    weft_operands_fill(name, 0, 2, (weft_operand[]){a, b}, tensors);
    return function(tensors[0], tensors[1]);
}
static inline weft_tensor weft_call_three_(const char *name,
                                           weft_tensor (*function)(weft_tensor a, weft_tensor b, weft_tensor c),
                                           size_t first, weft_operand a, weft_operand b, weft_operand c)
{
    weft_tensor tensors[3];
    weft_operands_fill(name, first, 3, (weft_operand[]){a, b, c}, tensors);
    return function(tensors[0], tensors[1], tensors[2]);
}
/* `value` as a tensor that goes with `x`. */
static inline weft_tensor weft_operand_beside_(const char *name, weft_tensor x, weft_operand value)
{
    weft_tensor tensors[2];
    weft_operands_fill(name, 0, 2, (weft_operand[]){weft_operand_tensor_(x), value}, tensors);
    return tensors[1];
}

#define WEFT_TAKES_NUMBERS_ 1
/* `name` as a string: other headers may define it, as <complex.h> does. */
#define WEFT_LOCATED_TWO_(name, function, ...) WEFT_LOCATED_TWO_OF_(name, function, __VA_ARGS__)
#define WEFT_LOCATED_TWO_OF_(name, function, a, b)                                                                     \
    WEFT_LOCATED(name, weft_call_two_(name, function, WEFT_OPERAND_(a), WEFT_OPERAND_(b)))
#define WEFT_LOCATED_THREE_(name, function, first, ...) WEFT_LOCATED_THREE_OF_(name, function, first, __VA_ARGS__)
#define WEFT_LOCATED_THREE_OF_(name, function, first, a, b, c)                                                         \
    WEFT_LOCATED(name, weft_call_three_(name, function, first, WEFT_OPERAND_(a), WEFT_OPERAND_(b), WEFT_OPERAND_(c)))
#else
#define WEFT_TAKES_NUMBERS_ 0
#define WEFT_LOCATED_TWO_(name, function, ...) WEFT_LOCATED(name, function(__VA_ARGS__))
#define WEFT_LOCATED_THREE_(name, function, first, ...) WEFT_LOCATED(name, function(__VA_ARGS__))
#endif
#endif
