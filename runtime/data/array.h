/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_ARRAY_H
#define WEFT_RUNTIME_DATA_ARRAY_H
#include <weft/array.h>

/* Says where the memory of a new array is: arrays are made on device 0 of the CPU. */
void weft_array_set_device(weft_array *array, weft_device device);

/* Bytes that the elements lie in, from the data pointer on: [low, high), both 0 where there are none. */
void weft_array_span(const weft_array *array, int64_t *out_low, int64_t *out_high);

/* Whether elements may share memory, and an axis whose stride is too short. Refuses a few odd layouts that would be
 * well. */
bool weft_array_repeats(const weft_array *array, size_t *out_axis);

/*
 * Copies the elements of `array`, or of memory laid out like it, from `from` to `to`, which is memory laid out like it
 * too; both point to the first element and do not overlap. What lies between the elements is neither read nor written.
 */
void weft_array_copy_elements(const weft_array *array, void *to, const void *from);
#endif
