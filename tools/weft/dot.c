/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

void weft_picture_print_quoted(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
    fputc('"', file);
}

static void print_node(const weft_picture *picture, const char *prefix, size_t n, FILE *file)
{
    const weft_program_view *view = picture->view;
    bool boundary = n >= view->node_count || view->nodes[n].place == WEFT_VIEW_GIVEN;
    bool repeated = !boundary && view->nodes[n].place == WEFT_VIEW_REPEATED;
    char label[160];
    weft_picture_label(picture, n, label, sizeof label);
    fprintf(file, "    %sn%zu [shape=%s%s, label=", prefix, n, boundary ? "oval" : "box",
            repeated ? ", style=dashed" : "");
    weft_picture_print_quoted(label, file);
    fputs("]\n", file);
}

static void print_box(const weft_picture *picture, const char *prefix, size_t b, FILE *file)
{
    char label[160];
    bool drawn = picture->boxes[b].drawn;
    if (drawn) {
        weft_picture_box_label(picture, b, label, sizeof label);
        fprintf(file, "  subgraph cluster_%s%zu {\n    label=", prefix, b);
        weft_picture_print_quoted(label, file);
        fputc('\n', file);
    }
    for (size_t n = 0; n < picture->node_count; n++)
        if (picture->nodes[n].box == b) print_node(picture, prefix, n, file);
    if (drawn) fputs("  }\n", file);
}

/* Names of nodes begin with `prefix`, so that those of regions are others. */
static void print_picture(const weft_picture *picture, const char *prefix, FILE *file)
{
    weft_picture_edge edge;
    for (size_t b = 0; b < picture->box_count; b++) print_box(picture, prefix, b, file);
    for (uint32_t n = 0; n < picture->node_count; n++) {
        for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++) {
            fprintf(file, "  %sn%u -> %sn%u [label=", prefix, (unsigned)edge.from, prefix, (unsigned)edge.to);
            weft_picture_print_quoted(edge.type, file);
            fputs("]\n", file);
        }
    }
    for (size_t i = 0; i < picture->region_count; i++) {
        char inner[256];
        snprintf(inner, sizeof inner, "%.200sr%zu_", prefix, i);
        fprintf(file, "  subgraph cluster_%s {\n    label=", inner);
        weft_picture_print_quoted(picture->regions[i].title, file);
        fputc('\n', file);
        print_picture(&picture->regions[i], inner, file);
        fputs("  }\n", file);
    }
}

void weft_picture_print_dot(const weft_picture *picture, FILE *file)
{
    fputs("digraph program {\n  node [fontname=monospace]\n  edge [fontname=monospace, fontsize=10]\n", file);
    print_picture(picture, "", file);
    if (picture->forest != NULL) weft_forest_print_dot(picture->forest, file);
    fputs("}\n", file);
}
