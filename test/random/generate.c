/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/generate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/graph/graph.h"
#include "test/conform/subject.h"
#include "test/random/make.h"

static const draw_call calls[] = {
#define WEFT_CALL(name, maker, dtypes, weight)                                                                         \
    {#name, make_##maker, (void (*)(void))weft_##name, DRAW_##dtypes, weight},
#define WEFT_FRAGMENT(name, dtypes, weight) {NULL, make_##name, NULL, DRAW_##dtypes, weight},
#include "test/random/calls.def"
    {NULL, NULL, NULL, 0, 0}};

const draw_call *draw_calls(void)
{
    return calls;
}

/* ---- one call ---- */

static size_t times_made[sizeof calls / sizeof *calls];

size_t weft_test_times_made(const draw_call *call)
{
    return times_made[call - calls];
}

/* Beyond this the strides of an array may overflow, which generated code refuses even of one that turns out to have no
 * elements. */
#define MOST_STRIDE 0x1p58

/* How many elements a shape has at most; HUGE_VAL for one that is not to be. */
static double count_of(weft_shape shape)
{
    double count = 1, stride = 1;
    for (size_t i = 0; i < shape.rank; i++) {
        double extent = (double)draw_most(shape.extents[i]);
        count *= extent;
        stride *= extent > 1 ? extent : 1;
    }
    return stride > MOST_STRIDE ? HUGE_VAL : count;
}

/* What a node costs: the elements of its results, and of a product some of its multiplications. */
static double cost_of(const weft_graph *graph, const weft_node *node)
{
    double cost = 0;
    for (uint32_t output = 0; output < node->output_count; output++) cost += count_of(node->types[output].shape);
    if (weft_op_id_of(node->op) != WEFT_OP_dot) return cost;
    weft_shape shape = weft_value_type(graph, node->inputs[0])->shape;
    weft_ints axes = weft_reduced_axes(node);
    double terms = cost / 50;
    for (size_t i = 0; i < axes.count; i++) terms *= (double)draw_most(shape.extents[axes.items[i]]);
    return cost + terms;
}

static bool was_refused(const generator *g, const weft_graph *graph, size_t node)
{
    for (size_t i = 0; i < g->refused_count; i++)
        if (g->refused[i].graph == graph && g->refused[i].first <= node && node < g->refused[i].end) return true;
    return false;
}

/* Whether `made` is computed from a node that was too much before. */
static bool uses_refused(const generator *g, const weft_graph *graph, uint32_t made)
{
    bool *used = calloc((size_t)made + 1, sizeof *used), found = false;
    if (used == NULL) abort();
    used[made] = true;
    for (size_t n = (size_t)made + 1; n-- > 0 && !found;) {
        const weft_node *node = &graph->nodes[n];
        found = used[n] && was_refused(g, graph, n);
        for (size_t i = 0; used[n] && i < node->input_count; i++) used[node->inputs[i].node] = true;
    }
    free(used);
    return found;
}

/* Whether what was made in `graph` since it had `first` nodes is not too much; then it is paid for. */
static bool pay(generator *g, const weft_graph *graph, size_t first, weft_tensor made)
{
    double cost = made.graph == graph && uses_refused(g, graph, made.node) ? HUGE_VAL : 0;
    for (size_t n = first; n < graph->node_count; n++) cost += cost_of(graph, &graph->nodes[n]);
    bool is_fine = cost <= g->budget;
    if (is_fine) {
        g->budget -= cost;
    } else if (g->refused_count < sizeof g->refused / sizeof *g->refused) {
        g->refused[g->refused_count].graph = graph;
        g->refused[g->refused_count].first = first;
        g->refused[g->refused_count++].end = graph->node_count;
    }
    return is_fine;
}

static const draw_call *draw_any_call(generator *g)
{
    const draw_call *call = calls;
    size_t total = 0;
    for (; call->make != NULL; call++) total += call->weight;
    size_t at = draw_below(g, total);
    for (call = calls; at >= call->weight; call++) at -= call->weight;
    return call;
}

/* The error of the graph, which compiling must report. */
static bool error_is_fine(generator *g, const draw_call *call, char *out_problem, size_t size)
{
    const weft_status *error = weft_graph_error(g->graph);
    weft_code code = weft_status_code(error);
    const char *name = call->name == NULL ? "a fragment" : call->name;
    if (code == WEFT_INTERNAL || code == WEFT_OUT_OF_MEMORY) {
        snprintf(out_problem, size, "tracing %s: %s: %s", name, weft_code_name(code), weft_status_message(error));
        return false;
    }
    if (g->depth > 0 || g->count == 0 || !draw_chance(g, 8)) return true;
    weft_program *program = NULL;
    weft_status *status = weft_compile(g->graph, WEFT_TENSORS(g->tensors[0]), NULL, &program);
    bool reported = weft_status_code(status) == code;
    if (!reported)
        snprintf(out_problem, size, "compiling after %s: %s, not %s", name, weft_code_name(weft_status_code(status)),
                 weft_code_name(code));
    weft_status_destroy(status);
    weft_program_release(program);
    return reported;
}

static bool make_one(generator *g, char *out_problem, size_t size)
{
    const draw_call *call = draw_any_call(g);
    weft_tensor x = WEFT_NO_TENSOR;
    const weft_graph *graph = weft_graph_current(g->graph);
    size_t first = graph->node_count, before = g->count;
    bool good = true;
    if (g->count > 0) x = draw_fit(g, draw_tensor(g), call->dtypes);
    if (g->count == 0) x = make_input(g, call, x);
    weft_tensor made = g->count == 0 ? x : call->make(g, call, x);
    bool failed = weft_graph_error(g->graph) != NULL;
    if (failed) good = error_is_fine(g, call, out_problem, size);
    weft_graph_clear_error(g->graph);
    if (failed || !weft_tensor_is_valid(made) || weft_tensor_rank(made) > DRAW_AXES || !pay(g, graph, first, made))
        g->count = before;
    else {
        draw_keep(g, made);
        times_made[call - calls]++;
    }
    return good;
}

bool draw_grow(generator *g, size_t wanted, char *out_problem, size_t size)
{
    wanted += g->count;
    for (size_t tries = 0; tries < 4 * wanted && g->count < wanted && g->count + 8 < DRAW_TENSORS; tries++)
        if (!make_one(g, out_problem, size)) return false;
    return true;
}

/* ---- programs ---- */

/* How large things are; one axis or so of the largest fits the budget. */
typedef struct scale {
    size_t weight, most_axes;
    double budget;
    int64_t extents[12]; /* ended by 0 */
} scale;

static const scale scales[] = {
    {30, 5, 3e4, {1, 2, 3, 4, 5, 6, 7}},
    {40, 5, 6e4, {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33}},
    {16, 4, 1e5, {2, 3, 4, 8, 32, 33, 64, 65, 127, 128, 129, 192}},
    {10, 3, 2e5, {3, 4, 16, 127, 255, 256, 257, 1000, 1024, 1031, 2048}},
    {3, 3, 4e5, {2, 3, 33, 4096, 4097, 5000, 8192, 10007, 16384, 32771}},
    {1, 3, 2e6, {2, 3, 70000, 131072, 131073, 262144, 300000}},
};

static const scale *draw_scale(generator *g)
{
    size_t total = 0, i = 0;
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) total += scales[s].weight;
    size_t at = draw_below(g, total);
    while (at >= scales[i].weight) at -= scales[i++].weight;
    return &scales[i];
}

/* One of the extents, or one between two of them. */
static int64_t draw_value(generator *g, const scale *of)
{
    size_t count = 0;
    while (count < 12 && of->extents[count] != 0) count++;
    size_t i = draw_below(g, count);
    int64_t value = of->extents[i];
    if (i > 0 && draw_chance(g, 3)) value -= (int64_t)draw_below(g, (size_t)(value - of->extents[i - 1]));
    return value;
}

static void choose_extents(generator *g, const scale *of)
{
    size_t symbols = draw_chance(g, 2) ? 0 : 1 + draw_below(g, 2), count = symbols + 2 + draw_below(g, 3);
    for (size_t i = 0; i < count; i++) {
        int64_t value = draw_value(g, of);
        weft_extent extent = weft_extent_of(draw_chance(g, 60) ? 0 : value);
        if (i < symbols)
            extent = weft_symbol(g->graph, i == 0 ? "n" : "m", draw_chance(g, 4) ? 0 : 1, value > 1 ? value : 2);
        g->extents[g->extent_count++] = extent;
    }
}

static weft_status *print(generator *g, char **out_text)
{
    weft_tensor outputs[6] = {g->tensors[g->count - 1]};
    size_t count = 1 + draw_below(g, draw_chance(g, 2) ? 2 : 6);
    for (size_t i = 1; i < count; i++) outputs[i] = draw_tensor(g);
    return weft_graph_print((weft_tensors){count, outputs}, out_text);
}

/* The text of what the text says. */
static weft_status *print_again(const char *text, char **out_text)
{
    weft_module *module;
    WEFT_TRY(weft_test_parse("printed", text, &module));
    weft_status *status = weft_graph_print(module->outputs, out_text);
    weft_module_destroy(module);
    return status;
}

/* Whether the text is a fixed point; otherwise says where it is not. */
static bool check_text(const char *text, char *out_problem, size_t size)
{
    char *again = NULL;
    weft_status *status = print_again(text, &again);
    size_t same = 0;
    while (again != NULL && again[same] != 0 && again[same] == text[same]) same++;
    bool good = again != NULL && again[same] == text[same];
    while (same > 0 && text[same - 1] != '\n') same--;
    if (!good)
        snprintf(out_problem, size, "%s: %.200s where the first text has %.200s",
                 status != NULL ? weft_status_message(status) : "printed again", again != NULL ? again + same : "none",
                 text + same);
    weft_text_destroy(again);
    weft_status_destroy(status);
    return good;
}

bool weft_test_generate(uint64_t seed, char **out_text, char *out_problem, size_t size)
{
    generator g = {.state = seed};
    weft_status *status = weft_graph_create(NULL, &g.graph);
    if (status != NULL) abort();
    const scale *of = draw_scale(&g);
    g.budget = of->budget;
    g.most_axes = of->most_axes;
    g.mistakes = draw_chance(&g, 6) ? 8 : 0;
    choose_extents(&g, of);
    bool good = draw_grow(&g, 1 + draw_below(&g, 3), out_problem, size);
    g.tensors[g.count] = g.tensors[0];
    good = good && draw_grow(&g, 1 + draw_below(&g, draw_chance(&g, 4) ? 20 : 8), out_problem, size);
    *out_text = NULL;
    if (good && g.count > 0) status = print(&g, out_text);
    if (status != NULL) {
        snprintf(out_problem, size, "printing: %s: %s", weft_code_name(weft_status_code(status)),
                 weft_status_message(status));
        good = false;
    }
    good = good && (*out_text == NULL || check_text(*out_text, out_problem, size));
    weft_status_destroy(status);
    weft_graph_destroy(g.graph);
    return good;
}
