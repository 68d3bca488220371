/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/bf16.h"
#include "lib/loop/inst.h"

enum { ALL = WEFT_BF16_EXACT | WEFT_BF16_NAN | WEFT_BF16_QUIET, NUMBER = WEFT_BF16_NAN | WEFT_BF16_QUIET };

static unsigned of_constant(uint64_t bits)
{
    enum { INFINITY_BITS = 0x7f800000, QUIET_BIT = 0x400000 };
    unsigned exact = bits % 0x10000 == 0 ? WEFT_BF16_EXACT | WEFT_BF16_NAN : 0;
    if ((bits & 0x7fffffff) <= INFINITY_BITS) return exact | NUMBER;
    return exact | (bits & QUIET_BIT ? WEFT_BF16_QUIET : 0);
}

/* Integers, and what is rounded, are no signalling NaN. */
static unsigned of_cast(const weft_kernel *kernel, const weft_inst *inst, const uint8_t *known)
{
    weft_dtype from = kernel->insts[inst->args[0]].dtype;
    if (inst->dtype == WEFT_BF16) return WEFT_BF16_QUIET;
    if (from == WEFT_BF16) return known[inst->args[0]] | WEFT_BF16_EXACT | WEFT_BF16_NAN;
    return weft_dtype_info_of(from)->kind == WEFT_KIND_FLOAT ? 0 : NUMBER;
}

/* Bits that were shifted out of all of the fraction: no NaN. */
static unsigned of_bits(const weft_kernel *kernel, const weft_inst *inst)
{
    enum { FRACTION = 23 };
    const weft_inst *bits = &kernel->insts[inst->args[0]];
    if (bits->op != WEFT_SCALAR_shl) return 0;
    const weft_inst *count = &kernel->insts[bits->args[1]];
    return count->op == WEFT_SCALAR_const && count->bits >= FRACTION ? ALL : 0;
}

/* Whether an operand may be a constant zero or one, with either sign: extents are where they are known. */
static bool may_be_neutral(const weft_kernel *kernel, const weft_inst *inst)
{
    enum { ONE = 0x3f800000 };
    while (inst->op == WEFT_SCALAR_cast || inst->op == WEFT_SCALAR_neg || inst->op == WEFT_SCALAR_abs)
        inst = &kernel->insts[inst->args[0]];
    if (inst->op != WEFT_SCALAR_const) return inst->op == WEFT_SCALAR_index;
    if (inst->dtype != WEFT_F32 && inst->dtype != WEFT_BF16) return true;
    uint64_t magnitude = (inst->dtype == WEFT_BF16 ? inst->bits << 16 : inst->bits) & 0x7fffffff;
    return magnitude == 0 || magnitude == ONE;
}

/* LLVM leaves out arithmetic that changes no number, and makes x * -1 a change of sign: then a NaN stays what it is. */
static bool may_be_left_out(const weft_kernel *kernel, const weft_inst *inst)
{
    bool found = false;
    for (uint32_t i = 0; i < inst->arg_count; i++) found |= may_be_neutral(kernel, &kernel->insts[inst->args[i]]);
    return found;
}

static unsigned known_of(const weft_kernel *kernel, const weft_inst *inst, const uint8_t *known)
{
    unsigned all = ALL;
    if (inst->dtype != WEFT_F32 && inst->dtype != WEFT_BF16) return 0;
    for (uint32_t i = weft_scalar_is_choice(inst->op) ? 1 : 0; i < inst->arg_count; i++) all &= known[inst->args[i]];
    switch (inst->op) {
    case WEFT_SCALAR_const: return inst->dtype == WEFT_F32 ? of_constant(inst->bits) : 0;
    case WEFT_SCALAR_cast: return of_cast(kernel, inst, known);
    case WEFT_SCALAR_bitcast: return of_bits(kernel, inst);
    case WEFT_SCALAR_lookup: return NUMBER;
    case WEFT_SCALAR_neg:
    case WEFT_SCALAR_abs:
    case WEFT_SCALAR_max:
    case WEFT_SCALAR_min:
    case WEFT_SCALAR_select:
    case WEFT_SCALAR_rarely: return all;
    case WEFT_SCALAR_add:
    case WEFT_SCALAR_sub:
    case WEFT_SCALAR_mul:
    case WEFT_SCALAR_div:
    case WEFT_SCALAR_sqrt:
    case WEFT_SCALAR_fma:
        return (may_be_left_out(kernel, inst) ? all & WEFT_BF16_QUIET : WEFT_BF16_QUIET) | (all & WEFT_BF16_NAN);
    default: return 0;
    }
}

weft_status *weft_kernel_find_bf16(const weft_kernel *kernel, weft_arena *arena, const uint8_t **out_known)
{
    uint8_t *known = weft_arena_allocate(arena, (size_t)kernel->inst_count + 1);
    if (known == NULL) return weft_status_out_of_memory();
    for (weft_inst_id id = 0; id < kernel->inst_count; id++)
        known[id] = (uint8_t)known_of(kernel, &kernel->insts[id], known);
    *out_known = known;
    return NULL;
}
