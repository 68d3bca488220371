/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in place of operands: constants of the dtype of the tensor beside them. */
#include <weft/operand.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/scalar.h"
#include "lib/trace/trace.h"
#include "runtime/base/float_mode.h"

WEFT_PLAIN_FUNCTION(weft_tensor, weft_scalar, (weft_graph * graph, weft_dtype dtype, double value),
                    (graph, dtype, value))
{
    unsigned char element[16] = {0};
    if (weft_dtype_info_of(dtype) != NULL) weft_scalar_store(dtype, value, element);
    return weft_constant(graph, dtype, (weft_ints){0, NULL}, element);
}

typedef struct integer_range {
    int64_t least, most;
} integer_range;

static const integer_range ranges[WEFT_DTYPE_COUNT] = {[WEFT_BOOL] = {0, 1},
                                                       [WEFT_U8] = {0, UINT8_MAX},
                                                       [WEFT_I32] = {INT32_MIN, INT32_MAX},
                                                       [WEFT_U32] = {0, UINT32_MAX},
                                                       [WEFT_I64] = {INT64_MIN, INT64_MAX}};

/* The number from which on rounding gives infinity. */
static const double bounds[WEFT_DTYPE_COUNT] = {
    [WEFT_BF16] = 0x1.ffp127, [WEFT_F16] = 65520,          [WEFT_F32] = 0x1.ffffffp127,
    [WEFT_F64] = INFINITY,    [WEFT_C64] = 0x1.ffffffp127, [WEFT_C128] = INFINITY};

static bool is_integer(weft_dtype dtype)
{
    return ranges[dtype].most != 0;
}

/* The number as an integer; false when it is none, or none of 64 bits. */
static bool find_integer(const weft_operand *operand, int64_t *out_value)
{
    double real = operand->number.real, whole;
    switch (operand->kind) {
    case WEFT_OPERAND_SIGNED: *out_value = operand->number.integer; return true;
    case WEFT_OPERAND_UNSIGNED: *out_value = (int64_t)operand->number.natural; return *out_value >= 0;
    default:
        whole = floor(real);
        if (!(real >= -0x1p63 && real < 0x1p63) || whole != real) return false;
        *out_value = (int64_t)real;
        return true;
    }
}

/* The nearest double, ties to even. With `odd`, an integer with more places than a double has is rounded to odd: its
 * last place is set where anything is dropped. Rounded again to a narrower float that is what the integer itself is
 * rounded to. */
static double real_of(const weft_operand *operand, bool odd)
{
    if (operand->kind == WEFT_OPERAND_REAL) return operand->number.real;
    bool negative = operand->kind == WEFT_OPERAND_SIGNED && operand->number.integer < 0;
    uint64_t size = negative ? -operand->number.natural : operand->number.natural;
    int dropped = size >> DBL_MANT_DIG == 0 ? 0 : 64 - DBL_MANT_DIG - __builtin_clzll(size);
    uint64_t kept = size >> dropped, last = (uint64_t)1 << dropped, rest = size & (last - 1);
    if (odd) kept |= rest != 0;
    else kept += 2 * rest > last || (2 * rest == last && (kept & 1) != 0);
    double value = ldexp((double)kept, dropped); /* exact */
    return negative ? -value : value;
}

WEFT_PLAIN_FUNCTION(bool, weft_operand_store, (weft_dtype dtype, const weft_operand *operand, void *out_element),
                    (dtype, operand, out_element))
{
    int64_t integer;
    if (!is_integer(dtype)) {
        double size = fabs(real_of(operand, false));
        if (isfinite(size) && size >= bounds[dtype]) return false;
        weft_scalar_store(dtype, real_of(operand, dtype != WEFT_F64 && dtype != WEFT_C128), out_element);
        return true;
    }
    if (!find_integer(operand, &integer) || integer < ranges[dtype].least || integer > ranges[dtype].most) return false;
    memcpy(out_element, &integer, weft_dtype_size(dtype)); /* its low bytes */
    return true;
}

static void describe(const weft_operand *operand, char *out_text, size_t size)
{
    switch (operand->kind) {
    case WEFT_OPERAND_SIGNED: snprintf(out_text, size, "%" PRId64, operand->number.integer); break;
    case WEFT_OPERAND_UNSIGNED: snprintf(out_text, size, "%" PRIu64, operand->number.natural); break;
    default: snprintf(out_text, size, "%.9g", operand->number.real); break;
    }
}

static WEFT_PLAIN_FUNCTION(weft_tensor, make_constant,
                           (const char *function, size_t number, const weft_operand *operand, weft_tensor like),
                           (function, number, operand, like))
{
    unsigned char element[16] = {0};
    char text[40];
    if (!weft_tensor_is_valid(like)) return weft_tensor_failed(like.graph);
    weft_dtype dtype = weft_tensor_dtype(like);
    if (weft_operand_store(dtype, operand, element))
        return weft_constant(like.graph, dtype, (weft_ints){0, NULL}, element);
    describe(operand, text, sizeof text);
    return weft_trace_fail(like.graph, WEFT_OUT_OF_RANGE, function, "operand %zu is %s, which %s cannot hold", number,
                           text, weft_dtype_name(dtype));
}

/* The first tensor from operand `first` on that has a graph; WEFT_NO_TENSOR where there is none. */
static weft_tensor find_tensor(size_t first, size_t count, const weft_operand *operands)
{
    for (size_t i = first; i < count; i++)
        if (operands[i].kind == WEFT_OPERAND_TENSOR && operands[i].tensor.graph != NULL) return operands[i].tensor;
    return WEFT_NO_TENSOR;
}

void weft_operands_fill(const char *function, size_t first, size_t count, const weft_operand *operands,
                        weft_tensor *out_tensors)
{
    weft_tensor like = find_tensor(first, count, operands), any = find_tensor(0, count, operands);
    for (size_t i = 0; i < count; i++) {
        if (operands[i].kind == WEFT_OPERAND_TENSOR) out_tensors[i] = operands[i].tensor;
        else if (any.graph == NULL) out_tensors[i] = weft_tensor_failed(NULL);
        else if (i < first || like.graph == NULL)
            out_tensors[i] = weft_trace_fail(any.graph, WEFT_INVALID_ARGUMENT, function,
                                             "operand %zu is a number, but no tensor gives its dtype", i);
        else out_tensors[i] = make_constant(function, i, &operands[i], like);
    }
}
