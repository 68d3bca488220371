/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_LOWERER_H
#define WEFT_LIB_LOWER_LOWERER_H
/* Shared, each on those before it, by lowerer.c (memories, ranges, instructions), accumulator.c, index.c (places that
 * data decide), value.c (elements), update.c and stage.c (what a root stores and takes in), find_stages.c, scan.c, and
 * lower.c (kernels of roots). */
#include "lib/lower/lower.h"

/* Most buffers, and most data checks, of one kernel. */
#define WEFT_LOWERER_LIMIT 128

/* A reduction that is a stage of the kernel. */
typedef struct stage_plan {
    uint32_t node;
    weft_reduction reduction;
    weft_expr variables[WEFT_MAX_RANK]; /* of each group */
    weft_expr extents[WEFT_MAX_RANK];
    weft_expr positions[WEFT_MAX_RANK]; /* in each group; the variables except for partial results */
    weft_expr *reduced;                 /* index of each reduced axis */
    weft_point point;                   /* of the result, over the outer ranges */
    uint32_t accumulator;
    struct stage_plan *next;
    struct stage_plan *beside; /* another reduction that takes in elements of the same places, in the same stage */
} stage_plan;

/* A data-dependent index: an instruction, and the variable that stands for it in expressions. */
typedef struct data_index {
    weft_expr variable;
    weft_inst_id value;
    uint32_t source; /* the node that is read there */
} data_index;

/* An axis that is walked as two ranges. */
typedef struct axis_cut {
    uint32_t axis;
    weft_extent inner; /* elements of the second range; 0: no axis is cut */
} axis_cut;

static inline bool weft_axis_is_cut(axis_cut cut)
{
    return cut.inner.graph != NULL || cut.inner.value != 0;
}

typedef struct lowerer {
    weft_lowering *lowering;
    const weft_graph *graph;
    const weft_fusion *fusion;
    weft_arena arena; /* of this kernel */
    weft_kernel_builder *builder;
    weft_expr_context *exprs; /* the builder's */
    weft_space space;
    uint32_t root;
    weft_value value;                   /* whose axes the kernel runs over: of the root */
    uint32_t owner;                     /* the node whose kernel it is: the root, or what the root is an operand of */
    weft_expr variables[WEFT_MAX_RANK]; /* of the root's axes; constant 0 where the extent is one */
    uint32_t axis_count;                /* of those: one more than the root has where an axis is cut */
    axis_cut cut, wanted_cut;           /* the one of its axes that is two ranges, and one that should be */
    bool may_cut;
    uint64_t outer;   /* axes whose ranges are outer */
    bool outer_fixed; /* by the root's own reduction or the first stage found */
    stage_plan *stages, **last_stage;
    weft_map values;          /* point -> instruction + 1, of the stage being made */
    data_index *data_indices; /* of that stage */
    size_t data_index_count, data_index_capacity;
    weft_map visited;
    uint32_t memories[WEFT_LOWERER_LIMIT]; /* of each buffer */
    uint32_t memory_count;
    const char *sites[WEFT_LOWERER_LIMIT];
    weft_expr site_extents[WEFT_LOWERER_LIMIT];
    uint32_t site_count;
    bool checks_values; /* see weft_lowered */
    uint32_t variable_count;
    bool failed; /* out of memory, or ... */
    bool too_large;
} lowerer;

weft_expr weft_lowerer_variable(lowerer *low, weft_expr extent);
/* The kernel's buffer for `memory`. */
uint32_t weft_lowerer_buffer(lowerer *low, uint32_t memory, bool written);
/* Offset of element `index` in `memory`. */
weft_expr weft_lowerer_address(lowerer *low, uint32_t memory, const weft_expr *index);
/* The key of a point for `values` and `visited`: words in the arena. */
const uint32_t *weft_lowerer_key(lowerer *low, const weft_point *point, size_t *out_size);
stage_plan *weft_lowerer_find_stage(const lowerer *low, uint32_t node);
void weft_lowerer_add_stage(lowerer *low, stage_plan *plan);

/* The axes of the root that become ranges: those whose extent is not statically one. */
uint64_t weft_lowerer_axes(const lowerer *low);
weft_range weft_lowerer_range(lowerer *low, weft_expr variable);
/* Ranges for the root's axes in `axes`, in order. */
void weft_lowerer_make_ranges(lowerer *low, uint64_t axes);
void weft_lowerer_begin_stage(lowerer *low);
void weft_lowerer_store(lowerer *low, uint32_t buffer, weft_expr index, weft_inst_id value);

/* Finds the stages behind a point, or behind the operands of what is computed there, at the index of each reduced axis,
 * innermost first. False if the kernel cannot have them. */
bool weft_lowerer_find_stages(lowerer *low, const weft_point *point);
bool weft_lowerer_find_stages_of_operands(lowerer *low, const weft_point *point, const weft_expr *reduced);

/* Whether the kernel computes the node although it has memory, where it stores it. */
static inline bool weft_lowerer_stores(const lowerer *low, uint32_t node)
{
    return low->fusion->roles[node] == WEFT_ROLE_STORED && low->fusion->roots[node] == low->root + 1;
}

/* The point that runs over a whole value. */
weft_point weft_lowerer_whole_point(lowerer *low, weft_value value);
/* Looks for an axis of the root whose groups are an axis of what is read at this point: sets `wanted_cut`. */
void weft_lowerer_find_cut(lowerer *low, const weft_point *point);
/* Of a reshape: the cut of the last axis, if that joins an axis of unknown extent, with which its operand ends, to
 * others, where each lane would have to divide by that extent, or one of rows of a concat. */
axis_cut weft_lowerer_joined_axis(lowerer *low, weft_value value);

/* The instruction that has the element; loads what has memory. */
weft_inst_id weft_lowerer_value(lowerer *low, const weft_point *point);
/* The same for a node that is computed here although it has memory: the root. */
weft_inst_id weft_lowerer_compute(lowerer *low, const weft_point *point);
/* The element of `memory` at the point, whose index may have stand-ins. */
weft_inst_id weft_lowerer_load(lowerer *low, uint32_t memory, const weft_point *point);
/* Takes what stands for indices out of an expression. Whether there was any: `*out_offset` is what it adds. Where the
 * expression is not affine in it the source is materialized, and the kernel is thrown away. */
bool weft_lowerer_displace(lowerer *low, weft_expr *expr, weft_inst_id *out_offset);
/* The scalar operation of an elementwise op. */
weft_scalar_op weft_lowerer_scalar(weft_op_id op);
/* The value of an expression as an i64. */
weft_inst_id weft_lowerer_index(lowerer *low, weft_expr expr);
weft_inst_id weft_lowerer_cast(lowerer *low, weft_inst_id value, weft_dtype from, weft_dtype to);
weft_inst_id weft_lowerer_binary(lowerer *low, weft_scalar_op op, weft_dtype dtype, weft_inst_id a, weft_inst_id b);
/* The number of a new data check. */
uint32_t weft_lowerer_site(lowerer *low, const weft_node *node, const char *sentence, weft_expr extent);

/* An element of operand 0 of a gather, a dynamic slice or an update, whose position depends on data. */
typedef struct indexed_read {
    const weft_node *node;
    const weft_point *point; /* of the result, or of the updates */
    weft_point read;         /* of operand 0 */
} indexed_read;

/* Starts `read`, to which the operands that decide are to be added; false when out of memory. */
bool weft_indexed_begin(lowerer *low, indexed_read *p);
/* Where operand `operand` is read, and what its value there adds. */
bool weft_indexed_operand(lowerer *low, const indexed_read *p, uint32_t operand, weft_point *out_read);
void weft_indexed_add(lowerer *low, indexed_read *p, uint32_t operand, const weft_point *read, weft_inst_id value);
/* The element is there only where `e` >= 0. */
void weft_indexed_require(lowerer *low, indexed_read *p, weft_expr e);
/* All of that; false when out of memory. */
bool weft_lowerer_index_read(lowerer *low, indexed_read *p);
/* Of a scatter: the axes of its updates along which two may meet in one element. */
uint64_t weft_lowerer_meeting_axes(lowerer *low);
/* Point of the update's operand `operand`, an index tensor or a start, for a point of the updates; false when out of
 * memory. */
bool weft_lowerer_update_operand(lowerer *low, const weft_point *point, uint32_t operand, weft_point *out_point);
/* Stores the update at `point` in its place in memory `target`, combined with what is there. */
void weft_lowerer_store_update(lowerer *low, const weft_point *point, uint32_t target);
/* A complex number from its parts, and one of its parts: `which` is real or imag. */
weft_inst_id weft_lowerer_complex(lowerer *low, weft_dtype dtype, weft_inst_id re, weft_inst_id im);
weft_inst_id weft_lowerer_part(lowerer *low, weft_scalar_op which, weft_dtype dtype, weft_inst_id z);
weft_inst_id weft_lowerer_constant(lowerer *low, weft_dtype dtype, uint64_t bits);

/* Fills in a plan for reduction `node`: groups, variables, the index of each reduced axis. NULL when out of memory. */
stage_plan *weft_lowerer_plan(lowerer *low, const weft_point *point);
/* Fills in the index of each reduced axis from the position in each group. */
void weft_lowerer_split(lowerer *low, stage_plan *plan);
/* Another plan for what has the same ranges as `plan`, beside which it comes; NULL when out of memory. */
stage_plan *weft_lowerer_plan_beside(lowerer *low, stage_plan *plan, const weft_point *point);
/* Makes the reduced ranges and the accumulators of a stage, in the stage just begun. */
void weft_lowerer_accumulate(lowerer *low, stage_plan *plan);
/* An operand of a scan. */
typedef struct scanned {
    weft_point read;
    weft_expr *counts; /* it counts where that is >= 0; NULL: everywhere */
} scanned;
/* Where a scan takes in its operand at position `step` of its axis, counted in the scan's direction. */
bool weft_lowerer_scan_operand(lowerer *low, const weft_point *point, size_t operand, weft_expr step,
                               scanned *out_scanned);
/* Makes the range of a scan, along `variable`, and its accumulator, in the stage just begun. */
void weft_lowerer_accumulate_scan(lowerer *low, stage_plan *plan, size_t count, const scanned *operands,
                                  weft_expr variable);
/* Makes the accumulator of a stage from what it takes in at each point. */
void weft_lowerer_accumulate_values(lowerer *low, stage_plan *plan, uint32_t count, const weft_inst_id *values);
/* The bits from which component `number` starts. */
uint64_t weft_reduction_start(const weft_graph *graph, uint32_t node, uint32_t number);
/* The value so far of a scan, after `before`, the components of what precedes it; NULL: nothing does. */
weft_inst_id weft_lowerer_running(lowerer *low, const stage_plan *plan, const weft_inst_id *before);
weft_inst_id weft_lowerer_running_component(lowerer *low, const stage_plan *plan, uint32_t number);
/* The reduction's value from its accumulator. */
weft_inst_id weft_lowerer_outcome(lowerer *low, const stage_plan *plan);
/* Component `component` of the accumulator of `plan`. */
weft_inst_id weft_lowerer_component(lowerer *low, const stage_plan *plan, uint32_t component);
/* Accumulates partial results that lie in memories first, first + 1, ... */
void weft_lowerer_accumulate_partial(lowerer *low, stage_plan *plan, uint32_t first_memory);

/* A scan that is the root. */
void weft_lower_scan(lowerer *low, const weft_point *point, uint32_t target);
/* What each of its chunks gives, in the scan's order. */
void weft_lower_totals(lowerer *low, const weft_point *point, uint32_t target);
/* What there is after each chunk: totals that lie before `target` are added up in order. */
void weft_lower_prefix(lowerer *low, const weft_point *point, uint32_t target);
#endif
