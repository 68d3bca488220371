/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/fusion.h"
#include <string.h>
#include "lib/lower/chains.h"
#include "lib/lower/fusion_rules.h"
#include "lib/lower/inner.h"
#include "lib/lower/product.h"
#include "lib/lower/update_order.h"

/* This many attempts materialize one stage each, every later one twice as many as the one before, which ends long
 * chains. */
#define PATIENCE 32
/* Rounds of assigning roles with weights that take into account what was materialized before. */
#define MOST_ROUNDS 8

static weft_status *add_region(weft_fusion *fusion, uint32_t node, uint32_t number, const weft_region *region)
{
    weft_fusion *inner = weft_arena_allocate(&fusion->arena, sizeof *inner);
    weft_compiled *body = weft_arena_allocate(&fusion->arena, sizeof *body);
    if (inner == NULL || body == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_compiled_open(region, &fusion->arena, body));
    weft_space space = {.vector_bytes = fusion->space->vector_bytes,
                        .multiplies_bytes = fusion->space->multiplies_bytes,
                        .is_limited = fusion->space->is_limited,
                        .threads = fusion->space->threads,
                        .fixed = fusion->space->fixed,
                        .equal = fusion->space->equal};
    WEFT_TRY(weft_fusion_init(inner, fusion->allocator, body, fusion->product_policy, space));
    inner->node = node;
    inner->region = number;
    inner->next = fusion->regions;
    fusion->regions = inner;
    return NULL;
}

/* `live` has a byte for each node. */
static weft_status *add_regions(weft_fusion *fusion, uint8_t *live)
{
    const weft_compiled *compiled = fusion->compiled;
    weft_graph_mark(compiled->graph, compiled->output_count, compiled->outputs, live);
    for (uint32_t n = 0; n < compiled->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(compiled->graph, n);
        uint32_t number = 0;
        for (size_t i = 0; live[n] && i < node->op->attr_count; i++)
            if (node->op->attrs[i].kind == WEFT_ATTR_REGION)
                WEFT_TRY(add_region(fusion, n, number++, &node->attrs[i].region));
    }
    return NULL;
}

static void find_readers(weft_fusion *fusion)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(graph, n);
        bool is_dot = weft_op_id_of(node->op) == WEFT_OP_dot;
        uint8_t reader = is_dot ? WEFT_FUSION_READ_BY_PRODUCT : fusion->readers[n] & WEFT_FUSION_READ_BY_PRODUCT;
        if (node->op->op_class == WEFT_CLASS_ELEMENTWISE) reader |= WEFT_FUSION_READ_BY_ELEMENTWISE;
        for (uint32_t i = 0; i < node->input_count; i++) {
            fusion->readers[node->inputs[i].node] |= reader;
            fusion->first_reader[node->inputs[i].node] = n + 1;
        }
        fusion->products += is_dot;
    }
}

static weft_status *make_space(weft_fusion *fusion, weft_space space)
{
    space.graph = fusion->compiled->graph;
    space.exprs = fusion->exprs;
    space.arena = &fusion->arena;
    bool is_region = weft_graph_root(space.graph) != space.graph; /* then they are those of the graph around it */
    if (!is_region && !weft_space_find_equal(&space)) return weft_status_out_of_memory();
    fusion->space = weft_arena_copy(&fusion->arena, &space, sizeof space);
    return fusion->space == NULL ? weft_status_out_of_memory() : NULL;
}

/* `space`: what it has of vectors, fixed symbols and, of a region, equal ones. */
weft_status *weft_fusion_init(weft_fusion *fusion, const weft_allocator *allocator, const weft_compiled *compiled,
                              weft_product_policy product_policy, weft_space space)
{
    size_t count = compiled->graph->node_count + 1;
    *fusion = (weft_fusion){.allocator = allocator, .compiled = compiled, .product_policy = product_policy};
    weft_arena_init(&fusion->arena, allocator);
    fusion->roles = weft_allocate_zeroed(allocator, count);
    fusion->materialized = weft_allocate_zeroed(allocator, count);
    fusion->keeps_order = weft_allocate_zeroed(allocator, count);
    fusion->fused_row = weft_allocate_zeroed(allocator, count);
    fusion->starts_no_row = weft_allocate_zeroed(allocator, count);
    fusion->reachable = weft_allocate_zeroed(allocator, count);
    fusion->indexed = weft_allocate_zeroed(allocator, count);
    fusion->compared = weft_allocate_zeroed(allocator, count);
    fusion->counted = weft_allocate_zeroed(allocator, count);
    fusion->readers = weft_allocate_zeroed(allocator, count);
    fusion->ordered_by = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->first_reader = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->first_kernel = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->stored = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->all_weights = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->plain = weft_allocate_zeroed(allocator, count);
    fusion->reads_arrays = weft_allocate_zeroed(allocator, count);
    fusion->roots = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->weights = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->merged_for = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->products_of = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->recompute_count = weft_allocate_zeroed(allocator, count * sizeof(double));
    fusion->inner = weft_allocate_zeroed(allocator, count * sizeof(uint64_t));
    bool fine = fusion->roles != NULL && fusion->materialized != NULL && fusion->keeps_order != NULL;
    fine = fine && fusion->fused_row != NULL && fusion->starts_no_row != NULL && fusion->roots != NULL &&
           fusion->weights != NULL;
    fine = fine && fusion->recompute_count != NULL && fusion->inner != NULL && fusion->merged_for != NULL;
    fine = fine && fusion->products_of != NULL && fusion->ordered_by != NULL && fusion->first_reader != NULL;
    fine = fine && fusion->reachable != NULL && fusion->indexed != NULL && fusion->compared != NULL &&
           fusion->counted != NULL && fusion->readers != NULL;
    fine = fine && fusion->first_kernel != NULL && fusion->stored != NULL && fusion->all_weights != NULL &&
           fusion->plain != NULL && fusion->reads_arrays != NULL;
    weft_status *status = fine ? weft_expr_context_create(allocator, &fusion->exprs) : weft_status_out_of_memory();
    if (status == NULL) status = make_space(fusion, space);
    if (status == NULL) status = add_regions(fusion, fusion->roles);
    if (status == NULL) find_readers(fusion);
    if (status != NULL) weft_fusion_finish(fusion);
    return status;
}

void weft_fusion_finish(weft_fusion *fusion)
{
    size_t count = fusion->compiled->graph->node_count + 1;
    for (weft_fusion *region = fusion->regions; region != NULL; region = region->next) weft_fusion_finish(region);
    weft_arena_finish(&fusion->arena);
    weft_expr_context_destroy(fusion->exprs);
    weft_free(fusion->allocator, fusion->roles, count);
    weft_free(fusion->allocator, fusion->materialized, count);
    weft_free(fusion->allocator, fusion->keeps_order, count);
    weft_free(fusion->allocator, fusion->fused_row, count);
    weft_free(fusion->allocator, fusion->starts_no_row, count);
    weft_free(fusion->allocator, fusion->reachable, count);
    weft_free(fusion->allocator, fusion->indexed, count);
    weft_free(fusion->allocator, fusion->compared, count);
    weft_free(fusion->allocator, fusion->counted, count);
    weft_free(fusion->allocator, fusion->readers, count);
    weft_free(fusion->allocator, fusion->ordered_by, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->first_reader, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->first_kernel, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->stored, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->all_weights, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->plain, count);
    weft_free(fusion->allocator, fusion->reads_arrays, count);
    weft_free(fusion->allocator, fusion->roots, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->weights, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->merged_for, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->products_of, count * sizeof(uint32_t));
    weft_free(fusion->allocator, fusion->recompute_count, count * sizeof(double));
    weft_free(fusion->allocator, fusion->inner, count * sizeof(uint64_t));
    *fusion = (weft_fusion){.compiled = fusion->compiled, .next = fusion->next};
}

bool weft_fusion_has_changed(const weft_fusion *fusion)
{
    bool changed = fusion->changed;
    for (const weft_fusion *region = fusion->regions; region != NULL && !changed; region = region->next)
        changed = weft_fusion_has_changed(region);
    return changed;
}

weft_fusion *weft_fusion_of_region(const weft_fusion *fusion, uint32_t node, uint32_t region)
{
    weft_fusion *found = fusion->regions;
    while (found != NULL && (found->node != node || found->region != region)) found = found->next;
    return found;
}

/* What is stored already except that a product was to lie in its order is stored after all. */
static void keep_apart(weft_fusion *fusion, uint32_t node)
{
    const weft_graph *graph = fusion->compiled->graph;
    if (weft_op_id_of(weft_graph_node(graph, node)->op) == WEFT_OP_reshape)
        node = weft_graph_node(graph, node)->inputs[0].node;
    if (weft_op_id_of(weft_graph_node(graph, node)->op) != WEFT_OP_permute) return;
    if (fusion->ordered_by[weft_graph_node(graph, node)->inputs[0].node] == node + 1)
        weft_fusion_keep_order(fusion, node);
}

void weft_fusion_materialize(weft_fusion *fusion, uint32_t node)
{
    if (fusion->materialized[node] && fusion->roles[node] == WEFT_ROLE_INLINE) keep_apart(fusion, node);
    if (!fusion->materialized[node]) fusion->changed = true;
    fusion->materialized[node] = 1;
}

void weft_fusion_keep_order(weft_fusion *fusion, uint32_t permute)
{
    fusion->keeps_order[permute] = 1;
    fusion->changed = true;
}

void weft_fusion_materialize_stage(weft_fusion *fusion, uint32_t node)
{
    uint32_t more = fusion->fills <= PATIENCE ? 0 : fusion->fills - PATIENCE;
    size_t count = more < 31 ? (size_t)1 << more : SIZE_MAX;
    for (uint32_t n = node + 1; n-- > 0 && count > 0;) {
        if (fusion->roles[n] != WEFT_ROLE_STAGE || fusion->roots[n] != fusion->roots[node]) continue;
        weft_fusion_materialize(fusion, n);
        count--;
    }
}

weft_expr weft_fusion_count(const weft_fusion *fusion, weft_shape shape)
{
    weft_expr_context *exprs = fusion->exprs;
    weft_expr count = weft_expr_constant(exprs, 1);
    for (size_t i = 0; i < shape.rank; i++)
        count = weft_expr_mul(exprs, count, weft_space_extent(fusion->space, shape.extents[i]));
    return count;
}

/* How often the node computes an element of an operand for one of its own: more than once for a broadcast, a gather or
 * a product, as far as bounds tell. */
static double repetitions(const weft_fusion *fusion, const weft_node *node, uint32_t input)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_shape shape = weft_value_type(graph, node->inputs[input])->shape;
    double count = (double)weft_count_bound(fusion->space, shape),
           results = (double)weft_count_bound(fusion->space, node->types[0].shape);
    weft_op_id id = weft_op_id_of(node->op);
    if (id == WEFT_OP_broadcast) return count > 0 ? results / count : 1;
    if (weft_fusion_is_gather(node) && input == 0) return results > count && count > 0 ? results / count : 1;
    if (id != WEFT_OP_dot) return 1;
    weft_product_size size = weft_product_size_of(fusion->space, node);
    return count > 0 ? (double)size.results * (double)size.terms / count : 1;
}

/* Tells the operands of a node which root reads them, how often that computes each of their elements (a stage does
 * once, and the library), and along which axes it does so anew for each term of a reduction. */
static void pass_root(weft_fusion *fusion, uint32_t n, bool own, bool shared, uint8_t *seen_by_many)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    uint32_t root = own ? n + 1 : fusion->roots[n];
    double base = own || fusion->roles[n] == WEFT_ROLE_STAGE ? 1 : fusion->recompute_count[n];
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        uint32_t *known = &fusion->roots[operand];
        if (shared || (*known != 0 && *known != root)) seen_by_many[operand] = 1;
        *known = root;
        if ((i == 0 && weft_fusion_is_gather(node)) || (!own && fusion->indexed[n])) fusion->indexed[operand] = 1;
        double times = fusion->roles[n] == WEFT_ROLE_GEMM ? 1 : base * repetitions(fusion, node, i);
        if (times > fusion->recompute_count[operand]) fusion->recompute_count[operand] = times;
        fusion->inner[operand] |= weft_inner_axes(graph, node, i, own ? 0 : fusion->inner[n]);
    }
}

/* Tells the operands of a node which kernel is the first to read them: that of the node, or of what reads the node. */
static void pass_kernel(weft_fusion *fusion, uint32_t n, bool own)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    bool has_kernel = own || fusion->roles[n] == WEFT_ROLE_STORED;
    bool in_place =
        node->op->op_class == WEFT_CLASS_ELEMENTWISE || (node->op->op_class == WEFT_CLASS_REDUCE && has_kernel);
    uint32_t kernel = fusion->first_kernel[n];
    if (has_kernel) kernel = weft_fusion_kernel_read(own ? n : fusion->roots[n] - 1, true);
    if (!in_place) kernel = weft_fusion_kernel_read(kernel / 2, false);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t *first = &fusion->first_kernel[node->inputs[i].node];
        if (kernel < *first) *first = kernel;
    }
}

/* The first product that is found belongs to the kernel, unless that computes functions, too: they take so many
 * instructions that the product could not be in tiles (tanh of 128 x 256 by 256 x 256, Zen 3: 0.68 ms instead of 0.2).
 */
static void claim_product(weft_fusion *fusion, uint32_t n, bool own)
{
    uint32_t root = own ? n + 1 : fusion->roots[n];
    if (root == 0 || fusion->products_of[root - 1] != 0 ||
        weft_fusion_kernel_weight(fusion, root - 1) > WEFT_FUSION_FUNCTION_WEIGHT)
        return;
    fusion->products_of[root - 1] = weft_fusion_product_read(fusion, weft_graph_node(fusion->compiled->graph, n));
}

static bool is_output(const weft_compiled *compiled, uint32_t n)
{
    for (size_t i = 0; i < compiled->output_count; i++)
        if (compiled->outputs[i].node == n) return true;
    return false;
}

/* The kernel of `root`, a node + 1, computes node `n`, once for each of its elements. */
static weft_role store_by(weft_fusion *fusion, uint32_t n, uint32_t root, uint8_t *shared)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, root - 1);
    bool is_taken_in = weft_fusion_is_reduction(node) && !weft_fusion_is_reduction(weft_graph_node(graph, n));
    shared[n] = 0;
    fusion->roots[n] = root;
    fusion->recompute_count[n] = 1;
    fusion->indexed[n] = 0;
    fusion->inner[n] = is_taken_in ? weft_inner_axes(graph, node, 0, 0) : 0;
    return WEFT_ROLE_STORED;
}

/* The same of the kernel of a node of the same kind, beside what else that stores. */
static weft_role store_beside(weft_fusion *fusion, uint32_t n, uint32_t root, uint8_t *shared)
{
    fusion->stored[n] = fusion->stored[root - 1];
    fusion->stored[root - 1] = n + 1;
    fusion->all_weights[root - 1] += weft_fusion_kernel_weight(fusion, n);
    return store_by(fusion, n, root, shared);
}

/* The role of a node that is live. What it takes back of earlier decisions leaves *settled false. */
static weft_role settle_role(weft_fusion *fusion, uint32_t n, uint8_t *shared, bool *settled)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_role role = weft_fusion_role_of(fusion, n, fusion->roots[n], shared[n]);
    if (role == WEFT_ROLE_STAGE && fusion->inner[n] != 0) {
        role = WEFT_ROLE_KERNEL;
        fusion->materialized[n] = 1;
        *settled = false;
    }
    if (role == WEFT_ROLE_KERNEL && weft_fusion_is_reduction(weft_graph_node(graph, n)) && fusion->fused_row[n]) {
        fusion->starts_no_row[n] = 1; /* what is computed from it follows no stage */
        *settled = false;
    }
    if (role == WEFT_ROLE_KERNEL && shared[n] && weft_fusion_is_reduction(weft_graph_node(graph, n)) &&
        !fusion->materialized[n]) {
        fusion->materialized[n] = 1; /* what is computed from it has no stage */
        *settled = false;
    }
    if (role == WEFT_ROLE_KERNEL && weft_fusion_stores_operand(fusion, n)) {
        role = WEFT_ROLE_INLINE;
        fusion->materialized[weft_graph_node(graph, n)->inputs[0].node] = 1;
        *settled = false;
    }
    if (role == WEFT_ROLE_KERNEL && shared[n] && weft_fusion_stores_repeated(fusion, n)) {
        role = WEFT_ROLE_INLINE;
        *settled = false;
    }
    uint32_t reduction = role == WEFT_ROLE_KERNEL && shared[n] && !is_output(fusion->compiled, n)
                             ? weft_fusion_storing_reduction(fusion, n)
                             : 0;
    if (reduction != 0 && fusion->roles[reduction - 1] == WEFT_ROLE_STAGE) {
        fusion->materialized[reduction - 1] = 1;
        *settled = false;
    } else if (reduction != 0) {
        return store_by(fusion, n, reduction, shared);
    }
    uint32_t root = role == WEFT_ROLE_KERNEL && reduction == 0 ? weft_fusion_storing_kernel(fusion, n) : 0;
    if (root != 0) return store_beside(fusion, n, root, shared);
    fusion->all_weights[n] = weft_fusion_kernel_weight(fusion, n);
    return role;
}

/* From the last node to the first. Returns whether nothing was materialized that the weights do not reflect. */
static bool assign(weft_fusion *fusion, const uint8_t *live, uint8_t *shared)
{
    bool settled = true;
    for (uint32_t n = (uint32_t)fusion->compiled->graph->node_count; n-- > 0;) {
        if (!live[n]) continue;
        weft_role role = settle_role(fusion, n, shared, &settled);
        fusion->roles[n] = (uint8_t)role;
        bool own = weft_role_has_memory((uint8_t)role) && role != WEFT_ROLE_STORED;
        pass_root(fusion, n, own, !own && shared[n], shared);
        pass_kernel(fusion, n, own);
        if (shared[n]) fusion->roots[n] = 0;
        claim_product(fusion, n, own);
        weft_fusion_materialize_operands(fusion, n);
    }
    return settled;
}

static bool fill_roles(weft_fusion *fusion, const uint8_t *live, uint8_t *shared)
{
    size_t count = fusion->compiled->graph->node_count + 1;
    memset(shared, 0, count);
    memset(fusion->roles, WEFT_ROLE_DEAD, count);
    memset(fusion->indexed, 0, count);
    memset(fusion->first_kernel, 0xff, count * sizeof(uint32_t));
    memset(fusion->stored, 0, count * sizeof(uint32_t));
    memset(fusion->compared, 0, count);
    memset(fusion->ordered_by, 0, count * sizeof(uint32_t));
    memset(fusion->roots, 0, count * sizeof(uint32_t));
    memset(fusion->merged_for, 0, count * sizeof(uint32_t));
    memset(fusion->products_of, 0, count * sizeof(uint32_t));
    memset(fusion->recompute_count, 0, count * sizeof(double));
    memset(fusion->inner, 0, count * sizeof(uint64_t));
    weft_fusion_weigh(fusion, live);
    return assign(fusion, live, shared);
}

/* Assigns roles, and assigns them again if their consequences require it. */
static weft_status *assign_all(weft_fusion *fusion, const uint8_t *live, uint8_t *shared)
{
    bool materialized = true;
    while (materialized) {
        bool settled = false;
        for (int round = 0; round < MOST_ROUNDS && !settled; round++) settled = fill_roles(fusion, live, shared);
        WEFT_TRY(weft_update_materialize(fusion, &materialized));
    }
    return NULL;
}

/* Whether the node is a permute in whose order a product may be computed: elements are adjacent there along rows or
 * columns, and along enough of them. */
static bool orders_product(const weft_fusion *fusion, uint32_t permute)
{
    enum { ADJACENT = 16 };
    const weft_compiled *compiled = fusion->compiled;
    const weft_node *node = weft_graph_node(compiled->graph, permute);
    if (weft_op_id_of(node->op) != WEFT_OP_permute || fusion->keeps_order[permute]) return false;
    uint32_t dot = node->inputs[0].node;
    if (fusion->roles[dot] != WEFT_ROLE_GEMM || is_output(compiled, dot)) return false;
    weft_ints order = node->attrs[0].ints, batch = weft_graph_node(compiled->graph, dot)->attrs[0].ints;
    if (order.count == 0 || (size_t)order.items[order.count - 1] < batch.count) return false;
    int64_t least, most;
    weft_space_range(fusion->space, node->types[0].shape.extents[order.count - 1], &least, &most);
    return most >= ADJACENT;
}

/* Whether a product that only this permute reads is computed in the order of the result. */
static bool permutes_product(const weft_fusion *fusion, uint32_t permute)
{
    if (fusion->roles[permute] != WEFT_ROLE_KERNEL || !orders_product(fusion, permute)) return false;
    return fusion->roots[weft_graph_node(fusion->compiled->graph, permute)->inputs[0].node] == permute + 1;
}

/* What was computed for a root that is none any more is computed for what reads that. */
static void pass_roots_on(weft_fusion *fusion)
{
    for (uint32_t n = (uint32_t)fusion->compiled->graph->node_count; n-- > 0;) {
        uint32_t root = fusion->roots[n];
        if (root != 0 && fusion->roles[root - 1] == WEFT_ROLE_INLINE) fusion->roots[n] = fusion->roots[root - 1];
    }
}

static void join_permutes(weft_fusion *fusion)
{
    for (uint32_t n = 0; n < fusion->compiled->graph->node_count; n++) {
        if (!permutes_product(fusion, n)) continue;
        fusion->roles[n] = WEFT_ROLE_GEMM;
        fusion->roles[weft_graph_node(fusion->compiled->graph, n)->inputs[0].node] = WEFT_ROLE_INLINE;
    }
    pass_roots_on(fusion);
}

static bool is_view(const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_permute || weft_op_id_of(node->op) == WEFT_OP_reshape;
}

/* Whether `reader` takes what it reads from any order of axes in memory; loops of products count on their own. */
static bool reads_any_order(const weft_fusion *fusion, uint32_t reader)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, reader);
    weft_op_class class = node->op->op_class;
    if (is_view(node)) return fusion->roles[reader] == WEFT_ROLE_KERNEL;
    if (weft_op_id_of(node->op) == WEFT_OP_dot)
        return fusion->roles[reader] == WEFT_ROLE_GEMM || weft_fusion_is_permuted(fusion, reader);
    return class == WEFT_CLASS_ELEMENTWISE || class == WEFT_CLASS_REDUCE;
}

/* The permute of a product that the kernel of node `n` stores, as it is or reshaped; 0: it does something else. */
static uint32_t stored_permute(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    if (fusion->roles[n] != WEFT_ROLE_KERNEL) return 0;
    if (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_reshape) {
        n = weft_graph_node(graph, n)->inputs[0].node;
        if (fusion->roles[n] != WEFT_ROLE_INLINE) return 0;
    }
    return orders_product(fusion, n) ? n : 0;
}

/* Which nodes something reads that needs their own order in memory, or memory of theirs. */
static void find_fixed(const weft_fusion *fusion, uint8_t *fixed)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (size_t i = 0; i < fusion->compiled->output_count; i++) fixed[fusion->compiled->outputs[i].node] = 1;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(graph, n);
        bool passes_on = is_view(node) && fusion->roles[n] == WEFT_ROLE_INLINE;
        bool is_fixed = passes_on ? fixed[n] : !reads_any_order(fusion, n);
        for (uint32_t i = 0; i < node->input_count && fusion->roles[n] != WEFT_ROLE_DEAD; i++)
            if (is_fixed) fixed[node->inputs[i].node] = 1;
    }
}

/* Products of which a permute would be stored too lie in memory in that order, and all read them there. */
static void order_products(weft_fusion *fusion, uint8_t *fixed)
{
    const weft_graph *graph = fusion->compiled->graph;
    find_fixed(fusion, fixed);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t permute = stored_permute(fusion, n);
        if (permute == 0 || fixed[n]) continue;
        uint32_t dot = weft_graph_node(graph, permute)->inputs[0].node;
        if (fusion->ordered_by[dot] != 0 || fixed[dot]) continue;
        fusion->ordered_by[dot] = permute + 1;
        fusion->roles[n] = WEFT_ROLE_INLINE;
    }
    pass_roots_on(fusion);
}

weft_status *weft_fusion_fill(weft_fusion *fusion)
{
    const weft_compiled *compiled = fusion->compiled;
    const weft_graph *graph = compiled->graph;
    size_t count = graph->node_count + 1;
    uint8_t *live = weft_allocate_zeroed(fusion->allocator, 3 * count);
    if (live == NULL) return weft_status_out_of_memory();
    weft_graph_mark(graph, compiled->output_count, compiled->outputs, live);
    fusion->fills++;
    for (size_t i = 0; i < compiled->output_count; i++) fusion->materialized[compiled->outputs[i].node] = 1;
    weft_chains_cut(graph, live, fusion->materialized, live + 2 * count);
    weft_status *status = assign_all(fusion, live, live + count);
    join_permutes(fusion);
    memset(live, 0, count);
    order_products(fusion, live);
    weft_free(fusion->allocator, live, 3 * count);
    WEFT_TRY(status);
    fusion->changed = false;
    /* A size that overflows is merely not proven, but out of memory nothing is known. */
    status = weft_expr_context_take_error(fusion->exprs);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    for (weft_fusion *region = fusion->regions; region != NULL; region = region->next)
        WEFT_TRY(weft_fusion_fill(region));
    return NULL;
}
