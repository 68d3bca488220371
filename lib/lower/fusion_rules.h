/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_FUSION_RULES_H
#define WEFT_LIB_LOWER_FUSION_RULES_H
/*
 * The rules that a fill of the fusion plan follows: what a value costs, who computes it, and what its operands need
 * memory for. They read the plan as far as it is filled: weights from the first node on, roles from the last.
 */
#include "lib/graph/indexing.h"
#include "lib/lower/fusion.h"
#include "lib/lower/numerics.h"

/* A transcendental function in operations. */
#define WEFT_FUSION_FUNCTION_WEIGHT 12u
/* Recomputing up to this many operations in several kernels is cheaper than a trip through memory. */
#define WEFT_FUSION_CHEAP_TO_REPEAT 16u

/* A kernel larger than this compiles slowly and spills. */
#define WEFT_FUSION_LARGEST_KERNEL 400u

/* What is computed from a node: a product, through whatever is in between; an elementwise op, at once. */
enum { WEFT_FUSION_READ_BY_PRODUCT = 1, WEFT_FUSION_READ_BY_ELEMENTWISE = 2 };

static inline bool weft_fusion_is_reduction(const weft_node *node)
{
    return node->op->op_class == WEFT_CLASS_REDUCE || node->op->op_class == WEFT_CLASS_PRODUCT;
}

/* Ops that read operand 0 at data-dependent positions. */
static inline bool weft_fusion_is_gather(const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    return weft_indexing_first(id) != 0 && !weft_indexing_updates(id);
}

/* ---- what a value costs (fusion_weight.c) ---- */

/* Whether `count` values of that weight had better be stored than computed `times` times each. */
bool weft_fusion_is_worth_storing(uint64_t count, uint32_t weight, double times);
/* What a kernel that computes the node costs for each element. */
uint32_t weft_fusion_kernel_weight(const weft_fusion *fusion, uint32_t node);
/* From the first node to the last: the cost of recomputing each, memory for those that would make a kernel too large,
 * and which follow stages. */
void weft_fusion_weigh(weft_fusion *fusion, const uint8_t *live);
/* Whether an elementwise value that several kernels read would be stored only because values that it repeats are
 * costly: then it stores those, which have fewer elements. */
bool weft_fusion_stores_repeated(weft_fusion *fusion, uint32_t node);

/* ---- who computes it (fusion_role.c) ---- */

bool weft_fusion_is_leaf_memory(const weft_fusion *fusion, const weft_node *node);
/* The value under views that only rename axes and strides. */
uint32_t weft_fusion_under_views(const weft_graph *graph, uint32_t node);
/* Bytes from element to element along an axis, in row-major memory; 0: they are not known. */
int64_t weft_fusion_pitch(const weft_fusion *fusion, const weft_type *type, size_t axis);
/* Of a node that has memory. */
weft_role weft_fusion_role_of_root(const weft_fusion *fusion, uint32_t node);
/* Whether a kernel that reads the reduction could compute it as a stage along memory: a kernel with stages across it
 * walks memory in short runs, so its consumers should not be fused into it. */
bool weft_fusion_starts_row(const weft_fusion *fusion, uint32_t node);
/* The operand that is a large product, or a view of one, and may be a stage of a kernel, + 1; or 0. */
uint32_t weft_fusion_product_read(const weft_fusion *fusion, const weft_node *node);
/* The reduction whose kernel may store the node, a function that others read too, as it takes it in: node + 1;
 * or 0. */
uint32_t weft_fusion_storing_reduction(const weft_fusion *fusion, uint32_t node);
/* The node whose kernel may store the node beside its own result: an elementwise one that takes it in or shares
 * operands with it, or of a reduction one that reduces the same in the same order: that node + 1; or 0. */
uint32_t weft_fusion_storing_kernel(const weft_fusion *fusion, uint32_t node);
/* Whether a kernel that reads the node computes it without stages, checks and bounds, or reads it from memory. */
bool weft_fusion_is_plain(const weft_fusion *fusion, uint32_t node);
/* Whether a kernel that computes elements of the node reads as many of arrays, or of one that it is. */
bool weft_fusion_reads_arrays(const weft_fusion *fusion, uint32_t node);
/* `root` is the one that reads the node, + 1, or 0; `shared`: several do. */
weft_role weft_fusion_role_of(const weft_fusion *fusion, uint32_t node, uint32_t root, bool shared);

/* ---- what has memory because of who reads it (fusion_memory.c) ---- */

/* What an engine or an op with random access reads must be in memory, and so must a costly value that a broadcast would
 * repeat; values that follow a stage are computed as often as the stage. */
void weft_fusion_materialize_operands(weft_fusion *fusion, uint32_t node);
/* Whether several kernels would read the elements of a broadcast from memory only because what is broadcast is costly:
 * then that is stored instead, which has fewer elements. */
bool weft_fusion_stores_operand(const weft_fusion *fusion, uint32_t node);
#endif
