/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_BUILDER_H
#define WEFT_LIB_BUILD_BUILDER_H
/* Shared by build.c (what steps there are), memory.c (what memory), region.c (regions), in_place.c (updates in
 * place), blocks.c (blocks of arrays that iterations read and write), step.c, product.c and sort.c (filling the steps
 * in), chain.c (which may run strip by strip), cost.c (how much they do), code.c (machine code) and visit.c (looking at
 * them). */
#include "lib/build/build.h"
#include "lib/pass/compile.h"
#include "lib/lower/lower.h"
#include "lib/lower/view.h"

struct variant_builder;

/* A step before its code is made. */
typedef struct planned_step {
    weft_step_kind kind;
    uint32_t node;
    uint32_t target;      /* memory */
    weft_lowered lowered; /* KERNEL */
    bool copies;          /* KERNEL: `target` becomes what memory `source` holds, of the same shape, and that is all */
    uint32_t source;
    bool updates;         /* KERNEL: changes elements of `target` */
    bool overwrites;      /* KERNEL: `target` may be an input that it reads */
    weft_strides a, b, c; /* GEMM; SORT: from a to c */
    /* REGION */
    struct variant_builder *parts[2]; /* the second may be NULL */
    weft_region_step region;          /* except for the sizes of its parts */
    weft_carried *carried;            /* of `region` */
    weft_block_alias *blocks;
    uint32_t *buffers;
    size_t buffer_count;
} planned_step;

/* The inputs of a region, and where it puts its results. */
typedef struct region_interface {
    const weft_memory *parameters;
    const uint32_t *parameter_buffers; /* of the variant */
    const uint32_t *result_buffers;    /* row-major; NULL: wherever they come out */
} region_interface;

/* The state of building one graph: the program's, or that of a region. All add to one variant. */
typedef struct variant_builder {
    struct variant_builder *root;      /* the program's; what belongs to the whole attempt is there */
    const region_interface *interface; /* of a region; NULL: the program */
    const weft_build_request *request;
    const weft_compiled *compiled;
    const weft_graph *graph;
    weft_fusion *fusion;
    weft_variant *variant;
    weft_arena own_arena;     /* of the root */
    weft_arena *arena;        /* of the attempt */
    weft_expr_context *exprs; /* sizes and strides outside of kernels */
    size_t buffer_capacity;   /* of the root */
    weft_fixed fixed;         /* symbols and strides that are constants in the variant */
    weft_space space;
    weft_lowering lowering;
    weft_memory *memories;
    uint32_t *buffers; /* of the variant, for each memory */
    uint32_t memory_count;
    uint32_t *first_memory;
    uint32_t *readers;           /* sort.c: for each node, once it is needed */
    const weft_kernel **kernels; /* of the root: of each step that was filled in */
    uint32_t *begun;             /* region.c: for each node, how many loops begin with it where they change it */
    weft_expr trips;             /* of the fold whose body it builds */
    weft_block_alias *blocks;    /* blocks.c: of that fold */
    size_t block_count;
    planned_step *steps;
    uint32_t step_count;
    struct {
        uint32_t source, target;
    } * copies; /* outputs that are also something else */
    uint32_t copy_count;
} variant_builder;

/* What is done with an attempt that went through. */
typedef weft_status *(*weft_attempt_end)(variant_builder *builder, const void *context);
/* Makes attempts until one goes through. */
weft_status *weft_builder_run(const weft_build_request *request, weft_attempt_end end, const void *context,
                              weft_variant **out_variant) WEFT_MUST_USE;

/* Gives memory to every value that needs it; buffers of the variant. */
weft_status *weft_builder_place(variant_builder *builder) WEFT_MUST_USE;
/* Adds a buffer to the variant. */
weft_status *weft_builder_push_buffer(variant_builder *builder, const weft_buffer *buffer,
                                      uint32_t *out_number) WEFT_MUST_USE;
/* A row-major buffer of a type. */
weft_status *weft_builder_buffer(variant_builder *builder, const weft_type *type, weft_buffer_kind kind,
                                 uint32_t *out_buffer) WEFT_MUST_USE;
/* Row-major memory of its own for another copy of `value`. */
weft_status *weft_builder_spare(variant_builder *builder, weft_value value, uint32_t *out_memory) WEFT_MUST_USE;
/* The memory of a value that has some. */
uint32_t weft_builder_memory(const variant_builder *builder, weft_value value);

/* The builder of region number `region` of node `node`, with all of its steps planned. */
weft_status *weft_builder_open(variant_builder *builder, uint32_t node, uint32_t region,
                               const region_interface *interface, variant_builder **out_inner) WEFT_MUST_USE;
/* Plans the step of node `node`, a region op, and all that belong to it. */
weft_status *weft_builder_plan_region(variant_builder *builder, uint32_t node) WEFT_MUST_USE;
/* Whether iteration n of a fold, whose body it builds, writes a block of result `output` of its own, as many as there
 * are, and nothing else changes that or reads it. */
bool weft_builder_is_written_by_blocks(variant_builder *body, uint32_t output);
/* Has steps of the body read blocks of arrays where they lie, instead of copies. */
weft_status *weft_builder_read_blocks(variant_builder *body) WEFT_MUST_USE;
/* Has what is copied to a block of result `output`, which is updated in place, computed there; or carried there, if it
 * is one of the values that the iteration begins with. `carried`: the loop's. */
weft_status *weft_builder_write_block(variant_builder *body, weft_carried *carried, uint32_t output) WEFT_MUST_USE;
/* Plans a step that copies memory `source` to memory `target`. */
weft_status *weft_builder_plan_copy(variant_builder *builder, uint32_t source, uint32_t target) WEFT_MUST_USE;
/* Whether two buffers of the same shape can be one: a single step reads `read`, no element after it has written that of
 * `written`. */
bool weft_builder_can_share(const variant_builder *builder, uint32_t read, uint32_t written);
/* Whether a body can have `read`, which it is given, and `written`, its result, in one buffer: the result begins as a
 * copy of what is given, which nothing reads after that. In a branch the copy may be in both parts, and it may be that
 * of a loop, which then updates what it is given. */
bool weft_builder_can_update(const variant_builder *builder, uint32_t read, uint32_t written);
/* Leaves out that copy. */
void weft_builder_begin_updated(variant_builder *builder, uint32_t read, uint32_t written);
/* Puts what was to be in one buffer into another, in regions too. */
void weft_builder_replace_buffer(variant_builder *builder, uint32_t from, uint32_t to);
/* How often operands of nodes and outputs are the value. */
size_t weft_builder_count_uses(const variant_builder *builder, weft_value value);
/* Whether loops compute all that step `number` does where they need it. */
bool weft_builder_is_begun(const variant_builder *builder, uint32_t number);
/* Leaves out such steps, and copies of what can be computed in the place that it is copied to. */
void weft_builder_drop_copies(variant_builder *builder);
/* Leaves out a step. */
void weft_builder_drop_step(variant_builder *builder, uint32_t number);
/* Whether buffer `part` is the buffer, or a block of it. */
bool weft_builder_is_in(const variant_builder *builder, uint32_t part, uint32_t buffer);
/* Whether the step reads the buffer, or a block of it. */
bool weft_builder_reads(const variant_builder *builder, const planned_step *step, uint32_t buffer);
/* Whether it writes it. */
bool weft_builder_writes(const variant_builder *builder, const planned_step *step, uint32_t buffer);
/* Whether it does either. */
bool weft_builder_uses(const variant_builder *builder, const planned_step *step, uint32_t buffer);
/* The first step that uses it, or the number of steps. */
uint32_t weft_builder_first_use(const variant_builder *builder, uint32_t buffer);
/* Whether a step after step `number` reads it. */
bool weft_builder_reads_after(const variant_builder *builder, uint32_t number, uint32_t buffer);
/* Whether the kernel of the step reads no element of `read`, which may have strides, after it has written that of
 * `written`, if both have the same strides. Errors are left in the context of the kernel. */
bool weft_builder_overwrites(const variant_builder *builder, const planned_step *step, uint32_t read, uint32_t written);
/* Which argument of a kernel that is not expanded yet, a temporary of the type of the one it writes, that may be put
 * over; 0: none. */
weft_status *weft_builder_find_replaced(const variant_builder *builder, const planned_step *step,
                                        uint32_t *out_argument) WEFT_MUST_USE;
/* Has outputs that may be written over an input computed after all that reads it and all that may fail, where that
 * costs nothing. */
void weft_builder_defer_outputs(variant_builder *builder);
/* Fills in which outputs may occupy exactly the memory of an input. */
weft_status *weft_builder_fill_aliases(variant_builder *builder) WEFT_MUST_USE;
/* Slot of an expression of builder->exprs. */
weft_status *weft_builder_slot(variant_builder *builder, weft_expr expr, uint32_t *out_slot) WEFT_MUST_USE;
/* The symbols and strides that the request has values of; memory is that of `arena`. */
weft_status *weft_builder_fixed(const weft_build_request *request, weft_arena *arena,
                                weft_fixed *out_fixed) WEFT_MUST_USE;
/* Fills in views for a GEMM step; forces in the fusion plan what cannot be read as it lies. */
weft_status *weft_builder_plan_gemm(variant_builder *builder, planned_step *step) WEFT_MUST_USE;
weft_status *weft_builder_fill_gemm(variant_builder *builder, const planned_step *planned,
                                    weft_step *out_step) WEFT_MUST_USE;
/* Has products read packed copies of constants, where that is faster; constants that nothing reads then are empty. */
weft_status *weft_builder_pack_constants(variant_builder *builder) WEFT_MUST_USE;
/* Adds steps that pack, before loops, what products in these read in every iteration; none where memory is limited. */
weft_status *weft_builder_pack_in_loops(variant_builder *builder) WEFT_MUST_USE;
/* The same for a SORT step. */
weft_status *weft_builder_plan_sort(variant_builder *builder, planned_step *step) WEFT_MUST_USE;
weft_status *weft_builder_fill_sort(variant_builder *builder, const planned_step *planned,
                                    weft_step *out_step) WEFT_MUST_USE;
weft_status *weft_builder_fill_host(variant_builder *builder, const planned_step *planned, weft_step *out_step,
                                    weft_resolved *out_resolved) WEFT_MUST_USE;
/* Fills in the slots that say how much a scheduled kernel does. */
weft_status *weft_builder_fill_cost(variant_builder *builder, const weft_kernel *kernel,
                                    weft_step *out_step) WEFT_MUST_USE;
/* Marks results that nothing reads again in a run, in the scheduled kernel of the step. */
void weft_builder_mark_unread(const variant_builder *builder, const planned_step *planned);
/* Schedules the kernel and fills in all but its code. */
weft_status *weft_builder_fill_kernel(variant_builder *builder, const planned_step *planned,
                                      weft_step *out_step) WEFT_MUST_USE;
/* Finds chains among the steps, all filled in; `kernels` has the scheduled kernel of each. */
weft_status *weft_builder_find_chains(variant_builder *builder, const weft_kernel **kernels) WEFT_MUST_USE;
/* Iteration i of the innermost of the ranges that threads share, of *out_extent iterations, does not use its row of the
 * buffer from element i + result on; NONE: it may use all of it. */
weft_expr weft_hidden_from(const weft_kernel *kernel, uint32_t buffer, weft_expr *out_extent);
/* The same of a buffer that the kernel writes: it has one number in its row from there on. `memory` is for a bool of
 * each instruction. */
weft_expr weft_repeated_from(const weft_kernel *kernel, uint32_t buffer, bool *memory, weft_expr *out_extent);
/* Finds or makes the code of all steps that were filled in. */
weft_status *weft_builder_make_code(variant_builder *builder, const weft_code_generator *generator) WEFT_MUST_USE;
#endif
