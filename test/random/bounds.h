/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_BOUNDS_H
#define WEFT_TEST_BOUNDS_H
/*
 * How far two correct computations of a graph may lie apart: interval arithmetic over its values, with the error that
 * rounding adds at each op. What jumps (comparisons, casts to integers, positions) takes only exact operands; where
 * that or a bound does not hold the value is not known, and nothing is said about it.
 */
#include "lib/graph.h"

typedef struct weft_test_bound {
    bool known;
    bool integral; /* floats: every element is an integer */
    double low, high;
    double error; /* absolute; 0: equal bits but for the sign of zeros */
} weft_test_bound;

/* Values of float inputs, and of integers, are integers in [-4, 4]. */
#define WEFT_TEST_INPUT_LIMIT 4

/* The bound of output 0 of node `node`, given those of all lower nodes. */
weft_test_bound weft_test_bound_find(const weft_graph *graph, uint32_t node, const weft_test_bound *bounds);
/* The bounds of all nodes; freed with free. */
weft_test_bound *weft_test_bounds_create(const weft_graph *graph);
#endif
