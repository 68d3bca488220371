/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_BOUNDS_H
#define WEFT_TEST_BOUNDS_H
/*
 * How far two correct computations of a graph may lie apart: the error that rounding adds at each op, for values as
 * large as the reference found them (inside regions: as interval arithmetic says). What jumps (comparisons, casts to
 * integers, positions) takes only exact operands; where that or a bound does not hold the value is not known, and
 * nothing is said about it. Of a known value, what is infinite or no number is so in every computation.
 */
#include <weft/array.h>
#include "lib/graph/graph.h"

typedef struct weft_test_bound {
    bool known;
    bool integral;    /* floats: every element is an integer */
    bool finite;      /* every element is */
    bool loose_zeros; /* there are zeros that may have either sign */
    double low, high; /* of finite elements */
    double nearest;   /* of these, the least absolute value */
    double error;     /* absolute; 0: equal bits except for the sign of zeros */
} weft_test_bound;

/* Of all values of a graph, in order of nodes and their outputs. */
typedef struct weft_test_bounds {
    size_t *first; /* of a node: where its values begin */
    size_t count;
    weft_test_bound *items;
} weft_test_bounds;

/* Numbers the values; nothing is known of them. False when there is no memory. */
bool weft_test_bounds_start(const weft_graph *graph, weft_test_bounds *out);
/* Bounds of a graph of static extents, given what the reference computed for each value. */
bool weft_test_bounds_create(const weft_graph *graph, weft_array *const *values, weft_test_bounds *out);
void weft_test_bounds_finish(weft_test_bounds *bounds);
#endif
