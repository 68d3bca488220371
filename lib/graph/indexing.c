/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/indexing.h"
#include <string.h>

size_t weft_indexing_fill(size_t rank, weft_ints axes, weft_ints batch, size_t index_rank, weft_indexed_axis *out_axes)
{
    size_t count = 0, added = index_rank - batch.count;
    int32_t index = 0;
    for (size_t axis = 0; axis < rank; axis++) {
        bool lowest = axis == (size_t)axes.items[0];
        for (size_t i = 0; lowest && i < added; i++) out_axes[count++] = (weft_indexed_axis){-1, index++};
        if (weft_ints_contain(axes, axis)) continue;
        out_axes[count++] = (weft_indexed_axis){(int32_t)axis, weft_ints_contain(batch, axis) ? index++ : -1};
    }
    return count;
}

uint32_t weft_indexing_first(weft_op_id op)
{
    switch (op) {
    case WEFT_OP_gather:
    case WEFT_OP_dynamic_slice: return 1;
    case WEFT_OP_scatter:
    case WEFT_OP_dynamic_update_slice: return 2;
    default: return 0;
    }
}

bool weft_indexing_updates(weft_op_id op)
{
    return weft_indexing_first(op) == 2;
}

bool weft_indexing_is_bound(const weft_node *node)
{
    return node->name != NULL && strcmp(node->name, WEFT_BOUND_OP) == 0;
}

static const struct {
    const char *name;
    weft_op_id op;
} modes[WEFT_SCATTER_MODE_COUNT] = {
    [WEFT_SCATTER_SET] = {"set", WEFT_OP_COUNT}, [WEFT_SCATTER_ADD] = {"add", WEFT_OP_add},
    [WEFT_SCATTER_MUL] = {"mul", WEFT_OP_mul},   [WEFT_SCATTER_MAX] = {"max", WEFT_OP_max},
    [WEFT_SCATTER_MIN] = {"min", WEFT_OP_min},
};

const char *weft_scatter_mode_name(size_t mode)
{
    return mode < WEFT_SCATTER_MODE_COUNT ? modes[mode].name : NULL;
}

bool weft_scatter_mode_find(const char *name, weft_op_id *out_op)
{
    for (size_t i = 0; i < WEFT_SCATTER_MODE_COUNT; i++) {
        if (strcmp(modes[i].name, name) != 0) continue;
        *out_op = modes[i].op;
        return true;
    }
    return false;
}

bool weft_scatter_op_takes(weft_op_id op, weft_dtype dtype)
{
    return op == WEFT_OP_COUNT || (weft_op_table()[op].dtypes >> dtype & 1) != 0;
}
