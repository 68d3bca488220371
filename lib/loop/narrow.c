/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/narrow.h"
#include "lib/loop/inst.h"

/* ---- values ---- */

/* All that an integer may be; beyond those of i32 it is anything. */
typedef struct interval {
    int64_t least, most;
} interval;

static const interval anything = {INT64_MIN, INT64_MAX};

static bool is_known(interval a)
{
    return a.least >= INT32_MIN && a.most <= INT32_MAX;
}

static bool is_exact(interval a)
{
    return a.least == a.most;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static interval between(int64_t a, int64_t b)
{
    return (interval){least_of(a, b), most_of(a, b)};
}

static interval join(interval a, interval b)
{
    return (interval){least_of(a.least, b.least), most_of(a.most, b.most)};
}

static weft_dtype_kind kind_of(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind;
}

static bool is_integer(weft_dtype dtype)
{
    return kind_of(dtype) == WEFT_KIND_SIGNED || kind_of(dtype) == WEFT_KIND_UNSIGNED;
}

static interval of_dtype(weft_dtype dtype)
{
    if (dtype == WEFT_BOOL) return (interval){0, 1};
    return dtype == WEFT_U8 ? (interval){0, UINT8_MAX} : anything;
}

static interval of_constant(const weft_inst *inst)
{
    int64_t value = inst->dtype == WEFT_I32 ? (int32_t)inst->bits : (int64_t)inst->bits;
    bool is_whole = is_integer(inst->dtype) || inst->dtype == WEFT_BOOL;
    return is_whole ? (interval){value, value} : anything;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Whether a comparison always holds, or never. */
static interval compared(weft_scalar_op op, interval a, interval b)
{
    bool below = a.most<b.least, not_above = a.most <= b.least, above = a.least> b.most, not_below = a.least >= b.most;
    bool always = op == WEFT_SCALAR_lt   ? below
                  : op == WEFT_SCALAR_le ? not_above
                  : op == WEFT_SCALAR_gt ? above
                                         : not_below;
    bool never = op == WEFT_SCALAR_lt   ? not_below
                 : op == WEFT_SCALAR_le ? above
                 : op == WEFT_SCALAR_gt ? not_above
                                        : below;
    return (interval){always, !never};
}

static interval product(interval a, interval b)
{
    return join(between(a.least * b.least, a.least * b.most), between(a.most * b.least, a.most * b.most));
}

static interval shifted(weft_scalar_op op, interval a, interval count)
{
    if (!is_exact(count) || count.least < 0 || count.least >= 16) return anything;
    int64_t factor = (int64_t)1 << count.least;
    if (op == WEFT_SCALAR_shl) return (interval){a.least * factor, a.most * factor};
    if (op == WEFT_SCALAR_shr && a.least < 0) return anything;
    return (interval){floor_quotient(a.least, factor), floor_quotient(a.most, factor)};
}

static interval masked(interval a, interval b)
{
    if (is_exact(a) && is_exact(b)) return (interval){a.least & b.least, a.least & b.least};
    return a.least >= 0 && b.least >= 0 ? (interval){0, least_of(a.most, b.most)} : anything;
}

/* Of operands that are not negative: below the next power of two. */
static interval mixed(interval a, interval b)
{
    int64_t most = 1;
    if (a.least < 0 || b.least < 0) return anything;
    while (most <= most_of(a.most, b.most)) most *= 2;
    return (interval){0, most - 1};
}

static interval magnitude(interval a)
{
    interval ends = between(a.least < 0 ? -a.least : a.least, a.most < 0 ? -a.most : a.most);
    return a.least < 0 && a.most > 0 ? (interval){0, ends.most} : ends;
}

/* What the operation gives of such operands, if nothing wraps. */
static interval computed(const weft_inst *inst, interval a, interval b, interval c)
{
    switch (inst->op) {
    case WEFT_SCALAR_cast: return a;
    case WEFT_SCALAR_neg: return (interval){-a.most, -a.least};
    case WEFT_SCALAR_abs: return magnitude(a);
    case WEFT_SCALAR_add: return (interval){a.least + b.least, a.most + b.most};
    case WEFT_SCALAR_sub: return (interval){a.least - b.most, a.most - b.least};
    case WEFT_SCALAR_mul: return product(a, b);
    case WEFT_SCALAR_div:
        if (!is_exact(b) || b.least <= 0) return anything;
        return (interval){floor_quotient(a.least, b.least), floor_quotient(a.most, b.least)};
    case WEFT_SCALAR_max: return (interval){most_of(a.least, b.least), most_of(a.most, b.most)};
    case WEFT_SCALAR_min: return (interval){least_of(a.least, b.least), least_of(a.most, b.most)};
    case WEFT_SCALAR_and: return masked(a, b);
    case WEFT_SCALAR_or:
    case WEFT_SCALAR_xor: return mixed(a, b);
    case WEFT_SCALAR_shl:
    case WEFT_SCALAR_shr:
    case WEFT_SCALAR_sar: return shifted(inst->op, a, b);
    case WEFT_SCALAR_lt:
    case WEFT_SCALAR_le:
    case WEFT_SCALAR_gt:
    case WEFT_SCALAR_ge: return compared(inst->op, a, b);
    case WEFT_SCALAR_select: return is_exact(a) ? (a.least != 0 ? b : c) : join(b, c);
    default: return anything;
    }
}

/* What the instruction may be; `values` has what those before it may be. */
static interval value_of(const weft_kernel *kernel, const weft_inst *inst, const interval *values)
{
    interval args[3] = {{0, 0}, {0, 0}, {0, 0}};
    if (inst->op == WEFT_SCALAR_const) return of_constant(inst);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        weft_dtype_kind kind = kind_of(kernel->insts[inst->args[i]].dtype);
        args[i] = values[inst->args[i]];
        if (kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX || !is_known(args[i])) return of_dtype(inst->dtype);
    }
    interval found = inst->arg_count == 0 ? anything : computed(inst, args[0], args[1], args[2]);
    interval all = of_dtype(inst->dtype);
    bool wraps = found.least < all.least || found.most > all.most ||
                 (found.least < 0 && kind_of(inst->dtype) == WEFT_KIND_UNSIGNED);
    return wraps || !is_known(found) ? all : found;
}

/* ---- which of them are narrow ---- */

typedef struct finder {
    const weft_kernel *kernel;
    const interval *values;
    weft_narrow_kind *narrow;
} finder;

static bool is_wide_integer(weft_dtype dtype)
{
    return is_integer(dtype) && weft_dtype_size(dtype) >= 4;
}

static weft_narrow_kind fitting(interval a)
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
        least = least_of(least, f->values[inst->args[i]].least);
        most = most_of(most, f->values[inst->args[i]].most);
    }
    bool counts = inst->op == WEFT_SCALAR_div || is_shift(inst->op);
    if (counts && !is_exact(f->values[inst->args[1]])) return false;
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
    size_t count = (size_t)kernel->inst_count + 1;
    interval *values = weft_arena_allocate(arena, count * sizeof *values);
    weft_narrow_kind *narrow = weft_arena_allocate(arena, count * sizeof *narrow);
    if (values == NULL || narrow == NULL) return weft_status_out_of_memory();
    for (weft_inst_id id = 0; id < kernel->inst_count; id++) values[id] = value_of(kernel, &kernel->insts[id], values);
    const finder f = {kernel, values, narrow};
    assume(&f);
    while (sweep(&f)) {
    }
    *out_narrow = narrow;
    return NULL;
}
