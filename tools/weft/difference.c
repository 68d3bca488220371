/* SPDX-License-Identifier: Apache-2.0 */
#include "difference.h"
#include <math.h>
#include <stdlib.h>

enum { STEPS = 20 };

/* f(step) - f(-step). */
static weft_status *find_odd(weft_difference_function function, void *context, double step, size_t size, double *out,
                             double *temporary)
{
    WEFT_TRY(function(context, step, out));
    WEFT_TRY(function(context, -step, temporary));
    for (size_t i = 0; i < size; i++) out[i] -= temporary[i];
    return NULL;
}

/* Takes a slope that is nearer to the one before than those so far; `noise` is what rounding does to it. */
static void take(double slope, double noise, double *last, double *out_slope, double *out_error)
{
    double error = fabs(slope - *last) + noise;
    if (error < *out_error) {
        *out_error = error;
        *out_slope = slope;
    }
    *last = slope;
}

static weft_status *find(weft_difference_function function, void *context, size_t size, double rounding, double *memory,
                         double *out_slopes, double *out_errors)
{
    double step = 0.5, *wide = memory, *odd = memory + size, *last = memory + 2 * size, *temporary = memory + 3 * size;
    WEFT_TRY(find_odd(function, context, step, size, wide, temporary));
    for (size_t k = 0; k < STEPS; k++) {
        step /= 2;
        WEFT_TRY(find_odd(function, context, step, size, odd, temporary));
        for (size_t i = 0; i < size; i++) {
            double slope = (8 * odd[i] - wide[i]) / (12 * step);
            if (k == 0) last[i] = slope;
            else take(slope, rounding * fabs(temporary[i]) / step, &last[i], &out_slopes[i], &out_errors[i]);
        }
        double *swapped = wide;
        wide = odd;
        odd = swapped;
    }
    return NULL;
}

weft_status *weft_difference_find(weft_difference_function function, void *context, size_t size, double rounding,
                                  double *out_slopes, double *out_errors)
{
    double *memory = calloc(4 * size + 1, sizeof *memory);
    if (memory == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < size; i++) {
        out_slopes[i] = 0;
        out_errors[i] = INFINITY;
    }
    weft_status *status = find(function, context, size, rounding, memory, out_slopes, out_errors);
    free(memory);
    return status;
}
