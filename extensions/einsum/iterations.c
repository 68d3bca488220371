/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
#include "iterations.h"
#include "operand.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { MOST_PARTS = 8 };

/* ---- one iteration ---- */

typedef struct iteration {
    const einsum_slices *slices;
    const weft_tensor *operands;
    const einsum_form *forms;
    einsum_value *values; /* by value: those from outside, whole, and what this iteration computes */
    weft_tensor *places;  /* by sliced label: i64 of rank 0 */
    int64_t first;        /* number of the loop's first iteration */
    weft_status *status;
} iteration;

/* The iteration's number as one place for each sliced label, the last label fastest. */
static void fill_places(iteration *t, weft_tensor index)
{
    weft_graph *graph = index.graph;
    if (t->first > 0) index = weft_add(index, weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &t->first));
    for (size_t i = t->slices->x->sliced.count; i-- > 0;) {
        int64_t extent = 1;
        weft_extent_is_static(t->slices->x->extents[t->slices->x->sliced.items[i]], &extent);
        weft_tensor size = weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &extent);
        t->places[i] = weft_remainder(index, size);
        index = weft_div(index, size);
    }
}

/* Axes with sliced labels, where they start, and the shape that is left there. */
typedef struct window {
    einsum_axes axes;
    weft_tensor starts[WEFT_MAX_RANK];
    weft_extent ones[WEFT_MAX_RANK];
} window;

static void add_axis(const iteration *t, size_t axis, uint32_t label, window *w)
{
    einsum_labels sliced = t->slices->x->sliced;
    size_t at = einsum_labels_find(sliced, label);
    if (at == sliced.count) return;
    w->starts[w->axes.count] = t->places[at];
    w->ones[w->axes.count] = weft_extent_of(1);
    einsum_axes_add(&w->axes, axis);
}

/* `x` where this iteration is, with axes of extent one for sliced labels. */
static weft_tensor read_window(weft_tensor x, const window *w)
{
    weft_tensors starts = {w->axes.count, w->starts};
    if (w->axes.count == 0) return x;
    return weft_dynamic_slice(x, starts, einsum_axes_list(&w->axes), (weft_shape){w->axes.count, w->ones});
}

/* The value as this iteration has it. Operands are brought into form here, which moves nothing; outside of the loop it
 * would copy them. */
static weft_status *find_value(const iteration *t, size_t v, einsum_value *out_value)
{
    einsum_expression *x = t->slices->x;
    *out_value = t->values[v];
    if (v >= x->problem.operand_count || (x->problem.summed[v] && !t->slices->inside[v])) return NULL;
    window w = {.axes = {0}};
    einsum_labels labels = x->network.operands[v];
    for (size_t axis = 0; axis < labels.count; axis++)
        if (!einsum_network_is_one(&x->network, v, labels.items[axis], x->shapes[v]))
            add_axis(t, axis, labels.items[axis], &w);
    return einsum_operand_prepare(x, v, read_window(t->operands[v], &w), x->sliced, out_value);
}

/* Labels of the output whose extent is one are in no operand's form; adding up brings them back. */
static void drop_ones(einsum_labels a, einsum_labels b, einsum_labels *labels)
{
    size_t count = 0;
    for (size_t i = 0; i < labels->count; i++)
        if (einsum_labels_have(a, labels->items[i]) || einsum_labels_have(b, labels->items[i]))
            labels->items[count++] = labels->items[i];
    labels->count = count;
}

static weft_status *contract(iteration *t)
{
    const einsum_slices *s = t->slices;
    size_t operands = s->x->problem.operand_count;
    for (size_t k = 0; operands + k <= s->last; k++) {
        if (!s->inside[operands + k]) continue;
        einsum_value a, b;
        einsum_form form = t->forms[k];
        WEFT_TRY(find_value(t, form.first, &a));
        WEFT_TRY(find_value(t, form.second, &b));
        einsum_labels rest = einsum_labels_without(&s->x->arena, s->results[operands + k], s->x->sliced);
        if (rest.items == NULL) return weft_status_out_of_memory();
        drop_ones(a.labels, b.labels, &rest);
        t->values[operands + k] =
            (einsum_value){einsum_value_multiply(a, b, rest, form.second_leads, s->x->extents), rest};
    }
    return NULL;
}

/* Whether each iteration has a place of its own in the result, so that nothing is added up. */
static bool is_placed(const einsum_slices *s)
{
    for (size_t i = 0; i < s->x->sliced.count; i++)
        if (!einsum_labels_have(s->results[s->last], s->x->sliced.items[i])) return false;
    return true;
}

/* Adds the iteration's result to what the accumulator has in its place. */
static weft_tensor accumulate(const iteration *t, weft_tensor sum)
{
    window w = {.axes = {0}};
    einsum_labels labels = t->slices->results[t->slices->last];
    weft_tensor added = weft_cast(t->values[t->slices->last].tensor, weft_tensor_dtype(sum));
    for (size_t axis = 0; axis < labels.count; axis++) add_axis(t, axis, labels.items[axis], &w);
    weft_tensor part = read_window(sum, &w);
    weft_tensors starts = {w.axes.count, w.starts};
    added = weft_reshape(added, weft_tensor_shape(part));
    if (!is_placed(t->slices)) added = einsum_value_add(part, added);
    if (w.axes.count == 0) return added;
    return weft_dynamic_update_slice(sum, added, starts, einsum_axes_list(&w.axes));
}

static void body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    iteration *t = context;
    out_next[0] = carried[0];
    fill_places(t, index);
    t->status = contract(t);
    if (t->status == NULL) out_next[0] = accumulate(t, carried[0]);
}

/* ---- the loop ---- */

static weft_status *count_iterations(const einsum_slices *s, int64_t *out_iterations)
{
    *out_iterations = 1;
    for (size_t i = 0; i < s->x->sliced.count; i++) {
        int64_t extent = 1;
        weft_extent_is_static(s->x->extents[s->x->sliced.items[i]], &extent);
        if (!__builtin_mul_overflow(*out_iterations, extent, out_iterations)) continue;
        return weft_status_create(s->x->arena.allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
                                  "einsum: the %zu sliced labels have more slices than an int64 counts",
                                  s->x->sliced.count);
    }
    return NULL;
}

/* Multiplications of a step in one iteration. */
static double count_products(const einsum_slices *s, size_t value)
{
    einsum_pair pair = s->x->pairs[value - s->x->problem.operand_count];
    einsum_labels a = s->results[pair.a], b = s->results[pair.b];
    double work = exp2(einsum_slices_size(s, pair.a, true));
    for (size_t i = 0; i < b.count; i++)
        if (!einsum_labels_have(a, b.items[i]) && !einsum_labels_have(s->x->sliced, b.items[i]))
            work *= exp2(s->x->problem.log2_extents[b.items[i]]);
    return work;
}

/*
 * How many loops share the iterations, each with an accumulator, so that they run side by side. One where steps are
 * large enough to be cut themselves, where there is little to do, or where memory does not allow more. It depends on
 * nothing but extents and the limit, as the order of the sum does.
 */
static int64_t count_parts(const einsum_slices *s, int64_t iterations)
{
    static const double small = 0x1p15, much = 0x1p20; /* elements of results; multiplications */
    size_t operands = s->x->problem.operand_count;
    double most = s->x->most_elements > 0 ? s->x->most_elements : INFINITY;
    double work = 0, live = exp2(einsum_slices_size(s, s->last, false));
    for (size_t v = operands; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        live += exp2(einsum_slices_size(s, v, true));
        work += count_products(s, v);
    }
    if (s->x->in_one_loop || live > small || work * (double)iterations < much) return 1;
    int64_t parts = MOST_PARTS;
    while (parts > 1 && (iterations < 2 * parts || (double)parts * live > most)) parts /= 2;
    return parts;
}

/* The sum over iterations from `first` on, before `end`. */
static weft_tensor sum_iterations(iteration *t, weft_tensor zeros, int64_t first, int64_t end)
{
    t->first = first;
    return weft_fold(weft_extent_of(end - first), (weft_tensors){1, &zeros}, body, t, NULL);
}

weft_status *einsum_iterations_trace(const einsum_slices *slices, const weft_tensor *operands, const einsum_form *forms,
                                     const einsum_value *values, weft_tensor *out_tensor)
{
    int64_t iterations;
    einsum_expression *x = slices->x;
    weft_extent extents[WEFT_MAX_RANK];
    size_t count = 2 * x->problem.operand_count;
    iteration t = {.slices = slices,
                   .operands = operands,
                   .forms = forms,
                   .values = einsum_arena_allocate(&x->arena, count, sizeof *t.values),
                   .places = einsum_arena_allocate(&x->arena, x->sliced.count, sizeof *t.places)};
    if (t.values == NULL || t.places == NULL) return weft_status_out_of_memory();
    WEFT_TRY(count_iterations(slices, &iterations));
    memcpy(t.values, values, count * sizeof *values);
    weft_dtype dtype = weft_tensor_dtype(operands[0]);
    weft_shape shape = einsum_labels_shape(slices->results[slices->last], x->extents, extents);
    weft_dtype sum_dtype = is_placed(slices) ? dtype : einsum_value_sum_dtype(dtype);
    weft_tensor zeros = weft_zeros(operands[0].graph, sum_dtype, shape);
    int64_t parts = count_parts(slices, iterations);
    weft_tensor sum = sum_iterations(&t, zeros, 0, iterations / parts);
    for (int64_t i = 1; i < parts && t.status == NULL; i++)
        sum = einsum_value_add(sum, sum_iterations(&t, zeros, iterations / parts * i,
                                                   i + 1 < parts ? iterations / parts * (i + 1) : iterations));
    *out_tensor = weft_cast(sum, dtype);
    return t.status;
}
