/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_FRAME_H
#define WEFT_RUNTIME_STEP_FRAME_H
/* What one run under way writes to: pointer tables, views, arena. Kept for the next run of its binding. */
#include <stdatomic.h>
#include "runtime/step/overlap.h"

/* Whether a run may end before its last step. Once it writes over inputs that it cannot restore, it may not. */
enum { WEFT_RUN_OPEN, WEFT_RUN_CANCELLED, WEFT_RUN_COMPLETED };

struct weft_frame {
    weft_frame *next;
    weft_bound_variant *bound;
    weft_bound_variant *generic;      /* in place of which `bound` is used; NULL: none */
    struct weft_cache_handle *handle; /* on the variant, while the frame is out; run/ says when */
    struct weft_cache_handle *exact;  /* with `generic`, whose variant `handle` is on: on the one that is used */
    uint64_t hits;                    /* runs that the cache of variants has not been told of */
    char *arena;                      /* of this run, or, where it is small, the frame's own */
    const char *weights;              /* what constants are places in; NULL: they are addresses */
    const weft_profile *profile;      /* of this run; NULL: not requested */
    struct weft_device_run *device;   /* of this run; NULL: steps run on the spot */
    weft_driver_queue *queue;         /* that this run is given; NULL: one of its own, if it needs one */
    atomic_int ending;                /* WEFT_RUN_... */
    size_t depth;                     /* of the step under way, if somebody asks */
    size_t nested_bytes;              /* peak_bytes of the largest run that a step started */
    weft_block *arena_block;
    weft_array **outputs;                              /* the caller's, or new ones */
    weft_block **copies;                               /* per input: of a donated one that an output overlaps */
    void **buffers;                                    /* data of each buffer of the variant */
    void **pointers;                                   /* of each buffer of each step */
    weft_view *views;                                  /* of each buffer of each host step */
    weft_interval *output_intervals, *input_intervals; /* each array once, as they were sorted last */
};

weft_status *weft_frame_create(weft_bound_variant *bound, weft_frame **out_frame) WEFT_MUST_USE;
void weft_frame_destroy(weft_frame *frame);

/* Checks for forbidden overlaps, creates missing outputs, and sets all pointers. */
weft_status *weft_frame_open(weft_frame *frame, const weft_run *run) WEFT_MUST_USE;
/* The same where all outputs are given, with memory for temporaries: allocates nothing, and has nothing to close. */
weft_status *weft_frame_open_in(weft_frame *frame, const weft_run *run, void *arena) WEFT_MUST_USE;
/* Puts the new outputs into the list of the run, whose they are. */
void weft_frame_hand_over(weft_frame *frame, const weft_run *run);
/* Gives back what weft_frame_open took. New outputs that were not handed over are when it `succeeded`; else they are
 * released, and inputs get back what they held. */
void weft_frame_close(weft_frame *frame, const weft_run *run, bool succeeded);

/* Whether the run is cancelled: `cancelled` is set, and it is not to be completed. */
bool weft_frame_is_cancelled(weft_frame *frame, const volatile bool *cancelled);
/* From now on it is not cancelled. False where it is already. */
bool weft_frame_complete(weft_frame *frame);

/* Memory of a step for itself; NULL: it needs none. */
static inline void *weft_frame_scratch(const weft_frame *frame, const weft_bound_step *bound_step)
{
    return bound_step->scratch_bytes > 0 ? frame->arena + bound_step->scratch_offset : NULL;
}
#endif
