/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

double einsum_core_size(const einsum_core *core, const uint64_t *set)
{
    double size = 0;
    for (uint32_t w = 0; w < core->words; w++)
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1)
            size += core->extents[64 * w + (uint32_t)__builtin_ctzll(bits)];
    return size;
}

/* ---- the cost of an order ---- */

typedef struct pricing {
    const einsum_core *core;
    uint64_t *legs; /* by value */
    double *sizes;  /* by value */
    uint32_t *uses; /* by label: live values that have it, and 1 if the output does */
} pricing;

static void count_uses(pricing *p, const uint64_t *set)
{
    for (uint32_t w = 0; w < p->core->words; w++)
        for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) p->uses[64 * w + (uint32_t)__builtin_ctzll(bits)]++;
}

static bool pricing_init(pricing *p, einsum_arena *arena, const einsum_core *core)
{
    size_t values = 2 * (size_t)core->leaf_count;
    *p = (pricing){.core = core,
                   .legs = einsum_arena_allocate(arena, values * core->words, sizeof *p->legs),
                   .sizes = einsum_arena_allocate(arena, values, sizeof *p->sizes),
                   .uses = einsum_arena_allocate(arena, core->label_count, sizeof *p->uses)};
    if (p->legs == NULL || p->sizes == NULL || p->uses == NULL) return false;
    for (size_t i = 0; i < (size_t)core->leaf_count * core->words; i++) p->legs[i] = core->legs[i];
    for (uint32_t leaf = 0; leaf < core->leaf_count; leaf++) {
        count_uses(p, einsum_core_legs(core, leaf));
        p->sizes[leaf] = einsum_core_size(core, einsum_core_legs(core, leaf));
    }
    count_uses(p, core->output);
    return true;
}

static uint64_t *legs_of(const pricing *p, size_t value)
{
    return p->legs + value * p->core->words;
}

/* Fills the labels of the result; labels that only the two had are gone from it. Returns log2 of the multiplications.
 */
static double join(pricing *p, einsum_pair pair, uint64_t *result)
{
    const uint64_t *a = legs_of(p, pair.a), *b = legs_of(p, pair.b);
    double work = 0;
    for (uint32_t w = 0; w < p->core->words; w++) {
        result[w] = a[w] | b[w];
        for (uint64_t bits = result[w]; bits != 0; bits &= bits - 1) {
            uint32_t label = 64 * w + (uint32_t)__builtin_ctzll(bits);
            uint64_t bit = bits & -bits;
            work += p->core->extents[label];
            if ((a[w] & b[w] & bit) == 0 || --p->uses[label] > 1) continue;
            result[w] &= ~bit;
        }
    }
    return work;
}

weft_status *einsum_core_cost(einsum_arena *arena, const einsum_core *core, const einsum_score *score,
                              const einsum_pair *pairs, einsum_cost *out_cost)
{
    pricing p;
    if (!pricing_init(&p, arena, core)) return weft_status_out_of_memory();
    *out_cost = EINSUM_NO_COST;
    for (uint32_t k = 0; k + 1 < core->leaf_count; k++) {
        size_t value = (size_t)core->leaf_count + k;
        double work = join(&p, pairs[k], legs_of(&p, value)), size = einsum_core_size(core, legs_of(&p, value));
        p.sizes[value] = size;
        einsum_step step = {p.sizes[pairs[k].a], p.sizes[pairs[k].b], size, work};
        *out_cost = einsum_score_add(score, *out_cost, einsum_score_step(score, step));
    }
    return NULL;
}
