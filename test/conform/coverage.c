/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/coverage.h"
#include "lib/graph/graph.h"
#include "runtime/base/float_bits.h"
#include <stdio.h>
#include <string.h>

/* What generated code computes in. */
#define COMPUTED ((1u << WEFT_DTYPE_COUNT) - 1)

/* The dtype that says which code an op is: of its last operand, of the first where others are indices, or of a leaf's
 * result. */
static weft_dtype dtype_of(const weft_graph *graph, const weft_node *node)
{
    if (node->input_count == 0) return node->types[0].dtype;
    bool indexes = node->op->op_class == WEFT_CLASS_INDEX;
    return weft_value_type(graph, node->inputs[indexes ? 0 : node->input_count - 1])->dtype;
}

/* Dtypes of the same kind: 16-bit floats are one of their own. */
static weft_dtype_set like(weft_dtype dtype)
{
    weft_dtype_set set = 0;
    for (weft_dtype other = 0; other < WEFT_DTYPE_COUNT; other++) {
        bool same = weft_dtype_info_of(other)->kind == weft_dtype_info_of(dtype)->kind &&
                    weft_dtype_is_float16(other) == weft_dtype_is_float16(dtype);
        if (same) set |= 1u << other;
    }
    return set;
}

bool weft_test_coverage_add(weft_test_coverage *coverage, const char *text)
{
    bool is_new = false;
    weft_module *module = NULL;
    weft_status *status = weft_graph_parse("coverage", text, strlen(text), NULL, 0, NULL, &module);
    weft_status_destroy(status);
    if (module == NULL) return false;
    for (uint32_t n = 0; n < module->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(module->graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        weft_dtype dtype = dtype_of(module->graph, node);
        if (id >= WEFT_OP_COUNT) continue;
        is_new |= (coverage->seen[id] & like(dtype)) == 0;
        coverage->seen[id] |= 1u << dtype;
    }
    weft_module_destroy(module);
    return is_new;
}

/* The extent of an axis is an i64. */
static weft_dtype_set wanted(const weft_op_def *op)
{
    if (weft_op_id_of(op) == WEFT_OP_extent) return 1u << WEFT_I64;
    return op->dtypes == 0 ? COMPUTED : op->dtypes & COMPUTED;
}

size_t weft_test_coverage_report(const weft_test_coverage *coverage)
{
    size_t missing = 0;
    for (size_t id = 0; id < WEFT_OP_COUNT; id++)
        for (weft_dtype dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
            const weft_op_def *op = &weft_op_table()[id];
            if ((wanted(op) & ~coverage->seen[id] & 1u << dtype) == 0) continue;
            printf("FAILED coverage: no case runs %s in %s\n", op->name, weft_dtype_name(dtype));
            missing++;
        }
    return missing;
}
