/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes across short rows. Each lane accesses several elements that follow each other in its own row: one by one these
 * are gathers and scatters. Here a few of them, a vector of each row or 16 bytes, are accessed at once, and transposed
 * in registers. The last ones of a row may be among those before, where rows are not whole groups: they are loaded
 * again, or stored again as what they are. Rows that follow each other, all of whose elements are stored, are otherwise
 * interleaved in registers.
 */
#include "backends/llvm/emit.h"
#include <string.h>

enum { MOST_GROUP = 16, FEWEST_APART = 5 };

/* Elements that each lane accesses, and how far lanes are apart. */
typedef struct rows {
    weft_dtype dtype;
    uint32_t buffer;
    weft_expr first; /* index of the first element of the group */
    uint32_t count;  /* of a group */
    weft_lane_stride stride;
    LLVMValueRef step; /* the stride, once there is a pointer */
} rows;

static weft_expr shifted(weft_emitter *e, weft_expr index, int64_t count)
{
    return weft_expr_add(e->exprs, index, weft_expr_constant(e->exprs, count));
}

/* Elements of 16 bytes that an access of every lane may be one of; 0: none, or lanes are not rows. */
static uint32_t group_of(weft_emitter *e, weft_dtype dtype, weft_expr index, int64_t fewest_apart,
                         weft_lane_stride *out_stride)
{
    uint32_t size = (uint32_t)weft_dtype_size(dtype), width = e->lane.width;
    bool fits = weft_emitter_has(e, WEFT_ISA_V4) && e->lane.variable != WEFT_EXPR_NONE && e->lane.rows == 0 &&
                (size == 4 || size == 8) && weft_dtype_info_of(dtype)->kind != WEFT_KIND_COMPLEX;
    if (!fits || width * size != 64) return 0;
    weft_lane_stride stride = *out_stride = weft_index_lane_stride(e, index);
    bool apart =
        stride.kind == WEFT_LANE_STRIDE_CONSTANT && (stride.step >= fewest_apart || -stride.step >= fewest_apart);
    return apart || stride.kind == WEFT_LANE_STRIDE_SYMBOLIC ? 16 / size : 0;
}

/* Where the group of element 0 begins, of elements from -before to after: one of vectors, as long as there are whole
 * ones, or of r->count; whether there is one. */
static bool find_group(weft_emitter *e, weft_expr index, int64_t before, int64_t after, rows *r)
{
    int64_t length = before + after + 1, width = e->lane.width, wide = length / width * width;
    if (length < r->count) return false;
    if (before < wide) r->count = (uint32_t)width;
    int64_t begin = before < wide ? before / width * width : wide + (before - wide) / r->count * r->count;
    if (begin + r->count > length) begin = length - r->count;
    r->first = shifted(e, index, begin - before);
    return true;
}

static LLVMValueRef pointer_to(weft_emitter *e, rows *r, uint32_t level, uint32_t part)
{
    LLVMTypeRef type = weft_memory_type(e, r->dtype);
    LLVMValueRef pointer = weft_index_pointer(e, type, weft_buffer_pointer(e, r->buffer), r->first, part);
    bool is_known = r->stride.kind == WEFT_LANE_STRIDE_CONSTANT;
    r->step = is_known ? weft_int(e, r->stride.step) : weft_index_emit(e, r->stride.stride, part);
    weft_scope_move(e, level);
    /* Hides the rows from LLVM's loop strength reduction. */
    return LLVMBuildFreeze(e->builder, pointer, "");
}

/* Whether the mask of a part may leave nothing of it, so that no lane has a row to stand for those of others. */
static bool may_be_empty(const weft_emitter *e)
{
    return e->lane.parts > 1 && weft_lane_mask(e, 0) != NULL;
}

/* Of a lane that is masked off: the row of the last one that is not. */
static LLVMValueRef row_pointer(weft_emitter *e, const rows *r, LLVMValueRef pointer, uint32_t part, uint32_t lane)
{
    LLVMValueRef row = weft_int(e, lane);
    if (weft_lane_mask(e, part) != NULL && lane > 0) {
        LLVMValueRef last = LLVMBuildSub(e->builder, e->lane.left, weft_int(e, 1), "");
        LLVMValueRef is_last = LLVMBuildICmp(e->builder, LLVMIntSLT, last, row, "");
        row = LLVMBuildSelect(e->builder, is_last, last, row, "");
    }
    LLVMValueRef offset = LLVMBuildMul(e->builder, row, r->step, "");
    return LLVMBuildGEP2(e->builder, weft_memory_type(e, r->dtype), pointer, &offset, 1, "");
}

/* ---- loads ---- */

static bool loads_element(const weft_emitter *e, const weft_stage *stage, const weft_inst *like, weft_expr index)
{
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        if (inst->op == WEFT_SCALAR_load && inst->buffer == like->buffer && inst->index == index &&
            inst->arg_count == 0 && inst->predicate_count == 0)
            return true;
    }
    return false;
}

static const weft_stage *stage_of(const weft_emitter *e, const weft_inst *inst)
{
    const weft_stage *stage = e->kernel->stages;
    uint32_t id = (uint32_t)(inst - e->kernel->insts);
    while (id >= stage->inst_first + stage->inst_count) stage++;
    return stage;
}

/* The group of a load of the kernel. */
static bool find_load_group(weft_emitter *e, const weft_inst *load, rows *r)
{
    const weft_kernel_buffer *buffer = &e->kernel->buffers[load->buffer];
    int64_t before = 0, after = 0;
    *r = (rows){.dtype = load->dtype, .buffer = load->buffer};
    r->count = may_be_empty(e)
                   ? 0
                   : group_of(e, load->dtype, load->index, e->lane.mask == NULL ? FEWEST_APART : 2, &r->stride);
    if (r->count == 0 || load->arg_count != 0 || load->predicate_count != 0 || buffer->written || buffer->local != 0)
        return false;
    const weft_stage *stage = stage_of(e, load);
    while (loads_element(e, stage, load, shifted(e, load->index, -before - 1))) before++;
    while (loads_element(e, stage, load, shifted(e, load->index, after + 1))) after++;
    return find_group(e, load->index, before, after, r);
}

/* Vectors of rows i, i + count, i + 2 * count, ..., a segment of each. */
static void load_segments(weft_emitter *e, rows *r, uint32_t level, uint32_t part, LLVMValueRef *out_vectors)
{
    LLVMTypeRef element = weft_memory_type(e, r->dtype), segment = weft_vector_type(element, r->count);
    LLVMValueRef pointer = pointer_to(e, r, level, part);
    for (uint32_t i = 0; i < r->count; i++) {
        out_vectors[i] = LLVMGetPoison(weft_vector_type(element, e->lane.width));
        for (uint32_t lane = i; lane < e->lane.width; lane += r->count) {
            LLVMValueRef loaded = LLVMBuildLoad2(e->builder, segment, row_pointer(e, r, pointer, part, lane), "");
            LLVMSetAlignment(loaded, weft_dtype_info_of(r->dtype)->alignment);
            out_vectors[i] = weft_lanes_insert(e, out_vectors[i], loaded, e->lane.width, lane - i, r->count);
        }
    }
}

/* What the group of an earlier load has loaded. */
static LLVMValueRef find_loaded(const weft_emitter *e, const weft_inst *load, uint32_t level, uint32_t part)
{
    for (uint32_t i = 0; i < e->row_count; i++) {
        const weft_row_element *loaded = &e->rows[i];
        if (loaded->buffer == load->buffer && loaded->index == load->index && loaded->part == part &&
            loaded->level == level && loaded->serial == e->scopes[level].serial)
            return loaded->value;
    }
    return NULL;
}

static void keep_loaded(weft_emitter *e, const rows *r, uint32_t level, uint32_t part, LLVMValueRef *vectors)
{
    weft_row_element *grown = weft_arena_allocate(&e->arena, (e->row_count + r->count) * sizeof *grown);
    if (grown == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return;
    }
    if (e->row_count > 0) memcpy(grown, e->rows, e->row_count * sizeof *grown);
    e->rows = grown;
    for (uint32_t i = 0; i < r->count; i++)
        e->rows[e->row_count++] = (weft_row_element){.buffer = r->buffer,
                                                     .index = shifted(e, r->first, i),
                                                     .part = part,
                                                     .level = level,
                                                     .serial = e->scopes[level].serial,
                                                     .value = vectors[i]};
}

LLVMValueRef weft_rows_load(weft_emitter *e, const weft_inst *load, uint32_t level, uint32_t part)
{
    LLVMValueRef loaded = find_loaded(e, load, level, part), vectors[MOST_GROUP];
    rows r;
    if (loaded != NULL || !find_load_group(e, load, &r)) return loaded;
    load_segments(e, &r, level, part, vectors);
    weft_rows_transpose(e, r.dtype, r.count, vectors);
    keep_loaded(e, &r, level, part, vectors);
    return e->error == NULL ? find_loaded(e, load, level, part) : NULL;
}

/* ---- stores ---- */

static const weft_store *find_store(const weft_stage *stage, uint32_t buffer, weft_expr index)
{
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        if (store->buffer == buffer && store->index == index && !store->is_indirect && store->predicate_count == 0)
            return store;
    }
    return NULL;
}

/* How many elements right before and after that of a store the stage stores. */
static void find_neighbours(weft_emitter *e, const weft_stage *stage, const weft_store *store, int64_t *out_before,
                            int64_t *out_after)
{
    *out_before = *out_after = 0;
    while (find_store(stage, store->buffer, shifted(e, store->index, -*out_before - 1)) != NULL) ++*out_before;
    while (find_store(stage, store->buffer, shifted(e, store->index, *out_after + 1)) != NULL) ++*out_after;
}

/* The vectors of a group, as memory is to have them; false when out of memory. */
static bool find_stored(weft_emitter *e, const weft_stage *stage, const rows *r, uint32_t part,
                        LLVMValueRef *out_vectors)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const weft_store *store = find_store(stage, r->buffer, shifted(e, r->first, i));
        if (store == NULL) {
            weft_emitter_fail(e, weft_status_out_of_memory());
            return false;
        }
        LLVMValueRef value = weft_value_part(e, &e->values[store->value], part, true);
        weft_scope_move(e, weft_scope_top(e));
        out_vectors[i] = weft_to_memory(e, r->dtype, value);
    }
    return true;
}

/* A segment of each row, the first one last: a lane that is masked off stores to a row that is stored again. */
static void store_segments(weft_emitter *e, const weft_stage *stage, rows *r, uint32_t part)
{
    LLVMValueRef vectors[MOST_GROUP], pointer = pointer_to(e, r, weft_scope_top(e), part);
    if (!find_stored(e, stage, r, part, vectors)) return;
    weft_rows_transpose(e, r->dtype, r->count, vectors);
    for (uint32_t lane = e->lane.width; lane-- > 0;) {
        LLVMValueRef segment =
            weft_lanes_slice(e, vectors[lane % r->count], e->lane.width, lane - lane % r->count, r->count);
        LLVMValueRef stored = LLVMBuildStore(e->builder, segment, row_pointer(e, r, pointer, part, lane));
        LLVMSetAlignment(stored, weft_dtype_info_of(r->dtype)->alignment);
    }
}

/* ---- whole rows, which follow each other ---- */

/* The least number above one that divides `count`. */
static uint32_t least_factor(uint32_t count)
{
    uint32_t factor = 2;
    while (count % factor != 0) factor++;
    return factor;
}

/* Vector m of what takes the lanes of `sources` vectors in turn, of which `from` has those that it needs. */
static LLVMValueRef take_in_turn(weft_emitter *e, uint32_t sources, uint32_t m, const LLVMValueRef *from)
{
    LLVMValueRef made = LLVMGetPoison(LLVMTypeOf(from[0])), numbers[WEFT_MAX_WIDTH];
    uint32_t width = e->lane.width, first = m % sources * width;
    for (uint32_t s = 0; s < sources; s++) {
        bool is_used = false;
        for (uint32_t lane = 0; lane < width; lane++) {
            bool here = (first + lane) % sources == s;
            numbers[lane] = LLVMConstInt(e->i32, here ? width + (first + lane) / sources : lane, false);
            is_used |= here;
        }
        if (is_used) made = LLVMBuildShuffleVector(e->builder, made, from[s], LLVMConstVector(numbers, width), "");
    }
    return made;
}

/* Takes the lanes of `count` vectors in turn: the first of each, then the second of each. `vectors` become these. Every
 * second, third, ... vector is interleaved first, and then these groups: 9 vectors take 36 shuffles, not 72. */
static void interleave(weft_emitter *e, uint32_t count, LLVMValueRef *vectors)
{
    LLVMValueRef groups[MOST_GROUP], from[MOST_GROUP];
    uint32_t sources = count % 2 == 0 || weft_emitter_has(e, WEFT_ISA_V4) ? least_factor(count) : count;
    uint32_t length = count / sources;
    for (uint32_t i = 0; i < count; i++) groups[i % sources * length + i / sources] = vectors[i];
    for (uint32_t s = 0; s < sources && length > 1; s++) interleave(e, length, &groups[s * length]);
    for (uint32_t m = 0; m < count; m++) {
        for (uint32_t s = 0; s < sources; s++) from[s] = groups[s * length + m / sources];
        vectors[m] = take_in_turn(e, sources, m, from);
    }
}

/* A vector that begins with element `begin` of all rows. */
static void store_below(weft_emitter *e, const rows *r, LLVMValueRef value, LLVMValueRef to, uint32_t part,
                        uint32_t begin)
{
    if (weft_lane_mask(e, part) == NULL) {
        LLVMSetAlignment(LLVMBuildStore(e->builder, value, to), weft_dtype_info_of(r->dtype)->alignment);
        return;
    }
    int64_t later = (int64_t)e->lane.width * (e->lane.parts - 1 - part);
    LLVMValueRef left = LLVMBuildAdd(e->builder, e->lane.left, weft_int(e, later), "");
    left = LLVMBuildMul(e->builder, left, weft_int(e, r->count), "");
    LLVMValueRef mask = weft_mask_below(e, LLVMBuildSub(e->builder, left, weft_int(e, begin), ""));
    weft_masked_store_emit(e, r->dtype, to, value, mask);
}

static void store_dense(weft_emitter *e, const weft_stage *stage, rows *r, uint32_t part)
{
    LLVMValueRef vectors[MOST_GROUP], pointer = pointer_to(e, r, weft_scope_top(e), part);
    if (!find_stored(e, stage, r, part, vectors)) return;
    interleave(e, r->count, vectors);
    for (uint32_t v = 0; v < r->count; v++) {
        LLVMValueRef offset = weft_int(e, (int64_t)v * e->lane.width);
        LLVMValueRef to = LLVMBuildGEP2(e->builder, weft_memory_type(e, r->dtype), pointer, &offset, 1, "");
        store_below(e, r, vectors[v], to, part, v * e->lane.width);
    }
}

/* The row of a store, of up to MOST_GROUP elements, all of which the stage stores. */
static bool find_row(weft_emitter *e, const weft_stage *stage, const weft_store *store, rows *r)
{
    int64_t before, after;
    weft_lane_stride stride = weft_index_lane_stride(e, store->index);
    bool is_wide = weft_dtype_size(r->dtype) >= sizeof(float);
    if (e->gpu || e->lane.width == 1 || weft_dtype_info_of(r->dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (e->lane.mask != NULL && !is_wide && !weft_emitter_has(e, WEFT_ISA_V4)) return false;
    if (stride.kind != WEFT_LANE_STRIDE_CONSTANT || stride.step < 2 || stride.step > MOST_GROUP) return false;
    find_neighbours(e, stage, store, &before, &after);
    *r = (rows){r->dtype, r->buffer, shifted(e, store->index, -before), (uint32_t)stride.step, stride};
    return before + after + 1 == stride.step;
}

/* ---- all stores ---- */

/* The group of a store in rows that are accessed by segments. */
static bool find_segments(weft_emitter *e, const weft_stage *stage, const weft_store *store, rows *r)
{
    int64_t before, after;
    r->count = may_be_empty(e) ? 0 : group_of(e, r->dtype, store->index, 2, &r->stride);
    if (r->count == 0) return false;
    find_neighbours(e, stage, store, &before, &after);
    return find_group(e, store->index, before, after, r);
}

/* What is stored together with an element; `*out_dense`: whole rows. */
static bool find_store_group(weft_emitter *e, const weft_stage *stage, const weft_store *store, rows *r,
                             bool *out_dense)
{
    *r = (rows){.dtype = e->kernel->buffers[store->buffer].dtype, .buffer = store->buffer};
    if (find_store(stage, store->buffer, store->index) != store) return false;
    *out_dense = find_row(e, stage, store, r);
    return *out_dense || find_segments(e, stage, store, r);
}

/* Whether an earlier store was in the group. */
static bool is_stored(weft_emitter *e, const weft_stage *stage, const weft_store *store, const rows *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const weft_store *other = find_store(stage, r->buffer, shifted(e, r->first, i));
        rows of_other;
        bool dense;
        if (other != NULL && other < store && find_store_group(e, stage, other, &of_other, &dense) &&
            of_other.first == r->first)
            return true;
    }
    return false;
}

bool weft_rows_store(weft_emitter *e, const weft_stage *stage, const weft_store *store)
{
    rows r;
    bool dense;
    if (!find_store_group(e, stage, store, &r, &dense)) return false;
    if (is_stored(e, stage, store, &r)) return true;
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        if (dense) store_dense(e, stage, &r, part);
        else store_segments(e, stage, &r, part);
    }
    return true;
}
