/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/loop.h"
#include "runtime/base/status.h"

/* Copies into the arena of a clone; `failed` when it ran out of memory. */
typedef struct cloner {
    weft_arena *arena;
    bool failed;
} cloner;

static void *copy(cloner *c, const void *items, size_t count, size_t size)
{
    void *copied = count == 0 || c->failed ? NULL : weft_arena_copy(c->arena, items, count * size);
    c->failed = c->failed || (count > 0 && copied == NULL);
    return copied;
}

static weft_inst *copy_insts(cloner *c, const weft_inst *insts, uint32_t count)
{
    weft_inst *copied = copy(c, insts, count, sizeof *insts);
    for (uint32_t i = 0; i < count && !c->failed; i++)
        copied[i].predicates = copy(c, insts[i].predicates, insts[i].predicate_count, sizeof *insts[i].predicates);
    return copied;
}

static weft_stage *copy_stages(cloner *c, const weft_stage *stages, uint32_t count)
{
    weft_stage *copied = copy(c, stages, count, sizeof *stages);
    for (uint32_t s = 0; s < count && !c->failed; s++) {
        weft_stage *stage = &copied[s];
        stage->ranges = copy(c, stage->ranges, stage->range_count, sizeof *stage->ranges);
        stage->stores = copy(c, stage->stores, stage->store_count, sizeof *stage->stores);
        for (uint32_t i = 0; i < stage->store_count && !c->failed; i++) {
            weft_store *store = &stage->stores[i];
            store->predicates = copy(c, store->predicates, store->predicate_count, sizeof *store->predicates);
        }
    }
    return copied;
}

static weft_accumulator *copy_accumulators(cloner *c, const weft_accumulator *accumulators, uint32_t count)
{
    weft_accumulator *copied = copy(c, accumulators, count, sizeof *accumulators);
    for (uint32_t a = 0; a < count && !c->failed; a++) {
        copied[a].step.insts = copy_insts(c, copied[a].step.insts, copied[a].step.count);
        copied[a].combine.insts = copy_insts(c, copied[a].combine.insts, copied[a].combine.count);
    }
    return copied;
}

/* Expressions keep their ids, so that what holds them is copied as it is. */
static weft_status *fill(weft_kernel *clone, const weft_kernel *kernel)
{
    cloner c = {&clone->arena, false};
    WEFT_TRY(weft_expr_context_clone(kernel->exprs, &clone->exprs));
    clone->buffers = copy(&c, kernel->buffers, kernel->buffer_count, sizeof *kernel->buffers);
    clone->ranges = copy(&c, kernel->ranges, kernel->range_count, sizeof *kernel->ranges);
    clone->stages = copy_stages(&c, kernel->stages, kernel->stage_count);
    clone->insts = copy_insts(&c, kernel->insts, kernel->inst_count);
    clone->accumulators = copy_accumulators(&c, kernel->accumulators, kernel->accumulator_count);
    return c.failed ? weft_status_out_of_memory() : NULL;
}

weft_status *weft_kernel_clone(const weft_kernel *kernel, weft_kernel **out_clone)
{
    const weft_allocator *allocator = kernel->arena.allocator;
    weft_kernel *clone = weft_allocate(allocator, sizeof *clone);
    if (clone == NULL) return weft_status_out_of_memory();
    *clone = *kernel;
    clone->exprs = NULL;
    weft_arena_init(&clone->arena, allocator);
    weft_status *status = fill(clone, kernel);
    if (status == NULL) *out_clone = clone;
    else weft_kernel_destroy(clone);
    return status;
}

weft_status *weft_kernel_end_attempt(weft_kernel *kernel, weft_kernel *attempt, weft_status *status, bool *is_done)
{
    *is_done = *is_done && status == NULL;
    if (*is_done) {
        weft_kernel before = *kernel;
        *kernel = *attempt;
        *attempt = before;
    }
    weft_kernel_destroy(attempt);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return NULL;
}
