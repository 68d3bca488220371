/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_SLICES_H
#define EINSUM_SLICES_H
/*
 * Slicing: steps that depend on certain labels are done for one element of these at a time, in a loop with one
 * accumulator, or in several such loops, so that no intermediate has them. The loop ends with the first step that all
 * operands with a sliced label went into, with the last one if the output has such a label; what depends on none of
 * them is computed before.
 */
#include "expression.h"

typedef struct einsum_slices {
    einsum_expression *x; /* with `pairs` and `sliced`, whose extents are numbers; none sliced: there is no loop */
    const einsum_labels *results; /* by value: its labels, the sliced ones included */
    bool *inside;                 /* by value: it depends on a sliced label */
    size_t last;                  /* the value that the loop computes */
} einsum_slices;

/* Fills `inside` and `last` from what is set. */
weft_status *einsum_slices_init(einsum_slices *slices) WEFT_MUST_USE;
/* log2 of the number of iterations of the loop. */
double einsum_slices_iterations(const einsum_slices *slices);
/* A step that makes `value`, as one iteration takes it if it is inside. */
einsum_step einsum_slices_step(const einsum_slices *slices, size_t value, einsum_step step);
/* log2 of the most elements of intermediates that live at once while the steps are taken in their order, each freed
 * after the step that reads it, those that the loop reads after the loop; -INFINITY for none. */
weft_status *einsum_slices_peak(const einsum_slices *slices, double *out_log2_peak) WEFT_MUST_USE;
/* log2 of the elements of a value, of one iteration if `part`. */
double einsum_slices_size(const einsum_slices *slices, size_t value, bool part);
#endif
