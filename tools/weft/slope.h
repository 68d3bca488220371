/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SLOPE_H
#define WEFT_TOOLS_SLOPE_H
/* Gradients of graphs against differences of their values. */
#include "setting.h"

/* An input with respect to which is differentiated. */
typedef struct weft_slope_input {
    const char *name;
    weft_tensor tensor, tangent;
    bool given; /* its array stays as it is */
    size_t size;
    double *point, *direction; /* `size` numbers each */
} weft_slope_input;

typedef struct weft_slope_check {
    weft_setting setting; /* with arrays of the inputs and their tangents: NAME and "check.tangent.I" */
    weft_graph *graph;
    size_t input_count;
    weft_slope_input *inputs;
    /* Inputs of other dtypes, which are drawn anew with each point. */
    size_t drawn_count;
    const char **drawn;
    uint64_t seed;
    size_t points, order;
    double rounding;     /* half a unit in the last place of 1, of the least exact dtype */
    bool is_smooth;      /* whether all differences converge at the point */
    size_t pairs, wrong; /* counted */
} weft_slope_check;

/* Outputs of a graph, and what they are called. */
typedef struct weft_slope_outputs {
    size_t count;
    const weft_tensor *tensors;
    const char *const *names;
} weft_slope_outputs;

/*
 * Checks the derivatives of each output with respect to each input, and prints a line for each pair: jvp in a random
 * direction against differences, and <cotangent, jvp> = <vjp, tangent>, both relative. From the second order on the
 * same for the gradient of <outputs, cotangents>, and so on: `check->order` times. Where one-sided differences do not
 * agree, the point is at a kink: any derivative from one of them to the other is right.
 */
weft_status *weft_slope_check_outputs(weft_slope_check *check, weft_slope_outputs outputs) WEFT_MUST_USE;
#endif
