/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PICTURE_H
#define WEFT_TOOLS_PICTURE_H
/*
 * Pictures of programs: a digraph of the nodes of a view, those of a step in a cluster, others for its regions, and the
 * trees of einsum nodes. What only moves what it reads, without memory of its own, is part of an arrow's label; a
 * constant that is computed again by whatever reads it is drawn at each of its readers.
 *
 * For a script, what belongs to the program, but not to its regions, has classes: node 3 "n3", output 0 that of the
 * node after the last, step 2 "s2", an arrow "from3", "to5" and, for each node that is part of its label, "by4".
 */
#include <weft/inspect.h>
#include "forest.h"
#include "layout.h"

/* The program, or a region of it. */
typedef struct weft_picture_part {
    const weft_program_view *view;
    char prefix[24];  /* of the names of nodes; "" for the program */
    char title[256];  /* "body of step 2: fold"; "" for the program */
    double crossings; /* of arrows with the levels of nodes between their ends */
    bool every_op;
} weft_picture_part;

typedef struct weft_picture {
    size_t count, capacity;
    weft_picture_part *parts;
    const weft_forest *forest;
    bool every_op; /* draws what only moves in boxes too */
} weft_picture;

/* `view` and `forest` must outlive the picture, which is to be finished also on failure. */
weft_status *weft_picture_init(weft_picture *picture, const weft_program_view *view, const weft_forest *forest,
                               bool every_op) WEFT_MUST_USE;
void weft_picture_finish(weft_picture *picture);

/* "kernel", "matrix product". */
const char *weft_picture_engine_name(weft_program_view_engine engine);
/* Prints one digraph, all but the program in clusters. */
void weft_picture_print_dot(const weft_picture *picture, FILE *file);
/* Adds a drawing of each part. Arrows are straight, whatever lies in their way, where a part is large; where it is
 * larger, or Graphviz fails at it, steps have no frames, and types are shown under the pointer. */
weft_status *weft_picture_draw(const weft_picture *picture, weft_dot_layout *layout) WEFT_MUST_USE;
#endif
