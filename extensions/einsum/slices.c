/* SPDX-License-Identifier: Apache-2.0 */
#include "slices.h"
#include <math.h>

/* ---- what is inside ---- */

static bool has_sliced(const einsum_slices *s, einsum_labels labels)
{
    for (size_t i = 0; i < labels.count; i++)
        if (einsum_labels_have(s->x->sliced, labels.items[i])) return true;
    return false;
}

/* The first value that all operands inside went into and that has no sliced label, else the result of all. */
static size_t find_last(const einsum_slices *s, uint32_t *counts)
{
    size_t count = s->x->problem.operand_count, all = 0;
    if (count > 1 && has_sliced(s, s->x->problem.output)) return 2 * count - 2;
    for (size_t v = 0; v < count; v++) all += counts[v] = s->inside[v];
    for (size_t k = 0; k + 1 < count; k++) {
        counts[count + k] = counts[s->x->pairs[k].a] + counts[s->x->pairs[k].b];
        if (counts[count + k] == all) return count + k;
    }
    return count - 1;
}

weft_status *einsum_slices_init(einsum_slices *slices)
{
    size_t count = slices->x->problem.operand_count;
    uint32_t *counts = einsum_arena_allocate(&slices->x->arena, 2 * count, sizeof *counts);
    slices->inside = einsum_arena_allocate(&slices->x->arena, 2 * count, sizeof *slices->inside);
    if (counts == NULL || slices->inside == NULL) return weft_status_out_of_memory();
    /* One operand alone is no step. */
    for (size_t v = 0; v < count; v++)
        slices->inside[v] = count > 1 && has_sliced(slices, slices->x->problem.operands[v]);
    slices->last = find_last(slices, counts);
    for (size_t k = 0; count + k <= slices->last && k + 1 < count; k++)
        slices->inside[count + k] = slices->inside[slices->x->pairs[k].a] || slices->inside[slices->x->pairs[k].b];
    return NULL;
}

double einsum_slices_iterations(const einsum_slices *slices)
{
    double iterations = 0;
    for (size_t i = 0; i < slices->x->sliced.count; i++)
        iterations += slices->x->problem.log2_extents[slices->x->sliced.items[i]];
    return iterations;
}

einsum_step einsum_slices_step(const einsum_slices *slices, size_t value, einsum_step step)
{
    if (!slices->inside[value]) return step;
    einsum_pair pair = slices->x->pairs[value - slices->x->problem.operand_count];
    for (size_t i = 0; i < slices->x->sliced.count; i++) {
        uint32_t label = slices->x->sliced.items[i];
        double size = slices->x->problem.log2_extents[label];
        bool in_a = einsum_labels_have(slices->results[pair.a], label),
             in_b = einsum_labels_have(slices->results[pair.b], label);
        if (in_a) step.a -= size;
        if (in_b) step.b -= size;
        if (in_a || in_b) step.work -= size;
        if (einsum_labels_have(slices->results[value], label)) step.result -= size;
    }
    return step;
}

/* ---- what lives at once ---- */

double einsum_slices_size(const einsum_slices *s, size_t value, bool part)
{
    double size = 0;
    for (size_t i = 0; i < s->results[value].count; i++) {
        uint32_t label = s->results[value].items[i];
        if (!part || !einsum_labels_have(s->x->sliced, label)) size += s->x->problem.log2_extents[label];
    }
    return size;
}

/* Volumes, `live` and `peak` are elements times 2^-shift: 1 unless some are too many for a double. */
typedef struct tide {
    const einsum_slices *slices;
    double *volumes; /* by value: of one iteration if the loop makes it; 0 of what is not in memory */
    double whole;    /* of the value that the loop computes, of all iterations */
    double shift, live, peak;
} tide;

/* Whether the two have the same labels; of one iteration if `part`. */
static bool same_labels(const einsum_slices *s, size_t x, size_t y, bool part)
{
    const einsum_labels labels[2] = {s->results[x], s->results[y]};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < labels[k].count; i++) {
            uint32_t label = labels[k].items[i];
            if (!einsum_labels_have(labels[1 - k], label) && !(part && einsum_labels_have(s->x->sliced, label)))
                return false;
        }
    return true;
}

/* A product of two values with the same labels that meets a third, `other`: it is computed where it is read. */
static bool is_fused(const einsum_slices *s, size_t value, size_t other, size_t reader)
{
    bool part = s->inside[value];
    if (value < s->x->problem.operand_count || s->inside[reader] != part || (part && value == s->last)) return false;
    einsum_pair pair = s->x->pairs[value - s->x->problem.operand_count];
    return same_labels(s, value, other, part) && same_labels(s, value, pair.a, part) &&
           same_labels(s, value, pair.b, part);
}

/* log2 of the elements of a value that another step reads, in memory. */
static double stored(const einsum_slices *s, size_t value, size_t other, size_t reader)
{
    bool given = value < s->x->problem.operand_count && (s->x->problem.summed == NULL || !s->x->problem.summed[value]);
    return given || is_fused(s, value, other, reader) ? -INFINITY : einsum_slices_size(s, value, s->inside[value]);
}

static weft_status *fill_volumes(tide *t)
{
    enum { LARGEST = 900 };
    const einsum_slices *s = t->slices;
    size_t operands = s->x->problem.operand_count, end = 2 * operands - 1;
    double largest = t->whole = einsum_slices_size(s, s->last, false);
    t->volumes = einsum_arena_allocate(&s->x->arena, end, sizeof *t->volumes);
    if (t->volumes == NULL) return weft_status_out_of_memory();
    t->volumes[end - 1] = -INFINITY;
    for (size_t v = operands; v < end; v++) {
        einsum_pair pair = s->x->pairs[v - operands];
        t->volumes[pair.a] = stored(s, pair.a, pair.b, v);
        t->volumes[pair.b] = stored(s, pair.b, pair.a, v);
        largest = fmax(largest, fmax(t->volumes[pair.a], t->volumes[pair.b]));
    }
    t->shift = fmax(largest - LARGEST, 0);
    t->whole = exp2(t->whole - t->shift);
    for (size_t v = 0; v < end; v++) t->volumes[v] = exp2(t->volumes[v] - t->shift);
    return NULL;
}

/* The result of all is no intermediate. */
static void make(tide *t, size_t value, double volume)
{
    if (value + 2 == 2 * t->slices->x->problem.operand_count) return;
    t->live += volume;
    t->peak = fmax(t->peak, t->live);
}

/* Operands that the step that makes `value` reads, and that are summed for it: in an iteration, or for all. */
static void make_operands(tide *t, size_t value, bool in_iteration)
{
    const einsum_slices *s = t->slices;
    einsum_pair pair = s->x->pairs[value - s->x->problem.operand_count];
    const size_t read[] = {pair.a, pair.b};
    for (size_t i = 0; i < 2; i++)
        if (read[i] < s->x->problem.operand_count && s->inside[read[i]] == in_iteration)
            make(t, read[i], t->volumes[read[i]]);
}

/* Frees what the step that made `value` read, of what lives in one iteration or of the rest. */
static void drop(tide *t, size_t value, bool in_iteration)
{
    const einsum_slices *s = t->slices;
    einsum_pair pair = s->x->pairs[value - s->x->problem.operand_count];
    const size_t read[] = {pair.a, pair.b};
    for (size_t i = 0; i < 2; i++) {
        bool inside = s->inside[read[i]], last = inside && read[i] == s->last;
        if ((inside && !last) == in_iteration) t->live -= last ? t->whole : t->volumes[read[i]];
    }
}

static void run_loop(tide *t)
{
    const einsum_slices *s = t->slices;
    for (size_t v = s->x->problem.operand_count; v <= s->last; v++)
        if (s->inside[v]) make_operands(t, v, false);
    make(t, s->last, t->whole);
    double between = t->live;
    for (size_t v = s->x->problem.operand_count; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        make_operands(t, v, true);
        make(t, v, t->volumes[v]);
        drop(t, v, true);
    }
    t->live = between;
    for (size_t v = s->x->problem.operand_count; v <= s->last; v++)
        if (s->inside[v]) drop(t, v, false);
}

weft_status *einsum_slices_peak(const einsum_slices *slices, double *out_log2_peak)
{
    tide t = {.slices = slices};
    size_t operands = slices->x->problem.operand_count;
    WEFT_TRY(fill_volumes(&t));
    for (size_t v = operands; v + 1 < 2 * operands; v++) {
        if (slices->inside[v] && v == slices->last) run_loop(&t);
        if (slices->inside[v]) continue;
        make_operands(&t, v, false);
        make(&t, v, t.volumes[v]);
        drop(&t, v, false);
    }
    *out_log2_peak = log2(t.peak) + t.shift;
    return NULL;
}
