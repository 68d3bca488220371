/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/estimate.h"
#include "runtime/profile.h"

/* Of a core of the year 2020, right within a factor of two. */
static const double OPERATIONS_PER_NS = 32, BYTES_PER_NS = 40, SORTED_PER_NS = 0.1, CALL_NS = 150;

/* What a step takes that is cut into `pieces` at most. */
static weft_estimate cut(const weft_bound_variant *bound, double alone, double pieces)
{
    double threads = (double)weft_pool_size(bound->executor->pool);
    double parts = pieces < threads ? pieces : threads;
    return (weft_estimate){true, alone, parts > 1 ? alone / parts + WEFT_POOL_REGION_NS : alone};
}

static weft_estimate estimate_kernel(const weft_bound_variant *bound, const weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    if (bound_step->iterations <= 0) return (weft_estimate){true, 0, 0};
    weft_profile_record record;
    weft_profile_estimate(bound, bound_step, &record);
    double iterations = (double)bound_step->iterations;
    double computed = iterations * (double)weft_bound_variant_estimate(bound, step->work) / OPERATIONS_PER_NS;
    double moved = record.bytes / BYTES_PER_NS;
    return cut(bound, CALL_NS + (computed > moved ? computed : moved), iterations / (double)bound_step->grain);
}

static weft_estimate estimate_gemm(const weft_bound_variant *bound, const weft_gemm_call *call)
{
    size_t threads = weft_pool_size(bound->executor->pool);
    return (weft_estimate){true, weft_gemm_estimate(call, 1), weft_gemm_estimate(call, threads)};
}

static weft_estimate estimate_sort(const weft_bound_variant *bound, const weft_sort_call *call)
{
    double rows = call->length > 0;
    for (size_t i = 0; i < call->rank; i++) rows *= (double)call->rows[i];
    return cut(bound, CALL_NS + rows * (double)call->length / SORTED_PER_NS, rows);
}

static weft_estimate estimate_sequence(const weft_bound_variant *bound, size_t first, size_t count)
{
    weft_estimate sum = {.known = true};
    for (size_t i = first; i < first + count; i += 1 + weft_step_nested(bound->steps[i].step)) {
        weft_estimate step = weft_estimate_step(bound, i);
        sum.known = sum.known && step.known;
        sum.alone += step.alone;
        sum.together += step.together;
    }
    return sum;
}

static weft_estimate estimate_region(const weft_bound_variant *bound, size_t number)
{
    const weft_region_step *region = &bound->steps[number].step->region;
    if (region->control == WEFT_CONTROL_FOLD && bound->values[region->trips] <= 0) return (weft_estimate){true, 0, 0};
    weft_estimate part = estimate_sequence(bound, number + 1, region->parts[0]);
    weft_estimate other = estimate_sequence(bound, number + 1 + region->parts[0], region->parts[1]);
    bool known = part.known && other.known && region->control != WEFT_CONTROL_WHILE;
    double turns = region->control == WEFT_CONTROL_FOLD ? (double)bound->values[region->trips] : 1;
    if (turns < 0) turns = 0;
    if (other.alone > part.alone) part = other;
    return (weft_estimate){known, turns * part.alone, turns * part.together};
}

weft_estimate weft_estimate_step(const weft_bound_variant *bound, size_t number)
{
    const weft_bound_step *bound_step = &bound->steps[number];
    switch (bound_step->step->kind) {
    case WEFT_STEP_KERNEL: return estimate_kernel(bound, bound_step);
    case WEFT_STEP_GEMM: return estimate_gemm(bound, &bound_step->gemm);
    case WEFT_STEP_SORT: return estimate_sort(bound, &bound_step->sort);
    case WEFT_STEP_HOST: break;
    case WEFT_STEP_REGION: return estimate_region(bound, number);
    }
    return (weft_estimate){.known = false};
}
