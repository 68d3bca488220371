/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/graph.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "lib/text/text.h"
#include "runtime/base/status.h"

/* A graph or region being printed. */
typedef struct printer {
    const weft_graph *graph;
    weft_bytes *text;
    int depth;
    uint8_t *live;     /* by node; PARAMETER for those of a region, which are no statements */
    uint32_t *numbers; /* by node: of its first value */
    uint32_t next;
    size_t longest_data; /* bytes of a DATA attribute that is printed, not left out */
} printer;

enum { STATEMENT = 1, PARAMETER = 2 };

static weft_status *print_region(const printer *outer, const char *name, const weft_region *region);

static bool is_input(const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_input;
}

static void print_indent(const printer *p)
{
    weft_bytes_print(p->text, "%*s", 2 * p->depth, "");
}

/* Inputs go by their names, which no other value of the graph has: those are numbers. */
static void print_value(const printer *p, weft_value value)
{
    const weft_node *node = weft_graph_node(p->graph, value.node);
    if (is_input(node))
        weft_bytes_print(p->text, "%%%.*s", (int)node->attrs[0].size, (const char *)node->attrs[0].data);
    else weft_bytes_print(p->text, "%%%" PRIu32, p->numbers[value.node] + value.output);
}

static void print_values(const printer *p, size_t count, const weft_value *values)
{
    for (size_t i = 0; i < count; i++) {
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        print_value(p, values[i]);
    }
}

static void print_extent(const printer *p, weft_extent extent)
{
    if (extent.graph == NULL) weft_bytes_print(p->text, "%" PRId64, extent.value);
    else weft_expr_print(p->graph->exprs, (weft_expr)extent.value, p->text);
}

static void print_shape(const printer *p, weft_shape shape)
{
    weft_bytes_append(p->text, "[", 1);
    for (size_t i = 0; i < shape.rank; i++) {
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        print_extent(p, shape.extents[i]);
    }
    weft_bytes_append(p->text, "]", 1);
}

static void print_type(const printer *p, const weft_type *type)
{
    weft_bytes_print(p->text, "%s", weft_dtype_name(type->dtype));
    print_shape(p, type->shape);
}

static void print_ints(weft_bytes *text, weft_ints ints)
{
    weft_bytes_append(text, "[", 1);
    for (size_t i = 0; i < ints.count; i++) weft_bytes_print(text, "%s%" PRId64, i == 0 ? "" : ", ", ints.items[i]);
    weft_bytes_append(text, "]", 1);
}

/* `dtype` is that of the last DTYPE attribute: DATA means elements of it. */
static void print_attr(const printer *p, weft_attr_kind kind, const weft_attr *attr, weft_dtype dtype)
{
    switch (kind) {
    case WEFT_ATTR_INT: weft_bytes_print(p->text, "%" PRId64, attr->integer); break;
    case WEFT_ATTR_FLOAT: weft_text_print_real(p->text, attr->real, false); break;
    case WEFT_ATTR_BOOL: weft_bytes_print(p->text, "%s", attr->integer ? "true" : "false"); break;
    case WEFT_ATTR_DTYPE: weft_bytes_print(p->text, "%s", weft_dtype_name((weft_dtype)attr->integer)); break;
    case WEFT_ATTR_STRING: weft_text_print_string(p->text, attr->data, attr->size); break;
    case WEFT_ATTR_INTS: print_ints(p->text, attr->ints); break;
    case WEFT_ATTR_EXTENT: print_extent(p, attr->extents.extents[0]); break;
    case WEFT_ATTR_EXTENTS: print_shape(p, attr->extents); break;
    case WEFT_ATTR_DATA:
        if (attr->size > p->longest_data) weft_bytes_append(p->text, "...", 3);
        else weft_text_print_data(p->text, dtype, attr->data, attr->size);
        break;
    case WEFT_ATTR_REGION: break;
    }
}

static void print_attrs(const printer *p, const weft_node *node)
{
    const char *separator = " {";
    weft_dtype dtype = WEFT_U8;
    for (size_t i = 0; i < node->op->attr_count; i++) {
        weft_attr_kind kind = node->op->attrs[i].kind;
        if (kind == WEFT_ATTR_REGION) continue;
        if (kind == WEFT_ATTR_DTYPE) dtype = (weft_dtype)node->attrs[i].integer;
        weft_bytes_print(p->text, "%s%s = ", separator, node->op->attrs[i].name);
        print_attr(p, kind, &node->attrs[i], dtype);
        separator = ", ";
    }
    if (*separator == ',') weft_bytes_append(p->text, "}", 1);
}

void weft_node_print_attributes(const weft_graph *graph, const weft_node *node, size_t longest_data,
                                weft_bytes *out_text)
{
    printer p = {.graph = graph, .text = out_text, .longest_data = longest_data};
    print_attrs(&p, node);
}

void weft_graph_print_type(const weft_graph *graph, const weft_type *type, weft_bytes *out_text)
{
    const printer p = {.graph = graph, .text = out_text};
    print_type(&p, type);
}

static bool is_parameter(const printer *p, uint32_t number)
{
    char name[16];
    int length = snprintf(name, sizeof name, "%" PRIu32, number);
    return weft_map_find(&p->graph->inputs, name, (size_t)length) != NULL;
}

/* As many numbers in a row as the node has results, without those that parameters are called. */
static void number_results(printer *p, uint32_t node)
{
    uint32_t count = weft_graph_node(p->graph, node)->output_count;
    p->numbers[node] = p->next;
    while (p->next - p->numbers[node] < count)
        if (is_parameter(p, p->next++)) p->numbers[node] = p->next;
}

static weft_status *print_statement(printer *p, uint32_t number)
{
    const weft_node *node = weft_graph_node(p->graph, number);
    if (!is_input(node)) number_results(p, number);
    print_indent(p);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        print_value(p, (weft_value){number, i});
    }
    weft_bytes_print(p->text, " = %s(", node->op->name);
    print_values(p, node->input_count, node->inputs);
    weft_bytes_append(p->text, ")", 1);
    print_attrs(p, node);
    for (size_t i = 0; i < node->op->attr_count; i++)
        if (node->op->attrs[i].kind == WEFT_ATTR_REGION)
            WEFT_TRY(print_region(p, node->op->attrs[i].name, &node->attrs[i].region));
    if (node->name != NULL && !is_input(node)) weft_bytes_print(p->text, " as %s", node->name);
    for (uint32_t i = 0; i < node->output_count; i++) {
        weft_bytes_print(p->text, "%s", i == 0 ? " : " : ", ");
        print_type(p, &node->types[i]);
    }
    weft_bytes_append(p->text, "\n", 1);
    return NULL;
}

static weft_status *printer_init(printer *p, const weft_graph *graph, weft_bytes *text, int depth)
{
    size_t nodes = graph->node_count;
    *p = (struct printer){.graph = graph, .text = text, .depth = depth, .longest_data = SIZE_MAX};
    p->live = weft_allocate_zeroed(graph->allocator, nodes);
    p->numbers = weft_allocate_zeroed(graph->allocator, nodes * sizeof *p->numbers);
    return p->live == NULL || p->numbers == NULL ? weft_status_out_of_memory() : NULL;
}

static void printer_finish(printer *p)
{
    size_t nodes = p->graph->node_count;
    weft_free(p->graph->allocator, p->live, nodes);
    weft_free(p->graph->allocator, p->numbers, nodes * sizeof *p->numbers);
}

static weft_status *print_statements(printer *p)
{
    for (uint32_t n = 0; n < p->graph->node_count; n++)
        if (p->live[n] == STATEMENT) WEFT_TRY(print_statement(p, n));
    return NULL;
}

/* ---- regions ---- */

/* A parameter is an input of the region's graph. */
static void print_parameters(printer *p, weft_tensors parameters)
{
    weft_bytes_append(p->text, "(", 1);
    for (size_t i = 0; i < parameters.count; i++) {
        weft_value value = {parameters.items[i].node, parameters.items[i].output};
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        print_value(p, value);
        weft_bytes_append(p->text, " : ", 3);
        print_type(p, weft_value_type(p->graph, value));
    }
    weft_bytes_append(p->text, ") {\n", 4);
}

static weft_status *print_region_body(printer *p, const weft_region *region, weft_value *results)
{
    for (size_t i = 0; i < region->results.count; i++)
        results[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
    print_parameters(p, region->parameters);
    weft_graph_mark(p->graph, region->results.count, results, p->live);
    for (size_t i = 0; i < region->parameters.count; i++) p->live[region->parameters.items[i].node] = PARAMETER;
    WEFT_TRY(print_statements(p));
    print_indent(p);
    weft_bytes_append(p->text, "yield ", 6);
    print_values(p, region->results.count, results);
    weft_bytes_print(p->text, "\n%*s}", 2 * (p->depth - 1), "");
    return NULL;
}

static weft_status *print_region(const printer *outer, const char *name, const weft_region *region)
{
    const weft_allocator *allocator = region->graph->allocator;
    size_t size = region->results.count * sizeof(weft_value);
    weft_value *results = weft_allocate(allocator, size);
    printer inner;
    weft_status *status = printer_init(&inner, region->graph, outer->text, outer->depth + 1);
    if (status == NULL && results == NULL) status = weft_status_out_of_memory();
    weft_bytes_print(outer->text, " %s ", name);
    if (status == NULL) status = print_region_body(&inner, region, results);
    printer_finish(&inner);
    weft_free(allocator, results, size);
    return status;
}

/* ---- graphs ---- */

static weft_status *print_symbols(const weft_graph *graph, size_t count, const weft_value *outputs, weft_bytes *text)
{
    const weft_expr_context *exprs = graph->exprs;
    size_t symbols = weft_expr_context_symbol_count(exprs);
    uint8_t *used = weft_allocate_zeroed(graph->allocator, symbols);
    if (used == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_mark_symbols(graph, count, outputs, used);
    for (size_t i = 0; i < symbols && status == NULL; i++) {
        int64_t min, max;
        weft_expr symbol = weft_expr_context_symbol(exprs, i);
        weft_expr_range(exprs, symbol, &min, &max);
        if (used[i])
            weft_bytes_print(text, "symbol %s in [%" PRId64 ", %" PRId64 "]\n", weft_expr_name(exprs, symbol), min,
                             max);
    }
    weft_free(graph->allocator, used, symbols);
    return status;
}

/* Guards that no type rule made; the others come back with the nodes. */
/* `live` has a byte for each node. */
static void print_guards(const weft_graph *graph, const uint8_t *live, weft_bytes *text)
{
    for (size_t i = 0; i < graph->guard_count; i++) {
        const weft_guard *guard = &graph->guards[i];
        if (!weft_guard_is_needed(graph, i, live)) continue;
        weft_bytes_append(text, "require ", 8);
        weft_expr_print(graph->exprs, guard->a, text);
        weft_bytes_print(text, " %s ", guard->kind == WEFT_GUARD_EQUAL ? "=" : "<=");
        weft_expr_print(graph->exprs, guard->b, text);
        if (guard->when != WEFT_EXPR_NONE) weft_bytes_append(text, " if ", 4);
        if (guard->when != WEFT_EXPR_NONE) weft_expr_print(graph->exprs, guard->when, text);
        weft_bytes_append(text, " ", 1);
        weft_text_print_string(text, guard->message, strlen(guard->message));
        weft_bytes_append(text, "\n", 1);
    }
}

static void print_return(const printer *p, size_t count, const weft_value *outputs, const char *const *names)
{
    print_indent(p);
    weft_bytes_append(p->text, "return ", 7);
    for (size_t i = 0; i < count; i++) {
        const char *name = names == NULL ? NULL : names[i];
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        if (name == NULL) weft_bytes_print(p->text, "out%zu", i);
        else if (weft_text_is_identifier(name)) weft_bytes_print(p->text, "%s", name);
        else weft_text_print_string(p->text, name, strlen(name));
        weft_bytes_append(p->text, " = ", 3);
        print_value(p, outputs[i]);
    }
    weft_bytes_append(p->text, "\n", 1);
}

weft_status *weft_graph_print_named(const weft_graph *graph, size_t count, const weft_value *outputs,
                                    const char *const *output_names, weft_bytes *out_text)
{
    weft_bytes_print(out_text, "weft " WEFT_TEXT_VERSION "\n");
    WEFT_TRY(print_symbols(graph, count, outputs, out_text));
    printer p;
    weft_status *status = printer_init(&p, graph, out_text, 1);
    if (status == NULL) {
        weft_graph_mark(graph, count, outputs, p.live);
        print_guards(graph, p.live, out_text);
        weft_bytes_append(out_text, "graph {\n", 8);
        status = print_statements(&p);
    }
    if (status == NULL) print_return(&p, count, outputs, output_names);
    printer_finish(&p);
    weft_bytes_append(out_text, "}\n", 2);
    return status == NULL ? weft_bytes_status(out_text) : status;
}

/* ---- for the public interface ---- */

/* Lies before a text that was handed out. */
typedef struct text_header {
    weft_allocator allocator;
    size_t size; /* of the block, this header included */
} text_header;

weft_status *weft_text_create(const weft_allocator *allocator, const char *text, size_t length, char **out_text)
{
    size_t size = sizeof(text_header) + length + 1;
    text_header *header = weft_allocate(allocator, size);
    if (header == NULL) return weft_status_out_of_memory();
    *header = (text_header){*weft_allocator_or_default(allocator), size};
    char *copy = memcpy(header + 1, text, length);
    copy[length] = 0;
    *out_text = copy;
    return NULL;
}

void weft_text_destroy(char *text)
{
    if (text == NULL) return;
    text_header *header = (text_header *)(void *)text - 1;
    weft_allocator allocator = header->allocator;
    weft_free(&allocator, header, header->size);
}

static weft_status *print_tensors(weft_tensors outputs, weft_value *values, weft_bytes *text)
{
    weft_graph *graph = outputs.items[0].graph;
    const weft_status *error = weft_graph_error(graph);
    for (size_t i = 0; i < outputs.count; i++) {
        if (!weft_tensor_is_valid(outputs.items[i]) && error != NULL) return weft_status_clone(graph->allocator, error);
        if (!weft_tensor_is_valid(outputs.items[i]) || outputs.items[i].graph != graph)
            return weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, "weft_graph_print",
                                      "output %zu is %s; all must be tensors of one graph", i,
                                      weft_tensor_is_valid(outputs.items[i]) ? "of another graph" : "a failed tensor");
        values[i] = (weft_value){outputs.items[i].node, outputs.items[i].output};
    }
    return weft_graph_print_named(graph, outputs.count, values, NULL, text);
}

weft_status *weft_graph_print(weft_tensors outputs, char **out_text)
{
    WEFT_REQUIRE(out_text);
    if (outputs.count > 0 && outputs.items == NULL)
        return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_graph_print",
                                  "outputs is NULL, but its length is %zu", outputs.count);
    if (outputs.count == 0 || outputs.items[0].graph == NULL)
        return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_graph_print",
                                  "at least one output is needed to print a graph, and it must belong to one");
    const weft_allocator *allocator = outputs.items[0].graph->allocator;
    size_t size = outputs.count * sizeof(weft_value);
    weft_value *values = weft_allocate(allocator, size);
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    weft_status *status = values == NULL ? weft_status_out_of_memory() : print_tensors(outputs, values, &text);
    if (status == NULL) status = weft_text_create(allocator, text.data, text.size, out_text);
    weft_bytes_finish(&text);
    weft_free(allocator, values, size);
    return status;
}
