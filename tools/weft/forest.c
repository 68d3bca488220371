/* SPDX-License-Identifier: Apache-2.0 */
#include "forest.h"
#include <stdlib.h>
#include <string.h>
#include <weft/inspect.h>
#include "dot.h"
#include "planner.h"

/* The characters of expressions that are shown. */
enum { EXPRESSION = 120 };

/* ---- which nodes ---- */

/* NULL when out of memory. */
static weft_forest_item *add_item(weft_forest *forest)
{
    if (forest->count == forest->capacity) {
        size_t capacity = 2 * forest->capacity + 4;
        weft_forest_item *items = realloc(forest->items, capacity * sizeof *items);
        if (items == NULL) return NULL;
        forest->items = items;
        forest->capacity = capacity;
    }
    weft_forest_item *item = &forest->items[forest->count++];
    *item = (weft_forest_item){.plan = NULL};
    return item;
}

/* "y = ij,jk,kl->il: multiplies 10^2.09, largest 2^3.6, predicted 0.004 ms, 2 labels sliced" */
static void describe(weft_tensor tensor, const weft_einsum_plan *plan, char *out_text, size_t size)
{
    char expression[EXPRESSION + 4], sliced[40] = "";
    const char *name = weft_tensor_name(tensor);
    size_t count = weft_einsum_plan_sliced(plan).count;
    weft_tree_cut(weft_einsum_plan_equation(plan), EXPRESSION, expression);
    if (count > 0) snprintf(sliced, sizeof sliced, ", %zu label%s sliced", count, count == 1 ? "" : "s");
    snprintf(out_text, size, "%.60s%s%s: multiplies 10^%.2f, largest 2^%.4g, predicted %s ms%s",
             name == NULL ? "" : name, name == NULL ? "" : " = ", expression, weft_einsum_plan_log10_flops(plan),
             weft_einsum_plan_log2_size(plan), weft_planner_print_ms(plan, 3).text, sliced);
}

static weft_status *add_einsum(weft_forest *forest, weft_tensor tensor)
{
    weft_forest_item *item = add_item(forest);
    if (item == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_einsum_plan_create_tensor(NULL, tensor, &item->plan);
    if (status != NULL && weft_status_code(status) == WEFT_UNSUPPORTED) {
        weft_tree_cut(weft_status_message(status), sizeof item->title - 4, item->title);
        weft_status_destroy(status);
        return NULL;
    }
    WEFT_TRY(status);
    describe(tensor, item->plan, item->title, sizeof item->title);
    return weft_tree_init(&item->tree, item->plan);
}

static weft_status *add_results(weft_forest *forest, weft_tensors results);

static weft_status *add_node(weft_forest *forest, weft_tensor tensor)
{
    const weft_op_def *op = weft_tensor_op(tensor);
    const weft_attr *attrs = weft_tensor_attrs(tensor);
    if (strcmp(op->name, "einsum.einsum") == 0) return add_einsum(forest, tensor);
    for (size_t i = 0; i < op->attr_count; i++)
        if (op->attrs[i].kind == WEFT_ATTR_REGION) WEFT_TRY(add_results(forest, attrs[i].region.results));
    return NULL;
}

/* Operands have lower numbers than what reads them. */
static void mark_needed(weft_tensors results, uint32_t count, bool *needed)
{
    for (size_t i = 0; i < results.count; i++) needed[results.items[i].node] = true;
    for (uint32_t n = count; n-- > 0;) {
        weft_tensor tensor = {results.items[0].graph, n, 0};
        for (size_t i = 0; needed[n] && i < weft_tensor_input_count(tensor); i++)
            needed[weft_tensor_input(tensor, i).node] = true;
    }
}

static weft_status *add_results(weft_forest *forest, weft_tensors results)
{
    uint32_t count = 0;
    for (size_t i = 0; i < results.count; i++)
        if (results.items[i].node >= count) count = results.items[i].node + 1;
    bool *needed = calloc((size_t)count + 1, sizeof *needed);
    if (needed == NULL) return weft_status_out_of_memory();
    mark_needed(results, count, needed);
    weft_status *status = NULL;
    for (uint32_t n = 0; n < count && status == NULL; n++)
        if (needed[n]) status = add_node(forest, (weft_tensor){results.items[0].graph, n, 0});
    free(needed);
    return status;
}

weft_status *weft_forest_init(weft_forest *forest, weft_tensors outputs)
{
    *forest = (weft_forest){0};
    return add_results(forest, outputs);
}

void weft_forest_finish(weft_forest *forest)
{
    for (size_t i = 0; i < forest->count; i++) {
        weft_tree_finish(&forest->items[i].tree);
        weft_einsum_plan_destroy(forest->items[i].plan);
    }
    free(forest->items);
    *forest = (weft_forest){0};
}

/* ---- what is written ---- */

weft_status *weft_forest_print_text(const weft_forest *forest, FILE *file)
{
    for (size_t i = 0; i < forest->count; i++) {
        const weft_forest_item *item = &forest->items[i];
        fprintf(file, "%s\n", item->title);
        if (item->plan != NULL) WEFT_TRY(weft_tree_print_text(&item->tree, file));
    }
    return NULL;
}

void weft_forest_print_dot(const weft_forest *forest, size_t item, FILE *file)
{
    const weft_forest_item *found = &forest->items[item];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "t%zu_", item);
    fprintf(file, "  subgraph cluster_t%zu {\n    class=tree\n    pencolor=none\n    label=\"", item);
    weft_dot_print(found->title, file);
    fputs("\"\n", file);
    if (found->plan != NULL) weft_tree_print_dot(&found->tree, prefix, file);
    else fprintf(file, "    %snone [style=invis]\n", prefix);
    fputs("  }\n", file);
}

typedef struct numbered {
    const weft_forest *forest;
    size_t item;
} numbered;

static void print_digraph(const void *context, FILE *file)
{
    const numbered *tree = context;
    char id[32];
    snprintf(id, sizeof id, "t%zu", tree->item);
    weft_dot_begin("LR", id, file);
    weft_forest_print_dot(tree->forest, tree->item, file);
    fputs("}\n", file);
}

weft_status *weft_forest_draw(const weft_forest *forest, weft_dot_layout *layout)
{
    for (size_t i = 0; i < forest->count; i++)
        WEFT_TRY(weft_dot_layout_add(layout, WEFT_TREE_SECONDS, print_digraph, &(numbered){forest, i}));
    return NULL;
}
