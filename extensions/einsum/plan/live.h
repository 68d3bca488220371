/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_LIVE_H
#define EINSUM_PLAN_LIVE_H
/*
 * A network that is being contracted, sparse: the labels of each value as a list, and the values of each label. It
 * takes memory and time by how many labels values have, not by how many there are.
 */
#include "../plan.h"
#include "core.h"
#include "heap.h"

typedef struct einsum_held einsum_held;

/* That `value` has `label`: one of the value's array, one of the label's list. */
struct einsum_held {
    einsum_held *next;
    uint32_t value, label;
};

typedef struct einsum_live_value {
    uint32_t count;
    bool gone;   /* joined already */
    double size; /* log2 of its elements */
    einsum_held *held;
} einsum_live_value;

/* A live value that shares labels with another one. */
typedef struct einsum_near {
    uint32_t value;
    double shared; /* log2 of the elements over the labels they share */
    double summed; /* of those of them that nothing else needs */
} einsum_near;

typedef struct einsum_live {
    einsum_arena *arena;
    size_t leaf_count, label_count, value_count;
    const double *extents; /* by label: log2 */
    einsum_live_value *values;
    einsum_held **members; /* by label: who has it, the latest first; those that are gone are dropped when met */
    uint32_t *uses;        /* by label: live values that have it, and 1 if the output does */
    einsum_pair *pairs;    /* the steps so far */
    size_t near_count;     /* what einsum_live_look found */
    einsum_near *near;
    uint32_t *label_marks, *value_marks, *places, round;
} einsum_live;

/* Neither init adds leaves to the lists of members: einsum_live_enter does. `pairs` has room for all steps. */
bool einsum_live_init_core(einsum_live *live, einsum_arena *arena, const einsum_core *core, einsum_pair *pairs);
/* Leaves out labels of extent one, and those that one operand alone has. */
bool einsum_live_init_problem(einsum_live *live, einsum_arena *arena, const einsum_problem *problem,
                              einsum_pair *pairs);

void einsum_live_enter(einsum_live *live, uint32_t value);
void einsum_live_enter_leaves(einsum_live *live);

/* Contracts two live values to a new one, which is not entered yet. False when out of memory. */
bool einsum_live_join(einsum_live *live, uint32_t a, uint32_t b);

static inline uint32_t einsum_live_latest(const einsum_live *live)
{
    return (uint32_t)live->value_count - 1;
}

/* Fills `near` with the entered live values that share a label with `value`; of each label, with the `most` latest. */
void einsum_live_look(einsum_live *live, uint32_t value, uint32_t most);

/* Whether two values have the same labels. */
bool einsum_live_equal(einsum_live *live, uint32_t a, uint32_t b);

/* Joins the values of a heap, which are live and scored by their sizes, the two smallest first. */
bool einsum_live_join_heap(einsum_live *live, einsum_heap *heap);
/* The same with all live values. Both return false when out of memory. */
bool einsum_live_join_rest(einsum_live *live);
#endif
