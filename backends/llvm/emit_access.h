/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_EMIT_ACCESS_H
#define WEFT_BACKENDS_LLVM_EMIT_ACCESS_H
/* What files about loads and stores share; only these include it. */
#include "backends/llvm/emit.h"

/* Bytes of the places where loads and stores that do not happen go. */
enum { PLACE_BYTES = 16 * WEFT_MAX_WIDTH };

/* One access to a buffer: where, and what to touch instead where the condition is false. */
typedef struct weft_access {
    weft_dtype dtype;
    LLVMTypeRef type; /* of an element in memory */
    weft_expr index;
    const weft_emitted *offset; /* computed, added to the index; or NULL */
    uint32_t offset_bits;       /* that hold it: 8, 16, 32 or 64 */
    weft_lane_stride step;
    uint32_t level;
    bool is_store;
    LLVMValueRef instead;
    weft_condition condition;
    LLVMValueRef offsets; /* of all lanes, in memory, in as many bits; NULL until they are used one by one */
    LLVMValueRef first;   /* pointer of part 0, when `step` is exact; of what lanes share, when they have no step */
} weft_access;

static inline LLVMValueRef offset_pointer(weft_emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef count)
{
    return LLVMBuildGEP2(e->builder, type, pointer, &count, 1, "");
}

static inline LLVMValueRef choose(weft_emitter *e, LLVMValueRef condition, LLVMValueRef pointer, LLVMValueRef instead)
{
    return condition == NULL ? pointer : LLVMBuildSelect(e->builder, condition, pointer, instead, "");
}

static inline bool offset_varies(const weft_access *access)
{
    return access->offset != NULL && access->offset->varying;
}

static inline LLVMValueRef aligned(LLVMValueRef access, weft_dtype dtype)
{
    LLVMSetAlignment(access, weft_dtype_info_of(dtype)->alignment);
    return access;
}

/* ---- emit_address.c ---- */

/* The pointer to the first lane of a part. */
LLVMValueRef weft_access_part_pointer(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part);
/* Adds the computed offset to `count` pointers. */
void weft_access_add_offset(weft_emitter *e, weft_access *access, uint32_t part, uint32_t count,
                            LLVMValueRef *pointers);
/* Where the computed offsets of a part are in memory, and the one of a lane, the first of them at `offsets`. */
LLVMValueRef weft_access_offsets(weft_emitter *e, weft_access *access, uint32_t part);
LLVMValueRef weft_access_load_offset(weft_emitter *e, const weft_access *access, LLVMValueRef offsets, uint32_t lane);
/* The lanes of the last part, from the first on, that a mask known now leaves; 0: they are not known, or the mask is
 * another one. */
uint32_t weft_access_known_lanes(const weft_emitter *e, const weft_access *access);
/* The first `count` lanes: a masked load where that is one instruction instead of several. */
LLVMValueRef weft_access_load_lanes(weft_emitter *e, weft_access *access, LLVMValueRef pointer, uint32_t count);
/* The lanes that the mask leaves. */
LLVMValueRef weft_access_load_masked(weft_emitter *e, const weft_access *access, LLVMValueRef pointer,
                                     LLVMValueRef mask);

/* ---- emit_lanes.c ---- */

/* Whether a function loads the lanes, whose places `offset` gives, one by one; the elements of a part. */
bool weft_lanes_are_called(const weft_emitter *e, const weft_access *access, weft_inst_id offset);
LLVMValueRef weft_lanes_call(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part);

/* ---- emit_near.c ---- */

/* Elements near each other are picked from vectors of all that lie between the first one and the last one: those of
 * each part, or of all parts where these share vectors. */
enum { WEFT_MOST_APART = 4 };

typedef struct weft_nearby {
    bool apart; /* distances are from the first lane of the part, of part 0 if not */
    int64_t distances[WEFT_MAX_PARTS * WEFT_MAX_WIDTH]; /* of each lane, part by part */
    uint32_t parts;                                     /* that are loaded together */
    uint32_t lanes;                                     /* that are valid, of all parts */
    bool masked;          /* which lanes are valid is not known: vectors are loaded by masks */
    int64_t least, count; /* elements of the parts loaded last */
    uint32_t vector_count;
    LLVMValueRef vectors[WEFT_MOST_APART * WEFT_MAX_PARTS];
} weft_nearby;

/* Whether the lanes are loaded this way; where they are not known to exist there is a place of PLACE_BYTES instead. */
bool weft_near_find(weft_emitter *e, const weft_access *access, weft_nearby *n);
/* The elements of a part. */
LLVMValueRef weft_near_load(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part, weft_nearby *n);
#endif
