/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of cotangents. One that is zero except for a part, since only a part of a value was used, is not added as a
 * whole: the sum of n of them would take time n times their size.
 *
 *  - Parts at places known by numbers that lie side by side, as those of a split do, become one by a concat.
 *  - Parts at places found in the run are added there, which an update in place can do.
 */
#include <weft/shape.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/grad/sweep.h"
#include "lib/graph/indexing.h"

static const weft_node *node_of(weft_tensor tensor)
{
    return weft_graph_node(tensor.graph, tensor.node);
}

static weft_tensor operand_of(weft_tensor tensor, uint32_t i)
{
    weft_value value = node_of(tensor)->inputs[i];
    return (weft_tensor){tensor.graph, value.node, value.output};
}

static bool is_op(weft_tensor tensor, weft_op_id op)
{
    return weft_op_id_of(node_of(tensor)->op) == op;
}

/* Of +0 alone: -0 + x may be -0. */
static bool is_zeros(weft_tensor tensor)
{
    while (is_op(tensor, WEFT_OP_broadcast)) tensor = operand_of(tensor, 0);
    if (!is_op(tensor, WEFT_OP_constant)) return false;
    const weft_attr *data = &node_of(tensor)->attrs[2];
    const uint8_t *bytes = data->data;
    bool zero = data->size <= 16;
    for (size_t i = 0; i < data->size && zero; i++) zero = bytes[i] == 0;
    return zero;
}

/* ---- parts at places found in the run ---- */

static bool is_added(const weft_node *node)
{
    return strcmp(node->attrs[2].data, weft_scatter_mode_name(WEFT_SCATTER_ADD)) == 0;
}

/* Whether `part` writes into zeros, so that it can write into another value as well. */
static bool is_part(weft_tensor part)
{
    bool updates = weft_tensor_is_valid(part) && weft_indexing_updates(weft_op_id_of(node_of(part)->op));
    if (!updates || !is_zeros(operand_of(part, 0))) return false;
    return is_op(part, WEFT_OP_dynamic_update_slice) || is_added(node_of(part));
}

/* The update of a dynamic_update_slice, added to what `total` has there. */
static weft_tensor add_there(weft_tensor total, weft_tensor part, weft_tensors starts)
{
    weft_ints axes = node_of(part)->attrs[0].ints;
    weft_tensor update = operand_of(part, 1);
    weft_extent sizes[WEFT_MAX_RANK];
    for (size_t i = 0; i < axes.count; i++) sizes[i] = weft_tensor_extent(update, axes.items[i]);
    weft_tensor before = weft_dynamic_slice(total, starts, axes, (weft_shape){axes.count, sizes});
    return weft_dynamic_update_slice(total, weft_add(before, update), starts, axes);
}

static weft_tensor add_part(weft_tensor total, weft_tensor part)
{
    const weft_node *node = node_of(part);
    const weft_attr *attrs = node->attrs;
    weft_tensor others[WEFT_MAX_RANK + 2];
    for (uint32_t i = 0; i < node->input_count; i++) others[i] = operand_of(part, i);
    weft_tensors named = {node->input_count - 2, others + 2};
    if (is_op(part, WEFT_OP_dynamic_update_slice)) return add_there(total, part, named);
    return weft_trace_scatter(total, others[1], named, attrs[0].ints, attrs[1].ints, WEFT_SCATTER_ADD);
}

weft_tensor weft_gradient_add(weft_tensor a, weft_tensor b)
{
    if (a.graph == NULL) return b;
    if (b.graph == NULL) return a;
    if (is_part(b)) return add_part(a, b);
    return is_part(a) ? add_part(b, a) : weft_add(a, b);
}

/* ---- parts at places known by numbers ---- */

/* A tensor padded with zeros along one axis. */
typedef struct padded {
    weft_tensor inner;
    size_t axis;
    weft_extent low, high;
} padded;

static bool find_padded(weft_tensor tensor, padded *out_padded)
{
    size_t count = 0;
    bool is_pad = weft_tensor_is_valid(tensor) && is_op(tensor, WEFT_OP_pad) && is_zeros(operand_of(tensor, 1));
    if (!is_pad) return false;
    const weft_attr *attrs = node_of(tensor)->attrs;
    for (size_t i = 0; i < attrs[0].extents.rank; i++) {
        weft_extent low = attrs[0].extents.extents[i], high = attrs[1].extents.extents[i];
        if (weft_extent_is_value(low, 0) && weft_extent_is_value(high, 0)) continue;
        *out_padded = (padded){operand_of(tensor, 0), i, low, high};
        count++;
    }
    return count == 1;
}

static bool follows(const padded *first, const padded *second)
{
    weft_extent size = weft_tensor_extent(first->inner, (int64_t)first->axis);
    return first->axis == second->axis && weft_extent_equal(weft_extent_add(first->low, size), second->low);
}

/* The cotangents of one value, and which of them are in the sum already. */
typedef struct summands {
    size_t count;
    weft_tensor *tensors, *run;
    bool *taken;
} summands;

/* Moves `*at` to one that lies right before it, or right after it; false if there is none. */
static bool step_on(const summands *s, bool after, padded *at, size_t *out_number)
{
    for (size_t i = 0; i < s->count; i++) {
        padded other;
        if (s->taken[i] || !find_padded(s->tensors[i], &other)) continue;
        if (!(after ? follows(at, &other) : follows(&other, at))) continue;
        *at = other;
        *out_number = i;
        return true;
    }
    return false;
}

/* `x`, padded as the first and the last of what it is made of. */
static weft_tensor pad_run(weft_tensor x, const padded *first, const padded *last)
{
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK], none = weft_extent_of(0);
    size_t rank = weft_tensor_rank(x);
    if (weft_extent_is_value(first->low, 0) && weft_extent_is_value(last->high, 0)) return x;
    for (size_t i = 0; i < rank; i++) {
        low[i] = i == first->axis ? first->low : none;
        high[i] = i == first->axis ? last->high : none;
    }
    return weft_pad(x, weft_scalar_like(x, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
}

/* All that lie in a row with `number` as one tensor; that one as it is if there are no others. */
static weft_tensor take_run(const summands *s, size_t number)
{
    padded first, last;
    size_t count = 0;
    bool is_padded = find_padded(s->tensors[number], &first);
    if (!is_padded) s->taken[number] = true;
    if (!is_padded) return s->tensors[number];
    for (size_t i = 0; i < s->count && step_on(s, false, &first, &number);) i++;
    last = first;
    do {
        s->taken[number] = true;
        s->run[count++] = last.inner;
    } while (step_on(s, true, &last, &number));
    if (count == 1) return s->tensors[number];
    return pad_run(weft_concat((weft_tensors){count, s->run}, (int64_t)first.axis), &first, &last);
}

/* Parts that are written into what is there come last. */
static weft_tensor sum_all(const summands *s)
{
    weft_tensor total = WEFT_NO_TENSOR;
    for (size_t i = 0; i < s->count; i++)
        while (!s->taken[i] && !is_part(s->tensors[i])) total = weft_gradient_add(total, take_run(s, i));
    for (size_t i = 0; i < s->count; i++)
        if (!s->taken[i]) total = weft_gradient_add(total, s->tensors[i]);
    return total;
}

weft_status *weft_gradient_sum(weft_sweep *sweep, const weft_contribution *uses, weft_tensor *out_sum)
{
    summands s = {.count = 0};
    *out_sum = uses == NULL ? WEFT_NO_TENSOR : uses->tensor;
    if (uses == NULL || uses->next == NULL) return NULL;
    for (const weft_contribution *use = uses; use != NULL; use = use->next) s.count++;
    s.tensors = weft_sweep_allocate(sweep, s.count, sizeof *s.tensors);
    s.run = weft_sweep_allocate(sweep, s.count, sizeof *s.run);
    s.taken = weft_sweep_allocate(sweep, s.count, sizeof *s.taken);
    if (s.tensors == NULL || s.run == NULL || s.taken == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; uses != NULL; uses = uses->next) s.tensors[i++] = uses->tensor;
    *out_sum = sum_all(&s);
    return NULL;
}
