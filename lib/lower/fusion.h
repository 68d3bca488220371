/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_FUSION_H
#define WEFT_LIB_LOWER_FUSION_H
/*
 * Fusion: which nodes of a program get memory, which engine computes each of those, and which are fused into the
 * kernels that read them. It depends on the graph, the policy, the width of vectors, the number of threads and the
 * symbols whose values are known, never on layouts. Bits do not depend on it: the order of every sum is fixed by the
 * graph alone (numerics.h).
 */
#include <weft/program.h>
#include "lib/lower/space.h"
#include "lib/pass/compile.h"

typedef enum weft_role {
    WEFT_ROLE_DEAD,
    WEFT_ROLE_INLINE, /* computed where it is read */
    WEFT_ROLE_STAGE,  /* a reduction inside the one kernel that reads it */
    WEFT_ROLE_LEAF,   /* an input or a constant of many elements: has memory already */
    WEFT_ROLE_STORED, /* computed and stored by the kernel of another node, its root */
    WEFT_ROLE_KERNEL, /* root of a generated kernel */
    WEFT_ROLE_GEMM,   /* a dot for the library, or a permute of one, which computes it in that order */
    WEFT_ROLE_SORT,   /* sorted by the runtime */
    WEFT_ROLE_HOST,   /* an extension's kernel */
    WEFT_ROLE_REGION  /* fold, while or cond: a step around those of its regions */
} weft_role;

typedef struct weft_fusion {
    const weft_allocator *allocator;
    const weft_compiled *compiled;
    weft_product_policy product_policy;
    uint8_t *roles;         /* weft_role of each node */
    uint8_t *materialized;  /* nodes that must have memory; grows, see weft_fusion_materialize */
    uint8_t *keeps_order;   /* permutes that are not computed with the product they permute; grows, see below */
    uint8_t *fused_row;     /* nodes fused with a reduction along the contiguous axis that may be a stage */
    uint8_t *starts_no_row; /* reductions along it that have a kernel: what reads them joins no row; grows */
    uint8_t *reachable;     /* nodes of which one element can be computed at a data-dependent index */
    uint8_t *indexed;       /* nodes of which that is done */
    uint8_t *compared;      /* pads whose bounds a reduction of windows compares with what it reads */
    uint8_t *counted;       /* nodes computed from positions and single constants alone */
    uint8_t *readers;       /* what is computed from each node, as far as products want to know (fusion.c) */
    uint32_t *ordered_by;   /* of products whose memory has the order of a permute that is read: node + 1; 0: others */
    uint32_t products;      /* dots */
    uint32_t *roots; /* for INLINE, STAGE and STORED: the one root that reads it, root node + 1; or 0: several do */
    uint32_t *first_reader;  /* node + 1, or 0 */
    uint32_t *first_kernel;  /* the first that reads each node, weft_fusion_kernel_read; UINT32_MAX: none */
    uint32_t *stored;        /* by root: the first node that its kernel stores beside its result, + 1, or 0; by such a
                                node: the next one */
    uint32_t *all_weights;   /* by root: operations for an element of all that its kernel stores */
    uint8_t *plain;          /* nodes that a kernel computes without stages, checks and bounds */
    uint8_t *reads_arrays;   /* nodes of which an element takes reading one of an array of as many */
    uint32_t *weights;       /* about how many scalar operations recomputing an element costs */
    uint32_t *merged_for;    /* the node whose cost each was last counted for (fusion.c), + 1 */
    double *recompute_count; /* how often a kernel that reads the node would compute each of its elements */
    uint32_t *products_of;   /* by root: the one product that is a stage of its kernel, node + 1, or 0 */
    uint64_t *inner;         /* the axes of each node that are read along a reduction of the kernel that reads it */
    uint32_t fills;          /* so far */
    bool changed;            /* something was materialized, or keeps its order, since the last fill */
    weft_arena arena;
    weft_expr_context *exprs;    /* for sizes: those of the graph are read by other threads */
    weft_space *space;           /* of `exprs`: sizes as far as they are known */
    struct weft_fusion *regions; /* of all regions of the live nodes, linked through `next` */
    struct weft_fusion *next;
    uint32_t node, region; /* of a region's fusion plan: the node, and which of its regions, counted from 0 */
} weft_fusion;

/* Of `space` vector_bytes, multiplies_bytes, is_limited, threads and fixed, which outlives the plan. */
weft_status *weft_fusion_init(weft_fusion *fusion, const weft_allocator *allocator, const weft_compiled *compiled,
                              weft_product_policy product_policy, weft_space space) WEFT_MUST_USE;
void weft_fusion_finish(weft_fusion *fusion);
/* Assigns the roles, in regions too. */
weft_status *weft_fusion_fill(weft_fusion *fusion) WEFT_MUST_USE;
/* Whether something was materialized, or keeps its order, since the last fill, in regions too. */
bool weft_fusion_has_changed(const weft_fusion *fusion);
/* The fusion plan of region number `region` of node `node`. */
weft_fusion *weft_fusion_of_region(const weft_fusion *fusion, uint32_t node, uint32_t region);
/* Forces a node into memory: called when it cannot be computed in place; the fusion plan is then filled again. */
void weft_fusion_materialize(weft_fusion *fusion, uint32_t node);

/* Forces a permute of role GEMM, or of which a product has the order in memory, which would make the product slow, to
 * be a kernel after it. */
void weft_fusion_keep_order(weft_fusion *fusion, uint32_t permute);

/* The same for a STAGE. When the fusion plan has been filled many times, for other stages of the same kernel too: twice
 * as many with each fill. */
void weft_fusion_materialize_stage(weft_fusion *fusion, uint32_t node);

/* The dot that a node of role GEMM is, or permutes. */
static inline uint32_t weft_fusion_dot(const weft_fusion *fusion, uint32_t node)
{
    const weft_node *root = weft_graph_node(fusion->compiled->graph, node);
    return weft_op_id_of(root->op) == WEFT_OP_dot ? node : root->inputs[0].node;
}

/* Whether a node is a dot that the permute which reads it computes. */
static inline bool weft_fusion_is_permuted(const weft_fusion *fusion, uint32_t node)
{
    return fusion->roles[node] == WEFT_ROLE_INLINE &&
           weft_op_id_of(weft_graph_node(fusion->compiled->graph, node)->op) == WEFT_OP_dot;
}

/* The axes of a node, outermost first, in the order in which they lie in its memory; NULL: in their own. */
static inline const int64_t *weft_fusion_order(const weft_fusion *fusion, uint32_t node)
{
    uint32_t permute = fusion->ordered_by[node];
    return permute == 0 ? NULL : weft_graph_node(fusion->compiled->graph, permute - 1)->attrs[0].ints.items;
}

/* What `first_kernel` says of a kernel that reads a node. `in_place`: only at the point of its own result, or of what
 * it reduces. */
static inline uint32_t weft_fusion_kernel_read(uint32_t root, bool in_place)
{
    return 2 * root + in_place;
}

/* How many elements a shape has, over fusion->exprs. */
weft_expr weft_fusion_count(const weft_fusion *fusion, weft_shape shape);

static inline bool weft_role_has_memory(uint8_t role)
{
    return role >= WEFT_ROLE_LEAF;
}
#endif
