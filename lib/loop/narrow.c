/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/narrow.h"
#include "lib/loop/inst.h"
#include "lib/loop/interval.h"

typedef struct finder {
    const weft_kernel *kernel;
    const weft_interval *values;
    weft_narrow_kind *narrow;
} finder;

static bool is_wide_integer(weft_dtype dtype)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    return (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED) && weft_dtype_size(dtype) >= 4;
}

static weft_narrow_kind fitting(weft_interval a)
{
    if (a.least >= 0) return a.most <= UINT16_MAX ? WEFT_NARROW_UNSIGNED : WEFT_NARROW_NONE;
    return a.least >= INT16_MIN && a.most <= INT16_MAX ? WEFT_NARROW_SIGNED : WEFT_NARROW_NONE;
}

static bool is_comparison(weft_scalar_op op)
{
    return op == WEFT_SCALAR_eq || op == WEFT_SCALAR_ne || op == WEFT_SCALAR_lt || op == WEFT_SCALAR_le ||
           op == WEFT_SCALAR_gt || op == WEFT_SCALAR_ge;
}

static bool is_shift(weft_scalar_op op)
{
    return op == WEFT_SCALAR_shl || op == WEFT_SCALAR_shr || op == WEFT_SCALAR_sar;
}

/* Operations whose last 16 bits depend on those of the operands alone, and those that need to know their sign. */
static bool is_modular(weft_scalar_op op)
{
    return op == WEFT_SCALAR_neg || op == WEFT_SCALAR_add || op == WEFT_SCALAR_sub || op == WEFT_SCALAR_mul ||
           op == WEFT_SCALAR_and || op == WEFT_SCALAR_or || op == WEFT_SCALAR_xor || op == WEFT_SCALAR_select;
}

static bool needs_sign(weft_scalar_op op)
{
    return op == WEFT_SCALAR_abs || op == WEFT_SCALAR_div || op == WEFT_SCALAR_max || op == WEFT_SCALAR_min ||
           is_shift(op) || is_comparison(op);
}

static bool is_narrow_operand(const finder *f, weft_inst_id id)
{
    bool is_constant = f->kernel->insts[id].op == WEFT_SCALAR_const;
    return is_constant ? fitting(f->values[id]) != WEFT_NARROW_NONE : f->narrow[id] != WEFT_NARROW_NONE;
}

/* Whether the operands of an operation can be taken in 16 bits. */
static bool takes_narrow(const finder *f, const weft_inst *inst)
{
    int64_t least = 0, most = 0;
    if (inst->op == WEFT_SCALAR_cast) {
        weft_dtype from = f->kernel->insts[inst->args[0]].dtype;
        return from == WEFT_BOOL || from == WEFT_U8 || (is_wide_integer(from) && is_narrow_operand(f, inst->args[0]));
    }
    if (!is_modular(inst->op) && !needs_sign(inst->op)) return false;
    for (uint32_t i = inst->op == WEFT_SCALAR_select ? 1 : 0; i < inst->arg_count; i++) {
        if (!is_narrow_operand(f, inst->args[i])) return false;
        const weft_interval *operand = &f->values[inst->args[i]];
        if (operand->least < least) least = operand->least;
        if (operand->most > most) most = operand->most;
    }
    bool counts = inst->op == WEFT_SCALAR_div || is_shift(inst->op);
    if (counts && f->values[inst->args[1]].least != f->values[inst->args[1]].most) return false;
    return !needs_sign(inst->op) || least >= 0 || most <= INT16_MAX;
}

/* Whether an instruction takes its operands in 16 bits where these are narrow; a cast takes them as they are. */
static bool uses_narrow(const finder *f, const weft_inst *inst, weft_inst_id id)
{
    if (inst->op == WEFT_SCALAR_cast) return true;
    return f->narrow[id] != WEFT_NARROW_NONE || (is_comparison(inst->op) && takes_narrow(f, inst));
}

static bool widen(const finder *f, weft_inst_id id)
{
    bool was_narrow = f->narrow[id] != WEFT_NARROW_NONE;
    f->narrow[id] = WEFT_NARROW_NONE;
    return was_narrow;
}

/* One sweep over all of them; whether one is wide that was not before. */
static bool sweep(const finder *f)
{
    const weft_kernel *kernel = f->kernel;
    bool changed = false;
    for (weft_inst_id id = 0; id < kernel->inst_count; id++) {
        const weft_inst *inst = &kernel->insts[id];
        if (f->narrow[id] != WEFT_NARROW_NONE && inst->op != WEFT_SCALAR_const && !takes_narrow(f, inst))
            changed |= widen(f, id);
        for (uint32_t i = 0; i < inst->arg_count && !uses_narrow(f, inst, id); i++) changed |= widen(f, inst->args[i]);
    }
    for (uint32_t a = 0; a < kernel->accumulator_count; a++)
        for (uint32_t i = 0; i < kernel->accumulators[a].value_count; i++)
            changed |= widen(f, kernel->accumulators[a].values[i]);
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            changed |= widen(f, kernel->stages[s].stores[i].value);
            if (kernel->stages[s].stores[i].is_indirect) changed |= widen(f, kernel->stages[s].stores[i].offset);
        }
    return changed;
}

/* Those whose values fit and that may be computed so. What is needed rarely goes through memory by its dtype. */
static void assume(const finder *f)
{
    bool branches = false;
    for (weft_inst_id id = 0; id < f->kernel->inst_count; id++)
        branches |= f->kernel->insts[id].op == WEFT_SCALAR_rarely;
    for (weft_inst_id id = 0; id < f->kernel->inst_count; id++)
        f->narrow[id] =
            is_wide_integer(f->kernel->insts[id].dtype) && !branches ? fitting(f->values[id]) : WEFT_NARROW_NONE;
}

weft_status *weft_kernel_find_narrow(const weft_kernel *kernel, weft_arena *arena, const weft_narrow_kind **out_narrow)
{
    const weft_interval *intervals;
    WEFT_TRY(weft_kernel_find_intervals(kernel, arena, &intervals));
    weft_narrow_kind *narrow = weft_arena_allocate(arena, ((size_t)kernel->inst_count + 1) * sizeof *narrow);
    if (narrow == NULL) return weft_status_out_of_memory();
    const finder f = {kernel, intervals, narrow};
    assume(&f);
    while (sweep(&f)) {
    }
    *out_narrow = narrow;
    return NULL;
}
