/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_INST_H
#define WEFT_LIB_LOOP_INST_H
/* Shared by the builder, the passes, the printer and the parser of the loop IR: the fields of an instruction, and lists
 * of instructions. */
#include "lib/loop/loop.h"

/* Which fields an instruction has besides op, dtype and operands; the others are zero. */
enum {
    WEFT_INST_BUFFER = 1,
    WEFT_INST_NUMBER = 2,
    WEFT_INST_BITS = 4,
    WEFT_INST_INDEX = 8,
    WEFT_INST_POSITION = 16,
    WEFT_INST_PREDICATES = 32,
    WEFT_INST_TABLE = 64 /* `buffer` is a table */
};
unsigned weft_inst_fields(weft_scalar_op op, weft_dtype dtype);

/* An index or start that data gave is checked. */
static inline bool weft_scalar_is_check(weft_scalar_op op)
{
    return op == WEFT_SCALAR_check || op == WEFT_SCALAR_within;
}

/* The first operand decides between the other two. */
static inline bool weft_scalar_is_choice(weft_scalar_op op)
{
    return op == WEFT_SCALAR_select || op == WEFT_SCALAR_rarely;
}

/* As in scalar.def. */
typedef enum weft_scalar_result {
    WEFT_RESULT_SAME,
    WEFT_RESULT_PART,
    WEFT_RESULT_BOOL,
    WEFT_RESULT_GIVEN
} weft_scalar_result;
weft_scalar_result weft_scalar_result_of(weft_scalar_op op);
/* Operands of `op`; -1: none or one. */
int weft_scalar_operands(weft_scalar_op op);

/* `items` with room for one more after `count`, perhaps moved within the arena; NULL when out of memory. */
void *weft_loop_grow(weft_arena *arena, void *items, uint32_t count, size_t item_size);

/* A list that shares equal instructions. */
typedef struct weft_inst_list {
    weft_arena *arena;
    weft_inst *items;
    uint32_t count;
    uint32_t visible; /* earlier instructions are not shared */
    bool failed;      /* out of memory: later adds do nothing */
} weft_inst_list;

/* The id of an equal visible instruction, or of a copy of `inst` at the end. */
weft_inst_id weft_inst_list_add(weft_inst_list *list, const weft_inst *inst);
/* The same for an operation without other fields, on operands of the list; its result has the dtype of the last one. */
weft_inst_id weft_inst_list_apply(weft_inst_list *list, weft_scalar_op op, uint32_t count, const weft_inst_id *args);

/* The step or, unless `next`, the combine block of the accumulator `into` on the values of the next element, or on the
 * accumulator of other elements: `into` is then what became of it. */
weft_status *weft_inst_list_combine(weft_inst_list *list, const weft_accumulator *accumulator, weft_inst_id *into,
                                    const weft_inst_id *values, bool next) WEFT_MUST_USE;
weft_inst_id weft_inst_list_constant(weft_inst_list *list, weft_dtype dtype, uint64_t bits);
/* `op`, cast or bitcast, of `a` to `dtype`. */
weft_inst_id weft_inst_list_convert(weft_inst_list *list, weft_scalar_op op, weft_dtype dtype, weft_inst_id a);

/*
 * What a pass over instructions gives for each of them. `inst` has its operands in `list` already; the rule adds to
 * `list` and sets *out_id, or leaves it for a plain copy.
 */
typedef weft_status *(*weft_inst_rule)(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id);
#define WEFT_INST_UNCHANGED UINT32_MAX

/* Makes all instructions of the kernel again, those of combine blocks too. When it fails the kernel can only be
 * destroyed. */
weft_status *weft_kernel_rewrite(weft_kernel *kernel, weft_inst_rule rule) WEFT_MUST_USE;
/* Whether it reports, so that it runs even where nothing uses it (dce.c). */
bool weft_inst_has_effect(const weft_inst *inst);
/* What becomes of an instruction that has lost the predicates that hold wherever it is, or, if not `holds`, has one
 * that never does: a load that never runs is the constant 0, unless it is of complex numbers, and what asks for nothing
 * any more is a truth. */
weft_inst weft_inst_settled(const weft_inst *inst, bool holds);
bool weft_inst_is_truth(const weft_inst *inst, bool value);
/* Of a comparison of sums of positions what is at least zero where it holds; NONE: it is another instruction
 * (position.c). */
weft_expr weft_inst_margin(const weft_kernel *kernel, const weft_inst *inst);
/* Sets needed[id] of what stores, accumulators and reports need, with or without what only the second operand of
 * `rarely` does (dce.c). The others are left as they are. */
void weft_kernel_mark(const weft_kernel *kernel, bool rare_too, uint32_t *needed);
/* Drops dead instructions (dce.c). */
weft_status *weft_kernel_dce(weft_kernel *kernel) WEFT_MUST_USE;
#endif
