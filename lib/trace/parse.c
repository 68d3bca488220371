/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/trace/parse.h"
#include <string.h>
#include "lib/trace/trace.h"
#include "runtime/base/status.h"

void *weft_parser_add(weft_parser *p, weft_parser_list *l, size_t size)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity == 0 ? 4 : 2 * l->capacity;
        void *items = weft_arena_allocate(&p->arena, capacity * size);
        if (items == NULL) return NULL;
        if (l->count != 0) memcpy(items, l->items, l->count * size);
        l->items = items;
        l->capacity = capacity;
    }
    return (char *)l->items + size * l->count++;
}

weft_status *weft_parser_graph_error(weft_parser *p, const char *at)
{
    const weft_status *error = weft_graph_error(p->graph);
    weft_status *status = weft_lexer_error(&p->lexer, at, weft_status_code(error), "%s", weft_status_message(error));
    weft_graph_clear_error(p->graph);
    return status;
}

weft_status *weft_parser_locate(weft_parser *p, const char *at, weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status *result = weft_lexer_error(&p->lexer, at, weft_status_code(status), "%s", weft_status_message(status));
    weft_status_destroy(status);
    return result;
}

void weft_parser_set_location(weft_parser *p, weft_graph *graph, const char *at)
{
    for (; p->counted < at; p->counted++) p->lines += *p->counted == '\n';
    for (; p->counted > at; p->counted--) p->lines -= p->counted[-1] == '\n';
    weft_graph_locate(graph, weft_graph_location(graph, p->lexer.name, p->lines + 1));
}

/* ---- scopes ---- */

void weft_parser_enter(weft_parser *p, weft_parser_scope *inner, weft_graph *graph)
{
    *inner = (weft_parser_scope){.outer = p->scope, .graph = graph};
    weft_map_init(&inner->values, p->lexer.allocator);
    p->scope = inner;
}

void weft_parser_leave(weft_parser *p)
{
    weft_map_finish(&p->scope->values, NULL);
    p->scope = p->scope->outer;
}

static weft_status *define(weft_parser *p, weft_token name, weft_tensor value)
{
    if (weft_map_find(&p->scope->values, name.start, name.length) != NULL)
        return weft_lexer_error(&p->lexer, name.start, WEFT_PARSE_ERROR, "the value '%.*s' is defined twice",
                                (int)name.length, name.start);
    weft_tensor *kept = weft_arena_copy(&p->arena, &value, sizeof value);
    if (kept == NULL || !weft_map_insert(&p->scope->values, name.start, name.length, kept))
        return weft_status_out_of_memory();
    return NULL;
}

/* A region sees its parameters and its own values alone. */
static weft_status *fail_value(weft_parser *p, const weft_token *name)
{
    bool around = false;
    for (const weft_parser_scope *outer = p->scope->outer; outer != NULL && !around; outer = outer->outer)
        around = weft_map_find(&outer->values, name->start, name->length) != NULL;
    return weft_lexer_error(&p->lexer, name->start, WEFT_PARSE_ERROR,
                            around ? "the value '%.*s' is of the graph around the region: pass it as an operand"
                                   : "the value '%.*s' is not defined before its use",
                            (int)name->length, name->start);
}

weft_status *weft_parser_take_value(weft_parser *p, weft_tensor *out_value)
{
    weft_token name;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value such as %0", &name));
    const weft_tensor *value = weft_map_find(&p->scope->values, name.start, name.length);
    if (value == NULL) return fail_value(p, &name);
    *out_value = *value;
    return NULL;
}

static bool same_types(const weft_type *a, const weft_type *b)
{
    bool same = a->dtype == b->dtype && a->shape.rank == b->shape.rank;
    for (size_t i = 0; same && i < a->shape.rank; i++)
        same = weft_extent_equal(a->shape.extents[i], b->shape.extents[i]);
    return same;
}

/* ---- statements ---- */

static weft_status *parse_results(weft_parser *p, weft_statement *s)
{
    do {
        weft_token *name = weft_parser_add(p, &s->results, sizeof *name);
        if (name == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value such as %0", name));
    } while (weft_lexer_accept(&p->lexer, ","));
    return weft_lexer_expect(&p->lexer, "=");
}

static weft_status *parse_op(weft_parser *p, weft_statement *s)
{
    weft_token token;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "the name of an op", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    s->at = token.start;
    s->op = weft_graph_find_op(p->graph, name);
    if (s->op == NULL) {
        weft_code code = strchr(name, '.') != NULL ? WEFT_NOT_REGISTERED : WEFT_PARSE_ERROR;
        char sentence[WEFT_MISSING_OP_ROOM];
        weft_graph_missing_op(p->graph, name, sentence);
        return weft_lexer_error(&p->lexer, s->at, code, "%s", sentence);
    }
    size_t size = s->op->attr_count * sizeof *s->attrs;
    s->attrs = weft_arena_allocate(&p->arena, size);
    s->given = weft_arena_allocate(&p->arena, s->op->attr_count);
    if (s->attrs == NULL || s->given == NULL) return weft_status_out_of_memory();
    memset(s->attrs, 0, size);
    memset(s->given, 0, s->op->attr_count);
    return NULL;
}

static weft_status *parse_inputs(weft_parser *p, weft_statement *s)
{
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    for (;;) {
        WEFT_TRY(weft_parser_more(p, s->inputs.count, ")", &more));
        if (!more) return NULL;
        weft_tensor *input = weft_parser_add(p, &s->inputs, sizeof *input);
        if (input == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_parser_take_value(p, input));
    }
}

/* The types after the colon must be those of the node. */
static weft_status *check_types(weft_parser *p, weft_tensor first, size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_type type;
        if (i != 0) WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
        const char *at = p->lexer.token.start;
        WEFT_TRY(weft_parser_take_type(p, &type));
        const weft_type *actual = weft_value_type(first.graph, (weft_value){first.node, i});
        if (!same_types(actual, &type))
            return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "the type given is %s, but the result has type %s",
                                    weft_type_describe(&type).text, weft_type_describe(actual).text);
    }
    return NULL;
}

static weft_status *define_results(weft_parser *p, const weft_statement *s, weft_tensor first)
{
    const weft_token *names = s->results.items;
    size_t count = weft_graph_node(first.graph, first.node)->output_count;
    if (count != s->results.count)
        return weft_lexer_error(&p->lexer, names[0].start, WEFT_PARSE_ERROR, "'%s' has %zu result%s, not %zu",
                                s->op->name, count, count == 1 ? "" : "s", s->results.count);
    for (uint32_t i = 0; i < count; i++) WEFT_TRY(define(p, names[i], (weft_tensor){first.graph, first.node, i}));
    return NULL;
}

static weft_status *parse_label(weft_parser *p, weft_tensor tensor)
{
    weft_token token;
    if (!weft_lexer_accept(&p->lexer, "as")) return NULL;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "a name", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    weft_tensor_set_name(tensor, name);
    return weft_graph_error(p->graph) == NULL ? NULL : weft_parser_graph_error(p, token.start);
}

static weft_status *parse_statement(weft_parser *p)
{
    weft_statement s = {0};
    WEFT_TRY(parse_results(p, &s));
    WEFT_TRY(parse_op(p, &s));
    WEFT_TRY(parse_inputs(p, &s));
    WEFT_TRY(weft_parser_take_attrs(p, &s));
    weft_tensors inputs = {s.inputs.count, s.inputs.items};
    weft_tensor first = weft_graph_trace(p->scope->graph, s.op, inputs, s.attrs);
    if (weft_graph_error(p->graph) != NULL) return weft_parser_graph_error(p, s.at);
    weft_parser_set_location(p, p->scope->graph, s.at);
    WEFT_TRY(define_results(p, &s, first));
    WEFT_TRY(parse_label(p, first));
    return weft_lexer_accept(&p->lexer, ":") ? check_types(p, first, s.results.count) : NULL;
}

weft_status *weft_parser_take_statements(weft_parser *p, const char *end)
{
    while (!weft_lexer_accept(&p->lexer, end)) {
        if (p->lexer.token.kind != WEFT_TOKEN_VALUE)
            return weft_lexer_unexpected(&p->lexer, *end == 'y' ? "a statement or 'yield'" : "a statement or 'return'");
        WEFT_TRY(parse_statement(p));
    }
    return NULL;
}

/* ---- regions ---- */

static weft_status *parse_parameter(weft_parser *p, weft_tensor *out_parameter)
{
    weft_token token;
    weft_type type;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a parameter such as %i", &token));
    const char *name = weft_arena_string(&p->arena, token.start + 1, token.length - 1);
    if (name == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_lexer_expect(&p->lexer, ":"));
    WEFT_TRY(weft_parser_take_type(p, &type));
    *out_parameter = weft_input(p->scope->graph, name, type.dtype, type.shape);
    if (weft_graph_error(p->graph) != NULL) return weft_parser_graph_error(p, token.start);
    return define(p, token, *out_parameter);
}

static weft_status *parse_parameters(weft_parser *p, weft_parser_list *parameters)
{
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    for (;;) {
        WEFT_TRY(weft_parser_more(p, parameters->count, ")", &more));
        if (!more) return NULL;
        weft_tensor *parameter = weft_parser_add(p, parameters, sizeof *parameter);
        if (parameter == NULL) return weft_status_out_of_memory();
        WEFT_TRY(parse_parameter(p, parameter));
    }
}

static weft_status *parse_region_body(weft_parser *p, weft_region *out_region)
{
    weft_parser_list parameters = {0}, results = {0};
    WEFT_TRY(parse_parameters(p, &parameters));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    WEFT_TRY(weft_parser_take_statements(p, "yield"));
    do {
        weft_tensor *result = weft_parser_add(p, &results, sizeof *result);
        if (result == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_parser_take_value(p, result));
    } while (weft_lexer_accept(&p->lexer, ","));
    *out_region = (weft_region){p->scope->graph, {parameters.count, parameters.items}, {results.count, results.items}};
    return weft_lexer_expect(&p->lexer, "}");
}

weft_status *weft_parser_take_region(weft_parser *p, const weft_statement *s, weft_region *out_region)
{
    weft_graph *graph;
    weft_parser_scope inner;
    WEFT_TRY(weft_parser_locate(p, p->lexer.token.start, weft_graph_create_region(p->scope->graph, &graph)));
    if (weft_op_id_of(s->op) == WEFT_OP_fold) weft_graph_set_trips(graph, s->attrs[0].extents.extents[0]);
    weft_parser_enter(p, &inner, graph);
    weft_status *status = parse_region_body(p, out_region);
    weft_parser_leave(p);
    return status;
}
