/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_SORT_ITEMS_H
#define WEFT_RUNTIME_ENGINE_SORT_ITEMS_H
/* Stable sorting of keys one by one, where there are no vectors for it. */
#include <weft/base.h>

/* Sorts `count` items by their keys with the help of room for as many. An item is a key of `key_size` bytes, in a word
 * of 8, and where `words` is 2 a position after it; otherwise `words` is 1. Returns which of the two has them in the
 * end, or NULL when cancelled. */
uint64_t *weft_sort_items(uint64_t *items, uint64_t *other, int64_t count, size_t words, size_t key_size,
                          const volatile bool *cancelled);
#endif
