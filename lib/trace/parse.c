/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/graph.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "lib/text/text.h"
#include "lib/trace/trace.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/status.h"

/* The values of a graph or region by name. */
typedef struct scope {
    struct scope *outer;
    weft_graph *graph;
    weft_map values; /* name -> weft_tensor of the arena */
} scope;

typedef struct parser {
    weft_lexer lexer;
    weft_arena arena; /* of what is needed while parsing */
    weft_graph *graph;
    scope *scope;
    const char *counted; /* the text before it has `lines` line ends */
    int lines;
} parser;

/* An array that grows in the arena. */
typedef struct list {
    void *items;
    size_t count, capacity;
} list;

/* What a statement says, in the order of the text. */
typedef struct statement {
    const char *at; /* where its op is named */
    const weft_op_def *op;
    list results; /* of weft_token */
    list inputs;  /* of weft_tensor */
    weft_attr *attrs;
    bool *given;
} statement;

static weft_status *parse_region(parser *p, const statement *s, weft_region *out_region);

/* Room for one more element, or NULL when out of memory. */
static void *list_add(parser *p, list *l, size_t size)
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

/* The graph's error, now with its place in the text. */
static weft_status *graph_error(parser *p, const char *at)
{
    const weft_status *error = weft_graph_error(p->graph);
    weft_status *status = weft_lexer_error(&p->lexer, at, weft_status_code(error), "%s", weft_status_message(error));
    weft_graph_clear_error(p->graph);
    return status;
}

/* `status` of a function that knows no places, with the place; takes it. */
static weft_status *placed(parser *p, const char *at, weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status *result = weft_lexer_error(&p->lexer, at, weft_status_code(status), "%s", weft_status_message(status));
    weft_status_destroy(status);
    return result;
}

/* Gives what has been made since the last call the line of `at` as its origin; lines of regions come before that of
 * their node. */
static void set_origin(parser *p, weft_graph *graph, const char *at)
{
    for (; p->counted < at; p->counted++) p->lines += *p->counted == '\n';
    for (; p->counted > at; p->counted--) p->lines -= p->counted[-1] == '\n';
    weft_graph_place(graph, weft_graph_origin(graph, p->lexer.name, p->lines + 1));
}

/* ---- scopes ---- */

static void scope_enter(parser *p, scope *inner, weft_graph *graph)
{
    *inner = (scope){.outer = p->scope, .graph = graph};
    weft_map_init(&inner->values, p->lexer.allocator);
    p->scope = inner;
}

static void scope_leave(parser *p)
{
    weft_map_finish(&p->scope->values, NULL);
    p->scope = p->scope->outer;
}

static weft_status *define(parser *p, weft_token name, weft_tensor value)
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
static weft_status *fail_value(parser *p, const weft_token *name)
{
    bool around = false;
    for (const scope *outer = p->scope->outer; outer != NULL && !around; outer = outer->outer)
        around = weft_map_find(&outer->values, name->start, name->length) != NULL;
    return weft_lexer_error(&p->lexer, name->start, WEFT_PARSE_ERROR,
                            around ? "the value '%.*s' is of the graph around the region: pass it as an operand"
                                   : "the value '%.*s' is not defined before its use",
                            (int)name->length, name->start);
}

static weft_status *take_value(parser *p, weft_tensor *out_value)
{
    weft_token name;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value such as %0", &name));
    const weft_tensor *value = weft_map_find(&p->scope->values, name.start, name.length);
    if (value == NULL) return fail_value(p, &name);
    *out_value = *value;
    return NULL;
}

/* ---- extents and types ---- */

static weft_status *take_expr(parser *p, weft_expr *out_expr)
{
    const char *start = p->lexer.token.start, *cursor = start;
    WEFT_TRY(placed(p, start, weft_expr_parse(p->graph->extents, &cursor, out_expr)));
    weft_lexer_seek(&p->lexer, cursor);
    return NULL;
}

static weft_status *take_extent(parser *p, weft_extent *out_extent)
{
    const char *at = p->lexer.token.start;
    weft_expr expr;
    WEFT_TRY(take_expr(p, &expr));
    *out_extent = weft_extent_from(p->graph, expr);
    if (weft_extent_is_valid(*out_extent)) return NULL;
    if (weft_graph_error(p->graph) != NULL) return graph_error(p, at);
    return weft_lexer_error(&p->lexer, at, WEFT_OUT_OF_RANGE,
                            "%" PRId64 " is beyond the range of an extent, which begins at %" PRId64, INT64_MIN,
                            -INT64_MAX);
}

/* Whether another item of a list that `close` ends follows; consumes the bracket or comma between. */
static weft_status *more_items(parser *p, size_t count, const char *close, bool *out_more)
{
    *out_more = !weft_lexer_accept(&p->lexer, close);
    if (*out_more && count != 0) return weft_lexer_expect(&p->lexer, ",");
    return NULL;
}

static weft_status *take_shape(parser *p, weft_shape *out_shape)
{
    list extents = {0};
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    for (;;) {
        WEFT_TRY(more_items(p, extents.count, "]", &more));
        if (!more) break;
        weft_extent *extent = list_add(p, &extents, sizeof *extent);
        if (extent == NULL) return weft_status_out_of_memory();
        WEFT_TRY(take_extent(p, extent));
    }
    *out_shape = (weft_shape){extents.count, extents.items};
    return NULL;
}

static weft_status *take_ints(parser *p, weft_ints *out_ints)
{
    list ints = {0};
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    for (;;) {
        WEFT_TRY(more_items(p, ints.count, "]", &more));
        if (!more) break;
        int64_t *item = list_add(p, &ints, sizeof *item);
        if (item == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_lexer_take_integer(&p->lexer, "an integer", item));
    }
    *out_ints = (weft_ints){ints.count, ints.items};
    return NULL;
}

static weft_status *take_dtype(parser *p, weft_dtype *out_dtype)
{
    char name[16];
    const weft_token *token = &p->lexer.token;
    snprintf(name, sizeof name, "%.*s", token->length < sizeof name ? (int)token->length : 0, token->start);
    if (token->kind != WEFT_TOKEN_IDENTIFIER || !weft_dtype_find(name, out_dtype))
        return weft_lexer_unexpected(&p->lexer, "a dtype such as f32");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

static weft_status *take_type(parser *p, weft_type *out_type)
{
    WEFT_TRY(take_dtype(p, &out_type->dtype));
    return take_shape(p, &out_type->shape);
}

static bool same_types(const weft_type *a, const weft_type *b)
{
    bool same = a->dtype == b->dtype && a->shape.rank == b->shape.rank;
    for (size_t i = 0; same && i < a->shape.rank; i++)
        same = weft_extent_equal(a->shape.extents[i], b->shape.extents[i]);
    return same;
}

/* ---- attributes ---- */

static weft_status *take_bool(parser *p, int64_t *out_value)
{
    *out_value = weft_lexer_at(&p->lexer, "true");
    if (!*out_value && !weft_lexer_at(&p->lexer, "false")) return weft_lexer_unexpected(&p->lexer, "'true' or 'false'");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

/* Keeps what `bytes` holds in the arena, NUL-terminated. */
static weft_status *keep_bytes(parser *p, const weft_bytes *bytes, weft_attr *out_attr)
{
    out_attr->data = weft_arena_string(&p->arena, bytes->data, bytes->size);
    out_attr->size = bytes->size;
    return out_attr->data == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *take_string(parser *p, const char *what, weft_attr *out_attr)
{
    weft_bytes bytes;
    weft_bytes_init(&bytes, p->lexer.allocator);
    weft_status *status = weft_lexer_take_string(&p->lexer, what, &bytes);
    if (status == NULL) status = keep_bytes(p, &bytes, out_attr);
    weft_bytes_finish(&bytes);
    return status;
}

/* The dtype of DATA: that of the last DTYPE attribute before it in the schema, u8 without one. */
static weft_status *data_dtype(parser *p, const statement *s, size_t number, weft_dtype *out_dtype)
{
    *out_dtype = WEFT_U8;
    for (size_t i = 0; i < number; i++) {
        if (s->op->attrs[i].kind != WEFT_ATTR_DTYPE) continue;
        if (!s->given[i])
            return weft_lexer_error(&p->lexer, p->lexer.token.start, WEFT_PARSE_ERROR,
                                    "attribute '%s' must come before '%s', whose elements are of that dtype",
                                    s->op->attrs[i].name, s->op->attrs[number].name);
        *out_dtype = (weft_dtype)s->attrs[i].integer;
    }
    return NULL;
}

static weft_status *take_data(parser *p, const statement *s, size_t number)
{
    weft_dtype dtype;
    WEFT_TRY(data_dtype(p, s, number, &dtype));
    weft_bytes bytes;
    weft_bytes_init(&bytes, p->lexer.allocator);
    weft_status *status = weft_text_parse_data(&p->lexer, dtype, &bytes);
    if (status == NULL) status = keep_bytes(p, &bytes, &s->attrs[number]);
    weft_bytes_finish(&bytes);
    return status;
}

static weft_status *take_dtype_attr(parser *p, weft_attr *out_attr)
{
    weft_dtype dtype;
    WEFT_TRY(take_dtype(p, &dtype));
    out_attr->integer = dtype;
    return NULL;
}

static weft_status *take_extent_attr(parser *p, weft_attr *out_attr)
{
    weft_extent extent;
    WEFT_TRY(take_extent(p, &extent));
    out_attr->extents = (weft_shape){1, weft_arena_copy(&p->arena, &extent, sizeof extent)};
    return out_attr->extents.extents == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *take_attr(parser *p, const statement *s, size_t number)
{
    weft_attr *attr = &s->attrs[number];
    switch (s->op->attrs[number].kind) {
    case WEFT_ATTR_INT: return weft_lexer_take_integer(&p->lexer, "an integer", &attr->integer);
    case WEFT_ATTR_FLOAT: return weft_lexer_take_real(&p->lexer, "a number", &attr->real);
    case WEFT_ATTR_BOOL: return take_bool(p, &attr->integer);
    case WEFT_ATTR_DTYPE: return take_dtype_attr(p, attr);
    case WEFT_ATTR_STRING: return take_string(p, "a string", attr);
    case WEFT_ATTR_INTS: return take_ints(p, &attr->ints);
    case WEFT_ATTR_EXTENT: return take_extent_attr(p, attr);
    case WEFT_ATTR_EXTENTS: return take_shape(p, &attr->extents);
    case WEFT_ATTR_DATA: return take_data(p, s, number);
    case WEFT_ATTR_REGION: return parse_region(p, s, &attr->region);
    }
    return NULL;
}

/* The number of the attribute that the next token names; attr_count when it names none. */
static size_t find_attr(const parser *p, const weft_op_def *op)
{
    size_t number = 0;
    while (number < op->attr_count &&
           (op->attrs[number].kind == WEFT_ATTR_REGION || !weft_lexer_at(&p->lexer, op->attrs[number].name)))
        number++;
    return number;
}

/* "x, y and z", those of the schema that are written between braces; cut where it gets long. */
static void list_attrs(const weft_op_def *op, char *out_text, size_t size)
{
    size_t used = 0, left = 0;
    for (size_t i = 0; i < op->attr_count; i++) left += op->attrs[i].kind != WEFT_ATTR_REGION;
    snprintf(out_text, size, "none");
    for (size_t i = 0; i < op->attr_count && used < size; i++) {
        if (op->attrs[i].kind == WEFT_ATTR_REGION) continue;
        left--;
        used += (size_t)snprintf(out_text + used, size - used, "%s%s", op->attrs[i].name,
                                 left > 1    ? ", "
                                 : left == 1 ? " and "
                                             : "");
    }
}

static weft_status *unknown_attr(const parser *p, const weft_op_def *op)
{
    char names[256], what[96];
    weft_token found = p->lexer.token;
    snprintf(what, sizeof what, "an attribute of '%.60s'", op->name);
    if (found.kind != WEFT_TOKEN_IDENTIFIER) return weft_lexer_unexpected(&p->lexer, what);
    list_attrs(op, names, sizeof names);
    return weft_lexer_error(&p->lexer, found.start, WEFT_PARSE_ERROR,
                            "'%s' has no attribute '%.*s'; its attributes: %s", op->name,
                            found.length > 60 ? 60 : (int)found.length, found.start, names);
}

static weft_status *parse_attr(parser *p, const statement *s)
{
    size_t number = find_attr(p, s->op);
    if (number == s->op->attr_count) return unknown_attr(p, s->op);
    if (s->given[number])
        return weft_lexer_error(&p->lexer, p->lexer.token.start, WEFT_PARSE_ERROR, "attribute '%s' is given twice",
                                s->op->attrs[number].name);
    weft_lexer_advance(&p->lexer);
    WEFT_TRY(weft_lexer_expect(&p->lexer, "="));
    WEFT_TRY(take_attr(p, s, number));
    s->given[number] = true;
    return NULL;
}

static weft_status *parse_attrs(parser *p, const statement *s)
{
    bool more = weft_lexer_accept(&p->lexer, "{");
    for (size_t count = 0; more; count++) {
        WEFT_TRY(more_items(p, count, "}", &more));
        if (more) WEFT_TRY(parse_attr(p, s));
    }
    for (size_t i = 0; i < s->op->attr_count; i++) {
        if (s->given[i]) continue;
        if (s->op->attrs[i].kind != WEFT_ATTR_REGION)
            return weft_lexer_error(&p->lexer, s->at, WEFT_PARSE_ERROR, "'%s' needs the attribute '%s'", s->op->name,
                                    s->op->attrs[i].name);
        WEFT_TRY(weft_lexer_expect(&p->lexer, s->op->attrs[i].name));
        WEFT_TRY(take_attr(p, s, i));
    }
    return NULL;
}

/* ---- statements ---- */

static weft_status *parse_results(parser *p, statement *s)
{
    do {
        weft_token *name = list_add(p, &s->results, sizeof *name);
        if (name == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value such as %0", name));
    } while (weft_lexer_accept(&p->lexer, ","));
    return weft_lexer_expect(&p->lexer, "=");
}

static weft_status *parse_op(parser *p, statement *s)
{
    weft_token token;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "the name of an op", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    s->at = token.start;
    s->op = weft_graph_find_op(p->graph, name);
    if (s->op == NULL) {
        weft_code code = strchr(name, '.') != NULL ? WEFT_NOT_REGISTERED : WEFT_PARSE_ERROR;
        return weft_lexer_error(&p->lexer, s->at, code, weft_graph_missing_op(p->graph, name), name);
    }
    size_t size = s->op->attr_count * sizeof *s->attrs;
    s->attrs = weft_arena_allocate(&p->arena, size);
    s->given = weft_arena_allocate(&p->arena, s->op->attr_count);
    if (s->attrs == NULL || s->given == NULL) return weft_status_out_of_memory();
    memset(s->attrs, 0, size);
    memset(s->given, 0, s->op->attr_count);
    return NULL;
}

static weft_status *parse_inputs(parser *p, statement *s)
{
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    for (;;) {
        WEFT_TRY(more_items(p, s->inputs.count, ")", &more));
        if (!more) return NULL;
        weft_tensor *input = list_add(p, &s->inputs, sizeof *input);
        if (input == NULL) return weft_status_out_of_memory();
        WEFT_TRY(take_value(p, input));
    }
}

/* The types after the colon must be those of the node. */
static weft_status *check_types(parser *p, weft_tensor first, size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_type type;
        if (i != 0) WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
        const char *at = p->lexer.token.start;
        WEFT_TRY(take_type(p, &type));
        const weft_type *actual = weft_value_type(first.graph, (weft_value){first.node, i});
        if (!same_types(actual, &type))
            return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "the type given is %s, but the result has type %s",
                                    weft_type_describe(&type).text, weft_type_describe(actual).text);
    }
    return NULL;
}

static weft_status *define_results(parser *p, const statement *s, weft_tensor first)
{
    const weft_token *names = s->results.items;
    size_t count = weft_graph_node(first.graph, first.node)->output_count;
    if (count != s->results.count)
        return weft_lexer_error(&p->lexer, names[0].start, WEFT_PARSE_ERROR, "'%s' has %zu result%s, not %zu",
                                s->op->name, count, count == 1 ? "" : "s", s->results.count);
    for (uint32_t i = 0; i < count; i++) WEFT_TRY(define(p, names[i], (weft_tensor){first.graph, first.node, i}));
    return NULL;
}

static weft_status *parse_label(parser *p, weft_tensor tensor)
{
    weft_token token;
    if (!weft_lexer_accept(&p->lexer, "as")) return NULL;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "a name", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    weft_tensor_set_name(tensor, name);
    return weft_graph_error(p->graph) == NULL ? NULL : graph_error(p, token.start);
}

static weft_status *parse_statement(parser *p)
{
    statement s = {0};
    WEFT_TRY(parse_results(p, &s));
    WEFT_TRY(parse_op(p, &s));
    WEFT_TRY(parse_inputs(p, &s));
    WEFT_TRY(parse_attrs(p, &s));
    weft_tensors inputs = {s.inputs.count, s.inputs.items};
    weft_tensor first = weft_graph_trace(p->scope->graph, s.op, inputs, s.attrs);
    if (weft_graph_error(p->graph) != NULL) return graph_error(p, s.at);
    set_origin(p, p->scope->graph, s.at);
    WEFT_TRY(define_results(p, &s, first));
    WEFT_TRY(parse_label(p, first));
    return weft_lexer_accept(&p->lexer, ":") ? check_types(p, first, s.results.count) : NULL;
}

static weft_status *parse_statements(parser *p, const char *end)
{
    while (!weft_lexer_accept(&p->lexer, end)) {
        if (p->lexer.token.kind != WEFT_TOKEN_VALUE)
            return weft_lexer_unexpected(&p->lexer, *end == 'y' ? "a statement or 'yield'" : "a statement or 'return'");
        WEFT_TRY(parse_statement(p));
    }
    return NULL;
}

/* ---- regions ---- */

static weft_status *parse_parameter(parser *p, weft_tensor *out_parameter)
{
    weft_token token;
    weft_type type;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a parameter such as %i", &token));
    const char *name = weft_arena_string(&p->arena, token.start + 1, token.length - 1);
    if (name == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_lexer_expect(&p->lexer, ":"));
    WEFT_TRY(take_type(p, &type));
    *out_parameter = weft_input(p->scope->graph, name, type.dtype, type.shape);
    if (weft_graph_error(p->graph) != NULL) return graph_error(p, token.start);
    return define(p, token, *out_parameter);
}

static weft_status *parse_parameters(parser *p, list *parameters)
{
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    for (;;) {
        WEFT_TRY(more_items(p, parameters->count, ")", &more));
        if (!more) return NULL;
        weft_tensor *parameter = list_add(p, parameters, sizeof *parameter);
        if (parameter == NULL) return weft_status_out_of_memory();
        WEFT_TRY(parse_parameter(p, parameter));
    }
}

static weft_status *parse_region_body(parser *p, weft_region *out_region)
{
    list parameters = {0}, results = {0};
    WEFT_TRY(parse_parameters(p, &parameters));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    WEFT_TRY(parse_statements(p, "yield"));
    do {
        weft_tensor *result = list_add(p, &results, sizeof *result);
        if (result == NULL) return weft_status_out_of_memory();
        WEFT_TRY(take_value(p, result));
    } while (weft_lexer_accept(&p->lexer, ","));
    *out_region = (weft_region){p->scope->graph, {parameters.count, parameters.items}, {results.count, results.items}};
    return weft_lexer_expect(&p->lexer, "}");
}

static weft_status *parse_region(parser *p, const statement *s, weft_region *out_region)
{
    weft_graph *graph;
    scope inner;
    WEFT_TRY(placed(p, p->lexer.token.start, weft_graph_create_region(p->scope->graph, &graph)));
    if (weft_op_id_of(s->op) == WEFT_OP_fold) weft_graph_set_trips(graph, s->attrs[0].extents.extents[0]);
    scope_enter(p, &inner, graph);
    weft_status *status = parse_region_body(p, out_region);
    scope_leave(p);
    return status;
}

/* ---- the whole text ---- */

static weft_status *parse_header(parser *p)
{
    WEFT_TRY(weft_lexer_expect(&p->lexer, "weft"));
    weft_token version;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_REAL, "the version " WEFT_TEXT_VERSION, &version));
    if (version.length == strlen(WEFT_TEXT_VERSION) && memcmp(version.start, WEFT_TEXT_VERSION, version.length) == 0)
        return NULL;
    return weft_lexer_error(&p->lexer, version.start, WEFT_VERSION_MISMATCH,
                            "the text is of version %.*s, this library reads " WEFT_TEXT_VERSION,
                            version.length < 40 ? (int)version.length : 40, version.start);
}

static weft_status *parse_symbol(parser *p)
{
    weft_token token;
    int64_t min, max;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "the name of a symbol", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_lexer_expect(&p->lexer, "in"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the least value of a symbol", &min));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the greatest value of a symbol", &max));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "]"));
    weft_symbol(p->graph, name, min, max);
    return weft_graph_error(p->graph) == NULL ? NULL : graph_error(p, token.start);
}

/* `refusal` of a guard that cannot hold, with what it compares; takes it. */
static weft_status *add_extents(weft_status *refusal, weft_guard_kind kind, weft_extent a, weft_extent b)
{
    weft_code code = weft_status_code(refusal);
    if (code == WEFT_OUT_OF_MEMORY) return refusal;
    weft_status *status = weft_status_create(
        NULL, code, NULL, "%s: %s must %s %s", weft_status_message(refusal), weft_extent_describe(a).text,
        kind == WEFT_GUARD_EQUAL ? "equal" : "be at most", weft_extent_describe(b).text);
    weft_status_destroy(refusal);
    return status;
}

static weft_status *parse_guard(parser *p)
{
    const char *at = p->lexer.token.start;
    weft_extent a, b, when = weft_extent_of(0);
    weft_attr message = {0};
    WEFT_TRY(take_extent(p, &a));
    bool at_most = weft_lexer_accept(&p->lexer, "<");
    WEFT_TRY(weft_lexer_expect(&p->lexer, "="));
    WEFT_TRY(take_extent(p, &b));
    bool has_condition = weft_lexer_accept(&p->lexer, "if");
    if (has_condition) WEFT_TRY(take_extent(p, &when));
    const char *start = p->lexer.token.start;
    WEFT_TRY(take_string(p, "the message of the guard in quotes", &message));
    if (message.size != strlen(message.data))
        return weft_lexer_error(&p->lexer, start, WEFT_PARSE_ERROR,
                                "the message of a guard cannot hold a NUL byte");
    weft_guard_kind kind = at_most ? WEFT_GUARD_AT_MOST : WEFT_GUARD_EQUAL;
    if (weft_guard_is_proven(p->graph, kind, a, b)) return NULL;
    weft_code code = at_most ? WEFT_OUT_OF_RANGE : WEFT_SHAPE_MISMATCH;
    weft_status *status = weft_status_create(p->graph->allocator, code, NULL, "%s", (const char *)message.data);
    weft_expr condition = has_condition ? weft_extent_expr(p->graph, when) : WEFT_EXPR_NONE;
    status = weft_guard_settle_when(p->graph, kind, a, b, condition, status);
    if (status != NULL) weft_graph_fail(p->graph, add_extents(status, kind, a, b));
    if (status != NULL) return graph_error(p, at);
    set_origin(p, p->graph, at);
    return NULL;
}

/* The name before an output, or "out" and its number when there is none. */
static weft_status *parse_output_name(parser *p, size_t number, const char **out_name)
{
    weft_token token = p->lexer.token;
    weft_attr name;
    char text[32];
    snprintf(text, sizeof text, "out%zu", number);
    *out_name = weft_arena_string(&p->arena, text, strlen(text));
    if (token.kind == WEFT_TOKEN_IDENTIFIER) {
        *out_name = weft_arena_string(&p->arena, token.start, token.length);
        weft_lexer_advance(&p->lexer);
    }
    if (token.kind == WEFT_TOKEN_STRING) {
        WEFT_TRY(take_string(p, "the name of an output", &name));
        *out_name = name.data;
        if (name.size != strlen(name.data))
            return weft_lexer_error(&p->lexer, token.start, WEFT_PARSE_ERROR, "a name cannot hold a NUL byte");
    }
    if (*out_name == NULL) return weft_status_out_of_memory();
    bool named = token.kind == WEFT_TOKEN_IDENTIFIER || token.kind == WEFT_TOKEN_STRING;
    return named ? weft_lexer_expect(&p->lexer, "=") : NULL;
}

/* Compiling refuses such names too, but knows no place. */
static weft_status *check_output_name(parser *p, weft_map *seen, const char *at, const char *name)
{
    size_t length = strlen(name);
    if (length == 0) return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "the name of an output is empty");
    if (weft_map_find(seen, name, length) != NULL)
        return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "two outputs are called '%s'", name);
    return weft_map_insert(seen, name, length, (void *)name) ? NULL : weft_status_out_of_memory();
}

static weft_status *parse_output(parser *p, weft_map *seen, list *outputs, list *names)
{
    const char *at = p->lexer.token.start;
    const char **name = list_add(p, names, sizeof *name);
    weft_tensor *output = list_add(p, outputs, sizeof *output);
    if (name == NULL || output == NULL) return weft_status_out_of_memory();
    WEFT_TRY(parse_output_name(p, outputs->count - 1, name));
    WEFT_TRY(check_output_name(p, seen, at, *name));
    return take_value(p, output);
}

static weft_status *parse_outputs(parser *p, list *outputs, list *names)
{
    weft_map seen;
    weft_map_init(&seen, p->lexer.allocator);
    weft_status *status;
    do {
        status = parse_output(p, &seen, outputs, names);
    } while (status == NULL && weft_lexer_accept(&p->lexer, ","));
    weft_map_finish(&seen, NULL);
    return status;
}

static weft_status *parse_text(parser *p, list *outputs, list *names)
{
    WEFT_TRY(parse_header(p));
    while (weft_lexer_accept(&p->lexer, "symbol")) WEFT_TRY(parse_symbol(p));
    while (weft_lexer_accept(&p->lexer, "require")) WEFT_TRY(parse_guard(p));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "graph"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    WEFT_TRY(parse_statements(p, "return"));
    WEFT_TRY(parse_outputs(p, outputs, names));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "}"));
    return p->lexer.token.kind == WEFT_TOKEN_END ? NULL : weft_lexer_unexpected(&p->lexer, "the end of the text");
}

/* ---- modules ---- */

/* What is handed out, and the memory behind it. */
typedef struct module {
    weft_module public;
    weft_allocator allocator;
    weft_arena arena; /* outputs and their names, inputs */
} module;

void weft_module_destroy(weft_module *public)
{
    if (public == NULL) return;
    module *m = (module *)public;
    weft_graph_destroy(public->graph);
    weft_arena_finish(&m->arena);
    weft_allocator allocator = m->allocator;
    weft_free(&allocator, m, sizeof *m);
}

static bool is_input(const weft_graph *graph, uint32_t node)
{
    return weft_op_id_of(weft_graph_node(graph, node)->op) == WEFT_OP_input;
}

static weft_status *module_fill_inputs(module *m)
{
    weft_graph *graph = m->public.graph;
    size_t count = 0, taken = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += is_input(graph, n);
    weft_tensor *inputs = weft_arena_allocate(&m->arena, count * sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (is_input(graph, n)) inputs[taken++] = (weft_tensor){graph, n, 0};
    m->public.inputs = (weft_tensors){count, inputs};
    return NULL;
}

static weft_status *module_fill(module *m, const list *outputs, const list *names)
{
    WEFT_TRY(module_fill_inputs(m));
    const char *const *texts = names->items;
    const char **copies = weft_arena_allocate(&m->arena, names->count * sizeof *copies);
    weft_tensor *tensors = weft_arena_copy(&m->arena, outputs->items, outputs->count * sizeof *tensors);
    if (copies == NULL || tensors == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < names->count; i++) {
        copies[i] = weft_arena_string(&m->arena, texts[i], strlen(texts[i]));
        if (copies[i] == NULL) return weft_status_out_of_memory();
    }
    m->public.outputs = (weft_tensors){outputs->count, tensors};
    m->public.output_names = copies;
    return NULL;
}

static WEFT_PLAIN_FUNCTION(weft_status *, module_parse,
                           (module *m, const char *name, const char *text, size_t length), (m, name, text, length))
{
    parser p = {.graph = m->public.graph};
    scope outermost;
    list outputs = {0}, names = {0};
    weft_arena_init(&p.arena, &m->allocator);
    const char *copy = weft_arena_string(&p.arena, text, length);
    weft_status *status = copy == NULL ? weft_status_out_of_memory() : NULL;
    if (status == NULL) {
        weft_lexer_init(&p.lexer, &m->allocator, name, copy);
        p.counted = copy;
        scope_enter(&p, &outermost, p.graph);
        if (strlen(copy) != length)
            status = weft_lexer_error(&p.lexer, copy + strlen(copy), WEFT_PARSE_ERROR, "a text cannot hold a NUL byte");
        if (status == NULL) status = parse_text(&p, &outputs, &names);
        if (status == NULL) status = module_fill(m, &outputs, &names);
        scope_leave(&p);
    }
    weft_arena_finish(&p.arena);
    return status;
}

weft_status *weft_graph_parse(const char *name, const char *text, size_t length, const weft_graph_options *options,
                              size_t extension_count, const weft_extension *const *extensions, weft_module **out_module)
{
    WEFT_REQUIRE(text);
    WEFT_REQUIRE(out_module);
    if (extension_count > 0) WEFT_REQUIRE(extensions);
    const weft_allocator *allocator = weft_allocator_or_default(options == NULL ? NULL : options->allocator);
    module *m = weft_allocate_zeroed(allocator, sizeof *m);
    if (m == NULL) return weft_status_out_of_memory();
    m->allocator = *allocator;
    weft_arena_init(&m->arena, &m->allocator);
    weft_status *status = weft_graph_create(options, &m->public.graph);
    for (size_t i = 0; i < extension_count && status == NULL; i++)
        status = weft_graph_register_for("weft_graph_parse", m->public.graph, extensions[i]);
    if (status == NULL) status = module_parse(m, name == NULL ? "text" : name, text, length);
    if (status == NULL) *out_module = &m->public;
    else weft_module_destroy(&m->public);
    return status;
}
