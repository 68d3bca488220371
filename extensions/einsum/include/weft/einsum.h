/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_EINSUM_H
#define WEFT_EINSUM_H
/*
 * Einsum: products of tensors summed over labels, in a chosen order of pairwise contractions. An extension, on the
 * public interface alone; see its README.md for the grammar and the meaning.
 *
 * Every tracing function makes one node, "einsum.einsum". Compiling lowers it to products, sums and movement when its
 * extents are known or its order does not depend on them; otherwise it stays, and is planned and compiled at run time,
 * once for each set of extents. So are its derivatives then, "einsum.derivative", with the order of the contraction;
 * under a memory limit one of order n may take 2^n times as much.
 */
#include <weft/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The table. Tracing registers it with the graph; register it with executors that weft_einsum_arrays is called with, or
 * that run nodes whose extents are symbolic or that have a memory limit. */
const weft_extension *weft_einsum_extension(void);

/* ---- orders ---- */

typedef enum weft_einsum_order {
    WEFT_EINSUM_AUTO,   /* found by the planner from the extents */
    WEFT_EINSUM_LEFT,   /* ((0 1) 2) 3 ... */
    WEFT_EINSUM_PATH,   /* options.path */
    WEFT_EINSUM_NESTED, /* the parentheses of the expression, or options.nested */
    WEFT_EINSUM_TREE,   /* options.tree */
    WEFT_EINSUM_SSA     /* options.path, of values instead of positions */
} weft_einsum_order;

typedef enum weft_einsum_minimize {
    /* The seconds predicted by a model of the machine: for each step, dispatch_seconds plus the longer of its
     * multiplications over the rate of products and the bytes of its operands and result over the bandwidth. */
    WEFT_EINSUM_TIME,
    WEFT_EINSUM_FLOPS, /* multiplications, then the largest intermediate */
    WEFT_EINSUM_SIZE,  /* the largest intermediate, then multiplications */
    WEFT_EINSUM_WRITE, /* the elements of all intermediates, then the largest */
    WEFT_EINSUM_COMBO  /* multiplications, and 64 more for each element of an intermediate */
} weft_einsum_minimize;

typedef struct weft_einsum_plan weft_einsum_plan;

/* How far a search is. */
typedef struct weft_einsum_progress {
    size_t size;        /* of this struct, as the library knows it */
    double seconds;     /* since it began */
    double budget;      /* options.time_budget; 0 where moves count */
    double log10_flops; /* weft_einsum_plan_log10_flops of the best order so far, without slices; INFINITY before there
                         * is one */
    /* What found that order: "greedy", "sweeps", "elimination", "bisection", "annealing", or "exact" if slices are
     * chosen for an optimal order; "" before. A greedy order exists at the first call. Orders found by other threads
     * are reported when their round ends, which may take half of the budget, and unfinished methods are not: a
     * cancelled search may return a better order than was last reported */
    const char *found_by;
} weft_einsum_progress;

/* Called about ten times a second during a search, on the thread that requested the plan. */
typedef struct weft_einsum_watch {
    void *self;
    void (*progress)(void *self, const weft_einsum_progress *progress); /* not NULL */
} weft_einsum_watch;

/*
 * How to contract; zero-initialise for AUTO, which NULL stands for too. The planner's options are part of the key of
 * its cache, except `threads`, `cancelled` and `watch`.
 */
typedef struct weft_einsum_options {
    size_t size; /* sizeof(weft_einsum_options); 0 stands for it */
    weft_einsum_order order;
    weft_einsum_minimize minimize; /* AUTO: what the planner makes small */
    /* PATH: positions a0, b0, a1, b1, ... in a list of values that loses both and gets the result at its end. SSA:
     * values a0, b0, ..., operand i being value i and the result of step k value operand count + k */
    weft_ints path;
    const char *nested;           /* NESTED: NULL, or a tree of operand numbers: "(0,2),1" */
    const weft_einsum_plan *tree; /* TREE: a plan of the same expression and extents, sliced as that is */
    /* All but AUTO and TREE: labels (code points or numbers; -1 - i for axis i of the ellipsis) to slice: a loop over
     * their elements with one accumulator, so that no intermediate has them. f16 and bf16 accumulate in f32 */
    weft_ints sliced;
    /* AUTO: how long to search. The order depends on the seed, not on the number of threads. */
    uint64_t seed;
    uint64_t moves; /* changes of the order that are tried; 0: in proportion to the time that contracting takes, for a
                     * minute at most */
    /* Seconds, above 0 and up to 1e9, in place of moves: the order then depends on the machine and its load too. */
    double time_budget;
    size_t threads;              /* 0: one for each processor */
    const weft_machine *machine; /* TIME; NULL: weft_machine_reference, so that orders do not depend on the host */
    /* NULL: never. weft_einsum_plan_create and its _labels end the search when it becomes true, with the best order so
     * far; CANCELLED where none keeps the memory limit yet. weft_einsum_arrays is CANCELLED, as
     * weft_executor_run is: no order of an unfinished search is kept. Nodes do not read it: use weft_run.cancelled for
     * them. */
    const volatile bool *cancelled;
    weft_dtype dtype; /* of plans made without tensors; WEFT_BOOL, which is zero, means WEFT_F32 */
    /* AUTO: limit on the bytes of live intermediates, without operands and result; 0: none. Labels are sliced to meet
     * it, see README.md. Arrays and nodes meet it as weft_run.memory_limit counts, or are OVER_LIMIT and leave the
     * result alone; plans too, but they count elements of intermediates without the copies that steps may make. The
     * search is repeated a few times if a program needs more, so a limit may be refused although a smaller one is met.
     * A node with a limit is contracted at run time, even if its extents are known. */
    size_t memory_limit;
    /* Filled in by weft_einsum_arrays, as weft_run.report is; others do not read it. After OVER_LIMIT peak_bytes is the
     * smallest requirement that was found, which may not be found again under another limit, or 0 if the planner found
     * no order at all. May be NULL. */
    weft_report *report;
    const weft_einsum_watch *watch; /* of plans, like `cancelled`: called with the progress; NULL: none */
} weft_einsum_options;

/* ---- tracing ---- */

/* Contracts `operands` as `text` says. Errors stick to the graph; without an operand there is no graph, and the result
 * is a failed tensor. */
weft_tensor weft_einsum(const char *text, weft_tensors operands, const weft_einsum_options *options);
/* The same with labels that are non-negative integers: operand i has labels[i], one for each axis. */
weft_tensor weft_einsum_labels(weft_tensors operands, const weft_ints *labels, weft_ints output,
                               const weft_einsum_options *options);
/* Sums products over pairs of axes, axes_a[i] of a with axes_b[i] of b, of equal extents; negative ones count from the
 * end. The result has the other axes of a, then those of b; without pairs it is the outer product. */
weft_tensor weft_einsum_tensordot(weft_tensor a, weft_tensor b, weft_ints axes_a, weft_ints axes_b);

/* ---- arrays ---- */

/*
 * Contracts arrays immediately, on the default runtime of `executor`, with which the extension must be registered
 * (NOT_REGISTERED). A program is compiled for each new combination of text, options, extents and dtype, and cached like
 * those of symbolic nodes. `*result` as in weft_run.outputs: a given array is written to; NULL becomes a new array,
 * which the caller releases. All operands have one dtype (DTYPE_MISMATCH). Errors of the text and the order are those
 * of weft_einsum.
 */
weft_status *weft_einsum_arrays(weft_executor *executor, const char *text, size_t operand_count,
                                weft_array *const *operands, const weft_einsum_options *options,
                                weft_array **result) WEFT_MUST_USE;

/* ---- plans ---- */

/* An order for operands of known extents, shapes[i] for operand i, and what it costs. `allocator` may be NULL. */
weft_status *weft_einsum_plan_create(const weft_allocator *allocator, const char *text, size_t operand_count,
                                     const weft_ints *shapes, const weft_einsum_options *options,
                                     weft_einsum_plan **out_plan) WEFT_MUST_USE;
/* The same for labels that are non-negative integers, as weft_einsum_labels takes them. */
weft_status *weft_einsum_plan_create_labels(const weft_allocator *allocator, size_t operand_count,
                                            const weft_ints *labels, weft_ints output, const weft_ints *shapes,
                                            const weft_einsum_options *options,
                                            weft_einsum_plan **out_plan) WEFT_MUST_USE;
/* The plan, with its cost, of the node that made `tensor`, by weft_einsum or .weft text. An AUTO order is the one that
 * compiling finds unless it has a time budget; UNSUPPORTED if it is only found at run time (three or more operands,
 * some extents symbolic). With other orders a symbolic extent counts as one element, and is -1 in shapes. The graph
 * must outlive the plan. INVALID_ARGUMENT if it is not an einsum. */
weft_status *weft_einsum_plan_create_tensor(const weft_allocator *allocator, weft_tensor tensor,
                                            weft_einsum_plan **out_plan) WEFT_MUST_USE;
void weft_einsum_plan_destroy(weft_einsum_plan *plan);
/* Time of the steps predicted by the model of the machine, in seconds; INFINITY if a double cannot hold it. */
double weft_einsum_plan_seconds(const weft_einsum_plan *plan);
/* Base-10 logarithm of the same, which is always finite except for -INFINITY where there is no step. */
double weft_einsum_plan_log10_seconds(const weft_einsum_plan *plan);
/* Base-10 logarithm of the scalar multiplications over all steps; 0 for at most one. Additions do not count, unlike in
 * the flops of profiles, where a product of m x k by k x n has 2mnk. Here, in sizes and in what lives at once all
 * extents count as one where one is zero: then nothing is multiplied, and any memory limit is kept. */
double weft_einsum_plan_log10_flops(const weft_einsum_plan *plan);
/* Base-2 logarithm of the elements of the largest result of a step, the last included; of the output when there is no
 * step. */
double weft_einsum_plan_log2_size(const weft_einsum_plan *plan);
/* Base-2 logarithm of the most elements of intermediates, copies of them and the result left out, that live at once;
 * -INFINITY where there are none. */
double weft_einsum_plan_log2_peak(const weft_einsum_plan *plan);
/* Base-10 logarithm of the multiplications of all iterations together, relative to the same order without slices; 0
 * without slices. */
double weft_einsum_plan_log10_overhead(const weft_einsum_plan *plan);
/* The path as text, "0-1,0-1"; "" for one operand. */
const char *weft_einsum_plan_order(const weft_einsum_plan *plan);
/* The path as options take it; opt_einsum writes orders so. */
weft_ints weft_einsum_plan_path(const weft_einsum_plan *plan);
/* The order as options take it for SSA; cotengra writes orders so. */
weft_ints weft_einsum_plan_ssa(const weft_einsum_plan *plan);
/* The order as a tree of operand numbers, as options.nested takes it: "((0,2),1)"; "0" for one operand. */
const char *weft_einsum_plan_nested(const weft_einsum_plan *plan);
/* The expression as parsed: "ij,jk->ik". */
const char *weft_einsum_plan_equation(const weft_einsum_plan *plan);
/* Labels that are done one element at a time, as options take them; none unless options asked for them, or for a limit
 * of memory that the order would not keep without. Costs of steps are those of all iterations together, sizes those of
 * one. */
weft_ints weft_einsum_plan_sliced(const weft_einsum_plan *plan);
/* The shape of the result. */
weft_ints weft_einsum_plan_shape(const weft_einsum_plan *plan);

/* What is multiplied: the operands, without extents of one, repeats and labels that nothing else has, then the result
 * of each step. */
typedef struct weft_einsum_value {
    size_t a, b;        /* of a result: the values that its step joined */
    size_t rank;        /* labels it has */
    size_t open;        /* of them, those of symbolic extent */
    size_t sliced;      /* labels that its step does one element at a time, summed ones among them */
    double log2_size;   /* of its elements, of one iteration if there are sliced labels */
    double log10_flops; /* of the multiplications of its step, of all iterations; 0 of an operand */
} weft_einsum_value;

size_t weft_einsum_plan_operand_count(const weft_einsum_plan *plan);
/* The number of distinct labels with extents over one. */
size_t weft_einsum_plan_label_count(const weft_einsum_plan *plan);
/* Base-2 logarithm of the product of the extents of all labels: of the passes of one loop over everything. */
double weft_einsum_plan_log2_points(const weft_einsum_plan *plan);
/* Value i < operand count is operand i, value operand count + k the result of step k. Others, here and below, are
 * scalars that no step makes. */
weft_einsum_value weft_einsum_plan_value(const weft_einsum_plan *plan, size_t value);
/* Writes the labels of a value as expressions do, "ik" or "[0 7]", those of an ellipsis as "...[0]". Writes at most
 * `size` bytes with the terminating NUL, like snprintf; returns the length of the whole text. */
size_t weft_einsum_plan_print_labels(const weft_einsum_plan *plan, size_t value, char *out_text, size_t size);
/* The same of the labels that its step does one element at a time. */
size_t weft_einsum_plan_print_sliced(const weft_einsum_plan *plan, size_t value, char *out_text, size_t size);

/* ---- caches of weft_einsum_arrays and of nodes contracted at run time, one set for each executor ---- */

typedef enum weft_einsum_cache {
    WEFT_EINSUM_PLANS,    /* orders AUTO found: by expression, what the planner is told, and extents */
    WEFT_EINSUM_PROGRAMS, /* compiled contractions: by expression, order, extents and dtype */
    /* The last order AUTO found, by the same without extents of labels in the output: a hit is one taken for extents
     * that it was not found for, a miss one that is found in full */
    WEFT_EINSUM_ORDERS
} weft_einsum_cache;

/* Counters of one cache. NOT_REGISTERED unless the extension is registered with `executor`. */
weft_status *weft_einsum_cache_read(const weft_executor *executor, weft_einsum_cache cache,
                                    weft_cache_counters *out_counters) WEFT_MUST_USE;
/* Keeps at most `capacity` entries, the most recently used. The default is 256; 0 keeps none. */
weft_status *weft_einsum_cache_set_capacity(const weft_executor *executor, weft_einsum_cache cache,
                                            size_t capacity) WEFT_MUST_USE;
/* Drops all entries of all of them; the other counters stay. */
weft_status *weft_einsum_cache_clear(const weft_executor *executor) WEFT_MUST_USE;

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_einsum(...) WEFT_LOCATED("einsum", weft_einsum(__VA_ARGS__))
#define weft_einsum_labels(...) WEFT_LOCATED("einsum_labels", weft_einsum_labels(__VA_ARGS__))
#define weft_einsum_tensordot(...) WEFT_LOCATED("einsum_tensordot", weft_einsum_tensordot(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
