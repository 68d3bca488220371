/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "dot.h"

/* Where the statements of a part go. */
typedef struct drawing {
    const weft_program_view *view;
    const weft_picture_part *part;
    bool plain;
    FILE *file;
} drawing;

/* No reader: a node that is drawn once. */
#define SHARED SIZE_MAX

const char *weft_picture_engine_name(weft_program_view_engine engine)
{
    static const char *const names[] = {[WEFT_ENGINE_KERNEL] = "kernel",
                                        [WEFT_ENGINE_PRODUCT] = "matrix product",
                                        [WEFT_ENGINE_SORT] = "sort",
                                        [WEFT_ENGINE_EXTENSION] = "extension",
                                        [WEFT_ENGINE_REGION] = "region"};
    return names[engine];
}

static const char *fill_of(weft_program_view_engine engine)
{
    static const char *const fills[] = {[WEFT_ENGINE_KERNEL] = "#e3eefb",
                                        [WEFT_ENGINE_PRODUCT] = "#fdecd8",
                                        [WEFT_ENGINE_SORT] = "#fbe6ea",
                                        [WEFT_ENGINE_EXTENSION] = "#e4f4e2",
                                        [WEFT_ENGINE_REGION] = "#f0e6f7"};
    return fills[engine];
}

/* ---- which nodes are drawn, and where ---- */

static bool only_moves(const char *op)
{
    return strcmp(op, "broadcast") == 0 || strcmp(op, "permute") == 0 || strcmp(op, "reshape") == 0;
}

/* Whether a node is drawn as part of the arrows through it. */
static bool is_folded(const weft_picture_part *part, size_t n)
{
    const weft_program_view *view = part->view;
    if (part->every_op || n >= view->node_count || !only_moves(view->nodes[n].op)) return false;
    const weft_program_view_node *node = &view->nodes[n];
    if (node->role == WEFT_VIEW_STEP) return view->steps[node->step].node != n;
    return node->role == WEFT_VIEW_REPEATED;
}

/* Where the arrow of `value` begins. */
static weft_program_view_value find_origin(const weft_picture_part *part, weft_program_view_value value)
{
    while (is_folded(part, value.node)) value = part->view->nodes[value.node].inputs[0];
    return value;
}

/* Whether a node is drawn at each of its readers. */
static bool is_copied(const weft_picture_part *part, size_t n)
{
    const weft_program_view_node *node = n < part->view->node_count ? &part->view->nodes[n] : NULL;
    if (node == NULL || node->role != WEFT_VIEW_REPEATED || node->input_count > 1) return false;
    return node->input_count == 0 || is_copied(part, find_origin(part, node->inputs[0]).node);
}

static bool is_in_step(const weft_picture_part *part, size_t n, size_t step)
{
    const weft_program_view_node *node = &part->view->nodes[n];
    return n < part->view->node_count && node->role == WEFT_VIEW_STEP && node->step == step && !is_folded(part, n);
}

/* The inputs of a node, or of an output: outputs are numbered after the nodes. */
static const weft_program_view_value *inputs_of(const weft_picture_part *part, size_t n, size_t *out_count)
{
    const weft_program_view *view = part->view;
    *out_count = n < view->node_count ? view->nodes[n].input_count : 1;
    return n < view->node_count ? view->nodes[n].inputs : &view->outputs[n - view->node_count].value;
}

/* ---- nodes ---- */

static void print_id(const drawing *d, size_t n, size_t reader)
{
    fprintf(d->file, "%sn%zu", d->part->prefix, n);
    if (reader != SHARED) fprintf(d->file, "_%zu", reader);
}

static void print_class(const drawing *d, const char *letter, size_t number)
{
    if (d->part->prefix[0] == 0) fprintf(d->file, ", class=%s%zu", letter, number);
}

static void print_output(const drawing *d, size_t n)
{
    fputs("    ", d->file);
    print_id(d, n, SHARED);
    fputs(" [style=\"rounded,filled\", fillcolor=\"#dddddd\", label=\"", d->file);
    weft_dot_print(d->view->outputs[n - d->view->node_count].name, d->file);
    fputc('"', d->file);
    print_class(d, "n", n);
    fputs("]\n", d->file);
}

/* The number that a constant of rank 0 is, as it lies in the text of its attributes; NULL for any other node. */
static const char *find_number(const weft_program_view_node *node, int *out_length)
{
    static const char before[] = "shape = [], data = [";
    const char *found = strcmp(node->op, "constant") == 0 ? strstr(node->attributes, before) : NULL;
    if (found == NULL) return NULL;
    found += strlen(before);
    *out_length = (int)strcspn(found, "]");
    return found;
}

/* An op and its name, or the number that it is; an input by its name alone. */
static void print_label(const drawing *d, const weft_program_view_node *node)
{
    int length;
    const char *number = find_number(node, &length);
    if (number != NULL && node->name == NULL) fprintf(d->file, "%s %.*s", node->op, length, number);
    else if (strcmp(node->op, "input") != 0) fprintf(d->file, "%s%s", node->op, node->name == NULL ? "" : ": ");
    if (node->name != NULL) weft_dot_print(node->name, d->file);
}

static void print_node(const drawing *d, size_t n, size_t reader)
{
    static const char *const styles[] = {
        [WEFT_VIEW_GIVEN] = "rounded,filled", [WEFT_VIEW_STEP] = "filled", [WEFT_VIEW_REPEATED] = "dashed,filled"};
    const weft_program_view_node *node = &d->view->nodes[n];
    const char *fill = node->role == WEFT_VIEW_GIVEN ? "#f2f2f2" : "#ffffff";
    if (d->plain && node->role == WEFT_VIEW_STEP) fill = fill_of(d->view->steps[node->step].engine);
    fputs("    ", d->file);
    print_id(d, n, reader);
    fprintf(d->file, " [style=\"%s\", fillcolor=\"%s\", label=\"", styles[node->role], fill);
    print_label(d, node);
    fputc('"', d->file);
    if (d->plain) {
        /* What plain pictures leave out is shown under the pointer. */
        fputs(", tooltip=\"", d->file);
        if (node->role == WEFT_VIEW_STEP) fprintf(d->file, "step %u: ", (unsigned)node->step);
        for (size_t i = 0; i < node->output_count; i++) fprintf(d->file, "%s%s", i > 0 ? ", " : "", node->types[i]);
        fputc('"', d->file);
    }
    print_class(d, "n", n);
    fputs("]\n", d->file);
}

/* Prints those inputs of `n` that are drawn for `reader` alone. */
static void print_copies(const drawing *d, size_t n, size_t reader)
{
    size_t count;
    const weft_program_view_value *inputs = inputs_of(d->part, n, &count);
    for (size_t i = 0; i < count; i++) {
        size_t from = find_origin(d->part, inputs[i]).node;
        if (!is_copied(d->part, from)) continue;
        print_node(d, from, reader);
        print_copies(d, from, reader);
    }
}

/* Prints a node with the copies that it reads; nothing if it is folded or itself copied. */
static void print_shared(const drawing *d, size_t n)
{
    if (is_folded(d->part, n) || is_copied(d->part, n)) return;
    if (n < d->view->node_count) print_node(d, n, SHARED);
    else print_output(d, n);
    print_copies(d, n, n);
}

/* ---- steps ---- */

/* The title is a node, above the others, so that no arrow runs through it. */
static void print_title(const drawing *d, size_t step)
{
    const char *prefix = d->part->prefix;
    weft_program_view_engine engine = d->view->steps[step].engine;
    fprintf(d->file, "  subgraph cluster_%ss%zu {\n    style=\"rounded,filled\"\n    color=\"#8899aa\"\n", prefix,
            step);
    fprintf(d->file, "    fillcolor=\"%s\"\n    label=\"\"\n", fill_of(engine)); /* not that of the frame around */
    if (prefix[0] == 0) fprintf(d->file, "    class=s%zu\n", step);
    fprintf(d->file, "    %ss%zu [shape=plaintext, margin=0, height=0.2, label=\"step %zu: %s\"", prefix, step, step,
            weft_picture_engine_name(engine));
    print_class(d, "s", step);
    fputs("]\n", d->file);
}

/* A step that only copies an output is not drawn. */
static void print_step(const drawing *d, size_t step)
{
    size_t count = 0;
    for (size_t n = 0; n < d->view->node_count; n++) {
        if (!is_in_step(d->part, n, step)) continue;
        if (count++ == 0 && !d->plain) print_title(d, step);
        print_shared(d, n);
    }
    if (count > 0 && !d->plain) fputs("  }\n", d->file);
}

/* ---- arrows ---- */

/* Prints "f32[4]", and for each node on the way a line such as "broadcast f32[3, 4]". */
static void print_way(const drawing *d, weft_program_view_value from, weft_program_view_value to)
{
    const weft_program_view_node *node = &d->view->nodes[to.node];
    if (from.node != to.node) {
        print_way(d, from, node->inputs[0]);
        fprintf(d->file, "\\n%s ", node->op);
    }
    fputs(node->types[to.output], d->file);
}

/* The attributes of the arrow from `from` to node `to`, which reads `value` so many times. */
static void print_attributes(const drawing *d, weft_program_view_value from, weft_program_view_value value, size_t to,
                             size_t times)
{
    if (!d->plain) {
        fputs("label=\"", d->file);
        print_way(d, from, value);
        if (times > 1) fprintf(d->file, "\\n%zu times", times);
        fputs("\" ", d->file);
    }
    if (d->part->prefix[0] != 0) return;
    fprintf(d->file, "class=\"from%u to%zu", (unsigned)from.node, to);
    for (; value.node != from.node; value = d->view->nodes[value.node].inputs[0])
        fprintf(d->file, " by%u", (unsigned)value.node);
    fputc('"', d->file);
}

static bool is_same(weft_program_view_value a, weft_program_view_value b)
{
    return a.node == b.node && a.output == b.output;
}

/* How often a node reads input `i`; 0 where an earlier input is the same. */
static size_t count_times(const weft_program_view_value *inputs, size_t count, size_t i)
{
    size_t times = 0;
    for (size_t j = 0; j < count; j++) {
        if (!is_same(inputs[i], inputs[j])) continue;
        if (j < i) return 0;
        times++;
    }
    return times;
}

/* The arrows into a node, or into its copy for `reader`. */
static void print_edges(const drawing *d, size_t to, size_t reader)
{
    size_t count, copy = reader == SHARED ? to : reader;
    const weft_program_view_value *inputs = inputs_of(d->part, to, &count);
    for (size_t i = 0; i < count; i++) {
        weft_program_view_value from = find_origin(d->part, inputs[i]);
        bool copied = is_copied(d->part, from.node);
        size_t times = count_times(inputs, count, i);
        if (times == 0) continue;
        fputs("  ", d->file);
        print_id(d, from.node, copied ? copy : SHARED);
        fputs(" -> ", d->file);
        print_id(d, to, reader);
        fputs(" [", d->file);
        print_attributes(d, from, inputs[i], to, times);
        fputs("]\n", d->file);
        if (copied) print_edges(d, from.node, copy);
    }
}

/* Ranks the title of the step above node `n`, and below what the node reads from elsewhere. */
static void print_ranks(const drawing *d, size_t n)
{
    const weft_program_view_node *node = &d->view->nodes[n];
    const char *prefix = d->part->prefix;
    size_t step = node->step;
    bool first = true;
    for (size_t i = 0; i < node->input_count; i++) {
        size_t from = find_origin(d->part, node->inputs[i]).node;
        if (is_in_step(d->part, from, step)) first = false;
        else if (!is_copied(d->part, from))
            fprintf(d->file, "  %sn%zu -> %ss%zu [style=invis, weight=0]\n", prefix, from, prefix, step);
    }
    if (first) fprintf(d->file, "  %ss%zu -> %sn%zu [style=invis]\n", prefix, step, prefix, n);
}

/* ---- parts in DOT ---- */

static void print_part(const weft_picture_part *part, bool plain, FILE *file)
{
    drawing d = {part->view, part, plain, file};
    size_t nodes = d.view->node_count, count = nodes + d.view->output_count;
    if (part->title[0] != 0) {
        fprintf(file, "  subgraph cluster_%s {\n    style=rounded\n    color=\"#8899aa\"\n    label=\"", part->prefix);
        weft_dot_print(part->title, file);
        fputs("\"\n", file);
    }
    for (size_t s = 0; s < d.view->step_count; s++) print_step(&d, s);
    for (size_t n = 0; n < count; n++)
        if (n >= nodes || d.view->nodes[n].role != WEFT_VIEW_STEP) print_shared(&d, n);
    for (size_t n = 0; n < count; n++)
        if (!is_folded(part, n) && !is_copied(part, n)) print_edges(&d, n, SHARED);
    for (size_t n = 0; n < nodes && !plain; n++)
        if (d.view->nodes[n].role == WEFT_VIEW_STEP && !is_folded(part, n)) print_ranks(&d, n);
    if (part->title[0] != 0) fputs("  }\n", file);
}

void weft_picture_print_dot(const weft_picture *picture, FILE *file)
{
    weft_dot_begin("TB", "", file);
    for (size_t i = 0; i < picture->count; i++) print_part(&picture->parts[i], false, file);
    for (size_t i = 0; i < picture->forest->count; i++) weft_forest_print_dot(picture->forest, i, file);
    fputs("}\n", file);
}

/* ---- drawings ---- */

static void print_digraph(const weft_picture_part *part, const char *attributes, bool plain, FILE *file)
{
    weft_dot_begin("TB", part->prefix, file);
    fprintf(file, "  graph [%s]\n", attributes);
    print_part(part, plain, file);
    fputs("}\n", file);
}

static void print_fine(const void *part, FILE *file)
{
    print_digraph(part, "", false, file);
}

static void print_straight(const void *part, FILE *file)
{
    print_digraph(part, "splines=line, nslimit=0.5, nslimit1=0.5, mclimit=0.3", false, file);
}

static void print_plain(const void *part, FILE *file)
{
    print_digraph(part, "newrank=false, splines=line, nslimit=0.1, nslimit1=0.1, mclimit=0.1", true, file);
}

/* From the best to the fastest, with the crossings up to which each is tried and how long Graphviz may compute. */
static const struct manner {
    void (*print)(const void *part, FILE *file);
    double crossings;
    unsigned seconds;
} manners[] = {{print_fine, 1500, 20}, {print_straight, 20000, 20}, {print_plain, HUGE_VAL, 60}};

static weft_status *draw_part(const weft_picture_part *part, weft_dot_layout *layout)
{
    weft_status *status = NULL;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        if (part->crossings > manners[i].crossings) continue;
        weft_status_destroy(status);
        status = weft_dot_layout_add(layout, manners[i].seconds, manners[i].print, part);
        if (status == NULL || weft_status_code(status) == WEFT_CANCELLED) return status;
    }
    return status;
}

weft_status *weft_picture_draw(const weft_picture *picture, weft_dot_layout *layout)
{
    for (size_t i = 0; i < picture->count; i++) WEFT_TRY(draw_part(&picture->parts[i], layout));
    return weft_forest_draw(picture->forest, layout);
}

/* ---- parts ---- */

/* Where the arrow of input `i` of a node begins; SIZE_MAX if it has no length: the node is folded, or the input is
 * drawn at its readers. */
static size_t find_from(const weft_picture_part *part, size_t n, size_t i)
{
    size_t from = find_origin(part, part->view->nodes[n].inputs[i]).node;
    return is_folded(part, n) || is_copied(part, from) ? SIZE_MAX : from;
}

/* Each node is one level below the lowest of its inputs, and a node without inputs one above its first reader. */
static void fill_levels(const weft_picture_part *part, uint32_t *levels)
{
    const weft_program_view *view = part->view;
    for (size_t n = 0; n < view->node_count; n++) {
        levels[n] = 1;
        for (size_t i = 0; i < view->nodes[n].input_count; i++) {
            size_t from = find_from(part, n, i);
            if (from != SIZE_MAX && levels[from] >= levels[n]) levels[n] = levels[from] + 1;
        }
    }
    for (size_t n = 0; n < view->node_count; n++)
        if (view->nodes[n].input_count == 0) levels[n] = UINT32_MAX;
    for (size_t n = 0; n < view->node_count; n++) {
        for (size_t i = 0; i < view->nodes[n].input_count; i++) {
            size_t from = find_from(part, n, i);
            if (from != SIZE_MAX && view->nodes[from].input_count == 0 && levels[from] >= levels[n])
                levels[from] = levels[n] - 1;
        }
    }
}

static weft_status *measure(weft_picture_part *part)
{
    const weft_program_view *view = part->view;
    uint32_t *levels = calloc(view->node_count + 1, sizeof *levels);
    if (levels == NULL) return weft_status_out_of_memory();
    fill_levels(part, levels);
    for (size_t n = 0; n < view->node_count; n++) {
        for (size_t i = 0; i < view->nodes[n].input_count; i++) {
            size_t from = find_from(part, n, i);
            if (from != SIZE_MAX) part->crossings += levels[n] - levels[from];
        }
    }
    free(levels);
    return NULL;
}

/* NULL when out of memory. */
static weft_picture_part *add_part(weft_picture *picture, const weft_program_view *view)
{
    if (picture->count == picture->capacity) {
        size_t capacity = 2 * picture->capacity + 4;
        weft_picture_part *parts = realloc(picture->parts, capacity * sizeof *parts);
        if (parts == NULL) return NULL;
        picture->parts = parts;
        picture->capacity = capacity;
    }
    weft_picture_part *part = &picture->parts[picture->count++];
    *part = (weft_picture_part){.view = view, .every_op = picture->every_op};
    return part;
}

static weft_status *add_regions(weft_picture *picture, const weft_program_view *view, const char *within);

/* `within`: " in " and the title of the part around it, or "". */
static weft_status *add_region(weft_picture *picture, const weft_program_view_node *node, size_t region,
                               const char *within)
{
    const weft_program_view_region *r = &node->regions[region];
    char title[sizeof picture->parts->title];
    snprintf(title, sizeof title, "%s of step %u: %.60s%.150s", r->name, (unsigned)node->step, node->op, within);
    weft_picture_part *part = add_part(picture, &r->view);
    if (part == NULL) return weft_status_out_of_memory();
    strcpy(part->title, title);
    snprintf(part->prefix, sizeof part->prefix, "r%zu_", picture->count - 2);
    WEFT_TRY(measure(part));
    char inner[sizeof title + 8];
    snprintf(inner, sizeof inner, " in %s", title);
    return add_regions(picture, &r->view, inner);
}

static weft_status *add_regions(weft_picture *picture, const weft_program_view *view, const char *within)
{
    for (size_t n = 0; n < view->node_count; n++)
        for (size_t r = 0; r < view->nodes[n].region_count; r++)
            WEFT_TRY(add_region(picture, &view->nodes[n], r, within));
    return NULL;
}

weft_status *weft_picture_init(weft_picture *picture, const weft_program_view *view, const weft_forest *forest,
                               bool every_op)
{
    *picture = (weft_picture){.forest = forest, .every_op = every_op};
    weft_picture_part *part = add_part(picture, view);
    if (part == NULL) return weft_status_out_of_memory();
    WEFT_TRY(measure(part));
    return add_regions(picture, view, "");
}

void weft_picture_finish(weft_picture *picture)
{
    free(picture->parts);
    *picture = (weft_picture){0};
}
