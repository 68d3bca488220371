/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16-bit floats, f16 and bf16: they live in memory, and arithmetic on them is done in f32.
 *
 * requires   a verified kernel in either state, without complex numbers
 * maintains  the state; every operation's result is rounded to its dtype once more, to nearest even
 * breaks     the numbering of instructions
 *
 * Afterwards 16-bit floats are loaded, stored, selected, constant, reinterpreted, given another sign by neg and abs,
 * and cast from and to f32: nothing else. Sums and products keep f32 in their accumulators from the start
 * (weft_accumulator_dtype).
 */
#include "lib/loop/inst.h"
#include "lib/math/math.h"

static weft_inst_id binary(weft_inst_list *list, weft_scalar_op op, weft_inst_id a, weft_inst_id b)
{
    return weft_inst_list_apply(list, op, 2, (weft_inst_id[]){a, b});
}

static weft_inst_id choose(weft_inst_list *list, weft_inst_id condition, weft_inst_id yes, weft_inst_id no)
{
    return weft_inst_list_apply(list, WEFT_SCALAR_select, 3, (weft_inst_id[]){condition, yes, no});
}

static weft_inst_id cast(weft_inst_list *list, weft_inst_id a, weft_dtype to)
{
    return weft_inst_list_convert(list, WEFT_SCALAR_cast, to, a);
}

static weft_inst_id bits_of(weft_inst_list *list, weft_inst_id a)
{
    return weft_inst_list_convert(list, WEFT_SCALAR_bitcast, WEFT_U32, a);
}

/*
 * An f64 as f32, rounded to odd: the significand's last bit is set where anything is lost. Rounding that to nearest
 * even in a format with at least two bits less is rounding the f64 itself.
 */
static weft_inst_id round_to_odd(weft_inst_list *list, weft_inst_id x)
{
    weft_inst_id nearest = cast(list, x, WEFT_F32), back = cast(list, nearest, WEFT_F64);
    weft_inst_id size = weft_inst_list_apply(list, WEFT_SCALAR_abs, 1, &x);
    weft_inst_id reached = weft_inst_list_apply(list, WEFT_SCALAR_abs, 1, &back);
    weft_inst_id one = weft_inst_list_constant(list, WEFT_U32, 1), none = weft_inst_list_constant(list, WEFT_U32, 0);
    weft_inst_id beyond = choose(list, binary(list, WEFT_SCALAR_gt, reached, size), one, none);
    weft_inst_id lossy = choose(list, binary(list, WEFT_SCALAR_ne, back, x), one, none);
    weft_inst_id bits = binary(list, WEFT_SCALAR_sub, bits_of(list, nearest), beyond);
    return weft_inst_list_convert(list, WEFT_SCALAR_bitcast, WEFT_F32, binary(list, WEFT_SCALAR_or, bits, lossy));
}

/* Bits of an i64 that are dropped together where it has more than an f64 holds. */
#define DROPPED 20

/* An i64 as f64 that rounds to bf16 like the integer: large ones are rounded to odd at a bit far below bf16's last. */
static weft_inst_id wide_integer(weft_inst_list *list, weft_inst_id x)
{
    weft_inst_id below = weft_inst_list_constant(list, WEFT_I64, (UINT64_C(1) << DROPPED) - 1);
    weft_inst_id kept = weft_inst_list_constant(list, WEFT_I64, ~((UINT64_C(1) << DROPPED) - 1));
    weft_inst_id limit = weft_inst_list_constant(list, WEFT_I64, UINT64_C(1) << 52);
    weft_inst_id sticky = binary(list, WEFT_SCALAR_add, binary(list, WEFT_SCALAR_and, x, below), below);
    weft_inst_id odd = binary(list, WEFT_SCALAR_and, binary(list, WEFT_SCALAR_or, x, sticky), kept);
    weft_inst_id large = binary(list, WEFT_SCALAR_gt, weft_inst_list_apply(list, WEFT_SCALAR_abs, 1, &x), limit);
    return cast(list, choose(list, large, odd, x), WEFT_F64);
}

/* What rounds to the 16-bit float `to` as `x` does, in f32. */
static weft_inst_id widen_source(weft_inst_list *list, weft_inst_id x, weft_dtype from, weft_dtype to)
{
    /* From 2^24 on, where f32 has gaps, every integer is an infinity of f16. */
    bool exact = to == WEFT_F16 || weft_dtype_size(from) < 4;
    if (from == WEFT_F64) return round_to_odd(list, x);
    if (from == WEFT_F32 || weft_dtype_is_float16(from) || exact) return cast(list, x, WEFT_F32);
    return round_to_odd(list, from == WEFT_I64 ? wide_integer(list, x) : cast(list, x, WEFT_F64));
}

static bool changes_sign(const weft_inst *inst)
{
    return inst->op == WEFT_SCALAR_neg || inst->op == WEFT_SCALAR_abs;
}

/* A 16-bit float as f32: what has another sign from the operand, which others may read as f32 too. */
static weft_inst_id widen(weft_inst_list *list, weft_inst_id a)
{
    const weft_inst inst = list->items[a];
    if (!changes_sign(&inst)) return cast(list, a, WEFT_F32);
    weft_inst_id operand = widen(list, inst.args[0]);
    return weft_inst_list_apply(list, inst.op, 1, &operand);
}

static weft_inst_id legalize_cast(weft_inst_list *list, const weft_inst *inst, weft_dtype from)
{
    weft_inst_id x = inst->args[0];
    if (from == inst->dtype) return x;
    if (weft_dtype_is_float16(inst->dtype) && from != WEFT_F32) x = widen_source(list, x, from, inst->dtype);
    else if (weft_dtype_is_float16(from)) x = widen(list, x);
    return list->failed || list->items[x].dtype == inst->dtype ? x : cast(list, x, inst->dtype);
}

/* What does no arithmetic. */
static bool moves(const weft_inst *inst)
{
    return inst->arg_count == 0 || weft_scalar_is_choice(inst->op) || inst->op == WEFT_SCALAR_bitcast ||
           changes_sign(inst);
}

static weft_status *legalize(weft_inst_list *list, const weft_inst *inst, weft_inst_id *out_id)
{
    if (moves(inst)) return NULL;
    weft_dtype from = list->items[inst->args[inst->arg_count - 1]].dtype;
    if (inst->op == WEFT_SCALAR_cast && (weft_dtype_is_float16(from) || weft_dtype_is_float16(inst->dtype))) {
        *out_id = legalize_cast(list, inst, from);
    } else if (inst->op != WEFT_SCALAR_cast && weft_dtype_is_float16(from)) {
        weft_inst wide = *inst;
        for (uint32_t i = 0; i < wide.arg_count; i++) wide.args[i] = widen(list, inst->args[i]);
        if (weft_dtype_is_float16(inst->dtype)) wide.dtype = WEFT_F32;
        *out_id = weft_inst_list_add(list, &wide);
        if (weft_dtype_is_float16(inst->dtype)) *out_id = cast(list, *out_id, inst->dtype);
    }
    return NULL;
}

weft_status *weft_kernel_legalize_float16(weft_kernel *kernel)
{
    return weft_kernel_rewrite(kernel, legalize);
}
