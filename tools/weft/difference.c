/* SPDX-License-Identifier: Apache-2.0 */
#include "difference.h"
#include <math.h>
#include <stdlib.h>

enum { STEPS = 16 };

/* f(step) - f(-step). */
static weft_status *find_odd(weft_difference_function function, void *context, double step, size_t size, double *out,
                             double *temporary)
{
    WEFT_TRY(function(context, step, out));
    WEFT_TRY(function(context, -step, temporary));
    for (size_t i = 0; i < size; i++) out[i] -= temporary[i];
    return NULL;
}

/* What is known of one derivative. */
typedef struct estimate {
    double slope, change; /* of the last step, and what it changed */
} estimate;

/* Takes a slope that is nearer to the one before than those so far; `noise` is what rounding does to it. Where both
 * agree by chance, the one before did not agree with its own: it is to be 16 times as far away, no more. */
static void take(double slope, double noise, estimate *last, double *out_slope, double *out_error)
{
    double change = fabs(slope - last->slope), error = change + last->change / 16 + noise;
    if (error < *out_error) {
        *out_error = error;
        *out_slope = slope;
    }
    *last = (estimate){slope, change};
}

/* `memory` has three times `size` numbers. */
static weft_status *find(weft_difference_function function, void *context, size_t size, double rounding,
                         estimate *estimates, double *memory, double *out_slopes, double *out_errors)
{
    double step = 1.0 / 16, *wide = memory, *odd = memory + size, *temporary = memory + 2 * size;
    WEFT_TRY(find_odd(function, context, step, size, wide, temporary));
    for (size_t k = 0; k < STEPS; k++) {
        step /= 2;
        WEFT_TRY(find_odd(function, context, step, size, odd, temporary));
        for (size_t i = 0; i < size; i++)
            take((8 * odd[i] - wide[i]) / (12 * step), rounding * fabs(temporary[i]) / step, &estimates[i],
                 &out_slopes[i], &out_errors[i]);
        double *swapped = wide;
        wide = odd;
        odd = swapped;
    }
    return NULL;
}

weft_status *weft_difference_find(weft_difference_function function, void *context, size_t size, double rounding,
                                  double *out_slopes, double *out_errors)
{
    double *memory = calloc(3 * size + 1, sizeof *memory);
    estimate *estimates = calloc(size + 1, sizeof *estimates);
    weft_status *status = memory == NULL || estimates == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t i = 0; i < size && status == NULL; i++) {
        estimates[i] = (estimate){INFINITY, INFINITY};
        out_slopes[i] = 0;
        out_errors[i] = INFINITY;
    }
    if (status == NULL) status = find(function, context, size, rounding, estimates, memory, out_slopes, out_errors);
    free(memory);
    free(estimates);
    return status;
}

/* The derivative to the side of `step`; `memory` has three times `size` numbers. */
static weft_status *find_side(weft_difference_function function, void *context, size_t size, double step,
                              double *memory, double *out_slopes)
{
    double *here = memory, *near = memory + size, *far = memory + 2 * size;
    WEFT_TRY(function(context, 0, here));
    WEFT_TRY(function(context, step, near));
    WEFT_TRY(function(context, 2 * step, far));
    for (size_t i = 0; i < size; i++) out_slopes[i] = (4 * near[i] - 3 * here[i] - far[i]) / (2 * step);
    return NULL;
}

weft_status *weft_difference_find_sides(weft_difference_function function, void *context, size_t size, double rounding,
                                        double *out_left, double *out_right)
{
    double step = cbrt(rounding), *memory = calloc(3 * size + 1, sizeof *memory);
    if (memory == NULL) return weft_status_out_of_memory();
    weft_status *status = find_side(function, context, size, -step, memory, out_left);
    if (status == NULL) status = find_side(function, context, size, step, memory, out_right);
    free(memory);
    return status;
}
