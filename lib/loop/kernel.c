/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include <string.h>

/* ---- kernels ---- */

static weft_status *create(const weft_allocator *allocator, weft_kernel **out_kernel)
{
    weft_kernel *kernel = weft_allocate_zeroed(allocator, sizeof *kernel);
    if (kernel == NULL) return weft_status_out_of_memory();
    weft_arena_init(&kernel->arena, allocator);
    weft_status *status = weft_expr_context_create(allocator, &kernel->exprs);
    if (status == NULL) *out_kernel = kernel;
    else weft_kernel_destroy(kernel);
    return status;
}

void weft_kernel_destroy(weft_kernel *kernel)
{
    if (kernel == NULL) return;
    const weft_allocator *allocator = kernel->arena.allocator;
    weft_expr_context_destroy(kernel->exprs);
    weft_arena_finish(&kernel->arena);
    weft_free(allocator, kernel, sizeof *kernel);
}

size_t weft_kernel_scalar_count(const weft_kernel *kernel)
{
    size_t count = 0;
    for (size_t s = 0; s < weft_expr_context_symbol_count(kernel->exprs); s++)
        if (weft_expr_bound(kernel->exprs, weft_expr_context_symbol(kernel->exprs, s)) == WEFT_EXPR_NONE) count++;
    return count;
}

const char *weft_kernel_scalar_name(const weft_kernel *kernel, size_t i)
{
    size_t left = i;
    for (size_t s = 0; s < weft_expr_context_symbol_count(kernel->exprs); s++) {
        weft_expr symbol = weft_expr_context_symbol(kernel->exprs, s);
        if (weft_expr_bound(kernel->exprs, symbol) != WEFT_EXPR_NONE) continue;
        if (left-- == 0) return weft_expr_name(kernel->exprs, symbol);
    }
    return NULL;
}

/* ---- the builder ---- */

struct weft_kernel_builder {
    const weft_allocator *allocator;
    weft_kernel *kernel; /* NULL once it is handed out */
    weft_inst_list insts;
    weft_status *error;
};

weft_status *weft_kernel_builder_create(const weft_allocator *allocator, weft_kernel_builder **out_builder)
{
    weft_kernel_builder *builder = weft_allocate_zeroed(allocator, sizeof *builder);
    if (builder == NULL) return weft_status_out_of_memory();
    builder->allocator = allocator;
    weft_status *status = create(allocator, &builder->kernel);
    if (status != NULL) {
        weft_kernel_builder_destroy(builder);
        return status;
    }
    builder->insts.arena = &builder->kernel->arena;
    *out_builder = builder;
    return NULL;
}

void weft_kernel_builder_destroy(weft_kernel_builder *builder)
{
    if (builder == NULL) return;
    weft_kernel_destroy(builder->kernel);
    weft_status_destroy(builder->error);
    weft_free(builder->allocator, builder, sizeof *builder);
}

weft_expr_context *weft_kernel_builder_exprs(weft_kernel_builder *builder)
{
    return builder->kernel->exprs;
}

/* Whether the builder still accepts items; records if the instruction list ran out of memory. */
static bool ready(weft_kernel_builder *builder)
{
    if (builder->insts.failed && builder->error == NULL) builder->error = weft_status_out_of_memory();
    return builder->error == NULL && builder->kernel != NULL;
}

static void fail(weft_kernel_builder *builder, const char *sentence)
{
    if (builder->error == NULL)
        builder->error = weft_status_create(builder->allocator, WEFT_INTERNAL, "kernel builder", "%s", sentence);
}

/* The stage that things are appended to; NULL after a failure or when there is none. */
static weft_stage *last_stage(weft_kernel_builder *builder)
{
    if (!ready(builder)) return NULL;
    if (builder->kernel->stage_count == 0) {
        fail(builder, "instructions, accumulators and stores belong to a stage, and the kernel has none yet");
        return NULL;
    }
    return &builder->kernel->stages[builder->kernel->stage_count - 1];
}

/* Appends an item to an array in the arena and counts it; false when out of memory. */
static bool append(weft_kernel_builder *builder, void *array, uint32_t *count, const void *item, size_t item_size)
{
    void *items;
    memcpy(&items, array, sizeof items);
    items = weft_loop_grow(&builder->kernel->arena, items, *count, item_size);
    if (items == NULL) {
        builder->insts.failed = true;
        return false;
    }
    memcpy((char *)items + *count * item_size, item, item_size);
    memcpy(array, &items, sizeof items);
    *count += 1;
    return true;
}

static const void *keep(weft_kernel_builder *builder, const void *data, size_t size)
{
    const void *copy = size == 0 ? NULL : weft_arena_copy(&builder->kernel->arena, data, size);
    if (size != 0 && copy == NULL) builder->insts.failed = true;
    return copy;
}

uint32_t weft_kernel_builder_buffer(weft_kernel_builder *builder, weft_dtype dtype, bool written)
{
    if (!ready(builder)) return 0;
    weft_kernel *kernel = builder->kernel;
    weft_kernel_buffer buffer = {.dtype = dtype, .written = written};
    append(builder, &kernel->buffers, &kernel->buffer_count, &buffer, sizeof buffer);
    return kernel->buffer_count - 1;
}

uint32_t weft_kernel_builder_local(weft_kernel_builder *builder, weft_dtype dtype, uint32_t count)
{
    if (!ready(builder)) return 0;
    weft_kernel *kernel = builder->kernel;
    weft_kernel_buffer buffer = {.dtype = dtype, .local = count};
    append(builder, &kernel->buffers, &kernel->buffer_count, &buffer, sizeof buffer);
    return kernel->buffer_count - 1;
}

void weft_kernel_builder_unread(weft_kernel_builder *builder, uint32_t buffer)
{
    if (ready(builder)) builder->kernel->buffers[buffer].unread = true;
}

/* Extends the elements [least, most] by those that an index may be. */
static void extend(const weft_kernel *kernel, weft_expr index, int64_t *least, int64_t *most)
{
    int64_t low, high;
    weft_expr_range(kernel->exprs, index, &low, &high);
    if (low < *least) *least = low;
    if (high > *most) *most = high;
}

double weft_kernel_span(const weft_kernel *kernel, uint32_t buffer)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        if (kernel->insts[i].op == WEFT_SCALAR_load && kernel->insts[i].buffer == buffer)
            extend(kernel, kernel->insts[i].index, &least, &most);
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++)
            if (kernel->stages[s].stores[i].buffer == buffer)
                extend(kernel, kernel->stages[s].stores[i].index, &least, &most);
    if (least > most) return 0;
    return ((double)most - (double)least + 1) * (double)weft_dtype_size(kernel->buffers[buffer].dtype);
}

static bool is_in_ranges(const weft_kernel *kernel, uint32_t count, const weft_range *ranges, weft_expr symbol)
{
    bool is_in = false;
    for (uint32_t i = 0; i < count; i++) is_in |= weft_expr_uses(kernel->exprs, ranges[i].extent, symbol);
    return is_in;
}

/* Whether addresses or extents depend on the symbol. */
static bool is_in_places(const weft_kernel *kernel, weft_expr symbol)
{
    bool is_in = is_in_ranges(kernel, kernel->range_count, kernel->ranges, symbol);
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        is_in |=
            kernel->insts[i].op == WEFT_SCALAR_load && weft_expr_uses(kernel->exprs, kernel->insts[i].index, symbol);
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        is_in |= is_in_ranges(kernel, stage->range_count, stage->ranges, symbol);
        for (uint32_t i = 0; i < stage->store_count; i++)
            is_in |= weft_expr_uses(kernel->exprs, stage->stores[i].index, symbol);
    }
    return is_in;
}

bool weft_kernel_has_known_places(const weft_kernel *kernel)
{
    bool known = true;
    for (size_t i = 0; i < weft_kernel_scalar_count(kernel) && known; i++)
        known = !is_in_places(kernel, weft_expr_find(kernel->exprs, weft_kernel_scalar_name(kernel, i)));
    return known;
}

bool weft_kernel_loads(const weft_kernel *kernel, uint32_t buffer)
{
    bool loads = false;
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        loads |= kernel->insts[i].op == WEFT_SCALAR_load && kernel->insts[i].buffer == buffer;
    return loads;
}

bool weft_stage_scans(const weft_kernel *kernel, const weft_stage *stage)
{
    if (stage->range_count > 0 && stage->ranges[stage->range_count - 1].scans) return true;
    for (uint32_t i = 0; i < stage->inst_count; i++)
        if (kernel->insts[stage->inst_first + i].op == WEFT_SCALAR_running) return true;
    return false;
}

uint32_t weft_kernel_argument_count(const weft_kernel *kernel)
{
    uint32_t count = kernel->buffer_count;
    while (count > 0 && kernel->buffers[count - 1].local != 0) count--;
    return count;
}

void weft_kernel_builder_range(weft_kernel_builder *builder, weft_range range)
{
    if (!ready(builder)) return;
    weft_kernel *kernel = builder->kernel;
    if (range.virtual_lanes == 0) range.virtual_lanes = 1;
    if (range.width == 0) range.width = 1;
    if (range.unroll == 0) range.unroll = 1;
    if (kernel->stage_count == 0) {
        append(builder, &kernel->ranges, &kernel->range_count, &range, sizeof range);
        return;
    }
    weft_stage *stage = &kernel->stages[kernel->stage_count - 1];
    append(builder, &stage->ranges, &stage->range_count, &range, sizeof range);
}

void weft_kernel_builder_stage(weft_kernel_builder *builder)
{
    if (!ready(builder)) return;
    weft_kernel *kernel = builder->kernel;
    weft_stage stage = {.inst_first = builder->insts.count, .accumulator_first = kernel->accumulator_count};
    append(builder, &kernel->stages, &kernel->stage_count, &stage, sizeof stage);
    builder->insts.visible = builder->insts.count;
}

weft_inst_id weft_kernel_builder_inst(weft_kernel_builder *builder, const weft_inst *inst)
{
    weft_stage *stage = last_stage(builder);
    if (stage == NULL) return 0;
    weft_inst_id id = weft_inst_list_add(&builder->insts, inst);
    stage->inst_count = builder->insts.count - stage->inst_first;
    return id;
}

/* Nothing is shared: outcomes keep their numbers. */
static void keep_combiner(weft_kernel_builder *builder, weft_combiner *combiner)
{
    weft_inst_list block = {.arena = &builder->kernel->arena};
    for (uint32_t i = 0; i < combiner->count; i++) {
        block.visible = block.count;
        weft_inst_list_add(&block, &combiner->insts[i]);
    }
    combiner->insts = block.items;
    builder->insts.failed |= block.failed;
}

uint32_t weft_kernel_builder_accumulator(weft_kernel_builder *builder, const weft_accumulator *accumulator)
{
    weft_stage *stage = last_stage(builder);
    if (stage == NULL) return 0;
    weft_kernel *kernel = builder->kernel;
    weft_accumulator copy = *accumulator;
    keep_combiner(builder, &copy.step);
    keep_combiner(builder, &copy.combine);
    if (builder->insts.failed) return 0;
    if (append(builder, &kernel->accumulators, &kernel->accumulator_count, &copy, sizeof copy))
        stage->accumulator_count++;
    return kernel->accumulator_count - 1;
}

void weft_kernel_builder_store(weft_kernel_builder *builder, const weft_store *store)
{
    weft_stage *stage = last_stage(builder);
    if (stage == NULL) return;
    weft_store copy = *store;
    copy.predicates = keep(builder, store->predicates, store->predicate_count * sizeof *store->predicates);
    append(builder, &stage->stores, &stage->store_count, &copy, sizeof copy);
}

void weft_kernel_builder_sites(weft_kernel_builder *builder, uint32_t count)
{
    if (ready(builder)) builder->kernel->site_count = count;
}

void weft_kernel_builder_scheduled(weft_kernel_builder *builder)
{
    if (ready(builder)) builder->kernel->scheduled = true;
}

weft_status *weft_kernel_builder_finish(weft_kernel_builder *builder, weft_kernel **out_kernel)
{
    if (builder->kernel == NULL) fail(builder, "the kernel is finished already");
    if (!ready(builder)) {
        weft_status *error = builder->error;
        builder->error = NULL;
        return error;
    }
    weft_kernel *kernel = builder->kernel;
    WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
    kernel->insts = builder->insts.items;
    kernel->inst_count = builder->insts.count;
    WEFT_TRY(weft_kernel_verify(kernel));
    builder->kernel = NULL;
    *out_kernel = kernel;
    return NULL;
}
