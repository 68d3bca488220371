/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PICTURE_H
#define WEFT_TOOLS_PICTURE_H
/* Pictures of programs: the nodes of a view in boxes, one for each kernel, product, extension's op or region op. */
#include <stdio.h>
#include <weft/inspect.h>
#include "forest.h"

/* A node of the view, or, from node_count on, an output. */
typedef struct weft_picture_node {
    uint32_t box;
    uint32_t row;       /* in the box, from the top */
    double x, y, width; /* of the centre; of the whole */
} weft_picture_node;

typedef struct weft_picture_box {
    bool drawn;                 /* one that holds what no step computes is only a place */
    uint32_t step;              /* of the view, if drawn */
    uint32_t row;               /* of the picture */
    uint32_t rows;              /* of nodes in it */
    double x, y, width, height; /* of the centre */
    double order;               /* in its row */
} weft_picture_box;

typedef struct weft_picture {
    const weft_program_view *view;
    size_t node_count, box_count;
    weft_picture_node *nodes;
    weft_picture_box *boxes; /* those of steps first, by their number */
    double width, height;
    char title[160];              /* of a region: "body of step 2: fold"; empty for the program */
    size_t region_count;          /* of all folds, whiles and conds */
    struct weft_picture *regions; /* each a picture of its own, to be put below */
    const weft_forest *forest;    /* trees to be put below these; NULL: none */
} weft_picture;

/* In pixels; BOW is how far an arrow goes aside that passes by nodes of its box. */
enum { WEFT_PICTURE_NODE_HEIGHT = 26, WEFT_PICTURE_CHARACTER = 7, WEFT_PICTURE_BOW = 30 };

/* Decides where everything goes. */
weft_status *weft_picture_init(weft_picture *picture, const weft_program_view *view) WEFT_MUST_USE;
void weft_picture_finish(weft_picture *picture);

/* "kernel", "matrix product". */
const char *weft_picture_engine_name(weft_program_view_engine engine);
/* What is written on a node, and on a box that is drawn. */
void weft_picture_label(const weft_picture *picture, size_t node, char *out_text, size_t size);
void weft_picture_box_label(const weft_picture *picture, size_t box, char *out_text, size_t size);

/* An arrow between two nodes with the type of what flows. */
typedef struct weft_picture_edge {
    uint32_t from, to;
    const char *type;
} weft_picture_edge;
/* Arrow number `i` into node `to`; false past the last. */
bool weft_picture_edge_find(const weft_picture *picture, uint32_t to, size_t i, weft_picture_edge *out_edge);

void weft_picture_print_dot(const weft_picture *picture, FILE *file);
void weft_picture_print_svg(const weft_picture *picture, FILE *file);
/* Prints `text` as a string of the DOT language. */
void weft_picture_print_quoted(const char *text, FILE *file);
/* Prints `text` with `&`, `<`, `>` and `"` as XML writes them. */
void weft_picture_print_xml(const char *text, FILE *file);
#endif
