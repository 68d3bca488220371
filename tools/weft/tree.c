/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include <stdlib.h>
#include <string.h>
#include "../output.h"
#include "dot.h"
#include "file.h"
#include "layout.h"
#include "options.h"

/* The characters of labels that are shown. */
enum { LABELS = 24 };

typedef struct weft_tree_row {
    size_t depth; /* of the root: 0 */
    bool last;    /* of the two below its parent */
} row;

static bool is_result(const weft_tree *l, size_t value)
{
    return value >= l->operands;
}

static void fill_order(weft_tree *l, size_t *stack)
{
    size_t top = 0;
    stack[top++] = l->count - 1;
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i] = stack[--top], depth = l->rows[value].depth;
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        if (depth > l->depth) l->depth = depth;
        if (v.log2_size > l->largest) l->largest = v.log2_size;
        if (!is_result(l, value)) continue;
        l->rows[v.a] = (row){.depth = depth + 1};
        l->rows[v.b] = (row){.depth = depth + 1, .last = true};
        stack[top++] = v.b;
        stack[top++] = v.a;
    }
}

weft_status *weft_tree_init(weft_tree *tree, const weft_einsum_plan *plan)
{
    size_t operands = weft_einsum_plan_operand_count(plan), count = 2 * operands - 1;
    *tree = (weft_tree){.plan = plan, .operands = operands, .count = count};
    tree->rows = calloc(count, sizeof *tree->rows);
    tree->values = calloc(count, sizeof *tree->values);
    size_t *stack = calloc(count + 1, sizeof *stack);
    bool well = tree->rows != NULL && tree->values != NULL && stack != NULL;
    if (well) fill_order(tree, stack);
    free(stack);
    return well ? NULL : weft_status_out_of_memory();
}

void weft_tree_finish(weft_tree *tree)
{
    free(tree->rows);
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
    size_t depth = l->rows[value].depth;
    for (size_t i = 1; i < depth; i++) fputs(last[i] ? "   " : "|  ", file);
    if (depth > 0) fputs(l->rows[value].last ? "`- " : "|- ", file);
    if (is_result(l, value)) fprintf(file, "%s  size %s, multiplies %s\n", text.labels, text.size, text.work);
    else fprintf(file, "%zu: %s  size %s\n", value, text.labels, text.size);
}

weft_status *weft_tree_print_text(const weft_tree *l, FILE *file)
{
    bool *last = calloc(l->depth + 1, sizeof *last);
    if (last == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i];
        last[l->rows[value].depth] = l->rows[value].last;
        print_line(l, value, last, file);
    }
    free(last);
    return NULL;
}

/* ---- dot ---- */

/* The size of a value beside that of the largest, from 0 to 1. */
static double share(const weft_tree *l, size_t value)
{
    return l->largest > 0 ? weft_einsum_plan_value(l->plan, value).log2_size / l->largest : 0;
}

static void print_value(const weft_tree *l, const char *prefix, size_t value, FILE *file)
{
    value_text text = describe(l, value);
    bool result = is_result(l, value);
    fprintf(file, "    %sv%zu [label=\"", prefix, value);
    if (!result) fprintf(file, "%zu: ", value);
    weft_dot_print(text.short_labels, file);
    fprintf(file, "\\n%s%s%s\", tooltip=\"%s %zu: ", text.size, result ? ", " : "", text.work,
            result ? "result of step" : "operand", result ? value - l->operands : value);
    weft_dot_print(text.labels, file);
    fprintf(file, ", size %s%s%s\", style=filled, fillcolor=\"%.2f 0.4 1\"]\n", text.size,
            result ? ", multiplies " : "", text.work, 0.58 * (1 - share(l, value)));
}

/* The larger the operand, the wider. */
static void print_branch(const weft_tree *l, const char *prefix, size_t from, size_t to, FILE *file)
{
    fprintf(file, "    %sv%zu -> %sv%zu [dir=none, penwidth=%.1f]\n", prefix, from, prefix, to, 1 + 4 * share(l, to));
}

void weft_tree_print_dot(const weft_tree *l, const char *prefix, FILE *file)
{
    for (size_t i = 0; i < l->count; i++) {
        size_t value = l->values[i];
        print_value(l, prefix, value, file);
        if (!is_result(l, value)) continue;
        weft_einsum_value v = weft_einsum_plan_value(l->plan, value);
        print_branch(l, prefix, value, v.a, file);
        print_branch(l, prefix, value, v.b, file);
    }
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

static void print_digraph(const void *context, FILE *file)
{
    weft_dot_begin("LR", "", file);
    weft_tree_print_dot(context, "", file);
    fputs("}\n", file);
}

static weft_status *print_dot(const void *context, FILE *file)
{
    print_digraph(context, file);
    return NULL;
}

static weft_status *print_text(const void *context, FILE *file)
{
    return weft_tree_print_text(context, file);
}

static weft_status *print_svg(const void *context, FILE *file)
{
    weft_dot_layout_print(context, file);
    return NULL;
}

static weft_status *save_svg(const weft_tree *tree, const char *path)
{
    weft_dot_layout layout = {0};
    WEFT_TRY(weft_dot_layout_add(&layout, WEFT_TREE_SECONDS, print_digraph, tree));
    weft_status *status = weft_output_write(path, print_svg, &layout);
    weft_dot_layout_finish(&layout);
    return status;
}

static weft_status *save_dot(const weft_tree *tree, const char *path)
{
    return weft_output_write(path, print_dot, tree);
}

static weft_status *save_text(const weft_tree *tree, const char *path)
{
    return weft_output_write(path, print_text, tree);
}

static const struct format {
    const char *end;
    weft_status *(*save)(const weft_tree *tree, const char *path);
} formats[] = {{".svg", save_svg}, {".dot", save_dot}, {".txt", save_text}};

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
    if (status == NULL) status = find_format(path)->save(&tree, path);
    weft_tree_finish(&tree);
    return status;
}
