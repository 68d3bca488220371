/* SPDX-License-Identifier: Apache-2.0 */
/* Creating a node: it is checked, looked up, typed, and only then added to the graph. */
#include "lib/graph/attr.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/float_mode.h"
#include "runtime/program/extension.h"

/* A node on its way into the graph. */
typedef struct node_draft {
    const weft_op_def *op;
    size_t input_count;
    const weft_value *inputs;
    const weft_attr *attrs; /* the caller's until the type rule runs, the graph's own copy from then on */
    size_t output_count;
    weft_type *types;
    size_t failures; /* of the graph before; more of them, and the node is not made */
} node_draft;

static weft_status *draft_error(weft_graph *graph, const node_draft *draft, weft_code code, const char *format, ...)
    WEFT_FORMAT(4, 5);

static weft_status *draft_error(weft_graph *graph, const node_draft *draft, weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_status_create_v(graph->allocator, code, draft->op->name, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- what the schema asks of operands ---- */

static void print_dtypes(weft_dtype_set set, char *out_text, size_t size)
{
    size_t length = 0;
    out_text[0] = '\0';
    for (unsigned d = 0; d < WEFT_DTYPE_COUNT; d++) {
        if ((set >> d & 1) == 0) continue;
        const char *name = weft_dtype_name((weft_dtype)d), *comma = length == 0 ? "" : ", ";
        if (length + strlen(comma) + strlen(name) >= size) return;
        strcat(strcpy(out_text + length, comma), name);
        length += strlen(out_text + length);
    }
}

static weft_status *check_dtype(weft_graph *graph, const node_draft *draft, size_t operand)
{
    weft_dtype dtype = weft_value_type(graph, draft->inputs[operand])->dtype;
    if (draft->op->dtypes == 0 || (draft->op->dtypes >> dtype & 1) != 0) return NULL;
    char taken[128];
    print_dtypes(draft->op->dtypes, taken, sizeof taken);
    return draft_error(graph, draft, WEFT_DTYPE_MISMATCH, "%s: operand %zu has dtype %s but the op takes %s",
                       draft->op->name, operand, weft_dtype_name(dtype), taken);
}

static weft_status *check_inputs(weft_graph *graph, const node_draft *draft)
{
    int32_t wanted = draft->op->input_count;
    if (wanted < 0 ? draft->input_count == 0 : draft->input_count != (size_t)wanted) {
        return draft_error(graph, draft, WEFT_INVALID_ARGUMENT, "%s: %zu operand%s given but the op takes %s%d",
                           draft->op->name, draft->input_count, draft->input_count == 1 ? " is" : "s are",
                           wanted < 0 ? "at least " : "", wanted < 0 ? 1 : (int)wanted);
    }
    for (size_t i = 0; i < draft->input_count; i++) {
        weft_value value = draft->inputs[i];
        if (value.node >= graph->node_count || value.output >= weft_graph_node(graph, value.node)->output_count) {
            return draft_error(graph, draft, WEFT_INVALID_ARGUMENT, "%s: operand %zu is not a value of the graph",
                               draft->op->name, i);
        }
        WEFT_TRY(check_dtype(graph, draft, i));
    }
    return NULL;
}

static weft_status *count_own_outputs(weft_graph *graph, node_draft *draft)
{
    weft_float_mode mode = weft_float_mode_enter();
    draft->output_count = draft->op->count_outputs(draft->op, draft->attrs, draft->input_count);
    weft_float_mode_leave(mode);
    if (draft->output_count > 0 && draft->output_count <= UINT32_MAX) return NULL;
    return draft_error(graph, draft, WEFT_INVALID_ARGUMENT, "%s: %zu outputs, but a node has 1 to %" PRIu32,
                       draft->op->name, draft->output_count, UINT32_MAX);
}

static weft_status *find_output_count(weft_graph *graph, node_draft *draft)
{
    weft_op_id id = weft_op_id_of(draft->op);
    draft->output_count = draft->op->output_count;
    if (weft_op_counts_outputs(draft->op)) return count_own_outputs(graph, draft);
    if (id == WEFT_OP_cond) draft->output_count = draft->attrs[0].region.results.count;
    if (id != WEFT_OP_fold && id != WEFT_OP_while) return NULL;
    int64_t carried = draft->attrs[id == WEFT_OP_fold ? 2 : 0].integer;
    if (carried < 1 || (uint64_t)carried > draft->input_count) {
        return draft_error(graph, draft, WEFT_OUT_OF_RANGE,
                           "%s: carried is %" PRId64 ", but must be at least 1 and no more than the operands, %zu",
                           draft->op->name, carried, draft->input_count);
    }
    draft->output_count = (size_t)carried;
    return NULL;
}

/* ---- the type rule ---- */

typedef struct rule_context {
    weft_infer_context base;
    weft_arena *scratch;
} rule_context;

static void *rule_allocate(const weft_infer_context *context, size_t size)
{
    return weft_arena_allocate(((const rule_context *)context)->scratch, size);
}

static weft_status *run_rule(weft_graph *graph, node_draft *draft, weft_arena *scratch)
{
    weft_type *inputs = weft_arena_allocate(scratch, draft->input_count * sizeof *inputs);
    draft->types = weft_arena_allocate(scratch, draft->output_count * sizeof *draft->types);
    if (inputs == NULL || draft->types == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < draft->input_count; i++) inputs[i] = *weft_value_type(graph, draft->inputs[i]);
    for (size_t i = 0; i < draft->output_count; i++) draft->types[i] = (weft_type){.dtype = WEFT_DTYPE_COUNT};
    rule_context context = {.base = {.size = sizeof context.base,
                                     .graph = graph,
                                     .op = draft->op,
                                     .input_count = draft->input_count,
                                     .inputs = inputs,
                                     .attrs = draft->attrs,
                                     .allocate = rule_allocate},
                            .scratch = scratch};
    /* Rules of built-in ops compute no floats. */
    if (weft_op_id_of(draft->op) != WEFT_OP_EXTENSION) return draft->op->infer(&context.base, draft->types);
    weft_float_mode saved = weft_float_mode_enter();
    weft_status *status = draft->op->infer(&context.base, draft->types);
    weft_float_mode_leave(saved);
    return status;
}

/* ---- what any result must be ---- */

static weft_status *check_axis(weft_graph *graph, const node_draft *draft, size_t axis, weft_extent extent)
{
    if (!weft_extent_is_valid(extent)) {
        return draft_error(graph, draft, WEFT_OUT_OF_RANGE,
                           "%s: axis %zu of the result has an extent that is invalid or does not fit an int64",
                           draft->op->name, axis);
    }
    if (extent.graph != NULL && extent.graph->exprs != graph->exprs) {
        return draft_error(graph, draft, WEFT_INVALID_ARGUMENT,
                           "%s: axis %zu of the result has an extent of another graph", draft->op->name, axis);
    }
    if (weft_guard_is_proven(graph, WEFT_GUARD_AT_MOST, weft_extent_of(0), extent)) return NULL;
    weft_status *otherwise =
        draft_error(graph, draft, WEFT_OUT_OF_RANGE, "%s: axis %zu%s has extent %s, below 0", draft->op->name, axis,
                    draft->op->input_count == 0 ? "" : " of the result", weft_extent_describe(extent).text);
    return weft_guard_settle(graph, WEFT_GUARD_AT_MOST, weft_extent_of(0), extent, otherwise);
}

/* Whether the extents are known well enough to say that their product overflows whatever the symbols are. */
static bool count_overflows(weft_shape shape)
{
    int64_t count = 1;
    bool overflows = false;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t least, most;
        weft_extent_range(shape.extents[i], &least, &most);
        if (least <= 0) return false;
        overflows = overflows || __builtin_mul_overflow(count, least, &count);
    }
    return overflows;
}

static weft_status *check_result(weft_graph *graph, const node_draft *draft, const weft_type *type)
{
    if (type->dtype == WEFT_DTYPE_COUNT)
        return draft_error(graph, draft, WEFT_INTERNAL, "%s: the type rule left a result without a type",
                           draft->op->name);
    if (weft_dtype_info_of(type->dtype) == NULL)
        return draft_error(graph, draft, WEFT_INTERNAL,
                           "%s: the type rule gave a result dtype %d, which does not exist", draft->op->name,
                           (int)type->dtype);
    if (type->shape.rank > 0 && type->shape.extents == NULL)
        return draft_error(graph, draft, WEFT_INTERNAL, "%s: the type rule left a result of rank %zu without extents",
                           draft->op->name, type->shape.rank);
    if (type->shape.rank > WEFT_MAX_RANK) {
        return draft_error(graph, draft, WEFT_INVALID_ARGUMENT, "%s: the result would have rank %zu, over %d",
                           draft->op->name, type->shape.rank, WEFT_MAX_RANK);
    }
    for (size_t i = 0; i < type->shape.rank; i++) WEFT_TRY(check_axis(graph, draft, i, type->shape.extents[i]));
    if (!count_overflows(type->shape)) return NULL;
    return draft_error(graph, draft, WEFT_OUT_OF_RANGE,
                       "%s: a result of type %s has more elements than an int64 counts", draft->op->name,
                       weft_type_describe(type).text);
}

static bool has_failed(const weft_graph *graph, const node_draft *draft)
{
    return weft_graph_root(graph)->failures != draft->failures;
}

static weft_status *infer(weft_graph *graph, node_draft *draft, weft_arena *scratch)
{
    WEFT_TRY(find_output_count(graph, draft));
    WEFT_TRY(run_rule(graph, draft, scratch));
    for (size_t i = 0; i < draft->output_count && !has_failed(graph, draft); i++) {
        WEFT_TRY(check_result(graph, draft, &draft->types[i]));
    }
    return NULL;
}

/* ---- into the graph ---- */

static const weft_type *copy_types(weft_graph *graph, const node_draft *draft)
{
    weft_type *types = weft_arena_copy(&graph->arena, draft->types, draft->output_count * sizeof *types);
    for (size_t i = 0; types != NULL && i < draft->output_count; i++) {
        weft_shape *shape = &types[i].shape;
        weft_extent *extents = weft_arena_allocate(&graph->arena, shape->rank * sizeof *extents);
        if (extents == NULL) return NULL;
        for (size_t j = 0; j < shape->rank; j++) {
            extents[j] = weft_extent_from(graph, weft_extent_expr(graph, shape->extents[j]));
        }
        shape->extents = extents;
    }
    return types;
}

/* Enters an input's name; another input of that name is an error. */
static weft_status *enter_name(weft_graph *graph, const node_draft *draft, const char *name)
{
    size_t known = (size_t)(uintptr_t)weft_map_find(&graph->inputs, name, strlen(name));
    if (known != 0) {
        return draft_error(
            graph, draft, WEFT_INVALID_ARGUMENT, "input: %s is declared as %s already and cannot also be %s", name,
            weft_type_describe(&graph->nodes[known - 1].types[0]).text, weft_type_describe(&draft->types[0]).text);
    }
    bool inserted = weft_map_insert(&graph->inputs, name, strlen(name), (void *)(uintptr_t)(graph->node_count + 1));
    return inserted ? NULL : weft_status_out_of_memory();
}

static weft_status *commit(weft_graph *graph, const node_draft *draft, const weft_bytes *key)
{
    const char *name = weft_op_id_of(draft->op) == WEFT_OP_input ? draft->attrs[0].data : NULL;
    const weft_type *types = copy_types(graph, draft);
    const weft_value *inputs = weft_arena_copy(&graph->arena, draft->inputs, draft->input_count * sizeof *inputs);
    if (types == NULL || inputs == NULL || graph->node_count >= WEFT_NODE_INVALID ||
        !weft_reserve(graph->allocator, &graph->nodes, &graph->node_capacity, graph->node_count + 1,
                      sizeof *graph->nodes)) {
        return weft_status_out_of_memory();
    }
    if (has_failed(graph, draft)) return NULL;
    if (name != NULL) WEFT_TRY(enter_name(graph, draft, name));
    if (!weft_map_insert(&graph->interned, key->data, key->size, (void *)(uintptr_t)(graph->node_count + 1))) {
        if (name != NULL) weft_map_remove(&graph->inputs, name, strlen(name));
        return weft_status_out_of_memory();
    }
    graph->nodes[graph->node_count++] = (weft_node){.op = draft->op,
                                                    .input_count = (uint32_t)draft->input_count,
                                                    .output_count = (uint32_t)draft->output_count,
                                                    .inputs = inputs,
                                                    .attrs = draft->attrs,
                                                    .types = types,
                                                    .name = name,
                                                    .location = weft_graph_root(graph)->location};
    return NULL;
}

/* Errors of extent arithmetic inside a rule begin with the op's name as well. */
static void name_error(weft_graph *root, const weft_op_def *op)
{
    size_t length = strlen(op->name);
    const char *message = weft_status_message(root->error);
    bool named = strncmp(message, op->name, length) == 0 && message[length] == ':';
    if (named || weft_status_code(root->error) == WEFT_OUT_OF_MEMORY) return;
    weft_status *error =
        weft_status_create(root->allocator, weft_status_code(root->error), op->name, "%s: %s", op->name, message);
    weft_status_destroy(root->error);
    root->error = error;
}

static weft_status *create(weft_graph *graph, node_draft *draft, const weft_bytes *key, weft_arena *scratch)
{
    weft_graph *root = weft_graph_root(graph);
    bool clean = root->error == NULL;
    draft->attrs = weft_attrs_copy(graph, draft->op, draft->attrs);
    if (draft->attrs == NULL) return weft_status_out_of_memory();
    weft_rule_site site = {draft->input_count, draft->inputs};
    graph->rule = &site;
    weft_status *status = infer(graph, draft, scratch);
    graph->rule = NULL;
    if (clean && root->error != NULL) name_error(root, draft->op);
    return status == NULL && !has_failed(graph, draft) ? commit(graph, draft, key) : status;
}

/* `*out_node` stays as it is when an error stuck to the graph on the way. */
static weft_status *find_or_create(weft_graph *graph, node_draft *draft, weft_bytes *key, uint32_t *out_node)
{
    if (graph->rule != NULL)
        return draft_error(graph, draft, WEFT_INVALID_ARGUMENT, "infer must not trace, but traces %s", draft->op->name);
    graph->input_calls += weft_op_id_of(draft->op) == WEFT_OP_input;
    WEFT_TRY(check_inputs(graph, draft));
    WEFT_TRY(weft_attrs_check(graph, draft->op, draft->attrs));
    WEFT_TRY(weft_attrs_intern_data(graph, draft->op, &draft->attrs));
    WEFT_TRY(weft_node_encode(graph, draft->op, draft->input_count, draft->inputs, draft->attrs, key));
    size_t known = (size_t)(uintptr_t)weft_map_find(&graph->interned, key->data, key->size);
    if (known == 0 && !has_failed(graph, draft)) {
        weft_arena scratch;
        weft_arena_init(&scratch, graph->allocator);
        weft_status *status = create(graph, draft, key, &scratch);
        weft_arena_finish(&scratch);
        if (status != NULL) return status;
        known = graph->node_count;
    }
    if (!has_failed(graph, draft)) *out_node = (uint32_t)(known - 1);
    return NULL;
}

uint32_t weft_graph_add(weft_graph *graph, const weft_op_def *op, size_t input_count, const weft_value *inputs,
                        const weft_attr *attrs)
{
    uint32_t node = WEFT_NODE_INVALID;
    node_draft draft = {.op = op,
                        .input_count = input_count,
                        .inputs = inputs,
                        .attrs = attrs,
                        .failures = weft_graph_root(graph)->failures};
    weft_bytes key;
    weft_bytes_init(&key, graph->allocator);
    weft_status *status = find_or_create(graph, &draft, &key, &node);
    weft_bytes_finish(&key);
    weft_graph_fail(graph, status);
    return node;
}
