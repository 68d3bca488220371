/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_COST_H
#define WEFT_RUNTIME_STEP_COST_H
#include "runtime/step/bound_variant.h"

/* Estimates of what a step takes. They affect only running time. */
typedef struct weft_step_cost {
    double bytes, flops;    /* moved and computed; 0 where that is not known */
    bool is_timed;          /* whether the times are known: not of an extension's code, nor of while */
    double alone, together; /* ns on one thread, and with all threads of the pool */
} weft_step_cost;

/* Sets the times of a step that takes so long beside its call and is cut into `pieces` at most. */
void weft_step_cost_cut(weft_step_cost *cost, const weft_bound_variant *bound, double ns, double pieces);
/* Bytes of buffer `i` of the step, of which at most that many elements are accessed. */
double weft_step_buffer_bytes(const weft_bound_variant *bound, const weft_step *step, size_t i, double accesses);
/* Of all its buffers, each read or written whole. */
double weft_step_bytes(const weft_bound_variant *bound, const weft_step *step);
#endif
