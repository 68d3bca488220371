/* SPDX-License-Identifier: Apache-2.0 */
/* The whole text, and the module it becomes. */
#include <weft/graph.h>
#include <stdio.h>
#include <string.h>
#include "lib/trace/parse.h"
#include "lib/trace/trace.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/status.h"

/* ---- the whole text ---- */

static weft_status *parse_header(weft_parser *p)
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

static weft_status *parse_symbol(weft_parser *p)
{
    weft_token token;
    int64_t min, max;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, "the name of a symbol", &token));
    const char *name = weft_arena_string(&p->arena, token.start, token.length);
    if (name == NULL) return weft_status_out_of_memory();
    if (weft_expr_find(p->graph->exprs, name) != WEFT_EXPR_NONE)
        return weft_lexer_error(&p->lexer, token.start, WEFT_PARSE_ERROR, "symbol '%s' is declared twice", name);
    WEFT_TRY(weft_lexer_expect(&p->lexer, "in"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the least value of a symbol", &min));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the greatest value of a symbol", &max));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "]"));
    weft_symbol(p->graph, name, min, max);
    return weft_graph_error(p->graph) == NULL ? NULL : weft_parser_graph_error(p, token.start);
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

static weft_status *parse_guard(weft_parser *p)
{
    const char *at = p->lexer.token.start;
    weft_extent a, b, when = weft_extent_of(0);
    weft_attr message = {0};
    WEFT_TRY(weft_parser_take_extent(p, &a));
    bool at_most = weft_lexer_accept(&p->lexer, "<");
    if (!weft_lexer_accept(&p->lexer, "=")) return weft_lexer_unexpected(&p->lexer, at_most ? "'='" : "'=' or '<='");
    WEFT_TRY(weft_parser_take_extent(p, &b));
    bool has_condition = weft_lexer_accept(&p->lexer, "if");
    if (has_condition) WEFT_TRY(weft_parser_take_extent(p, &when));
    const char *start = p->lexer.token.start;
    WEFT_TRY(weft_parser_take_string(p, "the message of the guard in quotes", &message));
    if (message.size != strlen(message.data))
        return weft_lexer_error(&p->lexer, start, WEFT_PARSE_ERROR,
                                "the message of a guard must not contain a NUL byte");
    weft_guard_kind kind = at_most ? WEFT_GUARD_AT_MOST : WEFT_GUARD_EQUAL;
    if (weft_guard_is_proven(p->graph, kind, a, b)) return NULL;
    weft_code code = at_most ? WEFT_OUT_OF_RANGE : WEFT_SHAPE_MISMATCH;
    weft_status *status = weft_status_create(p->graph->allocator, code, NULL, "%s", (const char *)message.data);
    weft_expr condition = has_condition ? weft_extent_expr(p->graph, when) : WEFT_EXPR_NONE;
    status = weft_guard_settle_when(p->graph, kind, a, b, condition, status);
    if (status != NULL) weft_graph_fail(p->graph, add_extents(status, kind, a, b));
    if (status != NULL) return weft_parser_graph_error(p, at);
    weft_parser_set_location(p, p->graph, at);
    return NULL;
}

/* The name before an output, or "out" and its number when there is none. */
static weft_status *parse_output_name(weft_parser *p, size_t number, const char **out_name)
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
        WEFT_TRY(weft_parser_take_string(p, "the name of an output", &name));
        *out_name = name.data;
        if (name.size != strlen(name.data))
            return weft_lexer_error(&p->lexer, token.start, WEFT_PARSE_ERROR, "a name must not contain a NUL byte");
    }
    if (*out_name == NULL) return weft_status_out_of_memory();
    bool named = token.kind == WEFT_TOKEN_IDENTIFIER || token.kind == WEFT_TOKEN_STRING;
    return named ? weft_lexer_expect(&p->lexer, "=") : NULL;
}

/* Compiling refuses such names too, but knows no location. */
static weft_status *check_output_name(weft_parser *p, weft_map *seen, const char *at, const char *name)
{
    size_t length = strlen(name);
    if (length == 0) return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "the name of an output is empty");
    if (weft_map_find(seen, name, length) != NULL)
        return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "two outputs are called '%s'", name);
    return weft_map_insert(seen, name, length, (void *)name) ? NULL : weft_status_out_of_memory();
}

static weft_status *parse_output(weft_parser *p, weft_map *seen, weft_parser_list *outputs, weft_parser_list *names)
{
    const char *at = p->lexer.token.start;
    const char **name = weft_parser_add(p, names, sizeof *name);
    weft_tensor *output = weft_parser_add(p, outputs, sizeof *output);
    if (name == NULL || output == NULL) return weft_status_out_of_memory();
    WEFT_TRY(parse_output_name(p, outputs->count - 1, name));
    WEFT_TRY(check_output_name(p, seen, at, *name));
    return weft_parser_take_value(p, output);
}

static weft_status *parse_outputs(weft_parser *p, weft_parser_list *outputs, weft_parser_list *names)
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

static weft_status *parse_text(weft_parser *p, weft_parser_list *outputs, weft_parser_list *names)
{
    WEFT_TRY(parse_header(p));
    while (weft_lexer_accept(&p->lexer, "symbol")) WEFT_TRY(parse_symbol(p));
    while (weft_lexer_accept(&p->lexer, "require")) WEFT_TRY(parse_guard(p));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "graph"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    WEFT_TRY(weft_parser_take_statements(p, "return"));
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

static weft_status *module_fill(module *m, const weft_parser_list *outputs, const weft_parser_list *names)
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

static WEFT_PLAIN_FUNCTION(weft_status *, module_parse, (module * m, const char *name, const char *text, size_t length),
                           (m, name, text, length))
{
    weft_parser p = {.graph = m->public.graph};
    weft_parser_scope outermost;
    weft_parser_list outputs = {0}, names = {0};
    weft_arena_init(&p.arena, &m->allocator);
    const char *copy = weft_arena_string(&p.arena, text, length);
    weft_status *status = copy == NULL ? weft_status_out_of_memory() : NULL;
    if (status == NULL) {
        weft_lexer_init(&p.lexer, &m->allocator, name, copy);
        p.counted = copy;
        weft_parser_enter(&p, &outermost, p.graph);
        if (strlen(copy) != length)
            status =
                weft_lexer_error(&p.lexer, copy + strlen(copy), WEFT_PARSE_ERROR, "a text must not contain a NUL byte");
        if (status == NULL) status = parse_text(&p, &outputs, &names);
        if (status == NULL) status = module_fill(m, &outputs, &names);
        weft_parser_leave(&p);
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
    if (status == NULL)
        status = weft_status_locate(module_parse(m, name == NULL ? "text" : name, text, length), "weft_graph_parse");
    if (status == NULL) *out_module = &m->public;
    else weft_module_destroy(&m->public);
    return status;
}
