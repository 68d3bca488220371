/* SPDX-License-Identifier: Apache-2.0 */
#include "difference.h"
#include <math.h>
#include <stdlib.h>

enum {
    STEPS = 16,
    SMALL_STEPS = 4, /* the last ones, so small that what they change may be rounding alone */
    FALL = 64        /* rounding does not get so much smaller in two of them; other errors do by 32 * 32 */
};

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
    double slope, change;      /* of the last step, and what it changed */
    double step;               /* of the slope that was taken */
    double small[SMALL_STEPS]; /* what small steps changed of the difference of values */
} estimate;

/* Takes a slope that is nearer to the one before than those so far; `noise` is what rounding does to it. Where both
 * agree by chance, the one before did not agree with its own: it is to be 16 times as far away, no more. */
static void take(double slope, double step, double noise, estimate *last, double *out_slope, double *out_error)
{
    double change = fabs(slope - last->slope), error = change + last->change / 16 + noise;
    if (error < *out_error) {
        *out_error = error;
        *out_slope = slope;
        last->step = step;
    }
    last->slope = slope;
    last->change = change;
}

/* `memory` has three times `size` numbers. */
static weft_status *find(weft_difference_function function, void *context, size_t size, double rounding,
                         estimate *estimates, double *memory, weft_differences *out_found)
{
    double step = 1.0 / 16, *wide = memory, *odd = memory + size, *temporary = memory + 2 * size;
    WEFT_TRY(find_odd(function, context, step, size, wide, temporary));
    for (size_t k = 0; k < STEPS; k++) {
        step /= 2;
        WEFT_TRY(find_odd(function, context, step, size, odd, temporary));
        for (size_t i = 0; i < size; i++) {
            take((8 * odd[i] - wide[i]) / (12 * step), step, rounding * fabs(temporary[i]) / step, &estimates[i],
                 &out_found->slopes[i], &out_found->errors[i]);
            if (k >= STEPS - SMALL_STEPS) estimates[i].small[k - (STEPS - SMALL_STEPS)] = estimates[i].change * step;
        }
        double *swapped = wide;
        wide = odd;
        odd = swapped;
    }
    return NULL;
}

/* What rounding does to a value: what it does to any, or as far as small steps show, to this one. A kink between two of
 * them changes more, so the largest change does not count. */
static double find_rounding(const estimate *found, double relative)
{
    const double *c = found->small;
    double early = fmax(c[0], c[1]), late = fmax(c[2], c[3]);
    double measured = fmax(fmin(early, late), early > late ? fmin(c[0], c[1]) : fmin(c[2], c[3]));
    bool is_rounding = isfinite(early) && isfinite(late) && early <= FALL * late;
    return fmax(is_rounding ? measured : 0, relative);
}

weft_status *weft_difference_find(weft_difference_function function, void *context, size_t size, double rounding,
                                  weft_differences *out_found)
{
    double *memory = calloc(3 * size + 1, sizeof *memory);
    estimate *estimates = calloc(size + 1, sizeof *estimates);
    weft_status *status = memory == NULL || estimates == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t i = 0; i < size && status == NULL; i++) {
        estimates[i] = (estimate){.slope = INFINITY, .change = INFINITY, .step = 1};
        out_found->slopes[i] = 0;
        out_found->errors[i] = INFINITY;
    }
    if (status == NULL) status = function(context, 0, out_found->roundings);
    if (status == NULL) status = find(function, context, size, rounding, estimates, memory, out_found);
    for (size_t i = 0; i < size && status == NULL; i++) {
        out_found->roundings[i] = find_rounding(&estimates[i], rounding * fabs(out_found->roundings[i]));
        out_found->steps[i] = estimates[i].step;
    }
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

double weft_difference_side_step(double rounding)
{
    return cbrt(rounding);
}

weft_status *weft_difference_find_sides(weft_difference_function function, void *context, size_t size, double rounding,
                                        double *out_left, double *out_right)
{
    double step = weft_difference_side_step(rounding), *memory = calloc(3 * size + 1, sizeof *memory);
    if (memory == NULL) return weft_status_out_of_memory();
    weft_status *status = find_side(function, context, size, -step, memory, out_left);
    if (status == NULL) status = find_side(function, context, size, step, memory, out_right);
    free(memory);
    return status;
}
