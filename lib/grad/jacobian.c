/* SPDX-License-Identifier: Apache-2.0 */
/* The Jacobian, row by row or column by column. */
#include <weft/gradient.h>
#include <weft/region.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"

typedef struct jacobian_loop {
    weft_tensor output, wrt;
    bool reverse;
} jacobian_loop;

/* One in element `index` of the row-major order, zeros elsewhere, of the type of `like`. */
static weft_tensor unit(weft_tensor like, weft_tensor index)
{
    weft_shape shape = weft_tensor_shape(like);
    weft_extent count = weft_extent_product(shape, 0, shape.rank);
    weft_tensor positions = weft_iota(like.graph, WEFT_I64, (weft_shape){1, &count}, 0);
    return weft_reshape(weft_cast(weft_eq(positions, index), weft_tensor_dtype(like)), shape);
}

static void body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const jacobian_loop *loop = context;
    weft_tensor along, one = unit(loop->reverse ? loop->output : loop->wrt, index);
    const weft_tensors outputs = {1, &loop->output}, wrt = {1, &loop->wrt}, given = {1, &one};
    along = loop->reverse ? weft_vjp(outputs, given, wrt, NULL) : weft_jvp(outputs, wrt, given, NULL);
    weft_tensor row = weft_reshape(along, WEFT_SHAPE(1, WEFT_INFER));
    out_next[0] = weft_dynamic_update_slice(carried[0], row, WEFT_TENSORS(index), WEFT_INTS(0));
}

static bool check(weft_tensor output, weft_tensor wrt)
{
    const weft_tensor both[] = {output, wrt};
    static const char *const names[] = {"the output", "wrt"};
    return weft_composite_begin_named("jacobian", 2, 2, both, names) &&
           weft_composite_wants_float("jacobian", "the output", output) &&
           weft_composite_wants_float("jacobian", "wrt", wrt) &&
           weft_composite_wants_dtype("jacobian", (weft_named){"wrt", wrt}, (weft_named){"the output", output});
}

/* Whether a is known to be at most b. */
static bool at_most(weft_extent a, weft_extent b)
{
    int64_t least, greatest;
    weft_extent_range(weft_extent_sub(b, a), &least, &greatest);
    return least >= 0;
}

weft_tensor weft_jacobian(weft_tensor output, weft_tensor wrt)
{
    if (!check(output, wrt)) return weft_trace_failed(WEFT_TENSORS(output, wrt));
    weft_shape rows = weft_tensor_shape(output), columns = weft_tensor_shape(wrt);
    if (rows.rank + columns.rank > WEFT_MAX_RANK)
        return weft_trace_fail(output.graph, WEFT_INVALID_ARGUMENT, "jacobian", "the result would have rank %zu",
                               rows.rank + columns.rank);
    weft_extent m = weft_extent_product(rows, 0, rows.rank), n = weft_extent_product(columns, 0, columns.rank);
    jacobian_loop loop = {output, wrt, .reverse = !at_most(n, m)};
    weft_extent trips = loop.reverse ? m : n, length = loop.reverse ? n : m;
    weft_tensor initial = weft_zeros(output.graph, weft_tensor_dtype(output), WEFT_SHAPE(trips, length));
    weft_tensor made = weft_fold(trips, WEFT_TENSORS(initial), body, &loop, NULL);
    if (!loop.reverse) made = weft_permute(made, WEFT_INTS(1, 0));
    weft_extent extents[WEFT_MAX_RANK];
    for (size_t i = 0; i < rows.rank; i++) extents[i] = rows.extents[i];
    for (size_t i = 0; i < columns.rank; i++) extents[rows.rank + i] = columns.extents[i];
    return weft_reshape(made, (weft_shape){rows.rank + columns.rank, extents});
}
