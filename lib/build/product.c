/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the library: which axes they have, and what is copied for them. */
#include "lib/build/builder.h"
#include <string.h>
#include "lib/lower/product.h"
#include "runtime/engine/gemm_turn.h"

/* An axis of a product as A, B and C have it: extents that a guard makes equal may be different expressions. */
typedef struct product_axis {
    weft_expr extents[3], strides[3];
    size_t first, last; /* free ones: which of its side in the dot, from the outermost to the innermost that it joins */
} product_axis;

/* The axes of the result and the contracted ones, at most. */
typedef struct axis_list {
    product_axis items[2 * WEFT_MAX_RANK];
    uint32_t count;
} axis_list;

typedef struct product {
    axis_list batch, m, n, k;
} product;

/* Whether a step of `outer` is as long as all of `inner`, in all three. */
static bool adjacent(weft_expr_context *x, const product_axis *outer, const product_axis *inner)
{
    for (int i = 0; i < 3; i++) {
        if (outer->strides[i] != weft_expr_mul(x, inner->strides[i], inner->extents[i])) return false;
    }
    return true;
}

/* Appends an axis, or merges it with the one before. */
static void add_axis(weft_expr_context *x, axis_list *list, product_axis axis)
{
    int64_t extent;
    if (weft_expr_is_constant(x, axis.extents[0], &extent) && extent == 1) return;
    product_axis *last = list->count > 0 ? &list->items[list->count - 1] : NULL;
    if (last != NULL && adjacent(x, last, &axis)) {
        for (int i = 0; i < 3; i++) axis.extents[i] = weft_expr_mul(x, last->extents[i], axis.extents[i]);
        axis.first = last->first;
        *last = axis;
    } else {
        list->items[list->count++] = axis;
    }
}

static const weft_node *dot_of(const variant_builder *builder, const planned_step *step)
{
    return weft_graph_node(builder->graph, weft_fusion_dot(builder->fusion, step->node));
}

static weft_value operand_of(const variant_builder *builder, const planned_step *step, size_t side)
{
    return weft_product_operand(builder->graph, dot_of(builder, step), side);
}

/* The axis of the dot that is axis `i` of what the step computes. */
static size_t axis_of_result(const variant_builder *builder, const planned_step *step, size_t i)
{
    const weft_node *node = weft_graph_node(builder->graph, step->node);
    return weft_op_id_of(node->op) == WEFT_OP_permute ? (size_t)node->attrs[0].ints.items[i] : i;
}

/* The axis of the dot that comes after `i` others in memory. */
static size_t axis_in_memory(const variant_builder *builder, const planned_step *step, size_t i)
{
    const int64_t *order = weft_fusion_order(builder->fusion, step->node);
    return axis_of_result(builder, step, order == NULL ? i : (size_t)order[i]);
}

/* The permute in whose order the product is computed; 0: none. */
static uint32_t permute_of(const variant_builder *builder, const planned_step *step)
{
    bool is_dot = weft_op_id_of(weft_graph_node(builder->graph, step->node)->op) == WEFT_OP_dot;
    if (!is_dot) return step->node;
    uint32_t permute = builder->fusion->ordered_by[step->node];
    return permute == 0 ? 0 : permute - 1;
}

/* The free axes of one side, in the order of the result in memory. In the dot they follow each other from axis `next`
 * on. */
static void add_free(variant_builder *builder, const planned_step *step, size_t side, size_t next, axis_list *list)
{
    const weft_node *node = dot_of(builder, step);
    const weft_strides *view = side == 0 ? &step->a : &step->b;
    weft_shape shape = weft_value_type(builder->graph, node->inputs[side])->shape;
    weft_expr zero = weft_expr_constant(builder->exprs, 0);
    size_t free_axes[WEFT_MAX_RANK], count = 0, rank = node->types[0].shape.rank;
    for (size_t i = 0; i < shape.rank; i++)
        if (!weft_ints_contain(node->attrs[side].ints, i) && !weft_ints_contain(node->attrs[2 + side].ints, i))
            free_axes[count++] = i;
    for (size_t i = 0; i < rank; i++) {
        size_t axis = axis_in_memory(builder, step, i);
        if (axis < next || axis >= next + count) continue;
        size_t own = free_axes[axis - next];
        weft_expr extent = weft_space_extent(&builder->space, shape.extents[own]);
        product_axis free_axis = {
            {extent, extent, extent}, {zero, zero, step->c.strides[axis]}, axis - next, axis - next};
        free_axis.strides[side] = view->strides[own];
        add_axis(builder->exprs, list, free_axis);
    }
}

/* An axis that A and B share; `c_stride` is its stride in C. */
static product_axis shared_axis(variant_builder *builder, const planned_step *step, size_t a, size_t b,
                                weft_expr c_stride)
{
    const weft_node *node = dot_of(builder, step);
    weft_shape a_shape = weft_value_type(builder->graph, node->inputs[0])->shape;
    weft_shape b_shape = weft_value_type(builder->graph, node->inputs[1])->shape;
    weft_expr a_extent = weft_space_extent(&builder->space, a_shape.extents[a]);
    weft_expr b_extent = weft_space_extent(&builder->space, b_shape.extents[b]);
    return (product_axis){{a_extent, b_extent, a_extent}, {step->a.strides[a], step->b.strides[b], c_stride}};
}

static void find_axes(variant_builder *builder, const planned_step *step, product *out_product)
{
    const weft_node *node = dot_of(builder, step);
    weft_expr_context *x = builder->exprs;
    size_t a_rank = weft_value_type(builder->graph, node->inputs[0])->shape.rank;
    const weft_ints *batch = &node->attrs[0].ints, *contract = &node->attrs[2].ints;
    weft_ints batch_b = node->attrs[1].ints, contract_b = node->attrs[3].ints;
    memset(out_product, 0, sizeof *out_product);
    for (size_t i = 0; i < batch->count; i++) {
        add_axis(x, &out_product->batch,
                 shared_axis(builder, step, (size_t)batch->items[i], (size_t)batch_b.items[i], step->c.strides[i]));
    }
    size_t free_a = a_rank - batch->count - contract->count;
    add_free(builder, step, 0, batch->count, &out_product->m);
    add_free(builder, step, 1, batch->count + free_a, &out_product->n);
    for (size_t i = 0; i < contract->count; i++) {
        add_axis(x, &out_product->k,
                 shared_axis(builder, step, (size_t)contract->items[i], (size_t)contract_b.items[i],
                             weft_expr_constant(x, 0)));
    }
}

/* Whether the contracted axes of one side follow each other in its memory like one. */
static bool has_one_contracted_axis(variant_builder *builder, const planned_step *step, size_t side)
{
    const weft_node *node = dot_of(builder, step);
    weft_ints contract = node->attrs[2 + side].ints;
    weft_shape shape = weft_value_type(builder->graph, node->inputs[side])->shape;
    const weft_strides *view = side == 0 ? &step->a : &step->b;
    axis_list axes = {.count = 0};
    for (size_t i = 0; i < contract.count; i++) {
        size_t axis = (size_t)contract.items[i];
        weft_expr stride = view->strides[axis], extent = weft_space_extent(&builder->space, shape.extents[axis]);
        add_axis(builder->exprs, &axes, (product_axis){{extent, extent, extent}, {stride, stride, stride}});
    }
    return axes.count <= 1;
}

/* Fewer multiplications in one product are not worth it, where copying an operand makes more of them. */
#define LEAST_PRODUCT (32 * 32 * 32)
/* An axis shorter than this makes products slow. */
#define SHORT_AXIS 16

/* Of an axis; LEAST_PRODUCT stands for more and for what is not known. */
static int64_t short_extent(weft_expr_context *x, const product_axis *axis)
{
    int64_t extent;
    return weft_expr_is_constant(x, axis->extents[0], &extent) && extent < LEAST_PRODUCT ? extent : LEAST_PRODUCT;
}

/* Whether the extent of an axis is known, and fills parts of so many elements, except a quarter. */
static bool fills(weft_expr_context *x, const product_axis *axis, int64_t part)
{
    int64_t extent;
    return weft_expr_is_constant(x, axis->extents[0], &extent) && 4 * extent >= 3 * ((extent + part - 1) / part * part);
}

static bool is_dense(weft_expr_context *x, const product_axis *axis, size_t operand)
{
    int64_t stride;
    return weft_expr_is_constant(x, axis->strides[operand], &stride) && stride == 1;
}

static bool ends_densely(weft_expr_context *x, const axis_list *list, size_t operand)
{
    return list->count > 0 && is_dense(x, &list->items[list->count - 1], operand);
}

/*
 * Which free axis of a side is the product's; the others are axes of its batch, which may become rows or columns there.
 * An operand without an axis of stride one is read element by element, several times as slowly: then it is one that has
 * it, unless that is short. Else it is the last.
 */
static uint32_t choose_axis(weft_expr_context *x, const axis_list *list, const axis_list *k, size_t side)
{
    if (ends_densely(x, k, side)) return list->count - 1;
    for (uint32_t i = list->count; i-- > 0;)
        if (is_dense(x, &list->items[i], side) && short_extent(x, &list->items[i]) >= SHORT_AXIS) return i;
    return list->count - 1;
}

static int64_t chosen_extent(weft_expr_context *x, const product *p, size_t side)
{
    const axis_list *list = side == 0 ? &p->m : &p->n;
    return list->count == 0 ? 1 : short_extent(x, &list->items[choose_axis(x, list, &p->k, side)]);
}

/* Whether the free axes of one side, not being one, make the product into many small or narrow ones, each of which goes
 * through all of the other operand. */
static bool is_cut_up(weft_expr_context *x, const product *p, size_t side)
{
    if ((side == 0 ? p->m : p->n).count <= 1) return false;
    int64_t k = p->k.count == 0 ? 1 : short_extent(x, &p->k.items[p->k.count - 1]);
    int64_t own = chosen_extent(x, p, side), other = chosen_extent(x, p, 1 - side);
    return own * other * k < LEAST_PRODUCT || (own < SHORT_AXIS && other >= SHORT_AXIS);
}

/* What is copied of an operand: what its windows read, or what it repeats, if there is such, which has fewer elements.
 */
static uint32_t copied_node(const variant_builder *builder, uint32_t operand)
{
    const uint8_t *roles = builder->fusion->roles;
    uint32_t copied = operand;
    for (uint32_t n = operand; !weft_role_has_memory(roles[n]);) {
        const weft_node *node = weft_graph_node(builder->graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        if (node->input_count == 0) break;
        bool is_outermost = n == copied;
        n = node->inputs[0].node;
        if (id == WEFT_OP_window || (id == WEFT_OP_broadcast && is_outermost)) copied = n;
    }
    return copied;
}

/* The axis along which an operand is adjacent; NULL: none. */
static const product_axis *dense_axis(weft_expr_context *x, const axis_list *list, size_t operand)
{
    for (uint32_t i = list->count; i-- > 0;)
        if (is_dense(x, &list->items[i], operand)) return &list->items[i];
    return NULL;
}

/*
 * Whether C, of real numbers, is adjacent along another axis of a side than its operand: the library turns it in longer
 * runs than a kernel would permute it afterwards. efbad,cf->abcde of 48, 36, 24, 36, 48, 36 takes 0.56 of the time (Zen
 * 5). Kernels without AVX-512 do not ask for what they read: with AVX2 it takes 1.2 to 1.5 times as long. Where other
 * axes are between the two, C is written a line at a time in pages that are apart. That takes less time only past the
 * caches, and in lines that are whole: ecbfa,fd->abcde of 48, 36, 36, 24, 48, 48 0.6, dbea,ec->abcd of 96, 84, 24, 96,
 * 96 0.8, but of 64, 60, 24, 64, 64, which is 23 MB, 1.17.
 */
static bool is_turned(variant_builder *builder, const planned_step *step, const product *p, size_t side)
{
    enum { LINE = 64, LONG = 32 };
    weft_expr_context *x = builder->exprs;
    const weft_machine *machine = builder->request->machine;
    const axis_list *list = side == 0 ? &p->m : &p->n;
    const weft_type *type = &dot_of(builder, step)->types[0];
    if ((type->dtype != WEFT_F32 && type->dtype != WEFT_F64) || machine->vector_bytes < WEFT_LONG_VECTOR) return false;
    if (list->count < 2 || !ends_densely(x, list, 2) || ends_densely(x, &p->k, side)) return false;
    const int64_t size = (int64_t)weft_dtype_size(type->dtype), line = LINE / size;
    const product_axis *last = &list->items[list->count - 1], *own = dense_axis(x, list, side);
    if (own == NULL || short_extent(x, own) < LONG || !fills(x, own, SHORT_AXIS) || !fills(x, last, line)) return false;
    bool is_past =
        weft_count_bound(&builder->space, type->shape) > WEFT_GEMM_TURN_PAST * (int64_t)machine->cache_bytes[1] / size;
    return own + 1 == last || (is_past && short_extent(x, last) % line == 0);
}

/* Whether C stays in L2. */
static bool is_near(variant_builder *builder, const planned_step *step)
{
    const weft_type *type = &dot_of(builder, step)->types[0];
    size_t elements = (size_t)weft_count_bound(&builder->space, type->shape);
    return elements <= builder->request->machine->cache_bytes[1] / weft_dtype_size(type->dtype);
}

/* Whether elements of an operand that are adjacent follow each other neither along the last of its contracted axes nor
 * along the last of the others in C. */
static bool lies_across(weft_expr_context *x, const product *p, size_t side)
{
    return !ends_densely(x, &p->k, side) && !ends_densely(x, side == 0 ? &p->m : &p->n, side);
}

/*
 * Elements of C that follow each other along the last axes of a list, as those of a copy of the operand do too, as far
 * as is known. An axis of unknown extent among several counts as a short one, as those of many axes mostly are.
 * deca,be->abcd of 24, 48, 42, 48 and 12, the first and the last of them unknown, takes 0.32 of the time that it takes
 * where C is written in runs of what lies apart in the copy, dbea,ec->abcd of unknown extents 0.6 (Zen 5).
 */
static int64_t run_of_result(weft_expr_context *x, const axis_list *list)
{
    enum { USUAL = 24 };
    int64_t run = 1, extent;
    for (uint32_t i = list->count; i-- > 0;) {
        const product_axis *axis = &list->items[i];
        run = weft_multiply_bound(run, weft_expr_is_constant(x, axis->extents[0], &extent) ? extent : USUAL);
        if (i == 0 || axis[-1].last + 1 != axis->first ||
            axis[-1].strides[2] != weft_expr_mul(x, axis->strides[2], axis->extents[2]))
            break;
    }
    return run;
}

/* Whether C is written in runs of so many elements along the axes of one side that permuting it afterwards costs more
 * than the seams of tiles between runs, which each block of terms has. Measured on Sapphire Rapids. */
static bool has_long_runs(weft_expr_context *x, const product *p, const axis_list *list)
{
    enum { LONG = 64, MEDIUM = 32, MANY_TERMS = 100 };
    int64_t run = run_of_result(x, list), terms = 1;
    for (uint32_t i = 0; i < p->k.count; i++) terms = weft_multiply_bound(terms, short_extent(x, &p->k.items[i]));
    return ends_densely(x, list, 2) && (run >= LONG || (run >= MEDIUM && terms < MANY_TERMS));
}

/* Whether an operand lies across what is adjacent in C: packed as it lies, it would be read, or C written, a number at
 * a time. One that is not large beside C is better copied, unless C is turned: dbea,ec->abcd of 96, 84, 48, 96, 64
 * would take 2.4 times as long, efbad,cf->abcde of 32, 4, 48, 36, 16, 40 1.12 (Zen 5). */
static bool lies_across_result(variant_builder *builder, const planned_step *step, const product *p, size_t side)
{
    weft_expr_context *x = builder->exprs;
    const weft_node *node = dot_of(builder, step);
    const axis_list *list = side == 0 ? &p->m : &p->n;
    if (list->count <= 1 || !lies_across(x, p, side) || !has_long_runs(x, p, list)) return false;
    if (!is_near(builder, step) && is_turned(builder, step, p, side)) return false;
    int64_t operand = weft_count_bound(&builder->space, weft_value_type(builder->graph, node->inputs[side])->shape);
    int64_t result = weft_count_bound(&builder->space, node->types[0].shape);
    return operand <= (permute_of(builder, step) != 0 ? result : weft_multiply_bound(result, 2));
}

/*
 * Whether an operand that is not one matrix is better copied, which goes through it in the order of its memory. As it
 * lies it is packed along the last of its contracted axes, or the last of the others in C: one of these has to be
 * dense.
 */
static bool is_worth_copying(variant_builder *builder, const planned_step *step, const product *p, size_t side)
{
    weft_expr_context *x = builder->exprs;
    uint32_t copied = copied_node(builder, operand_of(builder, step, side).node);
    if (weft_role_has_memory(builder->fusion->roles[copied])) return false;
    if (lies_across_result(builder, step, p, side)) return true;
    if (has_one_contracted_axis(builder, step, side) && !is_cut_up(x, p, side)) return false;
    return lies_across(x, p, side) && !is_turned(builder, step, p, side);
}

/* Whether a product writes its result in an order in which one operand is neither read along adjacent elements nor
 * packed along adjacent terms: permuting the result afterwards costs less, unless copying the operand does, or turning
 * a result that does not stay in L2. */
static bool is_better_permuted(variant_builder *builder, const planned_step *step, const product *p)
{
    if (permute_of(builder, step) == 0) return false;
    const axis_list *lists[] = {&p->m, &p->n};
    for (size_t side = 0; side < 2; side++) {
        if (lists[side]->count <= 1 || !lies_across(builder->exprs, p, side)) continue;
        if (lies_across_result(builder, step, p, side)) continue;
        if (is_near(builder, step) || !is_turned(builder, step, p, side)) return true;
    }
    return false;
}

weft_status *weft_builder_plan_gemm(variant_builder *builder, planned_step *step)
{
    const weft_node *node = dot_of(builder, step);
    weft_strides *views[2] = {&step->a, &step->b}, result;
    bool all_found = true;
    for (size_t side = 0; side < 2; side++) {
        weft_value read = operand_of(builder, step, side);
        uint32_t operand = read.node;
        bool found = weft_view_find_from(&builder->space, builder->fusion, builder->memories, builder->first_memory,
                                         node->inputs[side], read, views[side]);
        WEFT_TRY(weft_expr_context_take_error(builder->exprs));
        if (!found && weft_role_has_memory(builder->fusion->roles[operand])) return weft_status_out_of_memory();
        uint32_t copied = copied_node(builder, operand);
        if (weft_role_has_memory(builder->fusion->roles[copied])) copied = operand;
        if (!found) weft_fusion_materialize(builder->fusion, copied);
        all_found = all_found && found;
    }
    if (!all_found) return NULL;
    if (!weft_view_find(&builder->space, builder->fusion, builder->memories, builder->first_memory,
                        (weft_value){step->node, 0}, &result))
        return weft_status_out_of_memory();
    step->c = result;
    for (size_t i = 0; i < node->types[0].shape.rank; i++)
        step->c.strides[axis_of_result(builder, step, i)] = result.strides[i];
    product p;
    find_axes(builder, step, &p);
    if (is_better_permuted(builder, step, &p)) {
        weft_fusion_keep_order(builder->fusion, permute_of(builder, step));
        return weft_expr_context_take_error(builder->exprs);
    }
    for (size_t side = 0; side < 2; side++)
        if (is_worth_copying(builder, step, &p, side))
            weft_fusion_materialize(builder->fusion, copied_node(builder, operand_of(builder, step, side).node));
    return weft_expr_context_take_error(builder->exprs);
}

static weft_status *slots_of(variant_builder *builder, const axis_list *list, int strides, const uint32_t **out_slots)
{
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, (list->count + 1) * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < list->count; i++) {
        const product_axis *axis = &list->items[i];
        WEFT_TRY(weft_builder_slot(builder, strides < 0 ? axis->extents[0] : axis->strides[strides], &slots[i]));
    }
    *out_slots = slots;
    return NULL;
}

/* Axis `chosen` of a list, for the product itself; the others are batch axes. */
static product_axis take_axis(variant_builder *builder, const axis_list *list, uint32_t chosen, axis_list *batch)
{
    weft_expr one = weft_expr_constant(builder->exprs, 1);
    if (list->count == 0) return (product_axis){{one, one, one}, {one, one, one}};
    for (uint32_t i = 0; i < list->count; i++)
        if (i != chosen) batch->items[batch->count++] = list->items[i];
    return list->items[chosen];
}

static weft_status *fill_slots(variant_builder *builder, const weft_expr *exprs, uint32_t *const *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) WEFT_TRY(weft_builder_slot(builder, exprs[i], slots[i]));
    return NULL;
}

weft_status *weft_builder_fill_gemm(variant_builder *builder, const planned_step *planned, weft_step *out_step)
{
    product p;
    find_axes(builder, planned, &p);
    product_axis m = take_axis(builder, &p.m, choose_axis(builder->exprs, &p.m, &p.k, 0), &p.batch);
    product_axis n = take_axis(builder, &p.n, choose_axis(builder->exprs, &p.n, &p.k, 1), &p.batch);
    product_axis k = take_axis(builder, &p.k, p.k.count - 1, &p.batch);
    weft_gemm *gemm = &out_step->gemm;
    gemm->dtype = weft_value_type(builder->graph, operand_of(builder, planned, 0))->dtype;
    gemm->batch_rank = p.batch.count;
    WEFT_TRY(slots_of(builder, &p.batch, -1, &gemm->batch));
    WEFT_TRY(slots_of(builder, &p.batch, 0, &gemm->a_batch));
    WEFT_TRY(slots_of(builder, &p.batch, 1, &gemm->b_batch));
    WEFT_TRY(slots_of(builder, &p.batch, 2, &gemm->c_batch));
    const weft_expr exprs[] = {m.extents[0], n.extents[0],      k.extents[0],      m.strides[0],
                               k.strides[0], k.strides[1],      n.strides[1],      m.strides[2],
                               n.strides[2], planned->a.offset, planned->b.offset, planned->c.offset};
    uint32_t *const slots[] = {&gemm->m,        &gemm->n,        &gemm->k,        &gemm->a_row,
                               &gemm->a_column, &gemm->b_row,    &gemm->b_column, &gemm->c_row,
                               &gemm->c_column, &gemm->a_offset, &gemm->b_offset, &gemm->c_offset};
    WEFT_TRY(fill_slots(builder, exprs, slots, sizeof exprs / sizeof *exprs));
    const uint32_t buffers[] = {builder->buffers[planned->a.memory], builder->buffers[planned->b.memory],
                                builder->buffers[planned->target]};
    out_step->buffers = weft_arena_copy(&builder->variant->arena, buffers, sizeof buffers);
    out_step->buffer_count = 3;
    out_step->written = 1;
    return out_step->buffers == NULL ? weft_status_out_of_memory() : NULL;
}
