/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"
#include <inttypes.h>

/* ---- sets of labels ---- */

size_t einsum_labels_find(einsum_labels labels, uint32_t label)
{
    size_t i = 0;
    while (i < labels.count && labels.items[i] != label) i++;
    return i;
}

einsum_labels einsum_labels_without(einsum_arena *arena, einsum_labels labels, einsum_labels others)
{
    einsum_labels rest = {0, einsum_arena_allocate(arena, labels.count, sizeof *rest.items)};
    for (size_t i = 0; rest.items != NULL && i < labels.count; i++)
        if (!einsum_labels_have(others, labels.items[i])) rest.items[rest.count++] = labels.items[i];
    return rest;
}

/* ---- numbering ---- */

/* An open hash table from names to labels + 1. */
typedef struct numbering {
    einsum_network *network;
    size_t mask;
    uint32_t *slots;
    size_t ellipsis; /* axes the ellipsis stands for: the most any operand has */
} numbering;

static uint32_t *find_slot(const numbering *n, int64_t name)
{
    size_t at = ((uint64_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 20) & n->mask;
    while (n->slots[at] != 0 && n->network->names[n->slots[at] - 1] != name) at = (at + 1) & n->mask;
    return &n->slots[at];
}

static uint32_t number_label(numbering *n, int64_t name)
{
    uint32_t *slot = find_slot(n, name);
    if (*slot == 0) {
        n->network->names[n->network->label_count++] = name;
        *slot = (uint32_t)n->network->label_count;
    }
    return *slot - 1;
}

static weft_status *check_ranks(const einsum_arena *arena, const einsum_syntax *syntax, const size_t *ranks)
{
    for (size_t i = 0; i < syntax->operand_count; i++) {
        const einsum_term *term = &syntax->operands[i];
        bool open = term->ellipsis != EINSUM_NONE;
        if (open ? ranks[i] >= term->count : ranks[i] == term->count) continue;
        return weft_status_create(arena->allocator, WEFT_SHAPE_MISMATCH, "weft_einsum",
                                  "einsum: operand %zu has rank %zu but its term, at byte %zu, has %zu label%s%s", i,
                                  ranks[i], term->column, term->count, einsum_plural(term->count),
                                  open ? " besides the ellipsis" : "");
    }
    return NULL;
}

static bool create_labels(einsum_arena *arena, size_t count, einsum_labels *out_labels)
{
    *out_labels = (einsum_labels){count, einsum_arena_allocate(arena, count, sizeof *out_labels->items)};
    return out_labels->items != NULL;
}

/* The ellipses of all operands end at the same axis: those with fewer axes have the last ones. */
static bool number_operand(numbering *n, einsum_arena *arena, const einsum_term *term, size_t rank,
                           einsum_labels *out_labels)
{
    size_t hidden = rank - term->count, at = 0;
    if (!create_labels(arena, rank, out_labels)) return false;
    for (size_t i = 0; i <= term->count; i++) {
        for (size_t k = n->ellipsis - hidden; i == term->ellipsis && k < n->ellipsis; k++)
            out_labels->items[at++] = number_label(n, -1 - (int64_t)k);
        if (i < term->count) out_labels->items[at++] = number_label(n, term->labels[i]);
    }
    return true;
}

static weft_status *check_output(const numbering *n, const einsum_arena *arena, const einsum_term *output)
{
    if (n->ellipsis > 0 && output->ellipsis == EINSUM_NONE) {
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: the ellipsis stands for %zu ax%s but the output, at byte %zu, has none",
                                  n->ellipsis, n->ellipsis == 1 ? "is" : "es", output->column);
    }
    for (size_t i = 0; i < output->count; i++) {
        char name[EINSUM_LABEL_SIZE];
        if (*find_slot(n, output->labels[i]) != 0) continue;
        einsum_label_print(n->network->numbered, output->labels[i], name);
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: label %s of the output, at byte %zu, is in no operand", name,
                                  output->columns[i]);
    }
    return NULL;
}

static weft_status *number_output(numbering *n, einsum_arena *arena, const einsum_term *output)
{
    WEFT_TRY(check_output(n, arena, output));
    size_t hidden = output->ellipsis == EINSUM_NONE ? 0 : n->ellipsis;
    return number_operand(n, arena, output, output->count + hidden, &n->network->output) ? NULL
                                                                                         : weft_status_out_of_memory();
}

static bool numbering_init(numbering *n, einsum_arena *arena, const einsum_syntax *syntax, const size_t *ranks,
                           einsum_network *network)
{
    size_t axes = 0, slots = 16;
    for (size_t i = 0; i < syntax->operand_count; i++) axes += ranks[i];
    while (slots < 2 * axes) slots *= 2;
    *n = (numbering){
        .network = network, .mask = slots - 1, .slots = einsum_arena_allocate(arena, slots, sizeof *n->slots)};
    for (size_t i = 0; i < syntax->operand_count; i++) {
        size_t hidden = ranks[i] - syntax->operands[i].count;
        if (hidden > n->ellipsis) n->ellipsis = hidden;
    }
    network->names = einsum_arena_allocate(arena, axes, sizeof *network->names);
    network->operands = einsum_arena_allocate(arena, syntax->operand_count, sizeof *network->operands);
    return n->slots != NULL && network->names != NULL && network->operands != NULL;
}

weft_status *einsum_network_create(einsum_arena *arena, const einsum_syntax *syntax, size_t operand_count,
                                   const size_t *ranks, einsum_network *out_network)
{
    numbering n;
    if (syntax->operand_count != operand_count) {
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: the expression has %zu input term%s but %zu operand%s given",
                                  syntax->operand_count, syntax->operand_count == 1 ? "" : "s", operand_count,
                                  operand_count == 1 ? " is" : "s are");
    }
    WEFT_TRY(check_ranks(arena, syntax, ranks));
    *out_network = (einsum_network){.numbered = syntax->numbered, .operand_count = operand_count};
    if (!numbering_init(&n, arena, syntax, ranks, out_network)) return weft_status_out_of_memory();
    for (size_t i = 0; i < operand_count; i++)
        if (!number_operand(&n, arena, &syntax->operands[i], ranks[i], &out_network->operands[i]))
            return weft_status_out_of_memory();
    return number_output(&n, arena, &syntax->output);
}

/* ---- extents ---- */

/* An extent and the axis it was read from. */
typedef struct sighting {
    weft_extent extent;
    size_t operand, axis;
    bool set;
} sighting;

typedef struct meeting {
    const einsum_network *network;
    const einsum_arena *arena;
    weft_graph *graph;
    sighting *known; /* by label: across operands, those of one aside */
    sighting *own;   /* by label: within the operand at hand */
} meeting;

bool einsum_extent_is_one(weft_extent extent)
{
    int64_t value;
    return weft_extent_is_static(extent, &value) && value == 1;
}

static weft_status *print_conflict(const meeting *m, uint32_t label, const sighting *x, const sighting *y)
{
    char name[EINSUM_LABEL_SIZE], first[64], second[64];
    einsum_label_print(m->network->numbered, m->network->names[label], name);
    weft_extent_print(x->extent, first, sizeof first);
    weft_extent_print(y->extent, second, sizeof second);
    if (x->operand == y->operand) {
        return weft_status_create(
            m->arena->allocator, WEFT_SHAPE_MISMATCH, "weft_einsum",
            "einsum: label %s is repeated in operand %zu, where axis %zu has extent %s but axis %zu has %s", name,
            x->operand, x->axis, first, y->axis, second);
    }
    return weft_status_create(
        m->arena->allocator, WEFT_SHAPE_MISMATCH, "weft_einsum",
        "einsum: label %s has extent %s at axis %zu of operand %zu but %s at axis %zu of operand %zu", name, first,
        x->axis, x->operand, second, y->axis, y->operand);
}

/* Lets `y` meet what is known of the label; a static extent is kept where it meets a symbolic one. */
static weft_status *meet(const meeting *m, uint32_t label, sighting *x, const sighting *y)
{
    int64_t a, b;
    if (!x->set || weft_extent_equal(x->extent, y->extent)) {
        if (!x->set) *x = *y;
        return NULL;
    }
    bool known = weft_extent_is_static(x->extent, &a), given = weft_extent_is_static(y->extent, &b);
    bool decided = known && given;
    if (decided || m->graph != NULL) {
        weft_status *conflict = print_conflict(m, label, x, y);
        if (decided || weft_status_code(conflict) == WEFT_OUT_OF_MEMORY) return conflict;
        weft_require_equal(m->graph, x->extent, y->extent, "%s", weft_status_message(conflict));
        weft_status_destroy(conflict);
    }
    if (given) *x = *y;
    return NULL;
}

static weft_status *meet_operand(const meeting *m, size_t operand, weft_shape shape)
{
    einsum_labels labels = m->network->operands[operand];
    for (size_t i = 0; i < labels.count; i++) m->own[labels.items[i]].set = false;
    for (size_t i = 0; i < labels.count; i++) {
        sighting seen = {shape.extents[i], operand, i, true};
        WEFT_TRY(meet(m, labels.items[i], &m->own[labels.items[i]], &seen));
    }
    for (size_t i = 0; i < labels.count; i++) {
        uint32_t label = labels.items[i];
        if (!einsum_extent_is_one(m->own[label].extent)) WEFT_TRY(meet(m, label, &m->known[label], &m->own[label]));
    }
    return NULL;
}

weft_status *einsum_network_extents(einsum_arena *arena, const einsum_network *network, const weft_shape *shapes,
                                    weft_graph *graph, weft_extent *out_extents)
{
    meeting m = {.network = network, .arena = arena, .graph = graph};
    m.known = einsum_arena_allocate(arena, network->label_count, sizeof *m.known);
    m.own = einsum_arena_allocate(arena, network->label_count, sizeof *m.own);
    if (m.known == NULL || m.own == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < network->operand_count; i++) WEFT_TRY(meet_operand(&m, i, shapes[i]));
    for (size_t i = 0; i < network->label_count; i++)
        out_extents[i] = m.known[i].set ? m.known[i].extent : weft_extent_of(1);
    return NULL;
}

bool einsum_network_is_one(const einsum_network *network, size_t operand, uint32_t label, weft_shape shape)
{
    for (size_t i = 0; i < shape.rank; i++)
        if (network->operands[operand].items[i] == label && einsum_extent_is_one(shape.extents[i])) return true;
    return false;
}
