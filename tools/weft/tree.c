/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../output.h"
#include "file.h"
#include "options.h"
#include "picture.h"

/* In pixels: between levels, between leaves, around all; and the characters of labels that are shown. */
enum { LEVEL = 130, ROW = 20, MARGIN = 24, LABELS = 24 };

typedef struct weft_tree_place {
    size_t depth; /* of the root: 0 */
    bool last;    /* of the two below its parent */
    double row;   /* leaves count from 0 */
} place;

static bool is_result(const weft_tree *l, size_t value)
{
    return value >= l->operands;
}

/* Walks down, and gives leaves their rows. */
static void fill_order(weft_tree *l, size_t *stack)
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

weft_status *weft_tree_init(weft_tree *tree, const weft_einsum_plan *plan)
{
    size_t operands = weft_einsum_plan_operand_count(plan), count = 2 * operands - 1;
    *tree = (weft_tree){.plan = plan, .operands = operands, .count = count};
    tree->places = calloc(count, sizeof *tree->places);
    tree->values = calloc(count, sizeof *tree->values);
    size_t *stack = calloc(count + 1, sizeof *stack);
    bool well = tree->places != NULL && tree->values != NULL && stack != NULL;
    if (well) fill_order(tree, stack);
    free(stack);
    for (size_t value = operands; well && value < count; value++) {
        weft_einsum_value v = weft_einsum_plan_value(plan, value);
        tree->places[value].row = (tree->places[v.a].row + tree->places[v.b].row) / 2;
    }
    return well ? NULL : weft_status_out_of_memory();
}

void weft_tree_finish(weft_tree *tree)
{
    free(tree->places);
    free(tree->values);
    *tree = (weft_tree){0};
}

/* ---- what is written ---- */

typedef struct value_text {
    char labels[256], short_labels[LABELS + 8], size[64], work[96];
} value_text;

void weft_tree_cut(const char *text, size_t length, char *out_text)
{
    size_t whole = strlen(text), kept = whole > length ? length : whole;
    while (kept > 0 && kept < whole && ((unsigned char)text[kept] & 0xc0) == 0x80) kept--;
    sprintf(out_text, "%.*s%s", (int)kept, text, kept < whole ? "..." : "");
}

/* What does not fit ends with "...". */
static void end_text(char *text, size_t size, size_t length)
{
    if (length < size) return;
    size_t end = size - 4;
    while (((unsigned char)text[end] & 0xc0) == 0x80) end--;
    strcpy(text + end, "...");
}

/* "10^1.78", ", sliced jk" after it where the step does these one element at a time. */
static void describe_step(const weft_tree *l, size_t value, const weft_einsum_value *v, value_text *text)
{
    char sliced[LABELS + 8];
    size_t used = (size_t)snprintf(text->work, sizeof text->work, "10^%.2f", v->log10_flops);
    if (v->sliced == 0) return;
    end_text(sliced, sizeof sliced, weft_einsum_plan_print_sliced(l->plan, value, sliced, sizeof sliced));
    snprintf(text->work + used, sizeof text->work - used, ", sliced %s", sliced);
}

static value_text describe(const weft_tree *l, size_t value)
{
    value_text text = {.work = ""};
    weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
    size_t length = weft_einsum_plan_print_labels(l->plan, value, text.labels, sizeof text.labels);
    end_text(text.labels, sizeof text.labels, length);
    if (v.rank == 0) strcpy(text.labels, "scalar");
    weft_tree_cut(text.labels, LABELS, text.short_labels);
    size_t used = (size_t)snprintf(text.size, sizeof text.size, "2^%.4g", v.log2_size);
    if (v.open > 0) snprintf(text.size + used, sizeof text.size - used, " and %zu open", v.open);
    if (is_result(l, value)) describe_step(l, value, &v, &text);
    return text;
}

/* ---- text ---- */

static void print_line(const weft_tree *l, size_t value, const bool *last, FILE *file)
{
    value_text text = describe(l, value);
    size_t depth = l->places[value].depth;
    for (size_t i = 1; i < depth; i++) fputs(last[i] ? "   " : "|  ", file);
    if (depth > 0) fputs(l->places[value].last ? "`- " : "|- ", file);
    if (is_result(l, value)) fprintf(file, "%s  size %s, multiplies %s\n", text.labels, text.size, text.work);
    else fprintf(file, "%zu: %s  size %s\n", value, text.labels, text.size);
}

weft_status *weft_tree_print_text(const weft_tree *l, FILE *file)
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

void weft_tree_print_dot(const weft_tree *l, const char *prefix, FILE *file)
{
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i];
        value_text text = describe(l, value);
        fprintf(file, "  %sv%zu [shape = box, label = \"", prefix, value);
        if (!is_result(l, value)) fprintf(file, "%zu: ", value);
        for (const char *c = text.short_labels; *c != 0; c++) fprintf(file, "%s%c", strchr("\"\\", *c) ? "\\" : "", *c);
        fprintf(file, "\\n%s%s%s\"];\n", text.size, is_result(l, value) ? ", " : "", text.work);
        if (!is_result(l, value)) continue;
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        fprintf(file, "  %sv%zu -> {%sv%zu %sv%zu};\n", prefix, value, prefix, v.a, prefix, v.b);
    }
}

/* ---- svg ---- */

static double x_of(const weft_tree *l, size_t value)
{
    return MARGIN + LEVEL * (double)l->places[value].depth;
}

static double y_of(const weft_tree *l, size_t value)
{
    return MARGIN + ROW * l->places[value].row;
}

static void print_branch(const weft_tree *l, size_t from, size_t to, FILE *file)
{
    double width = 1 + 5 * weft_einsum_plan_value(l->plan, to).log2_size / (l->largest > 0 ? l->largest : 1);
    fprintf(file, "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke-width=\"%.1f\"/>\n", x_of(l, from), y_of(l, from),
            y_of(l, to), x_of(l, to), width);
}

static void print_node(const weft_tree *l, size_t value, FILE *file)
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

const char weft_tree_style[] = ".tree text{font:11px monospace;fill:#112233}.tree path{fill:none;stroke:#8899aa}"
                               ".tree circle{stroke:#334455}";

double weft_tree_width(const weft_tree *tree)
{
    return 2 * MARGIN + LEVEL * (double)(tree->depth + 2);
}

double weft_tree_height(const weft_tree *tree)
{
    return 2 * MARGIN + ROW * (double)(tree->operands - 1);
}

void weft_tree_print_svg(const weft_tree *l, FILE *file)
{
    fputs("<g class=\"tree\">\n", file);
    for (size_t value = l->operands; value < l->count; value++) {
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        print_branch(l, value, v.a, file);
        print_branch(l, value, v.b, file);
    }
    for (size_t i = 0; i < l->count; i++) print_node(l, l->values[i], file);
    fputs("</g>\n", file);
}

/* ---- files ---- */

weft_status *weft_tree_print(const weft_einsum_plan *plan, FILE *file)
{
    weft_tree tree;
    weft_status *status = weft_tree_init(&tree, plan);
    if (status == NULL) status = weft_tree_print_text(&tree, file);
    weft_tree_finish(&tree);
    return status;
}

static weft_status *print_svg(const void *context, FILE *file)
{
    const weft_tree *tree = context;
    double width = weft_tree_width(tree), height = weft_tree_height(tree);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height, weft_tree_style);
    weft_tree_print_svg(tree, file);
    fputs("</svg>\n", file);
    return NULL;
}

static weft_status *print_dot(const void *context, FILE *file)
{
    fputs("digraph tree {\n  rankdir = LR;\n  node [fontname = monospace];\n", file);
    weft_tree_print_dot(context, "", file);
    fputs("}\n", file);
    return NULL;
}

static weft_status *print_text(const void *context, FILE *file)
{
    return weft_tree_print_text(context, file);
}

static const struct format {
    const char *end;
    weft_status *(*print)(const void *context, FILE *file);
} formats[] = {{".svg", print_svg}, {".dot", print_dot}, {".txt", print_text}};

static const struct format *find_format(const char *path)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (weft_file_ends_with(path, formats[i].end)) return &formats[i];
    return NULL;
}

weft_status *weft_tree_check(const char *option, const char *path)
{
    if (find_format(path) != NULL) return weft_output_check(path);
    return weft_misuse("%s takes a file that ends in .svg, .dot or .txt, not '%s'", option, path);
}

weft_status *weft_tree_save(const weft_einsum_plan *plan, const char *path)
{
    weft_tree tree;
    weft_status *status = weft_tree_init(&tree, plan);
    if (status == NULL) status = weft_output_write(path, find_format(path)->print, &tree);
    weft_tree_finish(&tree);
    return status;
}
