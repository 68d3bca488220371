/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic programming over connected sets of leaves, smaller sets first, after Pfeifer, Haegeman and Verstraete,
 * "Faster identification of optimal contraction sequences for tensor networks" (2014): sets whose best order costs more
 * than a bound are left out, and so are those whose result alone makes the next step dearer than that. Here the bound
 * is the cost of a greedy order whose subtrees got their best order: it is close to the cost of the best order, so that
 * one search is enough. If that order has outer products and the search does not allow them, the search may find
 * nothing within the bound: then that order is the result.
 *
 * Leaves are numbered breadth first. Of two sets that are joined, the one with the lower first leaf is called x; the
 * other, y, then begins after it, and no later than the last neighbour of x: sets are kept by size and first leaf, and
 * few pairs are looked at in vain.
 */
#include "methods.h"
#include <string.h>

enum {
    PARTS = 6,       /* of the subtrees that get their best order */
    ASKED_EVERY = 64 /* sets, whether to stop */
};

typedef struct state {
    double size; /* log2 of the elements of the result */
    einsum_cost cost;
    uint64_t hash; /* the sum of the hashes of its leaves */
    uint32_t x, y; /* the best parts; unused for a leaf */
} state;

typedef struct search {
    einsum_arena arena; /* old arrays stay in it: pointers into them remain valid while states are added */
    const einsum_core *core;
    const einsum_score *score;
    bool outer;
    bool work_counts; /* a step costs no less than its multiplications */
    uint32_t leaf_count, leaf_words;
    uint32_t *numbers;    /* of leaf i, in the core */
    uint64_t *holders;    /* by label: the leaves that have it */
    uint64_t *leaf_nears; /* by leaf: its neighbours */
    double bound;         /* of `major` */
    double largest;       /* no result may be larger */
    size_t most_states, most_pairs, pair_count;
    const einsum_stop *stop;
    bool stopped;
    uint32_t asked; /* counts up to the next time */
    size_t count, capacity;
    state *states;   /* by size of the set: `begins[k]` is the first of size k */
    uint64_t *sets;  /* by state: its leaves */
    uint64_t *nears; /* by state: leaves outside that share a label with it */
    uint64_t *legs;  /* by state: labels of its result */
    uint32_t *begins;
    uint64_t *sorted;  /* `sets`, those of one size by their first leaf, */
    uint32_t *origins; /* and which state each is */
    uint32_t *firsts;  /* where they begin: by size, by first leaf */
    uint32_t *slots;   /* open addressing: state + 1 */
    size_t slot_mask;
    uint32_t set_size;             /* of what is made now */
    uint64_t *set, *near, *result; /* of the pair looked at */
} search;

/* ---- sets ---- */

static uint64_t *set_of(const search *s, size_t i)
{
    return s->sets + i * s->leaf_words;
}

static uint64_t *near_of(const search *s, size_t i)
{
    return s->nears + i * s->leaf_words;
}

static uint64_t *legs_of(const search *s, size_t i)
{
    return s->legs + i * s->core->words;
}

static bool meet(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint64_t common = 0;
    for (uint32_t w = 0; w < words; w++) common |= a[w] & b[w];
    return common != 0;
}

static bool within(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint64_t outside = 0;
    for (uint32_t w = 0; w < words; w++) outside |= a[w] & ~b[w];
    return outside == 0;
}

static bool equal(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint64_t different = 0;
    for (uint32_t w = 0; w < words; w++) different |= a[w] ^ b[w];
    return different == 0;
}

static void set_add(uint64_t *set, uint32_t i)
{
    set[i / 64] |= UINT64_C(1) << i % 64;
}

static bool set_has(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static uint32_t first_of(const uint64_t *set)
{
    uint32_t w = 0;
    while (set[w] == 0) w++;
    return 64 * w + (uint32_t)__builtin_ctzll(set[w]);
}

/* 0 for none. */
static uint32_t last_of(const uint64_t *set, uint32_t words)
{
    uint32_t w = words - 1;
    while (w > 0 && set[w] == 0) w--;
    return set[w] == 0 ? 0 : 64 * w + 63 - (uint32_t)__builtin_clzll(set[w]);
}

/* ---- states ---- */

static bool is_over(const search *s)
{
    return s->count > s->most_states || s->pair_count > s->most_pairs || s->stopped;
}

/* Where `set` is, or belongs. */
static uint32_t *find_slot(const search *s, uint64_t hash, const uint64_t *set)
{
    size_t at = (size_t)hash & s->slot_mask;
    for (; s->slots[at] != 0; at = (at + 1) & s->slot_mask) {
        uint32_t i = s->slots[at] - 1;
        if (s->states[i].hash == hash && equal(set_of(s, i), set, s->leaf_words)) break;
    }
    return &s->slots[at];
}

/* `count` items copied to room for `capacity`. */
static void *regrow(search *s, const void *items, size_t capacity, size_t size)
{
    void *memory = einsum_arena_allocate(&s->arena, capacity, size);
    if (memory != NULL && s->count > 0) memcpy(memory, items, s->count * size);
    return memory;
}

static bool grow(search *s)
{
    size_t capacity = s->capacity == 0 ? 256 : 2 * s->capacity, leaf_bytes = s->leaf_words * sizeof(uint64_t);
    s->states = regrow(s, s->states, capacity, sizeof *s->states);
    s->sets = regrow(s, s->sets, capacity, leaf_bytes);
    s->nears = regrow(s, s->nears, capacity, leaf_bytes);
    s->legs = regrow(s, s->legs, capacity, s->core->words * sizeof *s->legs);
    s->sorted = regrow(s, s->sorted, capacity, leaf_bytes);
    s->origins = regrow(s, s->origins, capacity, sizeof *s->origins);
    s->slots = einsum_arena_allocate(&s->arena, 2 * capacity, sizeof *s->slots);
    if (s->states == NULL || s->sets == NULL || s->nears == NULL || s->legs == NULL || s->sorted == NULL ||
        s->origins == NULL || s->slots == NULL)
        return false;
    s->capacity = capacity;
    s->slot_mask = 2 * capacity - 1;
    for (uint32_t i = 0; i < s->count; i++) *find_slot(s, s->states[i].hash, set_of(s, i)) = i + 1;
    return true;
}

static bool add_state(search *s, state added, const uint64_t *set, const uint64_t *near, const uint64_t *legs)
{
    if (s->count == s->capacity && !grow(s)) return false;
    size_t i = s->count++, bytes = s->leaf_words * sizeof *set;
    s->states[i] = added;
    memcpy(set_of(s, i), set, bytes);
    memcpy(near_of(s, i), near, bytes);
    memcpy(legs_of(s, i), legs, s->core->words * sizeof *legs);
    *find_slot(s, added.hash, set) = (uint32_t)i + 1;
    return true;
}

/* Sorts the states of one size, the latest, by their first leaves. */
static void sort_size(search *s, uint32_t size)
{
    uint32_t *firsts = s->firsts + (size_t)size * (s->leaf_count + 2);
    memset(firsts, 0, (s->leaf_count + 2) * sizeof *firsts);
    for (size_t i = s->begins[size]; i < s->count; i++) firsts[first_of(set_of(s, i)) + 2]++;
    firsts[0] = firsts[1] = s->begins[size];
    for (uint32_t leaf = 1; leaf <= s->leaf_count; leaf++) firsts[leaf + 1] += firsts[leaf];
    for (uint32_t i = s->begins[size]; i < s->count; i++) {
        uint32_t at = firsts[first_of(set_of(s, i)) + 1]++;
        memcpy(s->sorted + (size_t)at * s->leaf_words, set_of(s, i), s->leaf_words * sizeof *s->sorted);
        s->origins[at] = i;
    }
    s->begins[size + 1] = (uint32_t)s->count;
}

/* ---- joining ---- */

static double size_of_common(const search *s, const uint64_t *a, const uint64_t *b)
{
    double size = 0;
    for (uint32_t w = 0; w < s->core->words; w++)
        for (uint64_t bits = a[w] & b[w]; bits != 0; bits &= bits - 1)
            size += s->core->extents[64 * w + (uint32_t)__builtin_ctzll(bits)];
    return size;
}

/* The labels of the result of x and y, which are those of `s->set`; returns log2 of its elements. */
static double fill_result(search *s, size_t x, size_t y)
{
    const uint64_t *a = legs_of(s, x), *b = legs_of(s, y);
    for (uint32_t w = 0; w < s->core->words; w++) {
        s->result[w] = a[w] | b[w];
        for (uint64_t bits = a[w] & b[w] & ~s->core->output[w]; bits != 0; bits &= bits - 1) {
            size_t label = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (within(s->holders + label * s->leaf_words, s->set, s->leaf_words)) s->result[w] &= ~(bits & -bits);
        }
    }
    return size_of_common(s, s->result, s->result);
}

/* The least cost of an order that makes `s->set` at that cost: unless it is the whole, another step reads it. */
static double least_whole(const search *s, double cost, double size)
{
    return s->set_size == s->leaf_count ? cost : einsum_log2_add(cost, einsum_score_reading(s->score, size));
}

static bool join(search *s, size_t x, size_t y)
{
    state a = s->states[x], b = s->states[y];
    double work = a.size + b.size - size_of_common(s, legs_of(s, x), legs_of(s, y)), limit = s->bound;
    if (work > limit && s->work_counts) return true;
    for (uint32_t w = 0; w < s->leaf_words; w++) s->set[w] = set_of(s, x)[w] | set_of(s, y)[w];
    uint64_t hash = a.hash + b.hash;
    uint32_t known = *find_slot(s, hash, s->set);
    double size = known > 0 ? s->states[known - 1].size : fill_result(s, x, y);
    einsum_cost cost = einsum_score_step(s->score, (einsum_step){a.size, b.size, size, work});
    if (known > 0) limit = fmin(limit, s->states[known - 1].cost.major);
    if (size > s->largest || fmax(cost.major, fmax(a.cost.major, b.cost.major)) > limit) return true;
    cost = einsum_score_add(s->score, einsum_score_add(s->score, a.cost, b.cost), cost);
    if (least_whole(s, cost.major, size) > s->bound) return true;
    state joined = {size, cost, hash, (uint32_t)x, (uint32_t)y};
    if (known > 0) {
        if (einsum_cost_less(cost, s->states[known - 1].cost)) s->states[known - 1] = joined;
        return true;
    }
    for (uint32_t w = 0; w < s->leaf_words; w++) s->near[w] = (near_of(s, x)[w] | near_of(s, y)[w]) & ~s->set[w];
    return add_state(s, joined, s->set, s->near, s->result);
}

/* Joins `x` with the sets of `size` that begin at `first`. */
static bool join_begun(search *s, uint32_t x, uint32_t size, uint32_t first)
{
    const uint32_t *firsts = s->firsts + (size_t)size * (s->leaf_count + 2) + first, words = s->leaf_words;
    const uint64_t *set = set_of(s, x), *near = near_of(s, x), *sorted = s->sorted;
    s->pair_count += firsts[1] - firsts[0];
    for (uint32_t i = firsts[0]; i < firsts[1]; i++) {
        const uint64_t *other = sorted + (size_t)i * words;
        if (meet(set, other, words) || (!s->outer && !meet(near, other, words))) continue;
        if (!join(s, x, s->origins[i])) return false;
    }
    return true;
}

/* Joins `x` with the sets of `size` that begin outside of it, from `low` to `high`. */
static bool join_between(search *s, uint32_t x, uint32_t size, uint32_t low, uint32_t high)
{
    for (uint32_t w = low / 64; w <= high / 64; w++) {
        uint64_t bits = ~set_of(s, x)[w];
        if (w == low / 64) bits &= ~UINT64_C(0) << low % 64;
        if (w == high / 64) bits &= ~UINT64_C(0) >> (63 - high % 64);
        for (; bits != 0; bits &= bits - 1)
            if (!join_begun(s, x, size, 64 * w + (uint32_t)__builtin_ctzll(bits))) return false;
    }
    return true;
}

static bool join_sizes(search *s, uint32_t x_size, uint32_t y_size)
{
    for (uint32_t x = s->begins[x_size]; x < s->begins[x_size + 1] && !is_over(s); x++) {
        s->stopped = ++s->asked % ASKED_EVERY == 0 && einsum_stop_asked(s->stop);
        uint32_t low = first_of(set_of(s, x)) + 1;
        uint32_t high = s->outer ? s->leaf_count - 1 : last_of(near_of(s, x), s->leaf_words);
        if (low <= high && !join_between(s, x, y_size, low, high)) return false;
    }
    return true;
}

/* ---- bounds ---- */

static bool add_leaves(search *s)
{
    memset(s->slots, 0, (s->slot_mask + 1) * sizeof *s->slots);
    s->count = 0;
    for (uint32_t leaf = 0; leaf < s->leaf_count; leaf++) {
        const uint64_t *legs = einsum_core_legs(s->core, s->numbers[leaf]);
        memset(s->set, 0, s->leaf_words * sizeof *s->set);
        set_add(s->set, leaf);
        state added = {einsum_core_size(s->core, legs), EINSUM_NO_COST, einsum_random_mix(leaf + UINT64_C(1)), 0, 0};
        if (!add_state(s, added, s->set, s->leaf_nears + (size_t)leaf * s->leaf_words, legs)) return false;
    }
    sort_size(s, 1);
    return true;
}

static double just_above(double cost)
{
    return cost + 1e-9 * (1 + fabs(cost));
}

/* Finds all sets that cost at most `most`. */
static bool search_within(search *s, double most)
{
    s->bound = just_above(most);
    if (!add_leaves(s)) return false;
    for (uint32_t size = 2; size <= s->leaf_count; size++) {
        s->set_size = size;
        for (uint32_t x_size = 1; x_size < size && !is_over(s); x_size++)
            if (!join_sizes(s, x_size, size - x_size)) return false;
        sort_size(s, size);
    }
    return true;
}

static bool is_found(const search *s)
{
    return !is_over(s) && s->begins[s->leaf_count] < s->begins[s->leaf_count + 1];
}

/* ---- initialization ---- */

/* Leaves breadth first from `start`, one component after the other. */
static void number_leaves(search *s, uint32_t start, const uint64_t *nears)
{
    uint64_t *seen = memset(s->set, 0, s->leaf_words * sizeof *s->set);
    uint32_t count = 0, next = 0;
    for (uint32_t i = 0; i < s->leaf_count; i++) {
        uint32_t root = (start + i) % s->leaf_count;
        if (set_has(seen, root)) continue;
        set_add(seen, root);
        for (s->numbers[count++] = root; next < count; next++) {
            const uint64_t *near = nears + (size_t)s->numbers[next] * s->leaf_words;
            for (uint32_t w = 0; w < s->leaf_words; w++) {
                for (uint64_t bits = near[w] & ~seen[w]; bits != 0; bits &= bits - 1)
                    s->numbers[count++] = 64 * w + (uint32_t)__builtin_ctzll(bits);
                seen[w] |= near[w];
            }
        }
    }
}

/* The leaves that have each label, in the numbering of `numbers`. */
static void fill_holders(search *s)
{
    memset(s->holders, 0, (size_t)s->core->label_count * s->leaf_words * sizeof *s->holders);
    for (uint32_t leaf = 0; leaf < s->leaf_count; leaf++) {
        const uint64_t *legs = einsum_core_legs(s->core, s->numbers[leaf]);
        for (uint32_t w = 0; w < s->core->words; w++)
            for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1)
                set_add(s->holders + (64 * w + (size_t)__builtin_ctzll(bits)) * s->leaf_words, leaf);
    }
}

static void fill_leaf_nears(search *s)
{
    memset(s->leaf_nears, 0, (size_t)s->leaf_count * s->leaf_words * sizeof *s->leaf_nears);
    for (uint32_t leaf = 0; leaf < s->leaf_count; leaf++) {
        const uint64_t *legs = einsum_core_legs(s->core, s->numbers[leaf]);
        uint64_t *near = s->leaf_nears + (size_t)leaf * s->leaf_words;
        for (uint32_t w = 0; w < s->core->words; w++)
            for (uint64_t bits = legs[w]; bits != 0; bits &= bits - 1)
                for (uint32_t v = 0; v < s->leaf_words; v++)
                    near[v] |= s->holders[(64 * w + (size_t)__builtin_ctzll(bits)) * s->leaf_words + v];
        near[leaf / 64] &= ~(UINT64_C(1) << leaf % 64);
    }
}

/* The last leaf of a walk from anywhere is at an end of the network: chains are then numbered along. */
static void number_from_an_end(search *s)
{
    for (uint32_t leaf = 0; leaf < s->leaf_count; leaf++) s->numbers[leaf] = leaf;
    fill_holders(s);
    fill_leaf_nears(s);
    number_leaves(s, 0, s->leaf_nears);
    number_leaves(s, s->numbers[s->leaf_count - 1], s->leaf_nears);
    fill_holders(s);
    fill_leaf_nears(s);
}

static bool search_init(search *s)
{
    size_t leaves = s->leaf_count, words = s->leaf_words = (s->leaf_count + 63) / 64;
    s->numbers = einsum_arena_allocate(&s->arena, leaves, sizeof *s->numbers);
    s->holders = einsum_arena_allocate(&s->arena, s->core->label_count * words, sizeof *s->holders);
    s->leaf_nears = einsum_arena_allocate(&s->arena, leaves * words, sizeof *s->leaf_nears);
    s->begins = einsum_arena_allocate(&s->arena, leaves + 2, sizeof *s->begins);
    s->firsts = einsum_arena_allocate(&s->arena, (leaves + 1) * (leaves + 2), sizeof *s->firsts);
    s->set = einsum_arena_allocate(&s->arena, words, sizeof *s->set);
    s->near = einsum_arena_allocate(&s->arena, words, sizeof *s->near);
    s->result = einsum_arena_allocate(&s->arena, s->core->words, sizeof *s->result);
    if (s->numbers == NULL || s->holders == NULL || s->leaf_nears == NULL || s->begins == NULL || s->firsts == NULL ||
        s->set == NULL || s->near == NULL || s->result == NULL || !grow(s))
        return false;
    number_from_an_end(s);
    return true;
}

/* ---- the order ---- */

/* Parts come before what they make: marked from the last state down, numbered from the first up. */
static bool emit(search *s, einsum_pair *out_pairs)
{
    size_t *values = einsum_arena_allocate(&s->arena, s->count, sizeof *values), step = 0;
    if (values == NULL) return false;
    values[s->count - 1] = 1;
    for (size_t i = s->count; i-- > s->leaf_count;)
        if (values[i] != 0) values[s->states[i].x] = values[s->states[i].y] = 1;
    for (size_t i = 0; i < s->leaf_count; i++) values[i] = s->numbers[i];
    for (size_t i = s->leaf_count; i < s->count; i++) {
        if (values[i] == 0) continue;
        out_pairs[step] = (einsum_pair){values[s->states[i].x], values[s->states[i].y]};
        values[i] = s->leaf_count + step++;
    }
    return true;
}

/* The best of a few greedy orders, made better. */
static weft_status *find_bound(search *s, einsum_pair *pairs, einsum_cost *out_cost)
{
    static const double log2_factors[] = {0, -1, 1, -2, 2};
    einsum_pair *greedy = einsum_arena_allocate(&s->arena, s->leaf_count, sizeof *greedy);
    if (greedy == NULL) return weft_status_out_of_memory();
    *out_cost = EINSUM_WORST_COST;
    for (size_t i = 0; i < sizeof log2_factors / sizeof *log2_factors; i++) {
        einsum_cost cost;
        const einsum_greedy options = {.log2_factor = log2_factors[i]};
        WEFT_TRY(einsum_greedy_run(s->arena.allocator, s->core, &options, greedy));
        WEFT_TRY(einsum_core_cost(&s->arena, s->core, s->score, greedy, &cost));
        if (i > 0 && !einsum_cost_less(cost, *out_cost)) continue;
        *out_cost = cost;
        memcpy(pairs, greedy, (s->leaf_count - 1) * sizeof *pairs);
    }
    WEFT_TRY(einsum_reconfigure_run(s->arena.allocator, s->core, s->score, PARTS, s->stop, pairs));
    return einsum_core_cost(&s->arena, s->core, s->score, pairs, out_cost);
}

/* For the objective SIZE a second search finds, of the orders with the smallest largest result, one with the fewest
 * multiplications. */
static weft_status *run(search *s, einsum_pair *out_pairs, bool *out_found)
{
    static const einsum_score flops = {.objective = WEFT_EINSUM_FLOPS};
    einsum_cost most;
    WEFT_TRY(find_bound(s, out_pairs, &most));
    if (!search_init(s) || !search_within(s, most.major)) return weft_status_out_of_memory();
    *out_found = !is_over(s);
    if (is_found(s)) {
        if (!emit(s, out_pairs)) return weft_status_out_of_memory();
        most = s->states[s->count - 1].cost;
    }
    if (is_over(s) || s->score->objective != WEFT_EINSUM_SIZE) return NULL;
    s->score = &flops;
    s->work_counts = true;
    s->largest = just_above(most.major);
    bool well = search_within(s, most.minor) && (!is_found(s) || emit(s, out_pairs));
    return well ? NULL : weft_status_out_of_memory();
}

weft_status *einsum_exact_run(const weft_allocator *allocator, const einsum_core *core, const einsum_score *score,
                              bool outer, size_t most_states, const einsum_stop *stop, einsum_pair *out_pairs,
                              bool *out_found)
{
    static const einsum_stop never = {.deadline = INFINITY};
    size_t leaves = core->leaf_count;
    *out_found = leaves <= 2;
    if (leaves <= 2) einsum_order_left(leaves, out_pairs);
    if (leaves <= 2 || leaves * (leaves + 1) / 2 > most_states) return NULL;
    search s = {.core = core,
                .score = score,
                .outer = outer,
                .leaf_count = core->leaf_count,
                .work_counts = score->objective == WEFT_EINSUM_FLOPS || score->objective == WEFT_EINSUM_COMBO,
                .largest = INFINITY,
                .most_states = most_states,
                .most_pairs = 64 * most_states,
                .stop = stop != NULL ? stop : &never};
    einsum_arena_init(&s.arena, allocator);
    weft_status *status = run(&s, out_pairs, out_found);
    einsum_arena_finish(&s.arena);
    return status;
}
