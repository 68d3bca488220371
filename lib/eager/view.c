/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are views of an operand: movement ops, applied to strides. */
#include <string.h>
#include "lib/eager/eager.h"
#include "lib/graph/graph.h"

/* Of a function, movement ops within each other; more are computed. */
enum { MOST_STEPS = 32 };

/* Strides of elements on the way. */
struct layout {
    size_t rank;
    int64_t extents[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
    int64_t offset;
};

/* One op: its numbers, and the shape of its result. */
struct step {
    bool (*apply)(const struct step *step, struct layout *x);
    size_t rank, number_count;
    int64_t *extents, *numbers;
};

struct weft_eager_view {
    size_t operand, step_count, size;
    struct step steps[];
};

/* ---- the ops: false where strides cannot say it ---- */

static void set_shape(const struct step *step, struct layout *x)
{
    x->rank = step->rank;
    if (step->rank > 0) memcpy(x->extents, step->extents, step->rank * sizeof *x->extents);
}

static bool apply_permute(const struct step *step, struct layout *x)
{
    struct layout from = *x;
    for (size_t i = 0; i < step->rank; i++) x->strides[i] = from.strides[step->numbers[i]];
    set_shape(step, x);
    return true;
}

static bool apply_broadcast(const struct step *step, struct layout *x)
{
    struct layout from = *x;
    memset(x->strides, 0, sizeof x->strides);
    for (size_t i = 0; i < from.rank; i++) {
        if (from.extents[i] != 1) x->strides[step->numbers[i]] = from.strides[i];
    }
    set_shape(step, x);
    return true;
}

/* Starts, then steps. */
static bool apply_slice(const struct step *step, struct layout *x)
{
    for (size_t i = 0; i < step->rank; i++) {
        x->offset += step->numbers[i] * x->strides[i];
        x->strides[i] *= step->numbers[step->rank + i];
    }
    set_shape(step, x);
    return true;
}

static bool apply_flip(const struct step *step, struct layout *x)
{
    for (size_t i = 0; i < step->number_count; i++) {
        size_t axis = (size_t)step->numbers[i];
        if (x->extents[axis] == 0) continue;
        x->offset += (x->extents[axis] - 1) * x->strides[axis];
        x->strides[axis] = -x->strides[axis];
    }
    return true;
}

/* Axis, stride, dilation. */
static bool apply_window(const struct step *step, struct layout *x)
{
    int64_t stride = x->strides[step->numbers[0]];
    x->strides[step->numbers[0]] = stride * step->numbers[1];
    x->strides[x->rank] = stride * step->numbers[2];
    set_shape(step, x);
    return true;
}

static bool apply_extract_diagonal(const struct step *step, struct layout *x)
{
    size_t a = (size_t)step->numbers[0], b = (size_t)step->numbers[1];
    size_t kept = a < b ? a : b, gone = a < b ? b : a;
    x->strides[kept] += x->strides[gone];
    memmove(x->strides + gone, x->strides + gone + 1, (x->rank - gone - 1) * sizeof *x->strides);
    set_shape(step, x);
    return true;
}

/* Takes out axes of one element, whose strides mean nothing. */
static void squeeze(struct layout *x)
{
    size_t rank = 0;
    for (size_t i = 0; i < x->rank; i++) {
        if (x->extents[i] == 1) continue;
        x->extents[rank] = x->extents[i];
        x->strides[rank++] = x->strides[i];
    }
    x->rank = rank;
}

/* Whether axes first .. last of `x` are one axis in memory. */
static bool is_joined(const struct layout *x, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        if (x->strides[i] != x->extents[i + 1] * x->strides[i + 1]) return false;
    }
    return true;
}

/* Axes of equally many elements are matched from the left: those of the operand have to be one axis in memory, which
 * those of the result then share. */
static bool apply_reshape(const struct step *step, struct layout *x)
{
    struct layout from = *x;
    size_t at = 0, end = 0;
    int64_t count = 1;
    set_shape(step, x);
    memset(x->strides, 0, sizeof x->strides);
    for (size_t i = 0; i < step->rank; i++) count *= step->extents[i];
    if (count == 0) return true;
    squeeze(&from);
    for (size_t i = 0; i < step->rank; at = end, i++) {
        int64_t wanted = step->extents[i], found = 1;
        size_t last = i;
        if (wanted == 1) continue;
        while (found != wanted) {
            if (found < wanted) found *= from.extents[end++];
            else wanted *= step->extents[++last];
        }
        if (!is_joined(&from, at, end - 1)) return false;
        x->strides[last] = from.strides[end - 1];
        for (size_t k = last; k > i; k--) x->strides[k - 1] = x->strides[k] * step->extents[k];
        i = last;
    }
    return true;
}

/* ---- found in a graph ---- */

static int64_t value_of(weft_extent extent)
{
    int64_t value = 0;
    weft_extent_is_static(extent, &value); /* all are, in a graph of numbers */
    return value;
}

enum { MOST_NUMBERS = 2 * WEFT_MAX_RANK };

/* What each op needs to know, besides the shape of its result: fills `out_numbers`, returns how many. */
static size_t fill_nothing(const weft_node *node, int64_t *out_numbers)
{
    (void)node;
    (void)out_numbers;
    return 0;
}

static size_t fill_ints(weft_ints ints, int64_t *out_numbers)
{
    for (size_t i = 0; i < ints.count; i++) out_numbers[i] = ints.items[i];
    return ints.count;
}

static size_t fill_axes(const weft_node *node, int64_t *out_numbers)
{
    return fill_ints(node->attrs[0].ints, out_numbers);
}

static size_t fill_broadcast(const weft_node *node, int64_t *out_numbers)
{
    return fill_ints(node->attrs[1].ints, out_numbers);
}

static size_t fill_slice(const weft_node *node, int64_t *out_numbers)
{
    weft_shape starts = node->attrs[0].extents;
    for (size_t i = 0; i < starts.rank; i++) out_numbers[i] = value_of(starts.extents[i]);
    return starts.rank + fill_ints(node->attrs[2].ints, out_numbers + starts.rank);
}

static size_t fill_window(const weft_node *node, int64_t *out_numbers)
{
    out_numbers[0] = node->attrs[0].integer;
    out_numbers[1] = node->attrs[2].integer;
    out_numbers[2] = node->attrs[3].integer;
    return 3;
}

static size_t fill_diagonal(const weft_node *node, int64_t *out_numbers)
{
    out_numbers[0] = node->attrs[0].integer;
    out_numbers[1] = node->attrs[1].integer;
    return 2;
}

/* By op; those without are no views. */
static const struct movement {
    bool (*apply)(const struct step *step, struct layout *x);
    size_t (*fill)(const weft_node *node, int64_t *out_numbers);
} movements[WEFT_OP_COUNT + 1] = {
    [WEFT_OP_reshape] = {apply_reshape, fill_nothing},
    [WEFT_OP_permute] = {apply_permute, fill_axes},
    [WEFT_OP_broadcast] = {apply_broadcast, fill_broadcast},
    [WEFT_OP_slice] = {apply_slice, fill_slice},
    [WEFT_OP_flip] = {apply_flip, fill_axes},
    [WEFT_OP_window] = {apply_window, fill_window},
    [WEFT_OP_extract_diagonal] = {apply_extract_diagonal, fill_diagonal},
};

static const struct movement *movement_of(const weft_node *node)
{
    return &movements[weft_op_id_of(node->op)];
}

struct chain {
    size_t count;
    uint32_t nodes[MOST_STEPS]; /* from the result to the operand */
    weft_value source;
};

/* Follows movement ops from `value` on; false when there are too many. */
static bool find_chain(const weft_graph *graph, weft_value value, struct chain *out_chain)
{
    out_chain->count = 0;
    while (movement_of(weft_graph_node(graph, value.node))->apply != NULL) {
        if (out_chain->count == MOST_STEPS) return false;
        out_chain->nodes[out_chain->count++] = value.node;
        value = weft_graph_node(graph, value.node)->inputs[0];
    }
    out_chain->source = value;
    return true;
}

static size_t words_of(const weft_graph *graph, const struct chain *chain)
{
    size_t words = 0;
    int64_t numbers[MOST_NUMBERS];
    for (size_t i = 0; i < chain->count; i++) {
        const weft_node *node = weft_graph_node(graph, chain->nodes[i]);
        words += node->types[0].shape.rank + movement_of(node)->fill(node, numbers);
    }
    return words;
}

static void fill_step(const weft_node *node, int64_t *words, struct step *step)
{
    weft_shape shape = node->types[0].shape;
    step->apply = movement_of(node)->apply;
    step->numbers = words;
    step->number_count = movement_of(node)->fill(node, words);
    step->extents = words + step->number_count;
    step->rank = shape.rank;
    for (size_t i = 0; i < shape.rank; i++) step->extents[i] = value_of(shape.extents[i]);
}

static void fill_steps(const weft_graph *graph, const struct chain *chain, weft_eager_view *view)
{
    int64_t *words = (int64_t *)(view->steps + chain->count);
    for (size_t i = 0; i < chain->count; i++) {
        const weft_node *node = weft_graph_node(graph, chain->nodes[chain->count - 1 - i]);
        fill_step(node, words, &view->steps[i]);
        words += view->steps[i].number_count + view->steps[i].rank;
    }
}

weft_status *weft_eager_view_find(const weft_allocator *allocator, weft_tensor tensor, size_t count,
                                  const weft_tensor *operands, weft_eager_view **out_view)
{
    struct chain chain;
    size_t operand = 0;
    *out_view = NULL;
    if (!find_chain(tensor.graph, (weft_value){tensor.node, tensor.output}, &chain)) return NULL;
    while (operand < count && operands[operand].node != chain.source.node) operand++;
    if (operand == count) return NULL;
    size_t size =
        sizeof(weft_eager_view) + chain.count * sizeof(struct step) + words_of(tensor.graph, &chain) * sizeof(int64_t);
    weft_eager_view *view = weft_allocate_zeroed(allocator, size);
    if (view == NULL) return weft_status_out_of_memory();
    *view = (weft_eager_view){.operand = operand, .step_count = chain.count, .size = size};
    fill_steps(tensor.graph, &chain, view);
    *out_view = view;
    return NULL;
}

void weft_eager_view_destroy(const weft_allocator *allocator, weft_eager_view *view)
{
    if (view != NULL) weft_free(allocator, view, view->size);
}

/* ---- applied ---- */

size_t weft_eager_view_operand(const weft_eager_view *view)
{
    return view->operand;
}

weft_status *weft_eager_view_apply(const weft_eager_view *view, const weft_eager_type *type, weft_array *base,
                                   weft_array **out_view)
{
    struct layout x = {.rank = weft_array_rank(base)};
    *out_view = NULL;
    if (x.rank > 0) memcpy(x.extents, weft_array_shape(base), x.rank * sizeof *x.extents);
    if (x.rank > 0) memcpy(x.strides, weft_array_strides(base), x.rank * sizeof *x.strides);
    for (size_t i = 0; i < view->step_count; i++) {
        if (!view->steps[i].apply(&view->steps[i], &x)) return NULL;
    }
    return weft_array_view(base, type->rank, type->extents, x.strides, type->count == 0 ? 0 : x.offset, out_view);
}
