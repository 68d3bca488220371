/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode: from the outputs back, node by node. */
#include "lib/grad/sweep.h"
#include "lib/trace/trace.h"

static weft_status *run(weft_sweep *sweep, weft_tensors cotangents, const weft_tensor *sums);

static weft_contribution **uses_of(const weft_sweep_level *level, weft_tensor tensor)
{
    return &level->uses[weft_sweep_value(level, (weft_value){tensor.node, tensor.output})];
}

static weft_status *contribute(weft_sweep *sweep, const weft_sweep_level *level, weft_tensor use, weft_tensor tensor)
{
    if (tensor.graph == NULL) return NULL;
    weft_contribution **uses = uses_of(level, use);
    weft_contribution *made = weft_sweep_allocate(sweep, 1, sizeof *made);
    if (made == NULL) return weft_status_out_of_memory();
    *made = (weft_contribution){tensor, *uses};
    *uses = made;
    return NULL;
}

/* ---- a node ---- */

/* The cotangents of its outputs are complete now. */
static weft_status *sum_outputs(weft_sweep *sweep, const weft_sweep_level *level, uint32_t number)
{
    for (size_t value = level->first[number]; value < level->first[number + 1]; value++)
        WEFT_TRY(weft_gradient_sum(sweep, level->uses[value], &level->values[value]));
    return NULL;
}

/* The cotangents of the outputs that go on. False if there are none, or if other outputs of the same composed function
 * are still to be visited: then it is the last of them that goes on. */
static bool fill_given(const weft_sweep_level *level, const weft_sweep_site *site, weft_tensor *given)
{
    bool any = false, waits = false;
    for (size_t i = 0; i < site->context.outputs.count; i++) {
        weft_tensor output = site->context.outputs.items[i];
        size_t value = weft_sweep_value(level, (weft_value){output.node, output.output});
        if (!level->held[value]) given[i] = level->values[value];
        any = any || given[i].graph != NULL;
        waits = waits || output.node < site->node;
    }
    return any && !waits;
}

static bool fill_needs(const weft_sweep_level *level, const weft_sweep_site *site, bool *needs)
{
    bool any = false;
    for (size_t i = 0; i < site->context.inputs.count; i++) {
        weft_tensor input = site->context.inputs.items[i];
        needs[i] =
            input.graph != NULL && level->active[weft_sweep_value(level, (weft_value){input.node, input.output})];
        any = any || needs[i];
    }
    return any;
}

/* What the uses of `values` in another sweep, which is done, add to `inputs`. */
static weft_status *take_over(weft_sweep *sweep, const weft_sweep_level *level, weft_tensors inputs,
                              const weft_sweep *done, weft_tensors values)
{
    for (size_t i = 0; i < inputs.count; i++) {
        size_t count = 0, at;
        const weft_contribution *uses = weft_sweep_uses(done, values.items[i]);
        for (const weft_contribution *use = uses; use != NULL; use = use->next) count++;
        weft_tensor *tensors = weft_sweep_allocate(sweep, count, sizeof *tensors);
        if (tensors == NULL) return weft_status_out_of_memory();
        for (at = 0; uses != NULL; uses = uses->next) tensors[at++] = uses->tensor;
        while (at-- > 0) WEFT_TRY(contribute(sweep, level, inputs.items[i], tensors[at]));
    }
    return NULL;
}

/* Each use inside counts as one: the order of sums is that without a checkpoint. */
static weft_status *pull_checkpoint(weft_sweep *sweep, const weft_sweep_level *level, const weft_sweep_site *site)
{
    weft_sweep inner;
    weft_tensors results, inputs;
    WEFT_TRY(weft_gradient_open_checkpoint(&site->context, &sweep->arena, &results, &inputs));
    if (sweep->root->error != NULL) return NULL;
    weft_status *status = weft_sweep_begin(&inner, results, inputs);
    if (status == NULL) status = run(&inner, site->context.given, NULL);
    if (status == NULL) status = take_over(sweep, level, site->context.inputs, &inner, inputs);
    weft_sweep_finish(&inner);
    return status;
}

static weft_status *sum_inputs(weft_sweep *sweep, const weft_sweep_level *level, const weft_sweep_site *site,
                               weft_gradient_sums *out_sums)
{
    size_t count = site->context.inputs.count;
    weft_tensor *values = weft_sweep_allocate(sweep, count, sizeof *values);
    out_sums->values = values;
    out_sums->continued = weft_sweep_allocate(sweep, count, sizeof *out_sums->continued);
    if (values == NULL || out_sums->continued == NULL) return weft_status_out_of_memory();
    bool wanted = weft_op_id_of(site->context.op) == WEFT_OP_fold ||
                  weft_composed_id_of(site->context.op) == WEFT_COMPOSED_fold_with_snapshots;
    for (size_t i = 0; i < count && wanted; i++)
        if (site->context.needs[i])
            WEFT_TRY(weft_gradient_sum(sweep, *uses_of(level, site->context.inputs.items[i]), &values[i]));
    return NULL;
}

static weft_status *apply_rule(weft_sweep *sweep, const weft_sweep_level *level, weft_sweep_site *site)
{
    weft_tensors inputs = site->context.inputs;
    weft_gradient_sums sums;
    weft_tensor *values = weft_sweep_allocate(sweep, inputs.count, sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    WEFT_TRY(sum_inputs(sweep, level, site, &sums));
    site->context.host = &sums;
    WEFT_TRY(weft_sweep_apply(sweep, site, true, inputs, values));
    for (size_t i = inputs.count; i-- > 0;) {
        if (sums.continued[i]) *uses_of(level, inputs.items[i]) = NULL;
        WEFT_TRY(contribute(sweep, level, inputs.items[i], values[i]));
    }
    return NULL;
}

static weft_status *apply(weft_sweep *sweep, const weft_sweep_level *level, weft_sweep_site *site)
{
    weft_tensor *given = weft_sweep_allocate(sweep, site->context.outputs.count, sizeof *given);
    bool *needs = weft_sweep_allocate(sweep, site->context.inputs.count, sizeof *needs);
    if (given == NULL || needs == NULL) return weft_status_out_of_memory();
    if (!fill_given(level, site, given) || !fill_needs(level, site, needs)) return NULL;
    site->context.given = (weft_tensors){site->context.outputs.count, given};
    site->context.needs = needs;
    return site->is_checkpoint ? pull_checkpoint(sweep, level, site) : apply_rule(sweep, level, site);
}

static weft_status *visit(weft_sweep *sweep, const weft_sweep_level *level, uint32_t number)
{
    weft_sweep_site site;
    bool any = weft_graph_node(level->graph, number)->composed != NULL;
    for (size_t value = level->first[number]; value < level->first[number + 1]; value++)
        any = any || level->uses[value] != NULL;
    if (!any) return NULL;
    WEFT_TRY(sum_outputs(sweep, level, number));
    WEFT_TRY(weft_sweep_site_of(sweep, level, number, true, &site));
    return apply(sweep, level, &site);
}

/* ---- graphs ---- */

/* What the body captured passes on to the graph around it. */
static weft_status *leave(weft_sweep *sweep, const weft_sweep_level *level)
{
    const weft_captures *captures = level->graph->captures;
    for (const weft_capture *at = captures == NULL ? NULL : captures->first; at != NULL; at = at->next) {
        weft_tensor inner = at->inner[level->graph->part];
        if (inner.graph == NULL || inner.node >= level->node_count || at->outer.node >= level->outer->node_count)
            continue;
        WEFT_TRY(contribute(sweep, level->outer, at->outer, level->values[level->first[inner.node]]));
    }
    return NULL;
}

static weft_status *run(weft_sweep *sweep, weft_tensors cotangents, const weft_tensor *sums)
{
    for (size_t i = 0; sums != NULL && i < sweep->wrt.count; i++)
        WEFT_TRY(contribute(sweep, weft_sweep_level_of(sweep, sweep->wrt.items[i]), sweep->wrt.items[i], sums[i]));
    for (size_t i = sweep->outputs.count; i-- > 0;)
        WEFT_TRY(contribute(sweep, sweep->inner, sweep->outputs.items[i], cotangents.items[i]));
    for (const weft_sweep_level *level = sweep->inner; level != NULL; level = level->outer) {
        for (uint32_t n = level->node_count; n-- > 0 && sweep->root->error == NULL;) WEFT_TRY(visit(sweep, level, n));
        if (level->outer != NULL) WEFT_TRY(leave(sweep, level));
    }
    return NULL;
}

weft_status *weft_gradient_pull(weft_tensors outputs, weft_tensors cotangents, weft_tensors wrt,
                                const weft_tensor *sums, weft_tensor *out_cotangents)
{
    weft_sweep sweep;
    weft_status *status = weft_sweep_begin(&sweep, outputs, wrt);
    if (status == NULL) status = run(&sweep, cotangents, sums);
    for (size_t i = 0; i < wrt.count && status == NULL; i++) out_cotangents[i] = *weft_sweep_slot(&sweep, wrt.items[i]);
    weft_sweep_finish(&sweep);
    return status;
}
