/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that are taken where the positions of a sort say, which nothing else reads, are the sorted elements: those
 * of top_k without its positions. A sort need not carry these along, and nothing is gathered.
 *
 * requires: movement has one form (canonicalize)
 * maintains: the bits of every output, guards
 * breaks: nothing
 */
#include "lib/pass/pass.h"
#include "lib/pass/uses.h"

/* Whether the gather takes elements along `axis`, beside one another along all others. */
static bool takes_along(const weft_node *gather, int64_t axis, size_t rank)
{
    weft_ints axes = gather->attrs[0].ints, batch = gather->attrs[1].ints;
    return axes.count == 1 && axes.items[0] == axis && batch.count + 1 == rank;
}

/* Whether a slice leaves all axes but `axis` as they are. */
static bool slices_along(const weft_node *slice, int64_t axis)
{
    weft_shape starts = slice->attrs[0].extents;
    for (size_t i = 0; i < starts.rank; i++)
        if ((int64_t)i != axis && !(weft_extent_is(starts.extents[i], 0) && slice->attrs[2].ints.items[i] == 1))
            return false;
    return true;
}

/* The node that makes `value`, if nothing else reads it. */
static const weft_node *read_once(const weft_rewrite_site *site, weft_value value)
{
    bool is_once = weft_usages_is_read_once(site->context, site->graph, value.node);
    return is_once ? weft_graph_node(site->graph, value.node) : NULL;
}

static weft_tensor match(const weft_rewrite_site *site)
{
    weft_value x = site->node->inputs[0];
    const weft_node *sort = read_once(site, site->node->inputs[1]), *slice = NULL;
    if (sort != NULL && weft_op_id_of(sort->op) == WEFT_OP_slice) {
        slice = sort;
        sort = read_once(site, slice->inputs[0]);
    }
    if (sort == NULL || weft_op_id_of(sort->op) != WEFT_OP_argsort || sort->inputs[0].node != x.node ||
        sort->inputs[0].output != x.output)
        return weft_site_leave();
    weft_tensor operand = site->inputs.items[0];
    int64_t axis = sort->attrs[0].integer;
    if (!takes_along(site->node, axis, weft_tensor_rank(operand)) || (slice != NULL && !slices_along(slice, axis)))
        return weft_site_leave();
    const weft_attr *part = slice == NULL ? NULL : slice->attrs;
    weft_tensor sorted = weft_sort(operand, axis, sort->attrs[1].integer != 0);
    return part == NULL ? sorted : weft_slice(sorted, part[0].extents, part[1].extents, part[2].ints);
}

static weft_status *match_sort(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    if (weft_op_id_of(site->node->op) != WEFT_OP_gather || site->inputs.count != 2) return NULL;
    weft_tensor value = match(site);
    if (!weft_tensor_is_valid(value)) return NULL;
    out_values[0] = value;
    *out_replaced = true;
    return NULL;
}

weft_status *weft_pass_match_sort(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    weft_usages usages;
    weft_status *status = weft_usages_fill(&usages, graph, count, outputs);
    if (status == NULL) status = weft_rewrite_run(graph, count, outputs, match_sort, &usages);
    weft_usages_finish(&usages);
    return status;
}
