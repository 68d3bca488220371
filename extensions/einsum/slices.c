/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_PLACES
#include "slices.h"
#include "layout.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { MOST_PARTS = 8 };

/* ---- what is inside ---- */

static bool has_sliced(const einsum_slices *s, einsum_labels labels)
{
    for (size_t i = 0; i < labels.count; i++)
        if (einsum_labels_find(s->sliced, labels.items[i]) < s->sliced.count) return true;
    return false;
}

/* The first value that all operands inside went into and that has no sliced label, else the result of all. */
static size_t find_last(const einsum_slices *s, uint32_t *counts)
{
    size_t count = s->problem->operand_count, all = 0;
    if (count > 1 && has_sliced(s, s->problem->output)) return 2 * count - 2;
    for (size_t v = 0; v < count; v++) all += counts[v] = s->inside[v];
    for (size_t k = 0; k + 1 < count; k++) {
        counts[count + k] = counts[s->pairs[k].a] + counts[s->pairs[k].b];
        if (counts[count + k] == all) return count + k;
    }
    return count - 1;
}

weft_status *einsum_slices_init(einsum_slices *slices)
{
    size_t count = slices->problem->operand_count;
    uint32_t *counts = einsum_arena_allocate(slices->arena, 2 * count, sizeof *counts);
    slices->inside = einsum_arena_allocate(slices->arena, 2 * count, sizeof *slices->inside);
    if (counts == NULL || slices->inside == NULL) return weft_status_out_of_memory();
    for (size_t v = 0; v < count; v++) slices->inside[v] = has_sliced(slices, slices->problem->operands[v]);
    slices->last = find_last(slices, counts);
    for (size_t k = 0; count + k <= slices->last && k + 1 < count; k++)
        slices->inside[count + k] = slices->inside[slices->pairs[k].a] || slices->inside[slices->pairs[k].b];
    return NULL;
}

double einsum_slices_iterations(const einsum_slices *slices)
{
    double iterations = 0;
    for (size_t i = 0; i < slices->sliced.count; i++)
        iterations += slices->problem->log2_extents[slices->sliced.items[i]];
    return iterations;
}

static bool has_label(einsum_labels labels, uint32_t label)
{
    return einsum_labels_find(labels, label) < labels.count;
}

einsum_step einsum_slices_step(const einsum_slices *slices, size_t value, einsum_step step)
{
    if (!slices->inside[value]) return step;
    einsum_pair pair = slices->pairs[value - slices->problem->operand_count];
    for (size_t i = 0; i < slices->sliced.count; i++) {
        uint32_t label = slices->sliced.items[i];
        double size = slices->problem->log2_extents[label];
        bool in_a = has_label(slices->results[pair.a], label), in_b = has_label(slices->results[pair.b], label);
        if (in_a) step.a -= size;
        if (in_b) step.b -= size;
        if (in_a || in_b) step.work -= size;
        if (has_label(slices->results[value], label)) step.result -= size;
    }
    return step;
}

/* ---- what lives at once ---- */

/* log2 of the elements of a value, of one iteration if `part`. */
static double size_of(const einsum_slices *s, size_t value, bool part)
{
    double size = 0;
    for (size_t i = 0; i < s->results[value].count; i++) {
        uint32_t label = s->results[value].items[i];
        if (!part || !has_label(s->sliced, label)) size += s->problem->log2_extents[label];
    }
    return size;
}

static double count_elements(const einsum_slices *s, size_t value, bool part)
{
    return exp2(size_of(s, value, part));
}

/* Volumes, `live` and `peak` are elements times 2^-shift: 1 unless some are too many for a double. */
typedef struct tide {
    const einsum_slices *slices;
    double *volumes; /* by value: of intermediates, of one iteration if the loop makes them */
    double whole;    /* of the value that the loop computes, of all iterations */
    double shift, live, peak;
} tide;

static weft_status *fill_volumes(tide *t)
{
    enum { LARGEST = 900 };
    const einsum_slices *s = t->slices;
    size_t operands = s->problem->operand_count, end = 2 * operands - 1;
    double largest = t->whole = size_of(s, s->last, false);
    t->volumes = einsum_arena_allocate(s->arena, end, sizeof *t->volumes);
    if (t->volumes == NULL) return weft_status_out_of_memory();
    for (size_t v = operands; v < end; v++) {
        t->volumes[v] = size_of(s, v, s->inside[v]);
        largest = fmax(largest, t->volumes[v]);
    }
    t->shift = fmax(largest - LARGEST, 0);
    t->whole = exp2(t->whole - t->shift);
    for (size_t v = operands; v < end; v++) t->volumes[v] = exp2(t->volumes[v] - t->shift);
    return NULL;
}

/* The result of all is no intermediate. */
static void make(tide *t, size_t value, double volume)
{
    if (value + 2 == 2 * t->slices->problem->operand_count) return;
    t->live += volume;
    t->peak = fmax(t->peak, t->live);
}

/* Frees what the step that made `value` read, of what lives in one iteration or of the rest. */
static void drop(tide *t, size_t value, bool in_iteration)
{
    const einsum_slices *s = t->slices;
    einsum_pair pair = s->pairs[value - s->problem->operand_count];
    const size_t read[] = {pair.a, pair.b};
    for (size_t i = 0; i < 2; i++) {
        bool inside = s->inside[read[i]], last = inside && read[i] == s->last;
        if (read[i] < s->problem->operand_count || (inside && !last) != in_iteration) continue;
        t->live -= last ? t->whole : t->volumes[read[i]];
    }
}

static void run_loop(tide *t)
{
    const einsum_slices *s = t->slices;
    make(t, s->last, t->whole);
    double between = t->live;
    for (size_t v = s->problem->operand_count; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        make(t, v, t->volumes[v]);
        drop(t, v, true);
    }
    t->live = between;
    for (size_t v = s->problem->operand_count; v <= s->last; v++)
        if (s->inside[v]) drop(t, v, false);
}

weft_status *einsum_slices_peak(const einsum_slices *slices, double *out_log2_peak)
{
    tide t = {.slices = slices};
    size_t operands = slices->problem->operand_count;
    WEFT_TRY(fill_volumes(&t));
    for (size_t v = operands; v + 1 < 2 * operands; v++) {
        if (slices->inside[v] && v == slices->last) run_loop(&t);
        if (slices->inside[v]) continue;
        make(&t, v, t.volumes[v]);
        drop(&t, v, false);
    }
    *out_log2_peak = log2(t.peak) + t.shift;
    return NULL;
}

einsum_labels einsum_slices_rest(const einsum_slices *slices, einsum_labels labels)
{
    einsum_labels rest = {0, einsum_arena_allocate(slices->arena, labels.count, sizeof *rest.items)};
    for (size_t i = 0; rest.items != NULL && i < labels.count; i++)
        if (einsum_labels_find(slices->sliced, labels.items[i]) == slices->sliced.count)
            rest.items[rest.count++] = labels.items[i];
    return rest;
}

/* ---- one iteration ---- */

typedef struct iteration {
    const einsum_slices *slices;
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
    for (size_t i = t->slices->sliced.count; i-- > 0;) {
        int64_t extent = 1;
        weft_extent_is_static(t->slices->extents[t->slices->sliced.items[i]], &extent);
        weft_tensor size = weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &extent);
        t->places[i] = weft_remainder(index, size);
        index = weft_div(index, size);
    }
}

/* Where `labels` have sliced ones: axes, starts and, of all axes, the shape that is left there. */
typedef struct window {
    einsum_axes axes;
    weft_tensor starts[WEFT_MAX_RANK];
    weft_extent ones[WEFT_MAX_RANK];
} window;

static void fill_window(const iteration *t, einsum_labels labels, window *out_window)
{
    for (size_t i = 0; i < labels.count; i++) {
        size_t at = einsum_labels_find(t->slices->sliced, labels.items[i]);
        if (at == t->slices->sliced.count) continue;
        out_window->starts[out_window->axes.count] = t->places[at];
        out_window->ones[out_window->axes.count] = weft_extent_of(1);
        einsum_axes_add(&out_window->axes, i);
    }
}

/* `x` over `labels` where this iteration is, with axes of extent one for sliced labels. */
static weft_tensor read_window(weft_tensor x, const window *w)
{
    weft_tensors starts = {w->axes.count, w->starts};
    return weft_dynamic_slice(x, starts, einsum_axes_list(&w->axes), (weft_shape){w->axes.count, w->ones});
}

static weft_tensor slice(const iteration *t, einsum_value value, einsum_labels rest)
{
    window w = {.axes = {0}};
    weft_extent extents[WEFT_MAX_RANK];
    fill_window(t, value.labels, &w);
    return weft_reshape(read_window(value.tensor, &w), einsum_labels_shape(rest, t->slices->extents, extents));
}

/* The value as this iteration has it: what lies outside of the loop in part, sliced where it is needed, not before. */
static weft_status *find_value(const iteration *t, size_t v, einsum_value *out_value)
{
    const einsum_slices *s = t->slices;
    *out_value = t->values[v];
    if (!s->inside[v] || v >= s->problem->operand_count) return NULL;
    einsum_labels rest = einsum_slices_rest(s, out_value->labels);
    if (rest.items == NULL) return weft_status_out_of_memory();
    *out_value = (einsum_value){slice(t, *out_value, rest), rest};
    return NULL;
}

static weft_status *contract(iteration *t)
{
    const einsum_slices *s = t->slices;
    for (size_t k = 0; s->problem->operand_count + k <= s->last; k++) {
        size_t result = s->problem->operand_count + k;
        if (!s->inside[result]) continue;
        einsum_labels rest = einsum_slices_rest(s, s->results[result]);
        if (rest.items == NULL) return weft_status_out_of_memory();
        einsum_value a, b;
        WEFT_TRY(find_value(t, s->forms[k].first, &a));
        WEFT_TRY(find_value(t, s->forms[k].second, &b));
        t->values[result] =
            (einsum_value){einsum_value_multiply(a, b, rest, s->forms[k].second_leads, s->extents), rest};
    }
    return NULL;
}

/* Adds the iteration's result to what the accumulator has in its place. */
static weft_tensor accumulate(const iteration *t, weft_tensor sum)
{
    window w = {.axes = {0}};
    weft_tensor added = weft_cast(t->values[t->slices->last].tensor, weft_tensor_dtype(sum));
    fill_window(t, t->slices->results[t->slices->last], &w);
    if (w.axes.count == 0) return einsum_value_add(sum, added);
    weft_tensor part = read_window(sum, &w);
    weft_tensors starts = {w.axes.count, w.starts};
    added = weft_reshape(added, weft_tensor_shape(part));
    /* Where every sliced label is left each iteration has a place of its own. */
    if (w.axes.count < t->slices->sliced.count) added = einsum_value_add(part, added);
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
    for (size_t i = 0; i < s->sliced.count; i++) {
        int64_t extent = 1;
        weft_extent_is_static(s->extents[s->sliced.items[i]], &extent);
        if (!__builtin_mul_overflow(*out_iterations, extent, out_iterations)) continue;
        return weft_status_create(s->arena->allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
                                  "einsum: the %zu sliced labels have more slices than an int64 counts",
                                  s->sliced.count);
    }
    return NULL;
}

/* Multiplications of a step in one iteration. */
static double count_products(const einsum_slices *s, size_t value)
{
    einsum_pair pair = s->pairs[value - s->problem->operand_count];
    einsum_labels a = s->results[pair.a], b = s->results[pair.b];
    double work = count_elements(s, pair.a, true);
    for (size_t i = 0; i < b.count; i++)
        if (!has_label(a, b.items[i]) && !has_label(s->sliced, b.items[i]))
            work *= exp2(s->problem->log2_extents[b.items[i]]);
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
    size_t operands = s->problem->operand_count;
    double work = 0, live = count_elements(s, s->last, false);
    for (size_t v = operands; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        live += count_elements(s, v, true);
        work += count_products(s, v);
    }
    if (live > small || work * (double)iterations < much) return 1;
    int64_t parts = MOST_PARTS;
    while (parts > 1 && (iterations < 2 * parts || (double)parts * live > s->most_elements)) parts /= 2;
    return parts;
}

/* The sum over iterations from `first` on, before `end`. */
static weft_tensor sum_iterations(iteration *t, weft_tensor zeros, int64_t first, int64_t end)
{
    t->first = first;
    return weft_fold(weft_extent_of(end - first), (weft_tensors){1, &zeros}, body, t, NULL);
}

weft_status *einsum_slices_trace(const einsum_slices *slices, const einsum_value *values, weft_tensor *out_tensor)
{
    int64_t iterations;
    weft_extent extents[WEFT_MAX_RANK];
    size_t count = 2 * slices->problem->operand_count;
    iteration t = {.slices = slices,
                   .values = einsum_arena_allocate(slices->arena, count, sizeof *t.values),
                   .places = einsum_arena_allocate(slices->arena, slices->sliced.count, sizeof *t.places)};
    if (t.values == NULL || t.places == NULL) return weft_status_out_of_memory();
    WEFT_TRY(count_iterations(slices, &iterations));
    memcpy(t.values, values, count * sizeof *values);
    weft_tensor operand = values[0].tensor;
    weft_dtype dtype = weft_tensor_dtype(operand);
    weft_shape shape = einsum_labels_shape(slices->results[slices->last], slices->extents, extents);
    weft_tensor zeros = weft_zeros(operand.graph, einsum_value_sum_dtype(dtype), shape);
    int64_t parts = count_parts(slices, iterations);
    weft_tensor sum = sum_iterations(&t, zeros, 0, iterations / parts);
    for (int64_t i = 1; i < parts && t.status == NULL; i++)
        sum = einsum_value_add(sum, sum_iterations(&t, zeros, iterations / parts * i,
                                                   i + 1 < parts ? iterations / parts * (i + 1) : iterations));
    *out_tensor = weft_cast(sum, dtype);
    return t.status;
}
