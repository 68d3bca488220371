/* SPDX-License-Identifier: Apache-2.0 */
/* Compositions of gather and scatter along one axis. */
#include <inttypes.h>
#include "lib/composite/composite.h"

/* The other axes of a tensor, along which it and the index tensor are walked together. */
typedef struct along_call {
    int64_t axis;
    size_t batch_count;
    int64_t batch[WEFT_MAX_RANK];
} along_call;

/* `operands` are x, the indices, and updates where there are some. */
static bool start_along(const char *function, size_t count, const weft_tensor *operands, int64_t axis,
                        along_call *out_call)
{
    if (!weft_composite_begin(function, count, count, operands)) return false;
    weft_tensor x = operands[0], indices = operands[1];
    size_t rank = weft_tensor_rank(x);
    if (weft_tensor_rank(indices) != rank) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "the indices have rank %zu but x has %zu",
                        weft_tensor_rank(indices), rank);
        return false;
    }
    if (!weft_axis_normalize(x.graph, function, axis, rank, &out_call->axis)) return false;
    out_call->batch_count = 0;
    for (size_t i = 0; i < rank; i++)
        if ((int64_t)i != out_call->axis) out_call->batch[out_call->batch_count++] = (int64_t)i;
    return true;
}

/* `x` with the extents of `other` where its own are one, but along `axis`. */
static weft_tensor stretch_others(weft_tensor x, weft_tensor other, int64_t axis)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t value;
        bool one = weft_extent_is_static(shape.extents[i], &value) && value == 1 && (int64_t)i != axis;
        extents[i] = one ? weft_tensor_extent(other, (int64_t)i) : shape.extents[i];
    }
    return weft_broadcast(x, (weft_shape){shape.rank, extents});
}

weft_tensor weft_take_along_axis(weft_tensor x, weft_tensor indices, int64_t axis)
{
    along_call call;
    const weft_tensor operands[] = {x, indices};
    if (!start_along("take_along_axis", 2, operands, axis, &call)) return weft_trace_failed(WEFT_TENSORS(x, indices));
    weft_tensor stretched = stretch_others(indices, x, call.axis);
    return weft_trace_gather(stretch_others(x, indices, call.axis), (weft_tensors){1, &stretched},
                             (weft_ints){1, &call.axis}, (weft_ints){call.batch_count, call.batch});
}

weft_tensor weft_scatter_along_axis(weft_tensor x, weft_tensor indices, weft_tensor updates, int64_t axis,
                                    weft_scatter_mode mode)
{
    along_call call;
    const weft_tensor operands[] = {x, indices, updates};
    if (!start_along("scatter_along_axis", 3, operands, axis, &call))
        return weft_trace_failed(WEFT_TENSORS(x, indices, updates));
    weft_tensor stretched = stretch_others(indices, x, call.axis);
    if (!weft_tensor_is_valid(stretched) ||
        !weft_composite_wants_fit("scatter_along_axis", (weft_named){"the tensor of updates", updates},
                                  (weft_named){"the index tensor", stretched})) {
        return weft_tensor_failed(x.graph);
    }
    return weft_trace_scatter(x, weft_broadcast(updates, weft_tensor_shape(stretched)), (weft_tensors){1, &stretched},
                              (weft_ints){1, &call.axis}, (weft_ints){call.batch_count, call.batch}, mode);
}

weft_tensor weft_index_select(weft_tensor x, weft_tensor indices, int64_t axis)
{
    if (weft_tensor_is_valid(x) && weft_tensor_is_valid(indices) && weft_tensor_rank(indices) != 1)
        return weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, "index_select", "the indices have rank %zu, not 1",
                               weft_tensor_rank(indices));
    return weft_gather(x, indices, axis);
}

weft_tensor weft_index_add(weft_tensor x, weft_tensor indices, weft_tensor updates, int64_t axis)
{
    return weft_scatter(x, (weft_tensors){1, &indices}, (weft_ints){1, &axis}, updates, WEFT_SCATTER_ADD);
}
