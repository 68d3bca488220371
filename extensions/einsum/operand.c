/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
#include "operand.h"
#include <string.h>
#include <weft/weft.h>

static weft_tensor squeeze(const einsum_expression *x, size_t operand, weft_tensor tensor, einsum_labels sliced,
                           einsum_labels *labels)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(tensor);
    size_t rank = 0;
    for (size_t i = 0; i < shape.rank; i++) {
        uint32_t label = labels->items[i];
        if (einsum_labels_have(sliced, label)) continue;
        if (einsum_network_is_one(&x->network, operand, label, x->shapes[operand])) continue;
        extents[rank] = shape.extents[i];
        labels->items[rank++] = label;
    }
    labels->count = rank;
    return rank == shape.rank ? tensor : weft_reshape(tensor, (weft_shape){rank, extents});
}

static weft_tensor take_diagonals(weft_tensor x, einsum_labels *labels)
{
    for (size_t i = 1; i < labels->count;) {
        size_t first = einsum_labels_find(*labels, labels->items[i]);
        if (first == i) {
            i++;
            continue;
        }
        x = weft_extract_diagonal(x, (int64_t)first, (int64_t)i);
        labels->count--;
        memmove(labels->items + i, labels->items + i + 1, (labels->count - i) * sizeof *labels->items);
    }
    return x;
}

weft_status *einsum_operand_prepare(einsum_expression *x, size_t i, weft_tensor tensor, einsum_labels sliced,
                                    einsum_value *out_value)
{
    einsum_labels labels = einsum_labels_without(&x->arena, x->network.operands[i], (einsum_labels){0, NULL});
    einsum_labels kept = einsum_labels_without(&x->arena, x->problem.operands[i], sliced);
    if (labels.items == NULL || kept.items == NULL) return weft_status_out_of_memory();
    tensor = take_diagonals(squeeze(x, i, tensor, sliced, &labels), &labels);
    *out_value = (einsum_value){einsum_value_sum((einsum_value){tensor, labels}, kept), kept};
    return NULL;
}
