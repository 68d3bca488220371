/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAD_SWEEP_H
#define WEFT_LIB_GRAD_SWEEP_H
/* What forward and reverse mode share: the graphs that a derivative goes through, and calling a rule. */
#include "lib/grad/grad.h"
#include "lib/trace/capture.h"

/* What one use of a value adds to its cotangent; the list begins with the use that was traced first. */
typedef struct weft_contribution {
    weft_tensor tensor;
    struct weft_contribution *next;
} weft_contribution;

/* A graph as it was before the sweep: tracing adds nodes to it. Values are numbered through: output k of node n is
 * number first[n] + k. */
typedef struct weft_sweep_level {
    weft_graph *graph;
    struct weft_sweep_level *outer; /* of the graph around; NULL for the outermost */
    uint32_t node_count;
    size_t *first;            /* node_count + 1 of them */
    bool *active;             /* by value: it depends on what the derivative is with respect to */
    bool *held;               /* by value: it is that itself */
    uint32_t *walked;         /* by node: the last walk that came to it */
    weft_tensor *values;      /* by value: its cotangent or tangent, once its node has been visited */
    weft_contribution **uses; /* by value, in reverse mode */
} weft_sweep_level;

typedef struct weft_sweep {
    weft_arena arena; /* of all that is needed until the sweep is done */
    weft_graph *root;
    weft_sweep_level *inner;
    bool holds_results;   /* some of `wrt` are computed from others */
    uint32_t walks;       /* through what nodes are composed of */
    weft_tensors outputs; /* of the innermost graph */
    weft_tensors wrt;     /* of that, or of graphs around it */
} weft_sweep;

/* Numbers the graphs around all of the tensors, brings the outputs into the innermost one, and finds what is active.
 * Finish it also after an error. */
weft_status *weft_sweep_begin(weft_sweep *sweep, weft_tensors outputs, weft_tensors wrt) WEFT_MUST_USE;
void weft_sweep_finish(weft_sweep *sweep);
/* Zeroed; NULL when out of memory. */
void *weft_sweep_allocate(weft_sweep *sweep, size_t count, size_t size);

static inline size_t weft_sweep_value(const weft_sweep_level *level, weft_value value)
{
    return level->first[value.node] + value.output;
}

/* The level of a tensor; NULL: it is of none of the graphs. */
weft_sweep_level *weft_sweep_level_of(const weft_sweep *sweep, weft_tensor tensor);
/* Where the value of a tensor is kept; NULL: of none of the graphs. */
weft_tensor *weft_sweep_slot(const weft_sweep *sweep, weft_tensor tensor);

/* In reverse mode: what the uses of a tensor of these graphs add to its cotangent. */
const weft_contribution *weft_sweep_uses(const weft_sweep *sweep, weft_tensor tensor);
/* The sum of what the uses of a value add to its cotangent; WEFT_NO_TENSOR without any. */
weft_status *weft_gradient_sum(weft_sweep *sweep, const weft_contribution *uses, weft_tensor *out_sum) WEFT_MUST_USE;

/* How node `number` is differentiated in one mode. */
typedef struct weft_sweep_site {
    weft_gradient_context context; /* without `given` and `needs` */
    weft_gradient_function rule;   /* NULL: see below */
    bool is_zero;                  /* it passes nothing on */
    bool is_checkpoint;            /* it is computed again in reverse mode, and that is differentiated */
    const char *reason;            /* why there is no rule, if there is more to say */
    uint32_t node;
    weft_location location;
} weft_sweep_site;

/* Fills in the site of a node, or of what its outputs are composed as. */
weft_status *weft_sweep_site_of(weft_sweep *sweep, const weft_sweep_level *level, uint32_t node, bool reverse,
                                weft_sweep_site *out_site) WEFT_MUST_USE;
/* Which results of a region depend on the parameters that are marked in `from`, by result. */
weft_status *weft_sweep_reach(const weft_region *region, const bool *from, bool *out_reached) WEFT_MUST_USE;
/* Calls the rule, or differentiates the lowering. `like` are the values that `out_values` belong to; these have their
 * types then, or are WEFT_NO_TENSOR. */
weft_status *weft_sweep_apply(weft_sweep *sweep, weft_sweep_site *site, bool reverse, weft_tensors like,
                              weft_tensor *out_values) WEFT_MUST_USE;
#endif
