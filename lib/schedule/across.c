/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

/*
 * Reductions in virtual lanes of what lies across memory, as rows of a transposed matrix do. Vectors along the
 * reduction would be put together from single elements. So the virtual lanes run one after another, each over its own
 * elements, for a vector of results, which do lie side by side.
 */

/* How an access moves with a range. */
typedef enum gait { STAYS, WALKS, JUMPS } gait;

static gait gait_of(weft_kernel *kernel, weft_expr index, weft_expr variable)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    if (!weft_expr_uses(x, index, variable)) return STAYS;
    if (!weft_expr_affine(x, index, variable, &step, &rest)) return JUMPS;
    return step == weft_expr_constant(x, 1) ? WALKS : JUMPS;
}

/* Whether an access of a stage stays where it is along the columns, or walks them and jumps along the stage's range. */
static bool lies_across(weft_kernel *kernel, const weft_stage *stage, weft_expr index, weft_expr column, bool *walks)
{
    gait along = gait_of(kernel, index, column);
    bool inner = stage->range_count > 0;
    *walks |= inner && along == WALKS;
    return along == STAYS ||
           (along == WALKS &&
            (!inner || gait_of(kernel, index, stage->ranges[stage->range_count - 1].variable) != WALKS));
}

/* Results of reductions may lie apart, as those of parts of long columns do: they are few beside what is reduced. */
static bool is_stored_once(weft_kernel *kernel, const weft_stage *stage, weft_expr index, weft_expr column)
{
    return stage->range_count == 0 && gait_of(kernel, index, column) == JUMPS;
}

/* What a stage is made of, for lanes along the columns. */
static bool stage_lies_across(weft_kernel *kernel, const weft_stage *stage, weft_expr column, bool *walks)
{
    if (weft_stage_scans(kernel, stage)) return false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->predicate_count != 0) return false;
        if (inst->op != WEFT_SCALAR_load) continue;
        if (inst->arg_count != 0 || !lies_across(kernel, stage, inst->index, column, walks)) return false;
    }
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        if (store->is_indirect || !(is_stored_once(kernel, stage, store->index, column) ||
                                    lies_across(kernel, stage, store->index, column, walks)))
            return false;
    }
    return true;
}

static bool reduces_across(weft_kernel *kernel, const weft_range *columns, uint32_t width)
{
    int64_t least, most;
    bool walks = false;
    weft_expr_range(kernel->exprs, columns->extent, &least, &most);
    if (most < width || weft_kernel_bounds_inner(kernel, columns->variable)) return false;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        if (!stage_lies_across(kernel, &kernel->stages[s], columns->variable, &walks)) return false;
    return walks;
}

/* Whether all that is read walks along the columns: what stays is a factor of a product, which shares it along others.
 */
static bool all_walk(weft_kernel *kernel, const weft_range *columns)
{
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op == WEFT_SCALAR_load && gait_of(kernel, inst->index, columns->variable) != WALKS) return false;
    }
    return true;
}

uint32_t weft_kernel_find_columns_across(weft_kernel *kernel, uint32_t width)
{
    uint32_t none = kernel->range_count, last = none - 1;
    if (none == 0 || weft_kernel_argument_count(kernel) < kernel->buffer_count) return none;
    if (reduces_across(kernel, &kernel->ranges[last], width)) return last;
    for (uint32_t i = last; i-- > 0;)
        if (all_walk(kernel, &kernel->ranges[i]) && reduces_across(kernel, &kernel->ranges[i], width)) return i;
    return none;
}

/* Bytes of a column that the stages read, if several do; 0: none reads what another one has read. */
static double reread_bytes(const weft_kernel *kernel)
{
    double most = 0, bytes = 0;
    uint32_t readers = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op == WEFT_SCALAR_load && (double)weft_dtype_size(inst->dtype) > bytes)
            bytes = (double)weft_dtype_size(inst->dtype);
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        double rows = 1;
        for (uint32_t i = 0; i < kernel->stages[s].range_count; i++) {
            int64_t least, extent;
            weft_expr_range(kernel->exprs, kernel->stages[s].ranges[i].extent, &least, &extent);
            rows *= (double)extent;
        }
        readers += kernel->stages[s].range_count > 0;
        if (rows > most) most = rows;
    }
    return readers > 1 ? most * bytes : 0;
}

uint32_t weft_kernel_across_unroll(const weft_kernel *kernel, const weft_machine *machine, uint32_t unroll,
                                   uint32_t width)
{
    bool stays = reread_bytes(kernel) * unroll * width <= (double)machine->cache_bytes[1] / 2;
    uint32_t most = 1, room = stays ? WEFT_LOCAL_BYTES : WEFT_LOCAL_BYTES / 2;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        uint32_t bytes = 0;
        for (uint32_t a = stage->accumulator_first; a < stage->accumulator_first + stage->accumulator_count; a++)
            for (uint32_t c = 0; c < kernel->accumulators[a].width; c++)
                bytes += (uint32_t)weft_dtype_size(kernel->accumulators[a].dtypes[c]);
        if (stage->range_count > 0) bytes *= width * stage->ranges[stage->range_count - 1].virtual_lanes;
        if (bytes > most) most = bytes;
    }
    while (unroll > 1 && unroll * most > room) unroll /= 2;
    return unroll;
}
