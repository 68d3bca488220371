/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H
/*
 * How lists are written in C: WEFT_SHAPE(n, 784), WEFT_INTS(0, -1), WEFT_TENSORS(x, y). All may be empty, and live as
 * long as the block they are written in. Included by <weft/graph.h>.
 *
 * A shape takes extents and integers of any type, at most 16 of them; longer ones are arrays of weft_extent. More than
 * that do not compile: the compiler says that WEFT_EXTENT_ is not declared, or WEFT_EACH_17_, perhaps with the 17th
 * item in place of 17. Anything that is neither an integer nor an extent does not compile; neither, with GCC, does a
 * bit-field: write +x. An unsigned number that does not fit an int64_t is the invalid extent.
 */
#include <weft/graph.h>

#define WEFT_SHAPE(...) WEFT_SHAPE_(WEFT_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define WEFT_INTS(...) ((weft_ints){WEFT_LIST_(int64_t, 0, __VA_ARGS__)})
#define WEFT_TENSORS(...) ((weft_tensors){WEFT_LIST_(weft_tensor, ((weft_tensor){0, 0, 0}), __VA_ARGS__)})

/* Count and items. The first item, which is not counted, is there because C has no empty lists. */
#define WEFT_LIST_(type, none, ...)                                                                                    \
    sizeof((type[]){none, __VA_ARGS__}) / sizeof(type) - 1, (type[]){none, __VA_ARGS__} + 1

static inline weft_extent weft_extent_same_(weft_extent extent)
{
    return extent;
}
static inline weft_extent weft_extent_of_unsigned_(uint64_t value)
{
    return weft_extent_of(value > INT64_MAX ? INT64_MIN : (int64_t)value);
}

/* An extent, or an integer as one. */
#define WEFT_EXTENT_(value) WEFT_INTEGER_(value, weft_extent_same_, weft_extent_of, weft_extent_of_unsigned_)
/* `extent`, `number` or `other` of the value: for an extent, an integer that an int64_t holds, any other. */
#define WEFT_INTEGER_(value, extent, number, other)                                                                    \
    _Generic((value), weft_extent                                                                                      \
             : extent, _Bool                                                                                           \
             : number, char                                                                                            \
             : number, signed char                                                                                     \
             : number, short                                                                                           \
             : number, int                                                                                             \
             : number, long                                                                                            \
             : number, long long                                                                                       \
             : number, unsigned char                                                                                   \
             : number, unsigned short                                                                                  \
             : number, unsigned                                                                                        \
             : number, unsigned long                                                                                   \
             : other, unsigned long long                                                                               \
             : other)(value)

#define WEFT_SHAPE_(count, ...) WEFT_SHAPE_OF_(count, __VA_ARGS__)
#define WEFT_SHAPE_OF_(count, ...)                                                                                     \
    ((weft_shape){count, (weft_extent[]){{0, 0}, WEFT_EACH_##count##_(WEFT_EXTENT_, __VA_ARGS__, )} + 1})

/* ---- how many arguments: 0 to 16 ---- */
#define WEFT_COUNT_(...)                                                                                               \
    WEFT_SEVENTEENTH_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, WEFT_ONE_(__VA_ARGS__), )
#define WEFT_SEVENTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count

/* 1, or 0 for an argument of no tokens: between the name of a macro and () only that leaves a call, which gives a
 * comma. So does an argument in parentheses, but that needs no () after it. */
#define WEFT_ONE_(...) WEFT_ONE_OF_(WEFT_MANY_(WEFT_COMMA_ __VA_ARGS__), WEFT_MANY_(WEFT_COMMA_ __VA_ARGS__()))
#define WEFT_ONE_OF_(called, called_after) WEFT_ONE_IF_(called, called_after)
#define WEFT_ONE_IF_(called, called_after) WEFT_ONE_##called##called_after##_
#define WEFT_ONE_00_ 1
#define WEFT_ONE_01_ 0
#define WEFT_ONE_11_ 1
#define WEFT_COMMA_(...) ,
#define WEFT_MANY_(...) WEFT_SEVENTEENTH_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, )

/* ---- f(a), f(b), ...; what follows the last argument is empty, or in the way of compiling more than 16 ---- */
#define WEFT_EACH_0_(f, a, ...) a __VA_ARGS__
#define WEFT_EACH_1_(f, a, ...) f(a) __VA_ARGS__
#define WEFT_EACH_2_(f, a, ...) f(a), WEFT_EACH_1_(f, __VA_ARGS__)
#define WEFT_EACH_3_(f, a, ...) f(a), WEFT_EACH_2_(f, __VA_ARGS__)
#define WEFT_EACH_4_(f, a, ...) f(a), WEFT_EACH_3_(f, __VA_ARGS__)
#define WEFT_EACH_5_(f, a, ...) f(a), WEFT_EACH_4_(f, __VA_ARGS__)
#define WEFT_EACH_6_(f, a, ...) f(a), WEFT_EACH_5_(f, __VA_ARGS__)
#define WEFT_EACH_7_(f, a, ...) f(a), WEFT_EACH_6_(f, __VA_ARGS__)
#define WEFT_EACH_8_(f, a, ...) f(a), WEFT_EACH_7_(f, __VA_ARGS__)
#define WEFT_EACH_9_(f, a, ...) f(a), WEFT_EACH_8_(f, __VA_ARGS__)
#define WEFT_EACH_10_(f, a, ...) f(a), WEFT_EACH_9_(f, __VA_ARGS__)
#define WEFT_EACH_11_(f, a, ...) f(a), WEFT_EACH_10_(f, __VA_ARGS__)
#define WEFT_EACH_12_(f, a, ...) f(a), WEFT_EACH_11_(f, __VA_ARGS__)
#define WEFT_EACH_13_(f, a, ...) f(a), WEFT_EACH_12_(f, __VA_ARGS__)
#define WEFT_EACH_14_(f, a, ...) f(a), WEFT_EACH_13_(f, __VA_ARGS__)
#define WEFT_EACH_15_(f, a, ...) f(a), WEFT_EACH_14_(f, __VA_ARGS__)
#define WEFT_EACH_16_(f, a, ...) f(a), WEFT_EACH_15_(f, __VA_ARGS__)

#endif
