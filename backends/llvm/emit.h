/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_EMIT_H
#define WEFT_BACKENDS_LLVM_EMIT_H
/* The functions of the emitter's files; each uses those before it. */
#include "backends/llvm/emitter.h"

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Whether the processor has the instructions of a level. */
static inline bool weft_emitter_has(const weft_emitter *e, weft_isa level)
{
    return !e->gpu && weft_isa_includes(e->processor->level, level);
}

/* The valid lanes of a part; NULL: all. */
static inline LLVMValueRef weft_lane_mask(const weft_emitter *e, uint32_t part)
{
    return part + 1 == e->lane.parts ? e->lane.mask : e->lane.earlier[part];
}

/* ---- emit_scope.c ---- */
/* Opens the entry. */
void weft_scope_start(weft_emitter *e);
static inline uint32_t weft_scope_top(const weft_emitter *e)
{
    return e->depth - 1;
}
/* The builder continues at `level`. */
void weft_scope_move(weft_emitter *e, uint32_t level);
/* Code that runs where `condition` holds. `decides`: whether there are any points depends on it. */
void weft_guard_open(weft_emitter *e, LLVMValueRef condition, bool decides);
void weft_guard_close(weft_emitter *e);
/* A loop whose body runs at least once, with `count` values carried from iteration to iteration. */
void weft_loop_open(weft_emitter *e, size_t count, const LLVMValueRef *initial, LLVMValueRef *out_phis);
void weft_loop_close(weft_emitter *e, LLVMValueRef again, const LLVMValueRef *next);
/* for (variable = start; variable < limit; variable += step), known to run at least once; hands on e->carried. Returns
 * the variable's value; `variable` may be NONE. */
LLVMValueRef weft_count_open(weft_emitter *e, weft_expr variable, LLVMValueRef start);
void weft_count_close(weft_emitter *e, LLVMValueRef limit, LLVMValueRef step);
/* The same, but it ends where `done`, which may be NULL, is true. */
void weft_count_close_unless(weft_emitter *e, LLVMValueRef limit, LLVMValueRef step, LLVMValueRef done);
/* A body that runs once with `variable` = value. */
void weft_once_open(weft_emitter *e, weft_expr variable, LLVMValueRef value);
void weft_once_close(weft_emitter *e);
/* A branch at `level` to a block of straight-line code that is seldom run: the builder is left in that block. */
void weft_branch_open(weft_emitter *e, uint32_t level, LLVMValueRef condition);
void weft_branch_close(weft_emitter *e, uint32_t level);
/* The same for code of any kind: until it is closed, all that belongs at `level` goes into the branch. */
typedef struct weft_detour {
    LLVMBasicBlockRef start, end; /* before the branch, and where it ends; closing sets the second */
    LLVMBasicBlockRef rest;
    LLVMValueRef terminator;
} weft_detour;

void weft_detour_open(weft_emitter *e, uint32_t level, LLVMValueRef condition, weft_detour *out_detour);
void weft_detour_close(weft_emitter *e, uint32_t level, weft_detour *detour);
/* After it, for `count` values: those of `others` where it was taken. */
void weft_detour_merge(weft_emitter *e, const weft_detour *detour, uint32_t count, const LLVMValueRef *others,
                       LLVMValueRef *values);
bool weft_value_is_open(const weft_emitter *e, uint32_t level, uint32_t serial);
/* An array of `count` elements in the stack frame. */
LLVMValueRef weft_local_create(weft_emitter *e, LLVMTypeRef type, uint64_t count);
void weft_emitter_fail(weft_emitter *e, weft_status *status);

/* The value of an instruction as part `part` is to use it: a vector while a lane range is open and `vector`. */
LLVMValueRef weft_value_part(weft_emitter *e, weft_emitted *value, uint32_t part, bool vector);
/* Moves `*out_level` inwards to the last scope that has to be open for effects. */
uint32_t weft_effect_level(const weft_emitter *e, uint32_t level);

/* ---- types and small constants, emit_type.c ---- */
LLVMTypeRef weft_register_type(const weft_emitter *e, weft_dtype dtype);
LLVMTypeRef weft_memory_type(const weft_emitter *e, weft_dtype dtype);
/* `width` of `type`; `type` itself for 1. A complex number is two lanes: the type of one is a vector of two, a vector
 * of `width` has twice as many lanes, in which the parts alternate. */
LLVMTypeRef weft_vector_type(LLVMTypeRef type, uint32_t width);
/* i64. */
LLVMValueRef weft_int(const weft_emitter *e, int64_t value);
/* The integer in every element of `type`. */
LLVMValueRef weft_int_like(LLVMTypeRef type, int64_t value);
/* 0, step, 2*step, ... of the integer type `type`. */
LLVMValueRef weft_lane_steps(LLVMTypeRef type, uint32_t width, int64_t step);
LLVMValueRef weft_splat(weft_emitter *e, LLVMValueRef scalar, uint32_t width);
/* Whether any lane of a vector of i1 is set, or all are; a scalar as it is. */
LLVMValueRef weft_any_lane(weft_emitter *e, LLVMValueRef lanes);
LLVMValueRef weft_all_lanes(weft_emitter *e, LLVMValueRef lanes);
LLVMValueRef weft_element(weft_emitter *e, LLVMValueRef vector, uint32_t width, uint32_t lane);
/* `vector` with another element in a lane. */
LLVMValueRef weft_element_insert(weft_emitter *e, LLVMValueRef vector, LLVMValueRef element, uint32_t lane);
LLVMValueRef weft_reverse(weft_emitter *e, LLVMValueRef vector, uint32_t width);
/* `count` lanes of a vector of `width`, from `first` on: a scalar if it is one; and a vector with others there. */
LLVMValueRef weft_lanes_slice(weft_emitter *e, LLVMValueRef vector, uint32_t width, uint32_t first, uint32_t count);
LLVMValueRef weft_lanes_insert(weft_emitter *e, LLVMValueRef vector, LLVMValueRef lanes, uint32_t width, uint32_t first,
                               uint32_t count);
/* The given lanes of `a` followed by `b`. */
LLVMValueRef weft_lanes_shuffle(weft_emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t count, const uint32_t *lanes);
/* Every lane `times` times. */
LLVMValueRef weft_repeat_lanes(weft_emitter *e, LLVMValueRef vector, uint32_t times);
/* Loads and stores hold a bool as one byte. */
LLVMValueRef weft_from_memory(weft_emitter *e, weft_dtype dtype, LLVMValueRef value);
LLVMValueRef weft_to_memory(weft_emitter *e, weft_dtype dtype, LLVMValueRef value);
/* Calls the intrinsic `name`, overloaded on at most two types. */
LLVMValueRef weft_intrinsic_call(weft_emitter *e, const char *name, size_t overload_count, const LLVMTypeRef *overloads,
                                 unsigned count, LLVMValueRef *args);
/* a * b + c, rounded once. */
LLVMValueRef weft_multiply_add(weft_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* ---- emit_index.c: integer expressions ---- */
/* An index at the first or the last point of all ranges around it in the stage. */
weft_expr weft_index_at(weft_emitter *e, const weft_stage *stage, weft_expr index, bool last);
/* Whether an extent is unknown only because the last one of an outer range may be less: it is of a chunk. */
bool weft_extent_is_cut(const weft_emitter *e, weft_expr extent);
/* The outermost scope where it is available. */
uint32_t weft_index_level(weft_emitter *e, weft_expr expr);
/* Its i64 value at the first lane of part `part`. */
LLVMValueRef weft_index_emit(weft_emitter *e, weft_expr expr, uint32_t part);
/* Its values along the lanes of part `part`: a vector. Leaves the builder at the expression's scope. */
LLVMValueRef weft_index_lanes(weft_emitter *e, weft_expr expr, uint32_t part);
bool weft_index_varies(const weft_emitter *e, weft_expr expr);

typedef enum weft_lane_stride_kind {
    WEFT_LANE_STRIDE_CONSTANT, /* from lane to lane of a vector it grows by `step` */
    WEFT_LANE_STRIDE_SYMBOLIC, /* ... by the value of `stride` */
    WEFT_LANE_STRIDE_ANY
} weft_lane_stride_kind;

typedef struct weft_lane_stride {
    weft_lane_stride_kind kind;
    bool exact; /* the same between the vectors of all parts */
    int64_t step;
    weft_expr stride;
} weft_lane_stride;

weft_lane_stride weft_index_lane_stride(weft_emitter *e, weft_expr expr);

/* Lanes in two runs: `left` of them grow by `step` from the first one, those of a vector that are left grow by it from
 * `after`. */
typedef struct weft_lane_wrap {
    weft_expr left, after;
    int64_t step;
} weft_lane_wrap;

/* Whether the lanes of every vector are in one such run or two, where they have no step. */
bool weft_index_lane_wrap(weft_emitter *e, weft_expr expr, weft_lane_wrap *out_wrap);
/* How far the lanes of all parts are from the first lane of part 0, part by part; false where that is not known. */
bool weft_index_lane_distances(weft_emitter *e, weft_expr expr, int64_t *out_distances);
/* The sum of the terms of `sum` that become available at `level`; NULL if there are none. */
LLVMValueRef weft_index_terms(weft_emitter *e, weft_expr sum, uint32_t level, uint32_t part);

/* ---- emit_pointer.c ---- */
/* `base` + expr elements of `type` at the first lane of `part`, each term added where it is available. */
LLVMValueRef weft_index_pointer(weft_emitter *e, LLVMTypeRef type, LLVMValueRef base, weft_expr expr, uint32_t part);

/* ---- emit_pairs.c: lanes of even and of odd elements ---- */
/* Whether rounds of `parts` vectors are to run on such lanes (e->lane.paired): of a stage, or (NULL) of all of them. */
bool weft_pairs_fit(const weft_emitter *e, const weft_stage *stage, const weft_range *range, uint32_t parts);
/* Moves the lanes of what is carried there, or back. */
void weft_pairs_move(weft_emitter *e, bool apart);
/* Two vectors of bf16 from the pointer to the first of all elements. */
void weft_pairs_split(weft_emitter *e, LLVMValueRef pointer, LLVMValueRef *out_parts);
/* All elements of two vectors of bf16, side by side. */
LLVMValueRef weft_pairs_join(weft_emitter *e, LLVMValueRef evens, LLVMValueRef odds);

/* ---- emit_strided.c: short elements at a stride ---- */
/* Whether the lanes are loaded so. */
bool weft_strided_fits(const weft_emitter *e, weft_dtype dtype, int64_t step);
/* A vector of elements `step` apart, the first one at `pointer`. Nothing beyond the last one is read. */
LLVMValueRef weft_strided_load(weft_emitter *e, weft_dtype dtype, LLVMValueRef pointer, int64_t step);

/* ---- emit_rows.c: lanes across short rows ---- */
#define WEFT_MOST_TURNED 16
/* `count` vectors, up to 16, as many as they have lanes or as 16 bytes have: of each piece of `count` lanes, element k
 * of vector i and element i of vector k change places (emit_transpose.c). */
void weft_rows_transpose(weft_emitter *e, weft_dtype dtype, uint32_t count, LLVMValueRef *vectors);
/* Part `part` of a load of the kernel, with those that follow it in each row; NULL: there are no such ones. */
LLVMValueRef weft_rows_load(weft_emitter *e, const weft_inst *load, uint32_t level, uint32_t part);
/* Stores with those that follow in each row; false, and nothing is done, where there are none. */
bool weft_rows_store(weft_emitter *e, const weft_stage *stage, const weft_store *store);

/* ---- emit_prefetch.c ---- */
/* After part `part` of a contiguous load, made at `level`, or store of elements of `type` at `pointer`: asks for what
 * will be accessed later, if that is worth while. */
void weft_prefetch_load(weft_emitter *e, const weft_inst *load, LLVMTypeRef type, LLVMValueRef pointer, uint32_t part,
                        uint32_t level);
void weft_prefetch_store(weft_emitter *e, const weft_store *store, LLVMTypeRef type, LLVMValueRef pointer,
                         uint32_t part);

/* ---- emit_prefetch_rows.c ---- */
/* After a check of what is the same in all lanes: asks for rows at positions that come later, if they are rows. */
void weft_prefetch_rows(weft_emitter *e, weft_inst_id check);

/* ---- emit_condition.c ---- */
/* Where predicates hold: a scalar condition and masks, NULL where they hold always. */
typedef struct weft_condition {
    LLVMValueRef scalar;
    bool varying;
    LLVMValueRef masks[WEFT_MAX_PARTS];
} weft_condition;

/* At `level`. */
void weft_condition_emit(weft_emitter *e, uint32_t level, uint32_t count, const weft_expr *predicates,
                         weft_condition *out_condition);
uint32_t weft_predicates_level(weft_emitter *e, uint32_t count, const weft_expr *predicates);
bool weft_predicates_vary(weft_emitter *e, uint32_t count, const weft_expr *predicates);
/* The lanes of a vector whose number is below `count`, an i64 that fits 32 bits. */
LLVMValueRef weft_mask_below(weft_emitter *e, LLVMValueRef count);
/* Where both hold; NULL: everywhere. */
LLVMValueRef weft_condition_both(weft_emitter *e, LLVMValueRef a, LLVMValueRef b);

/* ---- emit_mask.c: vectors of which masks leave nothing ---- */
/* Whether vectors of which nothing is left may be computed, too, and that takes no longer than to leave them out. */
bool weft_mask_may_be_empty(weft_emitter *e, const weft_stage *stage, const weft_range *range);
/* The comparison of positions that hides elements of a long range from *out_seen on; NULL: there is none. */
const weft_inst *weft_mask_find(weft_emitter *e, const weft_stage *stage, const weft_range *range, weft_expr *out_seen);
/* Where the first round begins, from `start` to `limit`, of which nothing is seen. */
LLVMValueRef weft_mask_limit(weft_emitter *e, const weft_range *range, weft_expr seen, LLVMValueRef start,
                             LLVMValueRef limit);
/* Whether hidden elements leave anything: stores, reports, or accumulators that they change. */
bool weft_mask_leaves(const weft_emitter *e, const weft_stage *stage, const weft_inst *mask);
/* Whether `inst` is e->hidden, or chooses by it: then fills value->parts. */
bool weft_mask_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value);

/* ---- emit_copy.c ---- */

/* Copies elements [begin, end) of the last range around `stage`, where that is long and all that the stage does; false:
 * it is not. */
bool weft_copy_emit(weft_emitter *e, const weft_stage *stage, const weft_range *range, LLVMValueRef begin,
                    LLVMValueRef end);

/* ---- emit_nontemporal.c ---- */
/* Whether what is stored is to go past the caches. */
bool weft_nontemporal_fits(const weft_emitter *e, const weft_store *store);
/* Stores `count` vectors of `width` elements, of which each lies `step` elements, or a multiple, after the first one.
 * False: there are no such instructions for them, and nothing was emitted. */
bool weft_nontemporal_emit(weft_emitter *e, uint32_t buffer, uint32_t width, int64_t step, uint32_t count,
                           const LLVMValueRef *pointers, const LLVMValueRef *values);
/* At the end of a kernel. */
void weft_nontemporal_close(weft_emitter *e);

/* ---- emit_address.c: loads and stores ---- */
/* A vector of `type` from pointers to its elements; zeros where `mask` has no lane. */
LLVMValueRef weft_gather_emit(weft_emitter *e, LLVMTypeRef type, uint32_t alignment, LLVMValueRef pointers,
                              LLVMValueRef mask);
/* Of the buffer's first element. */
LLVMValueRef weft_buffer_pointer(weft_emitter *e, uint32_t buffer);
/* Fills value->parts at `level`. */
void weft_load_emit(weft_emitter *e, const weft_inst *inst, uint32_t level, weft_emitted *value);
/* At the top scope. */
void weft_store_emit(weft_emitter *e, const weft_store *store);
/* A vector, of which only the lanes of `mask` are stored. */
void weft_masked_store_emit(weft_emitter *e, weft_dtype dtype, LLVMValueRef pointer, LLVMValueRef value,
                            LLVMValueRef mask);

/* How intrinsics of AVX-512 round: as the thread does. */
enum { WEFT_CURRENT_ROUNDING = 4 };

/* ---- emit_cast.c ---- */
/* Scalars or vectors, also of bools and 16-bit floats. */
LLVMValueRef weft_cast_emit(weft_emitter *e, weft_dtype from, weft_dtype to, LLVMValueRef value);
/* f32 to bf16, not on the GPU; `known` as in lib/loop/bf16.h. */
LLVMValueRef weft_bf16_round(weft_emitter *e, LLVMValueRef value, unsigned known);
LLVMValueRef weft_bitcast_emit(weft_emitter *e, weft_dtype from, weft_dtype to, LLVMValueRef value);

/* ---- emit_extremum.c ---- */
/* The greater or lesser of two floats, `b` if they are equal; NaN if either is. */
LLVMValueRef weft_extremum_emit(weft_emitter *e, bool greatest, LLVMValueRef a, LLVMValueRef b);
/* The same where `a` is no NaN. */
LLVMValueRef weft_extremum_of_numbers(weft_emitter *e, bool greatest, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef weft_extremum_of_integers(weft_emitter *e, bool is_signed, bool greatest, LLVMValueRef a, LLVMValueRef b);

/* ---- emit_scalar.c ---- */
/* One operation on registers, scalar or vector; `from` is the dtype of the last operand. */
LLVMValueRef weft_scalar_emit(weft_emitter *e, const weft_inst *inst, weft_dtype from, LLVMValueRef *args);
/* Floor division of integers of `dtype`; a zero divisor gives 0. */
LLVMValueRef weft_floor_divide(weft_emitter *e, weft_dtype dtype, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef weft_constant_emit(weft_emitter *e, weft_dtype dtype, uint64_t bits);

/* ---- emit_narrow.c ---- */
/* Whether the instruction takes or gives integers in 16 bits. */
bool weft_narrow_computes(const weft_emitter *e, const weft_inst *inst);
/* Such an instruction; its operands are in 16 bits but for what is cast, and the condition of a choice. */
LLVMValueRef weft_narrow_emit(weft_emitter *e, const weft_inst *inst, LLVMValueRef *args);
/* A constant that is one of them. */
LLVMValueRef weft_narrow_constant(const weft_emitter *e, const weft_inst *constant);

/* ---- emit_constant.c ---- */
/* Whether many constants of the kernel are operands of fma, and better left in memory than in registers. */
bool weft_constants_are_stored(const weft_emitter *e);
/* The constant `inst` as a vector of the lanes of part `part`, loaded where code goes now. */
LLVMValueRef weft_constant_load(weft_emitter *e, const weft_inst *inst, uint32_t part);

/* ---- emit_function.c ---- */
/* fmod of floats, pow of integers: a call of a function that is made when it is first needed. */
LLVMValueRef weft_function_call(weft_emitter *e, weft_scalar_op op, weft_dtype dtype, LLVMValueRef *args);

/* ---- emit_masked_load.c ---- */

/* A masked load of a vector of elements of one or two bytes; zeros in the other lanes. */
LLVMValueRef weft_masked_load(weft_emitter *e, weft_dtype dtype, LLVMTypeRef type, LLVMValueRef pointer,
                              LLVMValueRef mask);
/* ---- emit_table.c ---- */
/* The elements of a table for `rows`, a scalar or a vector, at `level`: its code goes on in another block where there
 * is a branch. */
LLVMValueRef weft_lookup_emit(weft_emitter *e, uint32_t level, const weft_inst *inst, LLVMValueRef rows);

/* ---- emit_quotient.c ---- */
/* Whether `inst` divides long vectors in a loop by a number that is known outside of it; then fills value->parts. */
bool weft_quotients_share(const weft_emitter *e, const weft_inst *inst, const weft_emitted *value);
void weft_quotients_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value);

/* ---- emit_root.c ---- */
/* Whether `inst` takes roots of long vectors, which products do faster; then fills value->parts. */
bool weft_roots_multiply(weft_emitter *e, const weft_inst *inst, const weft_emitted *value);
void weft_roots_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value);

/* ---- emit_divide.c ---- */
/* Whether `inst` divides vectors of integers, which floats do faster; then fills value->parts. */
bool weft_division_is_real(const weft_emitter *e, const weft_inst *inst, const weft_emitted *value);
void weft_division_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value);

/* ---- emit_inst.c: instructions of a stage ---- */
/* The outermost scope where operands and expressions are available; no parts. */
weft_emitted weft_inst_place(weft_emitter *e, const weft_inst *inst);
/* Operand `i` of one part of `value`. */
LLVMValueRef weft_operand_part(weft_emitter *e, const weft_inst *inst, uint32_t i, uint32_t part,
                               const weft_emitted *value);
/* Fills value->parts at value->level. */
void weft_arithmetic_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value);
/* Unless it was: at its place. */
void weft_inst_emit_now(weft_emitter *e, weft_inst_id id);
/* The same, of what is not left to a branch that is seldom taken. */
void weft_inst_emit(weft_emitter *e, weft_inst_id id);

/* ---- emit_rare.c ---- */
/* The `rarely` and those that follow it with the same condition, behind one branch. */
void weft_rarely_emit(weft_emitter *e, weft_inst_id first);

/* ---- emit_transpose.c: stages that copy rows to columns ---- */
/* Rows of the blocks in which the stage is emitted, along its last range but one; 0: it is no such stage. */
uint32_t weft_transposed_rows(weft_emitter *e, const weft_stage *stage);
/* Whether part of a vector of its rows may be loaded by a mask. */
bool weft_transposed_takes_masks(const weft_emitter *e, const weft_stage *stage);
/* The block of e->lane.rows rows from where the range is now, and of the lanes of one vector. */
void weft_transposed_emit(weft_emitter *e, const weft_stage *stage);

/* ---- emit_turned.c: lanes across long rows ---- */
/* Points of a block of rows that loads of the stage are read by, along the serial range inside of the lanes; 0: there
 * are no such loads. `*out_masked`: the last block may be part of one. */
uint32_t weft_turned_points(weft_emitter *e, const weft_stage *stage, const weft_range *range, bool *out_masked);
/* Reads a block, from where the range is now; `left`: points that there are of it, or NULL for all. */
void weft_turned_read(weft_emitter *e, const weft_stage *stage, LLVMValueRef left);
/* Fills value->parts for a point of the block, e->turned_row, at `level`; false: it is another load. */
bool weft_turned_emit(weft_emitter *e, const weft_inst *inst, uint32_t level, weft_emitted *value);

/* ---- emit_reduce.c: accumulators ---- */
/* Whether the accumulator is the maximum or minimum of floats. */
bool weft_reduce_is_extremum(const weft_accumulator *accumulator);
/* Sets e->carried to the inits; `along_lanes`: the lanes are virtual lanes of the reduction. */
void weft_reduce_start(weft_emitter *e, const weft_stage *stage, uint32_t width, uint32_t parts, bool along_lanes);
void weft_reduce_restart(weft_emitter *e);
/* The accumulators take in the current point. */
void weft_reduce_point(weft_emitter *e);
/* `out`, which may be one of them, is `left` combined with `right`, those of other elements; `numbers`: of an extremum,
 * none of which is NaN. */
void weft_reduce_combine(weft_emitter *e, const weft_accumulator *accumulator, bool numbers, const LLVMValueRef *left,
                         const LLVMValueRef *right, LLVMValueRef *out);
/* Accumulator `number` of the stage; a component in a part, as it is carried. */
const weft_accumulator *weft_reduce_accumulator(const weft_emitter *e, uint32_t number);
LLVMValueRef *weft_reduce_carried(weft_emitter *e, uint32_t slot, uint32_t part);
/* Whether all accumulators of the stage are bools along lanes that some elements decide, whatever others are. */
bool weft_reduce_decides(const weft_emitter *e);
/* Whether there is one of these, which has taken in nothing yet: a loop that goes on only until it is decided need not
 * carry it. */
bool weft_reduce_is_undecided(weft_emitter *e);
/* Whether nothing can change these accumulators any more. */
LLVMValueRef weft_reduce_decided(weft_emitter *e);
/* A copy of what is carried. */
const LLVMValueRef *weft_reduce_copy(weft_emitter *e);
/* `copy` takes in what is carried, and is carried. */
void weft_reduce_join(weft_emitter *e, const LLVMValueRef *copy);
/* `copy` is carried where `condition` does not hold. */
void weft_reduce_choose(weft_emitter *e, LLVMValueRef condition, const LLVMValueRef *copy);
/* What component `component` of accumulator `accumulator` of the stage is now; fills value->parts. */
void weft_reduce_running(weft_emitter *e, uint32_t accumulator, uint32_t component, weft_emitted *value);
/* Makes `groups` groups of rows in memory, each with a row for every part; keep moves what is carried there, fetch
 * takes it back. */
void weft_reduce_rows(weft_emitter *e, uint32_t groups);
void weft_reduce_keep(weft_emitter *e, LLVMValueRef group);
void weft_reduce_fetch(weft_emitter *e, LLVMValueRef group);
/* The tree by halves over `lanes` groups; what is left is carried. */
void weft_reduce_fold(weft_emitter *e, uint32_t lanes);
/* What is carried, along lanes combined to one, becomes the results. Nothing is carried after it. */
void weft_reduce_finish(weft_emitter *e);

/* ---- emit_scan.c: accumulators that are looked at while they grow ---- */
/* The accumulator with its first component at `slot` takes in the current point, its virtual lanes in a tree. */
void weft_scan_point(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot);
/* What the accumulators of a scan are now, with the blocks before; unless `in_tree` they are carried. */
void weft_scan_look(weft_emitter *e, bool in_tree);
/* Levels of the tree of the stage's virtual lanes. */
uint32_t weft_scan_levels(const weft_stage *stage);

/* ---- emit_range.c ---- */
/* The greatest blocks that `most` elements of the range are cut into; 0: they are not. */
int64_t weft_block_size(const weft_range *range, int64_t most);
/* Leading outer ranges that the iterations [begin, end) run through. */
uint32_t weft_threaded_count(const weft_emitter *e);
/* The other outer ranges, and the stages inside of them, at the top scope. */
void weft_ranges_emit(weft_emitter *e);

/* ---- emit.c ---- */
/* Adds a function `symbol` to the module. */
weft_status *weft_kernel_emit(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                              const weft_processor *processor, LLVMModuleRef module) WEFT_MUST_USE;
/* The same in as little code as that takes, which runs more slowly. */
weft_status *weft_kernel_emit_briefly(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                                      const weft_processor *processor, LLVMModuleRef module) WEFT_MUST_USE;
/* The function beside it that it leaves special scalars to; NULL: there is none. */
LLVMValueRef weft_kernel_find_special_function(const char *symbol, LLVMModuleRef module);

/* ---- entry.c: parameters, and the loop over iterations ---- */
void weft_entry_emit_cpu(weft_emitter *e, const char *symbol);
void weft_entry_emit_gpu(weft_emitter *e, const char *symbol);

/* ---- target.c ---- */
/* Attributes that every function needs. */
void weft_function_decorate(weft_emitter *e, LLVMValueRef function);

/* Has the function align its stack as what it keeps there, which takes it a register. */
void weft_function_align_stack(weft_emitter *e, LLVMValueRef function);
#endif
