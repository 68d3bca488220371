/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_RECORD_H
#define WEFT_LIB_EAGER_RECORD_H
/* Records of what values depend on: walked through, and traced again. */
#include "lib/eager/eager.h"

/*
 * A walk from results to the leaves that `is_leaf` names. What it found is in eager->record, until the next one: nodes
 * with operands first, and as words, of each node the address of its entry and a code for each operand. Arrays and
 * nodes that it met have its epoch; `inside` counts the uses that it met.
 */

/* What an operand is: the number of a leaf, or result `output` of node `node`. */
enum { WEFT_EAGER_LEAF = 1 };
static inline uint64_t weft_eager_code_of_leaf(size_t number)
{
    return (uint64_t)number << 1 | WEFT_EAGER_LEAF;
}
static inline uint64_t weft_eager_code_of_result(size_t node, size_t output)
{
    return (uint64_t)node << 32 | (uint64_t)output << 1;
}

void weft_eager_walk_begin(weft_eager *eager, bool (*is_leaf)(const weft_eager_array *array));
/* Adds all that `array` depends on. INVALID_ARGUMENT where an operand has neither value nor record. */
weft_status *weft_eager_walk_to(weft_eager *eager, weft_eager_array *array) WEFT_MUST_USE;
/* Appends the code of an array that was walked to, and a word of the caller's. */
weft_status *weft_eager_walk_code(weft_eager *eager, weft_eager_array *array) WEFT_MUST_USE;
weft_status *weft_eager_walk_word(weft_eager *eager, uint64_t word) WEFT_MUST_USE;

/* Words before those of the calls that a gradient has as options. */
enum { WEFT_EAGER_GRADIENT_HEADER = 2 };

/* Calls to trace into a graph: words of a record, and the codes of results that are wanted. */
typedef struct weft_eager_replay {
    size_t node_count;
    const uint64_t *words;
    const weft_tensor *leaves; /* as many as the codes have */
    size_t wanted_count;
    const uint64_t *wanted;
    bool names_calls; /* nodes that have no location get one that stands for their call */
} weft_eager_replay;
/* The error, with the places of the calls of the last walk for the locations that stand for them. Takes `status`. */
weft_status *weft_eager_name_calls(const weft_eager *eager, weft_status *status) WEFT_MUST_USE;
/* What comes after the words of its calls. */
const uint64_t *weft_eager_replay_end(const weft_eager_replay *replay);
weft_status *weft_eager_replay_run(const weft_allocator *allocator, const weft_eager_replay *replay, weft_graph *graph,
                                   weft_tensor *out_wanted) WEFT_MUST_USE;
#endif
