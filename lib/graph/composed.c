/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are differentiated as a whole. */
#include <string.h>
#include "lib/graph/attr.h"

/* Whether the output stands for the function alone, so far as the graph knows. */
static bool may_compose(const weft_graph *graph, weft_tensors inputs, weft_tensor output)
{
    bool may = output.graph == graph && weft_graph_node(graph, output.node)->composed == NULL;
    for (size_t i = 0; i < inputs.count && may; i++) {
        may = inputs.items[i].graph == NULL || (inputs.items[i].graph == graph && inputs.items[i].node < output.node);
    }
    return may;
}

bool weft_graph_compose(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                        weft_tensors outputs)
{
    for (size_t i = 0; i < outputs.count; i++)
        if (!may_compose(graph, inputs, outputs.items[i])) return true;
    size_t input_size = inputs.count * sizeof *inputs.items, output_size = outputs.count * sizeof *outputs.items;
    weft_composed *composed = weft_arena_allocate(&graph->arena, sizeof *composed);
    weft_tensor *kept_inputs = weft_arena_copy(&graph->arena, inputs.items, input_size);
    weft_tensor *kept_outputs = weft_arena_copy(&graph->arena, outputs.items, output_size);
    const weft_attr *kept_attrs = weft_attrs_copy(graph, op, attrs);
    if (composed == NULL || kept_inputs == NULL || kept_outputs == NULL || kept_attrs == NULL) {
        weft_graph_fail(graph, weft_status_out_of_memory());
        return false;
    }
    *composed = (weft_composed){op, kept_attrs, {inputs.count, kept_inputs}, {outputs.count, kept_outputs}};
    for (size_t i = 0; i < outputs.count; i++) graph->nodes[outputs.items[i].node].composed = composed;
    return true;
}
