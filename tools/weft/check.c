/* SPDX-License-Identifier: Apache-2.0 */
/* The same contraction in a second order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contraction.h"
#include "element.h"
#include "random.h"

/* ---- comparing ---- */

/* What rounding may do along the steps: sums of K terms for each element, errors independent of each other. */
static double find_bound(const weft_contraction *x, const weft_einsum_plan *other)
{
    const weft_einsum_plan *plans[] = {x->plan, other};
    size_t operands = x->instance.count;
    double terms = 0;
    for (size_t p = 0; p < 2; p++) {
        for (size_t value = operands; value < 2 * operands - 1; value++) {
            weft_einsum_value v = weft_einsum_plan_value(plans[p], value);
            terms += 1 + exp2(v.log10_flops / log10(2) - v.log2_size);
        }
    }
    return 8 * weft_element_rounding(weft_array_dtype(x->arrays[0])) * sqrt(terms);
}

/* The plan of the second run; `other` is that of the first where only the sides of steps are swapped. */
static weft_status *compare(const weft_contraction *x, const weft_session *second, const weft_einsum_plan *other,
                            cJSON *stats)
{
    bool swapped = other == x->plan;
    double bound = find_bound(x, other);
    double difference = weft_array_difference(x->session.outputs[0], second->outputs[0]);
    cJSON_AddStringToObject(stats, "check_order", swapped ? "sides swapped" : weft_einsum_plan_order(other));
    cJSON_AddNumberToObject(stats, "check_difference", difference);
    if (difference <= bound) {
        printf("%-20srelative difference %.3g, rounding bound %.3g\n", swapped ? "sides swapped" : "second order",
               difference, bound);
        return NULL;
    }
    return weft_status_create(
        NULL, WEFT_DATA_ERROR, NULL,
        "the order %.60s%s gives another result than %.60s: the relative difference is %.3g, over the "
        "rounding bound of %.3g",
        weft_einsum_plan_order(other), swapped ? " with the sides of its steps swapped" : "",
        weft_einsum_plan_order(x->plan), difference, bound);
}

static weft_status *run_plan(const weft_contraction *x, const weft_einsum_options *options,
                             const weft_einsum_plan *plan, cJSON *stats)
{
    weft_session second;
    weft_status *status = weft_session_init(&second, x->arguments, &x->plugins);
    second.once = true;
    if (status == NULL) status = weft_contraction_run(x, options, &second);
    if (status == NULL) status = compare(x, &second, plan, stats);
    weft_session_finish(&second);
    return status;
}

/* Runs in the order of `options` if it is another one, multiplies at most ten times as much, and fits. */
static weft_status *try_order(const weft_contraction *x, const weft_einsum_options *options, cJSON *stats,
                              bool *out_done)
{
    weft_einsum_plan *other;
    WEFT_TRY(weft_contraction_plan(x, options, &other));
    weft_status *fits = weft_contraction_check_memory(x, other);
    *out_done = fits == NULL && strcmp(weft_einsum_plan_order(other), weft_einsum_plan_order(x->plan)) != 0 &&
                weft_einsum_plan_log10_flops(other) <= weft_einsum_plan_log10_flops(x->plan) + 1;
    weft_status_destroy(fits);
    weft_status *status = *out_done ? run_plan(x, options, other, stats) : NULL;
    weft_einsum_plan_destroy(other);
    return status;
}

/* ---- orders derived from the one at hand ---- */

/* Where a step joins c with what an earlier one made of a and b, joins b with what is made of a and c: the earlier step
 * moves to where it is next to this one, and the numbers of the values between shift. False where there is none. */
static bool rotate(weft_ints ssa, int64_t operands, size_t step, int64_t *out_ssa)
{
    const int64_t *pair = ssa.items + 2 * step;
    int64_t result = pair[pair[0] < pair[1]], c = pair[pair[0] >= pair[1]], own = operands + (int64_t)step;
    if (result < operands) return false;
    size_t earlier = (size_t)(result - operands), at = 0;
    for (size_t i = 0; i < ssa.count; i++) {
        int64_t value = ssa.items[i];
        if (i / 2 != earlier && i / 2 != step) out_ssa[at++] = value - (value > result && value < own);
        if (i != 2 * step) continue;
        out_ssa[at++] = ssa.items[2 * earlier];
        out_ssa[at++] = c - (c > result);
        out_ssa[at++] = own - 1;
        out_ssa[at++] = ssa.items[2 * earlier + 1];
    }
    return true;
}

static weft_status *try_rotations(const weft_contraction *x, cJSON *stats, bool *out_done)
{
    enum { MOST = 32 };
    weft_ints ssa = weft_einsum_plan_ssa(x->plan);
    int64_t *rotated = calloc(ssa.count + 1, sizeof *rotated);
    weft_status *status = rotated == NULL ? weft_status_out_of_memory() : NULL;
    weft_einsum_options options = {.size = sizeof options, .order = WEFT_EINSUM_SSA, .path = {ssa.count, rotated}};
    for (size_t step = ssa.count / 2, tries = 0; status == NULL && !*out_done && step-- > 0 && tries < MOST;) {
        if (!rotate(ssa, (int64_t)x->instance.count, step, rotated)) continue;
        status = try_order(x, &options, stats, out_done);
        tries++;
    }
    free(rotated);
    return status;
}

/* The two values of each step in the other order: the same sums, by other kernels. */
static weft_status *run_swapped(const weft_contraction *x, cJSON *stats)
{
    weft_ints path = weft_einsum_plan_path(x->plan);
    int64_t *swapped = calloc(path.count + 1, sizeof *swapped);
    if (swapped == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < path.count; i++) swapped[i] = path.items[i ^ 1];
    weft_einsum_options options = {.size = sizeof options, .order = WEFT_EINSUM_PATH, .path = {path.count, swapped}};
    weft_status *status = run_plan(x, &options, x->plan, stats);
    free(swapped);
    return status;
}

weft_status *weft_contraction_check(const weft_contraction *contraction, cJSON *stats)
{
    static const weft_einsum_minimize objectives[] = {WEFT_EINSUM_SIZE, WEFT_EINSUM_FLOPS, WEFT_EINSUM_TIME};
    bool done = false;
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives && !done; i++) {
        weft_einsum_options options = contraction->planner.options;
        options.minimize = objectives[i];
        WEFT_TRY(try_order(contraction, &options, stats, &done));
    }
    if (!done) WEFT_TRY(try_rotations(contraction, stats, &done));
    return done ? NULL : run_swapped(contraction, stats);
}
