/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a sum over a product of broadcasts into a dot: sum over k of a[i, k, 1] * b[1, k, j] is a product of matrices.
 * And a dot that is none, of vectors, into a sum.
 *
 * requires: chains of movement over operands are short (canonicalize)
 * maintains: values up to the order of summation, which dot and sum define for themselves; guards
 * breaks: sums over products that contract something and have free axes are gone, and so are dots that contract
 *     something without
 *
 * Each operand of the product is followed through broadcasts, permutes and reshapes that only add or drop extents of
 * one, down to a base whose axes are all axes of the product. Then an axis of the product is
 *
 *   contracted  in both bases and summed,
 *   batch       in both bases and kept,
 *   free        in one base and kept,
 *   repeated    in no base and kept: a broadcast after the dot.
 *
 * An axis of one base, or of none, that is summed and longer than one leaves the node alone. So does a product without
 * contracted axes, and one without free axes, which is no matrix product: a long sum is added up in blocks, and in many
 * lanes, where a dot goes from term to term. For the same reason a dot without free axes becomes the sum of a product.
 */
#include "lib/pass/pass.h"
#include "runtime/base/float_bits.h"

enum { NO_AXIS = -1 };

/* An operand of the product, seen from its base. */
typedef struct factor {
    weft_tensor base;
    size_t rank;
    int64_t axes[WEFT_MAX_RANK]; /* by axis of the base: of the product; NO_AXIS where its extent is one */
} factor;

typedef enum axis_role { ROLE_NONE, ROLE_FREE_A, ROLE_FREE_B, ROLE_BATCH, ROLE_CONTRACTED } axis_role;

typedef struct contraction {
    factor a, b;
    bool summed[WEFT_MAX_RANK];
    int64_t in_a[WEFT_MAX_RANK], in_b[WEFT_MAX_RANK]; /* by axis of the product: axis of the base, or NO_AXIS */
    axis_role roles[WEFT_MAX_RANK];
} contraction;

static bool is_one(weft_extent extent)
{
    return weft_extent_is(extent, 1);
}

/* ---- from an operand down to its base ---- */

static bool through_broadcast(factor *f)
{
    const weft_attr *attrs = weft_tensor_node(f->base)->attrs;
    weft_tensor inner = weft_tensor_operand(f->base, 0);
    weft_ints axes = attrs[1].ints;
    int64_t outer[WEFT_MAX_RANK];
    for (size_t i = 0; i < f->rank; i++) outer[i] = f->axes[i];
    for (size_t i = 0; i < axes.count; i++)
        f->axes[i] = is_one(weft_tensor_extent(inner, (int64_t)i)) ? NO_AXIS : outer[axes.items[i]];
    f->base = inner;
    f->rank = axes.count;
    return true;
}

static bool through_permute(factor *f)
{
    weft_ints axes = weft_tensor_node(f->base)->attrs[0].ints;
    int64_t outer[WEFT_MAX_RANK];
    for (size_t i = 0; i < f->rank; i++) outer[i] = f->axes[i];
    for (size_t i = 0; i < axes.count; i++) f->axes[axes.items[i]] = outer[i];
    f->base = weft_tensor_operand(f->base, 0);
    return true;
}

/* False, with nothing changed, unless the shapes are the same except for extents of one. */
static bool through_reshape(factor *f)
{
    weft_tensor inner = weft_tensor_operand(f->base, 0);
    weft_shape from = weft_tensor_shape(inner), to = weft_tensor_shape(f->base);
    int64_t axes[WEFT_MAX_RANK];
    size_t j = 0;
    for (size_t i = 0; i < from.rank; i++) {
        axes[i] = NO_AXIS;
        if (is_one(from.extents[i])) continue;
        while (j < to.rank && is_one(to.extents[j])) j++;
        if (j == to.rank || !weft_extent_equal(from.extents[i], to.extents[j])) return false;
        axes[i] = f->axes[j++];
    }
    while (j < to.rank && is_one(to.extents[j])) j++;
    if (j != to.rank) return false;
    for (size_t i = 0; i < from.rank; i++) f->axes[i] = axes[i];
    f->base = inner;
    f->rank = from.rank;
    return true;
}

static bool step_inward(factor *f)
{
    switch (weft_op_id_of(weft_tensor_node(f->base)->op)) {
    case WEFT_OP_broadcast: return through_broadcast(f);
    case WEFT_OP_permute: return through_permute(f);
    case WEFT_OP_reshape: return through_reshape(f);
    default: return false;
    }
}

static factor factor_of(weft_tensor operand)
{
    factor f = {.base = operand, .rank = weft_tensor_rank(operand)};
    for (size_t i = 0; i < f.rank; i++)
        f.axes[i] = is_one(weft_tensor_extent(operand, (int64_t)i)) ? NO_AXIS : (int64_t)i;
    while (step_inward(&f)) continue;
    return f;
}

/* ---- what each axis is ---- */

static void find_axes(const factor *f, size_t rank, int64_t *out_axes)
{
    for (size_t i = 0; i < rank; i++) out_axes[i] = NO_AXIS;
    for (size_t i = 0; i < f->rank; i++)
        if (f->axes[i] != NO_AXIS) out_axes[f->axes[i]] = (int64_t)i;
}

/* False when the axis is summed and the bases do not share it. */
static bool find_role(contraction *c, size_t axis, weft_extent extent)
{
    bool a = c->in_a[axis] != NO_AXIS, b = c->in_b[axis] != NO_AXIS;
    c->roles[axis] = ROLE_NONE;
    if (a && b) c->roles[axis] = c->summed[axis] ? ROLE_CONTRACTED : ROLE_BATCH;
    else if (a || b) c->roles[axis] = a ? ROLE_FREE_A : ROLE_FREE_B;
    return !c->summed[axis] || (a && b) || (!a && !b && is_one(extent));
}

static size_t count_role(const contraction *c, size_t rank, axis_role role)
{
    size_t count = 0;
    for (size_t i = 0; i < rank; i++) count += c->roles[i] == role;
    return count;
}

static bool is_matrix_product(const contraction *c, size_t rank)
{
    size_t frees = count_role(c, rank, ROLE_FREE_A) + count_role(c, rank, ROLE_FREE_B);
    return frees > 0 && count_role(c, rank, ROLE_CONTRACTED) > 0;
}

static bool contraction_find(const weft_rewrite_site *site, contraction *c)
{
    weft_tensor product = site->inputs.items[0];
    size_t rank = weft_tensor_rank(product);
    weft_ints axes = site->node->attrs[0].ints;
    *c =
        (contraction){.a = factor_of(weft_tensor_operand(product, 0)), .b = factor_of(weft_tensor_operand(product, 1))};
    for (size_t i = 0; i < axes.count; i++) c->summed[axes.items[i]] = true;
    find_axes(&c->a, rank, c->in_a);
    find_axes(&c->b, rank, c->in_b);
    for (size_t i = 0; i < rank; i++)
        if (!find_role(c, i, weft_tensor_extent(product, (int64_t)i))) return false;
    return is_matrix_product(c, rank);
}

/* ---- the dot and what follows it ---- */

/* The base without its extents of one; in its place in `f`. */
static void squeeze(factor *f)
{
    weft_shape shape = weft_tensor_shape(f->base);
    weft_extent extents[WEFT_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < f->rank; i++) {
        if (f->axes[i] == NO_AXIS) continue;
        f->axes[rank] = f->axes[i];
        extents[rank++] = shape.extents[i];
    }
    if (rank != f->rank) f->base = weft_reshape(f->base, (weft_shape){rank, extents});
    f->rank = rank;
}

/* Appends the axes of the product that are free in `f`, in the order of its base. */
static size_t append_free(const contraction *c, const factor *f, size_t count, int64_t *out_axes)
{
    for (size_t i = 0; i < f->rank; i++) {
        axis_role role = c->roles[f->axes[i]];
        if (role == ROLE_FREE_A || role == ROLE_FREE_B) out_axes[count++] = f->axes[i];
    }
    return count;
}

static size_t find_shared(const contraction *c, size_t rank, axis_role role, int64_t *out_a, int64_t *out_b)
{
    size_t count = 0;
    for (size_t i = 0; i < rank; i++) {
        if (c->roles[i] != role) continue;
        out_a[count] = c->in_a[i];
        out_b[count++] = c->in_b[i];
    }
    return count;
}

/* The dot; fills the axes of the product that its own axes are. */
static weft_tensor emit_dot(contraction *c, size_t rank, int64_t *out_axes)
{
    squeeze(&c->a);
    squeeze(&c->b);
    find_axes(&c->a, rank, c->in_a);
    find_axes(&c->b, rank, c->in_b);
    int64_t batch_a[WEFT_MAX_RANK], batch_b[WEFT_MAX_RANK], contract_a[WEFT_MAX_RANK], contract_b[WEFT_MAX_RANK];
    size_t batch = find_shared(c, rank, ROLE_BATCH, batch_a, batch_b);
    size_t contracted = find_shared(c, rank, ROLE_CONTRACTED, contract_a, contract_b);
    size_t count = 0;
    for (size_t i = 0; i < rank; i++)
        if (c->roles[i] == ROLE_BATCH) out_axes[count++] = (int64_t)i;
    count = append_free(c, &c->a, count, out_axes);
    append_free(c, &c->b, count, out_axes);
    return weft_dot(
        c->a.base, c->b.base,
        (weft_dot_axes){{batch, batch_a}, {batch, batch_b}, {contracted, contract_a}, {contracted, contract_b}});
}

static weft_tensor permute(weft_tensor x, size_t count, const int64_t *order)
{
    bool in_order = true;
    for (size_t i = 0; i < count; i++) in_order = in_order && order[i] == (int64_t)i;
    return in_order ? x : weft_permute(x, (weft_ints){count, order});
}

/* Puts the axes of the dot, which are `axes` of the product, into their order and repeats along those that it lacks. */
static weft_tensor arrange(const contraction *c, weft_tensor dot, size_t rank, const int64_t *axes, weft_shape shape)
{
    int64_t order[WEFT_MAX_RANK], places[WEFT_MAX_RANK];
    size_t count = 0, kept = 0;
    for (size_t axis = 0; axis < rank; axis++) {
        if (c->summed[axis]) continue;
        for (size_t i = 0; i < weft_tensor_rank(dot); i++) {
            if (axes[i] != (int64_t)axis) continue;
            order[count] = (int64_t)i;
            places[count++] = (int64_t)kept;
        }
        kept++;
    }
    weft_tensor result = permute(dot, count, order);
    return count == kept ? result : weft_broadcast_in_dim(result, shape, (weft_ints){count, places});
}

static weft_tensor contract_sum(const weft_rewrite_site *site)
{
    weft_tensor product = site->inputs.items[0];
    contraction c;
    int64_t axes[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(product);
    if (!weft_tensor_is_op(product, WEFT_OP_mul) || !contraction_find(site, &c)) return weft_site_leave();
    weft_tensor dot = emit_dot(&c, rank, axes);
    return weft_tensor_is_valid(dot) ? arrange(&c, dot, rank, axes, site->node->types[0].shape) : dot;
}

/* ---- the sum that a dot of vectors is ---- */

/* The product of two operands whose axes all pair up: in which order it has the pairs, and which are summed. */
typedef struct pairing {
    int64_t order_a[WEFT_MAX_RANK], order_b[WEFT_MAX_RANK]; /* by axis of the product: of the operands */
    int64_t summed[WEFT_MAX_RANK], kept[WEFT_MAX_RANK];     /* axes of the product; by batch axis of the dot */
    size_t rank, summed_count, kept_count;
} pairing;

/* Which of `axes` is `axis`, or their count. */
static size_t find_axis(weft_ints axes, int64_t axis)
{
    size_t i = 0;
    while (i < axes.count && axes.items[i] != axis) i++;
    return i;
}

/* Whether the axes are neighbours in some order, so that a sum over them is one over elements in a row. */
static bool are_neighbours(weft_ints axes)
{
    int64_t least = axes.items[0], most = axes.items[0];
    for (size_t i = 1; i < axes.count; i++) {
        if (axes.items[i] < least) least = axes.items[i];
        if (axes.items[i] > most) most = axes.items[i];
    }
    return most - least + 1 == (int64_t)axes.count;
}

static void add_pair(pairing *p, const weft_dot_axes *dot, int64_t axis_of_a)
{
    size_t batch = find_axis(dot->batch_a, axis_of_a), contracted = find_axis(dot->contract_a, axis_of_a);
    bool is_batch = batch < dot->batch_a.count;
    p->order_a[p->rank] = axis_of_a;
    p->order_b[p->rank] = is_batch ? dot->batch_b.items[batch] : dot->contract_b.items[contracted];
    if (is_batch) p->kept[batch] = (int64_t)p->kept_count++;
    else p->summed[p->summed_count++] = (int64_t)p->rank;
    p->rank++;
}

/* The order of `a`, or batch axes first where that would part the summed ones. */
static void fill_pairs(pairing *p, const weft_dot_axes *dot)
{
    weft_ints batch = dot->batch_a, contracted = dot->contract_a;
    size_t rank = batch.count + contracted.count;
    bool in_order = are_neighbours(contracted);
    for (size_t i = 0; i < rank && in_order; i++) add_pair(p, dot, (int64_t)i);
    for (size_t i = 0; i < batch.count && !in_order; i++) add_pair(p, dot, batch.items[i]);
    for (size_t i = 0; i < contracted.count && !in_order; i++) add_pair(p, dot, contracted.items[i]);
}

static weft_tensor cast(weft_tensor x, weft_dtype dtype)
{
    return weft_tensor_dtype(x) == dtype ? x : weft_cast(x, dtype);
}

/* 16-bit floats are multiplied and added up as f32, and rounded once. */
static weft_tensor sum_pairs(const pairing *p, weft_tensor a, weft_tensor b)
{
    weft_dtype dtype = weft_tensor_dtype(a), wide = weft_accumulator_dtype(dtype);
    weft_ints summed = {p->summed_count, p->summed};
    weft_tensor x = permute(a, p->rank, p->order_a), y = permute(b, p->rank, p->order_b);
    if (dtype == WEFT_BOOL) return weft_reduce_any(weft_and(x, y), summed, false);
    x = cast(x, wide);
    y = cast(y, wide);
    return cast(weft_reduce_sum(weft_mul(x, y), summed, false), dtype);
}

/* An operand of a dot, without free axes: its own must be one, and go. The axes of the dot in it follow. */
static bool drop_free(weft_tensor *x, weft_ints batch, weft_ints contracted, int64_t *out_batch,
                      int64_t *out_contracted)
{
    weft_shape shape = weft_tensor_shape(*x);
    weft_extent extents[WEFT_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < shape.rank; i++) {
        size_t at_batch = find_axis(batch, (int64_t)i), at_contracted = find_axis(contracted, (int64_t)i);
        bool is_free = at_batch == batch.count && at_contracted == contracted.count;
        if (is_free && !is_one(shape.extents[i])) return false;
        if (is_free) continue;
        if (at_batch < batch.count) out_batch[at_batch] = (int64_t)rank;
        else out_contracted[at_contracted] = (int64_t)rank;
        extents[rank++] = shape.extents[i];
    }
    if (rank < shape.rank) *x = weft_reshape(*x, (weft_shape){rank, extents});
    return true;
}

static weft_tensor expand_dot(const weft_rewrite_site *site)
{
    const weft_attr *dot = site->node->attrs;
    int64_t axes[4][WEFT_MAX_RANK];
    weft_tensor a = site->inputs.items[0], b = site->inputs.items[1];
    if (dot[2].ints.count == 0 || !drop_free(&a, dot[0].ints, dot[2].ints, axes[0], axes[2]) ||
        !drop_free(&b, dot[1].ints, dot[3].ints, axes[1], axes[3]))
        return weft_site_leave();
    weft_dot_axes pairs = {{dot[0].ints.count, axes[0]},
                           {dot[1].ints.count, axes[1]},
                           {dot[2].ints.count, axes[2]},
                           {dot[3].ints.count, axes[3]}};
    pairing p = {.rank = 0};
    fill_pairs(&p, &pairs);
    weft_tensor sum = permute(sum_pairs(&p, a, b), p.kept_count, p.kept);
    weft_shape shape = site->node->types[0].shape;
    return weft_tensor_rank(sum) == shape.rank ? sum : weft_reshape(sum, shape);
}

static const weft_rewrite_row rows[] = {{WEFT_OP_reduce_sum, contract_sum}, {WEFT_OP_dot, expand_dot}};

weft_status *weft_pass_match_dot(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    weft_rewrite_table table = {WEFT_COUNT_OF(rows), rows};
    return weft_rewrite_run(graph, count, outputs, weft_rewrite_by_table, &table);
}
