/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"
#include "lib/schedule/transform.h"
#include <stdio.h>
#include <string.h>

enum { SPECIAL_NAME = 256 };

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static weft_status *check_range(const weft_emitter *e, const weft_range *range)
{
    bool lanes = range->bind == WEFT_BIND_LANE;
    bool fits = is_power_of_two(range->virtual_lanes == 0 ? 1 : range->virtual_lanes) &&
                (!lanes || (is_power_of_two(range->width) && is_power_of_two(range->unroll) &&
                            range->width <= WEFT_MAX_WIDTH && range->unroll <= WEFT_MAX_PARTS));
    if (fits) return NULL;
    return weft_status_create(
        e->allocator, WEFT_UNSUPPORTED, "llvm",
        "a range of %u lanes, width %u and unroll %u: they have to be powers of two, at most %d wide and "
        "unrolled %d times",
        range->virtual_lanes, range->width, range->unroll, WEFT_MAX_WIDTH, WEFT_MAX_PARTS);
}

static weft_status *check_stage(const weft_emitter *e, const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->range_count; i++) {
        const weft_range *range = &stage->ranges[i];
        WEFT_TRY(check_range(e, range));
        if (range->bind != WEFT_BIND_LANE || stage->accumulator_count == 0 || i + 1 == stage->range_count) continue;
        return weft_status_create(e->allocator, WEFT_UNSUPPORTED, "llvm",
                                  "inner range %u of a reduction is bound to lanes: only the last of its %u can be", i,
                                  stage->range_count);
    }
    return NULL;
}

static weft_status *check_kernel(const weft_emitter *e)
{
    const weft_kernel *kernel = e->kernel;
    if (!kernel->scheduled)
        return weft_status_create(e->allocator, WEFT_INTERNAL, "llvm", "the kernel has no schedule");
    if (kernel->range_count > WEFT_MAX_THREADED)
        return weft_status_create(e->allocator, WEFT_UNSUPPORTED, "llvm",
                                  "a kernel of %u outer ranges: there may be %d", kernel->range_count,
                                  WEFT_MAX_THREADED);
    for (uint32_t i = 0; i < kernel->range_count; i++) WEFT_TRY(check_range(e, &kernel->ranges[i]));
    for (uint32_t s = 0; s < kernel->stage_count; s++) WEFT_TRY(check_stage(e, &kernel->stages[s]));
    return NULL;
}

/* Upper bounds of what is open or carried at any time. */
typedef struct sizes {
    uint32_t ranges, slots, block, levels, trees;
} sizes;

/* Loops over blocks that the ranges of a stage have around them. */
static uint32_t count_levels(const weft_kernel *kernel, const weft_stage *stage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stage->range_count; i++) {
        int64_t least, most;
        weft_expr_range(kernel->exprs, stage->ranges[i].extent, &least, &most);
        while ((most = weft_block_size(&stage->ranges[i], most)) != 0) count++;
    }
    return count;
}

static sizes sizes_of(const weft_kernel *kernel)
{
    sizes s = {0};
    for (uint32_t i = 0; i < kernel->stage_count; i++) {
        const weft_stage *stage = &kernel->stages[i];
        s.levels = larger(s.levels, count_levels(kernel, stage));
        s.ranges = larger(s.ranges, stage->range_count);
        s.slots = larger(s.slots, stage->accumulator_count * WEFT_MAX_COMPONENTS);
        if (weft_stage_scans(kernel, stage)) s.trees = larger(s.trees, weft_scan_levels(stage));
    }
    for (uint32_t i = 0; i < kernel->accumulator_count; i++)
        s.block = larger(s.block, larger(kernel->accumulators[i].step.count, kernel->accumulators[i].combine.count));
    s.ranges += kernel->range_count;
    return s;
}

static void *zeroed(weft_emitter *e, size_t count, size_t size)
{
    void *block = weft_arena_allocate(&e->arena, count * size);
    if (block == NULL) weft_emitter_fail(e, weft_status_out_of_memory());
    else memset(block, 0, count * size);
    return block;
}

/* Each range opens at most a guard of its own, one for its pass and a loop; nests, virtual lanes and branches that are
 * seldom taken open a few more. */
static weft_status *allocate_state(weft_emitter *e)
{
    const weft_kernel *kernel = e->kernel;
    sizes s = sizes_of(kernel);
    size_t values = (size_t)s.slots * WEFT_MAX_PARTS, carried = 2 + (1 + s.trees) * values + s.ranges;
    size_t scopes = 10 + 3 * (size_t)s.ranges + s.levels;
    e->scopes = zeroed(e, scopes, sizeof *e->scopes);
    LLVMValueRef *phis = zeroed(e, 2 * scopes * carried, sizeof *phis);
    e->variables = zeroed(e, s.ranges + 1, sizeof *e->variables);
    e->values = zeroed(e, kernel->inst_count + 1, sizeof *e->values);
    e->turned = zeroed(e, kernel->inst_count + 1, sizeof *e->turned);
    e->common = zeroed(e, kernel->inst_count + 1, sizeof *e->common);
    e->surveyed = zeroed(e, kernel->inst_count + 1, sizeof *e->surveyed);
    e->results = zeroed(e, (size_t)kernel->accumulator_count * WEFT_MAX_COMPONENTS + 1, sizeof *e->results);
    e->buffers = zeroed(e, kernel->buffer_count + 1, sizeof(LLVMValueRef));
    e->scalars = zeroed(e, weft_kernel_scalar_count(kernel) + 1, sizeof(LLVMValueRef));
    e->carried = zeroed(e, carried, sizeof(LLVMValueRef));
    e->scratch = zeroed(e, carried, sizeof(LLVMValueRef));
    e->block = zeroed(e, s.block + 1, sizeof(LLVMValueRef));
    e->reduction.memory = zeroed(e, s.slots + 1, sizeof(LLVMValueRef));
    e->reduction.running = zeroed(e, values + 1, sizeof(LLVMValueRef));
    if (e->error != NULL) return e->error;
    weft_kernel_mark(kernel, false, e->common);
    WEFT_TRY(weft_kernel_find_intervals(kernel, &e->arena, &e->intervals));
    if (!e->gpu) WEFT_TRY(weft_kernel_find_narrow(kernel, &e->arena, &e->narrow));
    if (!e->gpu) WEFT_TRY(weft_kernel_find_bf16(kernel, &e->arena, &e->bf16));
    for (size_t i = 0; i < scopes; i++) {
        e->scopes[i].phis = phis + 2 * i * carried;
        e->scopes[i].initial = phis + (2 * i + 1) * carried;
    }
    return NULL;
}

static void fill_types(weft_emitter *e)
{
    e->i1 = LLVMInt1TypeInContext(e->context);
    e->i8 = LLVMInt8TypeInContext(e->context);
    e->i16 = LLVMInt16TypeInContext(e->context);
    e->i32 = LLVMInt32TypeInContext(e->context);
    e->i64 = LLVMInt64TypeInContext(e->context);
    e->f16 = LLVMHalfTypeInContext(e->context);
    e->f32 = LLVMFloatTypeInContext(e->context);
    e->f64 = LLVMDoubleTypeInContext(e->context);
    e->pointer = LLVMPointerTypeInContext(e->context, 0);
    e->nothing = LLVMVoidTypeInContext(e->context);
}

static weft_status *emit_function(weft_emitter *e, const char *symbol)
{
    WEFT_TRY(check_kernel(e));
    WEFT_TRY(allocate_state(e));
    if (e->gpu) weft_entry_emit_gpu(e, symbol);
    else weft_entry_emit_cpu(e, symbol);
    return e->error;
}

/* `special`: what `special_function` is for; or NULL. `has_rows_in_lanes`: as in a special kernel. */
static weft_status *emit_kernel(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                                const weft_processor *processor, LLVMModuleRef module,
                                const weft_special_kernel *special, LLVMValueRef special_function,
                                bool has_rows_in_lanes)
{
    weft_emitter e = {.allocator = allocator,
                      .kernel = kernel,
                      .exprs = kernel->exprs,
                      .processor = processor,
                      .gpu = processor->gpu,
                      .module = module,
                      .special = special,
                      .special_function = special_function,
                      .has_rows_in_lanes = has_rows_in_lanes};
    e.constants_stored = weft_constants_are_stored(&e);
    weft_arena_init(&e.arena, allocator);
    e.context = LLVMGetModuleContext(module);
    e.builder = LLVMCreateBuilderInContext(e.context);
    fill_types(&e);
    weft_status *status = emit_function(&e, symbol);
    weft_status *cause = weft_expr_context_take_error(e.exprs); /* of an expression that is missing */
    if (cause != NULL) {
        weft_status_destroy(status);
        status = cause;
    }
    LLVMDisposeBuilder(e.builder);
    weft_free(allocator, e.memo, e.memo_capacity * sizeof *e.memo);
    weft_arena_finish(&e.arena);
    return status;
}

LLVMValueRef weft_kernel_find_special_function(const char *symbol, LLVMModuleRef module)
{
    char name[SPECIAL_NAME];
    snprintf(name, sizeof name, "%s_special", symbol);
    return LLVMGetNamedFunction(module, name);
}

/* The kernel with a function for special scalars, which is emitted first. */
static weft_status *emit_both(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                              const weft_processor *processor, LLVMModuleRef module, const weft_special_kernel *special)
{
    char name[SPECIAL_NAME];
    snprintf(name, sizeof name, "%s_special", symbol);
    WEFT_TRY(emit_kernel(allocator, special->kernel, name, processor, module, NULL, NULL, special->has_rows_in_lanes));
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    return emit_kernel(allocator, kernel, symbol, processor, module, special, function, false);
}

/* Cuts the reductions of a kernel for short rows into parts, if that pays. */
static weft_status *split_reductions(weft_kernel *kernel)
{
    weft_kernel *attempt;
    bool is_done = true;
    if (kernel == NULL || kernel->range_count == 0) return NULL;
    uint32_t parts = weft_kernel_find_parts(kernel, kernel->ranges[kernel->range_count - 1].width);
    if (parts == 1) return NULL;
    WEFT_TRY(weft_kernel_clone(kernel, &attempt));
    weft_status *status = weft_kernel_split_reduction(attempt, parts);
    return weft_kernel_end_attempt(kernel, attempt, status, &is_done);
}

weft_status *weft_kernel_emit(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                              const weft_processor *processor, LLVMModuleRef module)
{
    weft_special_kernel special = {.kernel = NULL};
    if (!processor->gpu) WEFT_TRY(weft_kernel_find_special(kernel, &special));
    weft_status *status = split_reductions(special.kernel);
    if (status == NULL && special.kernel != NULL)
        status = emit_both(allocator, kernel, symbol, processor, module, &special);
    else if (status == NULL) status = emit_kernel(allocator, kernel, symbol, processor, module, NULL, NULL, false);
    weft_kernel_destroy(special.kernel);
    return status;
}

/* One vector to a round, except where virtual lanes are more. */
static void shorten_rounds(uint32_t count, weft_range *ranges)
{
    for (uint32_t i = 0; i < count; i++)
        if (ranges[i].bind == WEFT_BIND_LANE && ranges[i].virtual_lanes <= 1) ranges[i].unroll = 1;
}

/* Around reductions rounds are what is read of each row at once, and stay. */
static void shorten_kernel(weft_kernel *kernel)
{
    if (kernel->accumulator_count == 0) shorten_rounds(kernel->range_count, kernel->ranges);
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        shorten_rounds(kernel->stages[s].range_count, kernel->stages[s].ranges);
}

weft_status *weft_kernel_emit_briefly(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                                      const weft_processor *processor, LLVMModuleRef module)
{
    weft_kernel *brief;
    WEFT_TRY(weft_kernel_clone(kernel, &brief));
    shorten_kernel(brief);
    weft_status *status = emit_kernel(allocator, brief, symbol, processor, module, NULL, NULL, false);
    weft_kernel_destroy(brief);
    return status;
}
