/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_GRAPH_H
#define WEFT_LIB_GRAPH_GRAPH_H
/*
 * Inside of a graph. Nodes are numbered in creation order, so operands always have lower numbers; equal nodes (op,
 * version, operands, attributes) are one node. Everything lives in the graph's arena.
 */
#include "lib/graph/blob.h"
#include "lib/expr/expr.h"
#include "lib/graph/op.h"
#include "runtime/base/map.h"

typedef struct weft_value {
    uint32_t node, output;
} weft_value;

/* The source line of a caller's request; `file` is NULL if not known. */
typedef struct weft_location {
    const char *file;
    int line;
} weft_location;

/* How values are differentiated as a whole, instead of through the ops that they are composed of. */
typedef struct weft_composed {
    const weft_op_def *op; /* has the rule: a row of composed.def, or one with a vjp or jvp of its own */
    const weft_attr *attrs;
    weft_tensors inputs, outputs; /* of the graph */
} weft_composed;

typedef struct weft_node {
    const weft_op_def *op;
    uint32_t input_count, output_count;
    const weft_value *inputs;
    const weft_attr *attrs; /* op->attr_count */
    const weft_type *types; /* per output; extents are constants, or `weft_expr` ids of graph->exprs */
    const char *name;       /* or NULL */
    weft_location location;
    const weft_composed *composed; /* what its outputs belong to, or NULL */
} weft_node;

typedef enum weft_guard_kind { WEFT_GUARD_EQUAL, WEFT_GUARD_AT_MOST } weft_guard_kind;

/* Values of which one has to be needed; of the outermost graph, or of a region that is being traced. */
typedef struct weft_owners {
    size_t count;
    weft_tensor items[];
} weft_owners;

typedef struct weft_guard {
    weft_guard_kind kind;
    weft_expr a, b;
    weft_expr when; /* it has to hold only where this is positive; WEFT_EXPR_NONE: always */
    const char *message;
    bool of_rule;        /* made by a type rule, and so made again wherever the node is copied to */
    weft_owners *owners; /* the results of the composition that asked for it; NULL: it has to hold in any case */
    weft_location location;
    size_t before; /* number + 1 of the last one before it between the same two, 0: none */
    size_t *last;  /* number + 1 of the last of all those */
} weft_guard;

/* The node whose type rule is running, for the messages of guards. */
typedef struct weft_rule_site {
    size_t input_count;
    const weft_value *inputs;
} weft_rule_site;

#define WEFT_NODE_INVALID UINT32_MAX

/* Regions may nest this deep: what follows them is recursive. */
enum { WEFT_MOST_NESTED = 64 };

struct weft_graph {
    weft_allocator own_allocator;    /* a copy: the caller need not keep the struct */
    const weft_allocator *allocator; /* that copy */
    weft_arena arena;
    weft_expr_context *exprs;   /* a region's graph shares its parent's */
    weft_graph *parent;         /* of a region's graph; NULL otherwise */
    struct weft_graph *regions; /* region graphs owned by this one, linked through `sibling` */
    struct weft_graph *sibling;
    uint32_t depth; /* 0; of a region, that of its parent and 1 */
    weft_expr when; /* of a region: it runs only where this is positive; WEFT_EXPR_NONE: always, or data-dependent */
    weft_node *nodes;
    size_t node_count, node_capacity;
    weft_map interned;          /* node encoding -> node number + 1 */
    weft_map inputs;            /* name of an `input` node -> node number + 1 */
    const weft_rule_site *rule; /* while a type rule runs */
    size_t input_calls;         /* of weft_input, also for one that is there already */
    /* Of a region that is traced by a body: */
    struct weft_captures *captures; /* what it uses of the graphs around; not NULL until its op is made */
    uint32_t part;                  /* which region of its op it is */
    bool sealed;                    /* the body is done: nothing more is traced into it */
    size_t located_nodes;           /* so many from the first have their location, if any */
    /* What follows belongs to the root: regions use that of the outermost graph. */
    weft_graph *current; /* the region whose body is being traced; NULL: none */
    weft_guard *guards;
    size_t guard_count, guard_capacity, located_guards;
    weft_map guards_between; /* kind and extents -> `last` of those guards, in the arena */
    size_t composition;      /* the first guard of the innermost composition that is being traced; SIZE_MAX: none */
    int64_t barrier_count;   /* numbers given to barriers */
    weft_location location; /* of what is made now, where that is known beforehand: from a node that is there already */
    const char *file;       /* the last one that weft_graph_location copied */
    weft_blobs blobs;       /* bytes of large constants */
    const weft_extension **extensions;
    size_t extension_count, extension_capacity;
    weft_status *error; /* sticky */
    bool error_located; /* the caller's source location is attached */
    size_t failures;    /* errors ever raised, kept or not */
};

/* A location with a copy of `file`, which may be NULL. */
weft_location weft_graph_location(weft_graph *graph, const char *file, int line);
/* "file:line" in the arena, or NULL where there is none. */
weft_status *weft_location_print(weft_location location, weft_arena *arena, const char **out_text) WEFT_MUST_USE;
/* `status`, unless it is NULL or out of memory, with the name of the node before the sentence and its location after
 * it. Takes `status`. */
weft_status *weft_node_error(const weft_node *node, const weft_allocator *allocator, weft_status *status) WEFT_MUST_USE;
/* Sets the location of everything made in `graph` since the last call, except of what has one. */
void weft_graph_locate(weft_graph *graph, weft_location location);
/* The outermost graph around `graph`. */
weft_graph *weft_graph_root(const weft_graph *graph);
/* Makes `status` the sticky error unless there is one already; takes it. */
void weft_graph_fail(weft_graph *graph, weft_status *status);
/* weft_graph_register for the public function `where`, which its errors name. */
weft_status *weft_graph_register_for(const char *where, weft_graph *graph,
                                     const weft_extension *extension) WEFT_MUST_USE;
/* A failed tensor. */
weft_tensor weft_tensor_failed(weft_graph *graph);
/* Where a node of `graph` is made now: the region whose body is being traced if `graph` is around it, or `graph`. */
weft_graph *weft_graph_current(weft_graph *graph);

/* Whether a == b or a <= b is known for all values of the symbols; a <= INT64_MAX where no part of `a` can overflow or
 * divide by zero. */
bool weft_guard_is_proven(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b);
/*
 * For what is not proven: returns `otherwise` if it can never hold; if it may, records a guard with the sentence of
 * `otherwise` and returns NULL. Takes `otherwise`.
 */
weft_status *weft_guard_settle(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b,
                               weft_status *otherwise) WEFT_MUST_USE;
/* The same for a guard that has to hold only where `when`, an expression of `graph`, is positive. */
weft_status *weft_guard_settle_when(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b,
                                    weft_expr when, weft_status *otherwise) WEFT_MUST_USE;
/* Whether `graph` is in a body that no run enters. */
bool weft_graph_never_runs(const weft_graph *graph);
/* A guard required between open and close applies only to programs that need one of the results; if a result is a
 * failed tensor, to none. The graph may be NULL; a scope that is open is the innermost one. */
typedef struct weft_guard_scope {
    weft_graph *root;
    size_t first, outer;
} weft_guard_scope;
weft_guard_scope weft_guards_open(weft_graph *graph);
void weft_guards_close(weft_guard_scope scope, size_t count, const weft_tensor *results);
/* What compositions in a region required, of the guards from `first` on, now that `node` is made of the region: it has
 * to hold where the node is needed, if the region itself needs their results, as `live` marks. A failed tensor:
 * nowhere. */
void weft_guards_lift(const weft_graph *region, size_t first, const uint8_t *live, weft_tensor node);
/* Whether a program that needs the nodes marked in `live`, a byte for each node of the outermost graph (NULL: all), has
 * the guard of that number: it has one guard where several compositions asked for the same. */
bool weft_guard_is_needed(const weft_graph *root, size_t number, const uint8_t *live);
/* Takes out the guards from number `first` on. */
void weft_guards_drop(weft_graph *root, size_t first);
/* Guards from number `first` on have to hold whether or not the results that they belong to are needed. */
void weft_guards_keep(weft_graph *root, size_t first);
/* Declares `region` the body of a fold with that many iterations: its guards count only if there are any. */
void weft_graph_set_trips(weft_graph *region, weft_extent trips);

/* The expression of an extent in `graph`'s context; WEFT_EXPR_NONE (with a sticky error) for an invalid one or another
 * graph's. */
weft_expr weft_extent_expr(weft_graph *graph, weft_extent extent);
/* The product of its extents. */
weft_expr weft_shape_elements(weft_graph *graph, weft_shape shape);
/* The extent of an expression of `graph`. Constants become extents without a graph. */
weft_extent weft_extent_from(weft_graph *graph, weft_expr expr);
/* {graph, NONE}, or without a graph the one constant that stands for it. */
weft_extent weft_extent_invalid(weft_graph *graph);
/* How many of 0, step, 2 * step, ... are below `way`, for a step of at least 1; nothing overflows where the step is
 * longer than any way. */
weft_extent weft_extent_steps(weft_extent way, int64_t step);
/* How many windows of `size` (weft_window) lie inside an extent; none where one is longer than an int64. */
weft_extent weft_extent_windows(weft_extent extent, weft_extent size, int64_t stride, int64_t dilation);
/* Whether a == b holds for no values of the symbols. False while a body that no run enters is traced,
 * where nothing has to hold. */
bool weft_extent_never_equal(weft_graph *graph, weft_extent a, weft_extent b);

/* Texts for messages, by value; long ones are cut. */
typedef struct weft_extent_text {
    char text[64];
} weft_extent_text;
typedef struct weft_type_text {
    char text[256];
} weft_type_text;
weft_extent_text weft_extent_describe(weft_extent extent);
/* "f32[n, 4]" */
weft_type_text weft_type_describe(const weft_type *type);

static inline const weft_node *weft_graph_node(const weft_graph *graph, uint32_t node)
{
    return &graph->nodes[node];
}
static inline const weft_type *weft_value_type(const weft_graph *graph, weft_value value)
{
    return &graph->nodes[value.node].types[value.output];
}

/* Most operands of concats that one kernel selects from: each element asks all of them. Longer concats are materialised
 * in groups. */
#define WEFT_MOST_JOINED 8
/* Unless they are rows of so many elements, which are stored side by side (lib/schedule/interleave.c). */
#define WEFT_LONGEST_ROW 16

static inline bool weft_ints_contain(weft_ints list, size_t value)
{
    size_t i = 0;
    while (i < list.count && list.items[i] != (int64_t)value) i++;
    return i < list.count;
}

/* Whether a concat makes short rows of its operands. */
static inline bool weft_node_makes_rows(const weft_node *node)
{
    weft_shape shape = node->types[0].shape;
    int64_t extent;
    return (size_t)node->attrs[0].integer + 1 == shape.rank &&
           weft_extent_is_static(shape.extents[shape.rank - 1], &extent) && extent <= WEFT_LONGEST_ROW;
}

/* The axes of operand 0 that a reduction or dot reduces. */
static inline weft_ints weft_reduced_axes(const weft_node *node)
{
    if (weft_op_id_of(node->op) == WEFT_OP_dot) return node->attrs[2].ints;
    return node->op->attrs[0].kind == WEFT_ATTR_INT ? (weft_ints){1, &node->attrs[0].integer} : node->attrs[0].ints;
}

/* Whether an elementwise op may report an error for an element: then every element has to be computed. */
static inline bool weft_node_may_fail(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    weft_dtype_kind kind = weft_dtype_info_of(node->types[0].dtype)->kind;
    bool divides = id == WEFT_OP_div || id == WEFT_OP_remainder || id == WEFT_OP_fmod;
    return divides && (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED);
}

enum { WEFT_MISSING_OP_ROOM = 256 };
/* Why weft_graph_find_op has no op of that name, and which one may be meant. */
void weft_graph_missing_op(const weft_graph *graph, const char *name, char out_sentence[WEFT_MISSING_OP_ROOM]);

/* Makes or finds the node; runs the type rule. On failure the error sticks and WEFT_NODE_INVALID is returned. */
uint32_t weft_graph_add(weft_graph *graph, const weft_op_def *op, size_t input_count, const weft_value *inputs,
                        const weft_attr *attrs);

/*
 * Declares `outputs`, which are all results of their nodes, to be differentiated by the rule of `op`, as functions of
 * `inputs`. No effect where that is not possible: an output that is part of something else already, or is not newer
 * than the inputs; so outputs that equal nodes may share have to be barriers. False when out of memory, with an error
 * of the graph.
 */
bool weft_graph_compose(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                        weft_tensors outputs);

/* A mark of `graph` and the graphs around it, taken before speculative tracing. */
typedef struct weft_trial {
    weft_graph *graph;
    size_t guard_count;
    size_t node_counts[WEFT_MOST_NESTED + 1]; /* by depth */
} weft_trial;
weft_trial weft_trial_begin(weft_graph *graph);
/* Commits what was traced since: its guards have to hold, whatever becomes of its nodes. */
void weft_trial_accept(const weft_trial *trial);
/* Rolls back: removes the guards made since. If there were any, the nodes made since stay behind but are not found
 * again: an equal one becomes a new node, with its guards. */
weft_status *weft_trial_reject(const weft_trial *trial) WEFT_MUST_USE;

/* A graph for the regions of `parent`'s nodes: shares its extents, extensions, guards and error, is freed with it.
 * UNSUPPORTED when more than WEFT_MOST_NESTED would nest. */
weft_status *weft_graph_create_region(weft_graph *parent, weft_graph **out_region) WEFT_MUST_USE;

/*
 * Copies what `outputs` need from `source` into `target`: symbols by name, regions deeply, type rules (and with them
 * guards) run again; then maps outputs to the copies; guards that no type rule made are copied first. The extensions of
 * `source` are registered with `target`.
 */
weft_status *weft_graph_copy(const weft_graph *source, weft_graph *target, size_t count, const weft_value *outputs,
                             weft_value *out_copies) WEFT_MUST_USE;

/* Which parameters of a region weft_graph_inline needs arguments for. */
weft_status *weft_graph_inline_needs(const weft_region *region, bool *out_needed) WEFT_MUST_USE;
/* Makes the nodes of a region again in `target`, a graph of the same root, with arguments, which are of that, in place
 * of the parameters that are needed. They are differentiated as those of the region. */
weft_status *weft_graph_inline(const weft_region *region, weft_graph *target, weft_tensors arguments,
                               weft_tensor *out_results) WEFT_MUST_USE;

/* Makes the nodes from number `first` on that `wanted` need again in their graph, with `values` in place of the values
 * `replaced`. */
weft_status *weft_graph_repeat(weft_graph *graph, uint32_t first, weft_tensors replaced, weft_tensors values,
                               weft_tensors wanted, weft_tensor *out_values) WEFT_MUST_USE;

/* Sets out_live[n] to 1 for every node n that `outputs` need and to 0 for the others; one byte for each node of the
 * graph. */
void weft_graph_mark(const weft_graph *graph, size_t count, const weft_value *outputs, uint8_t *out_live);

/* Sets byte i of `out_used` for every symbol i of the graph that the types and attributes of those nodes, or
 * a guard, mention. */
weft_status *weft_graph_mark_symbols(const weft_graph *graph, size_t count, const weft_value *outputs,
                                     uint8_t *out_used) WEFT_MUST_USE;

/*
 * Checks every node that `outputs` need: operand numbers, attributes and dtypes against the schema, types against the
 * type rule, regions (parameter and result types against the op), hash-consing. WEFT_INTERNAL names the node and the
 * rule.
 */
weft_status *weft_graph_verify(weft_graph *graph, size_t count, const weft_value *outputs) WEFT_MUST_USE;

/* The attributes of a node except for regions as statements have them, " {axes = [1]}", or nothing. Data of more bytes
 * than `longest_data` are "...". */
void weft_node_print_attributes(const weft_graph *graph, const weft_node *node, size_t longest_data,
                                weft_bytes *out_text);
/* A type as statements have it, "f32[n, 4]". */
void weft_graph_print_type(const weft_graph *graph, const weft_type *type, weft_bytes *out_text);
/* Prints into `out_text`; see weft_graph_print. `output_names` may be NULL. */
weft_status *weft_graph_print_named(const weft_graph *graph, size_t count, const weft_value *outputs,
                                    const char *const *output_names, weft_bytes *out_text) WEFT_MUST_USE;
#endif
