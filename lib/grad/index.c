/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives of ops that index by data. What was read at an index is added there, so that elements that were read more
 * than once get the sum, in row-major order of the indices.
 */
#include <weft/region.h>
#include <weft/shape.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"
#include "lib/graph/indexing.h"

/* ---- what gather and scatter name ---- */

typedef struct places {
    weft_tensors indices;
    weft_ints axes, batch;
} places;

static places places_of(const weft_gradient_context *c)
{
    size_t first = weft_indexing_first(weft_op_id_of(c->op));
    return (places){{c->inputs.count - first, c->inputs.items + first}, c->attrs[0].ints, c->attrs[1].ints};
}

static weft_tensor read_at(weft_tensor x, const places *p)
{
    return weft_trace_gather(x, p->indices, p->axes, p->batch);
}

static weft_tensor write_at(weft_tensor x, const places *p, weft_tensor updates, weft_scatter_mode mode)
{
    return weft_trace_scatter(x, updates, p->indices, p->axes, p->batch, mode);
}

/* What is added up at the places, in the type of `like`; 16-bit floats in f32. */
static weft_tensor add_at(weft_tensor like, const places *p, weft_tensor updates)
{
    weft_tensor wide = weft_composite_widen(updates);
    weft_tensor zeros = weft_zeros(wide.graph, weft_tensor_dtype(wide), weft_tensor_shape(like));
    return weft_composite_cast(write_at(zeros, p, wide, WEFT_SCATTER_ADD), weft_tensor_dtype(like));
}

/* The same op over the tangents of its data, zeros where there is none. */
static weft_status *jvp_data(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor operands[WEFT_MAX_RANK + 2];
    size_t first = weft_indexing_first(weft_op_id_of(c->op));
    for (size_t i = 0; i < c->inputs.count; i++) {
        operands[i] = c->inputs.items[i];
        if (i < first) operands[i] = weft_gradient_given(c, i) ? c->given.items[i] : weft_gradient_zeros(operands[i]);
    }
    out_values[0] = weft_gradient_again(c, (weft_tensors){c->inputs.count, operands});
    return NULL;
}

static weft_status *vjp_gather(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    out_values[0] = add_at(c->inputs.items[0], &p, c->given.items[0]);
    return NULL;
}

/* ---- which updates meet at one element ---- */

/* The places are those of a smaller x here, without the axes along which it is taken whole. */
typedef struct numbered_places {
    places at;
    int64_t axes[WEFT_MAX_RANK], batch[WEFT_MAX_RANK];
    weft_extent extents[WEFT_MAX_RANK];
    size_t rank;
} numbered_places;

static void fill_numbered(const weft_gradient_context *c, numbered_places *n)
{
    places all = places_of(c);
    size_t axes = 0, batch = 0;
    n->rank = 0;
    for (size_t i = 0; i < weft_tensor_rank(c->inputs.items[0]); i++) {
        bool indexed = weft_ints_contain(all.axes, i);
        if (!indexed && !weft_ints_contain(all.batch, i)) continue;
        if (indexed) n->axes[axes++] = (int64_t)n->rank;
        else n->batch[batch++] = (int64_t)n->rank;
        n->extents[n->rank++] = weft_tensor_extent(c->inputs.items[0], (int64_t)i);
    }
    n->at = (places){all.indices, {axes, n->axes}, {batch, n->batch}};
}

/* The row-major number of each place among the indices. */
static weft_tensor number_places(const weft_gradient_context *c)
{
    weft_shape shape = weft_tensor_shape(places_of(c).indices.items[0]);
    weft_extent count = weft_extent_product(shape, 0, shape.rank);
    return weft_reshape(weft_iota(c->graph, WEFT_I64, WEFT_SHAPE(count), 0), shape);
}

/* For each place the number of the last one with the same indices. */
static weft_tensor last_places(const weft_gradient_context *c)
{
    numbered_places n;
    fill_numbered(c, &n);
    weft_tensor none = weft_zeros(c->graph, WEFT_I64, (weft_shape){n.rank, n.extents});
    return read_at(write_at(none, &n.at, number_places(c), WEFT_SCATTER_SET), &n.at);
}

/* The axes of the updates that are those of the indices, and the others. */
static void split_axes(const weft_gradient_context *c, weft_axis_list *out_indexed, weft_axis_list *out_others)
{
    places p = places_of(c);
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    size_t count = weft_indexing_fill(weft_tensor_rank(c->inputs.items[0]), p.axes, p.batch,
                                      weft_tensor_rank(p.indices.items[0]), axes);
    out_indexed->count = out_others->count = 0;
    for (size_t i = 0; i < count; i++) {
        weft_axis_list *list = axes[i].index >= 0 ? out_indexed : out_others;
        list->items[list->count++] = (int64_t)i;
    }
}

/* ---- scatter: set ---- */

/* The update that stays is the last one. */
static weft_tensor pull_set(const weft_gradient_context *c, const places *p)
{
    weft_axis_list indexed, others;
    weft_tensor read = read_at(c->given.items[0], p);
    split_axes(c, &indexed, &others);
    weft_tensor stays = weft_eq(last_places(c), number_places(c));
    stays = weft_broadcast_in_dim(stays, weft_tensor_shape(read), weft_axis_list_ints(&indexed));
    return weft_select(stays, read, weft_scalar_like(read, 0));
}

static weft_status *vjp_set(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    if (c->needs[0])
        out_values[0] = write_at(c->given.items[0], &p, weft_gradient_zeros(c->inputs.items[1]), WEFT_SCATTER_SET);
    if (c->needs[1]) out_values[1] = pull_set(c, &p);
    return NULL;
}

/* ---- scatter: add ---- */

static weft_status *vjp_add(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    if (c->needs[0]) out_values[0] = c->given.items[0];
    if (c->needs[1]) out_values[1] = read_at(c->given.items[0], &p);
    return NULL;
}

static weft_status *jvp_add(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    if (!weft_gradient_given(c, 1)) out_values[0] = c->given.items[0];
    else if (!weft_gradient_given(c, 0)) out_values[0] = add_at(c->inputs.items[0], &p, c->given.items[1]);
    else return jvp_data(c, out_values);
    return NULL;
}

/* ---- scatter: mul ---- */

/* Updates as rows, one for each place, in an order in which those of one element follow each other. */
typedef struct update_rows {
    weft_tensor rows, order;     /* [places, rest]; [places] */
    weft_tensor continues;       /* [places, 1]: the place before names the same element */
    int64_t axes[WEFT_MAX_RANK]; /* of the updates: those of the places, then the others */
    weft_extent extents[WEFT_MAX_RANK];
    size_t rank;
} update_rows;

/* `x` moved by one place along axis 0, with zeros or false at the other end. */
static weft_tensor move_rows(weft_tensor x, bool back)
{
    weft_extent count = weft_tensor_extent(x, 0), low[2] = {weft_extent_of(!back), weft_extent_of(0)};
    weft_extent high[2] = {weft_extent_of(back), weft_extent_of(0)};
    size_t rank = weft_tensor_rank(x);
    weft_tensor zero = weft_scalar(x.graph, weft_tensor_dtype(x), 0);
    weft_tensor longer = weft_pad(x, zero, (weft_shape){rank, low}, (weft_shape){rank, high});
    return weft_narrow(longer, 0, weft_extent_of(back), count);
}

static void fill_rows(const weft_gradient_context *c, weft_tensor updates, update_rows *u)
{
    weft_axis_list indexed, others;
    split_axes(c, &indexed, &others);
    u->rank = weft_tensor_rank(updates);
    for (size_t i = 0; i < u->rank; i++) {
        u->axes[i] = i < indexed.count ? indexed.items[i] : others.items[i - indexed.count];
        u->extents[i] = weft_tensor_extent(updates, u->axes[i]);
    }
    weft_shape shape = {u->rank, u->extents};
    weft_extent count = weft_extent_product(shape, 0, indexed.count);
    weft_tensor rows = weft_permute(updates, (weft_ints){u->rank, u->axes});
    rows = weft_reshape(rows, WEFT_SHAPE(count, weft_extent_product(shape, indexed.count, u->rank)));
    weft_tensor element = weft_reshape(last_places(c), WEFT_SHAPE(count));
    u->order = weft_argsort(element, 0, false);
    element = weft_sort(element, 0, false);
    weft_tensor later =
        weft_ne(weft_iota(c->graph, WEFT_I64, WEFT_SHAPE(count), 0), weft_scalar(c->graph, WEFT_I64, 0));
    u->continues = weft_unsqueeze(weft_and(later, weft_eq(element, move_rows(element, false))), 1);
    u->rows = weft_gather(rows, u->order, 0);
}

/* Back to the order and shape of the updates. */
static weft_tensor leave_rows(const update_rows *u, weft_tensor rows)
{
    int64_t back[WEFT_MAX_RANK];
    for (size_t i = 0; i < u->rank; i++) back[u->axes[i]] = (int64_t)i;
    rows = weft_scatter(weft_gradient_zeros(rows), WEFT_TENSORS(u->order), WEFT_INTS(0), rows, WEFT_SCATTER_SET);
    rows = weft_reshape(rows, (weft_shape){u->rank, u->extents});
    return weft_permute(rows, (weft_ints){u->rank, back});
}

/* Products of rows on the way: of one row after the other, and where they are kept. */
typedef struct running {
    weft_tensor factors, goes_on; /* rows */
    bool after;
} running;

static weft_tensor row_of(weft_tensor x, weft_tensor number)
{
    return weft_dynamic_slice(x, WEFT_TENSORS(number), WEFT_INTS(0), WEFT_SHAPE(1));
}

/* What was multiplied for another element may have overflowed: it is not multiplied by 0, but left out. */
static void multiply_row(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const running *r = context;
    weft_extent last = weft_extent_plus(weft_tensor_extent(r->factors, 0), -1);
    weft_tensor number = r->after ? weft_sub(weft_extent_tensor(index.graph, last), index) : index;
    weft_tensor goes_on = row_of(r->goes_on, number), one = weft_scalar_like(carried[0], 1);
    out_next[0] =
        weft_mul(weft_select(goes_on, carried[0], one), weft_select(goes_on, row_of(r->factors, number), one));
    out_next[1] = weft_dynamic_update_slice(carried[1], out_next[0], WEFT_TENSORS(number), WEFT_INTS(0));
}

/* For each row the product of those of the same element before it, or after it. */
static weft_tensor run_product(const update_rows *u, bool after)
{
    weft_tensor goes_on = after ? move_rows(u->continues, true) : u->continues, results[2];
    running r = {move_rows(u->rows, after), goes_on, after};
    weft_tensor one = weft_ones(u->rows.graph, weft_tensor_dtype(u->rows),
                                WEFT_SHAPE(weft_extent_of(1), weft_tensor_extent(u->rows, 1)));
    weft_fold(weft_tensor_extent(u->rows, 0), WEFT_TENSORS(one, weft_gradient_zeros(u->rows)), multiply_row, &r,
              results);
    return results[1];
}

/* For each update the product of all other factors of its element, without a division: x and the other updates. */
static weft_tensor other_factors(const weft_gradient_context *c, const places *p)
{
    update_rows u;
    fill_rows(c, weft_composite_widen(c->inputs.items[1]), &u);
    weft_tensor others = leave_rows(&u, weft_mul(run_product(&u, false), run_product(&u, true)));
    return weft_mul(others, weft_composite_widen(read_at(c->inputs.items[0], p)));
}

/* The product of all updates of each element. */
static weft_tensor all_updates(const weft_gradient_context *c, const places *p)
{
    weft_tensor x = c->inputs.items[0], updates = weft_composite_widen(c->inputs.items[1]);
    weft_tensor ones = weft_ones(c->graph, weft_tensor_dtype(updates), weft_tensor_shape(x));
    return write_at(ones, p, updates, WEFT_SCATTER_MUL);
}

static weft_status *vjp_mul(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    weft_dtype dtype = weft_tensor_dtype(c->inputs.items[0]);
    weft_tensor g = weft_composite_widen(c->given.items[0]);
    if (c->needs[0]) out_values[0] = weft_composite_cast(weft_mul(g, weft_gradient_conj(all_updates(c, &p))), dtype);
    if (c->needs[1]) {
        weft_tensor slope = weft_gradient_conj(other_factors(c, &p));
        out_values[1] = weft_composite_cast(weft_mul(read_at(g, &p), slope), dtype);
    }
    return NULL;
}

static weft_status *jvp_mul(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    weft_tensor x = c->inputs.items[0], by_x = WEFT_NO_TENSOR, by_updates = WEFT_NO_TENSOR;
    if (weft_gradient_given(c, 0)) {
        by_x = weft_mul(weft_composite_widen(c->given.items[0]), all_updates(c, &p));
        by_x = weft_composite_cast(by_x, weft_tensor_dtype(x));
    }
    if (weft_gradient_given(c, 1))
        by_updates = add_at(x, &p, weft_mul(weft_composite_widen(c->given.items[1]), other_factors(c, &p)));
    out_values[0] = weft_gradient_add(by_x, by_updates);
    return NULL;
}

/* ---- scatter: max, min: all that equal the result share it ---- */

typedef struct sharing {
    weft_tensor x_equals, update_equals; /* whether an element of x, an update, equals the result */
    weft_tensor count;                   /* of those that do, at least 1; 16-bit floats as f32 */
} sharing;

static sharing share_result(const weft_gradient_context *c, const places *p)
{
    weft_tensor x = c->inputs.items[0], updates = c->inputs.items[1], y = c->outputs.items[0];
    weft_dtype wide = weft_accumulator_dtype(weft_tensor_dtype(x));
    sharing s = {.x_equals = weft_eq(x, y), .update_equals = weft_eq(updates, read_at(y, p))};
    weft_tensor own = weft_cast(s.x_equals, wide);
    s.count = write_at(own, p, weft_cast(s.update_equals, wide), WEFT_SCATTER_ADD);
    s.count = weft_max(s.count, weft_scalar_like(s.count, 1));
    return s;
}

static weft_status *vjp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    weft_tensor g = c->given.items[0], zero = weft_scalar_like(g, 0);
    sharing s = share_result(c, &p);
    g = weft_composite_cast(weft_div(weft_composite_widen(g), s.count), weft_tensor_dtype(g));
    if (c->needs[0]) out_values[0] = weft_select(s.x_equals, g, zero);
    if (c->needs[1]) out_values[1] = weft_select(s.update_equals, read_at(g, &p), zero);
    return NULL;
}

static weft_status *jvp_extreme(const weft_gradient_context *c, weft_tensor *out_values)
{
    places p = places_of(c);
    weft_tensor x = c->inputs.items[0], dx = c->given.items[0], du = c->given.items[1];
    weft_tensor zero = weft_scalar_like(x, 0);
    sharing s = share_result(c, &p);
    if (dx.graph != NULL) dx = weft_select(s.x_equals, dx, zero);
    if (du.graph != NULL) du = add_at(x, &p, weft_select(s.update_equals, du, zero));
    weft_tensor total = weft_composite_widen(weft_gradient_add(dx, du));
    out_values[0] = weft_composite_cast(weft_div(total, s.count), weft_tensor_dtype(x));
    return NULL;
}

/* ---- scatter ---- */

static const struct {
    weft_gradient_function vjp, jvp;
} modes[WEFT_SCATTER_MODE_COUNT] = {
    [WEFT_SCATTER_SET] = {vjp_set, jvp_data},        [WEFT_SCATTER_ADD] = {vjp_add, jvp_add},
    [WEFT_SCATTER_MUL] = {vjp_mul, jvp_mul},         [WEFT_SCATTER_MAX] = {vjp_extreme, jvp_extreme},
    [WEFT_SCATTER_MIN] = {vjp_extreme, jvp_extreme},
};

static size_t mode_of(const weft_gradient_context *c)
{
    size_t mode = 0;
    while (strcmp(weft_scatter_mode_name(mode), c->attrs[2].data) != 0) mode++;
    return mode;
}

static weft_status *vjp_scatter(const weft_gradient_context *c, weft_tensor *out_values)
{
    return modes[mode_of(c)].vjp(c, out_values);
}

static weft_status *jvp_scatter(const weft_gradient_context *c, weft_tensor *out_values)
{
    return modes[mode_of(c)].jvp(c, out_values);
}

/* ---- dynamic slices ---- */

static weft_tensors starts_of(const weft_gradient_context *c)
{
    size_t first = weft_indexing_first(weft_op_id_of(c->op));
    return (weft_tensors){c->inputs.count - first, c->inputs.items + first};
}

/* Where only the derivative is computed, the error of a loop's bound is that of the derivative. */
static weft_tensor bound_like(const weft_gradient_context *c, weft_tensor derivative)
{
    weft_tensor result = c->outputs.items[0];
    bool is_bound = weft_indexing_is_bound(weft_graph_node(result.graph, result.node));
    return is_bound ? weft_tensor_set_name(derivative, WEFT_BOUND_OP) : derivative;
}

static weft_status *vjp_dynamic_slice(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor zeros = weft_gradient_zeros(c->inputs.items[0]);
    out_values[0] = bound_like(c, weft_dynamic_update_slice(zeros, c->given.items[0], starts_of(c), c->attrs[0].ints));
    return NULL;
}

static weft_status *jvp_dynamic_slice(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_status *status = jvp_data(c, out_values);
    out_values[0] = bound_like(c, out_values[0]);
    return status;
}

static weft_status *vjp_dynamic_update_slice(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor update = c->inputs.items[1], g = c->given.items[0];
    weft_ints axes = c->attrs[0].ints;
    weft_extent sizes[WEFT_MAX_RANK];
    for (size_t i = 0; i < axes.count; i++) sizes[i] = weft_tensor_extent(update, axes.items[i]);
    if (c->needs[0])
        out_values[0] = bound_like(c, weft_dynamic_update_slice(g, weft_gradient_zeros(update), starts_of(c), axes));
    if (c->needs[1])
        out_values[1] = bound_like(c, weft_dynamic_slice(g, starts_of(c), axes, (weft_shape){axes.count, sizes}));
    return NULL;
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_gather, vjp_gather, jvp_data, NULL},
    {WEFT_OP_scatter, vjp_scatter, jvp_scatter, NULL},
    {WEFT_OP_dynamic_slice, vjp_dynamic_slice, jvp_dynamic_slice, NULL},
    {WEFT_OP_dynamic_update_slice, vjp_dynamic_update_slice, jvp_data, NULL},
};

const weft_gradient_family weft_gradient_index = {sizeof rows / sizeof *rows, rows};
