/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_LAYOUT_H
#define WEFT_TOOLS_LAYOUT_H
/* Digraphs drawn by Graphviz, one below the other. Nothing on the machine changes a picture: no fonts, no
 * configuration, no locale. */
#include <stdio.h>
#include <weft/base.h>

typedef struct weft_dot_layout {
    char *text; /* groups of SVG */
    size_t length;
    double width, height; /* in points */
} weft_dot_layout;

/*
 * Draws what `print` prints, a digraph in the DOT language and UTF-8, below what is there. Its font's name must begin
 * with "Courier": each byte of text takes 0.6 of the font's size. Graphviz works in a process of its own: a signal of
 * interrupt.h ends it, and so does `seconds` of computing. The error is WEFT_CANCELLED then, and WEFT_OVER_LIMIT;
 * WEFT_INTERNAL if Graphviz fails or crashes.
 */
weft_status *weft_dot_layout_add(weft_dot_layout *layout, unsigned seconds,
                                 void (*print)(const void *context, FILE *file), const void *context) WEFT_MUST_USE;
/* Prints an "svg" element. */
void weft_dot_layout_print(const weft_dot_layout *layout, FILE *file);
void weft_dot_layout_finish(weft_dot_layout *layout);
#endif
