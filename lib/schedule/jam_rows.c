/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/transform.h"
#include "lib/schedule/ranges.h"

/*
 * Rows that are reduced along memory, as those of a softmax or a norm. Of one row each vector waits for the one before
 * it, as virtual lanes have few accumulators, and what follows waits until these are combined. So a few rows run side
 * by side, no more than divide their number where that is known, of which strips of a chain consist then
 * (runtime/step/chain.c).
 */

enum {
    MOST_REDUCED_ROWS = 4,
    LEAST_ROWS = 64,      /* in all, or threads would be left without */
    MOST_BODY = 64,       /* instructions of a point: more would be spilled, and take long to compile */
    MOST_BYTES = 1 << 14, /* of one row: longer ones wait for memory */
    /* Of rows side by side: those that are read again stay in L1; where those that are stored are a page apart, loads
     * wait for stores to other places. Few of these pay where there is one reduction. */
    READ_AGAIN = 1 << 14,
    STORED = 1 << 12,
    LEAST_ALONE = 1 << 9, /* of a row that is worth a loop of its own */
    /* L2 sizes: what comes from L3, and what is more than a core has of it. */
    NEAR = 8,
    MEMORY = 32
};

/* Whether all rows compute the same: strips leave out what a mask of positions hides row by row
 * (lib/build/hidden.c). */
static bool is_uniform(const weft_kernel *kernel)
{
    weft_expr row = kernel->ranges[kernel->range_count - 1].variable;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->predicate_count > 0 || inst->position != WEFT_EXPR_NONE) return false;
        if (inst->op == WEFT_SCALAR_index && weft_expr_uses(kernel->exprs, inst->index, row)) return false;
    }
    return true;
}

/* Instructions of points in loops. */
static uint32_t body_of(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        if (kernel->stages[s].range_count > 0) count += kernel->stages[s].inst_count;
    return count;
}

static int64_t element_bytes(const weft_kernel *kernel, const weft_stage *stage)
{
    size_t size = 1;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        if (kernel->insts[i].op == WEFT_SCALAR_load && weft_dtype_size(kernel->insts[i].dtype) > size)
            size = weft_dtype_size(kernel->insts[i].dtype);
    return (int64_t)size;
}

/* Bytes of the longest row that a stage reads; INT64_MAX: not known, or very many. */
static int64_t row_bytes(const weft_kernel *kernel)
{
    int64_t bytes = 0, extent;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        int64_t row = element_bytes(kernel, stage);
        for (uint32_t r = 0; r < stage->range_count; r++) {
            bool fits = weft_expr_is_constant(kernel->exprs, stage->ranges[r].extent, &extent) && extent <= MOST_BYTES;
            if (!fits || row > MOST_BYTES) return INT64_MAX;
            row *= extent;
        }
        if (row > bytes) bytes = row;
    }
    return bytes;
}

/* Whether all that is reduced are sums of single values or bools, for which one row is as fast as loads are; bools of
 * several rows would have to be decided before the loop could end. */
static bool adds_up(const weft_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->accumulator_count; i++) {
        const weft_accumulator *a = &kernel->accumulators[i];
        bool sum = a->combine.insts[a->combine.count - 1].op == WEFT_SCALAR_add || a->dtypes[0] == WEFT_BOOL;
        if (a->step.count > 0 || a->width > 1 || !sum) return false;
    }
    return true;
}

/* Stages that reduce. */
static uint32_t count_reducing(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        count += kernel->stages[s].range_count > 0 && kernel->stages[s].accumulator_count > 0;
    return count;
}

/* The most bytes that rows side by side may have; 0: one runs alone. */
static int64_t most_bytes(const weft_kernel *kernel)
{
    uint32_t reducing = count_reducing(kernel);
    bool stores = false;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        stores |= kernel->stages[s].range_count > 0 && kernel->stages[s].store_count > 0;
    if (stores) return reducing > 1 ? STORED : 0;
    if (reducing > 1) return READ_AGAIN;
    return adds_up(kernel) ? 0 : MOST_REDUCED_ROWS * MOST_BYTES;
}

/* Whether points are loaded and taken in, and nothing else: each component is combined by one instruction beside its
 * two operands, as those of sums and maxima are. */
static bool only_loads(const weft_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->accumulator_count; i++) {
        const weft_combiner *combine = &kernel->accumulators[i].combine;
        uint32_t width = kernel->accumulators[i].width;
        if (combine->count > 3 * width || combine->insts[combine->count - 1].op == WEFT_SCALAR_mul) return false;
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count && stage->range_count > 0; i++)
            if (kernel->insts[i].op == WEFT_SCALAR_cast) return false;
    }
    return true;
}

/* Whether rows that are read once come from where one alone is fetched ahead better than several: from memory, or from
 * the near part of L3 where loads are all there is. An unknown number of them may. */
static bool is_fetched_ahead(const weft_kernel *kernel, const weft_machine *machine, int64_t row)
{
    double bytes = (double)row, l2 = (double)machine->cache_bytes[1];
    int64_t extent;
    if (count_reducing(kernel) != 1) return false;
    for (uint32_t r = 0; r < kernel->range_count; r++) {
        if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[r].extent, &extent)) return true;
        bytes *= (double)extent;
    }
    return bytes > MEMORY * l2 || (2 * bytes > l2 && bytes <= NEAR * l2 && only_loads(kernel));
}

/* Whether each row consists of parts that lie apart, and those of rows side by side follow each other: sums along the
 * first and the last axis of three. They are read in longer runs then. */
static bool has_parts(const weft_kernel *kernel)
{
    weft_expr row = kernel->ranges[kernel->range_count - 1].variable, step, rest;
    uint32_t loads = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
            const weft_inst *load = &kernel->insts[i];
            if (load->op != WEFT_SCALAR_load) continue;
            if (stage->range_count != 2 || stage->accumulator_count == 0 || load->arg_count != 0) return false;
            if (!weft_expr_affine(kernel->exprs, load->index, row, &step, &rest)) return false;
            if (step != stage->ranges[1].extent) return false;
            loads++;
        }
    }
    return loads == 1;
}

/* Whether each row reads something that all of them share, and that takes so much of L1 that beside the row itself it
 * is gone before the next one asks for it: a long vector that a matrix is multiplied by. Several rows read it once. */
static bool rereads_long(const weft_kernel *kernel, const weft_machine *machine)
{
    const weft_stage *stage = &kernel->stages[0];
    weft_expr row = kernel->ranges[kernel->range_count - 1].variable;
    int64_t extent;
    double shared = 0;
    if (count_reducing(kernel) != 1 || stage->range_count != 1) return false;
    if (!weft_expr_is_constant(kernel->exprs, stage->ranges[0].extent, &extent)) return false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *load = &kernel->insts[i];
        if (load->op != WEFT_SCALAR_load) continue;
        if (load->arg_count != 0 || !weft_expr_uses(kernel->exprs, load->index, stage->ranges[0].variable))
            return false;
        if (!weft_expr_uses(kernel->exprs, load->index, row))
            shared += (double)extent * (double)weft_dtype_size(load->dtype);
    }
    return shared > (double)machine->cache_bytes[0] / 2;
}

/* Whether four rows take so much less time than one after the other that their number, where it is not known, need be
 * no multiple: what is left of a group is its last row again. One row alone then takes 1.2 to 1.7 times as long,
 * two 1.1 to 1.2 (Zen 5). */
static bool repeats_last(const weft_kernel *kernel, int64_t row)
{
    return has_parts(kernel) || (count_reducing(kernel) > 1 && MOST_REDUCED_ROWS * row <= STORED);
}

weft_jam weft_kernel_find_reduced_rows(const weft_kernel *kernel, const weft_machine *machine, int64_t divisor)
{
    weft_jam found = {kernel->range_count, 1};
    int64_t least, count;
    if (kernel->range_count == 0 || body_of(kernel) > MOST_BODY || !is_uniform(kernel)) return found;
    found.range = kernel->range_count - 1;
    weft_expr_range(kernel->exprs, kernel->ranges[found.range].extent, &least, &count);
    bool parts = has_parts(kernel) || rereads_long(kernel, machine);
    int64_t bytes = parts ? 0 : row_bytes(kernel), most = most_bytes(kernel);
    if (count < LEAST_ROWS || bytes > MOST_BYTES) return found;
    if (!parts && bytes >= LEAST_ALONE && is_fetched_ahead(kernel, machine, bytes)) return found;
    found.rows = MOST_REDUCED_ROWS;
    bool may_repeat = least != count && repeats_last(kernel, bytes);
    while (found.rows > 1 && ((divisor % found.rows != 0 && !may_repeat) || found.rows * bytes > most ||
                              weft_kernel_jam_refusal(kernel, found.range, found.rows) != NULL))
        found.rows /= 2;
    return found;
}
