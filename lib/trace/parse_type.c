/* SPDX-License-Identifier: Apache-2.0 */
/* Extents, types and lists. */
#include "lib/trace/parse.h"
#include <inttypes.h>
#include <stdio.h>
#include "runtime/base/status.h"

static weft_status *take_expr(weft_parser *p, weft_expr *out_expr)
{
    const char *start = p->lexer.token.start, *cursor = start;
    WEFT_TRY(weft_parser_locate(p, start, weft_expr_parse(p->graph->exprs, &cursor, out_expr)));
    weft_lexer_seek(&p->lexer, cursor);
    return NULL;
}

weft_status *weft_parser_take_extent(weft_parser *p, weft_extent *out_extent)
{
    const char *at = p->lexer.token.start;
    weft_expr expr;
    WEFT_TRY(take_expr(p, &expr));
    *out_extent = weft_extent_from(p->graph, expr);
    if (weft_extent_is_valid(*out_extent)) return NULL;
    if (weft_graph_error(p->graph) != NULL) return weft_parser_graph_error(p, at);
    return weft_lexer_error(&p->lexer, at, WEFT_OUT_OF_RANGE,
                            "%" PRId64 " is beyond the range of an extent, which begins at %" PRId64, INT64_MIN,
                            -INT64_MAX);
}

weft_status *weft_parser_more(weft_parser *p, size_t count, const char *close, bool *out_more)
{
    *out_more = !weft_lexer_accept(&p->lexer, close);
    if (*out_more && count != 0) return weft_lexer_expect(&p->lexer, ",");
    return NULL;
}

weft_status *weft_parser_take_shape(weft_parser *p, weft_shape *out_shape)
{
    weft_parser_list extents = {0};
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    for (;;) {
        WEFT_TRY(weft_parser_more(p, extents.count, "]", &more));
        if (!more) break;
        weft_extent *extent = weft_parser_add(p, &extents, sizeof *extent);
        if (extent == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_parser_take_extent(p, extent));
    }
    *out_shape = (weft_shape){extents.count, extents.items};
    return NULL;
}

weft_status *weft_parser_take_ints(weft_parser *p, weft_ints *out_ints)
{
    weft_parser_list ints = {0};
    bool more;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    for (;;) {
        WEFT_TRY(weft_parser_more(p, ints.count, "]", &more));
        if (!more) break;
        int64_t *item = weft_parser_add(p, &ints, sizeof *item);
        if (item == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_lexer_take_integer(&p->lexer, "an integer", item));
    }
    *out_ints = (weft_ints){ints.count, ints.items};
    return NULL;
}

weft_status *weft_parser_take_dtype(weft_parser *p, weft_dtype *out_dtype)
{
    char name[16];
    const weft_token *token = &p->lexer.token;
    snprintf(name, sizeof name, "%.*s", token->length < sizeof name ? (int)token->length : 0, token->start);
    if (token->kind != WEFT_TOKEN_IDENTIFIER || !weft_dtype_find(name, out_dtype))
        return weft_lexer_unexpected(&p->lexer, "a dtype such as f32");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

weft_status *weft_parser_take_type(weft_parser *p, weft_type *out_type)
{
    WEFT_TRY(weft_parser_take_dtype(p, &out_type->dtype));
    return weft_parser_take_shape(p, &out_type->shape);
}
