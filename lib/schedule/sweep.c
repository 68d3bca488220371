/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include <string.h>
#include "lib/loop/inst.h"

/*
 * A reduction across memory, as of columns, takes a few cache lines of each row if it keeps its accumulators in
 * registers, and where rows are far apart, each of these lies in another page: nothing is fetched ahead. So the
 * accumulators of a long chunk of columns are kept in local buffers, in L1, and take in a few whole rows in one pass:
 *
 *     stage 1   the accumulators of all columns are init
 *     stage 2   for each few rows: the accumulators of all columns take them in, one after the other
 *     stage 3   the rows that are left, one by one
 *     stage 4   what the kernel does with the results
 *
 * If the reduction goes in blocks, each column has another accumulator for what blocks give, which takes in the first
 * one where a block ends, and as many more as there may be blocks of blocks.
 */

/* Rows of a pass, of little and of more computation: they divide a block. Vectors of a round. */
enum { FEW_ROWS = 4, MANY_ROWS = 8, CHEAP = 3, UNROLL = 2 };
enum { MOST_INSTRUCTIONS = 12, MOST_COMPONENTS = 4, MOST_LEVELS = 4 };
/* Bytes of a row, from which it is far to the next one; columns of a chunk at least, which is a multiple of ROUND. */
enum { FAR = 2048, FEWEST_COLUMNS = 512, ROUND = 64 };

typedef struct sweep {
    weft_kernel *kernel;
    weft_inst_list list;
    weft_stage reduction, after; /* of the kernel as it was */
    weft_range rows, columns;    /* the reduced range; the columns of a chunk */
    uint32_t pass;               /* rows of a pass */
    uint32_t components;         /* of all accumulators */
    uint32_t first_local;        /* a local buffer for each component, then those of each level of blocks */
    int64_t block;               /* rows of one */
    uint32_t levels;             /* of blocks, blocks of blocks and so on; 0: there is one block */
    weft_stage stages[4];
    uint32_t stage_count;
} sweep;

/* ---- where it may be done ---- */

/* The stride of a load along the rows, if it walks memory along the columns; 0: it is the same for all columns; -1: it
 * is neither. */
static int64_t row_stride(const weft_kernel *kernel, const weft_inst *load, weft_expr row, weft_expr column)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    int64_t stride;
    if (load->arg_count != 0 || load->predicate_count != 0) return -1;
    if (!weft_expr_uses(x, load->index, column)) return 0;
    if (!weft_expr_affine(x, load->index, column, &step, &rest) || step != weft_expr_constant(x, 1)) return -1;
    if (!weft_expr_affine(x, load->index, row, &step, &rest)) return -1;
    return weft_expr_is_constant(x, step, &stride) && stride > 0 ? stride : -1;
}

/* Bytes from one row to the next of a load; 0: it is no load, or all columns share it; -1: it is none that can be
 * swept. */
static int64_t row_bytes(const weft_kernel *kernel, const weft_inst *inst)
{
    weft_expr row = kernel->stages[0].ranges[0].variable, column = kernel->ranges[kernel->range_count - 1].variable;
    if (inst->op == WEFT_SCALAR_running || inst->position != WEFT_EXPR_NONE) return -1;
    int64_t stride = inst->op == WEFT_SCALAR_load ? row_stride(kernel, inst, row, column) : 0;
    return stride < 0 ? -1 : stride * (int64_t)weft_dtype_size(inst->dtype);
}

/* Whether the rows that are read are far apart, more of them than L2 holds. */
static bool reads_far_rows(const weft_kernel *kernel, const weft_machine *machine)
{
    bool is_far = false;
    int64_t least, most;
    const weft_stage *stage = &kernel->stages[0];
    weft_expr_range(kernel->exprs, stage->ranges[0].extent, &least, &most);
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        double bytes = (double)row_bytes(kernel, &kernel->insts[i]);
        is_far |= bytes >= FAR && bytes * (double)most > (double)machine->cache_bytes[1];
    }
    return is_far;
}

/* Rows of a block. */
static int64_t block_rows(const weft_kernel *kernel)
{
    uint32_t blocks = kernel->stages[0].ranges[0].blocks;
    return blocks > WEFT_BLOCKS_NESTED ? blocks : WEFT_ORDER_BLOCK;
}

/* How often results of blocks may be those of a larger one. */
static uint32_t block_levels(const weft_kernel *kernel)
{
    const weft_range *rows = &kernel->stages[0].ranges[0];
    int64_t least, most, block = block_rows(kernel);
    weft_expr_range(kernel->exprs, rows->extent, &least, &most);
    if (rows->blocks == WEFT_BLOCKS_NONE || most <= block) return 0;
    if (rows->blocks != WEFT_BLOCKS_NESTED) return 1;
    uint32_t levels = 0;
    for (int64_t left = most; left > block; left = (left - 1) / block + 1) levels++;
    return levels;
}

static uint32_t components_of(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) count += kernel->accumulators[a].width;
    return count;
}

static const char *refuse_stages(const weft_kernel *kernel)
{
    const weft_stage *stages = kernel->stages;
    if (kernel->range_count == 0 || kernel->stage_count != 2 || kernel->accumulator_count == 0 ||
        stages[0].range_count != 1 || stages[0].store_count != 0 || stages[1].range_count != 0 ||
        stages[1].accumulator_count != 0)
        return "the kernel is not one stage that reduces along one range, and one that stores";
    if (kernel->ranges[kernel->range_count - 1].bind != WEFT_BIND_SERIAL)
        return "the lanes of the last outer range are bound";
    if (weft_kernel_bounds_inner(kernel, kernel->ranges[kernel->range_count - 1].variable))
        return "an inner extent depends on it";
    for (uint32_t i = 0; i < stages[1].store_count; i++)
        if (stages[1].stores[i].is_indirect) return "data decide where it stores";
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        if (kernel->buffers[i].local != 0) return "it has local buffers";
    return NULL;
}

/* Bytes of the accumulators of a column. */
static int64_t column_bytes(const weft_kernel *kernel)
{
    int64_t bytes = 0;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++)
        for (uint32_t c = 0; c < kernel->accumulators[a].width; c++)
            bytes += (int64_t)weft_dtype_size(kernel->accumulators[a].dtypes[c]);
    return (1 + (int64_t)block_levels(kernel)) * bytes;
}

const char *weft_kernel_sweep_refusal(const weft_kernel *kernel, int64_t chunk)
{
    const char *reason = refuse_stages(kernel);
    if (reason != NULL) return reason;
    const weft_stage *stage = &kernel->stages[0];
    if (stage->ranges[0].virtual_lanes != 1 || block_levels(kernel) > MOST_LEVELS)
        return "the reduction has virtual lanes, or too many blocks of blocks";
    if (stage->inst_count > MOST_INSTRUCTIONS || components_of(kernel) > MOST_COMPONENTS)
        return "the reduction has too many instructions or accumulators";
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        if (row_bytes(kernel, &kernel->insts[i]) < 0) return "it scans, reports, or reads what is not rows of columns";
    if (chunk < 1 || chunk > WEFT_LOCAL_BYTES / column_bytes(kernel))
        return "its local buffers are empty, or too large";
    return NULL;
}

/* ---- instructions ---- */

static weft_expr constant(const sweep *s, int64_t value)
{
    return weft_expr_constant(s->kernel->exprs, value);
}

/* The first buffer of a level: that of rows is 0. */
static uint32_t level_buffer(const sweep *s, uint32_t level)
{
    return s->first_local + level * s->components;
}

/* The accumulators of a column lie at its place in their buffers. */
static void load_components(sweep *s, uint32_t first, weft_inst_id *out_ids)
{
    for (uint32_t c = 0; c < s->components; c++) {
        const weft_inst load = {.op = WEFT_SCALAR_load,
                                .dtype = s->kernel->buffers[first + c].dtype,
                                .buffer = first + c,
                                .index = s->columns.variable,
                                .position = WEFT_EXPR_NONE};
        out_ids[c] = weft_inst_list_add(&s->list, &load);
    }
}

static void init_components(sweep *s, weft_inst_id *out_ids)
{
    const weft_kernel *kernel = s->kernel;
    for (uint32_t a = 0, c = 0; a < kernel->accumulator_count; a++)
        for (uint32_t i = 0; i < kernel->accumulators[a].width; i++, c++)
            out_ids[c] =
                weft_inst_list_constant(&s->list, kernel->accumulators[a].dtypes[i], kernel->accumulators[a].init[i]);
}

/* All accumulators take in those of a block. */
static weft_status *combine(sweep *s, weft_inst_id *into, const weft_inst_id *ids)
{
    const weft_kernel *kernel = s->kernel;
    for (uint32_t a = 0, c = 0; a < kernel->accumulator_count; c += kernel->accumulators[a++].width)
        WEFT_TRY(weft_inst_list_combine(&s->list, &kernel->accumulators[a], &into[c], &ids[c], false));
    return NULL;
}

static weft_inst_id choose(sweep *s, weft_inst_id condition, weft_inst_id yes, weft_inst_id no)
{
    return weft_inst_list_apply(&s->list, WEFT_SCALAR_select, 3, (const weft_inst_id[]){condition, yes, no});
}

/* Whether an expression is at least zero. */
static weft_inst_id is_nonnegative(sweep *s, weft_expr e)
{
    return weft_inst_list_add(&s->list, &(weft_inst){.op = WEFT_SCALAR_inside,
                                                     .dtype = WEFT_BOOL,
                                                     .index = WEFT_EXPR_NONE,
                                                     .position = WEFT_EXPR_NONE,
                                                     .predicate_count = 1,
                                                     .predicates = &e});
}

/* The instructions of the reduction at row `row`, whose contributions the accumulators `into` take in. */
static weft_status *take_row(sweep *s, weft_expr row, weft_inst_id *into)
{
    weft_kernel *kernel = s->kernel;
    weft_expr_context *x = kernel->exprs;
    const weft_stage *stage = &s->reduction;
    weft_inst_id ids[MOST_INSTRUCTIONS], values[WEFT_MAX_COMPONENTS];
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        weft_inst inst = kernel->insts[stage->inst_first + i];
        weft_expr *predicates = weft_arena_allocate(&kernel->arena, (inst.predicate_count + 1) * sizeof *predicates);
        if (predicates == NULL) return weft_status_out_of_memory();
        for (uint32_t k = 0; k < inst.arg_count; k++) inst.args[k] = ids[inst.args[k] - stage->inst_first];
        if (inst.index != WEFT_EXPR_NONE) inst.index = weft_expr_substitute(x, inst.index, 1, &s->rows.variable, &row);
        for (uint32_t k = 0; k < inst.predicate_count; k++)
            predicates[k] = weft_expr_substitute(x, inst.predicates[k], 1, &s->rows.variable, &row);
        inst.predicates = predicates;
        ids[i] = weft_inst_list_add(&s->list, &inst);
    }
    for (uint32_t a = 0, c = 0; a < kernel->accumulator_count; c += kernel->accumulators[a++].width) {
        const weft_accumulator *accumulator = &kernel->accumulators[a];
        for (uint32_t v = 0; v < accumulator->value_count; v++)
            values[v] = ids[accumulator->values[v] - stage->inst_first];
        WEFT_TRY(weft_inst_list_combine(&s->list, accumulator, &into[c], values, true));
    }
    return NULL;
}

/* ---- stages ---- */

/* What is added to the list from here on is a new stage, with columns along the lanes. */
static weft_stage *open_stage(sweep *s)
{
    s->list.visible = s->list.count;
    s->stages[s->stage_count] = (weft_stage){.inst_first = s->list.count};
    return &s->stages[s->stage_count++];
}

static weft_status *close_stage(sweep *s, weft_stage *stage, const weft_range *around)
{
    uint32_t count = around != NULL ? 2 : 1;
    weft_range *ranges = weft_arena_allocate(&s->kernel->arena, 2 * sizeof *ranges);
    if (ranges == NULL || s->list.failed) return weft_status_out_of_memory();
    if (around != NULL) ranges[0] = *around;
    ranges[count - 1] = s->columns;
    stage->ranges = ranges;
    stage->range_count = count;
    stage->inst_count = s->list.count - stage->inst_first;
    return NULL;
}

/* Adds stores of all components to the buffers from `first` on. */
static weft_status *store_components(sweep *s, weft_stage *stage, uint32_t first, const weft_inst_id *ids)
{
    if (stage->stores == NULL)
        stage->stores =
            weft_arena_allocate(&s->kernel->arena, (1 + MOST_LEVELS) * MOST_COMPONENTS * sizeof *stage->stores);
    if (stage->stores == NULL) return weft_status_out_of_memory();
    for (uint32_t c = 0; c < s->components; c++)
        stage->stores[stage->store_count++] =
            (weft_store){.buffer = first + c, .index = s->columns.variable, .value = ids[c]};
    return NULL;
}

static weft_status *add_start(sweep *s)
{
    weft_inst_id ids[MOST_COMPONENTS];
    weft_stage *stage = open_stage(s);
    init_components(s, ids);
    for (uint32_t level = 0; level <= s->levels; level++)
        WEFT_TRY(store_components(s, stage, level_buffer(s, level), ids));
    return close_stage(s, stage, NULL);
}

/* All accumulators take in those of a block, or are those of the block where it is the first, `is_first`. */
static weft_status *join_block(sweep *s, weft_expr is_first, weft_inst_id *into, const weft_inst_id *ids)
{
    const weft_kernel *kernel = s->kernel;
    WEFT_TRY(combine(s, into, ids));
    for (uint32_t a = 0, c = 0; a < kernel->accumulator_count; c += kernel->accumulators[a++].width) {
        if (weft_accumulator_init_is_neutral(&kernel->accumulators[a])) continue;
        weft_inst_id first = is_nonnegative(s, is_first);
        for (uint32_t i = 0; i < kernel->accumulators[a].width; i++)
            into[c + i] = choose(s, first, ids[c + i], into[c + i]);
    }
    return NULL;
}

/* Where blocks of a level, of `size` rows, end with the rows before `end`, `ids` go into those of the level and start
 * again; `ids` become the latter. */
static weft_status *end_blocks(sweep *s, weft_stage *stage, uint32_t level, int64_t size, weft_expr end,
                               weft_inst_id *ids)
{
    weft_expr_context *x = s->kernel->exprs;
    weft_inst_id blocks[MOST_COMPONENTS], before[MOST_COMPONENTS], init[MOST_COMPONENTS];
    weft_expr rest = weft_expr_mod(x, end, constant(s, size));
    weft_inst_id ends = is_nonnegative(s, weft_expr_sub(x, constant(s, 0), rest));
    load_components(s, level_buffer(s, level), before);
    init_components(s, init);
    memcpy(blocks, before, sizeof blocks);
    WEFT_TRY(join_block(s, weft_expr_sub(x, constant(s, size), end), blocks, ids));
    for (uint32_t c = 0; c < s->components; c++) {
        blocks[c] = choose(s, ends, blocks[c], before[c]);
        ids[c] = choose(s, ends, init[c], ids[c]);
    }
    WEFT_TRY(store_components(s, stage, level_buffer(s, level - 1), ids));
    memcpy(ids, blocks, sizeof blocks);
    return NULL;
}

/* Passes of `pass` rows each, from row `from` on. */
static weft_status *add_passes(sweep *s, weft_expr from, weft_expr passes, uint32_t pass)
{
    weft_expr_context *x = s->kernel->exprs;
    weft_range range = {.extent = passes, .virtual_lanes = 1, .width = 1, .unroll = 1};
    weft_inst_id ids[MOST_COMPONENTS];
    range.variable = weft_kernel_fresh_variable(s->kernel, passes);
    weft_expr row = weft_expr_add(x, from, weft_expr_mul(x, range.variable, constant(s, pass)));
    weft_stage *stage = open_stage(s);
    load_components(s, s->first_local, ids);
    for (uint32_t r = 0; r < pass; r++) WEFT_TRY(take_row(s, weft_expr_add(x, row, constant(s, r)), ids));
    uint32_t levels = pass > 1 ? s->levels : 0;
    int64_t size = s->block;
    for (uint32_t level = 1; level <= levels; level++, size *= s->block)
        WEFT_TRY(end_blocks(s, stage, level, size, weft_expr_add(x, row, constant(s, pass)), ids));
    WEFT_TRY(store_components(s, stage, level_buffer(s, levels), ids));
    return close_stage(s, stage, &range);
}

/* The results, once the last blocks that are not whole have been added. */
static weft_status *load_results(sweep *s, weft_inst_id *ids)
{
    weft_expr_context *x = s->kernel->exprs;
    weft_inst_id last[MOST_COMPONENTS], whole[MOST_COMPONENTS];
    int64_t size = s->block, divisor = weft_expr_divisor(x, s->rows.extent);
    uint32_t level = 0;
    for (; level < s->levels && divisor % size == 0; size *= s->block) level++;
    load_components(s, level_buffer(s, level), ids);
    while (level++ < s->levels) {
        memcpy(last, ids, sizeof last);
        load_components(s, level_buffer(s, level), ids);
        memcpy(whole, ids, sizeof whole);
        WEFT_TRY(join_block(s, weft_expr_sub(x, constant(s, size), s->rows.extent), ids, last));
        weft_expr rest = weft_expr_mod(x, s->rows.extent, constant(s, size));
        weft_inst_id is_part = is_nonnegative(s, weft_expr_sub(x, rest, constant(s, 1)));
        for (uint32_t c = 0; c < s->components; c++) ids[c] = choose(s, is_part, ids[c], whole[c]);
        size *= s->block;
    }
    return NULL;
}

/* The kernel's own last stage. */
static weft_status *add_after(sweep *s)
{
    const weft_kernel *kernel = s->kernel;
    const weft_stage *old = &s->after;
    weft_inst_id results[MOST_COMPONENTS];
    weft_inst_id *ids = weft_arena_allocate(&s->kernel->arena, (old->inst_count + 1) * sizeof *ids);
    weft_stage *stage = open_stage(s);
    if (ids == NULL) return weft_status_out_of_memory();
    WEFT_TRY(load_results(s, results));
    for (uint32_t i = 0; i < old->inst_count; i++) {
        weft_inst inst = kernel->insts[old->inst_first + i];
        for (uint32_t k = 0; k < inst.arg_count; k++) inst.args[k] = ids[inst.args[k] - old->inst_first];
        uint32_t component = inst.number;
        for (uint32_t a = 0; inst.op == WEFT_SCALAR_result && a < inst.buffer; a++)
            component += kernel->accumulators[a].width;
        ids[i] = inst.op == WEFT_SCALAR_result ? results[component] : weft_inst_list_add(&s->list, &inst);
    }
    stage->store_count = old->store_count;
    stage->stores = old->stores;
    for (uint32_t i = 0; i < old->store_count; i++)
        stage->stores[i].value = ids[stage->stores[i].value - old->inst_first];
    return close_stage(s, stage, NULL);
}

/* ---- all ---- */

static weft_status *add_locals(sweep *s, int64_t chunk)
{
    weft_kernel *kernel = s->kernel;
    uint32_t groups = 1 + s->levels;
    s->first_local = kernel->buffer_count;
    weft_kernel_buffer *buffers =
        weft_arena_allocate(&kernel->arena, (kernel->buffer_count + groups * s->components) * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    memcpy(buffers, kernel->buffers, kernel->buffer_count * sizeof *buffers);
    for (uint32_t group = 0; group < groups; group++)
        for (uint32_t a = 0; a < kernel->accumulator_count; a++)
            for (uint32_t c = 0; c < kernel->accumulators[a].width; c++)
                buffers[kernel->buffer_count++] =
                    (weft_kernel_buffer){.dtype = kernel->accumulators[a].dtypes[c], .local = (uint32_t)chunk};
    kernel->buffers = buffers;
    return NULL;
}

static weft_status *add_stages(sweep *s)
{
    weft_expr_context *x = s->kernel->exprs;
    weft_expr pass = constant(s, s->pass), passes = weft_expr_div(x, s->rows.extent, pass);
    WEFT_TRY(add_start(s));
    WEFT_TRY(add_passes(s, constant(s, 0), passes, s->pass));
    if (weft_expr_divisor(x, s->rows.extent) % s->pass != 0)
        WEFT_TRY(add_passes(s, weft_expr_mul(x, passes, pass), weft_expr_mod(x, s->rows.extent, pass), 1));
    return add_after(s);
}

weft_status *weft_kernel_sweep(weft_kernel *kernel, uint32_t width, int64_t chunk)
{
    sweep s = {.kernel = kernel, .list = {.arena = &kernel->arena}, .components = components_of(kernel)};
    s.block = block_rows(kernel);
    s.levels = block_levels(kernel);
    s.pass = kernel->stages[0].inst_count <= CHEAP && s.components == 1 ? MANY_ROWS : FEW_ROWS;
    WEFT_TRY(weft_kernel_split(kernel, kernel->range_count - 1, chunk));
    s.reduction = kernel->stages[0];
    s.after = kernel->stages[1];
    s.rows = kernel->stages[0].ranges[0];
    s.columns = kernel->ranges[--kernel->range_count];
    s.columns.bind = WEFT_BIND_LANE;
    s.columns.width = width;
    s.columns.unroll = UNROLL;
    WEFT_TRY(add_locals(&s, chunk));
    WEFT_TRY(add_stages(&s));
    kernel->stages = weft_arena_copy(&kernel->arena, s.stages, s.stage_count * sizeof *s.stages);
    if (kernel->stages == NULL) return weft_status_out_of_memory();
    kernel->stage_count = s.stage_count;
    kernel->insts = s.list.items;
    kernel->inst_count = s.list.count;
    kernel->accumulator_count = 0;
    return NULL;
}

/* ---- where it pays ---- */

/* Whether so much is computed for an element, as to find where the largest one is, that to keep accumulators in memory
 * costs more than long vectors of them in registers wait for lines of rows, up to 32 KB apart. */
static bool computes_much(const weft_kernel *kernel, const weft_machine *machine)
{
    enum { MUCH = 12, FARTHEST = 1 << 15 };
    const weft_stage *stage = &kernel->stages[0];
    bool much = machine->vector_bytes >= 64 && kernel->accumulators[0].combine.count > MUCH;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        much &= row_bytes(kernel, &kernel->insts[i]) <= FARTHEST;
    return much;
}

int64_t weft_kernel_find_sweep(const weft_kernel *kernel, const weft_machine *machine)
{
    int64_t extent, columns, chunks = machine->threads;
    if (weft_kernel_sweep_refusal(kernel, FEWEST_COLUMNS) != NULL) return 0;
    if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent, &columns)) return 0;
    if (columns < FEWEST_COLUMNS || !reads_far_rows(kernel, machine) || computes_much(kernel, machine)) return 0;
    for (uint32_t r = 0; r + 1 < kernel->range_count; r++)
        if (weft_expr_is_constant(kernel->exprs, kernel->ranges[r].extent, &extent) && extent > 0)
            chunks = (chunks + extent - 1) / extent;
    int64_t bytes = (int64_t)machine->cache_bytes[0] / 2;
    if (bytes > WEFT_LOCAL_BYTES) bytes = WEFT_LOCAL_BYTES;
    int64_t fit = bytes / column_bytes(kernel) / ROUND * ROUND;
    if (fit < FEWEST_COLUMNS) fit = FEWEST_COLUMNS;
    if (chunks < (columns + fit - 1) / fit) chunks = (columns + fit - 1) / fit;
    int64_t chunk = (columns + chunks * ROUND - 1) / (chunks * ROUND) * ROUND;
    return chunk < FEWEST_COLUMNS ? FEWEST_COLUMNS : chunk;
}
