/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_DEVICE_H
#define WEFT_RUNTIME_STEP_DEVICE_H
/*
 * A run on a device: steps are given to a queue. The host waits for it where it needs a value (the predicate of a cond
 * or a while), before a step that it executes itself, now and then in long loops, and at the end.
 */
#include "runtime/data/device.h"
#include "runtime/step/frame.h"

typedef struct weft_iteration {
    int64_t parent; /* the iteration around it */
    const weft_step *region;
    int64_t number;
} weft_iteration;

typedef struct weft_device_run {
    weft_driver_queue *queue;
    bool owned; /* the queue, not the frame's */
    weft_block *error_block;
    weft_launch_error *error; /* device memory */
    weft_launch_error found;  /* what the host read of it */
    /* From number 1 on: iterations under way, and those that launches in the queue belong to. 0 stands for none. */
    weft_iteration *iterations;
    size_t iteration_count, iteration_capacity;
    int64_t iteration; /* that steps belong to now */
} weft_device_run;

/* A queue, unless the frame was given one, and room for what launches have to say. `frame` has a device_run then;
 * nothing is left behind on error. */
weft_status *weft_device_open(weft_frame *frame) WEFT_MUST_USE;
/* The queue has done all that it was given. */
void weft_device_close(weft_frame *frame);

/* Has the queue fetch what launches had to say. */
weft_status *weft_device_ask(weft_frame *frame) WEFT_MUST_USE;
/* The DATA_ERROR of the first launch that found one, once that was fetched. */
weft_status *weft_device_result(const weft_frame *frame) WEFT_MUST_USE;
/* Waits for the queue: the error of the device, or the DATA_ERROR of the first launch that found one. */
weft_status *weft_device_finish(weft_frame *frame) WEFT_MUST_USE;

/* The status of a step that the host executed, with the iterations that it is in. Takes `status`. */
weft_status *weft_device_locate(const weft_frame *frame, weft_status *status) WEFT_MUST_USE;

/* `bytes` at `from` to `to`, both of the device. */
weft_status *weft_device_move(weft_frame *frame, void *to, const void *from, size_t bytes) WEFT_MUST_USE;
weft_status *weft_device_store(weft_frame *frame, int64_t *to, int64_t value) WEFT_MUST_USE;
/* Waits. Whether the byte at `from` is not 0; errors as for weft_device_finish. */
weft_status *weft_device_test(weft_frame *frame, const void *from, bool *out_value) WEFT_MUST_USE;
/* Elements laid out like `view`, whose data pointer is not looked at. */
weft_status *weft_device_copy_view(weft_frame *frame, weft_copy_kind kind, const weft_view *view, void *to,
                                   const void *from) WEFT_MUST_USE;
weft_status *weft_device_launch(weft_frame *frame, const weft_bound_step *bound_step, const int64_t *scalars,
                                int64_t iterations) WEFT_MUST_USE;

/* A loop, the step of it, and what it is in. */
typedef struct weft_device_loop {
    const weft_step *region;
    int64_t parent;
    size_t kept;
} weft_device_loop;

/* This and weft_device_end_loop do nothing for a run on the spot. */
weft_device_loop weft_device_begin_loop(const weft_frame *frame, const weft_step *region);
/* Steps belong to iteration `number` of the loop from now on. Waits now and then: errors as for weft_device_finish. */
weft_status *weft_device_begin_iteration(weft_frame *frame, const weft_device_loop *loop, int64_t number) WEFT_MUST_USE;
void weft_device_end_loop(weft_frame *frame, const weft_device_loop *loop);
#endif
