/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/inspect.h>
#include <stdio.h>
#include <string.h>
#include "lib/build/build.h"
#include "runtime/base/status.h"

const weft_op_def *weft_op_builtin(size_t index)
{
    return index < WEFT_OP_COUNT ? &weft_op_table()[index] : NULL;
}

typedef struct kept_view {
    weft_program_view view;
    weft_allocator allocator; /* a copy: a view may outlive its program */
    weft_arena arena;
} kept_view;

/* One graph: the program's, or that of a region. */
typedef struct viewer {
    weft_arena *arena;
    weft_program_view *view;
    const weft_program *program; /* NULL for a region */
    const weft_steps_view *source;
    uint32_t *numbers; /* in the view, by node of the graph */
    weft_program_view_node *nodes;
    weft_program_view_step *steps;
} viewer;

static void *allocate(const viewer *o, size_t count, size_t size)
{
    return weft_arena_allocate(o->arena, (count + 1) * size);
}

/* The node whose steps compute node `n`, or WEFT_NODE_INVALID. */
static uint32_t root_of(const weft_fusion *fusion, uint32_t n)
{
    uint8_t role = fusion->roles[n];
    if (role == WEFT_ROLE_INLINE || role == WEFT_ROLE_STAGE || role == WEFT_ROLE_STORED)
        return fusion->roots[n] == 0 ? WEFT_NODE_INVALID : fusion->roots[n] - 1;
    return role == WEFT_ROLE_LEAF ? WEFT_NODE_INVALID : n;
}

static void fill_role(const viewer *o, uint32_t n, weft_program_view_node *out_node)
{
    uint32_t root = root_of(o->source->fusion, n);
    out_node->role = o->source->fusion->roles[n] == WEFT_ROLE_LEAF ? WEFT_VIEW_GIVEN : WEFT_VIEW_REPEATED;
    if (root == WEFT_NODE_INVALID) return;
    for (uint32_t s = 0; s < o->view->step_count; s++) {
        if (o->steps[s].node != root) continue;
        out_node->role = WEFT_VIEW_STEP;
        out_node->step = s;
        return;
    }
}

static const char *copy_text(const viewer *o, const char *text, size_t length)
{
    return weft_arena_string(o->arena, text, length);
}

static weft_status *fill_names(const viewer *o, const weft_node *node, weft_program_view_node *out_node)
{
    bool input = weft_op_id_of(node->op) == WEFT_OP_input;
    out_node->op = copy_text(o, node->op->name, strlen(node->op->name));
    if (input) out_node->name = copy_text(o, node->attrs[0].data, node->attrs[0].size);
    else if (node->name != NULL) out_node->name = copy_text(o, node->name, strlen(node->name));
    bool named = input || node->name != NULL;
    return out_node->op == NULL || (named && out_node->name == NULL) ? weft_status_out_of_memory() : NULL;
}

/* The text, except for its first `skipped` bytes; finishes it. */
static weft_status *keep_text(const viewer *o, weft_bytes *text, size_t skipped, const char **out_text)
{
    weft_status *status = weft_bytes_status(text);
    if (skipped > text->size) skipped = text->size;
    if (status == NULL)
        *out_text = copy_text(o, skipped < text->size ? text->data + skipped : "", text->size - skipped);
    weft_bytes_finish(text);
    return status == NULL && *out_text == NULL ? weft_status_out_of_memory() : status;
}

static weft_status *fill_attributes(const viewer *o, const weft_node *node, weft_program_view_node *out_node)
{
    enum { LONGEST_DATA = 256 };
    weft_bytes text;
    weft_bytes_init(&text, o->arena->allocator);
    weft_node_print_attributes(o->source->fusion->compiled->graph, node, LONGEST_DATA, &text);
    return keep_text(o, &text, 1, &out_node->attributes); /* after a space */
}

static weft_status *fill_type(const viewer *o, const weft_type *type, const char **out_type)
{
    weft_bytes text;
    weft_bytes_init(&text, o->arena->allocator);
    weft_graph_print_type(o->source->fusion->compiled->graph, type, &text);
    return keep_text(o, &text, 0, out_type);
}

static weft_status *fill_values(const viewer *o, const weft_node *node, weft_program_view_node *out_node)
{
    weft_program_view_value *inputs = allocate(o, node->input_count, sizeof *inputs);
    const char **types = allocate(o, node->output_count, sizeof *types);
    if (inputs == NULL || types == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = (weft_program_view_value){o->numbers[node->inputs[i].node], node->inputs[i].output};
    for (uint32_t i = 0; i < node->output_count; i++) WEFT_TRY(fill_type(o, &node->types[i], &types[i]));
    out_node->input_count = node->input_count;
    out_node->inputs = inputs;
    out_node->output_count = node->output_count;
    out_node->types = types;
    return NULL;
}

static weft_status *fill_graph(viewer *o);

static weft_status *fill_region(const viewer *o, const weft_attr_def *def, const weft_steps_view *source,
                                weft_program_view_region *out_region)
{
    *out_region = (weft_program_view_region){.name = copy_text(o, def->name, strlen(def->name))};
    if (out_region->name == NULL) return weft_status_out_of_memory();
    viewer inner = {.arena = o->arena, .view = &out_region->view, .source = source};
    return fill_graph(&inner);
}

/* ---- what regions capture ---- */

/* Operands of a region op before those that are captured. */
static size_t count_own(const weft_node *node)
{
    for (size_t i = 0; i < node->op->attr_count; i++)
        if (strcmp(node->op->attrs[i].name, "carried") == 0) return (size_t)node->attrs[i].integer;
    return 1; /* the predicate of a cond */
}

/* "captured0 = w": what the parameter is outside, by its name, or else by its op. */
static weft_status *name_captured(const viewer *o, weft_value outer, const char *own, const char **out_name)
{
    const weft_program_view_node *node = &o->nodes[o->numbers[outer.node]];
    const char *name = node->name != NULL ? node->name : node->op;
    weft_bytes text;
    weft_bytes_init(&text, o->arena->allocator);
    if (node->name != NULL || node->output_count == 1) weft_bytes_print(&text, "%s = %s", own, name);
    else weft_bytes_print(&text, "%s = result %u of %s", own, (unsigned)outer.output, name);
    return keep_text(o, &text, 0, out_name);
}

/* The input of the view that is called so, or NULL. */
static weft_program_view_node *find_parameter(const weft_program_view *view, const char *name, size_t length)
{
    for (size_t i = 0; i < view->node_count; i++) {
        weft_program_view_node *node = (weft_program_view_node *)&view->nodes[i];
        bool is_input = node->input_count == 0 && strcmp(node->op, "input") == 0;
        if (is_input && strlen(node->name) == length && memcmp(node->name, name, length) == 0) return node;
    }
    return NULL;
}

/* Parameters and operands correspond from the last ones on. */
static weft_status *name_parameters(const viewer *o, const weft_node *node, const weft_region *region,
                                    const weft_program_view *view)
{
    size_t count = region->parameters.count;
    for (size_t i = count_own(node); i < node->input_count && node->input_count - i <= count; i++) {
        weft_tensor parameter = region->parameters.items[count - (node->input_count - i)];
        const weft_attr *name = &weft_graph_node(region->graph, parameter.node)->attrs[0];
        weft_program_view_node *found = find_parameter(view, name->data, name->size);
        if (found != NULL) WEFT_TRY(name_captured(o, node->inputs[i], found->name, &found->name));
    }
    return NULL;
}

static weft_status *fill_regions(const viewer *o, const weft_node *node, weft_program_view_node *out_node)
{
    const weft_op_def *op = node->op;
    if (op->op_class != WEFT_CLASS_REGION) return NULL;
    const weft_step_view *step = &o->source->steps[out_node->step];
    weft_program_view_region *regions = allocate(o, op->attr_count, sizeof *regions);
    if (regions == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < op->attr_count; i++) {
        if (op->attrs[i].kind != WEFT_ATTR_REGION) continue;
        size_t part = out_node->region_count++;
        WEFT_TRY(fill_region(o, &op->attrs[i], step->parts[part], &regions[part]));
        WEFT_TRY(name_parameters(o, node, &node->attrs[i].region, &regions[part].view));
    }
    out_node->regions = regions;
    return NULL;
}

static weft_status *fill_nodes(viewer *o, const weft_compiled *compiled)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < compiled->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(compiled->graph, n);
        if (o->source->fusion->roles[n] == WEFT_ROLE_DEAD) continue;
        o->nodes[count] = (weft_program_view_node){.op = NULL};
        WEFT_TRY(fill_names(o, node, &o->nodes[count]));
        WEFT_TRY(fill_attributes(o, node, &o->nodes[count]));
        WEFT_TRY(fill_values(o, node, &o->nodes[count]));
        fill_role(o, n, &o->nodes[count]);
        WEFT_TRY(fill_regions(o, node, &o->nodes[count]));
        o->numbers[n] = count++;
    }
    o->view->node_count = count;
    return NULL;
}

/* The first input that may be the memory of the output; SIZE_MAX: none. */
static size_t find_donor(const viewer *o, size_t output)
{
    size_t i = 0, count = o->program == NULL || o->source->output_alias == NULL ? 0 : o->program->input_count;
    while (i < count && o->source->output_alias[i] != output) i++;
    return i < count ? i : SIZE_MAX;
}

static weft_status *fill_outputs(const viewer *o, const weft_compiled *compiled)
{
    weft_program_view_output *outputs = allocate(o, compiled->output_count, sizeof *outputs);
    if (outputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < compiled->output_count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        const char *name = o->program != NULL ? o->program->outputs[i].name : number;
        weft_value value = compiled->outputs[i];
        outputs[i] = (weft_program_view_output){.name = copy_text(o, name, strlen(name)),
                                                .value = {o->numbers[value.node], value.output},
                                                .donor = find_donor(o, i)};
        if (outputs[i].name == NULL) return weft_status_out_of_memory();
    }
    o->view->outputs = outputs;
    o->view->output_count = compiled->output_count;
    return NULL;
}

static weft_status *fill_graph(viewer *o)
{
    static const weft_program_view_engine engines[] = {[WEFT_STEP_KERNEL] = WEFT_ENGINE_KERNEL,
                                                       [WEFT_STEP_GEMM] = WEFT_ENGINE_PRODUCT,
                                                       [WEFT_STEP_SORT] = WEFT_ENGINE_SORT,
                                                       [WEFT_STEP_HOST] = WEFT_ENGINE_EXTENSION,
                                                       [WEFT_STEP_REGION] = WEFT_ENGINE_REGION};
    const weft_compiled *compiled = o->source->fusion->compiled;
    const weft_step_view *steps = o->source->steps;
    size_t step_count = o->source->step_count;
    o->numbers = allocate(o, compiled->graph->node_count, sizeof *o->numbers);
    o->nodes = allocate(o, compiled->graph->node_count, sizeof *o->nodes);
    o->steps = allocate(o, step_count, sizeof *o->steps);
    if (o->numbers == NULL || o->nodes == NULL || o->steps == NULL) return weft_status_out_of_memory();
    for (size_t s = 0; s < step_count; s++)
        o->steps[s] = (weft_program_view_step){engines[steps[s].kind], steps[s].node};
    o->view->nodes = o->nodes;
    o->view->steps = o->steps;
    o->view->step_count = step_count;
    WEFT_TRY(fill_nodes(o, compiled));
    for (size_t s = 0; s < step_count; s++) o->steps[s].node = o->numbers[o->steps[s].node];
    return fill_outputs(o, compiled);
}

typedef struct view_request {
    kept_view *made;
    const weft_program *program;
} view_request;

static weft_status *fill_view(void *context, const weft_steps_view *source)
{
    const view_request *request = context;
    viewer o = {
        .arena = &request->made->arena, .view = &request->made->view, .program = request->program, .source = source};
    return fill_graph(&o);
}

weft_status *weft_program_view_create(const weft_program *program, const weft_program_view **out_view)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(out_view);
    kept_view *made = weft_allocate_zeroed(program->allocator, sizeof *made);
    if (made == NULL) return weft_status_out_of_memory();
    made->allocator = *program->allocator;
    weft_arena_init(&made->arena, &made->allocator);
    view_request request = {made, program};
    weft_status *status = weft_program_visit_steps(program, fill_view, &request);
    if (status == NULL) *out_view = &made->view;
    else weft_program_view_destroy(&made->view);
    return status;
}

void weft_program_view_destroy(const weft_program_view *view)
{
    if (view == NULL) return;
    kept_view *made = (kept_view *)(uintptr_t)view;
    weft_arena_finish(&made->arena);
    weft_allocator allocator = made->allocator;
    weft_free(&allocator, made, sizeof *made);
}
