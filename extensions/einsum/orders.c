/* SPDX-License-Identifier: Apache-2.0 */
#include "orders.h"
#include "value.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of the short search; and what an order may cost more than what that finds. */
enum { MOVES_PER_STEP = 100 };
static const double most = 1.05;

typedef struct kept_order {
    einsum_shared shared;
    const weft_allocator *allocator;
    size_t count;
    einsum_pair pairs[];
} kept_order;

/* ---- what is kept ---- */

static size_t kept_size(size_t count)
{
    return sizeof(kept_order) + count * sizeof(einsum_pair);
}

static void kept_destroy(einsum_shared *shared)
{
    kept_order *kept = (kept_order *)shared;
    kept->allocator->resize(kept->allocator->self, kept, kept_size(kept->count), 0, _Alignof(kept_order));
}

/* Without memory the order is simply not kept. */
static void keep(einsum_cache *cache, einsum_key key, const einsum_expression *x)
{
    const weft_allocator *allocator = cache->allocator;
    size_t count = x->network.operand_count - 1;
    kept_order *kept = allocator->resize(allocator->self, NULL, 0, kept_size(count), _Alignof(kept_order));
    if (kept == NULL) return;
    *kept = (kept_order){.shared = {.destroy = kept_destroy}, .allocator = allocator, .count = count};
    atomic_init(&kept->shared.references, 1);
    memcpy(kept->pairs, x->pairs, count * sizeof *x->pairs);
    einsum_cache_replace(cache, key, &kept->shared, kept_size(count));
    einsum_shared_release(&kept->shared);
}

/* Extents over one of labels in the output are left out: there is a star in their place. */
static void print_extents(const einsum_expression *x, size_t operand, einsum_text *text)
{
    einsum_labels labels = x->network.operands[operand];
    for (size_t axis = 0; axis < labels.count; axis++) {
        int64_t extent = 0;
        weft_extent_is_static(x->shapes[operand].extents[axis], &extent);
        bool open = extent > 1 && einsum_labels_have(x->network.output, labels.items[axis]);
        if (open) einsum_text_append(text, " *", 2);
        else einsum_text_print(text, " %" PRId64, extent);
    }
    einsum_text_append(text, ",", 1);
}

static weft_status *fill_key(const einsum_call *call, einsum_expression *x, einsum_key *out_key)
{
    einsum_text text;
    einsum_text_init(&text, &x->arena);
    einsum_text_print(&text, "%d ", (int)call->dtype);
    for (size_t i = 0; i < x->network.operand_count; i++) print_extents(x, i, &text);
    einsum_text_append(&text, call->text, strlen(call->text) + 1);
    einsum_text_append(&text, call->planner, strlen(call->planner));
    *out_key = (einsum_key){text.data, text.size};
    return text.failed ? weft_status_out_of_memory() : NULL;
}

/* ---- whether it is taken ---- */

static weft_status *find_cost(einsum_expression *x, const einsum_score *score, const einsum_pair *pairs,
                              einsum_cost *out_cost)
{
    einsum_walk walk;
    *out_cost = EINSUM_NO_COST;
    WEFT_TRY(einsum_walk_init(&walk, &x->arena, &x->problem));
    for (size_t k = 0; k + 1 < x->problem.operand_count; k++) {
        if (!einsum_walk_join(&walk, pairs[k])) return weft_status_out_of_memory();
        *out_cost = einsum_score_add(score, *out_cost, einsum_score_step(score, walk.step));
    }
    return NULL;
}

/* Costs are logarithms, whatever the objective. */
static weft_status *is_good(einsum_expression *x, const einsum_planner *planner, weft_dtype dtype,
                            const einsum_pair *pairs, bool *out_good)
{
    einsum_cost known, found;
    einsum_labels sliced;
    einsum_planner brief = *planner;
    einsum_score score = einsum_planner_score(planner, planner->minimize, dtype);
    einsum_pair *other = einsum_arena_allocate(&x->arena, x->problem.operand_count, sizeof *other);
    if (other == NULL) return weft_status_out_of_memory();
    brief.budget = 0;
    brief.moves = MOVES_PER_STEP * x->problem.operand_count;
    WEFT_TRY(find_cost(x, &score, pairs, &known));
    WEFT_TRY(einsum_plan_find(&x->arena, &x->problem, &brief, dtype, other, &sliced));
    WEFT_TRY(find_cost(x, &score, other, &found));
    *out_good = known.major <= found.major + log2(most);
    return NULL;
}

/* A verdict based on a cancelled search does not count. */
static weft_status *try_kept(const kept_order *kept, einsum_expression *x, const einsum_policy *policy,
                             weft_dtype dtype, bool *out_taken)
{
    WEFT_TRY(is_good(x, &policy->planner, dtype, kept->pairs, out_taken));
    WEFT_TRY(einsum_planner_check(x->arena.allocator, &policy->planner));
    if (!*out_taken) return NULL;
    x->pairs = einsum_arena_allocate(&x->arena, kept->count, sizeof *x->pairs);
    if (x->pairs == NULL) return weft_status_out_of_memory();
    memcpy(x->pairs, kept->pairs, kept->count * sizeof *x->pairs);
    return NULL;
}

/* The result of a cancelled search is discarded. */
static weft_status *find_whole(einsum_expression *x, const einsum_policy *policy, weft_dtype dtype)
{
    WEFT_TRY(einsum_expression_order(x, policy, dtype));
    return einsum_planner_check(x->arena.allocator, &policy->planner);
}

/* A memory limit asks for slices, which belong to the extents that they were found for. */
weft_status *einsum_orders_find(einsum_state *state, const einsum_call *call, einsum_expression *x,
                                const einsum_policy *policy)
{
    einsum_key key;
    einsum_cache *cache = &state->caches[WEFT_EINSUM_ORDERS];
    bool taken = false;
    if (policy->kind != EINSUM_POLICY_AUTO || einsum_policy_has_limit(policy))
        return find_whole(x, policy, call->dtype);
    WEFT_TRY(fill_key(call, x, &key));
    kept_order *kept = (kept_order *)einsum_cache_peek(cache, key);
    weft_status *status = kept == NULL ? NULL : try_kept(kept, x, policy, call->dtype, &taken);
    if (kept != NULL) einsum_shared_release(&kept->shared);
    WEFT_TRY(status);
    einsum_cache_count(cache, taken);
    if (taken) return NULL;
    WEFT_TRY(find_whole(x, policy, call->dtype));
    keep(cache, key, x);
    return NULL;
}
