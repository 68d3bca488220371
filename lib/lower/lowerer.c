/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/lower/lowerer.h"

weft_expr weft_lowerer_variable(lowerer *low, weft_expr extent)
{
    char name[16];
    do snprintf(name, sizeof name, "i%" PRIu32, low->variable_count++);
    while (weft_expr_find(low->graph->exprs, name) != WEFT_EXPR_NONE);
    return weft_expr_variable(low->exprs, name, extent);
}

uint32_t weft_lowerer_buffer(lowerer *low, uint32_t memory, bool written)
{
    for (uint32_t i = 0; i < low->memory_count; i++) {
        if (low->memories[i] == memory) return i;
    }
    if (low->memory_count == WEFT_LOWERER_LIMIT) low->failed = low->too_large = true;
    if (low->failed) return 0;
    low->memories[low->memory_count++] = memory;
    return weft_kernel_builder_buffer(low->builder, low->lowering->memories[memory].dtype, written);
}

weft_expr weft_lowerer_address(lowerer *low, uint32_t memory, const weft_expr *index)
{
    return weft_space_address(&low->space, &low->lowering->memories[memory], index);
}

stage_plan *weft_lowerer_find_stage(const lowerer *low, uint32_t node)
{
    stage_plan *plan = low->stages;
    while (plan != NULL && plan->node != node) plan = plan->next;
    return plan;
}

const uint32_t *weft_lowerer_key(lowerer *low, const weft_point *point, size_t *out_size)
{
    size_t rank = weft_value_type(low->graph, point->value)->shape.rank;
    size_t count = 3 + rank + point->predicate_count;
    uint32_t *key = weft_arena_allocate(&low->arena, count * sizeof *key);
    if (key == NULL) {
        low->failed = true;
        return NULL;
    }
    key[0] = point->value.node;
    key[1] = point->value.output;
    key[2] = point->predicate_count;
    memcpy(key + 3, point->index, rank * sizeof *key);
    if (point->predicate_count > 0) memcpy(key + 3 + rank, point->predicates, point->predicate_count * sizeof *key);
    *out_size = count * sizeof *key;
    return key;
}

/* ---- instructions ---- */

weft_inst_id weft_lowerer_constant(lowerer *low, weft_dtype dtype, uint64_t bits)
{
    return weft_kernel_builder_inst(low->builder, &(weft_inst){.op = WEFT_SCALAR_const, .dtype = dtype, .bits = bits});
}

weft_inst_id weft_lowerer_complex(lowerer *low, weft_dtype dtype, weft_inst_id re, weft_inst_id im)
{
    weft_inst inst = {.op = WEFT_SCALAR_complex, .dtype = dtype, .arg_count = 2, .args = {re, im}};
    return weft_kernel_builder_inst(low->builder, &inst);
}

weft_inst_id weft_lowerer_part(lowerer *low, weft_scalar_op which, weft_dtype dtype, weft_inst_id z)
{
    weft_inst inst = {.op = which, .dtype = weft_dtype_component(dtype), .arg_count = 1, .args = {z}};
    return weft_kernel_builder_inst(low->builder, &inst);
}

weft_inst_id weft_lowerer_index(lowerer *low, weft_expr expr)
{
    return weft_kernel_builder_inst(low->builder,
                                    &(weft_inst){.op = WEFT_SCALAR_index, .dtype = WEFT_I64, .index = expr});
}

weft_inst_id weft_lowerer_cast(lowerer *low, weft_inst_id value, weft_dtype from, weft_dtype to)
{
    if (from == to) return value;
    weft_inst inst = {.op = WEFT_SCALAR_cast, .dtype = to, .arg_count = 1, .args = {value}};
    return weft_kernel_builder_inst(low->builder, &inst);
}

weft_inst_id weft_lowerer_binary(lowerer *low, weft_scalar_op op, weft_dtype dtype, weft_inst_id a, weft_inst_id b)
{
    weft_inst inst = {.op = op, .dtype = dtype, .arg_count = 2, .args = {a, b}};
    return weft_kernel_builder_inst(low->builder, &inst);
}

/* The value times `step`. */
static weft_inst_id scaled(lowerer *low, weft_inst_id value, weft_expr step)
{
    if (step == weft_expr_constant(low->exprs, 1)) return value;
    return weft_lowerer_binary(low, WEFT_SCALAR_mul, WEFT_I64, value, weft_lowerer_index(low, step));
}

bool weft_lowerer_displace(lowerer *low, weft_expr *expr, weft_inst_id *out_offset)
{
    bool is_indirect = false;
    for (size_t i = 0; i < low->data_index_count && !low->failed; i++) {
        weft_expr step, rest;
        if (!weft_expr_uses(low->exprs, *expr, low->data_indices[i].variable)) continue;
        if (!weft_expr_affine(low->exprs, *expr, low->data_indices[i].variable, &step, &rest)) {
            weft_fusion_materialize(low->lowering->fusion, low->data_indices[i].source);
            continue;
        }
        weft_inst_id offset = scaled(low, low->data_indices[i].value, step);
        *out_offset = is_indirect ? weft_lowerer_binary(low, WEFT_SCALAR_add, WEFT_I64, *out_offset, offset) : offset;
        *expr = rest;
        is_indirect = true;
    }
    return is_indirect;
}

weft_inst_id weft_lowerer_load(lowerer *low, uint32_t memory, const weft_point *point)
{
    weft_inst inst = {.op = WEFT_SCALAR_load,
                      .dtype = weft_value_type(low->graph, point->value)->dtype,
                      .buffer = weft_lowerer_buffer(low, memory, false),
                      .index = weft_lowerer_address(low, memory, point->index),
                      .predicate_count = point->predicate_count,
                      .predicates = point->predicates};
    inst.arg_count = weft_lowerer_displace(low, &inst.index, &inst.args[0]);
    return weft_kernel_builder_inst(low->builder, &inst);
}

/* The sentence, which is a format, and after it the location of the node. */
static const char *add_location(lowerer *low, const weft_node *node, const char *sentence)
{
    if (node->location.file == NULL) return sentence;
    weft_bytes text;
    weft_bytes_init(&text, low->lowering->allocator);
    const char *slash = low->lowering->without_folders ? strrchr(node->location.file, '/') : NULL;
    weft_bytes_print(&text, "%s (", sentence);
    for (const char *c = slash != NULL ? slash + 1 : node->location.file; *c != '\0'; c++)
        weft_bytes_print(&text, *c == '%' ? "%%%%" : "%c", *c);
    weft_bytes_print(&text, ":%d)", node->location.line);
    const char *kept = text.failed ? NULL : weft_arena_string(low->lowering->arena, text.data, text.size);
    weft_bytes_finish(&text);
    if (kept == NULL) low->failed = true;
    return kept;
}

uint32_t weft_lowerer_site(lowerer *low, const weft_node *node, const char *sentence, weft_expr extent)
{
    if (low->site_count == WEFT_LOWERER_LIMIT) low->failed = low->too_large = true;
    if (low->failed) return 0;
    low->sites[low->site_count] = add_location(low, node, sentence);
    low->site_extents[low->site_count] = extent;
    return low->site_count++;
}

uint64_t weft_lowerer_axes(const lowerer *low)
{
    uint64_t axes = 0;
    for (size_t i = 0; i < low->axis_count; i++) {
        int64_t constant;
        if (!weft_expr_is_constant(low->exprs, low->variables[i], &constant)) axes |= UINT64_C(1) << i;
    }
    return axes;
}

weft_range weft_lowerer_range(lowerer *low, weft_expr variable)
{
    return (weft_range){.variable = variable,
                        .extent = weft_expr_bound(low->exprs, variable),
                        .virtual_lanes = 1,
                        .width = 1,
                        .unroll = 1};
}

void weft_lowerer_begin_stage(lowerer *low)
{
    weft_map_finish(&low->values, NULL);
    weft_map_init(&low->values, low->lowering->allocator);
    low->data_index_count = 0;
    weft_kernel_builder_stage(low->builder);
}

void weft_lowerer_make_ranges(lowerer *low, uint64_t axes)
{
    for (uint32_t i = 0; axes >> i != 0 && i < WEFT_MAX_RANK; i++) {
        if ((axes >> i & 1) != 0) weft_kernel_builder_range(low->builder, weft_lowerer_range(low, low->variables[i]));
    }
}

void weft_lowerer_store(lowerer *low, uint32_t buffer, weft_expr index, weft_inst_id value)
{
    weft_kernel_builder_store(low->builder, &(weft_store){.buffer = buffer, .index = index, .value = value});
}
