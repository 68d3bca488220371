/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/partition.h"
#include <string.h>
#include "lib/graph/indexing.h"
#include "lib/lower/bits.h"
#include "lib/lower/chains.h"
#include "lib/lower/in_place.h"
#include "lib/lower/inner.h"
#include "lib/loop/loop.h"

/* Recomputing up to this many operations in several kernels is cheaper than a trip through memory. */
#define CHEAP_TO_REPEAT 16u
/* A value computed so many times more often than it has elements, at a cost of so many extra operations, gets memory
 * and a kernel. */
#define OFTEN_REPEATED 8
#define LARGE_REPETITION (1 << 20)
/* The same for the factors of a product, which are often recomputed one by one, as scalars. */
#define LARGE_PRODUCT_REPETITION (1 << 12)
/* A kernel larger than this compiles slowly and spills. */
#define LARGEST_KERNEL 400u
/* A transcendental function in operations. */
#define FUNCTION_WEIGHT 12u
/* A value this cheap is computed where a gather reads it, even if that is more often than it has elements. */
#define CHEAP_TO_PLACE 2u
/* A copy that is so many times smaller than a result costs little in comparison. */
#define LITTLE_BESIDE 16
/* So many attempts find one stage each that does not fit; after that a long chain of them must come to an end. */
#define PATIENCE 32
/* So often roles are assigned with weights that know what was forced before. */
#define MOST_ROUNDS 8

static weft_status *add_region(weft_partition *partition, uint32_t node, uint32_t number, const weft_region *region)
{
    weft_partition *inner = weft_arena_allocate(&partition->arena, sizeof *inner);
    weft_compiled *body = weft_arena_allocate(&partition->arena, sizeof *body);
    if (inner == NULL || body == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_compiled_open(region, &partition->arena, body));
    WEFT_TRY(weft_partition_init(inner, partition->allocator, body));
    inner->node = node;
    inner->region = number;
    inner->next = partition->regions;
    partition->regions = inner;
    return NULL;
}

/* `live` has a byte for each node. */
static weft_status *add_regions(weft_partition *partition, uint8_t *live)
{
    const weft_compiled *compiled = partition->compiled;
    weft_graph_mark(compiled->graph, compiled->output_count, compiled->outputs, live);
    for (uint32_t n = 0; n < compiled->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(compiled->graph, n);
        uint32_t number = 0;
        for (size_t i = 0; live[n] && i < node->op->attr_count; i++)
            if (node->op->attrs[i].kind == WEFT_ATTR_REGION)
                WEFT_TRY(add_region(partition, n, number++, &node->attrs[i].region));
    }
    return NULL;
}

weft_status *weft_partition_init(weft_partition *partition, const weft_allocator *allocator,
                                 const weft_compiled *compiled)
{
    size_t count = compiled->graph->node_count + 1;
    *partition = (weft_partition){.allocator = allocator, .compiled = compiled};
    weft_arena_init(&partition->arena, allocator);
    partition->roles = weft_allocate_zeroed(allocator, count);
    partition->forced = weft_allocate_zeroed(allocator, count);
    partition->no_library = weft_allocate_zeroed(allocator, count);
    partition->fused_row = weft_allocate_zeroed(allocator, count);
    partition->reachable = weft_allocate_zeroed(allocator, count);
    partition->placed = weft_allocate_zeroed(allocator, count);
    partition->roots = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    partition->weights = weft_allocate_zeroed(allocator, count * sizeof(uint32_t));
    partition->recompute_count = weft_allocate_zeroed(allocator, count * sizeof(double));
    partition->inner = weft_allocate_zeroed(allocator, count * sizeof(uint64_t));
    bool fine = partition->roles != NULL && partition->forced != NULL && partition->no_library != NULL;
    fine = fine && partition->fused_row != NULL && partition->roots != NULL && partition->weights != NULL;
    fine = fine && partition->recompute_count != NULL && partition->inner != NULL;
    fine = fine && partition->reachable != NULL && partition->placed != NULL;
    weft_status *status = fine ? weft_expr_context_create(allocator, &partition->extents) : weft_status_out_of_memory();
    if (status == NULL) status = add_regions(partition, partition->roles);
    if (status != NULL) weft_partition_finish(partition);
    return status;
}

void weft_partition_finish(weft_partition *partition)
{
    size_t count = partition->compiled->graph->node_count + 1;
    for (weft_partition *region = partition->regions; region != NULL; region = region->next)
        weft_partition_finish(region);
    weft_arena_finish(&partition->arena);
    weft_expr_context_destroy(partition->extents);
    weft_free(partition->allocator, partition->roles, count);
    weft_free(partition->allocator, partition->forced, count);
    weft_free(partition->allocator, partition->no_library, count);
    weft_free(partition->allocator, partition->fused_row, count);
    weft_free(partition->allocator, partition->reachable, count);
    weft_free(partition->allocator, partition->placed, count);
    weft_free(partition->allocator, partition->roots, count * sizeof(uint32_t));
    weft_free(partition->allocator, partition->weights, count * sizeof(uint32_t));
    weft_free(partition->allocator, partition->recompute_count, count * sizeof(double));
    weft_free(partition->allocator, partition->inner, count * sizeof(uint64_t));
    *partition = (weft_partition){.compiled = partition->compiled, .next = partition->next};
}

bool weft_partition_has_changed(const weft_partition *partition)
{
    bool changed = partition->changed;
    for (const weft_partition *region = partition->regions; region != NULL && !changed; region = region->next)
        changed = weft_partition_has_changed(region);
    return changed;
}

weft_partition *weft_partition_of_region(const weft_partition *partition, uint32_t node, uint32_t region)
{
    weft_partition *found = partition->regions;
    while (found != NULL && (found->node != node || found->region != region)) found = found->next;
    return found;
}

void weft_partition_force(weft_partition *partition, uint32_t node)
{
    if (!partition->forced[node]) partition->changed = true;
    partition->forced[node] = 1;
}

void weft_partition_force_stage(weft_partition *partition, uint32_t node)
{
    uint32_t more = partition->fills <= PATIENCE ? 0 : partition->fills - PATIENCE;
    size_t count = more < 31 ? (size_t)1 << more : SIZE_MAX;
    for (uint32_t n = node + 1; n-- > 0 && count > 0;) {
        if (partition->roles[n] != WEFT_ROLE_STAGE || partition->roots[n] != partition->roots[node]) continue;
        weft_partition_force(partition, n);
        count--;
    }
}

static bool is_reduction(const weft_node *node)
{
    return node->op->op_class == WEFT_CLASS_REDUCE || node->op->op_class == WEFT_CLASS_PRODUCT;
}

static uint32_t saturating_add(uint32_t a, uint32_t b)
{
    return a + b < a ? UINT32_MAX : a + b;
}

/* Functions that expand into many instructions. */
static const bool is_function[WEFT_OP_COUNT] = {
#define IS_FUNCTION_F32(name) [WEFT_OP_##name] = true,
#define IS_FUNCTION_F64(name)
#define WEFT_MATH(name, dtype, ulp) IS_FUNCTION_##dtype(name)
#define WEFT_MATH_EMITTED(name, dtype, ulp)
#include "lib/math/math.def"
#undef WEFT_MATH
#undef WEFT_MATH_EMITTED
};

static uint32_t own_weight(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    if (id < WEFT_OP_COUNT && is_function[id]) return FUNCTION_WEIGHT;
    switch (id) {
    case WEFT_OP_div:
    case WEFT_OP_sqrt: return 4;
    default: return node->op->op_class == WEFT_CLASS_LEAF ? 0 : 1;
    }
}

static bool is_leaf_memory(const weft_graph *graph, const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return id == WEFT_OP_input || (id == WEFT_OP_constant && weft_count_bound(graph, node->types[0].shape) != 1);
}

static weft_role engine_of(const weft_partition *partition, uint32_t n)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (node->op->op_class == WEFT_CLASS_OPAQUE) return WEFT_ROLE_HOST;
    if (node->op->op_class == WEFT_CLASS_REGION) return WEFT_ROLE_REGION;
    if (node->op->op_class == WEFT_CLASS_SORT) return WEFT_ROLE_SORT;
    bool is_dot = weft_op_id_of(node->op) == WEFT_OP_dot;
    if (is_dot && !partition->no_library[n] && weft_product_is_library(graph, node)) return WEFT_ROLE_GEMM;
    return WEFT_ROLE_KERNEL;
}

/* Whether the reduction may be a stage of the kernel that reads it. */
static bool may_be_stage(const weft_partition *partition, uint32_t n, weft_reduction *out_reduction)
{
    if (partition->forced[n] || engine_of(partition, n) != WEFT_ROLE_KERNEL) return false;
    weft_reduction_fill(partition->compiled->graph, n, out_reduction);
    return out_reduction->chunk == 0;
}

/* The same, for reductions along memory: a kernel with stages across it walks memory in short runs, which what follows
 * should not be drawn into. */
static bool starts_row(const weft_partition *partition, uint32_t n)
{
    weft_reduction reduction;
    return may_be_stage(partition, n, &reduction) && reduction.lanes > 1;
}

/* Whether the kernel of a root has stages: partial results of a long reduction have none, which would be computed again
 * for every chunk. */
static bool takes_stages(const weft_partition *partition, uint32_t root)
{
    if (partition->roles[root] != WEFT_ROLE_KERNEL) return false;
    weft_reduction reduction = {.chunk = 0};
    const weft_node *node = weft_graph_node(partition->compiled->graph, root);
    if (is_reduction(node)) weft_reduction_fill(partition->compiled->graph, root, &reduction);
    return reduction.chunk == 0;
}

/* Ops that read operand 0 at data-dependent positions. */
static bool is_gather(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return weft_indexing_first(id) != 0 && !weft_indexing_updates(id);
}

/* Whether the op may report an error for an element, which every element then has to be computed for. */
static bool may_fail(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    weft_dtype_kind kind = weft_dtype_info_of(node->types[0].dtype)->kind;
    bool divides = id == WEFT_OP_div || id == WEFT_OP_remainder || id == WEFT_OP_fmod;
    return divides && (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED);
}

/* Whether the element of a result at a place is computed from elements of the operands whose places are affine in it.
 */
static bool is_local(const weft_graph *graph, const weft_node *node)
{
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_permute:
    case WEFT_OP_broadcast:
    case WEFT_OP_slice:
    case WEFT_OP_flip: return true;
    case WEFT_OP_reshape: return weft_reshape_keeps_axes(graph, node);
    default: return node->op->op_class == WEFT_CLASS_ELEMENTWISE && !may_fail(node);
    }
}

/* Whether a value has memory, gets memory when it is read like that, or is local. */
static bool is_reachable(const weft_partition *partition, uint32_t n)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool has_memory = partition->forced[n] || is_reduction(node) || engine_of(partition, n) != WEFT_ROLE_KERNEL;
    has_memory |= node->op->op_class == WEFT_CLASS_LEAF || node->op->op_class == WEFT_CLASS_SCAN;
    if (has_memory || weft_indexing_updates(weft_op_id_of(node->op))) return true;
    bool all = is_local(graph, node);
    for (uint32_t i = 0; i < node->input_count; i++) all &= partition->reachable[node->inputs[i].node];
    return all;
}

weft_expr weft_partition_count(const weft_partition *partition, weft_shape shape)
{
    weft_expr_context *extents = partition->extents;
    weft_expr count = weft_expr_constant(extents, 1);
    for (size_t i = 0; i < shape.rank; i++) {
        weft_extent extent = shape.extents[i];
        weft_expr e = extent.graph == NULL
                          ? weft_expr_constant(extents, extent.value)
                          : weft_expr_import(extents, partition->compiled->graph->extents, (weft_expr)extent.value);
        count = weft_expr_mul(extents, count, e);
    }
    return count;
}

/* Whether a gather or dynamic slice computes the elements that it reads: where it is known to read no more than there
 * are, or they cost little. */
static bool computes_what_it_reads(const weft_partition *partition, const weft_node *node)
{
    const weft_graph *graph = partition->compiled->graph;
    uint32_t source = node->inputs[0].node;
    if (!partition->reachable[source]) return false;
    if (partition->weights[source] <= CHEAP_TO_PLACE) return true;
    weft_expr read = weft_partition_count(partition, node->types[0].shape);
    weft_expr all = weft_partition_count(partition, weft_value_type(graph, node->inputs[0])->shape);
    return weft_expr_always_nonnegative(partition->extents, weft_expr_sub(partition->extents, all, read));
}

/* Ascending: what recomputing costs, memory for what would make a kernel too large, and what follows stages. */
static void weigh(weft_partition *partition, const uint8_t *live)
{
    const weft_graph *graph = partition->compiled->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        uint32_t weight = own_weight(node);
        bool follows = false;
        for (uint32_t i = 0; i < node->input_count; i++) {
            weight = saturating_add(weight, partition->weights[node->inputs[i].node]);
            follows |= partition->fused_row[node->inputs[i].node];
        }
        bool computed = node->op->op_class != WEFT_CLASS_LEAF;
        if (computed && weight > LARGEST_KERNEL) partition->forced[n] = 1;
        weft_op_id id = weft_op_id_of(node->op);
        bool is_step = is_reduction(node) || node->op->op_class == WEFT_CLASS_REGION || weft_indexing_updates(id);
        bool is_read = partition->forced[n] || is_leaf_memory(graph, node) || is_step;
        partition->weights[n] = is_read ? 1 : weight;
        partition->reachable[n] = is_reachable(partition, n);
        partition->fused_row[n] = is_reduction(node) ? starts_row(partition, n) : follows && !is_read;
    }
}

/* The value behind views that only rename axes and strides. */
static uint32_t behind_views(const weft_graph *graph, uint32_t n)
{
    for (;;) {
        const weft_node *node = weft_graph_node(graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        bool is_view = id == WEFT_OP_permute || id == WEFT_OP_slice || id == WEFT_OP_flip || id == WEFT_OP_broadcast ||
                       id == WEFT_OP_window || id == WEFT_OP_extract_diagonal || id == WEFT_OP_reshape;
        if (!is_view) return n;
        n = node->inputs[0].node;
    }
}

static void demand_operands(weft_partition *partition, const weft_node *node, bool through_views)
{
    const weft_graph *graph = partition->compiled->graph;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        partition->forced[through_views ? behind_views(graph, operand) : operand] = 1;
    }
}

/* Whether a kernel would compute the same elements of the node again and again. */
static bool is_repeated(const weft_partition *partition, uint32_t n)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE || partition->fused_row[n]) return false;
    double more = (double)weft_count_bound(graph, node->types[0].shape) * ((double)partition->weights[n] - 1);
    return partition->recompute_count[n] >= OFTEN_REPEATED &&
           more * (partition->recompute_count[n] - 1) >= LARGE_REPETITION;
}

static weft_role role_of(const weft_partition *partition, uint32_t n, uint32_t root, bool shared)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool wanted_constant = partition->forced[n] && weft_op_id_of(node->op) == WEFT_OP_constant;
    if (wanted_constant || is_leaf_memory(graph, node)) return WEFT_ROLE_LEAF;
    if (node->op->op_class == WEFT_CLASS_LEAF && !partition->forced[n]) return WEFT_ROLE_INLINE;
    weft_role engine = engine_of(partition, n);
    bool updates = weft_indexing_updates(weft_op_id_of(node->op));
    bool scans = node->op->op_class == WEFT_CLASS_SCAN;
    if (engine != WEFT_ROLE_KERNEL || partition->forced[n] || updates || scans) return engine;
    if (is_reduction(node)) {
        weft_reduction reduction;
        bool fits = !shared && !partition->placed[n] && root != 0 && takes_stages(partition, root - 1);
        return fits && may_be_stage(partition, n, &reduction) ? WEFT_ROLE_STAGE : WEFT_ROLE_KERNEL;
    }
    if (is_repeated(partition, n)) return WEFT_ROLE_KERNEL;
    return shared && partition->weights[n] > CHEAP_TO_REPEAT ? WEFT_ROLE_KERNEL : WEFT_ROLE_INLINE;
}

/* How often the node computes an element of an operand for one of its own: more than once for a broadcast, a gather or
 * a product, as far as bounds tell. */
static double repetitions(const weft_graph *graph, const weft_node *node, uint32_t input)
{
    weft_shape shape = weft_value_type(graph, node->inputs[input])->shape;
    double count = (double)weft_count_bound(graph, shape),
           results = (double)weft_count_bound(graph, node->types[0].shape);
    weft_op_id id = weft_op_id_of(node->op);
    if (id == WEFT_OP_broadcast) return count > 0 ? results / count : 1;
    if (is_gather(node) && input == 0) return results > count && count > 0 ? results / count : 1;
    if (id != WEFT_OP_dot) return 1;
    weft_product_size size = weft_product_size_of(graph, node);
    return count > 0 ? (double)size.results * (double)size.terms / count : 1;
}

/* Tells the operands of a node which root reads them, how often that computes each of their elements (a stage does
 * once), and along which axes it does so anew for each term of a reduction. */
static void pass_root(weft_partition *partition, uint32_t n, bool own, bool shared, uint8_t *seen_by_many)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    uint32_t root = own ? n + 1 : partition->roots[n];
    double base = own || partition->roles[n] == WEFT_ROLE_STAGE ? 1 : partition->recompute_count[n];
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        uint32_t *known = &partition->roots[operand];
        if (shared || (*known != 0 && *known != root)) seen_by_many[operand] = 1;
        *known = root;
        if ((i == 0 && is_gather(node)) || (!own && partition->placed[n])) partition->placed[operand] = 1;
        double times = base * repetitions(graph, node, i);
        if (times > partition->recompute_count[operand]) partition->recompute_count[operand] = times;
        partition->inner[operand] |= weft_inner_axes(graph, node, i, own ? 0 : partition->inner[n]);
    }
}

/* Windows over what is padded: every element of them would have to ask where it lies. */
static void demand_padded(weft_partition *partition, const weft_node *node)
{
    const weft_graph *graph = partition->compiled->graph;
    uint32_t n = node->inputs[0].node;
    while (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_reshape) {
        n = weft_graph_node(graph, n)->inputs[0].node;
    }
    if (weft_op_id_of(weft_graph_node(graph, n)->op) == WEFT_OP_pad) partition->forced[n] = 1;
}

/* A large product that only comes in another order, with another axis last: its own order is the one in which it is
 * fast to compute. */
static void demand_product(weft_partition *partition, const weft_node *permute)
{
    const weft_graph *graph = partition->compiled->graph;
    uint32_t n = permute->inputs[0].node;
    const weft_node *node = weft_graph_node(graph, n);
    weft_ints order = permute->attrs[0].ints;
    if (weft_op_id_of(node->op) != WEFT_OP_dot || order.count == 0) return;
    if (order.items[order.count - 1] == (int64_t)order.count - 1) return;
    weft_product_size size = weft_product_size_of(graph, node);
    if (size.is_large && size.along && size.terms > WEFT_PRODUCT_FEW_TERMS) partition->forced[n] = 1;
}

/* Lanes of a large product run along what is innermost in its second operand: where that comes in another order, a copy
 * of it is little beside the result. */
static void demand_lanes(weft_partition *partition, const weft_node *dot)
{
    const weft_graph *graph = partition->compiled->graph;
    uint32_t operand = dot->inputs[1].node;
    const weft_node *node = weft_graph_node(graph, operand);
    weft_product_size size = weft_product_size_of(graph, dot);
    bool is_little = weft_count_bound(graph, node->types[0].shape) <= size.results / LITTLE_BESIDE;
    if (weft_op_id_of(node->op) == WEFT_OP_permute && size.is_large && size.along && is_little)
        partition->forced[operand] = 1;
}

/* A product done by loops reads its factors once for each row or column of the other one: a factor that would be
 * recomputed each time is stored first. */
static void demand_factors(weft_partition *partition, const weft_node *dot)
{
    const weft_graph *graph = partition->compiled->graph;
    weft_product_size size = weft_product_size_of(graph, dot);
    for (uint32_t i = 0; i < dot->input_count; i++) {
        uint32_t factor = behind_views(graph, dot->inputs[i].node);
        const weft_node *node = weft_graph_node(graph, factor);
        if (node->op->op_class != WEFT_CLASS_ELEMENTWISE) continue;
        double again =
            (double)size.results * (double)size.terms - (double)weft_count_bound(graph, node->types[0].shape);
        if (again * ((double)partition->weights[factor] - 1) >= LARGE_PRODUCT_REPETITION) partition->forced[factor] = 1;
    }
}

/* What an engine or an op with random access reads must be in memory, and so must a costly value that a broadcast would
 * repeat; what follows a stage is computed as often as that. */
static void demand(weft_partition *partition, uint32_t n)
{
    const weft_graph *graph = partition->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    bool is_step = partition->roles[n] == WEFT_ROLE_HOST || partition->roles[n] == WEFT_ROLE_REGION;
    bool reads_views = partition->roles[n] == WEFT_ROLE_GEMM || partition->roles[n] == WEFT_ROLE_SORT;
    if (is_step || reads_views) demand_operands(partition, node, reads_views);
    if (is_gather(node) && !computes_what_it_reads(partition, node)) partition->forced[node->inputs[0].node] = 1;
    if (id == WEFT_OP_window) demand_padded(partition, node);
    if (id == WEFT_OP_permute) demand_product(partition, node);
    if (id == WEFT_OP_dot && partition->roles[n] == WEFT_ROLE_KERNEL) demand_lanes(partition, node);
    if (id == WEFT_OP_dot && partition->roles[n] != WEFT_ROLE_GEMM) demand_factors(partition, node);
    bool expands = id == WEFT_OP_broadcast && weft_value_type(graph, node->inputs[0])->shape.rank > 0;
    if (!expands) return;
    uint32_t source = node->inputs[0].node;
    bool is_costly = partition->weights[source] > FUNCTION_WEIGHT &&
                     weft_graph_node(graph, source)->op->op_class == WEFT_CLASS_ELEMENTWISE;
    if (is_costly && !partition->fused_row[source]) partition->forced[source] = 1;
}

/* A size that overflows is merely unproven; out of memory, nothing is known. */
static weft_status *check_extents(weft_partition *partition)
{
    weft_status *status = weft_expr_context_take_error(partition->extents);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return NULL;
}

/* Descending. Returns whether nothing was forced that the weights do not know of. */
static bool assign(weft_partition *partition, const uint8_t *live, uint8_t *shared)
{
    const weft_graph *graph = partition->compiled->graph;
    bool settled = true;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        if (!live[n]) continue;
        weft_role role = role_of(partition, n, partition->roots[n], shared[n]);
        if (role == WEFT_ROLE_STAGE && partition->inner[n] != 0) {
            role = WEFT_ROLE_KERNEL;
            partition->forced[n] = 1;
            settled = false;
        }
        partition->roles[n] = (uint8_t)role;
        bool own = weft_role_has_memory((uint8_t)role);
        pass_root(partition, n, own, !own && shared[n], shared);
        if (shared[n]) partition->roots[n] = 0;
        demand(partition, n);
    }
    return settled;
}

static bool fill_roles(weft_partition *partition, const uint8_t *live, uint8_t *shared)
{
    size_t count = partition->compiled->graph->node_count + 1;
    memset(shared, 0, count);
    memset(partition->roles, WEFT_ROLE_DEAD, count);
    memset(partition->placed, 0, count);
    memset(partition->roots, 0, count * sizeof(uint32_t));
    memset(partition->recompute_count, 0, count * sizeof(double));
    memset(partition->inner, 0, count * sizeof(uint64_t));
    weigh(partition, live);
    return assign(partition, live, shared);
}

/* Assigns roles, and assigns them again if their consequences require it. */
static weft_status *assign_all(weft_partition *partition, const uint8_t *live, uint8_t *shared)
{
    bool forced = true;
    while (forced) {
        bool settled = false;
        for (int round = 0; round < MOST_ROUNDS && !settled; round++) settled = fill_roles(partition, live, shared);
        WEFT_TRY(weft_in_place_force(partition, &forced));
    }
    return NULL;
}

weft_status *weft_partition_fill(weft_partition *partition)
{
    const weft_compiled *compiled = partition->compiled;
    const weft_graph *graph = compiled->graph;
    size_t count = graph->node_count + 1;
    uint8_t *live = weft_allocate_zeroed(partition->allocator, 3 * count);
    if (live == NULL) return weft_status_out_of_memory();
    weft_graph_mark(graph, compiled->output_count, compiled->outputs, live);
    partition->fills++;
    for (size_t i = 0; i < compiled->output_count; i++) partition->forced[compiled->outputs[i].node] = 1;
    weft_chains_cut(graph, live, partition->forced, live + 2 * count);
    weft_status *status = assign_all(partition, live, live + count);
    weft_free(partition->allocator, live, 3 * count);
    WEFT_TRY(status);
    partition->changed = false;
    WEFT_TRY(check_extents(partition));
    for (weft_partition *region = partition->regions; region != NULL; region = region->next)
        WEFT_TRY(weft_partition_fill(region));
    return NULL;
}
