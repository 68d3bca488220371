/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: who computes a value. */
#include "lib/lower/fusion_rules.h"
#include "lib/lower/lower.h"
#include "lib/lower/product.h"
#include "lib/math/function.h"

/* A product of more multiplications, with sums of more terms, is computed in tiles that fill the registers. */
#define LARGE_STAGE (16 * 16 * 16)
#define LARGE_STAGE_TERMS 8
/* A comparison of positions with all that moves them. */
#define CHEAP_MASK 12u

bool weft_fusion_is_leaf_memory(const weft_fusion *fusion, const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return id == WEFT_OP_input ||
           (id == WEFT_OP_constant && weft_count_bound(fusion->space, node->types[0].shape) != 1);
}

uint32_t weft_fusion_under_views(const weft_graph *graph, uint32_t n)
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
    if (fusion->readers[n] & WEFT_FUSION_READ_BY_PRODUCT && weft_count_bound(fusion->space, dot->types[0].shape) > near)
        return true;
    bool is_computed = !weft_fusion_is_leaf_memory(
        fusion, weft_graph_node(graph, weft_fusion_under_views(graph, dot->inputs[0].node)));
    return is_computed && weft_count_bound(fusion->space, weft_value_type(graph, dot->inputs[0])->shape) > near;
}

/* Whether it would be one of many kernels that compute nothing else: each takes milliseconds to compile, and long
 * contractions run once. */
static bool is_one_of_many(const weft_fusion *fusion, uint32_t n)
{
    enum { MANY = 16 };
    return fusion->products > MANY && !(fusion->readers[n] & WEFT_FUSION_READ_BY_ELEMENTWISE);
}

/* Whether the number of a product's rows is unknown, and nothing is computed with its results: the library has tiles
 * for any number of rows, loops take some of them twice. n x 64 by 64 x 64 f32 takes 0.93 of the time of loops where n
 * turns out to be 64, n x 128 by 128 x 128 0.9 where it is 128 (Zen 5). */
static bool has_unknown_rows(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *dot = weft_graph_node(fusion->compiled->graph, n);
    weft_shape shape = weft_value_type(fusion->compiled->graph, dot->inputs[0])->shape;
    int64_t least, most;
    bool any = false;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_space_range(fusion->space, shape.extents[i], &least, &most);
        any |= weft_dot_is_free(dot, 0, i) && least != most;
    }
    return any && fusion->space->vector_bytes >= WEFT_LONG_VECTOR &&
           !(fusion->readers[n] & WEFT_FUSION_READ_BY_ELEMENTWISE);
}

weft_role weft_fusion_role_of_root(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    if (node->op->op_class == WEFT_CLASS_OPAQUE) return WEFT_ROLE_HOST;
    if (node->op->op_class == WEFT_CLASS_REGION) return WEFT_ROLE_REGION;
    if (node->op->op_class == WEFT_CLASS_SORT) return WEFT_ROLE_SORT;
    if (weft_op_id_of(node->op) != WEFT_OP_dot) return WEFT_ROLE_KERNEL;
    bool is_library = fusion->product_policy == WEFT_PRODUCTS_LIBRARY
                          ? weft_product_may_be_library(fusion->space, n)
                          : weft_product_is_library(fusion->space, n,
                                                    has_far_rows(fusion, n) || is_one_of_many(fusion, n) ||
                                                        has_unknown_rows(fusion, n));
    return is_library ? WEFT_ROLE_GEMM : WEFT_ROLE_KERNEL;
}

/* Whether the reduction may be a stage of the kernel that reads it. */
static bool may_be_stage(const weft_fusion *fusion, uint32_t n, weft_reduction *out_reduction)
{
    if (fusion->materialized[n] || weft_fusion_role_of_root(fusion, n) != WEFT_ROLE_KERNEL) return false;
    weft_reduction_fill(fusion->compiled->graph, n, out_reduction);
    return out_reduction->chunk == 0;
}

int64_t weft_fusion_pitch(const weft_fusion *fusion, const weft_type *type, size_t axis)
{
    int64_t pitch = (int64_t)weft_dtype_size(type->dtype);
    for (size_t i = axis + 1; i < type->shape.rank; i++) {
        int64_t least, extent;
        weft_space_range(fusion->space, type->shape.extents[i], &least, &extent);
        if (least != extent || __builtin_mul_overflow(pitch, extent, &pitch)) return 0;
    }
    return pitch;
}

/* Whether a reduction runs across rows that lie pages apart, so that L2 holds only a few of them beside each other. A
 * kernel that reads them again would do so from afar, in short runs. */
static bool has_clashing_rows(const weft_fusion *fusion, uint32_t n, const weft_reduction *reduction)
{
    /* Bytes over which the sets of L2 repeat, and lines of one set. */
    enum { PAGE = 1 << 12, PERIOD = 1 << 16, WAYS = 16 };
    const weft_value operand = weft_graph_node(fusion->compiled->graph, n)->inputs[0];
    const weft_type *type = weft_value_type(fusion->compiled->graph, operand);
    int64_t rows, least;
    if (reduction->axis_count != 1 || reduction->lanes > 1) return false;
    size_t axis = (size_t)reduction->axes[0];
    weft_space_range(fusion->space, type->shape.extents[axis], &least, &rows);
    int64_t pitch = weft_fusion_pitch(fusion, type, axis), step = weft_expr_gcd(pitch, PERIOD);
    return pitch != 0 && step >= PAGE && rows > WAYS * (PERIOD / step);
}

bool weft_fusion_starts_row(const weft_fusion *fusion, uint32_t n)
{
    weft_reduction reduction;
    return !fusion->starts_no_row[n] && may_be_stage(fusion, n, &reduction) && reduction.lanes > 1;
}

/* Whether the kernel of a root has stages: those of the parts of a long reduction or scan have none, which would be
 * computed again for every chunk. */
static bool takes_stages(const weft_fusion *fusion, uint32_t root)
{
    if (fusion->roles[root] != WEFT_ROLE_KERNEL) return false;
    weft_reduction reduction = {.chunk = 0};
    const weft_node *node = weft_graph_node(fusion->compiled->graph, root);
    if (node->op->op_class == WEFT_CLASS_SCAN) return weft_scan_chunk(fusion, node) == 0;
    if (weft_fusion_is_reduction(node)) weft_reduction_fill(fusion->compiled->graph, root, &reduction);
    return reduction.chunk == 0;
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
    return weft_fusion_is_worth_storing((uint64_t)weft_count_bound(fusion->space, node->types[0].shape),
                                        fusion->weights[n], fusion->recompute_count[n]);
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

uint32_t weft_fusion_product_read(const weft_fusion *fusion, const weft_node *node)
{
    weft_reduction reduction;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = weft_fusion_under_views(fusion->compiled->graph, node->inputs[i].node);
        if (needs_registers(fusion, operand) && may_be_stage(fusion, operand, &reduction)) return operand + 1;
    }
    return 0;
}

/* Whether the node reads such a product, and the kernel that reads the node another one. */
static bool is_second_product(const weft_fusion *fusion, uint32_t n, uint32_t root)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    if (root == 0 || node->op->op_class != WEFT_CLASS_ELEMENTWISE || fusion->products_of[root - 1] == 0) return false;
    uint32_t read = weft_fusion_product_read(fusion, node);
    return read != 0 && read != fusion->products_of[root - 1];
}

uint32_t weft_fusion_storing_reduction(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    weft_reduction reduction;
    uint32_t first = fusion->first_reader[n];
    bool follows = false;
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE || first == 0 ||
        weft_graph_node(graph, first - 1)->op->op_class != WEFT_CLASS_REDUCE)
        return 0;
    for (uint32_t i = 0; i < node->input_count; i++) follows |= fusion->fused_row[node->inputs[i].node];
    if (!follows || !weft_op_is_function(node->op)) return 0;
    weft_role role = (weft_role)fusion->roles[first - 1];
    weft_reduction_fill(graph, first - 1, &reduction);
    bool fits = (role == WEFT_ROLE_KERNEL || role == WEFT_ROLE_STAGE) && reduction.chunk == 0 && reduction.lanes > 1;
    return fits ? first : 0;
}

/* ---- several results of one kernel ---- */

/* Whether the node is computed by arithmetic from what is read at its own place, or at places affine in it. */
static bool is_arithmetic(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    bool is_view = id == WEFT_OP_broadcast || id == WEFT_OP_slice || id == WEFT_OP_reshape || id == WEFT_OP_barrier;
    bool all = is_view || node->op->op_class == WEFT_CLASS_LEAF ||
               (node->op->op_class == WEFT_CLASS_ELEMENTWISE && !weft_node_may_fail(node));
    for (uint32_t i = 0; i < node->input_count && all; i++) all = fusion->plain[node->inputs[i].node];
    return all;
}

bool weft_fusion_is_plain(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    weft_reduction reduction;
    if (weft_fusion_is_reduction(node)) return !may_be_stage(fusion, n, &reduction);
    return fusion->materialized[n] || weft_fusion_role_of_root(fusion, n) != WEFT_ROLE_KERNEL ||
           node->op->op_class == WEFT_CLASS_SCAN || weft_indexing_updates(weft_op_id_of(node->op)) ||
           is_arithmetic(fusion, n);
}

static bool have_same_extents(const weft_fusion *fusion, const weft_node *a, const weft_node *b)
{
    weft_shape x = a->types[0].shape, y = b->types[0].shape;
    bool same = x.rank == y.rank;
    for (size_t i = 0; i < x.rank && same; i++)
        same = weft_space_extent(fusion->space, x.extents[i]) == weft_space_extent(fusion->space, y.extents[i]);
    return same;
}

/* Registers that the accumulators of a reduction take, if its lanes are in vectors. */
static uint32_t accumulator_vectors(const weft_fusion *fusion, uint32_t n)
{
    weft_reduction reduction;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t bytes = 0, vector_bytes = (uint32_t)fusion->space->vector_bytes;
    weft_reduction_fill(fusion->compiled->graph, n, &reduction);
    uint32_t width = weft_reduction_components(fusion->compiled->graph, n, dtypes);
    for (uint32_t i = 0; i < width; i++) bytes += reduction.lanes * (uint32_t)weft_dtype_size(dtypes[i]);
    return vector_bytes == 0 ? 0 : (bytes + vector_bytes - 1) / vector_bytes;
}

/* Whether the accumulators of a reduction and those that the kernel of `root` has take half of the registers, at most:
 * argmin and maximum of rows of 50000 with AVX2, twelve vectors of sixteen, take 1.24 of the time as one stage. */
static bool has_registers(const weft_fusion *fusion, uint32_t n, uint32_t root)
{
    enum { HALF_OF_LONG = 16, HALF = 8 };
    uint32_t count = accumulator_vectors(fusion, n) + accumulator_vectors(fusion, root);
    for (uint32_t s = fusion->stored[root]; s != 0; s = fusion->stored[s - 1])
        count += accumulator_vectors(fusion, s - 1);
    return count <= (fusion->space->vector_bytes >= WEFT_LONG_VECTOR ? HALF_OF_LONG : HALF);
}

/* Whether the node is a reduction that another one may be computed beside. Not of bools, which may end once they are
 * decided. */
static bool is_plain_reduction(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    weft_op_id id = weft_op_id_of(node->op);
    return node->op->op_class == WEFT_CLASS_REDUCE && id != WEFT_OP_reduce_any && id != WEFT_OP_reduce_all &&
           fusion->plain[node->inputs[0].node];
}

/* Whether two reductions take in elements of the same places in the same order. Not along no axis: one may take in the
 * result of the other. */
static bool reduce_alike(const weft_fusion *fusion, uint32_t a, uint32_t b)
{
    const weft_graph *graph = fusion->compiled->graph;
    weft_reduction x, y;
    weft_reduction_fill(graph, a, &x);
    weft_reduction_fill(graph, b, &y);
    bool alike = x.axis_count > 0 && x.axis_count == y.axis_count && x.group_count == y.group_count &&
                 x.lanes == y.lanes && x.blocks == y.blocks && x.chunk == y.chunk;
    for (uint32_t i = 0; i < x.axis_count && alike; i++) alike = x.axes[i] == y.axes[i];
    for (uint32_t i = 0; i < x.group_count && alike; i++) alike = x.group_first[i] == y.group_first[i];
    return alike && have_same_extents(fusion, weft_graph_node(graph, weft_graph_node(graph, a)->inputs[0].node),
                                      weft_graph_node(graph, weft_graph_node(graph, b)->inputs[0].node));
}

/* Whether the node is of a kind with the root, of which one kernel may store several. */
static bool are_alike(const weft_fusion *fusion, uint32_t n, uint32_t root)
{
    const weft_graph *graph = fusion->compiled->graph;
    bool are_elementwise = weft_graph_node(graph, n)->op->op_class == WEFT_CLASS_ELEMENTWISE &&
                           weft_graph_node(graph, root)->op->op_class == WEFT_CLASS_ELEMENTWISE;
    if (are_elementwise) return is_arithmetic(fusion, n) && is_arithmetic(fusion, root);
    return is_plain_reduction(fusion, n) && is_plain_reduction(fusion, root) && reduce_alike(fusion, n, root) &&
           has_registers(fusion, n, root);
}

/* Whether the kernel of `root` may store node `n` too: nothing but that kernel reads it before, and nothing at other
 * places. */
static bool may_store(const weft_fusion *fusion, uint32_t n, uint32_t root)
{
    enum { MOST_STORED = 8 };
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n), *own = weft_graph_node(graph, root);
    uint32_t count = 2;
    for (uint32_t s = fusion->stored[root]; s != 0; s = fusion->stored[s - 1]) count++;
    return fusion->roles[root] == WEFT_ROLE_KERNEL && count <= MOST_STORED &&
           fusion->first_kernel[n] >= weft_fusion_kernel_read(root, true) && have_same_extents(fusion, node, own) &&
           are_alike(fusion, n, root) &&
           fusion->all_weights[root] + weft_fusion_kernel_weight(fusion, n) <= WEFT_FUSION_LARGEST_KERNEL;
}

bool weft_fusion_reads_arrays(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    bool any = fusion->materialized[n] || weft_fusion_is_leaf_memory(fusion, node);
    if (weft_op_id_of(node->op) == WEFT_OP_broadcast || any) return any;
    if (node->op->op_class != WEFT_CLASS_ELEMENTWISE) return node->op->op_class != WEFT_CLASS_LEAF;
    for (uint32_t i = 0; i < node->input_count; i++) any |= fusion->reads_arrays[node->inputs[i].node];
    return any;
}

enum { MOST_NEEDED = 64, MOST_TRIED = 16, FARTHEST = 512 };

/* What a kernel computes or reads at the points of its result, or of what it reduces, the results first. */
typedef struct needed {
    uint32_t count, result_count;
    uint32_t nodes[MOST_NEEDED];
    uint32_t last[MOST_NEEDED]; /* the last kernel, as in `first_kernel`, before which nothing reads those that are
                                   needed for what would be stored too */
} needed;

static void need(needed *all, uint32_t n, uint32_t last)
{
    uint32_t i = 0;
    while (i < all->count && all->nodes[i] != n) i++;
    if (i < all->count || i == MOST_NEEDED) return;
    all->nodes[all->count] = n;
    all->last[all->count++] = last;
}

/* What else is needed for the results. Values of nodes before `end`, whose roles are not known yet, may be stored too.
 */
static void find_needed(const weft_fusion *fusion, needed *all, uint32_t end)
{
    const weft_graph *graph = fusion->compiled->graph;
    all->result_count = all->count;
    for (uint32_t v = 0; v < all->count; v++) {
        uint32_t n = all->nodes[v], last = all->last[v];
        const weft_node *node = weft_graph_node(graph, n);
        bool is_result = v < all->result_count, is_stored = fusion->materialized[n] && !is_result;
        bool is_computed = (node->op->op_class == WEFT_CLASS_ELEMENTWISE && is_arithmetic(fusion, n)) ||
                           (is_result && is_plain_reduction(fusion, n));
        if (!is_computed || (is_stored && n >= end)) continue;
        if (is_stored && fusion->first_kernel[n] < last) last = fusion->first_kernel[n];
        for (uint32_t i = 0; i < node->input_count; i++) need(all, node->inputs[i].node, last);
    }
}

/* Whether the kernel of `root` reads or computes what node `n` needs, or the node itself, at the same points. */
static bool shares(const weft_fusion *fusion, const needed *of_n, uint32_t root)
{
    needed of_root = {.count = 0};
    need(&of_root, root, UINT32_MAX);
    for (uint32_t s = fusion->stored[root]; s != 0; s = fusion->stored[s - 1]) need(&of_root, s - 1, UINT32_MAX);
    find_needed(fusion, &of_root, 0);
    for (uint32_t i = 0; i < of_n->count; i++) {
        uint32_t n = of_n->nodes[i], k = 0;
        bool is_worth =
            i < of_n->result_count || fusion->reads_arrays[n] || fusion->weights[n] >= WEFT_FUSION_FUNCTION_WEIGHT;
        if (!is_worth || weft_fusion_kernel_read(root, true) > of_n->last[i]) continue;
        while (k < of_root.count && of_root.nodes[k] != n) k++;
        if (k < of_root.count) return true;
    }
    return false;
}

uint32_t weft_fusion_storing_kernel(const weft_fusion *fusion, uint32_t n)
{
    size_t count = fusion->space->is_limited ? 0 : fusion->compiled->graph->node_count, end = n + FARTHEST;
    needed of_n = {.count = 0};
    need(&of_n, n, UINT32_MAX);
    find_needed(fusion, &of_n, n);
    for (uint32_t root = n + 1, tried = 0; root < count && root < end && tried < MOST_TRIED; root++) {
        if (!may_store(fusion, n, root)) continue;
        if (shares(fusion, &of_n, root)) return root + 1;
        tried++;
    }
    return 0;
}

weft_role weft_fusion_role_of(const weft_fusion *fusion, uint32_t n, uint32_t root, bool shared)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool wanted_constant = fusion->materialized[n] && weft_op_id_of(node->op) == WEFT_OP_constant;
    if (wanted_constant || weft_fusion_is_leaf_memory(fusion, node)) return WEFT_ROLE_LEAF;
    if (node->op->op_class == WEFT_CLASS_LEAF && !fusion->materialized[n]) return WEFT_ROLE_INLINE;
    weft_role role = weft_fusion_role_of_root(fusion, n);
    bool updates = weft_indexing_updates(weft_op_id_of(node->op));
    bool scans = node->op->op_class == WEFT_CLASS_SCAN;
    if (role != WEFT_ROLE_KERNEL || fusion->materialized[n] || updates || scans) return role;
    if (weft_fusion_is_reduction(node)) {
        weft_reduction reduction;
        bool fits = !shared && !fusion->indexed[n] && root != 0 && takes_stages(fusion, root - 1);
        if (fits && needs_registers(fusion, n)) fits = fusion->products_of[root - 1] == n + 1;
        fits = fits && may_be_stage(fusion, n, &reduction) && !has_clashing_rows(fusion, n, &reduction);
        return fits ? WEFT_ROLE_STAGE : WEFT_ROLE_KERNEL;
    }
    if (is_repeated(fusion, n)) return WEFT_ROLE_KERNEL;
    if (is_second_product(fusion, n, root)) return WEFT_ROLE_KERNEL;
    return shared && fusion->weights[n] > WEFT_FUSION_CHEAP_TO_REPEAT ? WEFT_ROLE_KERNEL : WEFT_ROLE_INLINE;
}
