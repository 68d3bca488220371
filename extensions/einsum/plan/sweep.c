/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value takes in a neighbour after the other, that after which it is smallest. Of equal ones that which it met last
 * goes along the rows of a lattice, and that which it met first spreads evenly; networks differ in which of them
 * serves, and so they do in whether to begin anywhere or where another sweep has ended: those are the manners.
 */
#include "live.h"
#include "methods.h"
#include <math.h>

typedef struct sweep {
    einsum_live live;
    bool last_met;
    uint32_t *met; /* by leaf: the step before which the value first had it as a neighbour; 0: none */
} sweep;

static bool is_preferred(const sweep *s, uint32_t leaf, uint32_t other)
{
    return s->last_met ? s->met[leaf] > s->met[other] : s->met[leaf] < s->met[other];
}

/* The neighbour to take in; UINT32_MAX for none. */
static uint32_t find_next(sweep *s, uint32_t value, uint32_t step)
{
    const double slack = 1e-9;
    uint32_t best = UINT32_MAX;
    double least = INFINITY;
    einsum_live_look(&s->live, value, UINT32_MAX);
    for (size_t k = 0; k < s->live.near_count; k++) {
        einsum_near near = s->live.near[k];
        if (s->met[near.value] == 0) s->met[near.value] = step;
        double growth = s->live.values[near.value].size - near.shared - near.summed;
        if (growth > least + slack || (growth > least - slack && !is_preferred(s, near.value, best))) continue;
        least = growth;
        best = near.value;
    }
    return best;
}

/* From the leaf `end`, which becomes the one that is taken in last. */
static bool run(sweep *s, const einsum_stop *stop, uint32_t *end, bool *ended)
{
    uint32_t value = *end;
    einsum_live_enter_leaves(&s->live);
    for (uint32_t step = 1;; step++) {
        *ended = *ended || einsum_stop_asked(stop);
        uint32_t next = *ended ? UINT32_MAX : find_next(s, value, step);
        if (next == UINT32_MAX) break;
        if (!einsum_live_join(&s->live, value, next)) return false;
        value = einsum_live_latest(&s->live);
        einsum_live_enter(&s->live, value);
        *end = next;
    }
    return einsum_live_join_rest(&s->live);
}

weft_status *einsum_sweep_run(const weft_allocator *allocator, const einsum_core *core, uint32_t manner,
                              einsum_random random, const einsum_stop *stop, einsum_pair *out_pairs, bool *out_ended)
{
    uint32_t end = einsum_random_below(&random, core->leaf_count);
    bool well = true;
    *out_ended = false;
    for (uint32_t i = 0; i < 1 + manner / 2 && well; i++) {
        einsum_arena arena;
        einsum_arena_init(&arena, allocator);
        sweep s = {.last_met = manner & 1, .met = einsum_arena_allocate(&arena, core->leaf_count, sizeof *s.met)};
        well =
            s.met != NULL && einsum_live_init_core(&s.live, &arena, core, out_pairs) && run(&s, stop, &end, out_ended);
        einsum_arena_finish(&arena);
    }
    return well ? NULL : weft_status_out_of_memory();
}
