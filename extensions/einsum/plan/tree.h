/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_TREE_H
#define EINSUM_PLAN_TREE_H
/*
 * Trees of contraction that are rewritten in place. Leaves are nodes 0 to leaf_count - 1 as in the core, inner nodes
 * follow, the root is the last. Labels are renumbered so that a word of a set has labels of one extent, which turns the
 * logarithm of a size into counts of bits; where too many extents differ for that, sums over single labels do it.
 * Volumes, works and prices are held as plain numbers times 2^-shift, so that adding them up costs nothing.
 */
#include "core.h"

typedef struct einsum_node {
    uint32_t children[2]; /* of a leaf: nothing */
    uint32_t parent;      /* of the root: itself */
} einsum_node;

typedef struct einsum_measure {
    double size;   /* log2 of its elements */
    double volume; /* its elements */
    double work;   /* multiplications of the step that makes it */
    double price;  /* of that step, under the objective */
} einsum_measure;

/* Words first to end of a set have labels with this log2 of the extent. */
typedef struct einsum_class {
    uint32_t first, end;
    double weight;
} einsum_class;

/* parent = (child = (kept, lifted), sibling) is to become parent = (child = (kept, sibling), lifted). */
typedef struct einsum_rotation {
    uint32_t parent, child, kept, lifted, sibling;
} einsum_rotation;

/* What a rotation would make of its two steps. */
typedef struct einsum_change {
    einsum_measure child;
    double parent_work, parent_price;
} einsum_change;

enum { EINSUM_POWERS = 64 };

typedef struct einsum_tree einsum_tree;
/* log2 of: the result of the child, the work of the child, that of the parent. */
typedef void (*einsum_tree_scale)(const einsum_tree *tree, const einsum_rotation *rotation, double out_logs[3]);

/*
 * An objective for plain numbers; constants of TIME and COMBO. The overhead of a step is not in its price: orders have
 * the same number of steps, and differences shall be seen.
 */
typedef struct einsum_tariff {
    weft_einsum_minimize objective;
    double combo;
    double seconds[WEFT_MACHINE_RATES]; /* of a multiplication */
    double transfer;                    /* seconds of an element */
    double share;                       /* of the work, that SIZE and WRITE count on top: see einsum_tree_lead */
} einsum_tariff;

struct einsum_tree {
    const einsum_core *core;
    const einsum_score *score;
    uint32_t leaf_count, node_count, label_count, words;
    uint32_t *positions; /* by label of the core: its bit here */
    double *weights;     /* by position: log2 of the extent */
    size_t class_count;  /* 0: sums over single labels */
    einsum_class *classes;
    einsum_tree_scale scale;
    double shift, room; /* log2: by how much plain numbers may still grow */
    einsum_tariff tariff;
    double powers[EINSUM_POWERS]; /* 2^(i/64) */
    einsum_node *nodes;
    einsum_measure *measures; /* by node */
    uint64_t *legs;           /* by node */
    uint64_t *sliced;         /* labels that are left out of all sets */
    uint32_t *order;          /* inner nodes, parents first; as einsum_tree_list left it */
    uint32_t *stack;          /* for each node; free to use between calls */
    double *peaks;            /* by node: elements live at once while it is made */
};

weft_status *einsum_tree_init(einsum_tree *tree, einsum_arena *arena, const einsum_core *core,
                              const einsum_score *score) WEFT_MUST_USE;

/* From an order, without sliced labels; with those that there are. */
void einsum_tree_load(einsum_tree *tree, const einsum_pair *pairs);
void einsum_tree_link(einsum_tree *tree, const einsum_pair *pairs);
/* Fills sets, sizes and prices after nodes or sliced labels changed. */
void einsum_tree_refresh(einsum_tree *tree);
/* The same for one label that is to be left out, or no longer. */
void einsum_tree_slice(einsum_tree *tree, uint32_t label, bool sliced);
/* Fills `order`: of two children, the second one and what is under it first. */
void einsum_tree_list(einsum_tree *tree);
/* Fills the measure of a node from its set and those of its children. */
void einsum_tree_measure(einsum_tree *tree, uint32_t node);
/* To an order: of two subtrees, the one first that keeps what is live lower. */
void einsum_tree_save(einsum_tree *tree, einsum_pair *out_pairs);
/* To the order that goes from the last node of `order` to the first. */
void einsum_tree_write(einsum_tree *tree, einsum_pair *out_pairs);
/* Puts the child of a node first that makes less live while they are made, where they need `peaks` and leave `left`;
 * returns that. */
double einsum_tree_arrange(einsum_tree *tree, uint32_t node, const double peaks[2], const double left[2]);

/* All steps together in plain numbers: prices and overheads; for SIZE the largest volume, and as minor all work. */
einsum_cost einsum_tree_cost(const einsum_tree *tree);

/* Makes prices of SIZE and WRITE count a share of the work, which the cost leaves out; 0 after a refresh. */
void einsum_tree_lead(einsum_tree *tree, double share);

einsum_change einsum_tree_try(const einsum_tree *tree, const einsum_rotation *rotation);
void einsum_tree_rotate(einsum_tree *tree, const einsum_rotation *rotation, const einsum_change *change);

/* Of an inner node that is not the root; `side` 0 or 1 is the child that leaves it. */
static inline einsum_rotation einsum_tree_rotation(const einsum_tree *tree, uint32_t child, uint32_t side)
{
    const einsum_node *node = &tree->nodes[child], *above = &tree->nodes[node->parent];
    return (einsum_rotation){node->parent, child, node->children[1 - side], node->children[side],
                             above->children[above->children[0] == child]};
}

static inline uint64_t *einsum_tree_legs(const einsum_tree *tree, uint32_t node)
{
    return tree->legs + (size_t)node * tree->words;
}

/* Elements that a value takes in memory: leaves that are operands take none, nor does the result of all. */
static inline double einsum_tree_stored(const einsum_tree *tree, uint32_t node)
{
    bool given = node < tree->leaf_count && !einsum_core_makes(tree->core, node);
    return given || node + 1 == tree->node_count ? 0 : tree->measures[node].volume;
}

/* What a step costs, of plain numbers. */
static inline double einsum_tariff_price(const einsum_tariff *tariff, double a, double b, double result, double work)
{
    switch (tariff->objective) {
    case WEFT_EINSUM_TIME: {
        double largest = a > b ? a : b;
        if (result > largest) largest = result;
        double unit = largest * (1 - 1e-6); /* rounding brings no extent below a bound */
        double compute = work * tariff->seconds[(work >= 4 * unit) + (work >= 16 * unit) + (work >= 64 * unit)];
        double move = (a + b + result) * tariff->transfer;
        return compute > move ? compute : move;
    }
    case WEFT_EINSUM_SIZE:
    case WEFT_EINSUM_WRITE: return result + tariff->share * work;
    case WEFT_EINSUM_COMBO: return work + tariff->combo * result;
    case WEFT_EINSUM_FLOPS: break;
    }
    return work;
}

/* 2^x, to 1e-10; what a double cannot hold is brought into its range. */
static inline double einsum_tree_power(const einsum_tree *tree, double x)
{
    x = x < -1000 ? -1000 : x > 1000 ? 1000 : x;
    int64_t steps = (int64_t)(x * EINSUM_POWERS + 1024 * EINSUM_POWERS + 0.5);
    double rest = (x - (double)steps / EINSUM_POWERS + 1024) * 0.69314718055994530942;
    union {
        uint64_t bits;
        double value;
    } scale = {.bits = (uint64_t)(steps / EINSUM_POWERS - 1) << 52};
    return scale.value * tree->powers[steps % EINSUM_POWERS] * (1 + rest * (1 + rest * (0.5 + rest * (1.0 / 6))));
}
#endif
