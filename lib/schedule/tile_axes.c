/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/tile.h"

/* ---- what is accessed ---- */

static bool read_strides(const weft_tiling *t, weft_tile_access *a)
{
    weft_expr coefficient, rest;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (!weft_expr_affine(t->exprs, *a->index, t->axes[i].variable, &coefficient, &rest)) return false;
        if (!weft_expr_is_constant(t->exprs, coefficient, &a->strides[i])) return false;
    }
    return true;
}

static void add_access(weft_tiling *t, weft_inst *inst, weft_expr *index, weft_dtype dtype)
{
    weft_tile_access *a = &t->accesses[t->access_count++];
    *a = (weft_tile_access){.index = index, .inst = inst, .size = (uint32_t)weft_dtype_size(dtype)};
    a->known = read_strides(t, a);
}

static bool add_axes(weft_tiling *t)
{
    const weft_kernel *kernel = t->kernel;
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        const weft_range *range = &kernel->ranges[i];
        t->axes[i] = (weft_tile_axis){.variable = range->variable, .of = i, .scale = 1};
        if (!weft_expr_is_constant(t->exprs, range->extent, &t->axes[i].extent) || t->axes[i].extent < 1) return false;
    }
    return true;
}

const char *weft_tiling_fill(weft_tiling *t)
{
    weft_kernel *kernel = t->kernel;
    if (kernel->range_count > WEFT_MAX_RANK) return "the kernel has too many ranges";
    if (kernel->stage_count != 1 || kernel->stages[0].range_count != 0 || kernel->stages[0].accumulator_count != 0)
        return "the kernel is more than one stage, or reduces";
    t->range_count = t->axis_count = kernel->range_count;
    t->access_count = t->staged_count = 0;
    t->store_count = kernel->stages[0].store_count;
    t->lanes = t->rows = (weft_tile_axes){.points = 1};
    if (!add_axes(t)) return "an extent is no positive number";
    for (uint32_t i = 0; i < t->store_count; i++) {
        weft_store *store = &kernel->stages[0].stores[i];
        if (store->is_indirect) return "data decide where it stores";
        add_access(t, NULL, &store->index, kernel->buffers[store->buffer].dtype);
    }
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_inst *inst = &kernel->insts[i];
        if (inst->position != WEFT_EXPR_NONE) return "it may report where data are bad";
        if (inst->op == WEFT_SCALAR_load && inst->arg_count == 0) add_access(t, inst, &inst->index, inst->dtype);
    }
    return t->store_count > 0 && t->accesses[0].known ? NULL : "the strides of what it stores are no numbers";
}

weft_status *weft_tiling_create(weft_kernel *kernel, weft_tiling **out_tiling)
{
    size_t most = kernel->inst_count + 1;
    for (uint32_t s = 0; s < kernel->stage_count; s++) most += kernel->stages[s].store_count;
    weft_tiling *t = weft_arena_allocate(&kernel->arena, sizeof *t);
    weft_tile_access *accesses = weft_arena_allocate(&kernel->arena, most * sizeof *accesses);
    if (t == NULL || accesses == NULL) return weft_status_out_of_memory();
    t->kernel = kernel;
    t->exprs = kernel->exprs;
    t->accesses = accesses;
    *out_tiling = t;
    return NULL;
}

/* ---- axes ---- */

bool weft_tile_contains(const weft_tile_axes *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) return true;
    }
    return false;
}

void weft_tiling_append(weft_tiling *t, weft_tile_axes *list, uint32_t item)
{
    list->items[list->count++] = item;
    list->points *= t->axes[item].extent;
    t->axes[item].tiled = true;
}

uint32_t weft_tiling_cut(weft_tiling *t, uint32_t number, int64_t extent)
{
    uint32_t inner = t->axis_count++;
    weft_tile_axis *outer = &t->axes[number];
    t->axes[inner] =
        (weft_tile_axis){.variable = WEFT_EXPR_NONE, .of = outer->of, .extent = extent, .scale = outer->scale};
    outer->extent /= extent;
    outer->scale *= extent;
    outer->variable = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < t->access_count; i++) {
        weft_tile_access *a = &t->accesses[i];
        a->strides[inner] = a->strides[number];
        a->strides[number] *= extent;
    }
    return inner;
}

void weft_tiling_find_rows(const weft_tiling *t, const weft_tile_access *a, bool moving, const weft_tile_axes *lanes,
                           weft_tile_axes *out_rows)
{
    *out_rows = (weft_tile_axes){.points = 1};
    for (;;) {
        uint32_t best = t->axis_count;
        for (uint32_t i = 0; i < t->axis_count; i++) {
            if (!t->axes[i].tiled || weft_tile_contains(lanes, i) || weft_tile_contains(out_rows, i)) continue;
            if (moving && a->strides[i] == 0) continue;
            if (best == t->axis_count || weft_tile_magnitude(a->strides[i]) < weft_tile_magnitude(a->strides[best]))
                best = i;
        }
        if (best == t->axis_count) return;
        out_rows->items[out_rows->count++] = best;
        out_rows->points *= t->axes[best].extent;
    }
}
