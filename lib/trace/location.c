/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's source location: of nodes and guards, and in errors. */
#include <string.h>
#include "lib/graph/graph.h"

/* Whether `message` begins with "function: ". */
static bool names_function(const char *message, const char *function)
{
    size_t length = strlen(function);
    return strncmp(message, function, length) == 0 && message[length] == ':';
}

/* Functions, and ops to which they pass arguments unchanged: an error of the op about these is one of the function. */
static const char *const forwards[][2] = {
    {"adaptive_max_pool", "reduce_max"},
    {"angle", "imag"},
    {"arange", "iota"},
    {"broadcast_in_dim", "broadcast"},
    {"broadcast_like", "broadcast"},
    {"conj", "real"},
    {"count_nonzero", "reduce_sum"},
    {"cummax", "scan_max"},
    {"cummin", "scan_min"},
    {"cumprod", "scan_prod"},
    {"cumsum", "scan_sum"},
    {"eye", "cast"},
    {"eye", "iota"},
    {"full", "broadcast"},
    {"full", "constant"},
    {"gather_axes", "gather"},
    {"index", "gather"},
    {"index_add", "scatter"},
    {"index_select", "gather"},
    {"index_update", "gather"},
    {"index_update", "index"},
    {"index_update", "scatter"},
    {"kron", "mul"},
    {"linspace", "iota"},
    {"logsumexp", "reduce_max"},
    {"max_pool", "reduce_max"},
    {"mean", "reduce_sum"},
    {"narrow", "slice"},
    {"norm", "reduce_sum"},
    {"one_hot", "cast"},
    {"one_hot", "iota"},
    {"ones", "broadcast"},
    {"ones", "constant"},
    {"outer", "mul"},
    {"relu", "max"},
    {"repeat", "broadcast"},
    {"scatter_along_axis", "scatter"},
    {"split_at", "slice"},
    {"standard_deviation", "reduce_sum"},
    {"take_along_axis", "gather"},
    {"tensordot", "dot"},
    {"tile", "broadcast"},
    {"trace_matrix", "diagonal"},
    {"trace_matrix", "reduce_sum"},
    {"variance", "reduce_sum"},
    {"zeros", "broadcast"},
    {"zeros", "constant"},
};

/* `message` for a caller of `function`, if it is about another function: nothing is added if it names that one
 * already. */
static weft_status *locate_message(const weft_allocator *allocator, weft_code code, const char *where,
                                   const char *message, const char *function)
{
    if (function == NULL || names_function(message, function))
        return weft_status_create(allocator, code, where, "%s", message);
    for (size_t i = 0; i < sizeof forwards / sizeof *forwards; i++) {
        const char *op = forwards[i][1];
        if (strcmp(forwards[i][0], function) == 0 && names_function(message, op))
            return weft_status_create(allocator, code, where, "%s%s", function, message + strlen(op));
    }
    return weft_status_create(allocator, code, where, "%s (in %s)", message, function);
}

static void locate_error(weft_graph *graph, const char *function, const char *file, int line)
{
    weft_graph *root = weft_graph_root(graph);
    if (root->error == NULL || root->error_located) return;
    root->error_located = true;
    weft_bytes where;
    weft_bytes_init(&where, root->allocator);
    weft_bytes_print(&where, "%s:%d", file, line);
    weft_code code = weft_status_code(root->error);
    const char *message = weft_status_message(root->error);
    weft_status *located = locate_message(root->allocator, code, where.data, message, function);
    /* Without memory for the location the error is kept as it is. */
    bool made = !where.failed && weft_status_code(located) == code;
    weft_status_destroy(made ? root->error : located);
    if (made) root->error = located;
    weft_bytes_finish(&where);
}

weft_tensor weft_tensor_locate(weft_tensor tensor, const char *function, const char *file, int line)
{
    if (tensor.graph == NULL) return tensor;
    if (weft_tensor_is_valid(tensor)) weft_graph_locate(tensor.graph, weft_graph_location(tensor.graph, file, line));
    else locate_error(tensor.graph, function, file, line);
    return tensor;
}

weft_extent weft_extent_locate(weft_extent extent, const char *file, int line)
{
    if (extent.graph != NULL && !weft_extent_is_valid(extent)) locate_error(extent.graph, NULL, file, line);
    return extent;
}

bool weft_require_locate(bool may_hold, weft_graph *graph, const char *file, int line)
{
    /* Guards that a type rule requires belong to the call that the rule is for. */
    if (graph == NULL || graph->rule != NULL) return may_hold;
    if (may_hold) weft_graph_locate(graph, weft_graph_location(graph, file, line));
    else locate_error(graph, NULL, file, line);
    return may_hold;
}
