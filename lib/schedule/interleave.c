/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

/*
 * What a stack along the last axis reads is behind predicates that change from element to element of short rows: each
 * lane would compute all operands and select one. Where channels that come first in memory become last, each lane would
 * be loaded by itself; where data say which columns are taken, each lane would be told anew. So the last range becomes
 * stores side by side, one for each element of a row, in each of which all predicates are known and loads walk memory;
 * the lanes go along the rows. The code generator interleaves what such stores store in registers.
 */

/* Elements of a row, and instructions of all. */
#define LONGEST_ROW 16
#define MOST_INSTRUCTIONS 400
/* Bytes of the longest stride whose elements are picked from vectors; bytes are picked by twos. */
#define PICKED_BYTES 32
/* Bytes of vectors that are interleaved by shuffles of any lanes of two. */
#define WIDE_VECTORS 64

typedef struct row {
    weft_kernel *kernel;
    weft_range along; /* the last range */
    int64_t length;
    weft_inst_list list;
    bool fits;
} row;

static bool any_uses(const row *r, uint32_t count, const weft_expr *predicates)
{
    for (uint32_t i = 0; i < count; i++)
        if (weft_expr_uses(r->kernel->exprs, predicates[i], r->along.variable)) return true;
    return false;
}

/* Whether rows follow each other in what is stored. */
static bool stores_rows(const row *r)
{
    weft_kernel *kernel = r->kernel;
    weft_expr_context *x = kernel->exprs;
    weft_expr before = kernel->ranges[kernel->range_count - 2].variable, step, rest;
    const weft_stage *stage = &kernel->stages[0];
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        if (store->is_indirect || store->predicate_count != 0) return false;
        if (!weft_expr_affine(x, store->index, r->along.variable, &step, &rest)) return false;
        if (step != weft_expr_constant(x, 1)) return false;
        if (!weft_expr_affine(x, store->index, before, &step, &rest)) return false;
        if (step != weft_expr_constant(x, r->length)) return false;
    }
    return true;
}

/* Kernels of one stage whose points meet nowhere, and whose last range is short. */
static bool find_row(row *r)
{
    const weft_kernel *kernel = r->kernel;
    if (kernel->stage_count != 1 || kernel->range_count < 2) return false;
    if (kernel->stages[0].range_count != 0 || kernel->stages[0].accumulator_count != 0) return false;
    r->along = kernel->ranges[kernel->range_count - 1];
    if (!weft_expr_is_constant(kernel->exprs, r->along.extent, &r->length)) return false;
    return r->length >= 2 && r->length <= LONGEST_ROW && stores_rows(r);
}

static bool is_one_of(const row *r, weft_expr step, int64_t least, int64_t most)
{
    int64_t number;
    return weft_expr_is_constant(r->kernel->exprs, step, &number) && number >= least && number <= most;
}

/* Whether lanes along the rows walk what is loaded, by steps as short as those whose elements are picked from vectors,
 * or stay where they are, or are of a width whose rows are transposed in registers; `*out_across`: they walk, and those
 * along a row would jump further. */
static bool reads_along_rows(const row *r, const weft_inst *load, bool *out_across)
{
    weft_kernel *kernel = r->kernel;
    weft_expr before = kernel->ranges[kernel->range_count - 2].variable, step, along, rest;
    int64_t number = 0, size = (int64_t)weft_dtype_size(load->dtype), most = PICKED_BYTES / (size < 2 ? 2 : size);
    if (load->arg_count != 0 || !weft_expr_affine(kernel->exprs, load->index, before, &step, &rest)) return false;
    if (!weft_expr_affine(kernel->exprs, load->index, r->along.variable, &along, &rest)) return false;
    bool is_near = weft_expr_is_constant(kernel->exprs, step, &number) && number >= -1 && number <= most;
    int64_t reach = number < 0 ? -number : number;
    *out_across = is_near && reach > 0 && !is_one_of(r, along, -reach, reach);
    return is_near || size >= 4;
}

/* Whether what is read does not lie in rows, as channels that were first, and become last. */
static bool reads_across(const row *r)
{
    const weft_kernel *kernel = r->kernel;
    bool any_across = false;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        bool across = false;
        if (weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX) return false;
        if (inst->op == WEFT_SCALAR_load && !reads_along_rows(r, inst, &across)) return false;
        any_across |= across;
    }
    return any_across;
}

/* Whether data that all rows share say which columns are read: lanes along a row would look for each of them again. */
static bool picks_columns(const row *r)
{
    const weft_kernel *kernel = r->kernel;
    weft_expr rows = kernel->ranges[kernel->range_count - 2].variable, step, rest;
    bool any_picked = false;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX) return false;
        if (inst->index == WEFT_EXPR_NONE || !weft_expr_uses(kernel->exprs, inst->index, rows)) continue;
        /* What has no operands may be what says where others are. */
        if (inst->arg_count == 0 || weft_dtype_size(inst->dtype) < 4) return false;
        if (!weft_expr_affine(kernel->exprs, inst->index, rows, &step, &rest)) return false;
        any_picked = true;
    }
    return any_picked;
}

static bool has_changing_predicates(const row *r)
{
    const weft_kernel *kernel = r->kernel;
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        if (any_uses(r, kernel->insts[i].predicate_count, kernel->insts[i].predicates)) return true;
    return false;
}

bool weft_kernel_wants_interleaving(weft_kernel *kernel, const weft_machine *machine)
{
    row r = {.kernel = kernel};
    if (!find_row(&r)) return false;
    return has_changing_predicates(&r) ||
           (machine->vector_bytes >= WIDE_VECTORS && (reads_across(&r) || picks_columns(&r)));
}

static weft_expr at_element(row *r, weft_expr e, int64_t element)
{
    weft_expr value = weft_expr_constant(r->kernel->exprs, element);
    return e == WEFT_EXPR_NONE ? e : weft_expr_substitute(r->kernel->exprs, e, 1, &r->along.variable, &value);
}

/* Drops predicates that hold at the element; whether none of them fails there. Those that change along the row must be
 * known. */
static bool settle(row *r, weft_inst *inst, int64_t element)
{
    weft_expr_context *x = r->kernel->exprs;
    if (inst->predicate_count == 0) return true;
    bool changes = any_uses(r, inst->predicate_count, inst->predicates);
    weft_expr *left = weft_arena_copy(&r->kernel->arena, inst->predicates, inst->predicate_count * sizeof *left);
    uint32_t kept = 0;
    bool holds = true;
    r->list.failed |= left == NULL;
    for (uint32_t i = 0; i < inst->predicate_count && left != NULL; i++) {
        weft_expr p = at_element(r, left[i], element);
        if (p == WEFT_EXPR_NONE || weft_expr_always_nonnegative(x, p)) continue;
        holds = holds && !weft_expr_always_nonnegative(x, weft_expr_sub(x, weft_expr_constant(x, -1), p));
        left[kept++] = p;
    }
    r->fits &= kept == 0 || !holds || !changes;
    inst->predicate_count = kept;
    inst->predicates = kept == 0 ? NULL : left;
    return holds;
}

/* The instruction at an element of the row. */
static weft_inst_id add_inst(row *r, weft_inst inst, int64_t element, const weft_inst_id *number)
{
    for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = number[inst.args[a]];
    bool holds = settle(r, &inst, element);
    weft_inst settled = weft_inst_settled(&inst, holds);
    if (settled.op != inst.op) return weft_inst_list_constant(&r->list, settled.dtype, settled.bits);
    if (inst.op == WEFT_SCALAR_select && weft_inst_is_truth(&r->list.items[inst.args[0]], true)) return inst.args[1];
    if (inst.op == WEFT_SCALAR_select && weft_inst_is_truth(&r->list.items[inst.args[0]], false)) return inst.args[2];
    inst.index = at_element(r, inst.index, element);
    inst.position = at_element(r, inst.position, element);
    return weft_inst_list_add(&r->list, &inst);
}

/* Stores of one buffer follow each other. */
static weft_status *add_elements(row *r, weft_stage *stage)
{
    weft_kernel *kernel = r->kernel;
    uint32_t count = stage->store_count, length = (uint32_t)r->length;
    weft_inst_id *number = weft_arena_allocate(&kernel->arena, (kernel->inst_count + 1) * sizeof *number);
    weft_store *stores = weft_arena_allocate(&kernel->arena, (size_t)count * length * sizeof *stores);
    if (number == NULL || stores == NULL) return weft_status_out_of_memory();
    for (uint32_t k = 0; k < length && !r->list.failed && r->fits; k++) {
        for (uint32_t i = 0; i < kernel->inst_count && !r->list.failed; i++)
            number[i] = add_inst(r, kernel->insts[i], k, number);
        for (uint32_t i = 0; i < count && !r->list.failed; i++) {
            weft_store *store = &stores[i * length + k];
            *store = stage->stores[i];
            store->index = at_element(r, store->index, k);
            store->value = number[store->value];
        }
        r->fits &= r->list.count <= 2 * MOST_INSTRUCTIONS;
    }
    stage->stores = stores;
    stage->store_count = count * length;
    return r->list.failed ? weft_status_out_of_memory() : NULL;
}

/* Leaves the kernel in pieces where it does not fit. */
static weft_status *interleave(row *r)
{
    weft_kernel *kernel = r->kernel;
    weft_stage *stage = &kernel->stages[0];
    r->list = (weft_inst_list){.arena = &kernel->arena};
    WEFT_TRY(add_elements(r, stage));
    kernel->insts = r->list.items;
    kernel->inst_count = stage->inst_count = r->list.count;
    kernel->range_count--;
    WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
    if (!r->fits) return NULL;
    WEFT_TRY(weft_kernel_dce(kernel));
    r->fits = kernel->inst_count <= MOST_INSTRUCTIONS;
    return NULL;
}

weft_status *weft_kernel_interleave(weft_kernel *kernel, bool *out_done)
{
    row r = {.kernel = kernel, .fits = true};
    weft_kernel *trial;
    *out_done = false;
    if (!find_row(&r) || !(has_changing_predicates(&r) || reads_across(&r) || picks_columns(&r))) return NULL;
    WEFT_TRY(weft_kernel_clone(kernel, &trial));
    r.kernel = trial;
    find_row(&r);
    weft_status *status = interleave(&r);
    *out_done = r.fits;
    return weft_kernel_end_attempt(kernel, trial, status, out_done);
}
