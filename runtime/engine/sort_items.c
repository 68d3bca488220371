/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/sort_items.h"
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/engine/sorter.h"

enum {
    INSERTION_RUN = 16,   /* elements that are sorted by insertion before merging */
    RADIX_LEAST = 96,     /* times the bytes of a key: from so many elements on, digits are faster than merging */
    WIDE_LEAST = 1 << 15, /* from so many elements on, wide digits pay for their larger table */
    NARROW_DIGIT = 8,     /* bits */
    WIDE_DIGIT = 11
};

static inline void move(uint64_t *to, const uint64_t *from, size_t words)
{
    to[0] = from[0];
    if (words == 2) to[1] = from[1];
}

static inline void insertion_sort(uint64_t *items, int64_t count, size_t words)
{
    for (int64_t i = 1; i < count; i++) {
        uint64_t item[2] = {0, 0};
        int64_t at = i;
        move(item, items + i * words, words);
        for (; at > 0 && items[(at - 1) * words] > item[0]; at--)
            move(items + at * words, items + (at - 1) * words, words);
        move(items + at * words, item, words);
    }
}

/* Merges items [0, middle) and [middle, count) into `to`. */
static inline void merge(const uint64_t *items, int64_t middle, int64_t count, uint64_t *to, size_t words)
{
    const uint64_t *left = items, *left_end = items + middle * words;
    const uint64_t *right = left_end, *end = items + count * words;
    while (left < left_end && right < end) {
        bool take_right = right[0] < left[0];
        move(to, take_right ? right : left, words);
        right += take_right ? words : 0;
        left += take_right ? 0 : words;
        to += words;
    }
    if (left < left_end) memcpy(to, left, (size_t)(left_end - left) * sizeof *left);
    if (right < end) memcpy(to, right, (size_t)(end - right) * sizeof *right);
}

static inline uint64_t *merge_sort(uint64_t *items, uint64_t *other, int64_t count, size_t words)
{
    for (int64_t first = 0; first < count; first += INSERTION_RUN) {
        int64_t run = count - first < INSERTION_RUN ? count - first : INSERTION_RUN;
        insertion_sort(items + first * words, run, words);
    }
    for (int64_t run = INSERTION_RUN; run < count; run *= 2) {
        for (int64_t first = 0; first < count; first += 2 * run) {
            int64_t rest = count - first, middle = rest < run ? rest : run;
            merge(items + first * words, middle, rest < 2 * run ? rest : 2 * run, other + first * words, words);
        }
        uint64_t *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

/* NULL when cancelled. */
static inline uint64_t *radix_sort(uint64_t *items, uint64_t *other, int64_t count, size_t words, int bits,
                                   const volatile bool *cancelled)
{
    int64_t counts[1 << WIDE_DIGIT];
    int digit = count < WIDE_LEAST ? NARROW_DIGIT : WIDE_DIGIT, values = 1 << digit;
    for (int shift = 0; shift < bits; shift += digit) {
        uint64_t mask = (uint64_t)values - 1;
        int64_t next = 0;
        memset(counts, 0, (size_t)values * sizeof *counts);
        for (int64_t i = 0; i < count; i++) counts[items[i * words] >> shift & mask]++;
        if (counts[items[0] >> shift & mask] == count) continue;
        for (int value = 0; value < values; value++) {
            int64_t first = next;
            next += counts[value];
            counts[value] = first;
        }
        for (int64_t first = 0, end; first < count; first = end) {
            if (weft_is_cancelled(cancelled)) return NULL;
            end = count - first < WEFT_SORT_CANCEL_ELEMENTS ? count : first + WEFT_SORT_CANCEL_ELEMENTS;
            for (int64_t i = first; i < end; i++)
                move(other + counts[items[i * words] >> shift & mask]++ * words, items + i * words, words);
        }
        uint64_t *sorted = other;
        other = items;
        items = sorted;
    }
    return items;
}

static inline uint64_t *sort(uint64_t *items, uint64_t *other, int64_t count, size_t words, size_t key_size,
                             const volatile bool *cancelled)
{
    if (count < (int64_t)(RADIX_LEAST * key_size)) return merge_sort(items, other, count, words);
    return radix_sort(items, other, count, words, (int)(8 * key_size), cancelled);
}

uint64_t *weft_sort_items(uint64_t *items, uint64_t *other, int64_t count, size_t words, size_t key_size,
                          const volatile bool *cancelled)
{
    if (words == 2) return sort(items, other, count, 2, key_size, cancelled);
    return sort(items, other, count, 1, key_size, cancelled);
}
