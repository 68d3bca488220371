/* SPDX-License-Identifier: Apache-2.0 */
/* A program with inputs as constants: its graph is copied, these inputs are replaced, and it is compiled once more. */
#include <string.h>
#include "lib/pass/compile.h"
#include "lib/pass/pass.h"
#include "runtime/base/status.h"
#include "runtime/data/array.h"
#include "runtime/program/program.h"

static const char where[] = "weft_program_bind";

typedef struct binder {
    const weft_program *program;
    weft_arena arena;
    weft_array **arrays; /* of each input of the program: what it becomes, or NULL */
    weft_graph *graph;
    size_t output_count, root_count;
    weft_value *roots; /* of `graph`: the outputs, and after them the inputs that remain */
} binder;

/* ---- arguments ---- */

static weft_status *find_input(const binder *b, const weft_named_array *given, size_t number, size_t *out_input)
{
    const weft_allocator *allocator = b->program->allocator;
    if (given->name == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "name %zu is NULL", number);
    if (given->array == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "the array for input \"%s\" is NULL",
                                  given->name);
    *out_input = weft_program_find_input(b->program, given->name);
    if (*out_input == SIZE_MAX)
        return weft_status_create(allocator, WEFT_NOT_FOUND, where, "the program has no input \"%s\"", given->name);
    if (b->arrays[*out_input] == NULL) return NULL;
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "input \"%s\" is given twice", given->name);
}

static weft_status *check_extent(const binder *b, const weft_program_value *input, size_t axis, int64_t given)
{
    const weft_compiled *compiled = b->program->graph;
    size_t number = (size_t)(input - b->program->inputs);
    const weft_tensor tensor = {compiled->graph, compiled->inputs[number], 0};
    int64_t required;
    if (!weft_extent_is_static(weft_tensor_extent(tensor, (int64_t)axis), &required))
        return weft_status_create(b->program->allocator, WEFT_UNSUPPORTED, where,
                                  "input \"%s\" cannot be a constant: axis %zu has extent %s, which is no number",
                                  input->name, axis, input->axes[axis].extent);
    if (required == given) return NULL;
    return weft_status_create(b->program->allocator, WEFT_SHAPE_MISMATCH, where,
                              "axis %zu of the array for input \"%s\" has extent %lld, but the program requires %lld",
                              axis, input->name, (long long)given, (long long)required);
}

static weft_status *check_array(const binder *b, const weft_program_value *input, const weft_array *array)
{
    const weft_allocator *allocator = b->program->allocator;
    weft_device device = weft_array_device(array);
    if (weft_array_dtype(array) != input->dtype)
        return weft_status_create(allocator, WEFT_DTYPE_MISMATCH, where,
                                  "the array for input \"%s\" is %s, but the program requires %s", input->name,
                                  weft_dtype_name(weft_array_dtype(array)), weft_dtype_name(input->dtype));
    if (weft_array_rank(array) != input->rank)
        return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, where,
                                  "the array for input \"%s\" has rank %zu, but the program requires %u", input->name,
                                  weft_array_rank(array), input->rank);
    if (device.kind != WEFT_DEVICE_CPU)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, where,
                                  "the array for input \"%s\" is on device %d:%d, not in memory of the CPU",
                                  input->name, (int)device.kind, (int)device.index);
    for (size_t axis = 0; axis < input->rank; axis++)
        WEFT_TRY(check_extent(b, input, axis, weft_array_shape(array)[axis]));
    return NULL;
}

static weft_status *take_arrays(binder *b, weft_named_arrays constants)
{
    size_t input = 0, size = (b->program->input_count + 1) * sizeof *b->arrays;
    b->arrays = weft_arena_allocate(&b->arena, size);
    if (b->arrays == NULL) return weft_status_out_of_memory();
    memset(b->arrays, 0, size);
    for (size_t i = 0; i < constants.count; i++) {
        WEFT_TRY(find_input(b, &constants.items[i], i, &input));
        WEFT_TRY(check_array(b, &b->program->inputs[input], constants.items[i].array));
        b->arrays[input] = constants.items[i].array;
    }
    return NULL;
}

/* ---- the graph ---- */

static weft_status *copy_graph(binder *b)
{
    const weft_compiled *compiled = b->program->graph;
    size_t most = compiled->output_count + b->program->input_count;
    weft_value *old = weft_arena_allocate(&b->arena, most * sizeof *old);
    b->roots = weft_arena_allocate(&b->arena, most * sizeof *b->roots);
    if (old == NULL || b->roots == NULL) return weft_status_out_of_memory();
    b->output_count = b->root_count = compiled->output_count;
    memcpy(old, compiled->outputs, b->output_count * sizeof *old);
    for (size_t i = 0; i < b->program->input_count; i++)
        if (b->arrays[i] == NULL) old[b->root_count++] = (weft_value){compiled->inputs[i], 0};
    return weft_compiled_copy(b->program->allocator, compiled, b->root_count, old, &b->graph, b->roots);
}

/* Parameters of regions are inputs too, of graphs of their own. */
static weft_status *put_constant(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    const binder *b = site->context;
    if (site->graph != b->graph || weft_op_id_of(site->node->op) != WEFT_OP_input) return NULL;
    size_t input = weft_program_find_input(b->program, site->node->attrs[0].data);
    weft_array *dense, *array = input == SIZE_MAX ? NULL : b->arrays[input];
    if (array == NULL) return NULL;
    WEFT_TRY(weft_array_retain_dense(b->program->allocator, array, &dense));
    const weft_ints shape = {weft_array_rank(dense), weft_array_shape(dense)};
    out_values[0] = weft_constant(site->graph, weft_array_dtype(dense), shape, weft_array_data(dense));
    weft_array_release(dense);
    *out_replaced = true;
    return NULL;
}

/* ---- the program ---- */

static weft_tensor *tensors_of(binder *b, size_t begin, size_t end)
{
    weft_tensor *tensors = weft_arena_allocate(&b->arena, (end - begin + 1) * sizeof *tensors);
    for (size_t i = begin; i < end && tensors != NULL; i++)
        tensors[i - begin] = (weft_tensor){b->graph, b->roots[i].node, b->roots[i].output};
    return tensors;
}

static weft_status *compile(binder *b, weft_program **out_program)
{
    weft_policy policy = b->program->policy;
    policy.keep_symbolic_extensions = true; /* those that were to be lowered have been */
    weft_tensor *outputs = tensors_of(b, 0, b->output_count), *inputs = tensors_of(b, b->output_count, b->root_count);
    const char **names = weft_arena_allocate(&b->arena, b->output_count * sizeof *names);
    if (outputs == NULL || inputs == NULL || names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < b->output_count; i++) names[i] = b->program->outputs[i].name;
    return weft_compile_with_inputs(b->graph, (weft_tensors){b->output_count, outputs}, names,
                                    (weft_tensors){b->root_count - b->output_count, inputs}, &policy, out_program);
}

/* The idle symbols of the program are such of the new one, besides those that it has no use for. */
static weft_status *add_idle(const binder *b, weft_program *made)
{
    const weft_program *program = b->program;
    weft_symbol_info *idle =
        weft_arena_allocate(&made->arena, (made->idle_count + program->idle_count + 1) * sizeof *idle);
    if (idle == NULL) return weft_status_out_of_memory();
    memcpy(idle, made->idle, made->idle_count * sizeof *idle);
    made->idle = idle;
    for (size_t i = 0; i < program->idle_count; i++) {
        const weft_symbol_info *old = &program->idle[i];
        weft_symbol_info *added = &idle[made->idle_count];
        *added = (weft_symbol_info){weft_arena_string(&made->arena, old->name, strlen(old->name)), old->min, old->max};
        if (added->name == NULL) return weft_status_out_of_memory();
        made->idle_count++;
    }
    return NULL;
}

static weft_status *bind(binder *b, weft_named_arrays constants, weft_program **out_program)
{
    weft_program *made;
    WEFT_TRY(take_arrays(b, constants));
    WEFT_TRY(copy_graph(b));
    WEFT_TRY(weft_rewrite_run(b->graph, b->root_count, b->roots, put_constant, b));
    WEFT_TRY(compile(b, &made));
    weft_status *status = add_idle(b, made);
    if (status == NULL) *out_program = made;
    else weft_program_release(made);
    return status;
}

weft_status *weft_program_bind(const weft_program *program, weft_named_arrays constants, weft_program **out_program)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(out_program);
    if (constants.count > 0) WEFT_REQUIRE(constants.items);
    binder b = {.program = program};
    weft_arena_init(&b.arena, program->allocator);
    weft_status *status = bind(&b, constants, out_program);
    weft_graph_destroy(b.graph);
    weft_arena_finish(&b.arena);
    return status;
}
