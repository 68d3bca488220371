/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/compile.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/pass/describe.h"
#include "lib/pass/pass.h"
#include "lib/pass/uses.h"
#include "runtime/base/float_mode.h"
#include "runtime/program/program.h"
#include "runtime/base/status.h"

/* One compilation. */
typedef struct compiler {
    weft_graph *source;
    weft_policy policy;
    const weft_expected *expected; /* or NULL */
    weft_program *program;
    weft_compiled *compiled;
    size_t output_count, root_count;
    weft_value *outputs; /* in the source; after them, up to root_count, inputs that no output may need */
    const char **names;  /* of the outputs */
    weft_arena scratch;
} compiler;

static void compiled_destroy(void *self)
{
    weft_compiled *compiled = self;
    weft_allocator allocator = *compiled->graph->allocator;
    weft_graph_destroy(compiled->graph); /* the arrays are in its arena */
    weft_free(&allocator, compiled, sizeof *compiled);
}

weft_status *weft_compiled_open(const weft_region *region, weft_arena *arena, weft_compiled *out_body)
{
    size_t input_count = region->parameters.count, output_count = region->results.count;
    uint32_t *inputs = weft_arena_allocate(arena, input_count * sizeof *inputs);
    weft_value *outputs = weft_arena_allocate(arena, output_count * sizeof *outputs);
    if (inputs == NULL || outputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < input_count; i++) inputs[i] = region->parameters.items[i].node;
    for (size_t i = 0; i < output_count; i++)
        outputs[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
    *out_body =
        (weft_compiled){.graph = region->graph, .output_count = output_count, .outputs = outputs, .inputs = inputs};
    return NULL;
}

static weft_status *invalid(const compiler *c, const char *format, ...) WEFT_FORMAT(2, 3);

static weft_status *invalid(const compiler *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status =
        weft_status_create_v(c->source->allocator, WEFT_INVALID_ARGUMENT, "weft_compile", format, arguments);
    va_end(arguments);
    return status;
}

/* ---- outputs ---- */

static weft_status *fill_names(compiler *c, const char *const *names)
{
    c->names = weft_arena_allocate(&c->scratch, c->output_count * sizeof *c->names);
    if (c->names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->output_count; i++) {
        char number[32];
        snprintf(number, sizeof number, "out%zu", i);
        const char *name = names == NULL || names[i] == NULL ? number : names[i];
        c->names[i] = weft_arena_string(&c->scratch, name, strlen(name));
        if (c->names[i] == NULL) return weft_status_out_of_memory();
    }
    return NULL;
}

static weft_status *check_names(const compiler *c)
{
    weft_map seen;
    weft_map_init(&seen, c->source->allocator);
    weft_status *status = NULL;
    for (size_t i = 0; i < c->output_count && status == NULL; i++) {
        const char *name = c->names[i], **first = weft_map_find(&seen, name, strlen(name));
        if (*name == '\0') status = invalid(c, "output %zu has an empty name", i);
        else if (first != NULL)
            status = invalid(c, "outputs %zu and %zu are both called '%s'", (size_t)(first - c->names), i, name);
        else if (!weft_map_insert(&seen, name, strlen(name), &c->names[i])) status = weft_status_out_of_memory();
    }
    weft_map_finish(&seen, NULL);
    return status;
}

static weft_status *fill_outputs(compiler *c, weft_tensors outputs, weft_tensors inputs)
{
    c->output_count = outputs.count;
    c->root_count = outputs.count + inputs.count;
    c->outputs = weft_arena_allocate(&c->scratch, c->root_count * sizeof *c->outputs);
    if (c->outputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < outputs.count; i++) {
        weft_tensor output = outputs.items[i];
        if (output.graph == NULL) return invalid(c, "output %zu is not a tensor of a graph", i);
        if (output.graph != c->source && weft_graph_root(output.graph) == c->source)
            return invalid(c, "output %zu was made in the body of a region and is known only there", i);
        if (output.graph != c->source) return invalid(c, "output %zu belongs to another graph", i);
        if (!weft_tensor_is_valid(output)) return invalid(c, "output %zu is a failed tensor", i);
        c->outputs[i] = (weft_value){output.node, output.output};
    }
    for (size_t i = 0; i < inputs.count; i++)
        c->outputs[outputs.count + i] = (weft_value){inputs.items[i].node, inputs.items[i].output};
    return NULL;
}

/* ---- the program's graph ---- */

static weft_status *print(const weft_program *program, weft_bytes *out_text)
{
    const weft_compiled *compiled = program->graph;
    size_t size = compiled->output_count * sizeof(char *);
    const char **names = weft_allocate(program->allocator, size);
    if (names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < compiled->output_count; i++) names[i] = program->outputs[i].name;
    weft_status *status =
        weft_graph_print_named(compiled->graph, compiled->output_count, compiled->outputs, names, out_text);
    weft_free(program->allocator, names, size);
    return status;
}

static weft_status *create_compiled(compiler *c)
{
    const weft_allocator *allocator = c->source->allocator;
    weft_compiled *compiled = weft_allocate_zeroed(allocator, sizeof *compiled);
    if (compiled == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_create(&(weft_graph_options){.allocator = allocator}, &compiled->graph);
    if (status != NULL) {
        weft_free(allocator, compiled, sizeof *compiled);
        return status;
    }
    c->compiled = compiled;
    c->program->graph = compiled;
    c->program->destroy_graph = compiled_destroy;
    c->program->print = print;
    return NULL;
}

static bool is_input(const weft_graph *graph, uint32_t number)
{
    return weft_op_id_of(weft_graph_node(graph, number)->op) == WEFT_OP_input;
}

/* The inputs are those that the outputs needed before any pass ran: passes must not change the interface. */
static weft_status *fill_inputs(compiler *c)
{
    weft_graph *graph = c->compiled->graph;
    size_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) count += is_input(graph, n);
    c->compiled->inputs = weft_arena_allocate(&graph->arena, count * sizeof *c->compiled->inputs);
    if (c->compiled->inputs == NULL) return weft_status_out_of_memory();
    c->program->input_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (is_input(graph, n)) c->compiled->inputs[c->program->input_count++] = n;
    return NULL;
}

/* Symbols keep their order: it is that of the program, and of terms in the text of extents. */
static weft_status *copy_symbols(compiler *c)
{
    const weft_expr_context *from = c->source->exprs;
    weft_expr_context *to = c->compiled->graph->exprs;
    size_t count = weft_expr_context_symbol_count(from);
    uint8_t *used = weft_arena_allocate(&c->scratch, count);
    if (used == NULL) return weft_status_out_of_memory();
    memset(used, 0, count);
    WEFT_TRY(weft_graph_mark_symbols(c->source, c->root_count, c->outputs, used));
    for (size_t i = 0; i < count; i++)
        if (used[i] && weft_expr_import(to, from, weft_expr_context_symbol(from, i)) == WEFT_EXPR_NONE)
            return weft_expr_context_take_error(to);
    return NULL;
}

static weft_status *optimise(compiler *c)
{
    WEFT_TRY(create_compiled(c));
    weft_compiled *compiled = c->compiled;
    compiled->output_count = c->output_count;
    compiled->outputs = weft_arena_allocate(&compiled->graph->arena, c->root_count * sizeof *compiled->outputs);
    if (compiled->outputs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(copy_symbols(c));
    WEFT_TRY(weft_graph_copy(c->source, compiled->graph, c->root_count, c->outputs, compiled->outputs));
    WEFT_TRY(fill_inputs(c));
    if (c->expected != NULL) WEFT_TRY(weft_lower_for(compiled->graph, c->expected, c->output_count, compiled->outputs));
    WEFT_TRY(weft_passes_run(compiled->graph, &c->policy, c->output_count, compiled->outputs));
    return weft_graph_verify(compiled->graph, c->output_count, compiled->outputs);
}

/* ---- the interface for the runtime ---- */

/* Adds the symbols that the program uses, in the order of their creation; extents find them by name. */
static weft_status *add_symbols(const compiler *c, const uint8_t *used)
{
    const weft_expr_context *exprs = c->compiled->graph->exprs;
    for (size_t i = 0; i < weft_expr_context_symbol_count(exprs); i++) {
        weft_expr symbol = weft_expr_context_symbol(exprs, i);
        int64_t min, max;
        uint32_t slot;
        if (!used[i]) continue;
        weft_expr_range(exprs, symbol, &min, &max);
        WEFT_TRY(weft_formulas_add_symbol(&c->program->formulas, weft_expr_name(exprs, symbol), min, max, &slot));
    }
    return NULL;
}

/* Symbols of the graph that the program does not use: the results of passes must not decide which symbols a run may be
 * given. */
static weft_status *fill_idle(const compiler *c)
{
    weft_program *program = c->program;
    const weft_expr_context *exprs = c->source->exprs;
    size_t count = weft_expr_context_symbol_count(exprs);
    program->idle = weft_arena_allocate(&program->arena, count * sizeof *program->idle);
    if (program->idle == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        weft_expr symbol = weft_expr_context_symbol(exprs, i);
        const char *name = weft_expr_name(exprs, symbol);
        weft_symbol_info *idle = &program->idle[program->idle_count];
        if (weft_formulas_find_symbol(&program->formulas, name) != SIZE_MAX) continue;
        weft_expr_range(exprs, symbol, &idle->min, &idle->max);
        idle->name = weft_arena_string(&program->arena, name, strlen(name));
        if (idle->name == NULL) return weft_status_out_of_memory();
        program->idle_count++;
    }
    return NULL;
}

static weft_status *fill_symbols(compiler *c)
{
    const weft_compiled *compiled = c->compiled;
    size_t inputs = c->program->input_count, count = inputs + compiled->output_count;
    weft_value *values = weft_arena_allocate(&c->scratch, count * sizeof *values);
    uint8_t *used = weft_arena_allocate(&c->scratch, weft_expr_context_symbol_count(compiled->graph->exprs));
    if (values == NULL || used == NULL) return weft_status_out_of_memory();
    memset(used, 0, weft_expr_context_symbol_count(compiled->graph->exprs));
    for (size_t i = 0; i < inputs; i++) values[i] = (weft_value){compiled->inputs[i], 0};
    memcpy(values + inputs, compiled->outputs, compiled->output_count * sizeof *values);
    WEFT_TRY(weft_graph_mark_symbols(compiled->graph, count, values, used));
    WEFT_TRY(add_symbols(c, used));
    return fill_idle(c);
}

static weft_status *fill_value(const compiler *c, weft_value value, const char *name, weft_program_value *out_value)
{
    weft_graph *graph = c->compiled->graph;
    const weft_type *type = weft_value_type(graph, value);
    uint32_t *extents = weft_arena_allocate(&c->program->arena, type->shape.rank * sizeof *extents);
    name = weft_arena_string(&c->program->arena, name, strlen(name));
    if (extents == NULL || name == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < type->shape.rank; i++) {
        weft_expr e = weft_extent_expr(graph, type->shape.extents[i]);
        if (e == WEFT_EXPR_NONE) return weft_status_clone(graph->allocator, weft_graph_error(graph));
        WEFT_TRY(weft_expr_compile(graph->exprs, e, &c->program->formulas, &extents[i]));
    }
    *out_value = (weft_program_value){name, type->dtype, (uint32_t)type->shape.rank, extents, NULL};
    return weft_describe_axes(c->program, graph, type->shape, extents, &out_value->axes);
}

static weft_status *fill_interface(const compiler *c)
{
    weft_program *program = c->program;
    const weft_compiled *compiled = c->compiled;
    program->inputs = weft_arena_allocate(&program->arena, program->input_count * sizeof *program->inputs);
    program->outputs = weft_arena_allocate(&program->arena, c->output_count * sizeof *program->outputs);
    if (program->inputs == NULL || program->outputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < program->input_count; i++) {
        const char *name = weft_graph_node(compiled->graph, compiled->inputs[i])->name;
        WEFT_TRY(fill_value(c, (weft_value){compiled->inputs[i], 0}, name, &program->inputs[i]));
    }
    for (size_t i = 0; i < c->output_count; i++)
        WEFT_TRY(fill_value(c, compiled->outputs[i], c->names[i], &program->outputs[i]));
    program->output_count = c->output_count;
    WEFT_TRY(weft_program_index_names(program));
    return weft_describe_symbols(program);
}

static weft_status *fill_guards(const compiler *c)
{
    weft_program *program = c->program;
    const weft_graph *graph = c->compiled->graph;
    program->guards = weft_arena_allocate(&program->arena, graph->guard_count * sizeof *program->guards);
    if (program->guards == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < graph->guard_count; i++) {
        const weft_guard *guard = &graph->guards[i];
        weft_program_guard *made = &program->guards[i];
        made->equal = guard->kind == WEFT_GUARD_EQUAL;
        made->message = weft_arena_string(&program->arena, guard->message, strlen(guard->message));
        if (made->message == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_location_print(guard->location, &program->arena, &made->location));
        WEFT_TRY(weft_expr_compile(graph->exprs, guard->a, &program->formulas, &made->a));
        WEFT_TRY(weft_expr_compile(graph->exprs, guard->b, &program->formulas, &made->b));
        made->conditional = guard->when != WEFT_EXPR_NONE;
        if (made->conditional) WEFT_TRY(weft_expr_compile(graph->exprs, guard->when, &program->formulas, &made->when));
    }
    program->guard_count = graph->guard_count;
    return NULL;
}

/* ---- extensions ---- */

static bool has_op(const weft_extension *extension, const weft_op_def *op)
{
    for (size_t i = 0; i < extension->op_count; i++)
        if (extension->ops[i] == op) return true;
    return false;
}

static void add_family(compiler *c, const weft_op_def *op)
{
    const weft_graph *graph = c->compiled->graph;
    weft_program *program = c->program;
    if (weft_op_id_of(op) != WEFT_OP_EXTENSION) return;
    for (size_t i = 0; i < program->family_count; i++)
        if (has_op(program->families[i], op)) return;
    for (size_t i = 0; i < graph->extension_count; i++) {
        if (!has_op(graph->extensions[i], op)) continue;
        program->family_ops[program->family_count] = op;
        program->families[program->family_count++] = graph->extensions[i];
    }
}

static weft_status *add_families(compiler *c, const weft_graph *graph, size_t count, const weft_value *outputs);

static weft_status *add_region_families(compiler *c, const weft_region *region)
{
    size_t count = region->results.count;
    weft_value *results = weft_arena_allocate(&c->scratch, count * sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        results[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
    return add_families(c, region->graph, count, results);
}

static weft_status *add_families(compiler *c, const weft_graph *graph, size_t count, const weft_value *outputs)
{
    uint8_t *live = weft_arena_allocate(&c->scratch, graph->node_count);
    if (live == NULL) return weft_status_out_of_memory();
    weft_graph_mark(graph, count, outputs, live);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        if (!live[n]) continue;
        add_family(c, node->op);
        for (size_t i = 0; i < node->op->attr_count; i++)
            if (node->op->attrs[i].kind == WEFT_ATTR_REGION) WEFT_TRY(add_region_families(c, &node->attrs[i].region));
    }
    return NULL;
}

static weft_status *fill_families(compiler *c)
{
    const weft_compiled *compiled = c->compiled;
    size_t most = compiled->graph->extension_count;
    c->program->families = weft_arena_allocate(&c->program->arena, most * sizeof *c->program->families);
    c->program->family_ops = weft_arena_allocate(&c->program->arena, most * sizeof *c->program->family_ops);
    if (c->program->families == NULL || c->program->family_ops == NULL) return weft_status_out_of_memory();
    return add_families(c, compiled->graph, compiled->output_count, compiled->outputs);
}

/* Whether a kernel may take memory only to be faster: loops pack matrices, reductions turn what they read. */
static bool takes_memory_to_be_faster(const weft_graph *graph)
{
    bool reduces = false;
    for (size_t i = 0; i < WEFT_OP_COUNT && !reduces; i++)
        reduces = weft_op_table()[i].op_class == WEFT_CLASS_REDUCE && weft_graph_has(graph, (weft_op_id)i);
    return weft_graph_has(graph, WEFT_OP_fold) || weft_graph_has(graph, WEFT_OP_while) ||
           (reduces && weft_graph_has(graph, WEFT_OP_permute));
}

/* ---- all of it ---- */

static WEFT_PLAIN_FUNCTION(weft_status *, compile,
                           (compiler * c, weft_tensors outputs, const char *const *names, weft_tensors inputs),
                           (c, outputs, names, inputs))
{
    WEFT_TRY(fill_outputs(c, outputs, inputs));
    WEFT_TRY(fill_names(c, names));
    WEFT_TRY(check_names(c));
    WEFT_TRY(optimise(c));
    WEFT_TRY(fill_symbols(c));
    WEFT_TRY(fill_interface(c));
    WEFT_TRY(fill_guards(c));
    c->program->has_limited = takes_memory_to_be_faster(c->compiled->graph);
    WEFT_TRY(fill_families(c));
    const weft_graph *graph = c->compiled->graph;
    c->program->bytes =
        sizeof *graph + graph->arena.used + graph->node_capacity * sizeof *graph->nodes + graph->blobs.bytes;
    return NULL;
}

/* Converts `policy` to this version's struct: fields that an older caller's shorter struct lacks are zero. */
static weft_policy policy_of(const weft_policy *policy)
{
    weft_policy known = {0};
    if (policy != NULL)
        memcpy(&known, policy, policy->size == 0 || policy->size > sizeof known ? sizeof known : policy->size);
    return known;
}

/* What is left of it once the passes are done. */
static weft_policy later_policy(const weft_policy *policy)
{
    return (weft_policy){.size = sizeof(weft_policy), .products = policy->products, .functions = policy->functions};
}

static weft_status *compile_into(compiler *c, weft_tensors outputs, const char *const *output_names,
                                 weft_tensors inputs, weft_program **out_program)
{
    const weft_allocator *allocator = c->source->allocator;
    WEFT_TRY(weft_program_create(allocator, &c->program));
    c->program->policy = later_policy(&c->policy);
    weft_arena_init(&c->scratch, allocator);
    weft_status *status = compile(c, outputs, output_names, inputs);
    weft_arena_finish(&c->scratch);
    if (status == NULL) *out_program = c->program;
    else weft_program_release(c->program);
    return status;
}

weft_status *weft_compile_with_inputs(weft_graph *graph, weft_tensors outputs, const char *const *output_names,
                                      weft_tensors inputs, const weft_policy *policy, weft_program **out_program)
{
    if (weft_graph_error(graph) != NULL) return weft_status_clone(graph->allocator, weft_graph_error(graph));
    compiler c = {.source = graph, .policy = policy_of(policy)};
    if (outputs.count == 0) return invalid(&c, "a program needs at least one output");
    if (outputs.items == NULL) return invalid(&c, "outputs is NULL, but its length is %zu", outputs.count);
    if ((unsigned)c.policy.products > WEFT_PRODUCTS_FAST)
        return invalid(&c,
                       "weft_policy.products is %d: it is WEFT_PRODUCTS_GENERATED (0), WEFT_PRODUCTS_LIBRARY (1) or "
                       "WEFT_PRODUCTS_FAST (2)",
                       (int)c.policy.products);
    if ((unsigned)c.policy.functions > WEFT_FUNCTIONS_FAST)
        return invalid(&c, "weft_policy.functions is %d: it is WEFT_FUNCTIONS_ACCURATE (0) or WEFT_FUNCTIONS_FAST (1)",
                       (int)c.policy.functions);
    return compile_into(&c, outputs, output_names, inputs, out_program);
}

weft_status *weft_compile_named(weft_graph *graph, weft_tensors outputs, const char *const *output_names,
                                const weft_policy *policy, weft_program **out_program)
{
    WEFT_REQUIRE(graph);
    WEFT_REQUIRE(out_program);
    return weft_compile_with_inputs(graph, outputs, output_names, (weft_tensors){0, NULL}, policy, out_program);
}

weft_status *weft_compile(weft_graph *graph, weft_tensors outputs, const weft_policy *policy,
                          weft_program **out_program)
{
    WEFT_REQUIRE(graph);
    WEFT_REQUIRE(out_program);
    return weft_compile_named(graph, outputs, NULL, policy, out_program);
}

/* ---- a program once more ---- */

bool weft_program_expects(const weft_program *program)
{
    for (size_t i = 0; i < program->family_count; i++)
        for (size_t k = 0; k < program->families[i]->op_count; k++)
            if (weft_op_expects(program->families[i]->ops[k])) return true;
    return false;
}

/* The outputs and inputs of a program, as tensors of its graph, and their names. */
typedef struct interface {
    weft_tensor *outputs, *inputs;
    const char **names;
} interface;

static weft_status *open_interface(const weft_program *program, weft_arena *arena, interface *out_interface)
{
    const weft_compiled *compiled = program->graph;
    interface made = {weft_arena_allocate(arena, compiled->output_count * sizeof(weft_tensor)),
                      weft_arena_allocate(arena, (program->input_count + 1) * sizeof(weft_tensor)),
                      weft_arena_allocate(arena, compiled->output_count * sizeof(char *))};
    if (made.outputs == NULL || made.inputs == NULL || made.names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < compiled->output_count; i++) {
        weft_value value = compiled->outputs[i];
        made.outputs[i] = (weft_tensor){compiled->graph, value.node, value.output};
        made.names[i] = program->outputs[i].name;
    }
    for (size_t i = 0; i < program->input_count; i++)
        made.inputs[i] = (weft_tensor){compiled->graph, compiled->inputs[i], 0};
    *out_interface = made;
    return NULL;
}

/* What binds calls of one has to bind those of the other. Guards that require exact extents are beside the point. */
static weft_status *check_same(const weft_program *program, const weft_program *made, bool exact)
{
    bool same = made->input_count == program->input_count && (exact || made->guard_count == program->guard_count) &&
                made->formulas.symbol_count == program->formulas.symbol_count;
    for (size_t i = 0; i < program->input_count && same; i++)
        same = strcmp(made->inputs[i].name, program->inputs[i].name) == 0;
    for (size_t i = 0; i < program->formulas.symbol_count && same; i++)
        same = strcmp(made->formulas.symbols[i].name, program->formulas.symbols[i].name) == 0;
    return same ? NULL
                : weft_status_create(program->allocator, WEFT_UNSUPPORTED, "weft_compile_for",
                                     "an op of an extension is lowered to what has other inputs, symbols or guards");
}

weft_status *weft_compile_for(const weft_program *program, const int64_t *values, bool exact,
                              weft_program **out_program)
{
    const weft_compiled *compiled = program->graph;
    const weft_expected expected = {&program->formulas, values, exact};
    compiler c = {.source = compiled->graph, .policy = program->policy, .expected = &expected};
    weft_arena arena;
    interface taken = {NULL, NULL, NULL};
    weft_arena_init(&arena, program->allocator);
    weft_status *status = open_interface(program, &arena, &taken);
    if (status == NULL)
        status = compile_into(&c, (weft_tensors){compiled->output_count, taken.outputs}, taken.names,
                              (weft_tensors){program->input_count, taken.inputs}, out_program);
    weft_arena_finish(&arena);
    if (status == NULL && (status = check_same(program, *out_program, exact)) != NULL)
        weft_program_release(*out_program);
    return status;
}
