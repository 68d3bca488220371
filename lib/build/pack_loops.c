/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices that products in a loop read, and no iteration changes: packed once, by a step before the loop. All steps
 * are filled in, and there are no chains yet.
 */
#include "lib/build/pack.h"
#include <string.h>
#include "runtime/engine/gemm_panels.h"

/* From how many iterations on a matrix is packed, and for how many rows or columns of the other one that it is
 * multiplied with in all of them: it is copied once, for at most a few hundredths of the time of so many. Measured on
 * Sapphire Rapids. */
enum { LEAST_TRIPS = 3, LEAST_USES = 256 };

#define NONE SIZE_MAX

/* A matrix that is packed right before a loop. */
typedef struct packing {
    size_t loop;        /* step */
    weft_step step;     /* which packs it */
    weft_gemm_call of;  /* a product that reads it, without its batch */
    uint32_t buffer[2]; /* of `step` */
} packing;

typedef struct loop_packer {
    variant_builder *builder;
    size_t *around; /* of each step: the region step that it belongs to */
    packing *packings;
    size_t count;
} loop_packer;

/* ---- what a loop leaves as it is ---- */

static bool is_carried(const weft_region_step *region, uint32_t buffer)
{
    for (size_t i = 0; i < region->carried_count; i++) {
        const weft_carried *c = &region->carried[i];
        if (c->current == buffer || c->next == buffer || c->result == buffer || c->spare == buffer) return true;
    }
    for (size_t i = 0; i < region->block_count; i++)
        if (region->blocks[i].buffer == buffer) return true;
    return false;
}

static bool writes(const weft_step *step, uint32_t buffer)
{
    const uint32_t *written = step->buffers + (step->kind == WEFT_STEP_KERNEL ? 0 : step->buffer_count - step->written);
    for (size_t i = 0; i < step->written; i++)
        if (written[i] == buffer) return true;
    return step->kind == WEFT_STEP_REGION && (step->region.scalar == buffer || is_carried(&step->region, buffer));
}

/* Whether the region step, or one that belongs to it, writes the buffer. */
static bool changes(const weft_variant *variant, size_t region, uint32_t buffer)
{
    size_t end = region + 1 + weft_step_nested(&variant->steps[region]);
    for (size_t s = region; s < end; s++)
        if (writes(&variant->steps[s], buffer)) return true;
    return false;
}

/* How often a loop runs: often, where that is not known. */
static double trips_of(const weft_variant *variant, const weft_region_step *region)
{
    if (region->control != WEFT_CONTROL_FOLD) return LEAST_USES;
    const weft_formula *trips = &variant->formulas.items[region->trips];
    return trips->op == WEFT_FORMULA_CONSTANT ? (double)trips->constant : LEAST_USES;
}

/* The rows or columns that one of the operands is multiplied with each time. */
static double uses_of(const weft_gemm_call *call, size_t operand)
{
    double uses = (double)(operand == 0 ? call->n : call->m);
    for (size_t i = 0; i < call->batch_rank; i++) uses *= (double)call->batch[i];
    return uses;
}

/* The outermost loop around a step that leaves a buffer as it is, and has it used often, `uses` times in each
 * iteration; NONE. */
static size_t find_loop(const loop_packer *p, size_t step, uint32_t buffer, double uses)
{
    const weft_variant *variant = p->builder->variant;
    size_t found = NONE;
    double trips = 1;
    for (size_t r = p->around[step]; r != NONE; r = p->around[r]) {
        const weft_region_step *region = &variant->steps[r].region;
        if (region->control == WEFT_CONTROL_COND || changes(variant, r, buffer)) break;
        trips *= trips_of(variant, region);
        found = r;
    }
    return trips >= LEAST_TRIPS && trips * uses >= LEAST_USES ? found : NONE;
}

/* ---- packings ---- */

/* Whether panels for one product serve the other: the same lines of the same matrix, in the same layout. */
static bool are_same(const packing *x, const packing *y)
{
    const weft_gemm_call *a = &x->of, *b = &y->of;
    if (x->loop != y->loop || x->buffer[0] != y->buffer[0] || x->step.gemm.panels != y->step.gemm.panels) return false;
    if (a->dtype != b->dtype || a->k != b->k) return false;
    if (x->step.gemm.panels == WEFT_PANELS_A)
        return a->m == b->m && a->a_row == b->a_row && a->a_column == b->a_column && a->a_offset == b->a_offset;
    return a->n == b->n && a->b_row == b->b_row && a->b_column == b->b_column && a->b_offset == b->b_offset;
}

/* The packing that is the same as `made`, or `made` itself with a buffer for its panels. */
static weft_status *find_packing(loop_packer *p, const weft_gemm_engine *engine, packing *made, uint32_t *out_panels)
{
    size_t i = 0;
    while (i < p->count && !are_same(&p->packings[i], made)) i++;
    if (i == p->count) {
        weft_panels operand = made->step.gemm.panels;
        WEFT_TRY(weft_pack_add_buffer(p->builder, engine, &made->of, operand, &made->buffer[1]));
        p->packings[p->count++] = *made;
    }
    *out_panels = p->packings[i].buffer[1];
    return NULL;
}

static weft_status *pack_operand(loop_packer *p, size_t number)
{
    const variant_builder *builder = p->builder;
    weft_step *step = &builder->variant->steps[number];
    const weft_gemm_engine *engine = weft_pack_find_engine(builder->request, step->gemm.dtype);
    packing made = {.step = {.kind = WEFT_STEP_PACK, .name = step->name, .gemm = step->gemm}};
    known_product product;
    size_t loops[2];
    uint32_t panels;
    if (!weft_pack_find_product(builder->variant, &step->gemm, &product)) return NULL;
    for (size_t i = 0; i < 2; i++) {
        loops[i] = find_loop(p, number, step->buffers[i], uses_of(&product.call, i));
        if (!weft_pack_is_whole(builder->variant, step, &product.call, i)) loops[i] = NONE;
    }
    weft_panels operand =
        weft_gemm_panels_choose(engine, builder->request->machine, &product.call, loops[0] != NONE, loops[1] != NONE);
    if (operand == WEFT_PANELS_NONE) return NULL;
    size_t index = operand == WEFT_PANELS_A ? 0 : 1;
    made.loop = loops[index];
    made.of = product.call;
    made.of.batch_rank = 0;
    made.step.gemm.panels = operand;
    made.buffer[0] = step->buffers[index];
    WEFT_TRY(find_packing(p, engine, &made, &panels));
    return weft_pack_read_panels(p->builder, step, operand, panels);
}

static weft_status *find_packings(loop_packer *p)
{
    weft_arena *arena = p->builder->arena;
    const weft_variant *variant = p->builder->variant;
    p->around = weft_arena_allocate(arena, (variant->step_count + 1) * sizeof *p->around);
    p->packings = weft_arena_allocate(arena, (variant->step_count + 1) * sizeof *p->packings);
    if (p->around == NULL || p->packings == NULL) return weft_status_out_of_memory();
    memset(p->around, 0xff, (variant->step_count + 1) * sizeof *p->around);
    for (size_t r = 0; r < variant->step_count; r++)
        for (size_t s = 1; variant->steps[r].kind == WEFT_STEP_REGION && s <= weft_step_nested(&variant->steps[r]); s++)
            p->around[r + s] = r;
    for (size_t s = 0; s < variant->step_count; s++) {
        const weft_step *step = &variant->steps[s];
        if (step->kind == WEFT_STEP_GEMM && step->gemm.panels == WEFT_PANELS_NONE) WEFT_TRY(pack_operand(p, s));
    }
    return NULL;
}

/* ---- what regions keep ---- */

static bool reads(const weft_step *step, uint32_t buffer)
{
    for (size_t i = 0; step->kind != WEFT_STEP_REGION && i < step->buffer_count; i++)
        if (step->buffers[i] == buffer) return true;
    for (size_t i = 0; i < step->region.carried_count; i++)
        if (step->region.carried[i].initial == buffer) return true;
    for (size_t i = 0; i < step->region.block_count; i++)
        if (step->region.blocks[i].whole == buffer) return true;
    return step->kind == WEFT_STEP_REGION && (step->region.scalar == buffer || is_carried(&step->region, buffer));
}

/* Whether the region step itself, or one that belongs to it, uses the buffer. */
static bool uses(const weft_variant *variant, size_t region, uint32_t buffer)
{
    size_t end = region + 1 + weft_step_nested(&variant->steps[region]);
    for (size_t s = region; s < end; s++)
        if (reads(&variant->steps[s], buffer)) return true;
    return false;
}

/* Whether the buffer is packed by a step that will belong to the region. */
static bool packs(const loop_packer *p, size_t region, uint32_t buffer)
{
    size_t nested = weft_step_nested(&p->builder->variant->steps[region]);
    bool found = false;
    for (size_t i = 0; i < p->count && !found; i++) {
        size_t loop = p->packings[i].loop;
        found = p->packings[i].buffer[0] == buffer && loop > region && loop - region <= nested;
    }
    return found;
}

/* Keeps the panels that are read in the region, and a matrix only if it still is, or is packed there. */
static weft_status *list_buffers(const loop_packer *p, size_t number)
{
    weft_variant *variant = p->builder->variant;
    weft_step *step = &variant->steps[number];
    uint32_t *buffers = weft_arena_allocate(&variant->arena, (step->buffer_count + p->count) * sizeof *buffers);
    size_t count = 0;
    if (buffers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < p->count; i++)
        if (uses(variant, number, p->packings[i].buffer[1])) buffers[count++] = p->packings[i].buffer[1];
    for (size_t i = 0; i < step->buffer_count; i++) {
        size_t k = 0;
        while (k < p->count && p->packings[k].buffer[0] != step->buffers[i]) k++;
        bool stays = k == p->count || i + step->written >= step->buffer_count;
        if (stays || uses(variant, number, step->buffers[i]) || packs(p, number, step->buffers[i]))
            buffers[count++] = step->buffers[i];
    }
    step->buffers = buffers;
    step->buffer_count = count;
    return NULL;
}

/* ---- the table of steps ---- */

/* Packings before steps [first, first + count). */
static uint32_t count_between(const loop_packer *p, size_t first, size_t count)
{
    uint32_t found = 0;
    for (size_t i = 0; i < p->count; i++) found += p->packings[i].loop >= first && p->packings[i].loop - first < count;
    return found;
}

/* The steps again, with those that pack. */
static weft_status *insert_steps(const loop_packer *p)
{
    variant_builder *builder = p->builder;
    weft_variant *variant = builder->variant;
    const size_t count = variant->step_count, all = count + p->count;
    const weft_step *steps = variant->steps;
    const weft_resolved *resolved = variant->resolved;
    const weft_kernel **kernels = weft_arena_allocate(builder->arena, (all + 1) * sizeof *kernels);
    if (kernels == NULL) return weft_status_out_of_memory();
    memset(kernels, 0, (all + 1) * sizeof *kernels);
    WEFT_TRY(weft_variant_make_steps(variant, all));
    for (size_t s = 0, next = 0; s < count; s++) {
        for (size_t i = 0; i < p->count; i++)
            if (p->packings[i].loop == s) variant->steps[next++] = p->packings[i].step;
        weft_region_step *region = &variant->steps[next].region;
        variant->steps[next] = steps[s];
        variant->resolved[next] = resolved[s];
        kernels[next++] = builder->kernels[s];
        region->parts[0] += count_between(p, s + 1, steps[s].region.parts[0]);
        region->parts[1] += count_between(p, s + 1 + steps[s].region.parts[0], steps[s].region.parts[1]);
    }
    variant->step_count = all;
    builder->kernels = kernels;
    return NULL;
}

weft_status *weft_builder_pack_in_loops(variant_builder *builder)
{
    loop_packer p = {.builder = builder};
    weft_variant *variant = builder->variant;
    if (builder->request->is_limited || !weft_pack_is_possible(builder)) return NULL;
    WEFT_TRY(find_packings(&p));
    if (p.count == 0) return NULL;
    for (size_t i = 0; i < p.count; i++) {
        weft_step *step = &p.packings[i].step;
        step->buffers = weft_arena_copy(&variant->arena, p.packings[i].buffer, sizeof p.packings[i].buffer);
        step->buffer_count = 2;
        step->written = 1;
        if (step->buffers == NULL) return weft_status_out_of_memory();
    }
    for (size_t s = 0; s < variant->step_count; s++)
        if (variant->steps[s].kind == WEFT_STEP_REGION) WEFT_TRY(list_buffers(&p, s));
    return insert_steps(&p);
}
