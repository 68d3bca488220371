/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_QUEUES_H
#define WEFT_RUNTIME_STEP_QUEUES_H
/* Queues of drivers, for runs to have one each; kept until the executor ends. Any thread may use it. */
#include <weft/runtime.h>

typedef struct weft_queues weft_queues;

weft_status *weft_queues_create(const weft_allocator *allocator, weft_queues **out_queues) WEFT_MUST_USE;
/* Every queue has been released. NULL is fine. */
void weft_queues_destroy(weft_queues *queues);

/* One that no other run has. */
weft_status *weft_queues_acquire(weft_queues *queues, const weft_runtime *runtime,
                                 weft_driver_queue **out_queue) WEFT_MUST_USE;
/* NULL is fine. */
void weft_queues_release(weft_queues *queues, const weft_runtime *runtime, weft_driver_queue *queue);
#endif
