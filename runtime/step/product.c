/* SPDX-License-Identifier: Apache-2.0 */
/* Batched matrix products, and operands that are packed for those of a loop. */
#include "runtime/base/machine.h"
#include "runtime/engine/gemm_panels.h"
#include "runtime/step/device.h"
#include "runtime/step/strip_panels.h"
#include "runtime/step/step.h"

/* ---- binding ---- */

static bool slots_exist(const weft_variant *variant, const weft_gemm *gemm)
{
    const uint32_t slots[] = {gemm->m,        gemm->n,        gemm->k,        gemm->a_row,
                              gemm->a_column, gemm->b_row,    gemm->b_column, gemm->c_row,
                              gemm->c_column, gemm->a_offset, gemm->b_offset, gemm->c_offset};
    return weft_slots_exist(variant, slots, sizeof slots / sizeof *slots) &&
           weft_slots_exist(variant, gemm->batch, gemm->batch_rank) &&
           weft_slots_exist(variant, gemm->a_batch, gemm->batch_rank) &&
           weft_slots_exist(variant, gemm->b_batch, gemm->batch_rank) &&
           weft_slots_exist(variant, gemm->c_batch, gemm->batch_rank);
}

static bool is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    return step->buffer_count == 3 && resolved->products != NULL && slots_exist(variant, &step->gemm);
}

static bool packing_is_sound(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved)
{
    return step->buffer_count == 2 && resolved->products != NULL && step->gemm.panels != WEFT_PANELS_NONE &&
           slots_exist(variant, &step->gemm);
}

static weft_status *check_slots(const weft_bound_variant *bound, const weft_step *step, const weft_gemm_call *call)
{
    const weft_gemm *gemm = &step->gemm;
    const uint32_t slots[] = {gemm->m,        gemm->n,        gemm->k,        gemm->a_row,
                              gemm->a_column, gemm->b_row,    gemm->b_column, gemm->c_row,
                              gemm->c_column, gemm->a_offset, gemm->b_offset, gemm->c_offset};
    if (weft_gemm_is_empty(call)) return NULL;
    WEFT_TRY(weft_bound_check(bound, step, slots, sizeof slots / sizeof *slots));
    WEFT_TRY(weft_bound_check(bound, step, gemm->batch, gemm->batch_rank));
    WEFT_TRY(weft_bound_check(bound, step, gemm->a_batch, gemm->batch_rank));
    WEFT_TRY(weft_bound_check(bound, step, gemm->b_batch, gemm->batch_rank));
    return weft_bound_check(bound, step, gemm->c_batch, gemm->batch_rank);
}

static weft_status *bind(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_gemm *gemm = &bound_step->step->gemm;
    const int64_t *values = bound->values;
    weft_gemm_call *call = &bound_step->gemm;
    *call = (weft_gemm_call){.size = sizeof *call,
                             .dtype = gemm->dtype,
                             .m = values[gemm->m],
                             .n = values[gemm->n],
                             .k = values[gemm->k],
                             .batch_rank = gemm->batch_rank,
                             .batch = weft_bound_gather(bound, gemm->batch, gemm->batch_rank),
                             .a_batch = weft_bound_gather(bound, gemm->a_batch, gemm->batch_rank),
                             .b_batch = weft_bound_gather(bound, gemm->b_batch, gemm->batch_rank),
                             .c_batch = weft_bound_gather(bound, gemm->c_batch, gemm->batch_rank),
                             .a_row = values[gemm->a_row],
                             .a_column = values[gemm->a_column],
                             .b_row = values[gemm->b_row],
                             .b_column = values[gemm->b_column],
                             .c_row = values[gemm->c_row],
                             .c_column = values[gemm->c_column],
                             .a_offset = values[gemm->a_offset],
                             .b_offset = values[gemm->b_offset],
                             .c_offset = values[gemm->c_offset],
                             .panels = gemm->panels,
                             .panel_lines = gemm->panels == WEFT_PANELS_A ? values[gemm->m] : values[gemm->n],
                             .packed = bound->program->policy.products == WEFT_PRODUCTS_LIBRARY};
    bool failed = call->batch == NULL || call->a_batch == NULL || call->b_batch == NULL || call->c_batch == NULL;
    return failed ? weft_status_out_of_memory() : check_slots(bound, bound_step->step, call);
}

static weft_status *bind_product(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    WEFT_TRY(bind(bound, bound_step));
    if (bound->is_apart || weft_gemm_is_empty(&bound_step->gemm)) return NULL;
    bound_step->plan = weft_bound_take(bound, 1, weft_gemm_plan_size());
    if (bound_step->plan == NULL) return weft_status_out_of_memory();
    weft_gemm_plan_fill(bound_step->plan, bound_step->resolved->products, weft_pool_machine(bound->pool),
                        &bound_step->gemm, weft_pool_size(bound->pool));
    return NULL;
}

/* ---- cost, running ---- */

/* Of one operand: of each axis along which it moves. */
static double elements(const weft_gemm_call *gemm, const int64_t *batch, int64_t rows, int64_t columns)
{
    double count = (double)rows * (double)columns;
    for (size_t i = 0; i < gemm->batch_rank; i++)
        if (batch[i] != 0) count *= (double)gemm->batch[i];
    return count;
}

static weft_step_cost cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_gemm_call *gemm = &bound_step->gemm;
    const weft_machine *machine = weft_pool_machine(bound->pool);
    const weft_gemm_engine *engine = bound_step->resolved->products;
    double products = (double)gemm->m * (double)gemm->n * (double)gemm->k;
    double read = elements(gemm, gemm->a_batch, gemm->m, gemm->k) + elements(gemm, gemm->b_batch, gemm->k, gemm->n);
    double written = elements(gemm, gemm->c_batch, gemm->m, gemm->n);
    bool complex = weft_dtype_info_of(gemm->dtype)->kind == WEFT_KIND_COMPLEX;
    for (size_t i = 0; i < gemm->batch_rank; i++) products *= (double)gemm->batch[i];
    return (weft_step_cost){.bytes = read * (double)weft_dtype_size(gemm->dtype) +
                                     written * (double)weft_gemm_result_size(gemm->dtype),
                            .flops = products * (complex ? 8 : 2),
                            .is_timed = true,
                            .alone = weft_gemm_estimate(engine, machine, gemm, 1),
                            .together = weft_gemm_estimate(engine, machine, gemm, weft_pool_size(bound->pool))};
}

static weft_status *multiply(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                             const weft_gemm_call *call, void *const *buffers)
{
    return weft_gemm_run(bound_step->resolved->products, bound->pool, bound->blocks, call, buffers[0], buffers[1],
                         buffers[2]);
}

static weft_status *run(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    (void)cancelled;
    const weft_bound_variant *bound = frame->bound;
    const weft_runtime *runtime = bound->runtime;
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    if (weft_gemm_is_empty(&bound_step->gemm)) return NULL;
    if (frame->device != NULL)
        return runtime->driver->queues->multiply(runtime->self, frame->device->queue, &bound_step->gemm, buffers[0],
                                                 buffers[1], buffers[2]);
    return weft_gemm_plan_run(bound_step->plan, bound->pool, bound->blocks, buffers[0], buffers[1], buffers[2]);
}

static size_t block_bytes(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                          const weft_gemm_call *call)
{
    return weft_gemm_bytes(bound_step->resolved->products, weft_pool_machine(bound->pool), call,
                           weft_pool_size(bound->pool));
}

const weft_step_methods weft_step_product = {WEFT_PROFILE_PRODUCT, is_sound, bind_product, cost, run, NULL,
                                             block_bytes,          multiply, NULL,         NULL};

/* ---- operands that are packed ---- */

static weft_step_cost packing_cost(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_gemm_call *gemm = &bound_step->gemm;
    double lines = (double)gemm->panel_lines, size = (double)weft_dtype_size(gemm->dtype);
    weft_step_cost cost = {.bytes = 2 * lines * (double)gemm->k * size, .is_timed = true};
    weft_step_cost_cut(&cost, bound, weft_machine_kernel_ns(weft_pool_machine(bound->pool), 0, cost.bytes), lines);
    return cost;
}

static weft_status *run_packing(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled)
{
    (void)cancelled;
    const weft_gemm_engine *engine = bound_step->resolved->products;
    void *const *buffers = frame->pointers + bound_step->first_pointer;
    weft_gemm_panels_fill(engine, engine, frame->bound->pool, &bound_step->gemm, bound_step->gemm.panels, buffers[0],
                          buffers[1]);
    return NULL;
}

const weft_step_methods weft_step_pack = {
    WEFT_PROFILE_PACK,       packing_is_sound,      bind, packing_cost, run_packing, NULL, NULL, NULL,
    weft_strip_panels_share, weft_strip_panels_fill};
