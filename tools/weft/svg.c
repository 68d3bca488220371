/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include <math.h>
#include <string.h>

/* Of the line above the picture of a region. */
enum { TITLE_HEIGHT = 28 };

void weft_picture_print_xml(const char *text, FILE *file)
{
    for (; *text != 0; text++) {
        switch (*text) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
        }
    }
}

static void print_text(double x, double y, const char *style, const char *text, FILE *file)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    weft_picture_print_xml(text, file);
    fputs("</text>\n", file);
}

typedef struct mark_text {
    char text[48];
} mark_text;

/* What a script finds a shape by; those of regions, whose numbers are others, have none. */
static mark_text mark(const weft_picture *picture, const char *name, size_t number)
{
    mark_text out = {""};
    if (picture->title[0] == 0) snprintf(out.text, sizeof out.text, " data-%s=\"%zu\"", name, number);
    return out;
}

static void print_box(const weft_picture *picture, size_t number, FILE *file)
{
    static const char *const fills[] = {[WEFT_ENGINE_KERNEL] = "#e3eefb",
                                        [WEFT_ENGINE_PRODUCT] = "#fdecd8",
                                        [WEFT_ENGINE_SORT] = "#fbe6ea",
                                        [WEFT_ENGINE_EXTENSION] = "#e4f4e2",
                                        [WEFT_ENGINE_REGION] = "#f0e6f7"};
    const weft_picture_box *box = &picture->boxes[number];
    char label[160];
    if (!box->drawn) return;
    double left = box->x - box->width / 2, top = box->y - box->height / 2;
    fprintf(file,
            "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" fill=\"%s\" "
            "stroke=\"#8899aa\"/>\n",
            mark(picture, "step", box->step).text, left, top, box->width, box->height,
            fills[picture->view->steps[box->step].engine]);
    weft_picture_box_label(picture, number, label, sizeof label);
    print_text(left + 8, top + 16, "title", label, file);
}

/* Where the middle of an arrow goes to the side of the straight way: past the nodes between, if there are any in its
 * box. */
static double find_bow(const weft_picture_node *from, const weft_picture_node *to)
{
    double widest = from->width > to->width ? from->width : to->width;
    return from->box == to->box && to->row > from->row + 1 ? widest / 2 + WEFT_PICTURE_BOW : 0;
}

static void print_edge(const weft_picture *picture, const weft_picture_edge *edge, FILE *file)
{
    const weft_picture_node *from = &picture->nodes[edge->from], *to = &picture->nodes[edge->to];
    double y0 = from->y + WEFT_PICTURE_NODE_HEIGHT / 2.0, y1 = to->y - WEFT_PICTURE_NODE_HEIGHT / 2.0 - 2;
    double bend = (y1 - y0) / 2, bow = find_bow(from, to) * 4 / 3;
    fprintf(file, "<path%s%s d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" class=\"edge\"/>\n",
            mark(picture, "from", edge->from).text, mark(picture, "to", edge->to).text, from->x, y0, from->x + bow,
            y0 + bend, to->x + bow, y1 - bend, to->x, y1);
}

static void print_type(const weft_picture *picture, const weft_picture_edge *edge, const char *style, FILE *file)
{
    const weft_picture_node *from = &picture->nodes[edge->from], *to = &picture->nodes[edge->to];
    print_text((from->x + to->x) / 2 + find_bow(from, to), (from->y + to->y) / 2 + 4, style, edge->type, file);
}

/* What keeps lines off the label; drawn by itself, because not every viewer paints the stroke of a text first. */
static void print_edge_halo(const weft_picture *picture, const weft_picture_edge *edge, FILE *file)
{
    print_type(picture, edge, "halo", file);
}

static void print_edge_label(const weft_picture *picture, const weft_picture_edge *edge, FILE *file)
{
    print_type(picture, edge, "type", file);
}

static void print_node(const weft_picture *picture, size_t n, FILE *file)
{
    const weft_picture_node *node = &picture->nodes[n];
    bool output = n >= picture->view->node_count;
    bool given = !output && picture->view->nodes[n].place == WEFT_VIEW_GIVEN;
    bool repeated = !output && picture->view->nodes[n].place == WEFT_VIEW_REPEATED;
    char label[160];
    fprintf(file,
            "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\" fill=\"%s\" "
            "stroke=\"#334455\"%s/>\n",
            mark(picture, "node", n).text, node->x - node->width / 2, node->y - WEFT_PICTURE_NODE_HEIGHT / 2.0,
            node->width, WEFT_PICTURE_NODE_HEIGHT, given || output ? 13 : 3,
            given    ? "#f2f2f2"
            : output ? "#dddddd"
                     : "#ffffff",
            repeated ? " stroke-dasharray=\"4 3\"" : "");
    weft_picture_label(picture, n, label, sizeof label);
    print_text(node->x, node->y + 4, "node", label, file);
}

static void print_edges(const weft_picture *picture, FILE *file,
                        void (*print)(const weft_picture *, const weft_picture_edge *, FILE *))
{
    weft_picture_edge edge;
    for (uint32_t n = 0; n < picture->node_count; n++)
        for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++) print(picture, &edge, file);
}

/* A picture and those of its regions, one below the other. */
static double whole_height(const weft_picture *picture)
{
    double height = picture->height;
    for (size_t i = 0; i < picture->region_count; i++) height += TITLE_HEIGHT + whole_height(&picture->regions[i]);
    return height;
}

static double whole_width(const weft_picture *picture)
{
    double width = picture->width, title = (double)strlen(picture->title) * WEFT_PICTURE_CHARACTER + 32;
    if (title > width) width = title;
    for (size_t i = 0; i < picture->region_count; i++) {
        double region = whole_width(&picture->regions[i]);
        if (region > width) width = region;
    }
    return width;
}

/* Returns where it ends. */
static double print_picture(const weft_picture *picture, double top, FILE *file)
{
    fprintf(file, "<g transform=\"translate(0 %.1f)\">\n", top);
    for (size_t b = 0; b < picture->box_count; b++) print_box(picture, b, file);
    print_edges(picture, file, print_edge);
    for (size_t n = 0; n < picture->node_count; n++) print_node(picture, n, file);
    print_edges(picture, file, print_edge_halo);
    print_edges(picture, file, print_edge_label);
    fputs("</g>\n", file);
    top += picture->height;
    for (size_t i = 0; i < picture->region_count; i++) {
        print_text(16, top + TITLE_HEIGHT / 2.0, "title", picture->regions[i].title, file);
        top = print_picture(&picture->regions[i], top + TITLE_HEIGHT, file);
    }
    return top;
}

/* The whole with its trees, of the picture of a program. */
static void measure(const weft_picture *picture, double *out_width, double *out_height)
{
    *out_width = whole_width(picture);
    *out_height = whole_height(picture);
    if (picture->forest == NULL) return;
    *out_width = fmax(*out_width, weft_forest_width(picture->forest));
    *out_height += weft_forest_height(picture->forest);
}

void weft_picture_print_svg(const weft_picture *picture, FILE *file)
{
    double width, height;
    measure(picture, &width, &height);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
            width, height, width, height);
    fprintf(file,
            "<style>text{font:12px monospace;fill:#112233}.node{text-anchor:middle}.title{font-style:italic;"
            "fill:#445566}.type,.halo{text-anchor:middle;font-size:10px;fill:#774400}.halo{stroke:#ffffff;"
            "stroke-width:3px}.edge{fill:none;stroke:#667788;marker-end:url(#tip)}%s</style>\n",
            picture->forest == NULL ? "" : weft_tree_style);
    fputs("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
          "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#667788\"/></marker></defs>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
          file);
    double end = print_picture(picture, 0, file);
    if (picture->forest != NULL) weft_forest_print_svg(picture->forest, end, file);
    fputs("</svg>\n", file);
}
