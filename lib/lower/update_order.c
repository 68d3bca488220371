/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/update_order.h"
#include "lib/graph/indexing.h"

typedef struct updates {
    weft_fusion *fusion;
    const weft_graph *graph;
    uint32_t *bases;   /* of each node: what a chain of updates began with; itself where it is no update */
    uint32_t *updater; /* of each node: the update that changes it; 0 for none */
    uint8_t *kept;     /* nodes that are outputs, or updated, in regions too, until they are */
    uint32_t *latest;  /* of each node: the last one with memory whose kernel reads it */
    uint32_t *before;  /* of an update: the last that reads what it, or one of its chain before it, changes */
    uint32_t *waiting; /* updates that come later than their number says, ascending */
    uint8_t *waits;    /* those that still do */
    uint32_t *visited; /* by the walk of that number */
    uint32_t *stack;   /* of the walk */
    uint32_t walk;
} updates;

enum { MOST_FOLLOWED = 32 };

static bool is_update(const weft_node *node)
{
    return weft_indexing_updates(weft_op_id_of(node->op));
}

static bool is_live(const updates *u, uint32_t n)
{
    return u->fusion->roles[n] != WEFT_ROLE_DEAD;
}

/* ---- chains ---- */

static bool find_bases(updates *u)
{
    bool any = false;
    for (uint32_t n = 0; n < u->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(u->graph, n);
        bool changes = is_live(u, n) && is_update(node);
        u->bases[n] = changes ? u->bases[node->inputs[0].node] : n;
        if (changes) u->updater[node->inputs[0].node] = n;
        any |= changes;
    }
    return any;
}

static void find_kept(updates *u)
{
    const weft_compiled *compiled = u->fusion->compiled;
    for (size_t i = 0; i < compiled->output_count; i++) u->kept[compiled->outputs[i].node] = 1;
    for (uint32_t n = (uint32_t)u->graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(u->graph, n);
        uint32_t count = is_update(node) ? 1 : node->op->op_class == WEFT_CLASS_REGION ? node->input_count : 0;
        for (uint32_t i = 0; i < count && u->kept[n]; i++) u->kept[node->inputs[i].node] = 1;
    }
}

/* Whether the update could be made in the memory of what its chain began with: never in a constant's, and in an
 * input's only if that is what comes out. */
static bool may_be_in_place(const updates *u, uint32_t n)
{
    uint32_t base = u->bases[n];
    if (u->fusion->roles[base] != WEFT_ROLE_LEAF) return true;
    return u->kept[n] && weft_op_id_of(weft_graph_node(u->graph, base)->op) == WEFT_OP_input;
}

/* ---- operands ---- */

static void push(updates *u, uint32_t n, size_t *depth)
{
    if (u->visited[n] == u->walk) return;
    u->visited[n] = u->walk;
    u->stack[(*depth)++] = n;
}

/* Updates that come after one, found by walks from it; what a longer circle changes is copied. */
typedef struct followers {
    uint32_t updates[MOST_FOLLOWED];
    size_t count;
} followers;

static void follow(const updates *u, uint32_t update, followers *f)
{
    bool found = update == 0 || f->count == MOST_FOLLOWED || !may_be_in_place(u, update);
    for (size_t i = 0; i < f->count && !found; i++) found = f->updates[i] == update;
    if (!found) f->updates[f->count++] = update;
}

/* Whether `operand`, computed in the kernel that reads it, is computed from what update `n`, or one of its chain before
 * it, changes. Those that change what else it is computed from come after its kernel. */
static bool reads(updates *u, uint32_t operand, uint32_t n, followers *f)
{
    size_t depth = 0;
    bool found = false;
    u->walk++;
    push(u, operand, &depth);
    while (depth > 0 && !found) {
        uint32_t read = u->stack[--depth];
        const weft_node *node = weft_graph_node(u->graph, read);
        bool in_memory = weft_role_has_memory(u->fusion->roles[read]) || u->fusion->materialized[read];
        if (in_memory) {
            found = u->bases[read] == u->bases[n] && read < n;
            follow(u, u->updater[read], f);
        }
        for (uint32_t i = 0; i < node->input_count && !in_memory; i++) push(u, node->inputs[i].node, &depth);
    }
    return found;
}

/* Whether update `n` with `operand` in its kernel would come before itself: it reads what it changes, or what updates
 * change that read that. */
static bool is_circular(updates *u, uint32_t operand, uint32_t n)
{
    followers f = {.count = 0};
    bool found = reads(u, operand, n, &f);
    for (size_t s = 0; s < f.count && !found; s++) {
        const weft_node *node = weft_graph_node(u->graph, f.updates[s]);
        for (uint32_t i = 1; i < node->input_count && !found; i++) found = reads(u, node->inputs[i].node, n, &f);
    }
    return found;
}

static bool is_smaller(const updates *u, weft_value operand, weft_value whole)
{
    weft_expr_context *x = u->fusion->exprs;
    weft_expr some = weft_fusion_count(u->fusion, weft_value_type(u->graph, operand)->shape);
    weft_expr all = weft_fusion_count(u->fusion, weft_value_type(u->graph, whole)->shape);
    return !weft_expr_always_nonnegative(x, weft_expr_sub(x, some, all));
}

static bool separate(updates *u, uint32_t n)
{
    const weft_node *node = weft_graph_node(u->graph, n);
    bool materialized = false;
    for (uint32_t i = 1; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        if (weft_role_has_memory(u->fusion->roles[operand]) || u->fusion->materialized[operand]) continue;
        if (!is_smaller(u, node->inputs[i], node->inputs[0]) || !is_circular(u, operand, n)) continue;
        weft_fusion_materialize(u->fusion, operand);
        materialized = true;
    }
    return materialized;
}

static bool separate_all(updates *u)
{
    bool materialized = false;
    if (!find_bases(u)) return false;
    find_kept(u);
    for (uint32_t n = 0; n < u->graph->node_count; n++) {
        bool changes = is_live(u, n) && is_update(weft_graph_node(u->graph, n));
        if (changes && may_be_in_place(u, n)) materialized |= separate(u, n);
    }
    return materialized;
}

/* ---- order ---- */

/* Descending. What is updated is not read by that. */
static void find_latest(updates *u)
{
    const uint8_t *roles = u->fusion->roles;
    for (uint32_t n = (uint32_t)u->graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(u->graph, n);
        bool is_step = weft_role_has_memory(roles[n]) || weft_fusion_is_permuted(u->fusion, n);
        uint32_t reader = roles[n] == WEFT_ROLE_STORED ? u->fusion->roots[n] - 1 : is_step ? n : u->latest[n];
        for (uint32_t i = is_update(node); i < node->input_count && roles[n] != WEFT_ROLE_DEAD; i++)
            if (u->latest[node->inputs[i].node] < reader) u->latest[node->inputs[i].node] = reader;
    }
}

/* Whether a value that update `n`, or one of its chain before it, changes is read by a later node. */
static bool is_read_later(updates *u, uint32_t n)
{
    const weft_node *node = weft_graph_node(u->graph, n);
    uint32_t whole = node->inputs[0].node;
    u->before[n] = u->latest[whole] > u->before[whole] ? u->latest[whole] : u->before[whole];
    return u->before[n] > n;
}

/* The last of the updates that wait which the kernel of node `n` needs; 0 for none. */
static uint32_t last_needed(updates *u, uint32_t n)
{
    size_t depth = 0;
    uint32_t last = 0;
    u->walk++;
    push(u, n, &depth);
    for (uint32_t s = u->fusion->stored[n]; s != 0; s = u->fusion->stored[s - 1]) push(u, s - 1, &depth);
    while (depth > 0) {
        const weft_node *node = weft_graph_node(u->graph, u->stack[--depth]);
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t input = node->inputs[i].node;
            if (!weft_role_has_memory(u->fusion->roles[input])) push(u, input, &depth);
            else if (u->waits[input] && input > last) last = input;
        }
    }
    return last;
}

/* What comes in the place of a node: a permuted product is computed where the product stands, which may be before an
 * update of what it reads. */
static uint32_t in_place_of(const updates *u, uint32_t n)
{
    if (weft_fusion_is_permuted(u->fusion, n)) return u->fusion->roots[n] - 1;
    return u->fusion->roles[n] == WEFT_ROLE_GEMM ? weft_fusion_dot(u->fusion, n) : n;
}

static void order_all(updates *u, uint32_t *out_order)
{
    size_t first = 0, count = 0, done = 0;
    for (uint32_t n = 0; n < u->graph->node_count; n++) {
        uint32_t node = in_place_of(u, n);
        bool computed = weft_role_has_memory(u->fusion->roles[node]);
        if (computed && is_update(weft_graph_node(u->graph, n)) && is_read_later(u, n)) {
            u->waits[n] = 1;
            u->waiting[count++] = n;
            continue;
        }
        uint32_t last = computed && first < count ? last_needed(u, n) : 0;
        while (first < count && u->waiting[first] <= last) {
            u->waits[u->waiting[first]] = 0;
            out_order[done++] = u->waiting[first++];
        }
        out_order[done++] = node;
    }
    while (first < count) out_order[done++] = u->waiting[first++];
}

/* ---- the two passes ---- */

#define WORDS 7
#define BYTES 2

static weft_status *open_updates(weft_fusion *fusion, updates *out_updates)
{
    const weft_graph *graph = fusion->compiled->graph;
    size_t count = graph->node_count + 1;
    uint32_t *room = weft_allocate_zeroed(fusion->allocator, count * (WORDS * sizeof(uint32_t) + BYTES));
    if (room == NULL) return weft_status_out_of_memory();
    *out_updates = (updates){.fusion = fusion,
                             .graph = graph,
                             .bases = room,
                             .visited = room + count,
                             .stack = room + 2 * count,
                             .latest = room + 3 * count,
                             .before = room + 4 * count,
                             .waiting = room + 5 * count,
                             .updater = room + 6 * count,
                             .kept = (uint8_t *)(room + WORDS * count),
                             .waits = (uint8_t *)(room + WORDS * count) + count};
    return NULL;
}

static void close_updates(updates *u)
{
    size_t count = u->graph->node_count + 1;
    weft_free(u->fusion->allocator, u->bases, count * (WORDS * sizeof(uint32_t) + BYTES));
}

weft_status *weft_update_materialize(weft_fusion *fusion, bool *out_changed)
{
    updates u;
    WEFT_TRY(open_updates(fusion, &u));
    *out_changed = separate_all(&u);
    close_updates(&u);
    return NULL;
}

weft_status *weft_update_order(weft_fusion *fusion, uint32_t *out_order)
{
    updates u;
    WEFT_TRY(open_updates(fusion, &u));
    find_latest(&u);
    order_all(&u, out_order);
    close_updates(&u);
    return NULL;
}
