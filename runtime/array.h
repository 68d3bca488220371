/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ARRAY_H
#define WEFT_RUNTIME_ARRAY_H
#include <weft/array.h>

/*
 * Copies the elements of `array`, or of memory laid out like it, from `from` to `to`, which is memory laid out like it
 * too; both point to the first element and do not overlap. What lies between the elements is neither read nor written.
 */
void weft_array_copy_elements(const weft_array *array, void *to, const void *from);
#endif
