/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_ARRAY_H
#define WEFT_RUNTIME_DATA_ARRAY_H
#include <weft/runtime.h>

/* Says whose memory that of a new array is: arrays are made on device 0 of the CPU. */
void weft_array_set_runtime(weft_array *array, const weft_runtime *runtime);

/* Has an array that wraps memory wrap other memory; errors are of function `where`, as of weft_array_wrap. */
weft_status *weft_array_move(weft_array *array, const char *where, void *data) WEFT_MUST_USE;

/* Bytes that the elements lie in, from the data pointer on: [low, high), both 0 where there are none. */
void weft_array_span(const weft_array *array, int64_t *out_low, int64_t *out_high);

/* NULL where each element has a place of its own; else what is to be said of the stride of `*out_axis`: "addresses
 * elements twice", or "may address elements twice" of rare layouts, of which it would take long to know. */
const char *weft_array_find_repeat(const weft_array *array, size_t *out_axis);

/* weft_array_copy by a queue of the runtime, some time after, where one driver can do it and nothing overlaps; else
 * `*out_queued` is false and nothing was done. */
weft_status *weft_array_copy_queued(weft_array *destination, const weft_array *source, const weft_runtime *runtime,
                                    weft_driver_queue *queue, bool *out_queued) WEFT_MUST_USE;

/*
 * Copies the elements of `array`, or of memory laid out like it, from `from` to `to`, which is memory laid out like it
 * too; both point to the first element and do not overlap. What lies between the elements is neither read nor written.
 */
void weft_array_copy_elements(const weft_array *array, void *to, const void *from);
#endif
