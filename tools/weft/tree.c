/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "options.h"
#include "picture.h"

/* In pixels: between levels, between leaves, around all; and the characters of labels that are shown. */
enum { LEVEL = 130, ROW = 20, MARGIN = 24, LABELS = 24 };

typedef struct place {
    size_t depth; /* of the root: 0 */
    bool last;    /* of the two below its parent */
    double row;   /* leaves count from 0 */
} place;

typedef struct layout {
    const weft_einsum_plan *plan;
    size_t operands, count, depth;
    place *places;  /* by value */
    size_t *values; /* from the root on, each before those below it */
    double largest; /* log2 */
} layout;

static bool is_result(const layout *l, size_t value)
{
    return value >= l->operands;
}

/* Walks down, and gives leaves their rows. */
static void fill_order(layout *l, size_t *stack)
{
    size_t top = 0, leaf = 0;
    stack[top++] = l->count - 1;
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i] = stack[--top], depth = l->places[value].depth;
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        if (depth > l->depth) l->depth = depth;
        if (v.log2_size > l->largest) l->largest = v.log2_size;
        if (!is_result(l, value)) {
            l->places[value].row = (double)leaf++;
            continue;
        }
        l->places[v.a] = (place){.depth = depth + 1};
        l->places[v.b] = (place){.depth = depth + 1, .last = true};
        stack[top++] = v.b;
        stack[top++] = v.a;
    }
}

static weft_status *layout_init(layout *l, const weft_einsum_plan *plan)
{
    size_t operands = weft_einsum_plan_operand_count(plan), count = 2 * operands - 1;
    *l = (layout){.plan = plan, .operands = operands, .count = count};
    l->places = calloc(count, sizeof *l->places);
    l->values = calloc(count, sizeof *l->values);
    size_t *stack = calloc(count + 1, sizeof *stack);
    bool well = l->places != NULL && l->values != NULL && stack != NULL;
    if (well) fill_order(l, stack);
    free(stack);
    for (size_t value = operands; well && value < count; value++) {
        weft_einsum_value v = weft_einsum_plan_value(plan, value);
        l->places[value].row = (l->places[v.a].row + l->places[v.b].row) / 2;
    }
    return well ? NULL : weft_status_out_of_memory();
}

static void layout_finish(layout *l)
{
    free(l->places);
    free(l->values);
}

/* ---- what is written ---- */

typedef struct value_text {
    char labels[256], short_labels[LABELS + 8], size[32], work[32];
} value_text;

/* Labels are cut between two characters. */
static void cut_labels(const char *labels, char *out_text)
{
    size_t length = strlen(labels), kept = length > LABELS ? LABELS : length;
    while (kept > 0 && kept < length && ((unsigned char)labels[kept] & 0xc0) == 0x80) kept--;
    snprintf(out_text, LABELS + 8, "%.*s%s", (int)kept, labels, kept < length ? "..." : "");
}

static value_text describe(const layout *l, size_t value)
{
    value_text text = {.work = ""};
    weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
    size_t length = weft_einsum_plan_print_labels(l->plan, value, text.labels, sizeof text.labels);
    if (length >= sizeof text.labels) {
        size_t end = sizeof text.labels - 4;
        while (((unsigned char)text.labels[end] & 0xc0) == 0x80) end--;
        strcpy(text.labels + end, "...");
    }
    cut_labels(text.labels, text.short_labels);
    snprintf(text.size, sizeof text.size, "2^%.4g", v.log2_size);
    if (is_result(l, value)) snprintf(text.work, sizeof text.work, "10^%.2f", v.log10_flops);
    return text;
}

/* ---- text ---- */

static void print_line(const layout *l, size_t value, const bool *last, FILE *file)
{
    value_text text = describe(l, value);
    size_t depth = l->places[value].depth;
    for (size_t i = 1; i < depth; i++) fputs(last[i] ? "   " : "|  ", file);
    if (depth > 0) fputs(l->places[value].last ? "`- " : "|- ", file);
    if (is_result(l, value)) fprintf(file, "%s  size %s, multiplies %s\n", text.labels, text.size, text.work);
    else fprintf(file, "%zu: %s  size %s\n", value, text.labels, text.size);
}

static weft_status *print_text(const layout *l, FILE *file)
{
    bool *last = calloc(l->depth + 1, sizeof *last);
    if (last == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i];
        last[l->places[value].depth] = l->places[value].last;
        print_line(l, value, last, file);
    }
    free(last);
    return NULL;
}

/* ---- dot ---- */

static weft_status *print_dot(const layout *l, FILE *file)
{
    fputs("digraph tree {\n  rankdir = LR;\n  node [shape = box, fontname = monospace];\n", file);
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i];
        value_text text = describe(l, value);
        fprintf(file, "  v%zu [label = \"", value);
        if (!is_result(l, value)) fprintf(file, "%zu: ", value);
        for (const char *c = text.short_labels; *c != 0; c++) fprintf(file, "%s%c", strchr("\"\\", *c) ? "\\" : "", *c);
        fprintf(file, "\\n%s%s%s\"];\n", text.size, is_result(l, value) ? ", " : "", text.work);
        if (!is_result(l, value)) continue;
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        fprintf(file, "  v%zu -> {v%zu v%zu};\n", value, v.a, v.b);
    }
    fputs("}\n", file);
    return NULL;
}

/* ---- svg ---- */

static double x_of(const layout *l, size_t value)
{
    return MARGIN + LEVEL * (double)l->places[value].depth;
}

static double y_of(const layout *l, size_t value)
{
    return MARGIN + ROW * l->places[value].row;
}

static void print_branch(const layout *l, size_t from, size_t to, FILE *file)
{
    double width = 1 + 5 * weft_einsum_plan_value(l->plan, to).log2_size / (l->largest > 0 ? l->largest : 1);
    fprintf(file, "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke-width=\"%.1f\"/>\n", x_of(l, from), y_of(l, from),
            y_of(l, to), x_of(l, to), width);
}

static void print_node(const layout *l, size_t value, FILE *file)
{
    value_text text = describe(l, value);
    double share = l->largest > 0 ? weft_einsum_plan_value(l->plan, value).log2_size / l->largest : 0;
    fprintf(file, "<g><title>%s %zu: ", is_result(l, value) ? "result of step" : "operand",
            is_result(l, value) ? value - l->operands : value);
    weft_picture_print_xml(text.labels, file);
    fprintf(file, ", size %s%s%s</title>\n", text.size, is_result(l, value) ? ", multiplies " : "", text.work);
    fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"hsl(%.0f 80%% 55%%)\"/>\n", x_of(l, value),
            y_of(l, value), 210 * (1 - share));
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\">", x_of(l, value) + 7, y_of(l, value) - (is_result(l, value) ? 4 : -4));
    if (is_result(l, value)) fprintf(file, "%s, %s", text.size, text.work);
    else {
        fprintf(file, "%zu: ", value);
        weft_picture_print_xml(text.short_labels, file);
        fprintf(file, " %s", text.size);
    }
    fputs("</text></g>\n", file);
}

static weft_status *print_svg(const layout *l, FILE *file)
{
    double width = 2 * MARGIN + LEVEL * (double)(l->depth + 2), height = 2 * MARGIN + ROW * (double)(l->operands - 1);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<style>text{font:11px monospace;fill:#112233}path{fill:none;stroke:#8899aa}circle{stroke:#334455}"
            "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
    for (size_t value = l->operands; value < l->count; value++) {
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        print_branch(l, value, v.a, file);
        print_branch(l, value, v.b, file);
    }
    for (size_t i = 0; i < l->count; i++) print_node(l, l->values[i], file);
    fputs("</svg>\n", file);
    return NULL;
}

/* ---- all ---- */

weft_status *weft_tree_print(const weft_einsum_plan *plan, FILE *file)
{
    layout l;
    weft_status *status = layout_init(&l, plan);
    if (status == NULL) status = print_text(&l, file);
    layout_finish(&l);
    return status;
}

static const struct format {
    const char *end;
    weft_status *(*print)(const layout *l, FILE *file);
} formats[] = {{".svg", print_svg}, {".dot", print_dot}, {".txt", print_text}};

static const struct format *find_format(const char *path)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (weft_file_ends_with(path, formats[i].end)) return &formats[i];
    return NULL;
}

weft_status *weft_tree_check(const char *option, const char *path)
{
    if (find_format(path) != NULL) return NULL;
    return weft_misuse("%s takes a file that ends in .svg, .dot or .txt, not '%s'", option, path);
}

typedef struct drawing {
    layout layout;
    const struct format *format;
} drawing;

static weft_status *print_drawing(const void *context, FILE *file)
{
    const drawing *d = context;
    return d->format->print(&d->layout, file);
}

weft_status *weft_tree_save(const weft_einsum_plan *plan, const char *path)
{
    drawing d = {.format = find_format(path)};
    weft_status *status = layout_init(&d.layout, plan);
    if (status == NULL) status = weft_file_write(path, print_drawing, &d);
    layout_finish(&d.layout);
    return status;
}
