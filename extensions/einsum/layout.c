/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the last step to the first. When a step is visited, the order of its result is known: it decides in which order
 * the free labels of the operands have to come. The larger operand then decides the order of the summed labels, and the
 * other follows. An operand that is itself a result can come in many orders without being copied: batch labels, those
 * of one operand, those of the other, each group in any order. Of these, one is taken in which free and summed labels
 * stand together and in the order asked for; if there is none, one in which the free ones do, which is packed line by
 * line: aefg,behi,cfhj,dgij->abcd of 60, 60, 20, 20 and 8 takes 0.57 of the time of an operand that lies across its
 * lines (Zen 5). The last result comes in the order of the output, or where that takes a permute, as the larger
 * operands are read.
 *
 * Of many small products each should have its matrices in one place: batch labels first, and in the second operand
 * those of the result last, which vectors run along.
 */
#include "layout.h"
#include <string.h>

enum { BATCH, FREE, SUMMED, CLASSES }; /* what a label is to the step that reads it */
enum { MOST_GROUPS = 3 };
/* Base-2 logarithms: multiplications up to which a product is small, and the least batch that is many. */
enum { MOST_OF_MANY = 16, MANY_PRODUCTS = 6 };

typedef struct layout {
    einsum_arena *arena;
    const einsum_problem *problem;
    const einsum_pair *pairs;
    einsum_labels *values;
    uint8_t *classes;      /* by label: to the step at hand */
    uint32_t *free_places; /* by label: its place among the free ones, as asked for */
    uint32_t *summed_places;
    bool small, second;        /* the value is for many small products; their second operand */
    einsum_labels best, trial; /* orders being made */
} layout;

static bool has(einsum_labels labels, uint32_t label)
{
    for (size_t i = 0; i < labels.count; i++)
        if (labels.items[i] == label) return true;
    return false;
}

static double size_of(const layout *l, size_t value)
{
    double size = 0;
    einsum_labels labels = l->values[value];
    for (size_t i = 0; i < labels.count; i++) size += l->problem->log2_extents[labels.items[i]];
    return size;
}

/* ---- the order that a step asks for ---- */

/* The class of each label of `value`, which a step multiplies by `other`; free labels are to come as in `result`. */
static void classify(layout *l, einsum_labels value, einsum_labels other, einsum_labels result)
{
    for (size_t i = 0; i < value.count; i++) {
        uint32_t label = value.items[i];
        l->classes[label] = !has(result, label) ? SUMMED : has(other, label) ? BATCH : FREE;
        l->summed_places[label] = 0;
    }
    for (size_t i = 0; i < result.count; i++) l->free_places[result.items[i]] = (uint32_t)i;
}

/* Whether the labels of one class stand together in ascending order of their places; all-zero places ask for no order.
 */
static bool is_run(einsum_labels order, const uint8_t *classes, uint8_t class, const uint32_t *places)
{
    size_t seen = 0, all = 0, last = 0;
    for (size_t i = 0; i < order.count; i++) all += classes[order.items[i]] == class;
    for (size_t i = 0; i < order.count && seen < all; i++) {
        uint32_t label = order.items[i];
        if (classes[label] != class) {
            if (seen > 0) return false;
            continue;
        }
        if (seen++ > 0 && places[label] < last) return false;
        last = places[label];
    }
    return true;
}

/* How well the step at hand reads it: 0 if it lies across the result, 1 if its summed labels alone stand apart, more
 * than 2 only for small products. */
static unsigned rate(const layout *l, einsum_labels order)
{
    if (!is_run(order, l->classes, FREE, l->free_places)) return 0;
    if (!is_run(order, l->classes, SUMMED, l->summed_places)) return 1;
    if (!l->small || order.count == 0) return 2;
    bool together = l->classes[order.items[0]] == BATCH;
    bool dense = l->second && l->classes[order.items[order.count - 1]] == FREE;
    return 2 + 2 * together + dense;
}

/* ---- orders that a step can give its result ---- */

typedef struct groups {
    size_t count;
    einsum_labels items[MOST_GROUPS];
} groups;

static bool find_groups(layout *l, size_t value, groups *out_groups)
{
    einsum_pair pair = l->pairs[value - l->problem->operand_count];
    einsum_labels result = l->values[value], a = l->values[pair.a], b = l->values[pair.b];
    for (size_t g = 0; g < MOST_GROUPS; g++) {
        out_groups->items[g] = (einsum_labels){0, einsum_arena_allocate(l->arena, result.count, sizeof(uint32_t))};
        if (out_groups->items[g].items == NULL) return false;
    }
    for (size_t i = 0; i < result.count; i++) {
        bool in_a = has(a, result.items[i]), in_b = has(b, result.items[i]);
        einsum_labels *group = &out_groups->items[in_a && in_b ? 0 : in_a ? 1 : 2];
        group->items[group->count++] = result.items[i];
    }
    return true;
}

static bool sums(const layout *l, size_t value)
{
    einsum_pair pair = l->pairs[value - l->problem->operand_count];
    einsum_labels a = l->values[pair.a], b = l->values[pair.b];
    for (size_t i = 0; i < a.count; i++)
        if (has(b, a.items[i]) && !has(l->values[value], a.items[i])) return true;
    return false;
}

/* Appends the labels of `group` that are of `class`, by their places. */
static void append_class(const layout *l, einsum_labels group, uint8_t class, einsum_labels *order)
{
    const uint32_t *places = class == SUMMED ? l->summed_places : l->free_places;
    size_t first = order->count;
    for (size_t i = 0; i < group.count; i++) {
        uint32_t label = group.items[i];
        if (l->classes[label] != class) continue;
        size_t at = order->count++;
        for (; at > first && places[order->items[at - 1]] > places[label]; at--)
            order->items[at] = order->items[at - 1];
        order->items[at] = label;
    }
}

static void append_group(const layout *l, einsum_labels group, unsigned way, einsum_labels *order)
{
    static const uint8_t ways[][CLASSES] = {
        {BATCH, FREE, SUMMED}, {BATCH, SUMMED, FREE}, {FREE, SUMMED, BATCH}, {SUMMED, FREE, BATCH}};
    for (size_t i = 0; i < CLASSES; i++) append_class(l, group, ways[way][i], order);
}

/* Reorders `value` so that the step at hand can read it as it is, if that is possible. */
static bool choose_order(layout *l, size_t value)
{
    enum { WAYS = 4, ALL = 2 * WAYS * WAYS * WAYS };
    groups g;
    einsum_labels *labels = &l->values[value];
    bool product = sums(l, value);
    unsigned best = 0, most = l->small ? 4 + l->second : 2;
    if (!find_groups(l, value, &g)) return false;
    for (unsigned i = 0; i < ALL && best < most; i++) {
        size_t second = 1 + i % 2;
        l->trial.count = 0;
        if (product) {
            append_group(l, g.items[0], i / 2 % WAYS, &l->trial);
            append_group(l, g.items[second], i / 2 / WAYS % WAYS, &l->trial);
            append_group(l, g.items[3 - second], i / 2 / WAYS / WAYS, &l->trial);
        } else {
            append_group(l, *labels, i / 2 % WAYS, &l->trial);
        }
        unsigned rated = rate(l, l->trial);
        if (i > 0 && rated <= best) continue;
        best = rated;
        l->best.count = l->trial.count;
        memcpy(l->best.items, l->trial.items, l->trial.count * sizeof *l->trial.items);
    }
    memcpy(labels->items, l->best.items, labels->count * sizeof *labels->items);
    return true;
}

/* ---- steps ---- */

/* Whether a step makes many small products: one for each value of its batch labels. */
static bool makes_small(const layout *l, einsum_labels a, einsum_labels b, einsum_labels result)
{
    double batch = 0, size = 0;
    bool summed = false;
    for (size_t i = 0; i < a.count; i++) {
        double extent = l->problem->log2_extents[a.items[i]];
        bool shared = has(b, a.items[i]), kept = has(result, a.items[i]);
        if (shared && kept) batch += extent;
        else size += extent;
        summed |= shared && !kept;
    }
    for (size_t i = 0; i < b.count; i++)
        if (!has(a, b.items[i])) size += l->problem->log2_extents[b.items[i]];
    return summed && batch >= MANY_PRODUCTS && size <= MOST_OF_MANY;
}

/* Orders an operand; its summed labels are to come as in `lead`, if that is given. */
static bool visit_operand(layout *l, size_t value, size_t other, einsum_labels result, const einsum_labels *lead,
                          bool second)
{
    if (value < l->problem->operand_count) return true;
    classify(l, l->values[value], l->values[other], result);
    for (size_t i = 0; lead != NULL && i < lead->count; i++) l->summed_places[lead->items[i]] = (uint32_t)i + 1;
    l->second = second;
    return choose_order(l, value);
}

/* Which operand's own labels come first; the batch labels come before. */
static einsum_form form_of(const layout *l, einsum_pair pair, einsum_labels result)
{
    for (size_t i = 0; i < result.count; i++) {
        bool in_a = has(l->values[pair.a], result.items[i]), in_b = has(l->values[pair.b], result.items[i]);
        if (in_a && !in_b) break;
        if (in_b && !in_a) return (einsum_form){.first = pair.b, .second = pair.a};
    }
    return (einsum_form){.first = pair.a, .second = pair.b};
}

static bool visit_step(layout *l, size_t step, einsum_form *out_form)
{
    einsum_labels result = l->values[l->problem->operand_count + step];
    *out_form = form_of(l, l->pairs[step], result);
    out_form->second_leads = size_of(l, out_form->second) > size_of(l, out_form->first);
    size_t lead = out_form->second_leads ? out_form->second : out_form->first;
    size_t other = out_form->second_leads ? out_form->first : out_form->second;
    l->small = makes_small(l, l->values[lead], l->values[other], result);
    return visit_operand(l, lead, other, result, NULL, lead == out_form->second) &&
           visit_operand(l, other, lead, result, &l->values[lead], other == out_form->second);
}

static bool same_order(einsum_labels a, einsum_labels b)
{
    return a.count == b.count && memcmp(a.items, b.items, a.count * sizeof *a.items) == 0;
}

/* Puts the labels that `operand` alone has in the order in which it has them. */
static void follow_operand(const layout *l, einsum_labels result, size_t operand, size_t other)
{
    einsum_labels own = l->values[operand];
    size_t next = 0;
    for (size_t i = 0; i < result.count; i++) {
        if (!has(own, result.items[i]) || has(l->values[other], result.items[i])) continue;
        while (!has(result, own.items[next]) || has(l->values[other], own.items[next])) next++;
        l->trial.items[i] = own.items[next++];
    }
    for (size_t i = 0; i < result.count; i++)
        if (has(own, result.items[i]) && !has(l->values[other], result.items[i])) result.items[i] = l->trial.items[i];
}

/* As in the output, as far as its groups allow. If it is permuted anyway, operands that are larger decide instead: they
 * would have to be copied. */
static bool choose_last(layout *l, size_t last)
{
    classify(l, l->values[last], (einsum_labels){0, NULL}, l->problem->output);
    if (!choose_order(l, last)) return false;
    if (same_order(l->values[last], l->problem->output)) return true;
    einsum_pair pair = l->pairs[last - l->problem->operand_count];
    const size_t operands[] = {pair.a, pair.b};
    for (size_t i = 0; i < 2; i++)
        if (operands[i] < l->problem->operand_count && size_of(l, operands[i]) > size_of(l, last))
            follow_operand(l, l->values[last], operands[i], operands[1 - i]);
    return true;
}

weft_status *einsum_layout_run(einsum_arena *arena, const einsum_problem *problem, const einsum_pair *pairs,
                               einsum_labels *values, einsum_form *out_forms)
{
    size_t labels = problem->label_count;
    layout l = {.arena = arena,
                .problem = problem,
                .pairs = pairs,
                .values = values,
                .classes = einsum_arena_allocate(arena, labels, sizeof *l.classes),
                .free_places = einsum_arena_allocate(arena, labels, sizeof *l.free_places),
                .summed_places = einsum_arena_allocate(arena, labels, sizeof *l.summed_places),
                .best = {0, einsum_arena_allocate(arena, labels, sizeof *l.best.items)},
                .trial = {0, einsum_arena_allocate(arena, labels, sizeof *l.trial.items)}};
    bool well = l.classes != NULL && l.free_places != NULL && l.summed_places != NULL && l.best.items != NULL &&
                l.trial.items != NULL;
    size_t steps = problem->operand_count - 1;
    if (well && steps > 0) well = choose_last(&l, problem->operand_count + steps - 1);
    for (size_t k = steps; well && k-- > 0;) well = visit_step(&l, k, &out_forms[k]);
    return well ? NULL : weft_status_out_of_memory();
}
