/* SPDX-License-Identifier: Apache-2.0 */
/* Forward mode: tangents of what the outputs need, node by node. */
#include "lib/grad/sweep.h"
#include "lib/trace/trace.h"

/* Which nodes of a level the outputs need, by way of the functions that are composed of them. */
typedef struct push_level {
    const weft_sweep_level *at;
    bool *needed; /* by node */
    struct push_level *outer;
} push_level;

typedef struct push {
    weft_sweep sweep;
    push_level *inner;
} push;

/* ---- what is needed ---- */

static weft_status *add_levels(push *p)
{
    push_level **next = &p->inner;
    for (const weft_sweep_level *at = p->sweep.inner; at != NULL; at = at->outer) {
        push_level *level = weft_sweep_allocate(&p->sweep, 1, sizeof *level);
        if (level == NULL) return weft_status_out_of_memory();
        level->at = at;
        level->needed = weft_sweep_allocate(&p->sweep, at->node_count, sizeof *level->needed);
        if (level->needed == NULL) return weft_status_out_of_memory();
        *next = level;
        next = &level->outer;
    }
    return NULL;
}

static bool is_active(const weft_sweep_level *level, weft_tensor tensor)
{
    return tensor.graph != NULL && level->active[weft_sweep_value(level, (weft_value){tensor.node, tensor.output})];
}

static void mark_captures(const push_level *level)
{
    const weft_sweep_level *at = level->at;
    const weft_captures *captures = at->graph->captures;
    for (const weft_capture *one = captures == NULL ? NULL : captures->first; one != NULL; one = one->next) {
        weft_tensor inner = one->inner[at->graph->part];
        bool known = inner.graph != NULL && inner.node < at->node_count && one->outer.node < at->outer->node_count;
        if (known) level->outer->needed[one->outer.node] |= level->needed[inner.node];
    }
}

static weft_status *mark(push *p, push_level *level)
{
    for (uint32_t n = level->at->node_count; n-- > 0;) {
        weft_sweep_site site;
        if (!level->needed[n]) continue;
        WEFT_TRY(weft_sweep_site_of(&p->sweep, level->at, n, false, &site));
        for (size_t i = 0; i < site.context.inputs.count; i++) {
            weft_tensor input = site.context.inputs.items[i];
            if (is_active(level->at, input)) level->needed[input.node] = true;
        }
    }
    if (level->outer != NULL) mark_captures(level);
    return level->outer == NULL ? NULL : mark(p, level->outer);
}

/* ---- a node ---- */

static bool fill_given(const weft_sweep_level *level, const weft_sweep_site *site, weft_tensor *given)
{
    bool any = false;
    for (size_t i = 0; i < site->context.inputs.count; i++) {
        weft_tensor input = site->context.inputs.items[i];
        if (input.graph != NULL)
            given[i] = level->values[weft_sweep_value(level, (weft_value){input.node, input.output})];
        any = any || given[i].graph != NULL;
    }
    return any;
}

static weft_status *apply(push *p, const weft_sweep_level *level, weft_sweep_site *site)
{
    weft_sweep *sweep = &p->sweep;
    size_t input_count = site->context.inputs.count, output_count = site->context.outputs.count;
    weft_tensor *given = weft_sweep_allocate(sweep, input_count, sizeof *given);
    weft_tensor *values = weft_sweep_allocate(sweep, output_count, sizeof *values);
    if (given == NULL || values == NULL) return weft_status_out_of_memory();
    if (!fill_given(level, site, given)) return NULL;
    site->context.given = (weft_tensors){input_count, given};
    WEFT_TRY(weft_sweep_apply(sweep, site, false, site->context.outputs, values));
    for (size_t i = 0; i < output_count; i++) {
        weft_tensor output = site->context.outputs.items[i];
        size_t value = weft_sweep_value(level, (weft_value){output.node, output.output});
        if (!level->held[value]) level->values[value] = values[i];
    }
    return NULL;
}

static weft_status *visit(push *p, const push_level *level, uint32_t number)
{
    weft_sweep_site site;
    const weft_sweep_level *at = level->at;
    bool any = false, done = false;
    for (size_t value = at->first[number]; value < at->first[number + 1]; value++) {
        any = any || (at->active[value] && !at->held[value]);
        done = done || (!at->held[value] && at->values[value].graph != NULL);
    }
    if (!any || done || !level->needed[number]) return NULL;
    WEFT_TRY(weft_sweep_site_of(&p->sweep, at, number, false, &site));
    return apply(p, at, &site);
}

/* ---- graphs ---- */

/* What the body captures takes the tangents of the graph around it. */
static void enter(const weft_sweep_level *level)
{
    const weft_captures *captures = level->graph->captures;
    for (const weft_capture *at = captures == NULL ? NULL : captures->first; at != NULL; at = at->next) {
        weft_tensor inner = at->inner[level->graph->part];
        if (inner.graph == NULL || inner.node >= level->node_count || at->outer.node >= level->outer->node_count)
            continue;
        const weft_value outer = {at->outer.node, at->outer.output};
        level->values[level->first[inner.node]] = level->outer->values[weft_sweep_value(level->outer, outer)];
    }
}

static weft_status *sweep_level(push *p, const push_level *level)
{
    if (level == NULL) return NULL;
    WEFT_TRY(sweep_level(p, level->outer));
    if (level->outer != NULL) enter(level->at);
    for (uint32_t n = 0; n < level->at->node_count && p->sweep.root->error == NULL; n++) WEFT_TRY(visit(p, level, n));
    return NULL;
}

static weft_status *run(push *p, weft_tensors tangents)
{
    for (size_t i = 0; i < p->sweep.wrt.count; i++)
        *weft_sweep_slot(&p->sweep, p->sweep.wrt.items[i]) = tangents.items[i];
    WEFT_TRY(add_levels(p));
    for (size_t i = 0; i < p->sweep.outputs.count; i++) p->inner->needed[p->sweep.outputs.items[i].node] = true;
    WEFT_TRY(mark(p, p->inner));
    return sweep_level(p, p->inner);
}

weft_status *weft_gradient_push(weft_tensors outputs, weft_tensors wrt, weft_tensors tangents,
                                weft_tensor *out_tangents)
{
    push p = {.inner = NULL};
    weft_status *status = weft_sweep_begin(&p.sweep, outputs, wrt);
    if (status == NULL) status = run(&p, tangents);
    for (size_t i = 0; i < outputs.count && status == NULL; i++)
        out_tangents[i] = *weft_sweep_slot(&p.sweep, p.sweep.outputs.items[i]);
    weft_sweep_finish(&p.sweep);
    return status;
}
