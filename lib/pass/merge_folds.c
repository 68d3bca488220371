/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that another loop repeats, and carries more along with, becomes that one. Derivatives trace such loops: one
 * that stores what it carries, one that carries tangents along.
 *
 * requires: nothing
 * maintains: the bits of the outputs, guards
 * breaks: nothing
 */
#include <string.h>
#include "lib/graph/attr.h"
#include "lib/pass/pass.h"

/* A fold of the graph, as far as it can be compared: without what its body captures and does not need. */
typedef struct fold_site {
    uint32_t number;
    size_t carried, captured;
    const weft_region *body;
    weft_value *operands;    /* captured ones that are needed */
    weft_tensor *parameters; /* of these */
} fold_site;

typedef struct fold_finder {
    weft_graph *graph;
    weft_arena arena;
    size_t count;
    fold_site *folds;
} fold_finder;

static weft_status *fill_site(fold_finder *f, uint32_t number, fold_site *out_site)
{
    const weft_node *node = weft_graph_node(f->graph, number);
    const weft_region *body = &node->attrs[1].region;
    bool *needed = weft_arena_allocate(&f->arena, body->parameters.count * sizeof *needed);
    *out_site = (fold_site){.number = number, .carried = node->output_count, .body = body};
    out_site->operands = weft_arena_allocate(&f->arena, node->input_count * sizeof *out_site->operands);
    out_site->parameters = weft_arena_allocate(&f->arena, node->input_count * sizeof *out_site->parameters);
    if (needed == NULL || out_site->operands == NULL || out_site->parameters == NULL)
        return weft_status_out_of_memory();
    WEFT_TRY(weft_graph_inline_needs(body, needed));
    for (size_t i = out_site->carried; i < node->input_count; i++) {
        if (!needed[1 + i]) continue;
        out_site->operands[out_site->captured] = node->inputs[i];
        out_site->parameters[out_site->captured++] = body->parameters.items[1 + i];
    }
    return NULL;
}

static weft_status *find_folds(fold_finder *f, const uint8_t *live)
{
    for (uint32_t n = 0; n < f->graph->node_count; n++)
        f->count += live[n] && weft_op_id_of(weft_graph_node(f->graph, n)->op) == WEFT_OP_fold;
    f->folds = weft_arena_allocate(&f->arena, (f->count + 1) * sizeof *f->folds);
    if (f->folds == NULL) return weft_status_out_of_memory();
    size_t next = 0;
    for (uint32_t n = 0; n < f->graph->node_count; n++)
        if (live[n] && weft_op_id_of(weft_graph_node(f->graph, n)->op) == WEFT_OP_fold)
            WEFT_TRY(fill_site(f, n, &f->folds[next++]));
    return NULL;
}

/* ---- comparing ---- */

static bool same_value(weft_value a, weft_value b)
{
    return a.node == b.node && a.output == b.output;
}

/* The parameter that `site` has for captured value j of `like`; without a graph if none. Where a value is captured
 * several times, the first stands for the first, and so on. */
static weft_tensor parameter_of(const fold_site *site, const fold_site *like, size_t j)
{
    size_t before = 0;
    for (size_t k = 0; k < j; k++) before += same_value(like->operands[k], like->operands[j]);
    for (size_t k = 0; k < site->captured; k++)
        if (same_value(site->operands[k], like->operands[j]) && before-- == 0) return site->parameters[k];
    return (weft_tensor){0};
}

/* Whether the first `carried` results of the body need a parameter that is not among the `count` listed. */
static weft_status *needs_more(fold_finder *f, const fold_site *site, size_t carried, size_t count,
                               const weft_tensor *listed, bool *out_needs)
{
    weft_region body = *site->body;
    bool *needed = weft_arena_allocate(&f->arena, body.parameters.count * sizeof *needed);
    if (needed == NULL) return weft_status_out_of_memory();
    body.results.count = carried;
    WEFT_TRY(weft_graph_inline_needs(&body, needed));
    *out_needs = false;
    for (size_t i = 0; i < body.parameters.count && !*out_needs; i++) {
        bool found = !needed[i];
        for (size_t k = 0; k < count && !found; k++) found = listed[k].node == body.parameters.items[i].node;
        *out_needs = !found;
    }
    return NULL;
}

/* Encodes the first values that `site` carries, as many as `like` has, with the parameters in its order; an empty key
 * where it lacks one, or needs more. */
static weft_status *encode(fold_finder *f, const fold_site *site, const fold_site *like, weft_bytes *out_key)
{
    const weft_node *node = weft_graph_node(f->graph, site->number);
    size_t count = 1 + like->carried;
    weft_tensor *parameters = weft_arena_allocate(&f->arena, (count + like->captured) * sizeof *parameters);
    if (parameters == NULL) return weft_status_out_of_memory();
    memcpy(parameters, site->body->parameters.items, count * sizeof *parameters);
    for (size_t j = 0; j < like->captured; j++) {
        parameters[count + j] = parameter_of(site, like, j);
        if (parameters[count + j].graph == NULL) return NULL;
    }
    bool more = true;
    WEFT_TRY(needs_more(f, site, like->carried, count + like->captured, parameters, &more));
    if (more) return NULL;
    weft_attr attrs[3] = {node->attrs[0], node->attrs[1], node->attrs[2]};
    attrs[1].region.parameters = (weft_tensors){count + like->captured, parameters};
    attrs[1].region.results.count = like->carried;
    attrs[2].integer = (int64_t)like->carried;
    return weft_node_encode(f->graph, node->op, like->carried, node->inputs, attrs, out_key);
}

static weft_status *compare(fold_finder *f, const fold_site *small, const fold_site *large, bool *out_repeats)
{
    weft_bytes keys[2];
    weft_bytes_init(&keys[0], f->graph->allocator);
    weft_bytes_init(&keys[1], f->graph->allocator);
    weft_status *status = encode(f, small, small, &keys[0]);
    if (status == NULL) status = encode(f, large, small, &keys[1]);
    *out_repeats = status == NULL && keys[0].size > 0 && keys[0].size == keys[1].size &&
                   memcmp(keys[0].data, keys[1].data, keys[0].size) == 0;
    weft_bytes_finish(&keys[0]);
    weft_bytes_finish(&keys[1]);
    return status;
}

/* Marks what the live nodes need, one sweep down the graph; false once there is nothing new. */
static bool mark_more(const weft_graph *graph, const uint32_t *instead, uint8_t *live)
{
    bool grows = false;
    for (size_t n = graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        if (!live[n]) continue;
        grows = grows || !live[instead[n]];
        live[instead[n]] = 1;
        for (uint32_t i = 0; i < node->input_count; i++) {
            grows = grows || !live[node->inputs[i].node];
            live[node->inputs[i].node] = 1;
        }
    }
    return grows;
}

/* Whether node `number` needs node `other`, where nodes stand for others already. */
static weft_status *depends(const fold_finder *f, uint32_t number, uint32_t other, const uint32_t *instead,
                            bool *out_depends)
{
    uint8_t *live = weft_allocate_zeroed(f->graph->allocator, f->graph->node_count);
    if (live == NULL) return weft_status_out_of_memory();
    live[number] = 1;
    while (mark_more(f->graph, instead, live)) continue;
    *out_depends = live[other] != 0;
    weft_free(f->graph->allocator, live, f->graph->node_count);
    return NULL;
}

static weft_status *repeats(fold_finder *f, const fold_site *small, const fold_site *large, const uint32_t *instead,
                            bool *out_repeats)
{
    const weft_node *a = weft_graph_node(f->graph, small->number), *b = weft_graph_node(f->graph, large->number);
    *out_repeats = large->carried > small->carried;
    for (size_t k = 0; k < small->carried && *out_repeats; k++) *out_repeats = same_value(a->inputs[k], b->inputs[k]);
    if (!*out_repeats) return NULL;
    WEFT_TRY(compare(f, small, large, out_repeats));
    bool circular = false;
    if (*out_repeats) WEFT_TRY(depends(f, large->number, small->number, instead, &circular));
    *out_repeats = *out_repeats && !circular;
    return NULL;
}

/* One after the other, each among those that are settled. */
static weft_status *find_instead(fold_finder *f, const uint8_t *live, uint32_t *instead)
{
    WEFT_TRY(find_folds(f, live));
    for (size_t i = 0; i < f->count; i++) {
        const fold_site *best = &f->folds[i];
        for (size_t k = 0; k < f->count; k++) {
            bool found = false;
            if (f->folds[k].carried > best->carried) WEFT_TRY(repeats(f, &f->folds[i], &f->folds[k], instead, &found));
            if (found) best = &f->folds[k];
        }
        instead[f->folds[i].number] = best->number;
    }
    return NULL;
}

static weft_status *find(weft_graph *graph, const uint8_t *live, uint32_t *instead)
{
    fold_finder f = {.graph = graph};
    weft_arena_init(&f.arena, graph->allocator);
    weft_status *status = find_instead(&f, live, instead);
    weft_arena_finish(&f.arena);
    return status;
}

weft_status *weft_pass_merge_folds(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    return weft_rewrite_merge(graph, count, outputs, find);
}
