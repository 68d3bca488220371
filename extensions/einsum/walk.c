/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include <math.h>

enum { IN_A = 1, IN_B = 2 };

static double size_of(const einsum_problem *problem, einsum_labels labels)
{
    double size = 0;
    for (size_t i = 0; i < labels.count; i++) size += problem->log2_extents[labels.items[i]];
    return size;
}

static void count_uses(einsum_walk *walk, einsum_labels labels)
{
    for (size_t i = 0; i < labels.count; i++) walk->uses[labels.items[i]]++;
}

weft_status *einsum_walk_init(einsum_walk *walk, einsum_arena *arena, const einsum_problem *problem)
{
    *walk = (einsum_walk){.problem = problem,
                          .arena = arena,
                          .value_count = problem->operand_count,
                          .values = einsum_arena_allocate(arena, 2 * problem->operand_count, sizeof *walk->values),
                          .sizes = einsum_arena_allocate(arena, 2 * problem->operand_count, sizeof *walk->sizes),
                          .uses = einsum_arena_allocate(arena, problem->label_count, sizeof *walk->uses),
                          .marks = einsum_arena_allocate(arena, problem->label_count, sizeof *walk->marks)};
    if (walk->values == NULL || walk->sizes == NULL || walk->uses == NULL || walk->marks == NULL)
        return weft_status_out_of_memory();
    for (size_t i = 0; i < problem->operand_count; i++) {
        walk->values[i] = problem->operands[i];
        walk->sizes[i] = size_of(problem, problem->operands[i]);
        count_uses(walk, problem->operands[i]);
    }
    count_uses(walk, problem->output);
    return NULL;
}

static void mark(einsum_walk *walk, einsum_labels labels, uint8_t bit)
{
    for (size_t i = 0; i < labels.count; i++) walk->marks[labels.items[i]] |= bit;
}

static void unmark(einsum_walk *walk, einsum_labels labels)
{
    for (size_t i = 0; i < labels.count; i++) walk->marks[labels.items[i]] = 0;
}

/* What one join is about; labels are appended to the result in three rounds. */
typedef struct join {
    einsum_walk *walk;
    einsum_labels result;
    double work; /* log2 of the multiplications */
} join;

static void keep_label(join *j, uint32_t label)
{
    j->result.items[j->result.count++] = label;
}

static void keep_shared(join *j, einsum_labels a)
{
    for (size_t i = 0; i < a.count; i++) {
        uint32_t label = a.items[i];
        j->work += j->walk->problem->log2_extents[label];
        if (j->walk->marks[label] != (IN_A | IN_B)) continue;
        j->walk->uses[label] -= 2;
        if (j->walk->uses[label] == 0) continue;
        j->walk->uses[label]++;
        keep_label(j, label);
    }
}

static void keep_free(join *j, einsum_labels labels, uint8_t bit)
{
    for (size_t i = 0; i < labels.count; i++) {
        uint32_t label = labels.items[i];
        if (j->walk->marks[label] != bit) continue;
        if (bit == IN_B) j->work += j->walk->problem->log2_extents[label];
        keep_label(j, label);
    }
}

bool einsum_walk_join(einsum_walk *walk, einsum_pair pair)
{
    einsum_labels a = walk->values[pair.a], b = walk->values[pair.b];
    join j = {.walk = walk};
    j.result.items = einsum_arena_allocate(walk->arena, a.count + b.count, sizeof *j.result.items);
    if (j.result.items == NULL) return false;
    mark(walk, a, IN_A);
    mark(walk, b, IN_B);
    keep_shared(&j, a);
    keep_free(&j, a, IN_A);
    keep_free(&j, b, IN_B);
    unmark(walk, a);
    unmark(walk, b);
    double size = walk->sizes[walk->value_count] = size_of(walk->problem, j.result);
    walk->step = (einsum_step){walk->sizes[pair.a], walk->sizes[pair.b], size, j.work};
    walk->values[walk->value_count++] = j.result;
    return true;
}
