/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_LOOP_H
#define WEFT_LIB_LOOP_LOOP_H
/*
 * The loop IR: one kernel.
 *
 * A kernel has outer ranges, common to all of it, and a sequence of stages. A stage has inner ranges and a list of SSA
 * instructions that run at every point of outer x inner ranges, in order; its accumulators combine, over the inner
 * ranges, values of the stage. An instruction may use earlier ones of its own stage, of earlier stages without inner
 * ranges, and (`result`) accumulators of earlier stages. So softmax over rows is: for row; stage max over k; stage sum
 * over k; stage store over k.
 *
 * Addresses are integer expressions (lib/expr/expr.h) over the variables of the ranges and the kernel's symbols, in
 * elements from the buffer's element (0, ..., 0).
 *
 * Two states. Unscheduled: no range is bound. Scheduled: THREAD binds the leading outer ranges, which collapse in
 * row-major order into the iterations [begin, end) that one call of the kernel runs; LANE binds at most one range of
 * each stage (an inner one of its own, or the last outer one, shared by all stages) to vector lanes, `width` lanes
 * times `unroll` vectors, the tail masked; on a GPU the iteration number is block * block size + thread.
 *
 * Local buffers carry values from one stage to a later one, in another order of access: a transposition reads rows into
 * one and columns out of it.
 *
 * Order of stores. What a stage stores through a data-dependent offset may meet at one element, also with what it
 * loads from there: a stage that does so runs its points in order along every range along which they may. Iterations of
 * outer ranges never meet.
 *
 * Order of a reduction. It is part of the meaning, not of the schedule: a reduced range with `virtual_lanes` = L > 1
 * (only the innermost one) sends element k to virtual lane k mod L, each lane combines its elements in increasing order
 * starting from init, and at the end lane i takes in lane i + h, for h = L/2, L/4, ..., 1. With L = 1 elements combine
 * in order. A range with nested blocks is cut into blocks of WEFT_ORDER_BLOCK * L elements if it is longer: the
 * first one goes on with what is there, and each lane combines the elements of any other starting from init, and its
 * result with that of the blocks before; if there are more than WEFT_ORDER_BLOCK of them, those of WEFT_ORDER_BLOCK
 * blocks first, and so on. Inside another reduced range such a range starts from init each time, and what it gives is
 * combined with what is there; one of up to WEFT_ORDER_SHORT * L elements goes on with what is there. With flat blocks,
 * which only a single reduced range has, each block starts from init, and their results combine in order. The schedule
 * may place the virtual lanes on vectors (width divides L; unroll = L / width) or on separate accumulators, with equal
 * bits.
 *
 * Order of a scan. A stage may also look at its accumulators while they grow (`running`): instructions after the first
 * `running` of a stage see what the accumulators are once they have taken in the point; what they take in comes before.
 * Only the single range of such a stage has virtual lanes or blocks, and its virtual lanes (`scans`) mean another
 * order, which does not depend on `running`. With L of them, what groups of L elements give is combined in order. In a
 * group, element k has level after level, for h = 1, 2, ..., L/2, the elements of the h before its own h combined in
 * front where k has bit h: those of the lower half of each 2h go into every one of the upper half. `running` is what
 * the accumulator was before the group, combined with that. Flat blocks are groups once more: each starts from init,
 * and `running` is what came before the block, combined with what it is in the block. Both leave numbers that do not
 * fall as they are: no such sum of numbers that are not negative falls.
 */
#include "lib/expr/expr.h"
#include <weft/dtype.h>
#include "runtime/base/float_bits.h"
#include "lib/loop/order.h"
#include "lib/loop/table.h"

typedef enum weft_scalar_op {
#define WEFT_SCALAR(name, operands, kinds, result) WEFT_SCALAR_##name,
#include "lib/loop/scalar.def"
#undef WEFT_SCALAR
    WEFT_SCALAR_COUNT
} weft_scalar_op;

typedef uint32_t weft_inst_id;

typedef struct weft_inst {
    weft_scalar_op op;
    weft_dtype dtype; /* of the result */
    uint32_t arg_count;
    weft_inst_id args[3];
    uint32_t buffer;          /* load: buffer; result, running: accumulator; lookup: table */
    uint32_t number;          /* param, result, running: component; lookup: column; checks, div: site */
    uint64_t bits;            /* const: the value's bytes, low end first */
    weft_expr index;          /* load, index, checks */
    weft_expr position;       /* checks, integer div: linear position to report */
    uint32_t predicate_count; /* inside, load, checks, integer div: expressions that must be >= 0 */
    const weft_expr *predicates;
} weft_inst;

typedef struct weft_store {
    uint32_t buffer;
    weft_expr index;
    weft_inst_id value;
    bool is_indirect; /* `offset`, an i64, is added to the index */
    weft_inst_id offset;
    uint32_t predicate_count; /* stored only where all are >= 0 */
    const weft_expr *predicates;
} weft_store;

typedef enum weft_bind { WEFT_BIND_SERIAL, WEFT_BIND_THREAD, WEFT_BIND_LANE, WEFT_BIND_GRID } weft_bind;

/* Most vectors of one round of lanes: a backend keeps that many for each value. */
#define WEFT_MAX_UNROLL 16

/* How the elements of a reduced range go in blocks: not at all; in blocks of blocks; otherwise in flat blocks of so
 * many elements. */
enum { WEFT_BLOCKS_NONE = 0, WEFT_BLOCKS_NESTED = 1 };

typedef struct weft_range {
    weft_expr variable; /* weft_expr_variable */
    weft_expr extent;
    bool reduce;            /* inner ranges of a stage with accumulators */
    uint32_t virtual_lanes; /* virtual lanes of the reduction; 1 where that means nothing */
    bool scans;             /* the virtual lanes are those of a scan */
    uint32_t blocks;        /* reduced: WEFT_BLOCKS_NONE, _NESTED, or elements of a flat block */
    weft_bind bind;
    uint32_t width, unroll; /* of LANE, unroll up to WEFT_MAX_UNROLL; 1 otherwise */
} weft_range;

#define WEFT_MAX_COMPONENTS 4

/* What becomes of an accumulator when it takes something in. Parameters are its components, then those of the other. */
typedef struct weft_combiner {
    uint32_t count;
    const weft_inst *insts; /* numbered from 0: parameters, constants and arithmetic that cannot fail */
    weft_inst_id outcomes[WEFT_MAX_COMPONENTS];
} weft_combiner;

/* A tuple that is combined over the reduced ranges of its stage. */
typedef struct weft_accumulator {
    uint32_t width; /* components */
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint64_t init[WEFT_MAX_COMPONENTS];       /* bits; combine(init, x) must be x */
    uint32_t value_count;                     /* `width`, or what the step takes */
    weft_inst_id values[WEFT_MAX_COMPONENTS]; /* of each point */
    weft_combiner step;    /* takes in the values of a point; none (count 0): they are combined like an accumulator */
    weft_combiner combine; /* takes in the accumulator of other elements */
} weft_accumulator;

static inline const weft_combiner *weft_accumulator_step(const weft_accumulator *accumulator)
{
    return accumulator->step.count != 0 ? &accumulator->step : &accumulator->combine;
}

/* Whether init combined with what other elements gave is that, to the bit. It is not where they may give -0, or where
 * infinities meet zeros: sums of products that were fused, and products of complex numbers. */
static inline bool weft_accumulator_init_is_neutral(const weft_accumulator *accumulator)
{
    const weft_combiner *step = weft_accumulator_step(accumulator);
    for (uint32_t i = 0; i < step->count; i++)
        if (step->insts[i].op == WEFT_SCALAR_fma || step->insts[i].op == WEFT_SCALAR_sub) return false;
    return true;
}

typedef struct weft_stage {
    uint32_t range_count;
    weft_range *ranges;
    uint32_t inst_first, inst_count; /* in kernel->insts */
    uint32_t accumulator_first, accumulator_count;
    uint32_t store_count;
    weft_store *stores; /* at each point after all its instructions, in order */
} weft_stage;

typedef struct weft_kernel_buffer {
    weft_dtype dtype;
    bool written;   /* written ones come first */
    bool unread;    /* written, and nothing reads it soon after the kernel; what it means is time alone */
    uint32_t local; /* not 0: so many elements of the thread's own, alive for one iteration; these come last */
} weft_kernel_buffer;

typedef struct weft_kernel {
    weft_arena arena;         /* everything below lives here */
    weft_expr_context *exprs; /* owned: symbols that are not variables are the kernel's scalars, in order of creation */
    bool scheduled;
    uint32_t buffer_count, range_count, stage_count, inst_count, accumulator_count, site_count;
    weft_kernel_buffer *buffers;
    weft_range *ranges; /* outer */
    weft_stage *stages;
    weft_inst *insts;
    weft_accumulator *accumulators;
} weft_kernel;

/* ---- building: a kernel is made stage by stage, instructions appended to the last stage ---- */
void weft_kernel_destroy(weft_kernel *kernel);
/* A copy of the kernel, in the same state; the two are independent. */
weft_status *weft_kernel_clone(const weft_kernel *kernel, weft_kernel **out_clone) WEFT_MUST_USE;
/*
 * Ends an attempt on a clone, which is consumed: *kernel becomes it if *is_done and status, also consumed, is NULL.
 * An attempt that fails for an expression out of range leaves the kernel as it is; lack of memory is returned.
 */
weft_status *weft_kernel_end_attempt(weft_kernel *kernel, weft_kernel *attempt, weft_status *status,
                                     bool *is_done) WEFT_MUST_USE;

/* Builds a kernel. The first failure sticks: later calls do nothing, finish reports it. */
typedef struct weft_kernel_builder weft_kernel_builder;
weft_status *weft_kernel_builder_create(const weft_allocator *allocator,
                                        weft_kernel_builder **out_builder) WEFT_MUST_USE;
void weft_kernel_builder_destroy(weft_kernel_builder *builder);
/* The context to make expressions in. */
weft_expr_context *weft_kernel_builder_exprs(weft_kernel_builder *builder);
uint32_t weft_kernel_builder_buffer(weft_kernel_builder *builder, weft_dtype dtype, bool written);
uint32_t weft_kernel_builder_local(weft_kernel_builder *builder, weft_dtype dtype, uint32_t count);
void weft_kernel_builder_unread(weft_kernel_builder *builder, uint32_t buffer);
/* Before the first stage: an outer range; after weft_kernel_builder_stage: an inner one. 0 in lanes, width or unroll
 * stands for 1. */
void weft_kernel_builder_range(weft_kernel_builder *builder, weft_range range);
void weft_kernel_builder_stage(weft_kernel_builder *builder);
/* Copies `inst` (predicates too); an instruction equal to an earlier visible one of the same stage is that one. */
weft_inst_id weft_kernel_builder_inst(weft_kernel_builder *builder, const weft_inst *inst);
uint32_t weft_kernel_builder_accumulator(weft_kernel_builder *builder, const weft_accumulator *accumulator);
void weft_kernel_builder_store(weft_kernel_builder *builder, const weft_store *store);
/* Sites of data checks are numbered from 0 by the caller; this says how many there are. */
void weft_kernel_builder_sites(weft_kernel_builder *builder, uint32_t count);
/* Says that ranges come with their bindings; without it the kernel is unscheduled. */
void weft_kernel_builder_scheduled(weft_kernel_builder *builder);
/* Hands out the kernel, verified. After that the builder can only be destroyed. */
weft_status *weft_kernel_builder_finish(weft_kernel_builder *builder, weft_kernel **out_kernel) WEFT_MUST_USE;

/* ---- whole kernels ---- */
/* Checks types, order of use, expressions' variables, bindings and bounds of the state the kernel is in. WEFT_INTERNAL.
 */
weft_status *weft_kernel_verify(weft_kernel *kernel) WEFT_MUST_USE;
/* Canonical text: equal kernels print equal texts, whatever names their makers chose (ranges i0.., buffers b0.., values
 * %0.., symbols keep theirs). */
weft_status *weft_kernel_print(const weft_kernel *kernel, weft_bytes *out_text) WEFT_MUST_USE;
/* The same with symbols s0.., in order: what code and schedules of a kernel are found by. */
weft_status *weft_kernel_key(const weft_kernel *kernel, weft_bytes *out_key) WEFT_MUST_USE;
weft_status *weft_kernel_parse(const weft_allocator *allocator, const char *name, const char *text, size_t length,
                               weft_kernel **out_kernel) WEFT_MUST_USE;
/* Buffers that are not local: what weft_kernel_frame.buffers holds. */
uint32_t weft_kernel_argument_count(const weft_kernel *kernel);
/* Bytes from the first to the last element of a buffer that indices reach, without offsets that are data, at most. */
double weft_kernel_span(const weft_kernel *kernel, uint32_t buffer);
/* Whether extents and addresses depend on no scalar. */
bool weft_kernel_has_known_places(const weft_kernel *kernel);
bool weft_kernel_loads(const weft_kernel *kernel, uint32_t buffer);
/* Whether a stage of the kernel looks at its accumulators while they grow, or combines as if it did. */
bool weft_stage_scans(const weft_kernel *kernel, const weft_stage *stage);
/* Symbols that are not range variables, in order: what weft_kernel_frame.scalars holds. */
size_t weft_kernel_scalar_count(const weft_kernel *kernel);
const char *weft_kernel_scalar_name(const weft_kernel *kernel, size_t i);

const char *weft_scalar_name(weft_scalar_op op);

#endif
