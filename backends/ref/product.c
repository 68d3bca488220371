/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include "backends/ref/ordered.h"

/* Strides of both operands along some axes of the computation; 0 where an operand does not have the axis. */
typedef struct pairing {
    size_t rank;
    int64_t shape[WEFT_MAX_RANK], a[WEFT_MAX_RANK], b[WEFT_MAX_RANK];
} pairing;

static void pair_axes(const weft_reference_call *call, weft_ints of_a, weft_ints of_b, pairing *out_pairing)
{
    const weft_view *a = &call->inputs[0], *b = &call->inputs[1];
    for (size_t i = 0; i < of_a.count; i++) {
        size_t at = out_pairing->rank++;
        out_pairing->shape[at] = a->shape[of_a.items[i]];
        out_pairing->a[at] = a->strides[of_a.items[i]];
        out_pairing->b[at] = b->strides[of_b.items[i]];
    }
}

static bool contains(weft_ints axes, int64_t axis)
{
    for (size_t i = 0; i < axes.count; i++)
        if (axes.items[i] == axis) return true;
    return false;
}

/* The axes of operand `number` that are neither batch nor contracted. */
static void add_free_axes(const weft_reference_call *call, size_t number, pairing *out_pairing)
{
    const weft_view *x = &call->inputs[number];
    for (size_t i = 0; i < x->rank; i++) {
        if (contains(call->attrs[number].ints, (int64_t)i) || contains(call->attrs[2 + number].ints, (int64_t)i))
            continue;
        size_t at = out_pairing->rank++;
        out_pairing->shape[at] = x->shape[i];
        out_pairing->a[at] = number == 0 ? x->strides[i] : 0;
        out_pairing->b[at] = number == 1 ? x->strides[i] : 0;
    }
}

static weft_status *check_pairs(const weft_reference_call *call, weft_ints of_a, weft_ints of_b)
{
    for (size_t i = 0; i < of_a.count; i++)
        if (call->inputs[0].shape[of_a.items[i]] != call->inputs[1].shape[of_b.items[i]])
            return weft_reference_error(call, WEFT_INTERNAL, "the extents of pair %zu differ", i);
    return NULL;
}

static int64_t offset_of(size_t rank, const int64_t *strides, const int64_t *index)
{
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; axis++) offset += strides[axis] * index[axis];
    return offset;
}

struct product {
    const weft_view *a, *b;
    pairing outer, inner;
    weft_element_function multiply, add;
};

/* The elements of a pair of terms, from the offsets of the first one and the index among them. */
static weft_element left_term(const struct product *product, int64_t offset, const int64_t *index)
{
    int64_t position = offset + offset_of(product->inner.rank, product->inner.a, index);
    return weft_element_load(product->a->dtype, weft_view_nth(product->a, position));
}

static weft_element right_term(const struct product *product, int64_t offset, const int64_t *index)
{
    int64_t position = offset + offset_of(product->inner.rank, product->inner.b, index);
    return weft_element_load(product->b->dtype, weft_view_nth(product->b, position));
}

static weft_element wide_sum(const struct product *product, int64_t a_offset, int64_t b_offset)
{
    const pairing *inner = &product->inner;
    weft_element sum = weft_element_cast(WEFT_I64, (weft_element){.integer = 0}, product->a->dtype);
    int64_t index[WEFT_MAX_RANK];
    for (bool more = weft_index_start(inner->rank, inner->shape, index); more;
         more = weft_index_next(inner->rank, inner->shape, index))
        sum = product->add(
            sum, product->multiply(left_term(product, a_offset, index), right_term(product, b_offset, index)));
    return sum;
}

/* ---- all elements ---- */

/* Bools are joined by `and` and `or`. */
weft_status *weft_reference_dot(const weft_reference_call *call)
{
    const weft_view *out = &call->outputs[0];
    weft_dtype_kind kind = weft_element_kind(out->dtype);
    bool logical = kind == WEFT_KIND_BOOL;
    struct product product = {.a = &call->inputs[0],
                              .b = &call->inputs[1],
                              .multiply = weft_element_function_of(logical ? WEFT_OP_and : WEFT_OP_mul, kind),
                              .add = weft_element_function_of(logical ? WEFT_OP_or : WEFT_OP_add, kind)};
    WEFT_TRY(check_pairs(call, call->attrs[0].ints, call->attrs[1].ints));
    WEFT_TRY(check_pairs(call, call->attrs[2].ints, call->attrs[3].ints));
    pair_axes(call, call->attrs[0].ints, call->attrs[1].ints, &product.outer);
    add_free_axes(call, 0, &product.outer);
    add_free_axes(call, 1, &product.outer);
    pair_axes(call, call->attrs[2].ints, call->attrs[3].ints, &product.inner);
    const pairing *outer = &product.outer;
    weft_ordered_sum sum;
    bool in_order = weft_ordered_sum_init(call, &sum);
    for (size_t i = 0; i < product.inner.rank; i++) {
        sum.extents[i] = product.inner.shape[i];
        sum.strides[0][i] = product.inner.a[i];
        sum.strides[1][i] = product.inner.b[i];
    }
    int64_t index[WEFT_MAX_RANK], position = 0;
    for (bool more = weft_index_start(outer->rank, outer->shape, index); more;
         more = weft_index_next(outer->rank, outer->shape, index)) {
        int64_t a = offset_of(outer->rank, outer->a, index), b = offset_of(outer->rank, outer->b, index);
        weft_element element = in_order ? weft_ordered_sum_at(&sum, (int64_t[]){a, b}) : wide_sum(&product, a, b);
        weft_element_store(out->dtype, element, weft_view_nth(out, position++));
    }
    return NULL;
}
