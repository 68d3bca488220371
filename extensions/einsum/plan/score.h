/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_SCORE_H
#define EINSUM_PLAN_SCORE_H
/*
 * What a step costs under each objective, and what steps cost together. Sizes and costs are logarithms to base 2, so
 * that nothing overflows; -INFINITY is nothing.
 */
#include <math.h>
#include <weft/einsum.h>

/*
 * How long a step takes: the larger of multiplications over their rate and bytes over bandwidth, and `overhead`. The
 * rate depends on the smallest of the extents m, n and k of the product that the step is: below 4, 16, 64, and others.
 */
typedef struct einsum_machine {
    double log2_rates[WEFT_MACHINE_RATES]; /* multiplications of f32 in a second */
    double log2_bandwidth;                 /* bytes in a second */
    double log2_overhead;                  /* seconds */
} einsum_machine;

/* log2 of elements of the operands and the result of a step, and of its multiplications. */
typedef struct einsum_step {
    double a, b, result, work;
} einsum_step;

typedef struct einsum_score {
    weft_einsum_minimize objective;
    double log2_combo;      /* COMBO */
    einsum_machine machine; /* TIME */
    double log2_slowness;   /* TIME: of a multiplication, against f32 */
    double log2_bytes;      /* TIME: of an element */
} einsum_score;

/* Compared by `major`, then by `minor`. */
typedef struct einsum_cost {
    double major; /* what is minimised */
    double minor; /* of SIZE: multiplications; of the others: the largest result */
} einsum_cost;

#define EINSUM_NO_COST ((einsum_cost){-INFINITY, -INFINITY})
#define EINSUM_WORST_COST ((einsum_cost){INFINITY, INFINITY})

/* log2(2^x + 2^y) */
double einsum_log2_add(double x, double y);

einsum_cost einsum_score_step(const einsum_score *score, einsum_step step);
/* No step with an operand of this size costs less. */
double einsum_score_reading(const einsum_score *score, double size);
einsum_cost einsum_score_add(const einsum_score *score, einsum_cost x, einsum_cost y);

static inline bool einsum_cost_less(einsum_cost x, einsum_cost y)
{
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
}
#endif
