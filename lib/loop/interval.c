/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/interval.h"
#include "lib/loop/inst.h"

static const weft_interval anything = {INT64_MIN, INT64_MAX};

static bool is_known(weft_interval a)
{
    return a.least >= INT32_MIN && a.most <= INT32_MAX;
}

static bool is_exact(weft_interval a)
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

static weft_interval between(int64_t a, int64_t b)
{
    return (weft_interval){least_of(a, b), most_of(a, b)};
}

static weft_interval join(weft_interval a, weft_interval b)
{
    return (weft_interval){least_of(a.least, b.least), most_of(a.most, b.most)};
}

static weft_dtype_kind kind_of(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind;
}

static bool is_integer(weft_dtype dtype)
{
    return kind_of(dtype) == WEFT_KIND_SIGNED || kind_of(dtype) == WEFT_KIND_UNSIGNED;
}

static weft_interval of_dtype(weft_dtype dtype)
{
    if (dtype == WEFT_BOOL) return (weft_interval){0, 1};
    return dtype == WEFT_U8 ? (weft_interval){0, UINT8_MAX} : anything;
}

static weft_interval of_constant(const weft_inst *inst)
{
    int64_t value = inst->dtype == WEFT_I32 ? (int32_t)inst->bits : (int64_t)inst->bits;
    bool is_whole = is_integer(inst->dtype) || inst->dtype == WEFT_BOOL;
    return is_whole ? (weft_interval){value, value} : anything;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Whether a comparison always holds, or never. */
static weft_interval compared(weft_scalar_op op, weft_interval a, weft_interval b)
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
    return (weft_interval){always, !never};
}

static weft_interval product(weft_interval a, weft_interval b)
{
    return join(between(a.least * b.least, a.least * b.most), between(a.most * b.least, a.most * b.most));
}

static weft_interval shifted(weft_scalar_op op, weft_interval a, weft_interval count)
{
    if (!is_exact(count) || count.least < 0 || count.least >= 16) return anything;
    int64_t factor = (int64_t)1 << count.least;
    if (op == WEFT_SCALAR_shl) return (weft_interval){a.least * factor, a.most * factor};
    if (op == WEFT_SCALAR_shr && a.least < 0) return anything;
    return (weft_interval){floor_quotient(a.least, factor), floor_quotient(a.most, factor)};
}

static weft_interval masked(weft_interval a, weft_interval b)
{
    if (is_exact(a) && is_exact(b)) return (weft_interval){a.least & b.least, a.least & b.least};
    return a.least >= 0 && b.least >= 0 ? (weft_interval){0, least_of(a.most, b.most)} : anything;
}

/* Of operands that are not negative: below the next power of two; of an `or` no less than either. */
static weft_interval mixed(weft_scalar_op op, weft_interval a, weft_interval b)
{
    int64_t most = 1;
    if (a.least < 0 || b.least < 0) return anything;
    while (most <= most_of(a.most, b.most)) most *= 2;
    return (weft_interval){op == WEFT_SCALAR_or ? most_of(a.least, b.least) : 0, most - 1};
}

static weft_interval magnitude(weft_interval a)
{
    weft_interval ends = between(a.least < 0 ? -a.least : a.least, a.most < 0 ? -a.most : a.most);
    return a.least < 0 && a.most > 0 ? (weft_interval){0, ends.most} : ends;
}

/* What the operation gives of such operands, if nothing wraps. */
static weft_interval computed(const weft_inst *inst, weft_interval a, weft_interval b, weft_interval c)
{
    switch (inst->op) {
    case WEFT_SCALAR_cast: return a;
    case WEFT_SCALAR_neg: return (weft_interval){-a.most, -a.least};
    case WEFT_SCALAR_abs: return magnitude(a);
    case WEFT_SCALAR_add: return (weft_interval){a.least + b.least, a.most + b.most};
    case WEFT_SCALAR_sub: return (weft_interval){a.least - b.most, a.most - b.least};
    case WEFT_SCALAR_mul: return product(a, b);
    case WEFT_SCALAR_div:
        if (!is_exact(b) || b.least <= 0) return anything;
        return (weft_interval){floor_quotient(a.least, b.least), floor_quotient(a.most, b.least)};
    case WEFT_SCALAR_max: return (weft_interval){most_of(a.least, b.least), most_of(a.most, b.most)};
    case WEFT_SCALAR_min: return (weft_interval){least_of(a.least, b.least), least_of(a.most, b.most)};
    case WEFT_SCALAR_and: return masked(a, b);
    case WEFT_SCALAR_or:
    case WEFT_SCALAR_xor: return mixed(inst->op, a, b);
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

static bool uses_one(const weft_kernel *kernel, weft_expr expr, const weft_range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (weft_expr_uses(kernel->exprs, expr, ranges[i].variable)) return true;
    return false;
}

/* Whether the index is the same everywhere. Where lanes are masked off, variables are beyond their ranges. */
static bool is_of_scalars(const weft_kernel *kernel, weft_expr expr)
{
    bool moves = uses_one(kernel, expr, kernel->ranges, kernel->range_count);
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        moves |= uses_one(kernel, expr, kernel->stages[s].ranges, kernel->stages[s].range_count);
    return !moves;
}

static weft_interval of_index(const weft_kernel *kernel, weft_expr expr)
{
    weft_interval range;
    if (!is_of_scalars(kernel, expr)) return anything;
    weft_expr_range(kernel->exprs, expr, &range.least, &range.most);
    return range;
}

/* What the instruction may be; `values` has what those before it may be. */
static weft_interval value_of(const weft_kernel *kernel, const weft_inst *inst, const weft_interval *values)
{
    weft_interval args[3] = {{0, 0}, {0, 0}, {0, 0}};
    if (inst->op == WEFT_SCALAR_const) return of_constant(inst);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        weft_dtype_kind kind = kind_of(kernel->insts[inst->args[i]].dtype);
        args[i] = values[inst->args[i]];
        if (kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX || !is_known(args[i])) return of_dtype(inst->dtype);
    }
    weft_interval found = inst->op == WEFT_SCALAR_index ? of_index(kernel, inst->index)
                          : inst->arg_count == 0        ? anything
                                                        : computed(inst, args[0], args[1], args[2]);
    weft_interval all = of_dtype(inst->dtype);
    bool wraps = found.least < all.least || found.most > all.most ||
                 (found.least < 0 && kind_of(inst->dtype) == WEFT_KIND_UNSIGNED);
    return wraps || !is_known(found) ? all : found;
}

weft_status *weft_kernel_find_intervals(const weft_kernel *kernel, weft_arena *arena,
                                        const weft_interval **out_intervals)
{
    weft_interval *values = weft_arena_allocate(arena, ((size_t)kernel->inst_count + 1) * sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    for (weft_inst_id id = 0; id < kernel->inst_count; id++) values[id] = value_of(kernel, &kernel->insts[id], values);
    *out_intervals = values;
    return NULL;
}

static bool is_at_most(const weft_kernel *kernel, weft_expr value, weft_expr most)
{
    return weft_expr_always_nonnegative(kernel->exprs, weft_expr_sub(kernel->exprs, most, value));
}

/* Whether the value is never above `most`, as far as `depth` operations tell. */
static bool stays_below(const weft_kernel *kernel, const weft_interval *intervals, weft_inst_id id, weft_expr most,
                        uint32_t depth)
{
    const weft_inst *inst = &kernel->insts[id];
    bool wraps = is_known(of_dtype(inst->dtype)); /* a value beyond the dtype would not be told */
    if (!is_known(intervals[id])) return false;
    if (is_at_most(kernel, weft_expr_constant(kernel->exprs, intervals[id].most), most)) return true;
    if (inst->op == WEFT_SCALAR_index)
        return is_of_scalars(kernel, inst->index) && is_at_most(kernel, inst->index, most);
    if (depth == 0) return false;
    if (inst->op == WEFT_SCALAR_cast && !wraps) return stays_below(kernel, intervals, inst->args[0], most, depth - 1);
    if (inst->op == WEFT_SCALAR_sub && !wraps) {
        weft_expr taken = weft_expr_constant(kernel->exprs, intervals[inst->args[1]].least);
        return stays_below(kernel, intervals, inst->args[0], weft_expr_add(kernel->exprs, most, taken), depth - 1);
    }
    if (inst->op != WEFT_SCALAR_min && inst->op != WEFT_SCALAR_max) return false;
    bool first = stays_below(kernel, intervals, inst->args[0], most, depth - 1);
    if (first == (inst->op == WEFT_SCALAR_min)) return first;
    return stays_below(kernel, intervals, inst->args[1], most, depth - 1);
}

bool weft_kernel_is_inside(const weft_kernel *kernel, const weft_interval *intervals, weft_inst_id id, weft_expr extent)
{
    enum { DEPTH = 6 };
    weft_expr last = weft_expr_sub(kernel->exprs, extent, weft_expr_constant(kernel->exprs, 1));
    return intervals[id].least >= 0 && stays_below(kernel, intervals, id, last, DEPTH);
}
