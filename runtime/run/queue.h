/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_QUEUE_H
#define WEFT_RUNTIME_RUN_QUEUE_H
/* Asynchronous runs: which wait for which, and what a run holds until its end. */
#include "runtime/run/variant_entry.h"

/* Whether weft_queue_run is for it. */
static inline bool weft_run_is_queued(const weft_run *run)
{
    return run->queue != NULL || run->wait_count > 0 || run->signal != NULL;
}

/* weft_executor_run for such a run. */
weft_status *weft_queue_run(weft_executor *executor, weft_program *program, const weft_run *run) WEFT_MUST_USE;

/* Of the queue of an event that a run is to end with. */
weft_driver_queue *weft_event_queue(const weft_event *event);
/* The steps were given to the queue: the event comes after them. */
weft_status *weft_event_record(weft_event *event, weft_frame *frame) WEFT_MUST_USE;
/* The run goes on: takes the frame, retains arrays and program until it is done. */
void weft_event_keep(weft_event *event, const weft_call *call, weft_frame *frame);
#endif
