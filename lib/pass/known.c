/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled graph for known extents: numbers that are computed from extents become constants, and with them all that
 * follows, as the steps of a search that a shorter row has no use for; narrow columns are joined whose order affects no
 * bit; and dots come in the form that these extents ask for. Axes keep their extents, by which the order of sums is
 * chosen, so that every bit is that of the program.
 */
#include <string.h>
#include "lib/pass/compile.h"
#include "lib/pass/pass.h"
#include "lib/pass/reduce_columns.h"
#include "lib/pass/uses.h"
#include "lib/trace/trace.h"
#include "runtime/program/program.h"

weft_status *weft_compiled_copy(const weft_allocator *allocator, const weft_compiled *compiled, size_t count,
                                const weft_value *values, weft_graph **out_graph, weft_value *out_values)
{
    const weft_expr_context *from = compiled->graph->exprs;
    const weft_graph_options options = {.allocator = allocator};
    WEFT_TRY(weft_graph_create(&options, out_graph));
    for (size_t i = 0; i < weft_expr_context_symbol_count(from); i++)
        if (weft_expr_import((*out_graph)->exprs, from, weft_expr_context_symbol(from, i)) == WEFT_EXPR_NONE)
            return weft_expr_context_take_error((*out_graph)->exprs);
    return weft_graph_copy(compiled->graph, *out_graph, count, values, out_values);
}

static weft_status *copy_interface(const weft_allocator *allocator, const weft_program *program, weft_value *values,
                                   weft_compiled *out_compiled)
{
    const weft_compiled *compiled = program->graph;
    size_t outputs = compiled->output_count, count = outputs + program->input_count;
    weft_graph *graph = NULL;
    memcpy(values, compiled->outputs, outputs * sizeof *values);
    for (size_t i = 0; i < program->input_count; i++) values[outputs + i] = (weft_value){compiled->inputs[i], 0};
    weft_status *status = weft_compiled_copy(allocator, compiled, count, values, &graph, values);
    *out_compiled = (weft_compiled){.graph = graph, .output_count = outputs};
    if (status != NULL) return status;
    out_compiled->outputs = weft_arena_copy(&graph->arena, values, outputs * sizeof *values);
    out_compiled->inputs = weft_arena_allocate(&graph->arena, (program->input_count + 1) * sizeof(uint32_t));
    if (out_compiled->outputs == NULL || out_compiled->inputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < program->input_count; i++) out_compiled->inputs[i] = values[outputs + i].node;
    return NULL;
}

/*
 * Whether bits would depend on whether numbers that are computed from extents are constants: a power with a constant
 * exponent takes another way (lib/math/power.c), and what is left of arithmetic with constants may be a permute of an
 * operand, by which it is added up. What a region is given may be computed from extents.
 */
static weft_status *find_sensitive(weft_graph *graph, bool is_region, bool *out_found)
{
    uint8_t *of_extents = weft_arena_allocate(&graph->arena, graph->node_count + 1);
    if (of_extents == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        bool any = false;
        for (uint32_t i = 0; i < node->input_count; i++) any |= of_extents[node->inputs[i].node] != 0;
        of_extents[n] = any || id == WEFT_OP_extent || (id == WEFT_OP_input && is_region);
        *out_found |= id == WEFT_OP_pow && of_extents[node->inputs[1].node] != 0;
        *out_found |= any && weft_op_adds_as_it_lies(graph, node);
        for (size_t i = 0; i < node->op->attr_count; i++)
            if (node->op->attrs[i].kind == WEFT_ATTR_REGION)
                WEFT_TRY(find_sensitive(node->attrs[i].region.graph, true, out_found));
    }
    return NULL;
}

static weft_status *put_number(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    int64_t least, most;
    if (weft_op_id_of(site->node->op) != WEFT_OP_extent) return NULL;
    weft_expr e = weft_expected_expr(site->context, site->graph, site->node->attrs[0].extents.extents[0]);
    if (e == WEFT_EXPR_NONE) return weft_expr_context_take_error(site->graph->exprs);
    weft_expr_range(site->graph->exprs, e, &least, &most);
    out_values[0] = weft_constant(site->graph, WEFT_I64, (weft_ints){0, NULL}, &least);
    *out_replaced = least == most;
    return NULL;
}

/* Those whose narrow columns may be joined. */
static const weft_op_id reductions[] = {WEFT_OP_reduce_sum, WEFT_OP_reduce_prod, WEFT_OP_reduce_max,
                                        WEFT_OP_reduce_min, WEFT_OP_reduce_any,  WEFT_OP_reduce_all};

static weft_status *join_columns(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    size_t i = 0;
    while (i < WEFT_COUNT_OF(reductions) && reductions[i] != weft_op_id_of(site->node->op)) i++;
    if (i == WEFT_COUNT_OF(reductions)) return NULL;
    weft_tensor joined = weft_reduce_columns_for(site, site->context);
    if (joined.graph == NULL) return NULL;
    out_values[0] = joined;
    *out_replaced = true;
    return NULL;
}

/* Whether anything may come out otherwise for known extents. */
static bool depends_on_extents(const weft_graph *graph)
{
    size_t i = 0;
    while (i < WEFT_COUNT_OF(reductions) && !weft_graph_has(graph, reductions[i])) i++;
    return i < WEFT_COUNT_OF(reductions) || weft_graph_has(graph, WEFT_OP_dot) || weft_graph_has(graph, WEFT_OP_extent);
}

/* `values`: room for outputs and inputs. */
static weft_status *rewrite(const weft_allocator *allocator, const weft_program *program, const weft_expected *expected,
                            weft_value *values, weft_compiled *out_compiled)
{
    WEFT_TRY(copy_interface(allocator, program, values, out_compiled));
    weft_graph *graph = out_compiled->graph;
    size_t before = graph->node_count, count = out_compiled->output_count;
    weft_value *outputs = out_compiled->outputs;
    bool is_sensitive = false;
    WEFT_TRY(find_sensitive(graph, false, &is_sensitive));
    if (!is_sensitive) WEFT_TRY(weft_rewrite_run(graph, count, outputs, put_number, (void *)(uintptr_t)expected));
    if (graph->node_count > before) WEFT_TRY(weft_pass_simplify(graph, &program->policy, count, outputs));
    WEFT_TRY(weft_rewrite_run(graph, count, outputs, join_columns, (void *)(uintptr_t)expected));
    WEFT_TRY(weft_canonicalize_dot_for(graph, &program->policy, expected, count, outputs));
    if (weft_status_code(weft_graph_error(graph)) == WEFT_OUT_OF_MEMORY) return weft_status_out_of_memory();
    if (graph->node_count > before) return NULL;
    weft_graph_destroy(graph);
    out_compiled->graph = NULL;
    return NULL;
}

weft_status *weft_compiled_for(const weft_allocator *allocator, const weft_program *program, const int64_t *values,
                               weft_compiled *out_compiled)
{
    const weft_compiled *compiled = program->graph;
    const weft_expected expected = {.formulas = &program->formulas, .values = values, .exact = true};
    size_t size = (compiled->output_count + program->input_count) * sizeof(weft_value);
    *out_compiled = (weft_compiled){.graph = NULL};
    if (!depends_on_extents(compiled->graph)) return NULL;
    weft_value *roots = weft_allocate(allocator, size);
    if (roots == NULL) return weft_status_out_of_memory();
    weft_status *status = rewrite(allocator, program, &expected, roots, out_compiled);
    weft_free(allocator, roots, size);
    return status;
}
