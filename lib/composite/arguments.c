/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of arguments, made by compositions before anything is traced, so that errors refer to what the caller passed.
 * Conditions that may hold are left to the ops inside, whose guards come and go with them. */
#include <inttypes.h>
#include <stdio.h>
#include "lib/composite/composite.h"

static bool is_kind(weft_tensor x, weft_dtype_kind first, weft_dtype_kind last)
{
    weft_dtype_kind kind = weft_dtype_info_of(weft_tensor_dtype(x))->kind;
    return kind >= first && kind <= last;
}

bool weft_composite_wants_float(const char *function, const char *name, weft_tensor x)
{
    if (is_kind(x, WEFT_KIND_FLOAT, WEFT_KIND_FLOAT)) return true;
    weft_trace_fail(x.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype %s but must be a float", name,
                    weft_dtype_name(weft_tensor_dtype(x)));
    return false;
}

bool weft_composite_wants_integer(const char *function, const char *name, weft_tensor x)
{
    if (is_kind(x, WEFT_KIND_UNSIGNED, WEFT_KIND_SIGNED)) return true;
    weft_trace_fail(x.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype %s but must be an integer", name,
                    weft_dtype_name(weft_tensor_dtype(x)));
    return false;
}

bool weft_composite_wants_rank(const char *function, const char *name, weft_tensor x, size_t least)
{
    if (weft_tensor_rank(x) >= least) return true;
    weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu but needs at least %zu", name,
                    weft_tensor_rank(x), least);
    return false;
}

bool weft_composite_wants_order(const char *function, const char *name, weft_tensor x)
{
    if (!is_kind(x, WEFT_KIND_COMPLEX, WEFT_KIND_COMPLEX)) return true;
    weft_trace_fail(x.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype %s, which has no order", name,
                    weft_dtype_name(weft_tensor_dtype(x)));
    return false;
}

bool weft_composite_wants_number(const char *function, const char *name, weft_tensor x)
{
    if (!is_kind(x, WEFT_KIND_BOOL, WEFT_KIND_BOOL)) return true;
    weft_trace_fail(x.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype bool, which is not numeric", name);
    return false;
}

bool weft_composite_wants_dtype(const char *function, weft_named x, weft_named like)
{
    weft_dtype dtype = weft_tensor_dtype(x.tensor), wanted = weft_tensor_dtype(like.tensor);
    if (dtype == wanted) return true;
    weft_trace_fail(x.tensor.graph, WEFT_DTYPE_MISMATCH, function, "%s has dtype %s but %s has %s; cast explicitly",
                    x.name, weft_dtype_name(dtype), like.name, weft_dtype_name(wanted));
    return false;
}

bool weft_composite_wants_extent(const char *function, weft_named x, int64_t axis, weft_named like, int64_t like_axis)
{
    weft_extent own = weft_tensor_extent(x.tensor, axis), wanted = weft_tensor_extent(like.tensor, like_axis);
    if (!weft_extent_never_equal(x.tensor.graph, own, wanted)) return true;
    if (axis < 0) axis += (int64_t)weft_tensor_rank(x.tensor);
    if (like_axis < 0) like_axis += (int64_t)weft_tensor_rank(like.tensor);
    weft_trace_fail(x.tensor.graph, WEFT_SHAPE_MISMATCH, function,
                    "axis %" PRId64 " of %s has extent %s but axis %" PRId64 " of %s has %s", axis, x.name,
                    weft_extent_describe(own).text, like_axis, like.name, weft_extent_describe(wanted).text);
    return false;
}

bool weft_composite_wants_broadcast(const char *function, weft_named x, weft_named y)
{
    size_t x_rank = weft_tensor_rank(x.tensor), y_rank = weft_tensor_rank(y.tensor);
    for (int64_t axis = -1; axis >= -(int64_t)(x_rank < y_rank ? x_rank : y_rank); axis--) {
        bool stretches = weft_extent_is_value(weft_tensor_extent(x.tensor, axis), 1) ||
                         weft_extent_is_value(weft_tensor_extent(y.tensor, axis), 1);
        if (!stretches && !weft_composite_wants_extent(function, x, axis, y, axis)) return false;
    }
    return true;
}

bool weft_composite_wants_fit(const char *function, weft_named x, weft_named in)
{
    size_t rank = weft_tensor_rank(x.tensor), most = weft_tensor_rank(in.tensor);
    if (rank > most) {
        weft_trace_fail(x.tensor.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu but %s has %zu", x.name, rank,
                        in.name, most);
        return false;
    }
    for (int64_t axis = -1; axis >= -(int64_t)rank; axis--) {
        if (weft_extent_is_value(weft_tensor_extent(x.tensor, axis), 1)) continue;
        if (!weft_composite_wants_extent(function, x, axis, in, axis)) return false;
    }
    return true;
}

bool weft_composite_wants_own(weft_graph *graph, const char *function, const char *name, weft_extent extent)
{
    bool valid = weft_extent_is_valid(extent);
    if (valid && (extent.graph == NULL || weft_graph_root(extent.graph) == weft_graph_root(graph))) return true;
    weft_trace_fail(
        graph, WEFT_INVALID_ARGUMENT, function, "%s %s", name,
        valid ? "belongs to another graph"
        : extent.graph == NULL
            ? "is below -(2^63 - 1) or above 2^63 - 1, or comes of constants that overflow 64 bits or divide by 0"
            : "is an invalid extent");
    return false;
}

bool weft_composite_wants_count(weft_graph *graph, const char *function, const char *name, weft_extent count)
{
    int64_t least, most;
    if (!weft_composite_wants_own(graph, function, name, count)) return false;
    weft_extent_range(count, &least, &most);
    if (most >= 0 || weft_graph_never_runs(weft_graph_current(graph))) return true;
    weft_trace_fail(graph, WEFT_OUT_OF_RANGE, function, "%s is %s, below 0", name, weft_extent_describe(count).text);
    return false;
}

bool weft_composite_wants_counts(weft_graph *graph, const char *function, const char *name, weft_shape counts)
{
    char each[64];
    if (!weft_trace_wants_list(function, name, graph, counts.rank, counts.extents)) return false;
    for (size_t i = 0; i < counts.rank; i++) {
        snprintf(each, sizeof each, "%s[%zu]", name, i);
        if (!weft_composite_wants_count(graph, function, each, counts.extents[i])) return false;
    }
    return true;
}
