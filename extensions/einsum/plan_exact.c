/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best order of few operands, by dynamic programming over their subsets: a subset is contracted from the two parts
 * whose orders and joining product cost least, parts without a common label included.
 */
#include "plan.h"
#include <math.h>
#include <string.h>

typedef uint32_t subset; /* bit i: operand i */

typedef struct table {
    const einsum_problem *problem;
    weft_einsum_minimize minimize;
    size_t words;         /* of a set of labels */
    uint64_t *needed;     /* by subset: labels of its result */
    double *sizes;        /* by subset: log2 of the elements of its result */
    einsum_totals *costs; /* by subset: of the best order */
    subset *parts;        /* by subset: one of the two parts of the best order */
} table;

static uint64_t *labels_of(const table *t, subset s)
{
    return t->needed + s * t->words;
}

static double log2_size(const table *t, const uint64_t *a, const uint64_t *b)
{
    double size = 0;
    for (size_t w = 0; w < t->words; w++)
        for (uint64_t bits = a[w] | b[w]; bits != 0; bits &= bits - 1)
            size += t->problem->log2_extents[64 * w + (size_t)__builtin_ctzll(bits)];
    return size;
}

static void add_labels(uint64_t *set, einsum_labels labels)
{
    for (size_t i = 0; i < labels.count; i++) set[labels.items[i] / 64] |= UINT64_C(1) << labels.items[i] % 64;
}

/* The labels inside `s` that an operand outside, or the output, has too. */
static void fill_needed(const table *t, subset s, uint64_t *outside)
{
    uint64_t *inside = labels_of(t, s);
    memset(outside, 0, t->words * sizeof *outside);
    add_labels(outside, t->problem->output);
    for (size_t i = 0; i < t->problem->operand_count; i++)
        add_labels(s >> i & 1 ? inside : outside, t->problem->operands[i]);
    for (size_t w = 0; w < t->words; w++) inside[w] &= outside[w];
}

static einsum_totals join_cost(const table *t, subset s, subset part)
{
    einsum_totals x = t->costs[part], y = t->costs[s ^ part];
    double work = log2_size(t, labels_of(t, part), labels_of(t, s ^ part));
    return (einsum_totals){einsum_log2_add(einsum_log2_add(x.log2_flops, y.log2_flops), work),
                           fmax(t->sizes[s], fmax(x.log2_size, y.log2_size))};
}

/* Each split is seen once: `part` has the lowest operand of `s`. */
static void find_best(table *t, subset s)
{
    subset lowest = s & -s;
    t->costs[s] = (einsum_totals){INFINITY, INFINITY};
    for (subset part = (s - 1) & s; part != 0; part = (part - 1) & s) {
        if ((part & lowest) == 0) continue;
        einsum_totals cost = join_cost(t, s, part);
        if (!einsum_totals_less(cost, t->costs[s], t->minimize)) continue;
        t->costs[s] = cost;
        t->parts[s] = part;
    }
}

/* Emits the steps of `s` after those of its parts; returns the value it becomes. */
static size_t emit(const table *t, subset s, size_t *next, einsum_pair *out_pairs)
{
    if ((s & (s - 1)) == 0) return (size_t)__builtin_ctz(s);
    size_t a = emit(t, t->parts[s], next, out_pairs), b = emit(t, s ^ t->parts[s], next, out_pairs);
    out_pairs[*next] = (einsum_pair){a, b};
    return t->problem->operand_count + (*next)++;
}

static bool table_init(table *t, einsum_arena *arena, size_t subsets)
{
    t->words = (t->problem->label_count + 63) / 64;
    t->needed = einsum_arena_allocate(arena, subsets * t->words, sizeof *t->needed);
    t->sizes = einsum_arena_allocate(arena, subsets, sizeof *t->sizes);
    t->costs = einsum_arena_allocate(arena, subsets, sizeof *t->costs);
    t->parts = einsum_arena_allocate(arena, subsets, sizeof *t->parts);
    return t->needed != NULL && t->sizes != NULL && t->costs != NULL && t->parts != NULL;
}

weft_status *einsum_plan_exact(einsum_arena *arena, const einsum_problem *problem, weft_einsum_minimize minimize,
                               einsum_pair *out_pairs)
{
    table t = {.problem = problem, .minimize = minimize};
    subset all = ((subset)1 << problem->operand_count) - 1;
    if (!table_init(&t, arena, (size_t)all + 1)) return weft_status_out_of_memory();
    uint64_t *outside = einsum_arena_allocate(arena, t.words, sizeof *outside);
    if (outside == NULL) return weft_status_out_of_memory();
    for (subset s = 1; s <= all; s++) {
        fill_needed(&t, s, outside);
        t.sizes[s] = log2_size(&t, labels_of(&t, s), labels_of(&t, s));
        if ((s & (s - 1)) == 0) t.costs[s] = (einsum_totals){-INFINITY, -INFINITY};
        else find_best(&t, s);
    }
    size_t next = 0;
    emit(&t, all, &next, out_pairs);
    return NULL;
}
