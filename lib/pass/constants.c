/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/constants.h"
#include <math.h>
#include <string.h>
#include "lib/graph/scalar.h"
#include "runtime/base/float_bits.h"

/* What a constant is: integers exactly, floats exactly. */
typedef struct scalar {
    bool is_float;
    int64_t integer;
    double real;
} scalar;

bool weft_constant_repeats(weft_tensor x, const void *element)
{
    if (weft_tensor_is_op(x, WEFT_OP_broadcast)) x = weft_tensor_operand(x, 0);
    if (!weft_tensor_is_op(x, WEFT_OP_constant)) return false;
    const weft_attr *data = &weft_tensor_node(x)->attrs[2];
    size_t step = weft_dtype_size(weft_tensor_dtype(x));
    for (size_t i = 0; i < data->size; i += step)
        if (memcmp((const char *)data->data + i, element, step) != 0) return false;
    return true;
}

static int64_t read_integer(weft_dtype dtype, const void *element)
{
    uint32_t word = 0;
    int64_t wide = 0;
    size_t size = weft_dtype_size(dtype);
    if (size == sizeof wide) memcpy(&wide, element, size);
    else memcpy(&word, element, size); /* in the low bytes */
    return size == sizeof wide ? wide : dtype == WEFT_I32 ? (int32_t)word : (int64_t)word;
}

/* Whether operand `i` is a constant of rank 0, or one that is broadcast, and no complex number. */
static bool read(const weft_rewrite_site *site, size_t i, scalar *out_scalar)
{
    weft_tensor x = site->inputs.items[i];
    if (weft_tensor_is_op(x, WEFT_OP_broadcast)) x = weft_tensor_operand(x, 0);
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    if (kind == WEFT_KIND_COMPLEX || weft_tensor_rank(x) > 0 || !weft_tensor_is_op(x, WEFT_OP_constant)) return false;
    const void *element = weft_tensor_node(x)->attrs[2].data;
    uint64_t bits = 0;
    memcpy(&bits, element, weft_dtype_size(dtype));
    *out_scalar = (scalar){.is_float = kind == WEFT_KIND_FLOAT};
    if (out_scalar->is_float) out_scalar->real = weft_float_decode(dtype, bits);
    else out_scalar->integer = read_integer(dtype, element);
    return true;
}

/* The node's value, if all elements are this one. */
static weft_tensor all(const weft_rewrite_site *site, const void *element)
{
    const weft_type *type = &site->node->types[0];
    weft_tensor value = weft_constant(site->graph, type->dtype, (weft_ints){0, NULL}, element);
    return type->shape.rank == 0 ? value : weft_broadcast(value, type->shape);
}

static weft_tensor truth(const weft_rewrite_site *site, bool value)
{
    return all(site, &value);
}

/* ---- comparisons ---- */

static bool is_equal(const scalar *a, const scalar *b)
{
    return a->is_float ? a->real == b->real : a->integer == b->integer;
}

static bool is_less(const scalar *a, const scalar *b)
{
    return a->is_float ? a->real < b->real : a->integer < b->integer;
}

weft_tensor weft_constant_compare(const weft_rewrite_site *site)
{
    scalar a, b;
    if (!read(site, 0, &a) || !read(site, 1, &b)) return weft_site_leave();
    switch (weft_op_id_of(site->node->op)) {
    case WEFT_OP_eq: return truth(site, is_equal(&a, &b));
    case WEFT_OP_ne: return truth(site, !is_equal(&a, &b));
    case WEFT_OP_lt: return truth(site, is_less(&a, &b));
    case WEFT_OP_gt: return truth(site, is_less(&b, &a));
    case WEFT_OP_le: return truth(site, is_less(&a, &b) || is_equal(&a, &b));
    case WEFT_OP_ge: return truth(site, is_less(&b, &a) || is_equal(&a, &b));
    default: return weft_site_leave();
    }
}

weft_tensor weft_constant_test(const weft_rewrite_site *site)
{
    scalar x;
    if (!read(site, 0, &x)) return weft_site_leave();
    switch (weft_op_id_of(site->node->op)) {
    case WEFT_OP_is_nan: return truth(site, isnan(x.real));
    case WEFT_OP_is_finite: return truth(site, isfinite(x.real));
    case WEFT_OP_not:
        return weft_tensor_dtype(site->inputs.items[0]) == WEFT_BOOL ? truth(site, x.integer == 0) : weft_site_leave();
    default: return weft_site_leave();
    }
}

/* ---- arithmetic ---- */

static weft_tensor constant_of(const weft_rewrite_site *site, double value)
{
    unsigned char element[16] = {0};
    weft_dtype dtype = site->node->types[0].dtype;
    if (isnan(value)) return weft_site_leave();
    weft_scalar_store(dtype, value, element);
    return all(site, element);
}

/* The low bits: all machines that weft is for have them first. */
static weft_tensor low_bits(const weft_rewrite_site *site, int64_t value)
{
    unsigned char element[16] = {0};
    weft_dtype dtype = site->node->types[0].dtype;
    memcpy(element, &value, weft_dtype_size(dtype));
    return all(site, element);
}

weft_tensor weft_constant_cast(const weft_rewrite_site *site)
{
    scalar x;
    const int64_t most = INT64_C(1) << 53; /* doubles have these exactly */
    weft_dtype_kind kind = weft_dtype_info_of(site->node->types[0].dtype)->kind;
    if (!read(site, 0, &x) || kind == WEFT_KIND_COMPLEX) return weft_site_leave();
    if (x.is_float) return constant_of(site, x.real);
    if (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED) return low_bits(site, x.integer);
    return x.integer >= -most && x.integer <= most ? constant_of(site, (double)x.integer) : weft_site_leave();
}

static double compute_f32(weft_op_id op, float a, float b)
{
    return op == WEFT_OP_add ? a + b : op == WEFT_OP_sub ? a - b : op == WEFT_OP_mul ? a * b : a / b;
}

static double compute_f64(weft_op_id op, double a, double b)
{
    return op == WEFT_OP_add ? a + b : op == WEFT_OP_sub ? a - b : op == WEFT_OP_mul ? a * b : a / b;
}

/* Modulo 2^64. */
static weft_tensor compute_integer(const weft_rewrite_site *site, weft_op_id op, uint64_t a, uint64_t b)
{
    switch (op) {
    case WEFT_OP_add: return low_bits(site, (int64_t)(a + b));
    case WEFT_OP_sub: return low_bits(site, (int64_t)(a - b));
    case WEFT_OP_mul: return low_bits(site, (int64_t)(a * b));
    case WEFT_OP_and: return low_bits(site, (int64_t)(a & b));
    case WEFT_OP_or: return low_bits(site, (int64_t)(a | b));
    default: return weft_site_leave(); /* div */
    }
}

weft_tensor weft_constant_compute(const weft_rewrite_site *site)
{
    scalar a, b;
    weft_dtype dtype = site->node->types[0].dtype;
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    weft_op_id op = weft_op_id_of(site->node->op);
    if (!read(site, 0, &a) || !read(site, 1, &b)) return weft_site_leave();
    if (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED)
        return compute_integer(site, op, (uint64_t)a.integer, (uint64_t)b.integer);
    if (dtype == WEFT_F32) return constant_of(site, compute_f32(op, (float)a.real, (float)b.real));
    return dtype == WEFT_F64 ? constant_of(site, compute_f64(op, a.real, b.real)) : weft_site_leave();
}
