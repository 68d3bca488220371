/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_DIFFERENCE_H
#define WEFT_TOOLS_DIFFERENCE_H
/* Derivatives of functions that can only be evaluated. */
#include <weft/base.h>

/* Writes the values of the function at `step`. */
typedef weft_status *(*weft_difference_function)(void *context, double step, double *out_values);

/* What is found of each value. */
typedef struct weft_differences {
    double *slopes;    /* derivatives with respect to the step, at step 0 */
    double *errors;    /* estimates of their errors; infinite where a value is not finite nearby */
    double *roundings; /* of the values: what the smallest steps show of it, `rounding` times the value at least */
    double *steps;     /* of the differences that the slopes are from */
} weft_differences;

/*
 * The derivatives of `size` values. Central differences of fourth order (Abramowitz and Stegun, "Handbook of
 * mathematical functions", 25.3.24), for steps from 1/32 on, each half of the one before; for each value that one is
 * taken which is nearest to the one before, and its distance is the estimate: where a kink lies between, larger steps
 * do not agree, and where only rounding is left, smaller ones do not. `rounding` is the relative error of a value,
 * which is part of the estimate. A value that large terms cancel in has a larger one: what the last steps, which are
 * too small for anything else, change of it.
 */
weft_status *weft_difference_find(weft_difference_function function, void *context, size_t size, double rounding,
                                  weft_differences *out_found) WEFT_MUST_USE;
/* The derivatives to the left and to the right, by differences of second order of one small step: they do not agree at
 * a kink. */
weft_status *weft_difference_find_sides(weft_difference_function function, void *context, size_t size, double rounding,
                                        double *out_left, double *out_right) WEFT_MUST_USE;
/* That step. */
double weft_difference_side_step(double rounding);
#endif
