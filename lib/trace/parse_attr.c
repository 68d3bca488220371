/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes, as the schema of an op has them. */
#include "lib/trace/parse.h"
#include <stdio.h>
#include "runtime/base/status.h"

static weft_status *take_bool(weft_parser *p, int64_t *out_value)
{
    *out_value = weft_lexer_at(&p->lexer, "true");
    if (!*out_value && !weft_lexer_at(&p->lexer, "false")) return weft_lexer_unexpected(&p->lexer, "'true' or 'false'");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

/* Keeps what `bytes` holds in the arena, NUL-terminated. */
static weft_status *keep_bytes(weft_parser *p, const weft_bytes *bytes, weft_attr *out_attr)
{
    out_attr->data = weft_arena_string(&p->arena, bytes->data, bytes->size);
    out_attr->size = bytes->size;
    return out_attr->data == NULL ? weft_status_out_of_memory() : NULL;
}

weft_status *weft_parser_take_string(weft_parser *p, const char *what, weft_attr *out_attr)
{
    weft_bytes bytes;
    weft_bytes_init(&bytes, p->lexer.allocator);
    weft_status *status = weft_lexer_take_string(&p->lexer, what, &bytes);
    if (status == NULL) status = keep_bytes(p, &bytes, out_attr);
    weft_bytes_finish(&bytes);
    return status;
}

/* The dtype of DATA: that of the last DTYPE attribute before it in the schema, u8 without one. */
static weft_status *data_dtype(weft_parser *p, const weft_statement *s, size_t number, weft_dtype *out_dtype)
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

static weft_status *take_data(weft_parser *p, const weft_statement *s, size_t number)
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

static weft_status *take_dtype_attr(weft_parser *p, weft_attr *out_attr)
{
    weft_dtype dtype;
    WEFT_TRY(weft_parser_take_dtype(p, &dtype));
    out_attr->integer = dtype;
    return NULL;
}

static weft_status *take_extent_attr(weft_parser *p, weft_attr *out_attr)
{
    weft_extent extent;
    WEFT_TRY(weft_parser_take_extent(p, &extent));
    out_attr->extents = (weft_shape){1, weft_arena_copy(&p->arena, &extent, sizeof extent)};
    return out_attr->extents.extents == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *take_attr(weft_parser *p, const weft_statement *s, size_t number)
{
    weft_attr *attr = &s->attrs[number];
    switch (s->op->attrs[number].kind) {
    case WEFT_ATTR_INT: return weft_lexer_take_integer(&p->lexer, "an integer", &attr->integer);
    case WEFT_ATTR_FLOAT: return weft_lexer_take_real(&p->lexer, "a number", false, &attr->real);
    case WEFT_ATTR_BOOL: return take_bool(p, &attr->integer);
    case WEFT_ATTR_DTYPE: return take_dtype_attr(p, attr);
    case WEFT_ATTR_STRING: return weft_parser_take_string(p, "a string", attr);
    case WEFT_ATTR_INTS: return weft_parser_take_ints(p, &attr->ints);
    case WEFT_ATTR_EXTENT: return take_extent_attr(p, attr);
    case WEFT_ATTR_EXTENTS: return weft_parser_take_shape(p, &attr->extents);
    case WEFT_ATTR_DATA: return take_data(p, s, number);
    case WEFT_ATTR_REGION: return weft_parser_take_region(p, s, &attr->region);
    }
    return NULL;
}

/* The number of the attribute that the next token names; attr_count when it names none. */
static size_t find_attr(const weft_parser *p, const weft_op_def *op)
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

static weft_status *unknown_attr(const weft_parser *p, const weft_op_def *op)
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

static weft_status *parse_attr(weft_parser *p, const weft_statement *s)
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

weft_status *weft_parser_take_attrs(weft_parser *p, const weft_statement *s)
{
    bool more = weft_lexer_accept(&p->lexer, "{");
    for (size_t count = 0; more; count++) {
        WEFT_TRY(weft_parser_more(p, count, "}", &more));
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
