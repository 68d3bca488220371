/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_BOUND_VARIANT_H
#define WEFT_RUNTIME_STEP_BOUND_VARIANT_H
/*
 * A variant bound to one set of shapes and strides: every formula evaluated, every size known, memory planned. What is
 * left for a run is to put pointers in place. Immutable once made, except for what variant_entry.c says.
 */
#include <stdatomic.h>
#include <weft/executor.h>
#include "runtime/data/block.h"
#include "runtime/engine/gemm.h"
#include "runtime/base/pool.h"
#include "runtime/engine/sort.h"
#include "runtime/program/registry.h"
#include "runtime/program/variant.h"

/* Bytes that an array touches, counted from its data pointer; low == high when there are none. */
typedef struct weft_span {
    int64_t low, high;
} weft_span;

/* A place in a frame that has the pointer of an ALIAS; `view` is SIZE_MAX except for host steps. */
typedef struct weft_alias_use {
    uint32_t buffer;
    size_t pointer, view;
} weft_alias_use;

/*
 * Steps that run side by side. A sequence of steps (the program's, or a region's) is cut into phases that follow each
 * other; a phase has branches that need nothing of each other, each of them runs its steps one after another.
 */
typedef struct weft_branch {
    size_t count;
    const uint32_t *steps; /* numbers, in the order in which they run */
} weft_branch;

typedef struct weft_phase {
    size_t branch_count; /* one: its steps have all threads; more: each has one */
    const weft_branch *branches;
} weft_phase;

typedef struct weft_phases {
    size_t count;
    const weft_phase *phases;
} weft_phases;

enum { WEFT_STRIP_ALIGNMENT = 64 };

static inline int64_t weft_strip_aligned(int64_t bytes)
{
    return (bytes + WEFT_STRIP_ALIGNMENT - 1) / WEFT_STRIP_ALIGNMENT * WEFT_STRIP_ALIGNMENT;
}

/* How one of the steps has the rows of a strip. */
typedef struct weft_strip_step {
    int64_t rows, iterations; /* KERNEL: rows of each iteration; 0: iterations of each row */
    /* GEMM: rows run over the batch axes of C up to this one, or, if it is batch_rank, over all and over one side
     * inside of them: n or m. Those of the other axes are all of a row. */
    size_t innermost;
    bool by_columns; /* GEMM: that side is n; B has rows, A none unless they run over batch axes alone */
    size_t cut;      /* GEMM: the batch axis that is cut, or batch_rank: n or m is */
    /* GEMM: row i of the axis that is cut is not used, in C, from column i + `hidden` on; and one number, in A, from
     * term i + `zero` on, often zero. INT64_MAX: all are used, none is known to be the same. */
    int64_t hidden, zero;
    int64_t panels; /* GEMM: where in the memory of a strip B is packed; 0: nowhere */
} weft_strip_step;

/*
 * Steps that run strip by strip. Rows of their intermediates are numbered through; a strip has one index of each axis
 * outside of the one that is cut, one of `parts` runs of units of that one, and all indices of those inside.
 */
typedef struct weft_strips {
    size_t count; /* of steps, from this one on */
    const weft_strip_step *steps;
    size_t intermediate_count;
    const uint32_t *intermediates; /* buffers; they have no memory but that of a strip */
    int64_t *offsets, *pitches;    /* of each: bytes in the memory of a strip, and from row to row */
    int64_t extent, inner, unit;   /* indices of the axis that is cut; rows of each of them; indices of a unit */
    int64_t parts, all;            /* strips of the axis, and of all */
    int64_t bytes;      /* of the memory of a strip: the pointers of all steps, intermediates, and packed operands of
                           products, each after WEFT_STRIP_ALIGNMENT bytes that begin with the address of what is packed */
    int64_t most_bytes; /* that this may be: strips take no more than an intermediate would */
    int64_t threads;    /* that have such memory */
} weft_strips;

typedef struct weft_bound_step {
    const weft_step *step;
    const weft_resolved *resolved;
    bool idle;                        /* of a fold without iterations: never runs, and its extents may be anything */
    const weft_phases *phases;        /* of the sequence of steps that begins here; NULL: one after another */
    size_t first_pointer, first_view; /* of the step, in a frame */
    /* KERNEL */
    const weft_kernel_code *code;
    int64_t *scalars;
    int64_t *dry_run; /* scalars with which it writes nothing; NULL: it is not guarded */
    int64_t iterations;
    int64_t grain; /* at least `iterations`: too little for the pool */
    /* GEMM */
    weft_gemm_call gemm;
    weft_gemm_plan *plan; /* NULL: the call is empty */
    /* SORT */
    weft_sort_call sort;
    bool is_tight; /* it takes the least memory */
    /* HOST */
    const weft_attr *attrs;
    /* SORT, HOST */
    int64_t scratch_bytes, scratch_offset; /* and KERNEL, GEMM with strips */
    weft_strips *least_strips;             /* those of one thread, which take the least memory */
    weft_strips *strips;                   /* this step and some that follow run in them; NULL: it runs alone */
    /* REGION */
    weft_alias_use *uses; /* of what it carries, in the steps that belong to it */
    size_t use_count;
} weft_bound_step;

typedef struct weft_output_shape {
    weft_dtype dtype;
    size_t rank;
    int64_t *shape;
    size_t bytes;
} weft_output_shape;

typedef struct weft_frame weft_frame;

typedef struct weft_bound_variant {
    const weft_allocator *allocator; /* this and the next three are the executor's */
    weft_pool *pool;
    weft_block_store *blocks;
    struct weft_queues *queues;
    weft_executor *executor; /* for host steps, as the next one */
    const weft_registry *extensions;
    const weft_runtime *runtime;
    bool is_apart;                    /* the host does not see its memory */
    const weft_runtime *host_runtime; /* that works on memory of the CPU: for the runs of kernels of extensions */
    const weft_program *program;      /* lives during runs only */
    size_t input_count, output_count;
    const weft_variant *variant;
    weft_arena arena; /* everything below */
    int64_t *key;     /* of the calls, in full */
    size_t key_count;
    uint64_t key_hash;
    int64_t *values; /* of the variant's formulas */
    weft_bound_step *steps;
    int64_t *offsets; /* of each buffer that is a temporary, in the arena of a run */
    int64_t arena_bytes;
    size_t block_bytes; /* of the largest block that a thread acquires for products; 0: none */
    weft_span *input_spans, *output_spans;
    weft_output_shape *outputs;
    size_t pointer_count, view_count; /* of a frame; there are views where functions of others are called */
    weft_view *views;                 /* of the host steps, without data */
    /* variant_entry.c: written under its lock, except for `marked`; the atomic ones are read without */
    struct weft_bound_variant *older;
    weft_frame *frames;         /* idle */
    size_t running;             /* runs, and frames at hand for the next */
    _Atomic uint32_t runs_left; /* until it is specialised; 0: that was asked for, or never will be */
    uint32_t patience;          /* what runs_left began with */
    atomic_bool is_specialized; /* a variant in the executor's cache is used in its place, while it is there */
    atomic_bool kept;
    atomic_bool marked; /* used since it came first in its list */
} weft_bound_variant;

/* OUT_OF_RANGE: what three strings name, of that type, has too many bytes. An extent without a value is
 * WEFT_FORMULA_NONE. */
weft_status *weft_bound_variant_too_large(const weft_bound_variant *bound, const char *before, const char *name,
                                          const char *after, weft_output_shape shape) WEFT_MUST_USE;

/* The run was cancelled `when` ("before", "in") step `number`. */
weft_status *weft_bound_cancelled(const weft_bound_variant *bound, const char *when, size_t number) WEFT_MUST_USE;

static inline bool weft_has_zero(const int64_t *extents, size_t count)
{
    size_t i = 0;
    while (i < count && extents[i] != 0) i++;
    return i < count;
}

/* Zeroed memory that lives as long as the binding; NULL: out of memory. */
void *weft_bound_take(weft_bound_variant *bound, size_t count, size_t size);
/* Values of slots, in memory as above. */
int64_t *weft_bound_gather(weft_bound_variant *bound, const uint32_t *slots, size_t count);
/* OUT_OF_RANGE with the name of `step` unless the slots, which it needs, have values. */
weft_status *weft_bound_check(const weft_bound_variant *bound, const weft_step *step, const uint32_t *slots,
                              size_t count) WEFT_MUST_USE;

/* The value of a slot that nothing depends on but time: the largest where it overflows. */
static inline int64_t weft_bound_variant_estimate(const weft_bound_variant *bound, uint32_t slot)
{
    return bound->values[slot] == WEFT_FORMULA_NONE ? INT64_MAX : bound->values[slot];
}
#endif
