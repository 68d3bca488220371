/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_CONTRACTION_H
#define WEFT_TOOLS_CONTRACTION_H
/* One einsum on the command line: what is contracted, the arrays, and how it is planned and run. */
#include <weft/einsum.h>
#include "instance.h"
#include "planner.h"
#include "session.h"

typedef struct weft_contraction {
    const weft_arguments *arguments;
    const char *path;       /* of the instance, or NULL */
    weft_instance instance; /* the expression and its shapes, from wherever they come */
    weft_array **arrays;    /* by operand; NULL before there are any */
    weft_planner planner;
    weft_einsum_plan *plan;
    weft_plugins plugins;
    weft_session session;
} weft_contraction;

/* The expression and the arrays that the command's operands name. */
weft_status *weft_contraction_load_arrays(weft_contraction *contraction) WEFT_MUST_USE;
/* Arrays made up for what is planned. */
weft_status *weft_contraction_draw_arrays(weft_contraction *contraction) WEFT_MUST_USE;
/* WEFT_OVER_LIMIT where what is planned takes more memory than the process may have. */
weft_status *weft_contraction_check_memory(const weft_contraction *contraction,
                                           const weft_einsum_plan *plan) WEFT_MUST_USE;
/* Finds an order; the sentence of an error names the instance. */
weft_status *weft_contraction_plan(const weft_contraction *contraction, const weft_einsum_options *options,
                                   weft_einsum_plan **out_plan) WEFT_MUST_USE;
/* Traces, compiles and runs in an initialised session. */
weft_status *weft_contraction_run(const weft_contraction *contraction, const weft_einsum_options *options,
                                  weft_session *session) WEFT_MUST_USE;
/* Runs once more in another order, and compares with what the session has. Adds the order and the difference to
 * `stats`. WEFT_DATA_ERROR if rounding does not explain it. */
weft_status *weft_contraction_check(const weft_contraction *contraction, cJSON *stats) WEFT_MUST_USE;
void weft_contraction_finish(weft_contraction *contraction);
#endif
