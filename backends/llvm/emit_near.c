/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of lanes whose distances are known and short. */
#include "backends/llvm/emit_access.h"

/* Sets what the parts from `part` on need; how many vectors that is. */
static uint32_t measure(const weft_emitter *e, weft_nearby *n, uint32_t part, uint32_t parts)
{
    const int64_t *distances = n->distances + (size_t)part * e->lane.width;
    int64_t most = n->least = distances[0];
    for (uint32_t i = 1; i < parts * e->lane.width && part * e->lane.width + i < n->lanes; i++) {
        if (distances[i] < n->least) n->least = distances[i];
        if (distances[i] > most) most = distances[i];
    }
    n->count = most - n->least + 1;
    n->vector_count = (uint32_t)((n->count + e->lane.width - 1) / e->lane.width);
    return n->vector_count;
}

/* Whether elements at a stride can be counted up to the last valid lane. */
static bool counts_elements(const weft_emitter *e, const weft_access *access)
{
    bool is_strided = access->step.kind == WEFT_LANE_STRIDE_CONSTANT && access->step.step > 0;
    return is_strided && e->lane.left != NULL && weft_emitter_has(e, WEFT_ISA_V4) &&
           weft_dtype_size(access->dtype) >= 4;
}

/* The lanes of a vector, which begins at `begin` of a part, up to the last valid one: in front of inner loops. */
static LLVMValueRef mask_elements(weft_emitter *e, const weft_access *access, uint32_t part, int64_t begin)
{
    int64_t step = access->step.step, later = (int64_t)(e->lane.parts - 1 - part) * e->lane.width;
    weft_scope_move(e, e->lane.level);
    LLVMValueRef count = LLVMBuildMul(e->builder, e->lane.left, weft_int(e, step), "");
    count = LLVMBuildAdd(e->builder, count, weft_int(e, (later - 1) * step + 1 - begin), "");
    LLVMValueRef mask = weft_mask_below(e, count);
    weft_scope_move(e, access->level);
    return mask;
}

static bool find_distances(weft_emitter *e, const weft_access *access, weft_nearby *n)
{
    int64_t step = access->step.step;
    n->apart = false;
    if (access->step.kind == WEFT_LANE_STRIDE_SYMBOLIC) return false;
    if (!n->masked && weft_index_lane_distances(e, access->index, n->distances)) return true;
    n->apart = true;
    if (access->step.kind != WEFT_LANE_STRIDE_CONSTANT || step < -WEFT_MOST_APART || step > WEFT_MOST_APART)
        return false;
    for (uint32_t i = 0; i < e->lane.parts * e->lane.width; i++) n->distances[i] = (int64_t)(i % e->lane.width) * step;
    return true;
}

/* Whether a predicate of each lane can mask vectors in memory instead. */
static bool masks_elements(const weft_emitter *e, const weft_access *access)
{
    return access->step.kind == WEFT_LANE_STRIDE_CONSTANT && access->step.step > 0 &&
           weft_emitter_has(e, WEFT_ISA_V4) && weft_dtype_size(access->dtype) >= 4;
}

/* The elements of a vector, which begins at `begin`, that lanes need whose predicate holds. */
static LLVMValueRef mask_needed(weft_emitter *e, const weft_access *access, const weft_nearby *n, uint32_t part,
                                int64_t begin)
{
    uint32_t width = e->lane.width, lanes[WEFT_MAX_WIDTH];
    const int64_t *distances = n->distances + (size_t)part * width;
    for (uint32_t i = 0; i < width; i++) lanes[i] = width;
    for (uint32_t i = 0; i < width && part * width + i < n->lanes; i++) {
        int64_t at = distances[i] - n->least - begin;
        if (at >= 0 && at < (int64_t)width) lanes[at] = i;
    }
    LLVMValueRef mask = access->condition.masks[part], none = LLVMConstNull(LLVMTypeOf(mask));
    return weft_lanes_shuffle(e, mask, none, width, lanes);
}

bool weft_near_find(weft_emitter *e, const weft_access *access, weft_nearby *n)
{
    uint32_t each = 0, most = 0, size = (uint32_t)weft_dtype_size(access->dtype);
    uint32_t last = e->lane.mask == NULL ? e->lane.width : weft_access_known_lanes(e, access);
    bool chooses = access->condition.varying;
    if (e->gpu || e->lane.width == 1 || offset_varies(access)) return false;
    n->masked = last == 0;
    if (n->masked && (chooses || !counts_elements(e, access))) return false;
    if (chooses && !masks_elements(e, access)) return false;
    n->lanes = (e->lane.parts - 1) * e->lane.width + (n->masked ? e->lane.width : last);
    if (weft_dtype_info_of(access->dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (!find_distances(e, access, n)) return false;
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        uint32_t vectors = measure(e, n, part, 1);
        each += vectors;
        if (vectors > most) most = vectors;
    }
    uint32_t together = measure(e, n, 0, e->lane.parts);
    n->parts = together < each && !n->apart && !chooses ? e->lane.parts : 1;
    if (n->parts > 1) most = together;
    if (access->condition.scalar != NULL && most * e->lane.width * size > PLACE_BYTES) return false;
    return most <= WEFT_MOST_APART * n->parts;
}

/* The first element of a vector: the last one ends with the last element, nothing beyond it is read. */
static int64_t vector_begin(const weft_nearby *n, int64_t width, uint32_t vector)
{
    int64_t last = n->count - width;
    return last > 0 && vector * width > last ? last : vector * width;
}

static void load_vectors(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part, weft_nearby *n)
{
    uint32_t width = e->lane.width;
    LLVMTypeRef type = weft_vector_type(access->type, width);
    LLVMValueRef pointer = weft_access_part_pointer(e, access, buffer, n->apart ? part : 0);
    measure(e, n, part, n->parts);
    weft_access_add_offset(e, access, 0, 1, &pointer);
    pointer = offset_pointer(e, access->type, pointer, weft_int(e, n->least));
    pointer = choose(e, access->condition.scalar, pointer, access->instead);
    for (uint32_t v = 0; v < n->vector_count; v++) {
        int64_t begin = vector_begin(n, width, v);
        LLVMValueRef from = offset_pointer(e, access->type, pointer, weft_int(e, begin));
        bool whole = n->count >= (int64_t)width;
        bool chooses = access->condition.varying;
        n->vectors[v] = n->masked ? weft_access_load_masked(e, access, from, mask_elements(e, access, part, begin))
                        : chooses ? weft_access_load_masked(e, access, from, mask_needed(e, access, n, part, begin))
                        : whole   ? aligned(LLVMBuildLoad2(e->builder, type, from, ""), access->dtype)
                                  : weft_access_load_lanes(e, access, from, (uint32_t)n->count);
    }
}

/* The lanes of `value` that are not in the vector, and from there on those that are in it. */
static LLVMValueRef pick(weft_emitter *e, LLVMValueRef value, const weft_nearby *n, uint32_t vector,
                         const int64_t *distances)
{
    int64_t width = e->lane.width, first = vector_begin(n, width, vector);
    bool is_used = false;
    LLVMValueRef numbers[WEFT_MAX_WIDTH];
    for (int64_t i = 0; i < width; i++) {
        int64_t at = distances[i] - n->least;
        bool here = at >= 0 && at < n->count && at / width == vector;
        numbers[i] = LLVMConstInt(e->i32, (uint64_t)(here ? width + at - first : i), false);
        is_used |= here;
    }
    if (!is_used) return value;
    return LLVMBuildShuffleVector(e->builder, value, n->vectors[vector], LLVMConstVector(numbers, e->lane.width), "");
}

LLVMValueRef weft_near_load(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part, weft_nearby *n)
{
    if (part % n->parts == 0) load_vectors(e, access, buffer, part, n);
    LLVMTypeRef type = weft_vector_type(access->type, e->lane.width);
    LLVMValueRef value = e->lane.mask == NULL ? LLVMGetPoison(type) : LLVMConstNull(type);
    for (uint32_t v = 0; v < n->vector_count; v++)
        value = pick(e, value, n, v, n->distances + (size_t)part * e->lane.width);
    return value;
}
