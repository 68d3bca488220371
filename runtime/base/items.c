/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/items.h"

/* A heap, the largest item first: item `i` is at least as large as items 2 i + 1 and 2 i + 2. */
typedef struct heap {
    char *items;
    size_t count, size;
    int (*compare)(const void *, const void *);
} heap;

static char *at(const heap *h, size_t number)
{
    return h->items + number * h->size;
}

static void swap(const heap *h, size_t a, size_t b)
{
    char *x = at(h, a), *y = at(h, b);
    for (size_t i = 0; i < h->size; i++) {
        char byte = x[i];
        x[i] = y[i];
        y[i] = byte;
    }
}

static void sink(const heap *h, size_t number)
{
    for (size_t below; (below = 2 * number + 1) < h->count; number = below) {
        if (below + 1 < h->count && h->compare(at(h, below), at(h, below + 1)) < 0) below++;
        if (h->compare(at(h, number), at(h, below)) >= 0) return;
        swap(h, number, below);
    }
}

void weft_items_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    heap h = {items, count, size, compare};
    for (size_t i = count / 2; i-- > 0;) sink(&h, i);
    while (h.count > 1) {
        swap(&h, 0, --h.count);
        sink(&h, 0);
    }
}
