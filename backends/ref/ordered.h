/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_REF_ORDERED_H
#define WEFT_BACKENDS_REF_ORDERED_H
/* Sums and products of floats and complex numbers in the order of compiled ones (lib/loop/README.md), to the bit. */
#include "backends/ref/ref.h"
#include "lib/loop/loop.h"
#include "lib/loop/order.h"
#include "lib/lower/numerics.h"

typedef struct weft_ordered_sum {
    weft_reduction reduction;
    weft_op_id op;                                             /* dot, reduce_sum, reduce_prod */
    const weft_view *operands;                                 /* one, or the two of a dot; dense */
    int64_t extents[WEFT_MAX_RANK], strides[2][WEFT_MAX_RANK]; /* of the reduced axes, in the order of `reduction` */
} weft_ordered_sum;

/* False if the run does not ask for that order, or there is none. Otherwise `extents` and `strides` are the caller's to
 * fill. */
bool weft_ordered_sum_init(const weft_reference_call *call, weft_ordered_sum *out_sum);
/* The sum whose first elements lie at these positions of the operands. */
weft_element weft_ordered_sum_at(const weft_ordered_sum *sum, const int64_t *positions);

/* A number as it is added up, of f32 precision where that is the accumulator's. */
typedef struct weft_ordered_parts {
    double re, im;
} weft_ordered_parts;

enum { WEFT_ORDERED_LEVELS = 4 };
_Static_assert(WEFT_ORDER_SCAN_MOST_LANES <= 1 << WEFT_ORDERED_LEVELS, "the tree of a scan has more levels");

/* A scan, element by element. */
typedef struct weft_ordered_scan {
    weft_ordered_sum sum;
    int64_t position;
    weft_ordered_parts halves[WEFT_ORDERED_LEVELS]; /* the latest lower half of each level of the tree */
    weft_ordered_parts group, block, earlier; /* what there is since the block began, before this group and now; before
                                                 the block */
} weft_ordered_scan;

/* At the beginning of a row. False as above. */
bool weft_ordered_scan_init(const weft_reference_call *call, weft_ordered_scan *out_scan);
/* Takes in an element; what there is then. */
weft_element weft_ordered_scan_next(weft_ordered_scan *scan, weft_element element);
#endif
