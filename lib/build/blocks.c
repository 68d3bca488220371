/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>

/*
 * Iterations of a fold that read or write one block of an array each. A dynamic slice that has memory is planned as a
 * copy, and so is a dynamic update slice of what has memory. Where the start is a known function of the number of the
 * iteration, and the block lies in one piece, steps have a pointer to the block instead, which moves with the
 * iterations: they read it where it lies, compute their results there, or have what the loop carries there, of which
 * each iteration keeps what it begins with.
 */

/* Starts that take more operations are not looked into. */
enum { MOST_OPERATIONS = 8 };

/* A block of the iteration, in elements. */
typedef struct block {
    weft_expr size, whole;  /* elements of the block and of the array */
    weft_expr offset, step; /* iteration n begins at offset + n * step, inside of the array */
} block;

/* ---- where blocks are ---- */

/* A scalar of the body as an expression of the number of the iteration; NONE: it is none. */
static weft_expr scalar_of(variant_builder *body, weft_expr index, weft_value value, int depth)
{
    weft_expr_context *x = body->exprs;
    const weft_node *node = weft_graph_node(body->graph, value.node);
    weft_op_id id = weft_op_id_of(node->op);
    if (value.node == body->compiled->inputs[0]) return index;
    if (depth == 0 || node->types[0].dtype != WEFT_I64) return WEFT_EXPR_NONE;
    if (id == WEFT_OP_extent) return weft_space_extent(&body->space, node->attrs[0].extents.extents[0]);
    if (id == WEFT_OP_constant) {
        int64_t number;
        memcpy(&number, node->attrs[2].data, sizeof number);
        return weft_expr_constant(x, number);
    }
    if (node->input_count != 2) return WEFT_EXPR_NONE;
    bool is_known =
        id == WEFT_OP_add || id == WEFT_OP_sub || id == WEFT_OP_mul || id == WEFT_OP_div || id == WEFT_OP_remainder;
    if (!is_known) return WEFT_EXPR_NONE;
    weft_expr a = scalar_of(body, index, node->inputs[0], depth - 1);
    weft_expr b = a == WEFT_EXPR_NONE ? a : scalar_of(body, index, node->inputs[1], depth - 1);
    if (b == WEFT_EXPR_NONE) return b;
    if (id == WEFT_OP_add) return weft_expr_add(x, a, b);
    if (id == WEFT_OP_sub) return weft_expr_sub(x, a, b);
    if (id == WEFT_OP_mul) return weft_expr_mul(x, a, b);
    weft_expr least = weft_expr_sub(x, b, weft_expr_constant(x, 1));
    if (!weft_expr_always_nonnegative(x, a) || !weft_expr_always_nonnegative(x, least)) return WEFT_EXPR_NONE;
    return id == WEFT_OP_div ? weft_expr_div(x, a, b) : weft_expr_mod(x, a, b);
}

/* Whether the elements of a block of shape `part` follow each other in a row-major array. */
static bool lies_in_one_piece(variant_builder *body, weft_shape whole, weft_shape part)
{
    weft_expr one = weft_expr_constant(body->exprs, 1);
    size_t axis = 0;
    while (axis < part.rank && weft_space_extent(&body->space, part.extents[axis]) == one) axis++;
    for (axis++; axis < part.rank; axis++) {
        weft_expr all = weft_space_extent(&body->space, whole.extents[axis]);
        if (weft_space_extent(&body->space, part.extents[axis]) != all) return false;
    }
    return true;
}

static weft_expr count_elements(variant_builder *body, weft_shape shape)
{
    weft_expr count = weft_expr_constant(body->exprs, 1);
    for (size_t axis = 0; axis < shape.rank; axis++)
        count = weft_expr_mul(body->exprs, count, weft_space_extent(&body->space, shape.extents[axis]));
    return count;
}

/* Where the block begins whose starts are the inputs of the node from number `first` on; NONE: it may be outside of the
 * array, or anywhere. */
static weft_expr find_start(variant_builder *body, weft_expr index, const weft_node *node, uint32_t first,
                            weft_shape whole, weft_shape part)
{
    weft_expr_context *x = body->exprs;
    weft_expr position = weft_expr_constant(x, 0);
    for (size_t axis = 0; axis < whole.rank; axis++) {
        weft_expr all = weft_space_extent(&body->space, whole.extents[axis]);
        position = weft_expr_mul(x, position, all);
        for (uint32_t i = 0; i < node->attrs[0].ints.count; i++) {
            if (node->attrs[0].ints.items[i] != (int64_t)axis) continue;
            weft_expr start = scalar_of(body, index, node->inputs[first + i], MOST_OPERATIONS);
            weft_expr some = weft_space_extent(&body->space, part.extents[axis]);
            weft_expr rest = weft_expr_sub(x, weft_expr_sub(x, all, some), start);
            if (start == WEFT_EXPR_NONE || !weft_expr_always_nonnegative(x, start)) return WEFT_EXPR_NONE;
            if (!weft_expr_always_nonnegative(x, rest)) return WEFT_EXPR_NONE;
            position = weft_expr_add(x, position, start);
        }
    }
    return position;
}

/* The block that a dynamic slice reads, or a dynamic update slice writes. */
static bool find_block(variant_builder *body, const weft_node *node, block *out_block)
{
    weft_expr_context *x = body->exprs;
    bool updates = weft_op_id_of(node->op) == WEFT_OP_dynamic_update_slice;
    weft_shape whole = weft_value_type(body->graph, node->inputs[0])->shape;
    weft_shape part = updates ? weft_value_type(body->graph, node->inputs[1])->shape : node->types[0].shape;
    if (body->trips == WEFT_EXPR_NONE || weft_space_is_empty(&body->space, part)) return false;
    if (weft_space_is_empty(&body->space, whole) || !lies_in_one_piece(body, whole, part)) return false;
    weft_expr index = weft_view_variable(&body->space, body->trips);
    weft_expr start = find_start(body, index, node, updates ? 2 : 1, whole, part);
    out_block->size = count_elements(body, part);
    out_block->whole = count_elements(body, whole);
    bool found = start != WEFT_EXPR_NONE && weft_expr_affine(x, start, index, &out_block->step, &out_block->offset);
    return found && out_block->size != WEFT_EXPR_NONE && out_block->whole != WEFT_EXPR_NONE;
}

/* Whether no two iterations have an element in common. */
static bool is_apart(weft_expr_context *x, const block *b)
{
    weft_expr zero = weft_expr_constant(x, 0);
    return weft_expr_always_nonnegative(x, weft_expr_sub(x, b->step, b->size)) ||
           weft_expr_always_nonnegative(x, weft_expr_sub(x, weft_expr_sub(x, zero, b->step), b->size));
}

/* The dynamic update slice of the iteration's own value of result `output` that is the result; NULL: it is no such. */
static const weft_node *update_of(const variant_builder *body, uint32_t output)
{
    const weft_node *update = weft_graph_node(body->graph, body->compiled->outputs[output].node);
    bool is_own = weft_op_id_of(update->op) == WEFT_OP_dynamic_update_slice &&
                  update->inputs[0].node == body->compiled->inputs[1 + output];
    return is_own ? update : NULL;
}

bool weft_builder_is_written_by_blocks(variant_builder *body, uint32_t output)
{
    weft_expr_context *x = body->exprs;
    const weft_node *update = update_of(body, output);
    block b;
    if (update == NULL || weft_builder_count_uses(body, update->inputs[0]) > 1) return false;
    return find_block(body, update, &b) && is_apart(x, &b) && weft_expr_mul(x, body->trips, b.size) == b.whole;
}

/* ---- pointers to blocks ---- */

/* Room for all that there can be: each takes the place of a step. */
static weft_status *reserve(variant_builder *body)
{
    if (body->blocks != NULL) return NULL;
    body->blocks = weft_arena_allocate(&body->variant->arena, (body->step_count + 1) * sizeof *body->blocks);
    return body->blocks == NULL ? weft_status_out_of_memory() : NULL;
}

/* Adds a pointer to the block of buffer `whole`, whose elements are of the type of memory `memory`. */
static weft_status *add_block(variant_builder *body, const block *b, uint32_t memory, uint32_t whole)
{
    weft_expr_context *x = body->exprs;
    weft_block_alias *alias = &body->blocks[body->block_count];
    const weft_type *type = weft_value_type(body->graph, body->memories[memory].value);
    weft_expr bytes = weft_expr_constant(x, (int64_t)weft_dtype_size(type->dtype));
    WEFT_TRY(weft_builder_buffer(body, type, WEFT_BUFFER_ALIAS, &alias->buffer));
    body->variant->buffers[alias->buffer].part_of = whole + 1;
    alias->whole = whole;
    WEFT_TRY(weft_builder_slot(body, weft_expr_mul(x, b->offset, bytes), &alias->offset));
    WEFT_TRY(weft_builder_slot(body, weft_expr_mul(x, b->step, bytes), &alias->step));
    body->block_count++;
    return NULL;
}

/* ---- reading ---- */

/* The dynamic slice of a parameter that step `number` copies to memory of its own; NULL: it does something else. */
static const weft_node *copied_slice(const variant_builder *body, uint32_t number)
{
    const planned_step *step = &body->steps[number];
    uint32_t n = step->node;
    if (step->kind != WEFT_STEP_KERNEL || step->copies || step->updates) return NULL;
    if (body->variant->buffers[body->buffers[step->target]].kind != WEFT_BUFFER_TEMPORARY) return NULL;
    if (step->target != body->first_memory[n]) return NULL;
    while (weft_op_id_of(weft_graph_node(body->graph, n)->op) == WEFT_OP_reshape) {
        n = weft_graph_node(body->graph, n)->inputs[0].node;
        if (weft_role_has_memory(body->fusion->roles[n])) return NULL;
    }
    const weft_node *slice = weft_graph_node(body->graph, n);
    if (weft_op_id_of(slice->op) != WEFT_OP_dynamic_slice) return NULL;
    uint32_t whole = slice->inputs[0].node;
    bool is_parameter = body->fusion->roles[whole] == WEFT_ROLE_LEAF &&
                        weft_op_id_of(weft_graph_node(body->graph, whole)->op) == WEFT_OP_input;
    return is_parameter && body->memories[body->first_memory[whole]].stride_prefix == NULL ? slice : NULL;
}

/* Whether nothing else is written to what step `number` writes. */
static bool is_only_writer(const variant_builder *body, uint32_t number)
{
    uint32_t written = body->buffers[body->steps[number].target];
    for (uint32_t s = 0; s < body->step_count; s++)
        if (s != number && weft_builder_writes(body, &body->steps[s], written)) return false;
    return true;
}

/* Whether what a step reads of parameter `node` is read from there on before the iteration could change it. */
static bool is_read_in_time(const variant_builder *body, uint32_t node, uint32_t copy)
{
    const weft_compiled *compiled = body->compiled;
    for (uint32_t i = 0; i < compiled->output_count; i++) {
        if (compiled->inputs[1 + i] != node) continue;
        uint32_t written = weft_builder_first_use(body, body->interface->result_buffers[i]);
        return written > 0 && !weft_builder_reads_after(body, written - 1, copy);
    }
    return true; /* no iteration does */
}

weft_status *weft_builder_read_blocks(variant_builder *body)
{
    if (body->trips == WEFT_EXPR_NONE) return NULL;
    WEFT_TRY(reserve(body));
    for (uint32_t s = body->step_count; s-- > 0;) {
        const weft_node *slice = copied_slice(body, s);
        block b;
        uint32_t memory = body->steps[s].target, copy = body->buffers[memory];
        if (slice == NULL || !is_only_writer(body, s)) continue;
        uint32_t whole = slice->inputs[0].node;
        bool fits = is_read_in_time(body, whole, copy) && find_block(body, slice, &b);
        WEFT_TRY(weft_expr_context_take_out_of_memory(body->exprs));
        if (!fits) continue;
        WEFT_TRY(add_block(body, &b, memory, body->buffers[body->first_memory[whole]]));
        weft_builder_replace_buffer(body, copy, body->blocks[body->block_count - 1].buffer);
        weft_builder_drop_step(body, s);
    }
    return NULL;
}

/* ---- writing ---- */

/* The step that writes updates to result `output`, if no other one uses that or what it begins as; else the number of
 * steps. From step `from` on nothing else may read it before. */
static uint32_t find_update(const variant_builder *body, const weft_carried *carried, uint32_t from)
{
    uint32_t found = body->step_count;
    for (uint32_t s = 0; s < body->step_count; s++) {
        const planned_step *step = &body->steps[s];
        bool writes = weft_builder_writes(body, step, carried->next);
        if (writes && (found < body->step_count || !step->updates)) return body->step_count;
        if (writes) found = s;
        else if (s >= from && weft_builder_reads(body, step, carried->current)) return body->step_count;
    }
    return found;
}

/* Whether the view is all of its memory, in order. */
static bool is_whole(variant_builder *body, weft_shape shape, const weft_strides *view)
{
    weft_expr_context *x = body->exprs;
    const weft_memory *memory = &body->memories[view->memory];
    weft_expr one = weft_expr_constant(x, 1), step = one;
    if (memory->stride_prefix != NULL || view->offset != weft_expr_constant(x, 0)) return false;
    for (size_t axis = shape.rank; axis-- > 0;) {
        weft_expr extent = weft_space_extent(&body->space, shape.extents[axis]);
        if (extent != one && view->strides[axis] != step) return false;
        step = weft_expr_mul(x, step, extent);
    }
    return step == count_elements(body, weft_value_type(body->graph, memory->value)->shape);
}

/* Which carried value is `buffer` as iterations begin with it; or their number. */
static uint32_t begun_as(const variant_builder *body, const weft_carried *carried, uint32_t buffer)
{
    uint32_t i = 0;
    while (i < body->compiled->output_count && carried[i].current != buffer) i++;
    return i;
}

/* Whether value `i` may be carried in blocks. */
static bool can_be_kept(variant_builder *body, const weft_carried *carried, const block *b)
{
    for (size_t i = 0; i < body->block_count; i++)
        if (weft_builder_is_in(body, body->blocks[i].buffer, carried->current)) return false;
    bool is_free = !carried->updated && carried->kept_in == 0;
    return is_free && !weft_builder_can_update(body, carried->current, carried->next) && is_apart(body->exprs, b);
}

static weft_status *write_there(variant_builder *body, weft_carried *carried, uint32_t output, const block *b,
                                uint32_t memory)
{
    uint32_t source = body->buffers[memory], kept = begun_as(body, carried, source);
    bool is_computed = body->fusion->roles[body->memories[memory].value.node] > WEFT_ROLE_LEAF;
    bool is_own = is_computed && body->variant->buffers[source].kind == WEFT_BUFFER_TEMPORARY;
    bool is_kept = kept < body->compiled->output_count && can_be_kept(body, &carried[kept], b);
    if (!is_own && !is_kept) return NULL;
    uint32_t from = is_own ? weft_builder_first_use(body, source) : 0;
    uint32_t update = find_update(body, &carried[output], from);
    if (update == body->step_count) return NULL;
    WEFT_TRY(add_block(body, b, memory, carried[output].next));
    if (is_own) weft_builder_replace_buffer(body, source, body->blocks[body->block_count - 1].buffer);
    else carried[kept].kept_in = (uint32_t)body->block_count;
    weft_builder_drop_step(body, update);
    return NULL;
}

weft_status *weft_builder_write_block(variant_builder *body, weft_carried *carried, uint32_t output)
{
    const weft_node *update = update_of(body, output);
    weft_strides view;
    block b;
    if (update == NULL || body->trips == WEFT_EXPR_NONE) return NULL;
    WEFT_TRY(reserve(body));
    weft_value written = update->inputs[1];
    bool fits = find_block(body, update, &b) &&
                weft_view_find(&body->space, body->fusion, body->memories, body->first_memory, written, &view) &&
                is_whole(body, weft_value_type(body->graph, written)->shape, &view);
    WEFT_TRY(weft_expr_context_take_out_of_memory(body->exprs));
    return fits ? write_there(body, carried, output, &b, view.memory) : NULL;
}
