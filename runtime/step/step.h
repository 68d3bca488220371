/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_STEP_H
#define WEFT_RUNTIME_STEP_STEP_H
/* Steps of any kind: the methods of a kind, and the loop that runs steps. */
#include <stdatomic.h>
#include "runtime/step/cost.h"
#include "runtime/step/frame.h"

/* A kind of step. What a variant does not have need not be linked: it has the methods of its own kinds. */
typedef struct weft_step_methods {
    weft_profile_kind kind; /* in a profile */
    /* Whether what the step names exists, as far as its kind alone knows. */
    bool (*is_sound)(const weft_variant *variant, const weft_step *step, const weft_resolved *resolved);
    /* Resolves the slots of a step that is not idle. */
    weft_status *(*bind)(weft_bound_variant *bound, weft_bound_step *bound_step);
    weft_step_cost (*cost)(const weft_bound_variant *bound, const weft_bound_step *bound_step);
    weft_status *(*run)(weft_frame *frame, const weft_bound_step *bound_step, const volatile bool *cancelled);
    /* Has the step take the least scratch; whether that changes anything. */
    bool (*tighten)(const weft_bound_variant *bound, weft_bound_step *bound_step);
    /* GEMM: `call`, the step's product or a part of it in a strip: the bytes of the largest block that a thread
     * acquires for it, and running it. */
    size_t (*block_bytes)(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                          const weft_gemm_call *call);
    weft_status *(*multiply)(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                             const weft_gemm_call *call, void *const *buffers);
    /* PACK: for strips of chains that have products, as in strip_panels.h. */
    weft_status *(*share)(weft_bound_variant *bound, size_t first, weft_strips **strips);
    void (*fill)(const weft_bound_step *bound_step, const weft_gemm_call *call, const void *b, void *panels);
} weft_step_methods;

/* Steps of chains that run strip by strip (chain.h, strips.c): of a variant that has chains, for the same reason. */
typedef struct weft_chain_methods {
    weft_status *(*bind)(weft_bound_variant *bound, size_t number);
    bool (*tighten)(weft_bound_step *bound_step);
    /* The bytes of the largest block of bound->blocks that a thread acquires for products of the steps from `number` on
     * that have strips. */
    size_t (*block_bytes)(const weft_bound_variant *bound, size_t number);
    /* Runs these steps on all threads. `times`, if not NULL, gets the ns of each step, those of threads added up.
     * CANCELLED, OUT_OF_MEMORY. */
    weft_status *(*run)(weft_frame *frame, size_t number, const volatile bool *cancelled, atomic_llong *times);
} weft_chain_methods;

extern const weft_chain_methods weft_step_chains;
extern const weft_step_methods weft_step_kernel, weft_step_product, weft_step_pack, weft_step_sort, weft_step_host,
    weft_step_region;
#define WEFT_STEP_KINDS (WEFT_STEP_REGION + 1)

/* The DATA_ERROR of a kernel. */
weft_status *weft_kernel_data_error(const weft_bound_variant *bound, const weft_step *step,
                                    const weft_error_slot *error) WEFT_MUST_USE;

/* Gives a new variant the methods of all kinds, and what computes its products and sorts in this process. */
void weft_steps_resolve(weft_variant *variant, weft_product_policy policy);
/* WEFT_INTERNAL when a step or buffer of a new variant names what does not exist. */
weft_status *weft_steps_check(const weft_variant *variant, const weft_program *program) WEFT_MUST_USE;
/* Fills bound->steps and bound->views. */
weft_status *weft_steps_bind(weft_bound_variant *bound) WEFT_MUST_USE;
/* Has all steps take the least scratch, whatever the size of the pool; whether that changes anything. */
bool weft_steps_tighten(weft_bound_variant *bound);
/* The bytes of the largest block of bound->blocks that a thread acquires for the steps, and it has one at a time; 0:
 * none. Not of steps that run on a device, or of host steps. */
size_t weft_steps_block_bytes(const weft_bound_variant *bound);
/* Of step `number` and all that belong to it. */
weft_step_cost weft_steps_cost(const weft_bound_variant *bound, size_t number);
/* Runs `count` steps from number `first` on, in order; DATA_ERROR, CANCELLED, or what a host step returns. `cancelled`
 * may be NULL. */
weft_status *weft_steps_run(weft_frame *frame, size_t first, size_t count,
                            const volatile bool *cancelled) WEFT_MUST_USE;
#endif
