/* SPDX-License-Identifier: Apache-2.0 */
#include "score.h"

double einsum_log2_add(double x, double y)
{
    double high = x > y ? x : y, low = x > y ? y : x;
    return low == -INFINITY ? high : high + log2(1 + exp2(low - high));
}

/* The bounds of the classes are common extents, and m, n and k differences of rounded sums. */
static double log2_rate(const einsum_machine *machine, einsum_step step)
{
    double m = step.work - step.b, n = step.work - step.a, k = step.work - step.result;
    double least = fmin(fmin(m, n), k) + 1e-6;
    return machine->log2_rates[(least >= 2) + (least >= 4) + (least >= 6)];
}

static double log2_seconds(const einsum_score *score, einsum_step step)
{
    double compute = step.work + score->log2_slowness - log2_rate(&score->machine, step);
    double elements = einsum_log2_add(einsum_log2_add(step.a, step.b), step.result);
    double move = elements + score->log2_bytes - score->machine.log2_bandwidth;
    return einsum_log2_add(fmax(compute, move), score->machine.log2_overhead);
}

einsum_cost einsum_score_step(const einsum_score *score, einsum_step step)
{
    switch (score->objective) {
    case WEFT_EINSUM_TIME: return (einsum_cost){log2_seconds(score, step), step.result};
    case WEFT_EINSUM_SIZE: return (einsum_cost){step.result, step.work};
    case WEFT_EINSUM_WRITE: return (einsum_cost){step.result, step.result};
    case WEFT_EINSUM_COMBO:
        return (einsum_cost){einsum_log2_add(step.work, step.result + score->log2_combo), step.result};
    case WEFT_EINSUM_FLOPS: break;
    }
    return (einsum_cost){step.work, step.result};
}

double einsum_score_reading(const einsum_score *score, double size)
{
    switch (score->objective) {
    case WEFT_EINSUM_TIME: return size + score->log2_bytes - score->machine.log2_bandwidth;
    case WEFT_EINSUM_SIZE:
    case WEFT_EINSUM_WRITE: return -INFINITY;
    case WEFT_EINSUM_COMBO:
    case WEFT_EINSUM_FLOPS: break;
    }
    return size;
}

einsum_cost einsum_score_add(const einsum_score *score, einsum_cost x, einsum_cost y)
{
    if (score->objective == WEFT_EINSUM_SIZE)
        return (einsum_cost){fmax(x.major, y.major), einsum_log2_add(x.minor, y.minor)};
    return (einsum_cost){einsum_log2_add(x.major, y.major), fmax(x.minor, y.minor)};
}
