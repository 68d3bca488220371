/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/space.h"
#include <stdio.h>
#include <string.h>
#include "lib/graph/indexing.h"

/* ---- symbols that have to be equal ---- */

/* Whether every run has equal values for a symbol and another one, or a constant. */
static bool equates_symbols(const weft_expr_context *exprs, const weft_guard *guard)
{
    weft_expr_kind a = weft_expr_kind_of(exprs, guard->a), b = weft_expr_kind_of(exprs, guard->b);
    bool fits = (a == WEFT_EXPR_SYMBOL && (b == WEFT_EXPR_SYMBOL || b == WEFT_EXPR_CONSTANT)) ||
                (b == WEFT_EXPR_SYMBOL && a == WEFT_EXPR_CONSTANT);
    return guard->kind == WEFT_GUARD_EQUAL && guard->when == WEFT_EXPR_NONE && fits;
}

/* What has been found so far that has to be equal: a constant, or the first symbol. */
static weft_expr first_equal(weft_expr *first, weft_expr symbol)
{
    while (first[symbol] != symbol) symbol = first[symbol] = first[first[symbol]];
    return symbol;
}

/* Whether of two that are equal `a` stands for both. */
static bool comes_first(const weft_expr_context *exprs, weft_expr a, weft_expr b)
{
    bool is_known = weft_expr_kind_of(exprs, a) == WEFT_EXPR_CONSTANT;
    return is_known != (weft_expr_kind_of(exprs, b) == WEFT_EXPR_CONSTANT) ? is_known : a < b;
}

/* What stands for a symbol: a constant that it may have. Guards that allow no run may require another one. */
static weft_expr allowed_equal(const weft_expr_context *exprs, weft_expr *first, weft_expr symbol)
{
    int64_t least, most, value;
    weft_expr found = first_equal(first, symbol);
    weft_expr_range(exprs, symbol, &least, &most);
    bool is_outside = weft_expr_is_constant(exprs, found, &value) && (value < least || value > most);
    return is_outside ? symbol : found;
}

bool weft_space_find_equal(weft_space *space)
{
    const weft_graph *root = weft_graph_root(space->graph);
    size_t count = 0;
    for (size_t i = 0; i < root->guard_count; i++) {
        const weft_guard *guard = &root->guards[i];
        if (!equates_symbols(root->exprs, guard)) continue;
        if (guard->a >= count) count = guard->a + 1;
        if (guard->b >= count) count = guard->b + 1;
    }
    if (count == 0) return true;
    weft_expr *first = weft_arena_allocate(space->arena, count * sizeof *first);
    if (first == NULL) return false;
    for (size_t i = 0; i < count; i++) first[i] = (weft_expr)i;
    for (size_t i = 0; i < root->guard_count; i++) {
        const weft_guard *guard = &root->guards[i];
        if (!equates_symbols(root->exprs, guard)) continue;
        weft_expr a = first_equal(first, guard->a), b = first_equal(first, guard->b);
        bool is_a = comes_first(root->exprs, a, b);
        first[is_a ? b : a] = is_a ? a : b;
    }
    for (size_t i = 0; i < count; i++) first[i] = allowed_equal(root->exprs, first, (weft_expr)i);
    space->equal = (weft_equal_symbols){.count = count, .first = first};
    return true;
}

/* ---- extents ---- */

weft_expr weft_space_extent(weft_space *space, weft_extent extent)
{
    weft_expr_context *x = space->exprs;
    if (extent.graph == NULL) return weft_expr_constant(x, extent.value);
    size_t id = (size_t)extent.value;
    if (id >= space->imported_count) {
        size_t count = id + 64;
        weft_expr *grown = weft_arena_allocate(space->arena, count * sizeof *grown);
        if (grown == NULL) return weft_expr_out_of_memory(x);
        memset(grown, 0, count * sizeof *grown);
        if (space->imported_count > 0) memcpy(grown, space->imported, space->imported_count * sizeof *grown);
        space->imported = grown;
        space->imported_count = count;
    }
    if (space->imported[id] != WEFT_EXPR_NONE) return space->imported[id];
    weft_equal_symbols equal = space->equal;
    weft_expr e = weft_expr_import_as(x, space->graph->exprs, (weft_expr)id, equal.count, equal.first);
    for (size_t i = 0; i < space->fixed.count; i++) {
        weft_expr symbol = weft_expr_find(x, space->fixed.names[i]);
        weft_expr value = weft_expr_constant(x, space->fixed.values[i]);
        if (symbol != WEFT_EXPR_NONE) e = weft_expr_substitute(x, e, 1, &symbol, &value);
    }
    space->imported[id] = e;
    return e;
}

void weft_space_range(weft_space *space, weft_extent extent, int64_t *out_least, int64_t *out_most)
{
    bool is_open = (space->fixed.count > 0 || space->equal.count > 0) && !weft_extent_is_static(extent, NULL);
    weft_expr e = is_open ? weft_space_extent(space, extent) : WEFT_EXPR_NONE;
    if (e == WEFT_EXPR_NONE) weft_extent_range(extent, out_least, out_most);
    else weft_expr_range(space->exprs, e, out_least, out_most);
}

bool weft_space_is_one(weft_space *space, weft_extent extent)
{
    int64_t least, most;
    weft_space_range(space, extent, &least, &most);
    return least == 1 && most == 1;
}

weft_expr weft_space_divisor(weft_space *space, weft_extent extent)
{
    int64_t least, most;
    weft_expr e = weft_space_extent(space, extent);
    weft_expr_range(space->exprs, e, &least, &most);
    return most <= 0 ? weft_expr_constant(space->exprs, 1) : e;
}

static const weft_type *type_of(const weft_space *space, weft_value value)
{
    return weft_value_type(space->graph, value);
}

bool weft_space_is_empty(weft_space *space, weft_shape shape)
{
    int64_t extent;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr e = weft_space_extent(space, shape.extents[i]);
        if (weft_expr_is_constant(space->exprs, e, &extent) && extent == 0) return true;
    }
    return false;
}

weft_expr weft_space_count(weft_space *space, weft_shape shape, const int64_t *axes, size_t count)
{
    weft_expr product = weft_expr_constant(space->exprs, weft_space_is_empty(space, shape) ? 0 : 1);
    for (size_t i = 0; i < count; i++)
        product = weft_expr_mul(space->exprs, product, weft_space_extent(space, shape.extents[axes[i]]));
    return product;
}

weft_expr weft_space_position(weft_space *space, const weft_point *point)
{
    weft_expr_context *x = space->exprs;
    weft_shape shape = type_of(space, point->value)->shape;
    weft_expr position = weft_expr_constant(x, 0);
    size_t rank = weft_space_is_empty(space, shape) ? 0 : shape.rank;
    for (size_t i = 0; i < rank; i++) {
        position = weft_expr_mul(x, position, weft_space_extent(space, shape.extents[i]));
        position = weft_expr_add(x, position, point->index[i]);
    }
    return position;
}

/* Of memory that is not row-major. */
static weft_expr stride_along(weft_space *space, const weft_memory *memory, size_t axis)
{
    char name[48];
    snprintf(name, sizeof name, "%s.s%zu", memory->stride_prefix, axis);
    for (size_t i = 0; i < space->fixed.count; i++)
        if (strcmp(space->fixed.names[i], name) == 0) return weft_expr_constant(space->exprs, space->fixed.values[i]);
    return weft_expr_symbol(space->exprs, name, INT64_MIN, INT64_MAX);
}

weft_expr weft_space_address(weft_space *space, const weft_memory *memory, const weft_expr *index)
{
    weft_expr_context *x = space->exprs;
    weft_shape shape = type_of(space, memory->value)->shape;
    weft_expr address = weft_expr_constant(x, 0);
    size_t rank = weft_space_is_empty(space, shape) ? 0 : shape.rank;
    for (size_t place = 0; place < rank; place++) {
        size_t i = memory->order == NULL ? place : (size_t)memory->order[place];
        weft_expr step = index[i];
        if (memory->stride_prefix == NULL) {
            address = weft_expr_mul(x, address, weft_space_extent(space, shape.extents[i]));
        } else if ((int32_t)i != memory->unit_axis) {
            step = weft_expr_mul(x, step, stride_along(space, memory, i));
        }
        address = weft_expr_add(x, address, step);
    }
    return address;
}

weft_point weft_space_point(weft_space *space, weft_value value)
{
    size_t rank = type_of(space, value)->shape.rank;
    return (weft_point){.value = value, .index = weft_arena_allocate(space->arena, (rank + 1) * sizeof(weft_expr))};
}

static bool is_one(weft_extent extent)
{
    return extent.graph == NULL && extent.value == 1;
}

/* Adds e >= 0 to the point's predicates unless it is proven. */
static bool require(weft_space *space, weft_point *point, weft_expr e)
{
    if (weft_expr_always_nonnegative(space->exprs, e)) return true;
    weft_expr *grown = weft_arena_allocate(space->arena, (point->predicate_count + 1) * sizeof *grown);
    if (grown == NULL) return false;
    if (point->predicate_count > 0) memcpy(grown, point->predicates, point->predicate_count * sizeof *grown);
    grown[point->predicate_count++] = e;
    point->predicates = grown;
    return true;
}

/* Requires that index `axis` lies inside the operand. */
static bool require_inside(weft_space *space, weft_point *point, size_t axis)
{
    weft_expr_context *x = space->exprs;
    weft_expr index = point->index[axis];
    weft_expr last = weft_expr_sub(x, weft_space_extent(space, type_of(space, point->value)->shape.extents[axis]),
                                   weft_expr_constant(x, 1));
    return require(space, point, index) && require(space, point, weft_expr_sub(x, last, index));
}

/* Axes [in_first, in_last) of the operand hold the same elements as axes [out_first, out_last) of the result,
 * row-major. */
static void unravel(weft_space *space, weft_shape in, size_t in_first, size_t in_last, weft_shape out, size_t out_first,
                    size_t out_last, const weft_expr *index, weft_expr *out_index)
{
    weft_expr_context *x = space->exprs;
    weft_expr linear = weft_expr_constant(x, 0);
    for (size_t i = out_first; i < out_last; i++) {
        linear = weft_expr_mul(x, linear, weft_space_extent(space, out.extents[i]));
        linear = weft_expr_add(x, linear, index[i]);
    }
    size_t leading = in_first;
    while (leading < in_last && is_one(in.extents[leading])) leading++;
    for (size_t i = in_last; i-- > in_first;) {
        weft_expr divisor = weft_space_divisor(space, in.extents[i]);
        if (is_one(in.extents[i])) {
            out_index[i] = weft_expr_constant(x, 0);
        } else if (i == leading) {
            out_index[i] = linear;
        } else {
            out_index[i] = weft_expr_mod(x, linear, divisor);
            linear = weft_expr_div(x, linear, divisor);
        }
    }
}

static bool is_at_most(weft_expr_context *x, weft_expr a, weft_expr b)
{
    return weft_expr_always_nonnegative(x, weft_expr_sub(x, b, a));
}

/* Splits both shapes, from the right, into the smallest groups of equal element counts, so that div and mod stay local.
 */
static void reshape(weft_space *space, weft_shape in, weft_shape out, const weft_expr *index, weft_expr *out_index)
{
    weft_expr_context *x = space->exprs;
    size_t in_last = in.rank, out_last = out.rank;
    while (in_last > 0 || out_last > 0) {
        size_t i = in_last, o = out_last;
        weft_expr in_count = weft_expr_constant(x, 1), out_count = in_count;
        if (i > 0) in_count = weft_space_extent(space, in.extents[--i]);
        if (o > 0) out_count = weft_space_extent(space, out.extents[--o]);
        while (in_count != out_count && (i > 0 || o > 0)) {
            bool grow_in = o == 0 || (i > 0 && is_at_most(x, in_count, out_count));
            if (!grow_in && i > 0 && !is_at_most(x, out_count, in_count)) {
                i = o = 0;
                break;
            }
            if (grow_in) {
                in_count = weft_expr_mul(x, in_count, weft_space_extent(space, in.extents[--i]));
            } else {
                out_count = weft_expr_mul(x, out_count, weft_space_extent(space, out.extents[--o]));
            }
        }
        unravel(space, in, i, in_last, out, o, out_last, index, out_index);
        in_last = i;
        out_last = o;
    }
}

static void broadcast(weft_space *space, const weft_attr *attrs, weft_shape in, weft_shape out, const weft_expr *index,
                      weft_expr *out_index)
{
    for (size_t i = 0; i < in.rank; i++) {
        size_t axis = (size_t)attrs[1].ints.items[i];
        bool stretched = is_one(in.extents[i]) && !is_one(out.extents[axis]);
        out_index[i] = stretched ? weft_expr_constant(space->exprs, 0) : index[axis];
    }
}

/* Operand `side` of a dot: batch axes first, then (a before b) the free ones; contracted ones come from `reduced`. */
static void dot(weft_space *space, const weft_node *node, size_t side, const weft_expr *index, const weft_expr *reduced,
                weft_expr *out_index)
{
    weft_ints batch = node->attrs[side].ints, contract = node->attrs[2 + side].ints;
    size_t rank = type_of(space, node->inputs[side])->shape.rank;
    for (size_t i = 0; i < batch.count; i++) out_index[batch.items[i]] = index[i];
    for (size_t i = 0; i < contract.count; i++) out_index[contract.items[i]] = reduced[i];
    size_t next = batch.count;
    if (side == 1) next += type_of(space, node->inputs[0])->shape.rank - batch.count - contract.count;
    for (size_t i = 0; i < rank; i++) {
        if (!weft_ints_contain(batch, i) && !weft_ints_contain(contract, i)) out_index[i] = index[next++];
    }
}

static void reduce(weft_ints axes, size_t rank, const weft_expr *index, const weft_expr *reduced, weft_expr *out_index)
{
    size_t kept = 0, gone = 0;
    for (size_t i = 0; i < rank; i++) out_index[i] = weft_ints_contain(axes, i) ? reduced[gone++] : index[kept++];
}

static bool concat(weft_space *space, const weft_node *node, size_t operand, weft_point *point)
{
    weft_expr_context *x = space->exprs;
    size_t axis = (size_t)node->attrs[0].integer;
    for (size_t i = 0; i < operand; i++) {
        weft_extent extent = type_of(space, node->inputs[i])->shape.extents[axis];
        point->index[axis] = weft_expr_sub(x, point->index[axis], weft_space_extent(space, extent));
    }
    return require_inside(space, point, axis);
}

static bool pad(weft_space *space, const weft_node *node, weft_point *point)
{
    for (size_t i = 0; i < node->attrs[0].extents.rank; i++) {
        weft_expr low = weft_space_extent(space, node->attrs[0].extents.extents[i]);
        point->index[i] = weft_expr_sub(space->exprs, point->index[i], low);
        if (!require_inside(space, point, i)) return false;
    }
    return true;
}

static bool embed_diagonal(weft_space *space, const weft_node *node, const weft_expr *index, size_t rank,
                           weft_point *point)
{
    size_t axis = (size_t)node->attrs[0].integer, added = (size_t)node->attrs[1].integer;
    for (size_t i = 0; i < rank; i++) point->index[i] = index[i < added ? i : i + 1];
    weft_expr difference = weft_expr_sub(space->exprs, index[axis < added ? axis : axis + 1], index[added]);
    weft_expr negated = weft_expr_sub(space->exprs, weft_expr_constant(space->exprs, 0), difference);
    return require(space, point, difference) && require(space, point, negated);
}

static void extract_diagonal(const weft_node *node, const weft_expr *index, size_t rank, weft_expr *out_index)
{
    size_t a = (size_t)node->attrs[0].integer, b = (size_t)node->attrs[1].integer;
    size_t low = a < b ? a : b, high = a < b ? b : a;
    for (size_t i = 0; i < rank; i++) out_index[i] = i < high ? index[i] : i == high ? index[low] : index[i - 1];
}

bool weft_space_indices(weft_space *space, const weft_node *node, size_t operand, const weft_expr *index,
                        weft_point *out_point)
{
    weft_indexed_axis axes[2 * WEFT_MAX_RANK];
    weft_point read = weft_space_point(space, node->inputs[operand]);
    if (read.index == NULL) return false;
    size_t count = weft_indexing_fill(type_of(space, node->inputs[0])->shape.rank, node->attrs[0].ints,
                                      node->attrs[1].ints, type_of(space, read.value)->shape.rank, axes);
    for (size_t i = 0; i < count; i++) {
        if (axes[i].index >= 0) read.index[axes[i].index] = index[i];
    }
    *out_point = read;
    return true;
}

static bool gather(weft_space *space, const weft_node *node, size_t operand, const weft_point *point,
                   weft_point *out_point)
{
    if (!weft_space_indices(space, node, operand, point->index, out_point)) return false;
    out_point->predicate_count = point->predicate_count;
    out_point->predicates = point->predicates;
    return true;
}

/* index * step within an axis of `in`: a step that leaves it at once, in either direction, is as good as one that
 * leaves it just so, and takes no part in an overflow. */
static weft_expr stepped(weft_space *space, weft_expr index, int64_t step, weft_extent in)
{
    int64_t least, most;
    weft_extent_range(in, &least, &most);
    if (step > most) step = most;
    if (step < -most) step = -most;
    return weft_expr_mul(space->exprs, index, weft_expr_constant(space->exprs, step));
}

static void slice(weft_space *space, const weft_attr *attrs, weft_shape in, const weft_expr *index,
                  weft_expr *out_index)
{
    for (size_t i = 0; i < in.rank; i++) {
        weft_expr start = weft_space_extent(space, attrs[0].extents.extents[i]);
        weft_expr inside = stepped(space, index[i], attrs[2].ints.items[i], in.extents[i]);
        out_index[i] = weft_expr_add(space->exprs, start, inside);
    }
}

static void window(weft_space *space, const weft_attr *attrs, weft_shape in, const weft_expr *index,
                   weft_expr *out_index)
{
    size_t axis = (size_t)attrs[0].integer;
    memcpy(out_index, index, in.rank * sizeof *index);
    weft_expr start = stepped(space, index[axis], attrs[2].integer, in.extents[axis]);
    weft_expr inside = stepped(space, index[in.rank], attrs[3].integer, in.extents[axis]);
    out_index[axis] = weft_expr_add(space->exprs, start, inside);
}

/* k * step, where a step beyond 32 bits is no longer than the longer extent: that leaves the axis as well, and the
 * product does not overflow. */
static weft_expr slant(weft_space *space, weft_expr k, int64_t step, weft_extent in, weft_extent out)
{
    weft_expr_context *x = space->exprs;
    if (step >= -INT32_MAX && step <= INT32_MAX) return weft_expr_mul(x, k, weft_expr_constant(x, step));
    weft_expr most = weft_expr_max(x, weft_space_extent(space, in), weft_space_extent(space, out));
    int64_t length = step > 0 ? step : step < -INT64_MAX ? INT64_MAX : -step;
    weft_expr moved = weft_expr_mul(x, k, weft_expr_min(x, most, weft_expr_constant(x, length)));
    return step > 0 ? moved : weft_expr_sub(x, weft_expr_constant(x, 0), moved);
}

static bool shear(weft_space *space, const weft_node *node, weft_shape in, const weft_expr *index, weft_point *point)
{
    size_t axis = (size_t)node->attrs[0].integer, along = (size_t)node->attrs[1].integer;
    memcpy(point->index, index, in.rank * sizeof *index);
    weft_expr moved =
        slant(space, index[along], node->attrs[2].integer, in.extents[axis], node->types[0].shape.extents[axis]);
    point->index[axis] = weft_expr_sub(space->exprs, index[axis], moved);
    return require_inside(space, point, axis);
}

static void flip(weft_space *space, const weft_node *node, weft_shape in, const weft_expr *index, weft_expr *out_index)
{
    weft_expr_context *x = space->exprs;
    for (size_t i = 0; i < in.rank; i++) {
        weft_expr last = weft_expr_sub(x, weft_space_extent(space, in.extents[i]), weft_expr_constant(x, 1));
        out_index[i] = weft_ints_contain(node->attrs[0].ints, i) ? weft_expr_sub(x, last, index[i]) : index[i];
    }
}

bool weft_space_operand(weft_space *space, const weft_point *point, size_t operand, const weft_expr *reduced,
                        weft_point *out_point)
{
    const weft_node *node = weft_graph_node(space->graph, point->value.node);
    weft_shape out = node->types[point->value.output].shape;
    weft_point read = weft_space_point(space, node->inputs[operand]);
    if (read.index == NULL) return false;
    read.predicate_count = point->predicate_count;
    read.predicates = point->predicates;
    weft_shape in = type_of(space, read.value)->shape;
    const weft_expr *index = point->index;
    bool fine = true;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_reshape: reshape(space, in, out, index, read.index); break;
    case WEFT_OP_permute:
        for (size_t i = 0; i < in.rank; i++) read.index[node->attrs[0].ints.items[i]] = index[i];
        break;
    case WEFT_OP_broadcast: broadcast(space, node->attrs, in, out, index, read.index); break;
    case WEFT_OP_slice: slice(space, node->attrs, in, index, read.index); break;
    case WEFT_OP_stop_gradient:
    case WEFT_OP_barrier: memcpy(read.index, index, in.rank * sizeof *index); break;
    case WEFT_OP_flip: flip(space, node, in, index, read.index); break;
    case WEFT_OP_window: window(space, node->attrs, in, index, read.index); break;
    case WEFT_OP_shear: fine = shear(space, node, in, index, &read); break;
    case WEFT_OP_extract_diagonal: extract_diagonal(node, index, in.rank, read.index); break;
    case WEFT_OP_embed_diagonal: fine = embed_diagonal(space, node, index, in.rank, &read); break;
    case WEFT_OP_pad:
        memcpy(read.index, index, in.rank * sizeof *index);
        fine = operand == 1 || pad(space, node, &read);
        break;
    case WEFT_OP_concat:
        memcpy(read.index, index, in.rank * sizeof *index);
        fine = concat(space, node, operand, &read);
        break;
    case WEFT_OP_gather: return gather(space, node, operand, point, out_point);
    case WEFT_OP_dynamic_slice: break;
    case WEFT_OP_dot: dot(space, node, operand, index, reduced, read.index); break;
    default:
        if (node->op->op_class == WEFT_CLASS_REDUCE) {
            reduce(weft_reduced_axes(node), in.rank, index, reduced, read.index);
        } else {
            memcpy(read.index, index, in.rank * sizeof *index);
        }
    }
    *out_point = read;
    return fine;
}
