/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/composite/composite.h"
#include "lib/graph/scalar.h"

/* ---- arguments ---- */

bool weft_composite_is_absent(weft_tensor x)
{
    return x.graph == NULL && x.node == 0;
}

bool weft_composite_begin_named(const char *function, size_t needed, size_t count, const weft_tensor *operands,
                                const char *const *names)
{
    bool well = true;
    weft_graph *graph = weft_trace_graph((weft_tensors){count, operands});
    for (size_t i = 0; i < count; i++) {
        if (i >= needed && weft_composite_is_absent(operands[i])) continue;
        weft_tensor entered = operands[i];
        const char *fault = NULL;
        well = well && weft_tensor_is_valid(entered);
        if (graph != NULL && entered.graph == NULL) fault = "is missing";
        else if (graph != NULL && i > 0) fault = weft_tensor_enter(graph, &entered);
        if (fault == NULL) continue;
        if (names == NULL) weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "operand %zu %s", i, fault);
        else weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s %s", names[i], fault);
        return false;
    }
    return well;
}

bool weft_composite_begin(const char *function, size_t needed, size_t count, const weft_tensor *operands)
{
    return weft_composite_begin_named(function, needed, count, operands, NULL);
}

/* ---- dtypes ---- */

weft_tensor weft_composite_cast(weft_tensor x, weft_dtype dtype)
{
    bool same = !weft_tensor_is_valid(x) || weft_tensor_dtype(x) == dtype;
    return same ? x : weft_cast(x, dtype);
}

weft_tensor weft_composite_as(weft_composed_id function, weft_tensors operands, const weft_attr *attrs,
                              weft_tensor result)
{
    weft_tensor entered[8];
    bool well = weft_tensor_is_valid(result) && operands.count <= sizeof entered / sizeof *entered;
    for (size_t i = 0; i < operands.count && well; i++) {
        entered[i] = operands.items[i];
        if (!weft_composite_is_absent(entered[i])) well = weft_tensor_enter(result.graph, &entered[i]) == NULL;
    }
    well = well && weft_graph_compose(result.graph, &weft_composed_table()[function], attrs,
                                      (weft_tensors){operands.count, entered}, (weft_tensors){1, &result});
    return well ? result : weft_tensor_failed(result.graph);
}

weft_tensor weft_composite_widen(weft_tensor x)
{
    return weft_composite_cast(x, weft_accumulator_dtype(weft_tensor_dtype(x)));
}

bool weft_composite_join(const char *function, const char *name, weft_named x, weft_tensor *operand)
{
    if (weft_composite_is_absent(*operand)) return true;
    weft_dtype own = weft_tensor_dtype(x.tensor), wide = weft_accumulator_dtype(own),
               dtype = weft_tensor_dtype(*operand);
    if (dtype != own && dtype != wide) {
        weft_trace_fail(x.tensor.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype %s but %s has %s", name,
                        weft_dtype_name(dtype), x.name, weft_dtype_name(own));
        return false;
    }
    *operand = weft_composite_cast(*operand, wide);
    return true;
}

weft_tensor weft_scalar_like(weft_tensor x, double value)
{
    return weft_tensor_is_valid(x) ? weft_scalar(x.graph, weft_tensor_dtype(x), value) : weft_tensor_failed(x.graph);
}

weft_tensor weft_extent_like(weft_tensor x, weft_extent extent)
{
    int64_t value;
    if (!weft_tensor_is_valid(x)) return weft_tensor_failed(x.graph);
    if (weft_extent_is_static(extent, &value)) {
        return weft_composite_cast(weft_constant(x.graph, WEFT_I64, (weft_ints){0, NULL}, &value),
                                   weft_tensor_dtype(x));
    }
    return weft_composite_cast(weft_extent_tensor(x.graph, extent), weft_tensor_dtype(x));
}

weft_tensor weft_composite_between(weft_tensor a, weft_tensor b, weft_tensor t)
{
    weft_tensor way = weft_sub(b, a), rest = weft_sub(weft_scalar_like(t, 1), t);
    weft_tensor from_a = weft_add(a, weft_mul(way, t)), from_b = weft_sub(b, weft_mul(way, rest));
    return weft_select(weft_lt(t, weft_scalar_like(t, 0.5)), from_a, from_b);
}

/* ---- extents and axes ---- */

weft_extent weft_extent_plus(weft_extent extent, int64_t value)
{
    return weft_extent_add(extent, weft_extent_of(value));
}

weft_extent weft_extent_times(weft_extent extent, int64_t value)
{
    return weft_extent_mul(extent, weft_extent_of(value));
}

weft_extent weft_extent_ceil_div(weft_extent extent, int64_t divisor)
{
    weft_extent by = weft_extent_of(divisor);
    /* The sum with such a divisor may not fit an int64. */
    if (divisor > INT64_MAX / 2) return weft_extent_plus(weft_extent_div(weft_extent_plus(extent, -1), by), 1);
    return weft_extent_div(weft_extent_plus(extent, divisor - 1), by);
}

weft_extent weft_extent_product(weft_shape shape, size_t first, size_t last)
{
    weft_extent count = weft_extent_of(1);
    for (size_t i = first; i < last; i++) count = weft_extent_mul(count, shape.extents[i]);
    return count;
}

weft_extent weft_extent_along(weft_tensor x, weft_ints axes)
{
    weft_extent count = weft_extent_of(1);
    for (size_t i = 0; i < axes.count; i++) count = weft_extent_mul(count, weft_tensor_extent(x, axes.items[i]));
    return count;
}

weft_axis_list weft_axis_range(size_t first, size_t last)
{
    weft_axis_list axes = {.count = last - first};
    for (size_t i = first; i < last; i++) axes.items[i - first] = (int64_t)i;
    return axes;
}

/* ---- shapes ---- */

weft_tensor weft_composite_align(weft_tensor x, size_t first, size_t rank)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    if (!weft_tensor_is_valid(x) || shape.rank == rank) return x;
    for (size_t i = 0; i < rank; i++) {
        extents[i] = i >= first && i - first < shape.rank ? shape.extents[i - first] : weft_extent_of(1);
    }
    return weft_reshape(x, (weft_shape){rank, extents});
}

weft_tensor weft_composite_unravel(weft_tensor x, size_t axis, size_t count, const weft_extent *extents)
{
    weft_extent all[2 * WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    size_t n = 0;
    if (!weft_tensor_is_valid(x)) return x;
    for (size_t i = 0; i < axis; i++) all[n++] = shape.extents[i];
    for (size_t i = 0; i < count; i++) all[n++] = extents[i];
    for (size_t i = axis + 1; i < shape.rank; i++) all[n++] = shape.extents[i];
    return weft_reshape(x, (weft_shape){n, all});
}

weft_tensor weft_composite_ravel(weft_tensor x, size_t first, size_t last)
{
    weft_extent all[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    size_t n = 0;
    if (!weft_tensor_is_valid(x)) return x;
    for (size_t i = 0; i < first; i++) all[n++] = shape.extents[i];
    all[n++] = weft_extent_product(shape, first, last);
    for (size_t i = last; i < shape.rank; i++) all[n++] = shape.extents[i];
    return weft_reshape(x, (weft_shape){n, all});
}

weft_tensor weft_composite_positions(weft_tensor x, size_t axis)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    if (!weft_tensor_is_valid(x)) return x;
    for (size_t i = 0; i < shape.rank; i++) extents[i] = i == axis ? shape.extents[i] : weft_extent_of(1);
    return weft_iota(x.graph, WEFT_I64, (weft_shape){shape.rank, extents}, (int64_t)axis);
}
