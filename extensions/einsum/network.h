/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_NETWORK_H
#define EINSUM_NETWORK_H
/* An expression over operands of known ranks: every axis has a label, numbered from 0 as they first appear. */
#include "syntax.h"

typedef struct einsum_labels {
    size_t count;
    uint32_t *items;
} einsum_labels;

/* The position of `label`; labels.count when it is not there. */
size_t einsum_labels_find(einsum_labels labels, uint32_t label);

static inline bool einsum_labels_have(einsum_labels labels, uint32_t label)
{
    return einsum_labels_find(labels, label) < labels.count;
}

/* Those of `labels` that `others` does not have, in their order; items NULL when out of memory. */
einsum_labels einsum_labels_without(einsum_arena *arena, einsum_labels labels, einsum_labels others);

typedef struct einsum_network {
    bool numbered;
    size_t operand_count;
    einsum_labels *operands; /* one label for each axis */
    einsum_labels output;
    size_t label_count;
    int64_t *names; /* by label: code point or number, or -1 - i for axis i of the ellipsis */
} einsum_network;

/* Numbers the labels of `syntax` for operands of `ranks`, expanding ellipses. */
weft_status *einsum_network_create(einsum_arena *arena, const einsum_syntax *syntax, size_t operand_count,
                                   const size_t *ranks, einsum_network *out_network) WEFT_MUST_USE;

/*
 * The extent of each label, by numpy's rule: an extent of one (statically) broadcasts across operands, within an
 * operand all axes of a label agree. What cannot be decided is required of `graph`, which keeps its own error when that
 * can never hold; NULL: nothing is required.
 */
weft_status *einsum_network_extents(einsum_arena *arena, const einsum_network *network, const weft_shape *shapes,
                                    weft_graph *graph, weft_extent *out_extents) WEFT_MUST_USE;

/* Whether an axis of `operand` with `label` is statically one, so that the operand does not depend on the label. */
bool einsum_network_is_one(const einsum_network *network, size_t operand, uint32_t label, weft_shape shape);

bool einsum_extent_is_one(weft_extent extent);
#endif
