/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TRACE_PARSE_H
#define WEFT_TRACE_PARSE_H
/* Parsing the text form of a graph: shared declarations. Each function consumes the next item of the text, or fails
 * with its position. */
#include "lib/graph/graph.h"
#include "lib/text/text.h"

/* The values of a graph or region by name. */
typedef struct weft_parser_scope {
    struct weft_parser_scope *outer;
    weft_graph *graph;
    weft_map values; /* name -> weft_tensor of the arena */
} weft_parser_scope;

typedef struct weft_parser {
    weft_lexer lexer;
    weft_arena arena; /* of what is needed while parsing */
    weft_graph *graph;
    weft_parser_scope *scope;
    const char *counted; /* the text before it has `lines` line ends */
    int lines;
} weft_parser;

/* An array that grows in the arena. */
typedef struct weft_parser_list {
    void *items;
    size_t count, capacity;
} weft_parser_list;

/* A statement, in the order of the text. */
typedef struct weft_statement {
    const char *at; /* where its op is named */
    const weft_op_def *op;
    weft_parser_list results; /* of weft_token */
    weft_parser_list inputs;  /* of weft_tensor */
    weft_attr *attrs;
    bool *given;
} weft_statement;

/* Room for one more element, or NULL when out of memory. */
void *weft_parser_add(weft_parser *p, weft_parser_list *l, size_t size);
/* Whether another item of a list that `close` ends follows; consumes the bracket or comma between. */
weft_status *weft_parser_more(weft_parser *p, size_t count, const char *close, bool *out_more);

/* ---- source locations ---- */

/* The graph's error, with its location in the text. */
weft_status *weft_parser_graph_error(weft_parser *p, const char *at);
/* `status` of a function that knows no locations, with the location; takes it. */
weft_status *weft_parser_locate(weft_parser *p, const char *at, weft_status *status);
/* Gives what has been made since the last call the line of `at` as its location; lines of regions come before that of
 * their node. */
void weft_parser_set_location(weft_parser *p, weft_graph *graph, const char *at);

/* ---- parts ---- */

void weft_parser_enter(weft_parser *p, weft_parser_scope *inner, weft_graph *graph);
void weft_parser_leave(weft_parser *p);

weft_status *weft_parser_take_value(weft_parser *p, weft_tensor *out_value);
weft_status *weft_parser_take_extent(weft_parser *p, weft_extent *out_extent);
/* Lists are of the arena. */
weft_status *weft_parser_take_shape(weft_parser *p, weft_shape *out_shape);
weft_status *weft_parser_take_ints(weft_parser *p, weft_ints *out_ints);
weft_status *weft_parser_take_dtype(weft_parser *p, weft_dtype *out_dtype);
weft_status *weft_parser_take_type(weft_parser *p, weft_type *out_type);
/* Fills `data`, of the arena and NUL-terminated, and `size`; `what` is for errors. */
weft_status *weft_parser_take_string(weft_parser *p, const char *what, weft_attr *out_attr);
/* Fills the attributes of a statement, regions included. */
weft_status *weft_parser_take_attrs(weft_parser *p, const weft_statement *s);
weft_status *weft_parser_take_region(weft_parser *p, const weft_statement *s, weft_region *out_region);
/* Statements up to the word `end`, which is taken too. */
weft_status *weft_parser_take_statements(weft_parser *p, const char *end);
#endif
