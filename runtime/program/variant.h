/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_VARIANT_H
#define WEFT_RUNTIME_PROGRAM_VARIANT_H
/*
 * A variant: the flat table of steps that runs one program on one runtime for one class of layouts. Built by a
 * compiler, run by the executor. All sizes are slots of `formulas`, so that one variant serves every binding of the
 * symbols.
 */
#include <weft/executor.h>
#include <weft/runtime.h>
#include <stdatomic.h>
#include "runtime/base/background.h"
#include "runtime/base/cache.h"
#include "runtime/base/isa.h"
#include "runtime/program/formula.h"
#include "runtime/base/pool.h"
#include "runtime/base/store.h"
#include "runtime/data/block.h"
#include "runtime/program/program.h"

/*
 * How the strides of one input or output array are known to the code: a byte. Unless they are row-major, strides are
 * symbols of the variant, "in0.s1" or "out0.s1" (array, axis), of any sign; WEFT_LAYOUT_UNIT + a says that the stride
 * of axis a is known to be 1.
 */
enum { WEFT_LAYOUT_CONTIGUOUS = 0, WEFT_LAYOUT_UNIT = 1, WEFT_LAYOUT_STRIDED = UINT8_MAX };

#define WEFT_NO_ALIAS UINT32_MAX

/*
 * A symbol of the variant that is 1. A kernel that updates elements at data-dependent indices writes only where it
 * is 1: run with 0 in its place, it checks the data and leaves the memory alone.
 */
#define WEFT_WRITES_SYMBOL "update.writes"

typedef enum weft_buffer_kind {
    WEFT_BUFFER_INPUT,
    WEFT_BUFFER_OUTPUT,
    WEFT_BUFFER_TEMPORARY,
    WEFT_BUFFER_CONSTANT,
    WEFT_BUFFER_ALIAS /* the memory of other buffers in turn, as the region step says that carries or cuts it */
} weft_buffer_kind;

/* A value in memory. */
typedef struct weft_buffer {
    weft_buffer_kind kind;
    uint32_t number;  /* of the input or output */
    uint32_t part_of; /* ALIAS: the buffer that it is a block of, + 1; 0: what a loop carries */
    weft_dtype dtype;
    uint32_t rank;
    const uint32_t *extents; /* slots */
    const uint32_t *strides; /* slots, in elements; NULL: row-major, as temporaries and constants always are */
    uint32_t bytes;          /* slot; TEMPORARY: size to plan; carried: size to copy; CONSTANT: a number */
    const void *data;        /* CONSTANT */
} weft_buffer;

typedef enum weft_step_kind {
    WEFT_STEP_KERNEL, /* generated code */
    WEFT_STEP_GEMM,   /* batched matrix product through the library */
    WEFT_STEP_PACK,   /* an operand of products in a loop, packed before it */
    WEFT_STEP_SORT,   /* rows sorted by the runtime itself */
    WEFT_STEP_HOST,   /* a C function: an extension's kernel, the reference backend */
    WEFT_STEP_REGION  /* fold, while or cond: runs the steps after it, many times or some of them */
} weft_step_kind;

/* C[b] = A[b] * B[b] with any strides; b runs over `batch_rank` axes, along those where C does not move they are added
 * up (weft_gemm_call). Other fields are slots. */
typedef struct weft_gemm {
    weft_dtype dtype;
    uint32_t m, n, k;
    uint32_t batch_rank;
    const uint32_t *batch;                                      /* extents */
    const uint32_t *a_batch, *b_batch, *c_batch;                /* strides */
    uint32_t a_row, a_column, b_row, b_column, c_row, c_column; /* strides */
    uint32_t a_offset, b_offset, c_offset;                      /* of element (0, 0), in elements */
    weft_panels panels; /* the operand whose buffer is packed for the step's engine, weft_gemm_call: a constant, or what
                           a PACK step wrote; PACK: the one that it packs */
} weft_gemm;

typedef enum weft_control { WEFT_CONTROL_FOLD, WEFT_CONTROL_WHILE, WEFT_CONTROL_COND } weft_control;

/*
 * A value that flows around a loop. Its steps read `current` and write `next`, which are ALIASes: `current` is
 * `initial` in the first iteration and then what the iteration before wrote; `next` is `result` and `spare` in turn, so
 * that nothing is copied while the loop runs. In place, `next` is `result` always, and so is `current` after the first
 * iteration; where iterations update elements, also in the first, before which `initial` is copied there. All of them
 * are row-major.
 */
typedef struct weft_carried {
    uint32_t initial, current, next, result, spare; /* buffers */
    bool in_place;                                  /* iterations overwrite what they read; `spare` is `result` */
    bool updated;                                   /* in place: elements that the iteration does not write stay */
    uint32_t kept_in; /* the block, of those of the region, + 1, that iterations keep `current` in: `next` is that of
                         the next one, or at last `result`; 0: none */
} weft_carried;

/* A block of an array, another one in each iteration of a fold: `buffer`, an ALIAS, is at `offset` + the number of the
 * iteration times `step` in `whole`, in bytes. */
typedef struct weft_block_alias {
    uint32_t buffer, whole;
    uint32_t offset, step; /* slots */
} weft_block_alias;

/* The steps of its one or two parts follow the region step: body; condition, body; then, else. */
typedef struct weft_region_step {
    weft_control control;
    uint32_t trips;       /* FOLD: slot */
    uint32_t scalar;      /* buffer; FOLD: the i64 index of the iteration; WHILE: the verdict; COND: the predicate */
    uint32_t parts[2];    /* steps of each, nested ones included */
    size_t carried_count; /* of a loop */
    const weft_carried *carried;
    size_t block_count; /* FOLD */
    const weft_block_alias *blocks;
} weft_region_step;

/* Of a kernel that updates elements of an output that may lie on an input. */
typedef struct weft_update {
    bool guarded;        /* where the memory is the input's, it is checked before anything is written: */
    uint32_t input;      /* buffer of the input */
    uint32_t writes;     /* which of the scalars is WEFT_WRITES_SYMBOL */
    bool all_iterations; /* are to be run for that; otherwise the first one checks all there is */
} weft_update;

/* Rows of one buffer sorted into another; a row is one axis, rows run over the `rank` others. */
typedef struct weft_sort_step {
    weft_dtype dtype; /* of what is sorted */
    bool positions;   /* the result is where elements were, in i64 */
    bool descending;
    uint32_t rank;
    const uint32_t *rows;                     /* slots: extents */
    const uint32_t *in_strides, *out_strides; /* slots */
    uint32_t length, in_step, out_step;       /* slots: of a row, and along it */
    uint32_t wanted;                          /* slot: so many elements of a sorted row are read, its first */
    uint32_t in_offset, out_offset;           /* slots: of the first element, in elements */
} weft_sort_step;

/*
 * The step and those that follow it as a chain of kernels and products, each of which works on rows of intermediates
 * that nothing else uses. They may run strip by strip: some rows through all of the steps, then the next. How rows of
 * one correspond to those of another is found when the variant is bound.
 */
#define WEFT_CHAIN_STEPS 8 /* at most, the first one included; and intermediates */

typedef struct weft_chain {
    uint32_t steps; /* after this one; 0: no chain */
    size_t intermediate_count;
    const uint32_t *intermediates; /* buffers */
} weft_chain;

/* Elements of rows that a kernel reads and does not use, such as scores under a causal mask: iteration i of the
 * innermost of its ranges that threads share does not use its row from element i + `from` on. Of a buffer that it
 * writes: those that are the same in a row, such as weights there. Slots. */
typedef struct weft_hidden {
    bool known;
    uint32_t extent, from; /* of that range; see above */
} weft_hidden;

/* Plain data: names, slots, numbers of buffers. */
typedef struct weft_step {
    weft_step_kind kind;
    const char *name; /* for reports and pictures */
    size_t buffer_count;
    const uint32_t *buffers; /* of the variant; KERNEL: written ones first; GEMM: A, B, C; PACK, SORT, HOST: inputs,
                                outputs; REGION: all that keep their values while it runs, results last */
    size_t written;          /* how many of them are written: the first for KERNEL, else the last */
    weft_chain chain;        /* KERNEL, GEMM: that begins here */
    /* KERNEL */
    size_t scalar_count;
    const uint32_t *scalars; /* slots */
    uint32_t iterations;     /* slot: extent of the thread range */
    uint32_t work;           /* slot: about how many scalar operations one iteration costs; decides the grain */
    bool copies;             /* the one buffer written becomes what the other one holds; nothing is done where they are
                                the same */
    bool overwrites;         /* a buffer written may be an input, of which it reads no element after it has written it,
                                in any iteration */
    /* Which of `buffers` the first one written may be put over, no element of which is read after it has been written, where
     * nothing reads it after this step; 0: none. */
    uint32_t replaces;
    weft_update update;
    uint64_t schedule_key; /* of its schedule; 0 without schedules */
    /* For profiles. Slots: how much arithmetic all iterations do, and how often they read or write an element of each
     * buffer; `accesses` NULL: neither is known. */
    uint32_t flops;
    const uint32_t *accesses;
    /* In a chain. Slots: elements of each buffer that is an intermediate, or that several of its kernels read, from
     * pitch * (i / group) on, that iteration i has for itself, with the others of its group. Pitch 0: none. */
    const uint32_t *pitches, *groups;
    const weft_hidden *hidden; /* of each buffer */
    size_t site_count;
    const char *const
        *sites; /* sentence of each data check: printf format of value, position and extent (all PRId64); NULL: none */
    const uint32_t *site_extents; /* slot of the extent in each sentence; NULL: no sentence has one */
    /* GEMM; PACK: the product that reads the panels */
    weft_gemm gemm;
    /* SORT */
    weft_sort_step sort;
    /* HOST: the line that asked for it; file NULL: not known */
    const char *file;
    int line;
    /* REGION */
    weft_region_step region;
} weft_step;

/* Buffer `i` of those that a kernel or a product writes. */
static inline uint32_t weft_step_written(const weft_step *step, size_t i)
{
    return step->buffers[step->kind == WEFT_STEP_GEMM ? 2 : i];
}

static inline bool weft_step_writes(const weft_step *step, uint32_t buffer)
{
    size_t i = 0;
    while (i < step->written && weft_step_written(step, i) != buffer) i++;
    return i < step->written;
}

/* Value of an executor's kernel cache: loaded code. Made by a compiler, from the executor's allocator. */
typedef struct weft_kernel_code {
    const weft_allocator *allocator;
    const weft_runtime *runtime; /* whose driver loaded it */
    weft_image *image;
    _Atomic(weft_kernel_function) function;
    /* Where `image` was made in haste: an optimised one may take over at any time. */
    atomic_bool is_settled; /* it is optimised, or somebody sees to that */
    uint32_t number;        /* of those that were made with it */
    weft_image *optimized;
} weft_kernel_code;

/* What is to be called now. */
static inline weft_kernel_function weft_kernel_code_function(const weft_kernel_code *code)
{
    return atomic_load_explicit(&code->function, memory_order_acquire);
}

/* Codes that share an image, which the last one that is destroyed unloads; one after another, all but empty. */
weft_status *weft_kernel_codes_create(const weft_allocator *allocator, const weft_runtime *runtime, size_t count,
                                      weft_kernel_code **out_codes) WEFT_MUST_USE;
/* Unloads; what the kernel cache does with a value. */
void weft_kernel_code_destroy(void *code);

/* What a step calls, where it runs. */
typedef struct weft_resolved {
    /* KERNEL */
    const weft_kernel_code *code;
    weft_cache_handle *handle; /* on it, keeps it loaded; NULL when the variant does not own it */
    /* GEMM, PACK, SORT: what computes it, of its dtype; of the runtime, not of the compiler */
    const struct weft_gemm_engine *products;
    const struct weft_key_sort *keys; /* NULL: no vectors */
    /* HOST: either an extension's op, whose kernel and scratch_size are called ... */
    const weft_op_def *op;
    const weft_extension *extension;
    const weft_attr *attrs; /* template: every extent in it is a constant extent whose value is a slot of `formulas` */
    /* ... or, where op is NULL, a function of the compiler; `values` are the evaluated formulas. */
    weft_status *(*host)(void *self, const weft_kernel_context *context, const int64_t *values);
    void *host_self;
} weft_resolved;

/* Steps that belong to a region step or a chain and follow it. */
static inline size_t weft_step_nested(const weft_step *step)
{
    return step->kind == WEFT_STEP_REGION ? (size_t)step->region.parts[0] + step->region.parts[1] : step->chain.steps;
}

/* Whether a run may end with an error in the step, if only for want of memory. */
static inline bool weft_step_may_fail(const weft_step *step)
{
    return step->kind != WEFT_STEP_KERNEL || step->site_count > 0;
}

struct weft_variant {
    const weft_allocator *allocator;
    weft_arena arena;       /* everything below lives here, except for formulas */
    weft_formulas formulas; /* symbols: the program's, by name, and strides, as layouts say */
    size_t buffer_count, step_count;
    weft_buffer *buffers;
    weft_step *steps;
    weft_resolved *resolved; /* for each step */
    const struct weft_step_methods *const
        *methods;                               /* of each kind of step that it has; the runtime's, as the next two */
    const struct weft_chain_methods *chains;    /* NULL: no step begins a chain */
    const struct weft_branch_methods *branches; /* NULL: there are not two steps that could run side by side */
    /* Per input: the output that may be in its memory if the input is donated, because nothing reads the input after
     * the output starts to differ from it; WEFT_NO_ALIAS; NULL for all. Both have the same type. */
    uint32_t *output_alias;
    weft_block *constants; /* where the host does not see the memory of the device: their copies there */
    const weft_driver *driver;
    void (*destroy_self)(void *self); /* the compiler's own data, with the variant */
    void *self;
    size_t self_bytes; /* that it takes */
};

weft_status *weft_variant_create(const weft_allocator *allocator, weft_variant **out_variant) WEFT_MUST_USE;
/* Room for that many steps, all zero, and for what they call. */
weft_status *weft_variant_make_steps(weft_variant *variant, size_t most) WEFT_MUST_USE;
/* Accepts a half-built one. Releases the code its steps hold. */
void weft_variant_destroy(weft_variant *variant);
/* Copies the constants of a new variant to the device of the runtime. */
weft_status *weft_variant_upload(weft_variant *variant, const weft_runtime *runtime,
                                 weft_block_store *store) WEFT_MUST_USE;
/* Whether the variant has all of `slots`. */
static inline bool weft_slots_exist(const weft_variant *variant, const uint32_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slots == NULL || slots[i] >= variant->formulas.count) return false;
    return true;
}

/* What a compiler is asked for. */
struct weft_build_request {
    const weft_allocator *allocator;
    const weft_program *program;
    const weft_runtime *runtime;                   /* NULL: nothing runs it here */
    const uint8_t *input_layouts, *output_layouts; /* layout of each */
    size_t specialized_count;                      /* 0, or one value for each symbol of the program */
    const int64_t *specialized;
    /* Of all inputs and outputs, one array after another, those that are row-major aside: for a specialised variant.
     * NULL: any that the layouts allow. */
    const int64_t *strides;
    bool is_limited;                 /* its runs have a memory limit: no step takes memory only to be faster */
    const weft_machine *machine;     /* that code is scheduled for */
    weft_isa level;                  /* of the engines that operands are packed for */
    weft_pool *pool;                 /* the executor's */
    weft_cache *kernels;             /* the executor's: weft_kernel_code by canonical text and target */
    weft_store *store;               /* the executor's: optimised objects on disk, by target and text; NULL: none */
    const weft_schedules *schedules; /* the executor's; NULL: none */
    weft_code_policy code;
    bool without_folders;                /* sentences about data name files alone */
    weft_background *background;         /* the executor's, for TIERED code */
    _Atomic uint64_t *kernels_compiled;  /* counted up for each kernel that went through the code generator */
    _Atomic uint64_t *kernels_optimized; /* and for each that did so again, in the background */
    const volatile bool *cancelled;      /* read between kernels, WEFT_CANCELLED when it is set; NULL: never */
};
#endif
