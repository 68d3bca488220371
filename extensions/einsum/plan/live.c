/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

/* ---- beginning ---- */

static bool init(einsum_live *live, einsum_arena *arena, size_t leaf_count, size_t label_count, einsum_pair *pairs)
{
    size_t values = 2 * leaf_count;
    *live = (einsum_live){.arena = arena,
                          .leaf_count = leaf_count,
                          .label_count = label_count,
                          .value_count = leaf_count,
                          .values = einsum_arena_allocate(arena, values, sizeof *live->values),
                          .members = einsum_arena_allocate(arena, label_count, sizeof(einsum_held *)),
                          .uses = einsum_arena_allocate(arena, label_count, sizeof *live->uses),
                          .pairs = pairs,
                          .near = einsum_arena_allocate(arena, leaf_count, sizeof *live->near),
                          .label_marks = einsum_arena_allocate(arena, label_count, sizeof *live->label_marks),
                          .value_marks = einsum_arena_allocate(arena, values, sizeof *live->value_marks),
                          .places = einsum_arena_allocate(arena, values, sizeof *live->places)};
    return live->values != NULL && live->members != NULL && live->uses != NULL && live->near != NULL &&
           live->label_marks != NULL && live->value_marks != NULL && live->places != NULL;
}

static bool reserve(einsum_live *live, uint32_t value, size_t count)
{
    live->values[value].held = einsum_arena_allocate(live->arena, count, sizeof(einsum_held));
    return live->values[value].held != NULL;
}

static void hold(einsum_live *live, uint32_t value, uint32_t label)
{
    einsum_live_value *v = &live->values[value];
    v->held[v->count++] = (einsum_held){.value = value, .label = label};
    v->size += live->extents[label];
}

static void hold_set(einsum_live *live, uint32_t leaf, const einsum_core *core)
{
    const uint64_t *set = einsum_core_legs(core, leaf);
    for (uint32_t w = 0; w < core->words; w++) {
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
            uint32_t label = 64 * w + (uint32_t)__builtin_ctzll(bits);
            hold(live, leaf, label);
            live->uses[label]++;
        }
    }
}

static size_t count_labels(const uint64_t *set, uint32_t words)
{
    size_t count = 0;
    for (uint32_t w = 0; w < words; w++) count += (size_t)__builtin_popcountll(set[w]);
    return count;
}

bool einsum_live_init_core(einsum_live *live, einsum_arena *arena, const einsum_core *core, einsum_pair *pairs)
{
    if (!init(live, arena, core->leaf_count, core->label_count, pairs)) return false;
    live->extents = core->extents;
    for (uint32_t leaf = 0; leaf < core->leaf_count; leaf++) {
        if (!reserve(live, leaf, count_labels(einsum_core_legs(core, leaf), core->words))) return false;
        hold_set(live, leaf, core);
    }
    for (uint32_t label = 0; label < core->label_count; label++)
        live->uses[label] += core->output[label / 64] >> label % 64 & 1;
    return true;
}

bool einsum_live_init_problem(einsum_live *live, einsum_arena *arena, const einsum_problem *problem, einsum_pair *pairs)
{
    if (!init(live, arena, problem->operand_count, problem->label_count, pairs)) return false;
    live->extents = problem->log2_extents;
    for (size_t i = 0; i < problem->operand_count; i++)
        for (size_t k = 0; k < problem->operands[i].count; k++) live->uses[problem->operands[i].items[k]]++;
    for (size_t k = 0; k < problem->output.count; k++) live->uses[problem->output.items[k]]++;
    for (uint32_t i = 0; i < problem->operand_count; i++) {
        einsum_labels labels = problem->operands[i];
        if (!reserve(live, i, labels.count)) return false;
        for (size_t k = 0; k < labels.count; k++)
            if (live->uses[labels.items[k]] > 1 && live->extents[labels.items[k]] > 0) hold(live, i, labels.items[k]);
    }
    return true;
}

void einsum_live_enter(einsum_live *live, uint32_t value)
{
    for (uint32_t i = 0; i < live->values[value].count; i++) {
        einsum_held *held = &live->values[value].held[i];
        held->next = live->members[held->label];
        live->members[held->label] = held;
    }
}

void einsum_live_enter_leaves(einsum_live *live)
{
    for (uint32_t leaf = 0; leaf < live->leaf_count; leaf++) einsum_live_enter(live, leaf);
}

/* ---- joining ---- */

static void mark_labels(einsum_live *live, uint32_t value)
{
    live->round++;
    for (uint32_t i = 0; i < live->values[value].count; i++)
        live->label_marks[live->values[value].held[i].label] = live->round;
}

bool einsum_live_join(einsum_live *live, uint32_t a, uint32_t b)
{
    einsum_live_value *x = &live->values[a], *y = &live->values[b];
    uint32_t result = (uint32_t)live->value_count;
    if (!reserve(live, result, (size_t)x->count + y->count)) return false;
    mark_labels(live, b);
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t label = x->held[i].label;
        bool shared = live->label_marks[label] == live->round;
        live->label_marks[label] = 0;
        if (shared && --live->uses[label] == 1) live->uses[label] = 0;
        else hold(live, result, label);
    }
    for (uint32_t i = 0; i < y->count; i++)
        if (live->label_marks[y->held[i].label] == live->round) hold(live, result, y->held[i].label);
    x->gone = y->gone = true;
    live->pairs[live->value_count++ - live->leaf_count] = (einsum_pair){a, b};
    return true;
}

/* ---- looking ---- */

/* `summed` is negative where the label is not to be counted now. */
static void note(einsum_live *live, uint32_t value, double shared, double summed)
{
    if (live->value_marks[value] != live->round) {
        live->value_marks[value] = live->round;
        live->places[value] = (uint32_t)live->near_count;
        live->near[live->near_count++] = (einsum_near){.value = value};
    }
    live->near[live->places[value]].shared += shared;
    live->near[live->places[value]].summed += summed;
}

static void look_along(einsum_live *live, uint32_t value, uint32_t label, uint32_t most, bool wide)
{
    double shared = wide ? 0 : live->extents[label], summed = live->uses[label] == 2 ? shared : 0;
    uint32_t seen = 0;
    for (einsum_held **at = &live->members[label]; *at != NULL && seen < most;) {
        uint32_t other = (*at)->value;
        if (live->values[other].gone) {
            *at = (*at)->next;
            continue;
        }
        at = &(*at)->next;
        if (other == value) continue;
        seen++;
        note(live, other, shared, summed);
    }
}

/* Labels that more than `most` values have are found with few of them: the others are asked whether they have it. */
static void count_wide(einsum_live *live)
{
    for (size_t k = 0; k < live->near_count; k++) {
        const einsum_live_value *other = &live->values[live->near[k].value];
        for (uint32_t i = 0; i < other->count; i++)
            if (live->label_marks[other->held[i].label] == live->round)
                live->near[k].shared += live->extents[other->held[i].label];
    }
}

void einsum_live_look(einsum_live *live, uint32_t value, uint32_t most)
{
    const einsum_live_value *v = &live->values[value];
    bool any_wide = false;
    live->round++;
    live->near_count = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t label = v->held[i].label;
        bool wide = live->uses[label] > most;
        look_along(live, value, label, most, wide);
        if (wide) live->label_marks[label] = live->round;
        any_wide = any_wide || wide;
    }
    if (any_wide) count_wide(live);
}

bool einsum_live_equal(einsum_live *live, uint32_t a, uint32_t b)
{
    if (live->values[a].count != live->values[b].count) return false;
    mark_labels(live, a);
    for (uint32_t i = 0; i < live->values[b].count; i++)
        if (live->label_marks[live->values[b].held[i].label] != live->round) return false;
    return true;
}

/* ---- what is left ---- */

bool einsum_live_join_heap(einsum_live *live, einsum_heap *heap)
{
    while (heap->size > 1) {
        uint32_t a = einsum_heap_pop(heap).a, b = einsum_heap_pop(heap).a;
        if (!einsum_live_join(live, a, b)) return false;
        uint32_t result = einsum_live_latest(live);
        einsum_live_enter(live, result);
        if (!einsum_heap_push(heap, (einsum_candidate){live->values[result].size, result, 0})) return false;
    }
    return true;
}

bool einsum_live_join_rest(einsum_live *live)
{
    einsum_heap heap = {.arena = live->arena};
    for (uint32_t v = 0; v < live->value_count; v++)
        if (!live->values[v].gone && !einsum_heap_push(&heap, (einsum_candidate){live->values[v].size, v, 0}))
            return false;
    return einsum_live_join_heap(live, &heap);
}
