/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_ITEMS_H
#define WEFT_RUNTIME_BASE_ITEMS_H
#include <stddef.h>

/* As qsort, in place: it needs no memory, which that of the C library may. Equal items come out in any order. */
void weft_items_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
#endif
