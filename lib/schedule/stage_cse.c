/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include "lib/math/math.h"
#include "lib/schedule/schedule.h"
#include "lib/schedule/transform.h"
#include <string.h>

/*
 * A kernel that reduces over a function of its rows and then stores something computed from the same function, softmax
 * for one, would compute the function twice. Instead the reducing stage leaves the values where the result is going to
 * be, and the last stage reads them back from there: a row comes from the cache faster than from a polynomial. What
 * that reducing stage computes may have been computed by one before it in turn, as in the softmax of a function. Where
 * results have another dtype, values of a row that is not long are left in memory of the thread's own.
 */

/* A stage and an earlier one that runs through the same points. */
typedef struct stage_pair {
    weft_kernel *kernel;
    const weft_stage *early;
    weft_stage *late;
    bool may_keep; /* values in memory of the thread's own */
} stage_pair;

/* An expression of the late stage over the variables of the earlier one. */
static weft_expr translate(const stage_pair *p, weft_expr e)
{
    for (uint32_t r = 0; r < p->late->range_count && e != WEFT_EXPR_NONE; r++) {
        weft_expr from = p->late->ranges[r].variable, to = p->early->ranges[r].variable;
        e = weft_expr_substitute(p->kernel->exprs, e, 1, &from, &to);
    }
    return e;
}

static bool same_points(const stage_pair *p)
{
    if (p->early->range_count != p->late->range_count) return false;
    for (uint32_t r = 0; r < p->late->range_count; r++) {
        if (translate(p, p->late->ranges[r].extent) != p->early->ranges[r].extent) return false;
    }
    return true;
}

/* Whether instruction `a` of the late stage computes what `b` of the earlier one does. */
static bool same_value(const stage_pair *p, weft_inst_id a, weft_inst_id b)
{
    const weft_inst *x = &p->kernel->insts[a], *y = &p->kernel->insts[b];
    if (x->op != y->op || x->dtype != y->dtype || x->arg_count != y->arg_count || x->buffer != y->buffer) return false;
    if (x->number != y->number || x->bits != y->bits || x->predicate_count != y->predicate_count) return false;
    if (translate(p, x->index) != y->index || translate(p, x->position) != y->position) return false;
    for (uint32_t i = 0; i < x->predicate_count; i++) {
        if (translate(p, x->predicates[i]) != y->predicates[i]) return false;
    }
    for (uint32_t i = 0; i < x->arg_count; i++) {
        if (!same_value(p, x->args[i], y->args[i])) return false;
    }
    return true;
}

static bool find_twin(const stage_pair *p, weft_inst_id id, weft_inst_id *out_twin)
{
    for (uint32_t i = 0; i < p->early->inst_count; i++) {
        *out_twin = p->early->inst_first + i;
        if (same_value(p, id, *out_twin)) return true;
    }
    return false;
}

static uint32_t result_of(const stage_pair *p)
{
    return p->late->stores[p->late->store_count - 1].buffer;
}

/* Elements of a row whose values may be left in memory of the thread's own; 0: they may not. That has room for one row:
 * where the reduction has no virtual lanes, lanes go across rows. */
static uint32_t local_row(const stage_pair *p, weft_dtype dtype)
{
    enum { LEAST = 64 }; /* shorter rows may have lanes across them */
    int64_t least, most;
    if (!p->may_keep || p->late->range_count != 1 || p->early->ranges[0].virtual_lanes == 1) return 0;
    weft_expr_range(p->kernel->exprs, p->late->ranges[0].extent, &least, &most);
    return most >= LEAST && most <= WEFT_LOCAL_BYTES / (int64_t)weft_dtype_size(dtype) ? (uint32_t)most : 0;
}

static weft_status *add_local(weft_kernel *kernel, weft_dtype dtype, uint32_t elements)
{
    weft_kernel_buffer *buffers = weft_arena_allocate(&kernel->arena, (kernel->buffer_count + 1) * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    memcpy(buffers, kernel->buffers, kernel->buffer_count * sizeof *buffers);
    buffers[kernel->buffer_count++] = (weft_kernel_buffer){.dtype = dtype, .local = elements};
    kernel->buffers = buffers;
    return NULL;
}

/* The twin is stored where the late stage stores at last, or in memory of its own; the late stage loads it back. */
static weft_status *store_early(const stage_pair *p, weft_inst_id id, weft_inst_id twin)
{
    weft_stage *early = (weft_stage *)(uintptr_t)p->early;
    weft_store final = p->late->stores[p->late->store_count - 1];
    weft_dtype dtype = p->kernel->insts[id].dtype;
    if (dtype != p->kernel->buffers[final.buffer].dtype) {
        WEFT_TRY(add_local(p->kernel, dtype, local_row(p, dtype)));
        final = (weft_store){.buffer = p->kernel->buffer_count - 1, .index = p->late->ranges[0].variable};
    }
    weft_store *stores = weft_arena_allocate(&p->kernel->arena, (early->store_count + 1) * sizeof *stores);
    if (stores == NULL) return weft_status_out_of_memory();
    if (early->store_count > 0) memcpy(stores, early->stores, early->store_count * sizeof *stores);
    stores[early->store_count++] =
        (weft_store){.buffer = final.buffer, .index = translate(p, final.index), .value = twin};
    early->stores = stores;
    p->kernel->insts[id] =
        (weft_inst){.op = WEFT_SCALAR_load, .dtype = dtype, .buffer = final.buffer, .index = final.index};
    return NULL;
}

/* ---- the pass ---- */

/* Looks for a twin of one costly instruction of stage `late`; *out_early is the stage that has it, or `late`. */
static weft_status *share(weft_kernel *kernel, uint32_t late, weft_inst_id id, bool may_keep, uint32_t *out_early)
{
    for (uint32_t s = 0; s < late; s++) {
        stage_pair p = {kernel, &kernel->stages[s], &kernel->stages[late], may_keep};
        weft_inst_id twin;
        weft_dtype dtype = kernel->insts[id].dtype;
        if (!same_points(&p) || (dtype != kernel->buffers[result_of(&p)].dtype && local_row(&p, dtype) == 0)) continue;
        if (!find_twin(&p, id, &twin)) continue;
        *out_early = s;
        WEFT_TRY(store_early(&p, id, twin));
        return weft_kernel_dce(kernel);
    }
    return NULL;
}

static weft_status *share_any(weft_kernel *kernel, uint32_t late, bool may_keep, uint32_t *out_early)
{
    const weft_stage *stage = &kernel->stages[late];
    *out_early = late;
    for (uint32_t i = stage->inst_count; *out_early == late && i-- > 0;) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (weft_scalar_is_math(inst->op)) WEFT_TRY(share(kernel, late, stage->inst_first + i, may_keep, out_early));
    }
    return NULL;
}

/*
 * requires   a verified unscheduled kernel, before its math is lowered
 * maintains  what is stored in the end, bit for bit
 * breaks     that written buffers are never read: a stage may load what an earlier one stored
 */
weft_status *weft_kernel_stage_cse(weft_kernel *kernel, bool may_keep)
{
    if (kernel->stage_count < 2) return NULL;
    uint32_t late, early = kernel->stage_count - 1;
    const weft_stage *last = &kernel->stages[early];
    if (last->range_count == 0 || last->store_count != 1 || last->stores[0].predicate_count != 0 ||
        last->stores[0].is_indirect)
        return NULL;
    do {
        late = early;
        WEFT_TRY(share_any(kernel, late, may_keep, &early));
    } while (early != late);
    WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
    return early + 1 < kernel->stage_count ? weft_kernel_verify(kernel) : NULL;
}
