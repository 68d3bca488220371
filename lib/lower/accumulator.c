/* SPDX-License-Identifier: Apache-2.0 */
/* How each reduction combines: accumulators from the values that they take in, and values from accumulators. */
#include <math.h>
#include <string.h>
#include "lib/graph/scalar.h"
#include "lib/lower/lowerer.h"

typedef enum start { ZERO, ONE, LEAST, GREATEST, NOTHING } start;

/* How a reduction or scan combines two values, or what it does to a product that it takes in, and from which it starts:
 * NOTHING is the zero that adds nothing, also to -0. */
static const struct reduction_row {
    weft_scalar_op combine;
    start from;
    bool is_arg; /* the position comes along, and `combine` says whether the right one is better */
} rows[WEFT_OP_COUNT] = {
    [WEFT_OP_dot] = {WEFT_SCALAR_add, ZERO, false},
    [WEFT_OP_reduce_sum] = {WEFT_SCALAR_add, ZERO, false},
    [WEFT_OP_reduce_prod] = {WEFT_SCALAR_mul, ONE, false},
    [WEFT_OP_reduce_max] = {WEFT_SCALAR_max, LEAST, false},
    [WEFT_OP_reduce_min] = {WEFT_SCALAR_min, GREATEST, false},
    [WEFT_OP_reduce_any] = {WEFT_SCALAR_or, ZERO, false},
    [WEFT_OP_reduce_all] = {WEFT_SCALAR_and, ONE, false},
    [WEFT_OP_argmax] = {WEFT_SCALAR_gt, LEAST, true},
    [WEFT_OP_argmin] = {WEFT_SCALAR_lt, GREATEST, true},
    [WEFT_OP_scan_sum] = {WEFT_SCALAR_add, ZERO, false},
    [WEFT_OP_scan_prod] = {WEFT_SCALAR_mul, ONE, false},
    [WEFT_OP_scan_max] = {WEFT_SCALAR_max, LEAST, false},
    [WEFT_OP_scan_min] = {WEFT_SCALAR_min, GREATEST, false},
    [WEFT_OP_scan_linear] = {WEFT_SCALAR_add, NOTHING, false},
};

/* A product of bools is whether any pair of them is true. */
static const struct reduction_row *row_of(const weft_graph *graph, uint32_t id)
{
    const weft_node *node = weft_graph_node(graph, id);
    weft_op_id op = weft_op_id_of(node->op);
    bool is_truth = op == WEFT_OP_dot && node->types[0].dtype == WEFT_BOOL;
    return &rows[is_truth ? WEFT_OP_reduce_any : op];
}

/* The bits of what a combination starts from: of floats, least and greatest are infinities. */
static uint64_t start_bits(weft_dtype dtype, start from)
{
    static const double values[] = {
        [ZERO] = 0, [ONE] = 1, [LEAST] = -INFINITY, [GREATEST] = INFINITY, [NOTHING] = -0.0};
    uint64_t bits = 0;
    bool is_false = dtype == WEFT_BOOL && from == LEAST;
    weft_scalar_store(dtype, is_false ? 0 : values[from], &bits);
    return bits;
}

static bool is_complex(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX;
}

/* Positions along a reduced axis go with the lanes of elements: they are no longer than these, as far as the graph's
 * own extents allow. */
static weft_dtype position_dtype(const weft_graph *graph, const weft_node *node)
{
    int64_t least, most;
    if (weft_dtype_size(weft_value_type(graph, node->inputs[0])->dtype) > sizeof(int32_t)) return WEFT_I64;
    weft_extent_range(weft_value_type(graph, node->inputs[0])->shape.extents[node->attrs[0].integer], &least, &most);
    return most < INT32_MAX ? WEFT_I32 : WEFT_I64;
}

/* What no position is. */
static uint64_t no_position(weft_dtype dtype)
{
    return dtype == WEFT_I32 ? INT32_MAX : INT64_MAX;
}

uint32_t weft_reduction_components(const weft_graph *graph, uint32_t id, weft_dtype *out_dtypes)
{
    const weft_node *node = weft_graph_node(graph, id);
    weft_dtype dtype = weft_accumulator_dtype(weft_value_type(graph, node->inputs[0])->dtype);
    bool is_arg = row_of(graph, id)->is_arg;
    out_dtypes[0] = weft_dtype_component(dtype);
    out_dtypes[1] = is_arg ? position_dtype(graph, node) : out_dtypes[0];
    return is_arg || is_complex(dtype) ? 2 : 1;
}

weft_expr weft_reduction_chunks(weft_space *space, uint32_t id, const weft_reduction *reduction)
{
    weft_expr_context *x = space->exprs;
    weft_shape shape = weft_value_type(space->graph, weft_graph_node(space->graph, id)->inputs[0])->shape;
    weft_expr count = weft_space_count(space, shape, reduction->axes, reduction->axis_count);
    weft_expr rounded = weft_expr_add(x, count, weft_expr_constant(x, reduction->chunk - 1));
    return weft_expr_div(x, rounded, weft_expr_constant(x, reduction->chunk));
}

/* A step or combine block under construction. */
typedef struct block {
    weft_inst insts[24];
    uint32_t count;
} block;

static weft_inst_id append(block *b, weft_scalar_op op, weft_dtype dtype, uint32_t count, weft_inst_id x,
                           weft_inst_id y, weft_inst_id z)
{
    b->insts[b->count] = (weft_inst){.op = op, .dtype = dtype, .arg_count = count, .args = {x, y, z}};
    return b->count++;
}

static weft_inst_id param(block *b, weft_dtype dtype, uint32_t number)
{
    weft_inst_id id = append(b, WEFT_SCALAR_param, dtype, 0, 0, 0, 0);
    b->insts[id].number = number;
    return id;
}

/* The right one is better as `order` says, or the first of equals, where NaN is better than all others. No element of a
 * row is better than the start where all are equal to it: the position is then 0 as well (weft_lowerer_outcome). */
static void combine_arg(block *b, weft_scalar_op order, const weft_accumulator *accumulator, weft_combiner *out)
{
    weft_dtype dtype = accumulator->dtypes[0], position = accumulator->dtypes[1];
    weft_inst_id a = param(b, dtype, 0), ai = param(b, position, 1), c = param(b, dtype, 2), ci = param(b, position, 3);
    weft_inst_id ahead = append(b, order, WEFT_BOOL, 2, c, a, 0);
    weft_inst_id equal = append(b, WEFT_SCALAR_eq, WEFT_BOOL, 2, c, a, 0);
    if (weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT) {
        weft_inst_id a_nan = append(b, WEFT_SCALAR_ne, WEFT_BOOL, 2, a, a, 0);
        weft_inst_id c_nan = append(b, WEFT_SCALAR_ne, WEFT_BOOL, 2, c, c, 0);
        weft_inst_id both = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, a_nan, c_nan, 0);
        weft_inst_id a_number = append(b, WEFT_SCALAR_not, WEFT_BOOL, 1, a_nan, 0, 0);
        weft_inst_id only_c = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, c_nan, a_number, 0);
        ahead = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, ahead, only_c, 0);
        equal = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, equal, both, 0);
    }
    weft_inst_id earlier = append(b, WEFT_SCALAR_earlier, WEFT_BOOL, 2, ci, ai, 0);
    weft_inst_id first = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, equal, earlier, 0);
    weft_inst_id better = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, ahead, first, 0);
    out->outcomes[0] = append(b, WEFT_SCALAR_select, dtype, 3, better, c, a);
    out->outcomes[1] = append(b, WEFT_SCALAR_select, position, 3, better, ci, ai);
}

/* Sums and products of complex numbers, in parts. */
static void combine_complex(block *b, weft_scalar_op op, weft_dtype part, weft_combiner *out)
{
    weft_inst_id re = param(b, part, 0), im = param(b, part, 1), c = param(b, part, 2), d = param(b, part, 3);
    if (op == WEFT_SCALAR_add) {
        out->outcomes[0] = append(b, WEFT_SCALAR_add, part, 2, re, c, 0);
        out->outcomes[1] = append(b, WEFT_SCALAR_add, part, 2, im, d, 0);
        return;
    }
    weft_inst_id rc = append(b, op, part, 2, re, c, 0), id = append(b, op, part, 2, im, d, 0);
    weft_inst_id rd = append(b, op, part, 2, re, d, 0), ic = append(b, op, part, 2, im, c, 0);
    out->outcomes[0] = append(b, WEFT_SCALAR_sub, part, 2, rc, id, 0);
    out->outcomes[1] = append(b, WEFT_SCALAR_add, part, 2, rd, ic, 0);
}

/* fma(a, b, sum), a value after the other. */
static void step_product(block *b, weft_dtype dtype, weft_combiner *out)
{
    weft_inst_id sum = param(b, dtype, 0), left = param(b, dtype, 1), right = param(b, dtype, 2);
    out->outcomes[0] = append(b, WEFT_SCALAR_fma, dtype, 3, left, right, sum);
}

/* The four products in the order of the runtime's: those of the left one's real part first. */
static void step_complex(block *b, weft_dtype part, weft_combiner *out)
{
    weft_inst_id re = param(b, part, 0), im = param(b, part, 1);
    weft_inst_id a_re = param(b, part, 2), a_im = param(b, part, 3), b_re = param(b, part, 4), b_im = param(b, part, 5);
    weft_inst_id minus = append(b, WEFT_SCALAR_neg, part, 1, b_im, 0, 0);
    re = append(b, WEFT_SCALAR_fma, part, 3, a_re, b_re, re);
    im = append(b, WEFT_SCALAR_fma, part, 3, a_re, b_im, im);
    out->outcomes[0] = append(b, WEFT_SCALAR_fma, part, 3, a_im, minus, re);
    out->outcomes[1] = append(b, WEFT_SCALAR_fma, part, 3, a_im, b_re, im);
}

/* a * y + b, of floats in one. */
static void step_linear(block *b, weft_dtype dtype, weft_combiner *out)
{
    bool is_float = weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT;
    weft_inst_id y = param(b, dtype, 0), factor = param(b, dtype, 1), term = param(b, dtype, 2);
    if (is_float) {
        out->outcomes[0] = append(b, WEFT_SCALAR_fma, dtype, 3, factor, y, term);
        return;
    }
    weft_inst_id product = append(b, WEFT_SCALAR_mul, dtype, 2, factor, y, 0);
    out->outcomes[0] = append(b, WEFT_SCALAR_add, dtype, 2, product, term, 0);
}

/* The same of complex numbers: the four products in the order of step_complex, added to b one by one. */
static void step_linear_complex(block *b, weft_dtype part, weft_combiner *out)
{
    weft_inst_id y_re = param(b, part, 0), y_im = param(b, part, 1);
    weft_inst_id a_re = param(b, part, 2), a_im = param(b, part, 3), b_re = param(b, part, 4), b_im = param(b, part, 5);
    weft_inst_id minus = append(b, WEFT_SCALAR_neg, part, 1, y_im, 0, 0);
    weft_inst_id re = append(b, WEFT_SCALAR_fma, part, 3, a_re, y_re, b_re);
    weft_inst_id im = append(b, WEFT_SCALAR_fma, part, 3, a_re, y_im, b_im);
    out->outcomes[0] = append(b, WEFT_SCALAR_fma, part, 3, a_im, minus, re);
    out->outcomes[1] = append(b, WEFT_SCALAR_fma, part, 3, a_im, y_re, im);
}

/* The step of a reduction that takes in more values than it has components. */
static void make_step(weft_op_id op, const weft_accumulator *accumulator, block *b, weft_combiner *out)
{
    weft_dtype dtype = accumulator->dtypes[0];
    bool is_complex = accumulator->width == 2, is_linear = op == WEFT_OP_scan_linear;
    if (is_linear && is_complex) step_linear_complex(b, dtype, out);
    else if (is_linear) step_linear(b, dtype, out);
    else if (is_complex) step_complex(b, dtype, out);
    else step_product(b, dtype, out);
    out->insts = b->insts;
    out->count = b->count;
}

void weft_lowerer_accumulate_values(lowerer *low, stage_plan *plan, uint32_t count, const weft_inst_id *values)
{
    const struct reduction_row *row = row_of(low->graph, plan->node);
    weft_accumulator accumulator = {.value_count = count};
    accumulator.width = weft_reduction_components(low->graph, plan->node, accumulator.dtypes);
    memcpy(accumulator.values, values, count * sizeof *values);
    weft_dtype dtype = accumulator.dtypes[0];
    block b = {.count = 0}, step = {.count = 0};
    if (count > accumulator.width) {
        make_step(weft_op_id_of(weft_graph_node(low->graph, plan->node)->op), &accumulator, &step, &accumulator.step);
    }
    accumulator.init[0] = start_bits(dtype, row->from);
    if (row->is_arg) {
        accumulator.init[1] = no_position(accumulator.dtypes[1]);
        combine_arg(&b, row->combine, &accumulator, &accumulator.combine);
    } else if (accumulator.width == 2) {
        accumulator.init[1] = start_bits(dtype, row->from == NOTHING ? NOTHING : ZERO);
        combine_complex(&b, row->combine, dtype, &accumulator.combine);
    } else {
        weft_inst_id left = param(&b, dtype, 0), right = param(&b, dtype, 1);
        accumulator.combine.outcomes[0] = append(&b, row->combine, dtype, 2, left, right, 0);
    }
    accumulator.combine.insts = b.insts;
    accumulator.combine.count = b.count;
    plan->accumulator = weft_kernel_builder_accumulator(low->builder, &accumulator);
}

uint64_t weft_reduction_start(const weft_graph *graph, uint32_t id, uint32_t number)
{
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    weft_reduction_components(graph, id, dtypes);
    start from = row_of(graph, id)->from;
    return start_bits(dtypes[number], number == 0 || from == NOTHING ? from : ZERO);
}

/* Component `number` of the accumulator: `view` is result or running. */
static weft_inst_id component(lowerer *low, const stage_plan *plan, weft_scalar_op view, uint32_t number)
{
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    weft_reduction_components(low->graph, plan->node, dtypes);
    weft_inst inst = {.op = view, .dtype = dtypes[number], .buffer = plan->accumulator, .number = number};
    return weft_kernel_builder_inst(low->builder, &inst);
}

weft_inst_id weft_lowerer_component(lowerer *low, const stage_plan *plan, uint32_t number)
{
    return component(low, plan, WEFT_SCALAR_result, number);
}

/* What the accumulator has, combined with what was `before`, in the dtype of the node. */
static weft_inst_id whole(lowerer *low, const stage_plan *plan, weft_scalar_op view, const weft_inst_id *before)
{
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    weft_inst_id components[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(low->graph, plan->node, dtypes);
    for (uint32_t i = 0; i < width; i++) {
        components[i] = component(low, plan, view, i);
        if (before == NULL) continue;
        weft_inst both = {.op = row_of(low->graph, plan->node)->combine, .dtype = dtypes[i], .arg_count = 2};
        both.args[0] = before[i];
        both.args[1] = components[i];
        components[i] = weft_kernel_builder_inst(low->builder, &both);
    }
    weft_dtype dtype = weft_graph_node(low->graph, plan->node)->types[0].dtype;
    if (is_complex(dtype)) return weft_lowerer_complex(low, dtype, components[0], components[1]);
    return weft_lowerer_cast(low, components[0], weft_accumulator_dtype(dtype), dtype);
}

weft_inst_id weft_lowerer_outcome(lowerer *low, const stage_plan *plan)
{
    if (!row_of(low->graph, plan->node)->is_arg) return whole(low, plan, WEFT_SCALAR_result, NULL);
    /* No element was seen: the position is then 0. */
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    weft_reduction_components(low->graph, plan->node, dtypes);
    weft_inst_id index = weft_lowerer_component(low, plan, 1);
    weft_inst_id none = weft_lowerer_constant(low, dtypes[1], no_position(dtypes[1]));
    weft_inst_id zero = weft_lowerer_constant(low, dtypes[1], 0);
    weft_inst empty = {.op = WEFT_SCALAR_eq, .dtype = WEFT_BOOL, .arg_count = 2, .args = {index, none}};
    weft_inst pick = {.op = WEFT_SCALAR_select, .dtype = dtypes[1], .arg_count = 3, .args = {0, zero, index}};
    pick.args[0] = weft_kernel_builder_inst(low->builder, &empty);
    return weft_lowerer_cast(low, weft_kernel_builder_inst(low->builder, &pick), dtypes[1], WEFT_I64);
}

weft_inst_id weft_lowerer_running(lowerer *low, const stage_plan *plan, const weft_inst_id *before)
{
    return whole(low, plan, WEFT_SCALAR_running, before);
}

weft_inst_id weft_lowerer_running_component(lowerer *low, const stage_plan *plan, uint32_t number)
{
    return component(low, plan, WEFT_SCALAR_running, number);
}
