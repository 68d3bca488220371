/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"
#include <string.h>

static bool comes_before(const einsum_candidate *x, const einsum_candidate *y)
{
    if (x->score != y->score) return x->score < y->score;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static bool reserve(einsum_heap *heap)
{
    if (heap->size < heap->capacity) return true;
    size_t capacity = 2 * heap->capacity + 64;
    einsum_candidate *items = einsum_arena_allocate(heap->arena, capacity, sizeof *items);
    if (items == NULL) return false;
    if (heap->size > 0) memcpy(items, heap->items, heap->size * sizeof *items);
    heap->items = items;
    heap->capacity = capacity;
    return true;
}

bool einsum_heap_push(einsum_heap *heap, einsum_candidate added)
{
    if (!reserve(heap)) return false;
    size_t at = heap->size++;
    for (; at > 0 && comes_before(&added, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = added;
    return true;
}

einsum_candidate einsum_heap_pop(einsum_heap *heap)
{
    einsum_candidate top = heap->items[0], last = heap->items[--heap->size];
    size_t at = 0;
    for (size_t child = 1; child < heap->size; child = 2 * at + 1) {
        if (child + 1 < heap->size && comes_before(&heap->items[child + 1], &heap->items[child])) child++;
        if (!comes_before(&heap->items[child], &last)) break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return top;
}
