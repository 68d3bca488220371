/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for memory early. What a processor fetches ahead by itself it finds page by page, and where each element takes
 * many instructions too few of them are under way at once to wait for the beginnings of several pages. So long arrays
 * that are walked through are asked for a page ahead, for what is stored there too.
 *
 * Kernels of several stages read rows again and again, as softmax does for its maximum and for its powers; only the
 * first stage waits for memory, and computes little meanwhile. If rows are so short that they stay in L1, the stage
 * that computes most asks for the row after its own, or a later one where rows are very short.
 *
 * A scatter of rows takes in a part of all of them, then the next part: it asks for that of a row further on.
 */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"

enum { LINE = 64, AHEAD = 4096, LONG = 1 << 20 };              /* bytes: of long arrays */
enum { MUCH = 16 };                                            /* instructions for an element */
enum { LEAST_ROW = 256, MOST_ROW = 8192, LEAST_AHEAD = 1024 }; /* of rows */

/* ---- rows side by side ---- */

/* The least of two expressions, one of which uses `row`, in `expr`; NONE: there is none. */
static weft_expr find_least(const weft_emitter *e, weft_expr expr, weft_expr row)
{
    weft_expr found = WEFT_EXPR_NONE;
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_CONSTANT || kind == WEFT_EXPR_SYMBOL || !weft_expr_uses(e->exprs, expr, row)) return found;
    if (kind == WEFT_EXPR_MIN) return expr;
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr) && found == WEFT_EXPR_NONE; i++)
        found = find_least(e, weft_expr_operand(e->exprs, expr, i), row);
    return found;
}

/* Where an access would be if the last of several rows side by side were not another one once more. */
static weft_expr place_of(const weft_emitter *e, weft_expr index)
{
    weft_expr_context *x = e->exprs;
    weft_expr factor, rest, least;
    if (e->kernel->range_count == 0) return index;
    weft_expr row = e->kernel->ranges[e->kernel->range_count - 1].variable;
    while ((least = find_least(e, index, row)) != WEFT_EXPR_NONE) {
        bool is_term = weft_expr_affine(x, index, least, &factor, &rest) && factor != weft_expr_constant(x, 0);
        if (!is_term) return index;
        bool is_second = !weft_expr_uses(x, weft_expr_operand(x, least, 0), row);
        index = weft_expr_add(x, weft_expr_mul(x, factor, weft_expr_operand(x, least, is_second)), rest);
    }
    return index;
}

/* ---- rows that are read again ---- */

/* How a stage goes along rows of a buffer: elements from row to row, 0 where it does not, and bytes of a row; of rows
 * of unknown length only the former, as an expression. */
typedef struct row_walk {
    int64_t step, bytes;
    weft_expr unknown_step;
} row_walk;

static row_walk walk_of(const weft_emitter *e, const weft_stage *stage, const weft_inst *load)
{
    const weft_kernel *kernel = e->kernel;
    row_walk walk = {0, 0, WEFT_EXPR_NONE};
    weft_expr step, rest;
    int64_t extent;
    if (load->op != WEFT_SCALAR_load || load->arg_count != 0 || load->predicate_count != 0) return walk;
    if (kernel->range_count == 0 || stage->range_count != 1) return walk;
    bool is_known = weft_expr_is_constant(e->exprs, stage->ranges[0].extent, &extent);
    if (is_known && extent > MOST_ROW) return walk;
    weft_expr row = kernel->ranges[kernel->range_count - 1].variable;
    if (!weft_expr_affine(e->exprs, place_of(e, load->index), row, &step, &rest)) return walk;
    if (!weft_expr_is_constant(e->exprs, step, &walk.step) && !is_known) walk.unknown_step = step;
    if (is_known) walk.bytes = extent * (int64_t)weft_dtype_size(load->dtype);
    return walk;
}

/* Whether the stage reads the buffer in such rows. */
static bool reads(const weft_emitter *e, const weft_stage *stage, uint32_t buffer, row_walk along)
{
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        if (inst->op != WEFT_SCALAR_load || inst->buffer != buffer) continue;
        row_walk walk = walk_of(e, stage, inst);
        if (walk.step == along.step && walk.bytes == along.bytes && walk.unknown_step == along.unknown_step)
            return true;
    }
    return false;
}

/* Of the stages that read the rows after the first one, the one that computes most; NULL: there is none. */
static const weft_stage *asking_stage(const weft_emitter *e, uint32_t buffer, row_walk along)
{
    const weft_stage *first = NULL, *most = NULL;
    bool is_known = along.step != 0 && along.bytes >= LEAST_ROW && along.bytes <= MOST_ROW;
    if (!is_known && along.unknown_step == WEFT_EXPR_NONE) return NULL;
    for (uint32_t s = 0; s < e->kernel->stage_count; s++) {
        const weft_stage *stage = &e->kernel->stages[s];
        if (!reads(e, stage, buffer, along)) continue;
        if (first == NULL) first = stage;
        else if (most == NULL || stage->inst_count > most->inst_count) most = stage;
    }
    return most;
}

/* Elements from a row to the one to ask for; wraps, as pointers do. Of unknown rows about as many: of the same row, if
 * it is long. */
static LLVMValueRef rows_ahead(weft_emitter *e, row_walk walk, size_t size)
{
    if (walk.unknown_step != WEFT_EXPR_NONE) {
        weft_expr least = weft_expr_constant(e->exprs, LEAST_AHEAD / (int64_t)size);
        weft_expr most = weft_expr_constant(e->exprs, MOST_ROW / (int64_t)size);
        weft_expr step = weft_expr_max(e->exprs, walk.unknown_step, least);
        return weft_index_emit(e, weft_expr_min(e->exprs, step, most), 0);
    }
    uint64_t rows = (uint64_t)((LEAST_AHEAD + walk.bytes - 1) / walk.bytes);
    return weft_int(e, (int64_t)((uint64_t)walk.step * rows));
}

/* ---- long arrays ---- */

/* Whether all points of an outer range read the same elements again. */
static bool is_reread(const weft_emitter *e, weft_expr index)
{
    bool reread = false;
    for (uint32_t i = 0; i < e->kernel->range_count; i++)
        reread |= !weft_expr_uses(e->exprs, index, e->kernel->ranges[i].variable);
    return reread;
}

/* Whether nothing but one array is walked through: it is reduced, or what is loaded along the lanes is read again. */
static bool walks_alone(const weft_emitter *e)
{
    bool alone = true;
    for (uint32_t i = e->stage->inst_first; i < e->stage->inst_first + e->stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        bool moves = inst->op == WEFT_SCALAR_load && weft_expr_uses(e->exprs, inst->index, e->lane.variable);
        alone &= !moves || is_reread(e, inst->index);
    }
    return alone || e->stage->accumulator_count != 0;
}

/* Whether the stage chooses by positions, which makes loads masked ones: these are fetched ahead by nobody else. */
static bool chooses_by_position(const weft_emitter *e)
{
    const weft_inst *insts = e->kernel->insts;
    for (uint32_t i = e->stage->inst_first; i < e->stage->inst_first + e->stage->inst_count; i++)
        if (weft_scalar_is_choice(insts[i].op) &&
            weft_inst_margin(e->kernel, &insts[insts[i].args[0]]) != WEFT_EXPR_NONE)
            return true;
    return false;
}

/* Whether a run of elements that a range of unknown extent goes on with counts as long: where it is more than L1 holds
 * as it is, or much is computed, beside which asking in vain is little, or nothing else is asked for, as where rows are
 * reduced. */
static bool may_be_long(const weft_emitter *e, weft_expr index, int64_t run, size_t size)
{
    enum { NEAR = 1 << 15, ROW = 1 << 11 };
    int64_t least = walks_alone(e) ? ROW : NEAR;
    bool is_row = run == 1 && e->stage->accumulator_count != 0;
    bool asks = is_row || e->stage->inst_count >= MUCH || run >= least / (int64_t)size || chooses_by_position(e);
    return asks && !is_reread(e, index);
}

/* Extends a run of elements, the lanes' first, by a range, if its points follow each other, or overlap by less than
 * half, as rows with a pad do; false: the run ends. `known`: it ends at a range of unknown extent. */
static bool extend(const weft_emitter *e, weft_expr index, const weft_range *range, size_t size, bool known,
                   int64_t *run)
{
    weft_expr step, rest;
    int64_t least, most, distance;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    if (least != most && !weft_extent_is_cut(e, range->extent) && (known || !may_be_long(e, index, *run, size)))
        return false;
    if (most == 1) return true;
    if (!weft_expr_affine(e->exprs, index, range->variable, &step, &rest)) return false;
    if (!weft_expr_is_constant(e->exprs, step, &distance) || distance > *run || 2 * distance <= *run) return false;
    return !__builtin_mul_overflow(distance, most, run);
}

/* Bytes that the points of the stage walk through, one after another, at most, or of what is known. */
static double run_bytes(const weft_emitter *e, weft_expr index, size_t size, bool known)
{
    const weft_kernel *kernel = e->kernel;
    bool follows = true;
    int64_t run = 1;
    index = place_of(e, index);
    for (uint32_t i = e->stage->range_count; i-- > 0 && follows;)
        follows = extend(e, index, &e->stage->ranges[i], size, known, &run);
    for (uint32_t i = kernel->range_count; i-- > 0 && follows;)
        follows = extend(e, index, &kernel->ranges[i], size, known, &run);
    return (double)run * (double)size;
}

/*
 * Whether the stage does little but move arrays that are together half of the last cache or more. Part of them comes
 * from memory, which the processor asks for in a better order by itself; but not where a load is under a mask, which it
 * may become by a choice. A last cache that is so small that it is near needs less: half as much stored as loaded, and
 * no divisions, roots or gathers, which take as long as a dozen instructions. Biases of channels, 6 MB, take 0.91 of
 * the time then, and to tell numbers that are finite, which stores a quarter, would take 1.1 (Zen 5).
 */
static bool streams(const weft_emitter *e)
{
    enum { NEAR = 64 << 20, PART_OF_NEAR = 16 };
    const weft_stage *stage = e->stage;
    double loaded = 0, stored = 0, last = (double)e->processor->last_cache;
    bool is_light = true;
    if (stage->inst_count >= MUCH || stage->accumulator_count != 0 || last == 0) return false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        if (inst->predicate_count != 0 || weft_scalar_is_choice(inst->op)) return false;
        is_light &= inst->op != WEFT_SCALAR_div && inst->op != WEFT_SCALAR_sqrt;
        if (inst->op != WEFT_SCALAR_load) continue;
        is_light &= inst->arg_count == 0;
        if (inst->arg_count != 0) continue;
        loaded += run_bytes(e, inst->index, weft_dtype_size(inst->dtype), true);
    }
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        stored += run_bytes(e, store->index, weft_dtype_size(e->kernel->buffers[store->buffer].dtype), true);
    }
    if (loaded + stored >= last / 2) return true;
    return last <= NEAR && loaded + stored >= last / PART_OF_NEAR && 2 * stored >= loaded && is_light;
}

/* Whether memory to store in is worth asking for: kernels of several stages over short rows are up to a tenth slower
 * with it. */
static bool stores_far(const weft_emitter *e, size_t size)
{
    int64_t extent;
    if (e->kernel->stage_count == 1) return true;
    return e->stage->range_count == 1 && weft_expr_is_constant(e->exprs, e->stage->ranges[0].extent, &extent) &&
           extent > MOST_ROW / (int64_t)size;
}

/* Whether no earlier stage reads or writes the buffer. */
static bool comes_first(const weft_emitter *e, uint32_t buffer)
{
    for (const weft_stage *stage = e->kernel->stages; stage != e->stage; stage++) {
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
            if (e->kernel->insts[i].op == WEFT_SCALAR_load && e->kernel->insts[i].buffer == buffer) return false;
        for (uint32_t i = 0; i < stage->store_count; i++)
            if (stage->stores[i].buffer == buffer) return false;
    }
    return true;
}

/* ---- rows that are scattered ---- */

/* Of rows of which a scatter takes in a part at a time, elements from a part to that of a row further on, wrapping too:
 * in between lies what is read for other parts. */
static LLVMValueRef parts_ahead(weft_emitter *e, const weft_inst *load)
{
    const weft_stage *stage = e->stage;
    weft_expr step, rest;
    int64_t row, part, least, size = (int64_t)weft_dtype_size(load->dtype);
    if (stage->range_count != 2 || stage->store_count != 1 || !stage->stores[0].is_indirect) return NULL;
    if (load->arg_count != 0 || stage->ranges[1].variable != e->lane.variable) return NULL;
    if (!weft_expr_affine(e->exprs, load->index, stage->ranges[0].variable, &step, &rest)) return NULL;
    weft_expr_range(e->exprs, stage->ranges[1].extent, &least, &part);
    if (part < LEAST_ROW / size || !weft_expr_is_constant(e->exprs, step, &row) || row <= part) return NULL;
    uint64_t rows = (uint64_t)((AHEAD / size + part - 1) / part);
    return weft_int(e, (int64_t)((uint64_t)row * rows));
}

/* ---- all ---- */

static bool may_ask(const weft_emitter *e, uint32_t buffer)
{
    return weft_emitter_has(e, WEFT_ISA_V4) && e->stage != NULL && e->kernel->buffers[buffer].local == 0;
}

/* Asks for the elements of a part that lie `distance` further on, line by line. */
static void ask(weft_emitter *e, LLVMTypeRef type, size_t size, LLVMValueRef pointer, uint32_t part,
                LLVMValueRef distance, bool writes)
{
    const int64_t bytes = (int64_t)(e->lane.width * size), elements = LINE / (int64_t)size;
    if (part * bytes % LINE != 0) return;
    for (int64_t i = 0; i < bytes; i += LINE) {
        LLVMValueRef there = LLVMBuildAdd(e->builder, distance, weft_int(e, i / LINE * elements), "");
        LLVMValueRef args[4] = {LLVMBuildGEP2(e->builder, type, pointer, &there, 1, ""),
                                LLVMConstInt(e->i32, writes, false), LLVMConstInt(e->i32, 3, false),
                                LLVMConstInt(e->i32, 1, false)};
        weft_intrinsic_call(e, "llvm.prefetch", 1, &e->pointer, 4, args);
    }
}

void weft_prefetch_load(weft_emitter *e, const weft_inst *load, LLVMTypeRef type, LLVMValueRef pointer, uint32_t part,
                        uint32_t level)
{
    size_t size = weft_dtype_size(load->dtype);
    if (e->hidden != NULL || !may_ask(e, load->buffer)) return;
    row_walk walk = walk_of(e, e->stage, load);
    const weft_stage *asking = asking_stage(e, load->buffer, walk);
    LLVMValueRef distance = NULL;
    if (asking == e->stage && e->stage->ranges[0].variable == e->lane.variable) distance = rows_ahead(e, walk, size);
    else if (asking == NULL && comes_first(e, load->buffer) && run_bytes(e, load->index, size, false) > LONG &&
             !streams(e))
        distance = weft_int(e, AHEAD / (int64_t)size);
    else if (asking == NULL) distance = parts_ahead(e, load);
    weft_scope_move(e, level);
    if (distance != NULL) ask(e, type, size, pointer, part, distance, false);
}

void weft_prefetch_store(weft_emitter *e, const weft_store *store, LLVMTypeRef type, LLVMValueRef pointer,
                         uint32_t part)
{
    size_t size = weft_dtype_size(e->kernel->buffers[store->buffer].dtype);
    bool asks = may_ask(e, store->buffer) && stores_far(e, size) && comes_first(e, store->buffer) &&
                run_bytes(e, store->index, size, false) > LONG && !streams(e);
    if (asks) ask(e, type, size, pointer, part, weft_int(e, AHEAD / (int64_t)size), true);
}
