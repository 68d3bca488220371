/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/fusion.h"
#include <string.h>
#include "lib/graph/indexing.h"
#include "lib/lower/numerics.h"
#include "lib/lower/product.h"
#include "lib/lower/chains.h"
#include "lib/lower/update_order.h"
#include "lib/lower/inner.h"
#include "lib/loop/loop.h"
#include "lib/math/function.h"

/* Recomputing up to this many operations in several kernels is cheaper than a trip through memory. */
#define CHEAP_TO_REPEAT 16u
/* A value computed this many times as often as it has elements, at the cost of this many extra operations, gets memory
 * and a kernel. */
#define OFTEN_REPEATED 8
#define LARGE_REPETITION (1 << 20)
/* The same for the factors of a product, which are often recomputed one by one, as scalars. */
#define LARGE_PRODUCT_REPETITION (1 << 12)
/* A kernel larger than this compiles slowly and spills. */
#define LARGEST_KERNEL 400u
/* A product of more multiplications, with sums of more terms, is computed in tiles that fill the registers. */
#define LARGE_STAGE (16 * 16 * 16)
#define LARGE_STAGE_TERMS 8
/* A transcendental function in operations. */
#define FUNCTION_WEIGHT 12u
/* A comparison of positions with all that moves them. */
#define CHEAP_MASK 12u
/* A value this cheap is computed where a gather reads it, even if that is more often than it has elements. */
#define CHEAP_TO_PLACE 2u
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
    WEFT_TRY(weft_fusion_init(inner, fusion->allocator, body, fusion->product_policy, fusion->space->fixed));
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

/* A product, through whatever is in between; an elementwise op, at once. */
enum { READ_BY_PRODUCT = 1, READ_BY_ELEMENTWISE = 2 };

static void find_readers(weft_fusion *fusion)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        const weft_node *node = weft_graph_node(graph, n);
        bool is_dot = weft_op_id_of(node->op) == WEFT_OP_dot;
        uint8_t reader = is_dot ? READ_BY_PRODUCT : fusion->readers[n] & READ_BY_PRODUCT;
        if (node->op->op_class == WEFT_CLASS_ELEMENTWISE) reader |= READ_BY_ELEMENTWISE;
        for (uint32_t i = 0; i < node->input_count; i++) fusion->readers[node->inputs[i].node] |= reader;
        fusion->products += is_dot;
    }
}

static weft_status *make_space(weft_fusion *fusion, weft_fixed fixed)
{
    fusion->space = weft_arena_allocate(&fusion->arena, sizeof *fusion->space);
    if (fusion->space == NULL) return weft_status_out_of_memory();
    *fusion->space =
        (weft_space){.graph = fusion->compiled->graph, .exprs = fusion->exprs, .arena = &fusion->arena, .fixed = fixed};
    return NULL;
}

weft_status *weft_fusion_init(weft_fusion *fusion, const weft_allocator *allocator, const weft_compiled *compiled,
                              weft_product_policy product_policy, weft_fixed fixed)
{
    size_t count = compiled->graph->node_count + 1;
    *fusion = (weft_fusion){.allocator = allocator, .compiled = compiled, .product_policy = product_policy};
    weft_arena_init(&fusion->arena, allocator);
    fusion->roles = weft_allocate_zeroed(allocator, count);
    fusion->materialized = weft_allocate_zeroed(allocator, count);
    fusion->keeps_order = weft_allocate_zeroed(allocator, count);
    fusion->fused_row = weft_allocate_zeroed(allocator, count);
    fusion->reachable = weft_allocate_zeroed(allocator, count);
    fusion->indexed = weft_allocate_zeroed(allocator, count);
    fusion->counted = weft_allocate_zeroed(allocator, count);
    fusion->readers = weft_allocate_zeroed(allocator, count);
    fusion->roots = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->weights = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->merged_for = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->products_of = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    fusion->recompute_count = weft_allocate_zeroed(allocator, count * sizeof(double));
    fusion->inner = weft_allocate_zeroed(allocator, count * sizeof(uint64_t));
    bool fine = fusion->roles != NULL && fusion->materialized != NULL && fusion->keeps_order != NULL;
    fine = fine && fusion->fused_row != NULL && fusion->roots != NULL && fusion->weights != NULL;
    fine = fine && fusion->recompute_count != NULL && fusion->inner != NULL && fusion->merged_for != NULL;
    fine = fine && fusion->products_of != NULL;
    fine = fine && fusion->reachable != NULL && fusion->indexed != NULL && fusion->counted != NULL &&
           fusion->readers != NULL;
    weft_status *status = fine ? weft_expr_context_create(allocator, &fusion->exprs) : weft_status_out_of_memory();
    if (status == NULL) status = make_space(fusion, fixed);
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
    weft_free(fusion->allocator, fusion->reachable, count);
    weft_free(fusion->allocator, fusion->indexed, count);
    weft_free(fusion->allocator, fusion->counted, count);
    weft_free(fusion->allocator, fusion->readers, count);
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

void weft_fusion_materialize(weft_fusion *fusion, uint32_t node)
{
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

static bool is_reduction(const weft_node *node)
{
    return node->op->op_class == WEFT_CLASS_REDUCE || node->op->op_class == WEFT_CLASS_PRODUCT;
}

static uint32_t own_weight(const weft_node *node)
{
    if (weft_op_is_function(node->op)) return FUNCTION_WEIGHT;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_div:
    case WEFT_OP_sqrt: return 4;
    default: return node->op->op_class == WEFT_CLASS_LEAF ? 0 : 1;
    }
}

static bool is_leaf_memory(const weft_fusion *fusion, const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return id == WEFT_OP_input ||
           (id == WEFT_OP_constant && weft_count_bound(fusion->space, node->types[0].shape) != 1);
}

/* The value under views that only rename axes and strides. */
static uint32_t under_views(const weft_graph *graph, uint32_t n)
{
    for (;;) {
        const weft_node *node = weft_graph_node(graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        bool is_view = id == WEFT_OP_permute || id == WEFT_OP_slice || id == WEFT_OP_flip || id == WEFT_OP_broadcast ||
                       id == WEFT_OP_window || id == WEFT_OP_extract_diagonal || id == WEFT_OP_reshape ||
                       id == WEFT_OP_barrier;
        if (!is_view) return n;
        n = node->inputs[0].node;
    }
}

/* Whether what a product takes from, or hands on to, others may be more than stays in L2. The library does that strip
 * by strip (lib/build/chain.c), loops do not. */
static bool has_far_rows(const weft_fusion *fusion, uint32_t n)
{
    enum { NEAR_BYTES = 256 << 10 };
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *dot = weft_graph_node(graph, n);
    int64_t near = NEAR_BYTES / (int64_t)weft_dtype_size(dot->types[0].dtype);
    if (fusion->readers[n] & READ_BY_PRODUCT && weft_count_bound(fusion->space, dot->types[0].shape) > near)
        return true;
    bool is_computed = !is_leaf_memory(fusion, weft_graph_node(graph, under_views(graph, dot->inputs[0].node)));
    return is_computed && weft_count_bound(fusion->space, weft_value_type(graph, dot->inputs[0])->shape) > near;
}

/* Whether it would be one of many kernels that compute nothing else: each takes milliseconds to compile, and long
 * contractions run once. */
static bool is_one_of_many(const weft_fusion *fusion, uint32_t n)
{
    enum { MANY = 16 };
    return fusion->products > MANY && !(fusion->readers[n] & READ_BY_ELEMENTWISE);
}

static weft_role role_of_root(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (node->op->op_class == WEFT_CLASS_OPAQUE) return WEFT_ROLE_HOST;
    if (node->op->op_class == WEFT_CLASS_REGION) return WEFT_ROLE_REGION;
    if (node->op->op_class == WEFT_CLASS_SORT) return WEFT_ROLE_SORT;
    if (weft_op_id_of(node->op) != WEFT_OP_dot) return WEFT_ROLE_KERNEL;
    bool is_library =
        fusion->product_policy == WEFT_PRODUCTS_LIBRARY
            ? weft_product_may_be_library(fusion->space, n)
            : weft_product_is_library(fusion->space, n, has_far_rows(fusion, n) || is_one_of_many(fusion, n));
    return is_library ? WEFT_ROLE_GEMM : WEFT_ROLE_KERNEL;
}

/* Whether the reduction may be a stage of the kernel that reads it. */
static bool may_be_stage(const weft_fusion *fusion, uint32_t n, weft_reduction *out_reduction)
{
    if (fusion->materialized[n] || role_of_root(fusion, n) != WEFT_ROLE_KERNEL) return false;
    weft_reduction_fill(fusion->compiled->graph, n, out_reduction);
    return out_reduction->chunk == 0;
}

/* The same, for reductions along memory: a kernel with stages across it walks memory in short runs, so its consumers
 * should not be fused into it. */
static bool starts_row(const weft_fusion *fusion, uint32_t n)
{
    weft_reduction reduction;
    return may_be_stage(fusion, n, &reduction) && reduction.lanes > 1;
}

/* Whether the kernel of a root has stages: partial results of a long reduction have none, which would be computed again
 * for every chunk. */
static bool takes_stages(const weft_fusion *fusion, uint32_t root)
{
    if (fusion->roles[root] != WEFT_ROLE_KERNEL) return false;
    weft_reduction reduction = {.chunk = 0};
    const weft_node *node = weft_graph_node(fusion->compiled->graph, root);
    if (is_reduction(node)) weft_reduction_fill(fusion->compiled->graph, root, &reduction);
    return reduction.chunk == 0;
}

/* Ops that read operand 0 at data-dependent positions. */
static bool is_gather(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return weft_indexing_first(id) != 0 && !weft_indexing_updates(id);
}

/* Whether the element of a result at a place is computed from elements of the operands whose places are affine in it.
 */
static bool is_local(const weft_graph *graph, const weft_node *node)
{
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_permute:
    case WEFT_OP_broadcast:
    case WEFT_OP_slice:
    case WEFT_OP_flip:
    case WEFT_OP_barrier: return true;
    case WEFT_OP_reshape: return weft_reshape_keeps_axes(graph, node);
    default: return node->op->op_class == WEFT_CLASS_ELEMENTWISE && !weft_node_may_fail(node);
    }
}

/* Whether a value has memory, gets memory when it is read like that, or is local. */
static bool is_reachable(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool has_memory = fusion->materialized[n] || is_reduction(node) || role_of_root(fusion, n) != WEFT_ROLE_KERNEL;
    has_memory |= node->op->op_class == WEFT_CLASS_LEAF || node->op->op_class == WEFT_CLASS_SCAN;
    if (has_memory || weft_indexing_updates(weft_op_id_of(node->op))) return true;
    bool all = is_local(graph, node);
    for (uint32_t i = 0; i < node->input_count; i++) all &= fusion->reachable[node->inputs[i].node];
    return all;
}

weft_expr weft_fusion_count(const weft_fusion *fusion, weft_shape shape)
{
    weft_expr_context *exprs = fusion->exprs;
    weft_expr count = weft_expr_constant(exprs, 1);
    for (size_t i = 0; i < shape.rank; i++)
        count = weft_expr_mul(exprs, count, weft_space_extent(fusion->space, shape.extents[i]));
    return count;
}

/* Whether a gather or dynamic slice computes the elements that it reads: where it is known to read no more than there
 * are, or they cost little. */
static bool computes_what_it_reads(const weft_fusion *fusion, const weft_node *node)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t source = node->inputs[0].node;
    if (!fusion->reachable[source]) return false;
    if (fusion->weights[source] <= CHEAP_TO_PLACE) return true;
    weft_expr read = weft_fusion_count(fusion, node->types[0].shape);
    weft_expr all = weft_fusion_count(fusion, weft_value_type(graph, node->inputs[0])->shape);
    return weft_expr_always_nonnegative(fusion->exprs, weft_expr_sub(fusion->exprs, all, read));
}

/* Whether the node is computed from positions and single constants alone. */
static uint8_t is_counted(const weft_fusion *fusion, const weft_node *node, bool is_read)
{
    bool all = !is_read && (node->op->op_class == WEFT_CLASS_LEAF || node->op->op_class == WEFT_CLASS_ELEMENTWISE ||
                            node->op->op_class == WEFT_CLASS_MOVEMENT);
    for (uint32_t i = 0; i < node->input_count; i++) all &= fusion->counted[node->inputs[i].node];
    return all;
}

/* Whether `count` values of that weight had better be stored than computed `times` times each. */
static bool is_worth_storing(uint64_t count, uint32_t weight, double times)
{
    double more = (double)count * ((double)weight - 1);
    return times >= OFTEN_REPEATED && more * (times - 1) >= LARGE_REPETITION;
}

/* The operand, or the single value that is repeated to make it, and how often that is. */
static uint32_t repeated_value(const weft_fusion *fusion, uint32_t operand, double *out_times)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, operand);
    *out_times = 1;
    if (weft_op_id_of(node->op) != WEFT_OP_broadcast || weft_value_type(graph, node->inputs[0])->shape.rank > 0)
        return operand;
    *out_times = (double)weft_count_bound(fusion->space, node->types[0].shape);
    return node->inputs[0].node;
}

/* The cost of an elementwise node that is not weighed yet, in a kernel, which merges equal instructions: what several
 * elementwise ops read counts once, and constants are free. A view reads its operand at places of its own, so what it
 * needs counts for each view. Stops above LARGEST_KERNEL. */
static uint32_t weigh_merged(weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t pending[LARGEST_KERNEL + 1] = {n}, count = 1;
    uint32_t weight = own_weight(weft_graph_node(graph, n));
    while (count > 0 && weight <= LARGEST_KERNEL) {
        const weft_node *node = weft_graph_node(graph, pending[--count]);
        for (uint32_t i = 0; i < node->input_count && weight <= LARGEST_KERNEL; i++) {
            double times;
            uint32_t operand = repeated_value(fusion, node->inputs[i].node, &times);
            if (fusion->weights[operand] == 0 || fusion->merged_for[operand] == n + 1) continue;
            fusion->merged_for[operand] = n + 1;
            const weft_node *inner = weft_graph_node(graph, operand);
            bool is_read = fusion->materialized[operand] || is_worth_storing(1, fusion->weights[operand], times);
            bool merges = !is_read && inner->op->op_class == WEFT_CLASS_ELEMENTWISE;
            weight += is_read ? 1 : merges ? own_weight(inner) : fusion->weights[operand];
            if (merges) pending[count++] = operand;
        }
    }
    return weight;
}

/* What a kernel that computes the node costs for each element. */
static uint32_t kernel_weight(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    uint32_t weight = own_weight(node);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t sum = weight + fusion->weights[node->inputs[i].node];
        weight = sum < weight ? UINT32_MAX : sum;
    }
    return weight;
}

/* From the first node to the last: the cost of recomputing each, memory for those that would make a kernel too large,
 * and which follow stages. */
static void weigh(weft_fusion *fusion, const uint8_t *live)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        uint32_t weight = kernel_weight(fusion, n);
        bool follows = false;
        for (uint32_t i = 0; i < node->input_count; i++) follows |= fusion->fused_row[node->inputs[i].node];
        if (weight > LARGEST_KERNEL && node->op->op_class == WEFT_CLASS_ELEMENTWISE) weight = weigh_merged(fusion, n);
        bool computed = node->op->op_class != WEFT_CLASS_LEAF;
        if (computed && weight > LARGEST_KERNEL) fusion->materialized[n] = 1;
        weft_op_id id = weft_op_id_of(node->op);
        bool is_step = is_reduction(node) || node->op->op_class == WEFT_CLASS_REGION || weft_indexing_updates(id);
        bool is_read = fusion->materialized[n] || is_leaf_memory(fusion, node) || is_step;
        fusion->weights[n] = is_read ? 1 : weight;
        fusion->reachable[n] = is_reachable(fusion, n);
        fusion->counted[n] = is_counted(fusion, node, is_read);
        fusion->fused_row[n] = is_reduction(node) ? starts_row(fusion, n) : follows && !is_read;
    }
}

static void demand_operands(weft_fusion *fusion, const weft_node *node, bool through_views)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        fusion->materialized[through_views ? under_views(graph, operand) : operand] = 1;
    }
}

/* Whether the node is a mask that is computed from positions alone, as cheaply as it would be read. */
static bool is_counted_mask(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    return node->types[0].dtype == WEFT_BOOL && fusion->counted[n] && fusion->weights[n] <= CHEAP_MASK;
}

/* Whether a kernel would compute the same elements of the node again and again. */
static bool is_repeated(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE || fusion->fused_row[n] || is_counted_mask(fusion, n))
        return false;
    return is_worth_storing((uint64_t)weft_count_bound(fusion->space, node->types[0].shape), fusion->weights[n],
                            fusion->recompute_count[n]);
}

/* Whether the node is a product whose loops need the registers of a kernel for themselves: sums of two such products
 * take 1.2 to 1.5 times as long in one kernel as in two, gated ones 1.3 to 2.8 times, sums of eight 2 to 4 times
 * (Zen 3). */
static bool needs_registers(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    if (weft_op_id_of(node->op) != WEFT_OP_dot) return false;
    weft_product_size size = weft_product_size_of(fusion->space, node);
    return size.terms > LARGE_STAGE_TERMS && weft_multiply_bound(size.results, size.terms) > LARGE_STAGE;
}

/* The operand that is such a product, or a view of one, and may be a stage of a kernel, + 1; or 0. */
static uint32_t product_read(const weft_fusion *fusion, const weft_node *node)
{
    weft_reduction reduction;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = under_views(fusion->compiled->graph, node->inputs[i].node);
        if (needs_registers(fusion, operand) && may_be_stage(fusion, operand, &reduction)) return operand + 1;
    }
    return 0;
}

/* Whether the node reads such a product, and the kernel that reads the node another one. */
static bool is_second_product(const weft_fusion *fusion, uint32_t n, uint32_t root)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    if (root == 0 || node->op->op_class != WEFT_CLASS_ELEMENTWISE || fusion->products_of[root - 1] == 0) return false;
    uint32_t read = product_read(fusion, node);
    return read != 0 && read != fusion->products_of[root - 1];
}

static weft_role role_of(const weft_fusion *fusion, uint32_t n, uint32_t root, bool shared)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool wanted_constant = fusion->materialized[n] && weft_op_id_of(node->op) == WEFT_OP_constant;
    if (wanted_constant || is_leaf_memory(fusion, node)) return WEFT_ROLE_LEAF;
    if (node->op->op_class == WEFT_CLASS_LEAF && !fusion->materialized[n]) return WEFT_ROLE_INLINE;
    weft_role role = role_of_root(fusion, n);
    bool updates = weft_indexing_updates(weft_op_id_of(node->op));
    bool scans = node->op->op_class == WEFT_CLASS_SCAN;
    if (role != WEFT_ROLE_KERNEL || fusion->materialized[n] || updates || scans) return role;
    if (is_reduction(node)) {
        weft_reduction reduction;
        bool fits = !shared && !fusion->indexed[n] && root != 0 && takes_stages(fusion, root - 1);
        if (fits && needs_registers(fusion, n)) fits = fusion->products_of[root - 1] == n + 1;
        return fits && may_be_stage(fusion, n, &reduction) ? WEFT_ROLE_STAGE : WEFT_ROLE_KERNEL;
    }
    if (is_repeated(fusion, n)) return WEFT_ROLE_KERNEL;
    if (is_second_product(fusion, n, root)) return WEFT_ROLE_KERNEL;
    return shared && fusion->weights[n] > CHEAP_TO_REPEAT ? WEFT_ROLE_KERNEL : WEFT_ROLE_INLINE;
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
    if (is_gather(node) && input == 0) return results > count && count > 0 ? results / count : 1;
    if (id != WEFT_OP_dot) return 1;
    weft_product_size size = weft_product_size_of(fusion->space, node);
    return count > 0 ? (double)size.results * (double)size.terms / count : 1;
}

/* Tells the operands of a node which root reads them, how often that computes each of their elements (a stage does
 * once), and along which axes it does so anew for each term of a reduction. */
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
        if ((i == 0 && is_gather(node)) || (!own && fusion->indexed[n])) fusion->indexed[operand] = 1;
        double times = base * repetitions(fusion, node, i);
        if (times > fusion->recompute_count[operand]) fusion->recompute_count[operand] = times;
        fusion->inner[operand] |= weft_inner_axes(graph, node, i, own ? 0 : fusion->inner[n]);
    }
}

/* Windows over a pad: each of their elements would have to be compared with the bounds. */
static void demand_padded(weft_fusion *fusion, const weft_node *node)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t n = node->inputs[0].node;
    while (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_reshape)
        n = weft_graph_node(graph, n)->inputs[0].node;
    if (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_pad) fusion->materialized[n] = 1;
}

/* A large product that is read only in another order, with another axis last: it is fast to compute in its own. */
static void demand_product(weft_fusion *fusion, const weft_node *permute)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t n = permute->inputs[0].node;
    const weft_node *node = weft_graph_node(graph, n);
    weft_ints order = permute->attrs[0].ints;
    if (weft_op_id_of(node->op) != WEFT_OP_dot || order.count == 0) return;
    if (order.items[order.count - 1] == (int64_t)order.count - 1 || weft_product_has_inner_batch(fusion->space, node))
        return;
    weft_product_size size = weft_product_size_of(fusion->space, node);
    if (size.is_large && size.along && size.terms > WEFT_PRODUCT_FEW_TERMS) fusion->materialized[n] = 1;
}

/* Whether elements of a view are not at strides over what it views: axes are joined that do not follow each other, or
 * padded. Not windows, of which there are more than of what they view. */
static bool is_scattered(const weft_graph *graph, uint32_t n)
{
    uint32_t viewed = under_views(graph, n);
    bool is_scattered = weft_op_id_of(weft_graph_node(graph, viewed)->op) == WEFT_OP_pad;
    for (; n != viewed; n = weft_graph_node(graph, n)->inputs[0].node) {
        const weft_node *node = weft_graph_node(graph, n);
        if (weft_op_id_of(node->op) == WEFT_OP_window) return false;
        is_scattered |= weft_op_id_of(node->op) == WEFT_OP_reshape && !weft_reshape_keeps_axes(graph, node) &&
                        weft_op_id_of(weft_graph_node(graph, node->inputs[0].node)->op) == WEFT_OP_permute;
    }
    return is_scattered;
}

/* What is stored of a factor, under repetitions, and how many operations its elements take. */
static uint32_t stored_factor(const weft_fusion *fusion, uint32_t n, uint32_t *out_weight)
{
    enum { WEIGHT_OF_PLACES = 8 };
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t factor = under_views(graph, n);
    const weft_node *node = weft_graph_node(graph, factor);
    *out_weight = fusion->weights[factor];
    if (node->op->op_class == WEFT_CLASS_ELEMENTWISE || weft_op_id_of(node->op) == WEFT_OP_concat) return factor;
    while (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_broadcast)
        n = weft_graph_node(graph, n)->inputs[0].node;
    *out_weight = is_scattered(graph, n) ? WEIGHT_OF_PLACES : 1;
    return n;
}

/* A product done by loops reads its factors once for each row or column of the other one: a factor that would be
 * recomputed each time, or looked for, is stored first. */
static void demand_factors(weft_fusion *fusion, const weft_node *dot)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_product_size size = weft_product_size_of(fusion->space, dot);
    for (uint32_t i = 0; i < dot->input_count; i++) {
        uint32_t weight, factor = stored_factor(fusion, dot->inputs[i].node, &weight);
        weft_shape shape = weft_graph_node(graph, factor)->types[0].shape;
        double again = (double)size.results * (double)size.terms - (double)weft_count_bound(fusion->space, shape);
        if (again * ((double)weight - 1) >= LARGE_PRODUCT_REPETITION) fusion->materialized[factor] = 1;
    }
}

/* What an engine or an op with random access reads must be in memory, and so must a costly value that a broadcast would
 * repeat; values that follow a stage are computed as often as the stage. */
static void materialize_operands(weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    bool is_step = fusion->roles[n] == WEFT_ROLE_HOST || fusion->roles[n] == WEFT_ROLE_REGION;
    bool reads_views = fusion->roles[n] == WEFT_ROLE_GEMM || fusion->roles[n] == WEFT_ROLE_SORT;
    if (is_step || reads_views) demand_operands(fusion, node, reads_views);
    if (is_gather(node) && !computes_what_it_reads(fusion, node)) fusion->materialized[node->inputs[0].node] = 1;
    if (id == WEFT_OP_window) demand_padded(fusion, node);
    if (id == WEFT_OP_permute) demand_product(fusion, node);
    if (id == WEFT_OP_dot && fusion->roles[n] != WEFT_ROLE_GEMM && weft_product_copies_b(fusion->space, node))
        fusion->materialized[node->inputs[1].node] = 1;
    if (id == WEFT_OP_dot && fusion->roles[n] != WEFT_ROLE_GEMM) demand_factors(fusion, node);
    bool expands = id == WEFT_OP_broadcast && weft_value_type(graph, node->inputs[0])->shape.rank > 0;
    if (!expands) return;
    uint32_t source = node->inputs[0].node;
    bool is_costly = fusion->weights[source] > FUNCTION_WEIGHT &&
                     weft_graph_node(graph, source)->op->op_class == WEFT_CLASS_ELEMENTWISE;
    if (is_costly && !fusion->fused_row[source]) fusion->materialized[source] = 1;
}

/* Whether several kernels would read the elements of a broadcast from memory only because what is broadcast is costly:
 * then that is stored instead, which has fewer elements. */
static bool stores_operand(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (weft_op_id_of(node->op) != WEFT_OP_broadcast || fusion->materialized[n]) return false;
    return weft_value_type(graph, node->inputs[0])->shape.rank > 0 && !fusion->materialized[node->inputs[0].node];
}

/* The first product that is found belongs to the kernel, unless that computes functions, too: they take so many
 * instructions that the product could not be in tiles (tanh of 128 x 256 by 256 x 256, Zen 3: 0.68 ms instead of 0.2).
 */
static void claim_product(weft_fusion *fusion, uint32_t n, bool own)
{
    uint32_t root = own ? n + 1 : fusion->roots[n];
    if (root == 0 || fusion->products_of[root - 1] != 0 || kernel_weight(fusion, root - 1) > FUNCTION_WEIGHT) return;
    fusion->products_of[root - 1] = product_read(fusion, weft_graph_node(fusion->compiled->graph, n));
}

/* From the last node to the first. Returns whether nothing was materialized that the weights do not reflect. */
static bool assign(weft_fusion *fusion, const uint8_t *live, uint8_t *shared)
{
    const weft_graph *graph = fusion->compiled->graph;
    bool settled = true;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        if (!live[n]) continue;
        weft_role role = role_of(fusion, n, fusion->roots[n], shared[n]);
        if (role == WEFT_ROLE_STAGE && fusion->inner[n] != 0) {
            role = WEFT_ROLE_KERNEL;
            fusion->materialized[n] = 1;
            settled = false;
        }
        if (role == WEFT_ROLE_KERNEL && is_reduction(weft_graph_node(graph, n)) && fusion->fused_row[n]) {
            fusion->materialized[n] = 1; /* what is computed from it follows no stage */
            settled = false;
        }
        if (role == WEFT_ROLE_KERNEL && stores_operand(fusion, n)) {
            role = WEFT_ROLE_INLINE;
            fusion->materialized[weft_graph_node(graph, n)->inputs[0].node] = 1;
            settled = false;
        }
        fusion->roles[n] = (uint8_t)role;
        bool own = weft_role_has_memory((uint8_t)role);
        pass_root(fusion, n, own, !own && shared[n], shared);
        if (shared[n]) fusion->roots[n] = 0;
        claim_product(fusion, n, own);
        materialize_operands(fusion, n);
    }
    return settled;
}

static bool fill_roles(weft_fusion *fusion, const uint8_t *live, uint8_t *shared)
{
    size_t count = fusion->compiled->graph->node_count + 1;
    memset(shared, 0, count);
    memset(fusion->roles, WEFT_ROLE_DEAD, count);
    memset(fusion->indexed, 0, count);
    memset(fusion->roots, 0, count * sizeof(uint32_t));
    memset(fusion->merged_for, 0, count * sizeof(uint32_t));
    memset(fusion->products_of, 0, count * sizeof(uint32_t));
    memset(fusion->recompute_count, 0, count * sizeof(double));
    memset(fusion->inner, 0, count * sizeof(uint64_t));
    weigh(fusion, live);
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

static bool is_output(const weft_compiled *compiled, uint32_t n)
{
    for (size_t i = 0; i < compiled->output_count; i++)
        if (compiled->outputs[i].node == n) return true;
    return false;
}

/* Whether a product that only this permute reads is computed in the order of the result: if its elements are adjacent
 * there along rows or columns, and along enough of them. */
static bool permutes_product(const weft_fusion *fusion, uint32_t permute)
{
    enum { ADJACENT = 16 };
    const weft_compiled *compiled = fusion->compiled;
    const weft_node *node = weft_graph_node(compiled->graph, permute);
    if (weft_op_id_of(node->op) != WEFT_OP_permute || fusion->roles[permute] != WEFT_ROLE_KERNEL) return false;
    if (fusion->keeps_order[permute]) return false;
    uint32_t dot = node->inputs[0].node;
    if (fusion->roles[dot] != WEFT_ROLE_GEMM || fusion->roots[dot] != permute + 1 || is_output(compiled, dot))
        return false;
    weft_ints order = node->attrs[0].ints, batch = weft_graph_node(compiled->graph, dot)->attrs[0].ints;
    if (order.count == 0 || (size_t)order.items[order.count - 1] < batch.count) return false;
    int64_t least, most;
    weft_space_range(fusion->space, node->types[0].shape.extents[order.count - 1], &least, &most);
    return most >= ADJACENT;
}

static void join_permutes(weft_fusion *fusion)
{
    for (uint32_t n = 0; n < fusion->compiled->graph->node_count; n++) {
        if (!permutes_product(fusion, n)) continue;
        fusion->roles[n] = WEFT_ROLE_GEMM;
        fusion->roles[weft_graph_node(fusion->compiled->graph, n)->inputs[0].node] = WEFT_ROLE_INLINE;
    }
    for (uint32_t n = 0; n < fusion->compiled->graph->node_count; n++) {
        uint32_t root = fusion->roots[n];
        if (root != 0 && weft_fusion_is_permuted(fusion, root - 1)) fusion->roots[n] = fusion->roots[root - 1];
    }
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
    weft_free(fusion->allocator, live, 3 * count);
    WEFT_TRY(status);
    join_permutes(fusion);
    fusion->changed = false;
    /* A size that overflows is merely not proven, but out of memory nothing is known. */
    status = weft_expr_context_take_error(fusion->exprs);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    for (weft_fusion *region = fusion->regions; region != NULL; region = region->next)
        WEFT_TRY(weft_fusion_fill(region));
    return NULL;
}
