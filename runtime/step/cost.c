/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/cost.h"
#include <math.h>

static double count_elements(const weft_bound_variant *bound, const weft_buffer *buffer)
{
    double count = 1;
    for (uint32_t i = 0; i < buffer->rank; i++) count *= (double)bound->values[buffer->extents[i]];
    return count;
}

double weft_step_buffer_bytes(const weft_bound_variant *bound, const weft_step *step, size_t i, double accesses)
{
    const weft_buffer *buffer = &bound->variant->buffers[step->buffers[i]];
    double count = count_elements(bound, buffer);
    return (accesses < count ? accesses : count) * (double)weft_dtype_size(buffer->dtype);
}

double weft_step_bytes(const weft_bound_variant *bound, const weft_step *step)
{
    double bytes = 0;
    for (size_t i = 0; i < step->buffer_count; i++) bytes += weft_step_buffer_bytes(bound, step, i, HUGE_VAL);
    return bytes;
}

void weft_step_cost_cut(weft_step_cost *cost, const weft_bound_variant *bound, double ns, double pieces)
{
    const weft_machine *machine = weft_pool_machine(bound->pool);
    double threads = (double)weft_pool_size(bound->pool);
    double parts = pieces < threads ? pieces : threads;
    cost->alone = 1e9 * machine->dispatch_seconds + ns;
    cost->together = parts > 1 ? cost->alone / parts + 1e9 * machine->fork_join_seconds : cost->alone;
}
