/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/chain_rows.h"

bool weft_chain_step_uses(const weft_step *step, uint32_t buffer)
{
    size_t i = 0;
    while (i < step->buffer_count && step->buffers[i] != buffer) i++;
    return i < step->buffer_count;
}

weft_chain_view weft_chain_view_of(const weft_bound_variant *bound, size_t number, size_t begin, size_t end)
{
    const weft_step *first = &bound->variant->steps[number];
    weft_chain_view v = {
        .bound = bound, .steps = first + begin, .bound_steps = &bound->steps[number + begin], .count = end - begin};
    for (size_t i = 0; i < first->chain.intermediate_count; i++) {
        bool outside = false;
        for (size_t s = 0; s <= first->chain.steps; s++)
            if (s < begin || s >= end) outside |= weft_chain_step_uses(&first[s], first->chain.intermediates[i]);
        if (!outside) v.intermediates[v.intermediate_count++] = first->chain.intermediates[i];
    }
    return v;
}

bool weft_chain_is_intermediate(const weft_chain_view *v, uint32_t buffer)
{
    size_t i = 0;
    while (i < v->intermediate_count && v->intermediates[i] != buffer) i++;
    return i < v->intermediate_count;
}

int64_t weft_chain_bytes(const weft_chain_view *v, uint32_t buffer)
{
    return v->bound->values[v->bound->variant->buffers[buffer].bytes];
}

int64_t weft_chain_elements(const weft_chain_view *v, uint32_t buffer)
{
    return weft_chain_bytes(v, buffer) / (int64_t)weft_dtype_size(v->bound->variant->buffers[buffer].dtype);
}

/* ---- rows ---- */

weft_row_axes weft_chain_axes(const weft_gemm_call *call, bool by_columns)
{
    weft_row_axes axes = {.count = 0};
    for (size_t i = 0; i < call->batch_rank; i++) {
        if (call->c_batch[i] == 0 || call->batch[i] == 1) continue;
        axes.batch[axes.count] = i;
        axes.extents[axes.count++] = call->batch[i];
    }
    axes.batch[axes.count] = call->batch_rank;
    axes.extents[axes.count++] = by_columns ? call->n : call->m;
    return axes;
}

size_t weft_chain_innermost(const weft_row_axes *axes)
{
    return axes->batch[axes->count - 1];
}

static int64_t rows_of(const weft_row_axes *axes)
{
    int64_t rows = 1;
    for (size_t i = 0; i < axes->count; i++)
        if (__builtin_mul_overflow(rows, axes->extents[i], &rows)) return 0;
    return rows;
}

/* An operand of a product: strides along the batch axes, along the side that may have rows, and along its other axis;
 * indices of both. */
typedef struct operand {
    const int64_t *batch;
    int64_t side, other, count, extent, offset;
} operand;

/* Operand 0, 1 or 2 (A, B, C); false for the one whose side has no rows. */
static bool operand_of(const weft_gemm_call *call, size_t i, bool by_columns, operand *out)
{
    switch (i) {
    case 0:
        *out = (operand){call->a_batch, call->a_row, call->a_column, call->m, call->k, call->a_offset};
        return !by_columns;
    case 1:
        *out = (operand){call->b_batch, call->b_column, call->b_row, call->n, call->k, call->b_offset};
        return by_columns;
    default:
        *out = by_columns ? (operand){call->c_batch, call->c_column, call->c_row, call->n, call->m, call->c_offset}
                          : (operand){call->c_batch, call->c_row, call->c_column, call->m, call->n, call->c_offset};
        return true;
    }
}

/* Whether the operand's rows, which run over axes up to `innermost`, lie one after another, each within `pitch`
 * elements. */
static bool has_rows(const weft_gemm_call *call, const operand *o, size_t innermost, int64_t pitch)
{
    int64_t last = o->offset, step = pitch, side = o->count;
    bool side_has_rows = innermost == call->batch_rank;
    if (o->offset < 0 || o->other < 0 || (side_has_rows ? side != 1 && o->side != pitch : o->side < 0)) return false;
    if (side_has_rows) step *= side;
    else last += (side - 1) * o->side;
    for (size_t i = call->batch_rank; i-- > 0;) {
        if (call->batch[i] == 1) continue;
        if (call->c_batch[i] == 0 || i > innermost) {
            if (o->batch[i] < 0) return false;
            last += (call->batch[i] - 1) * o->batch[i];
            continue;
        }
        if (o->batch[i] != step) return false;
        step *= call->batch[i];
    }
    return last + (o->extent - 1) * o->other < pitch;
}

/* Whether all intermediates that a product uses have rows that run over `axes`. */
static bool operands_fit(const weft_chain_view *v, size_t s, bool by_columns, const weft_row_axes *axes)
{
    const weft_gemm_call *call = &v->bound_steps[s].gemm;
    size_t innermost = weft_chain_innermost(axes);
    for (size_t i = 0; i < 3; i++) {
        operand o;
        uint32_t buffer = v->steps[s].buffers[i];
        if (!weft_chain_is_intermediate(v, buffer)) continue;
        if (!operand_of(call, i, by_columns, &o) && innermost == call->batch_rank) return false;
        if (!has_rows(call, &o, innermost, weft_chain_elements(v, buffer) / v->rows)) return false;
    }
    return true;
}

/* Whether the product has so many rows, over m, n, or batch axes alone; their axes. */
static bool product_fits(weft_chain_view *v, size_t s, weft_row_axes *out_axes)
{
    weft_strip_step *found = &v->found[s];
    const weft_gemm_call *call = &v->bound_steps[s].gemm;
    weft_row_axes axes = weft_chain_axes(call, false);
    found->innermost = call->batch_rank;
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        *out_axes = weft_chain_axes(call, by_columns);
        found->by_columns = by_columns;
        if (call->panels == (by_columns ? WEFT_PANELS_B : WEFT_PANELS_A)) continue; /* panels are not cut */
        if (rows_of(out_axes) == v->rows && operands_fit(v, s, by_columns, out_axes)) return true;
    }
    while (--axes.count > 0 && rows_of(&axes) != v->rows) continue;
    *out_axes = axes;
    if (axes.count == 0) return false;
    found->innermost = weft_chain_innermost(&axes);
    found->by_columns = weft_chain_is_intermediate(v, v->steps[s].buffers[1]);
    return operands_fit(v, s, found->by_columns, &axes);
}

/* Iterations have whole rows, only the last one perhaps fewer, or rows whole iterations, the same of each intermediate.
 * `rows` is how many an iteration has, 0 where it has a part of one: so has each of a group. */
static bool kernel_fits(weft_chain_view *v, size_t s)
{
    const weft_step *step = &v->steps[s];
    int64_t iterations = v->bound_steps[s].iterations, rows = -1;
    for (size_t i = 0; i < step->buffer_count; i++) {
        if (!weft_chain_is_intermediate(v, step->buffers[i])) continue;
        int64_t pitch = v->bound->values[step->pitches[i]], row = weft_chain_elements(v, step->buffers[i]) / v->rows;
        int64_t group = v->bound->values[step->groups[i]], whole = pitch <= 0 || group > 1 ? 0 : pitch / row;
        if (pitch <= 0 || (rows >= 0 && rows != whole)) return false;
        rows = whole;
        if (rows > 0 ? pitch % row != 0 : row % pitch != 0 || row / pitch * group != iterations / v->rows) return false;
    }
    v->found[s] = (weft_strip_step){.rows = rows, .iterations = iterations / v->rows};
    return rows > 0 ? iterations == (v->rows + rows - 1) / rows : iterations % v->rows == 0;
}

/* How many rows the intermediates have where no product says so: as many as the step with the longest ones of which
 * none is shorter. 0: there is none. */
static int64_t kernel_rows(const weft_chain_view *v)
{
    int64_t rows = INT64_MAX;
    for (size_t s = 0; s < v->count; s++) {
        for (size_t i = 0; i < v->steps[s].buffer_count; i++) {
            uint32_t buffer = v->steps[s].buffers[i];
            if (!weft_chain_is_intermediate(v, buffer)) continue;
            int64_t pitch = v->bound->values[v->steps[s].pitches[i]];
            if (pitch <= 0) return 0;
            if (weft_chain_elements(v, buffer) % pitch != 0) continue;
            if (weft_chain_elements(v, buffer) / pitch < rows) rows = weft_chain_elements(v, buffer) / pitch;
        }
    }
    return rows == INT64_MAX ? 0 : rows;
}

/* Whether all intermediates have `rows` rows, and the products too: those of the first are the axes of all. */
static bool try_rows(weft_chain_view *v, int64_t rows)
{
    v->rows = rows;
    v->axes = (weft_row_axes){.count = 1, .extents = {rows}};
    bool fits = rows > 0, any = false;
    for (size_t i = 0; i < v->intermediate_count && fits; i++)
        fits = weft_chain_elements(v, v->intermediates[i]) % rows == 0;
    for (size_t s = 0; s < v->count && fits; s++) {
        weft_row_axes axes;
        if (v->steps[s].kind != WEFT_STEP_GEMM) continue;
        fits = product_fits(v, s, &axes);
        if (!any) v->axes = axes;
        any = true;
    }
    return fits;
}

/* As many rows as there can be: those of the first product, over m, n or ever fewer batch axes. */
static bool find_rows(weft_chain_view *v)
{
    size_t s = 0;
    while (s < v->count && v->steps[s].kind != WEFT_STEP_GEMM) s++;
    if (s == v->count) return try_rows(v, kernel_rows(v));
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        weft_row_axes axes = weft_chain_axes(&v->bound_steps[s].gemm, by_columns);
        if (try_rows(v, rows_of(&axes))) return true;
    }
    weft_row_axes axes = weft_chain_axes(&v->bound_steps[s].gemm, false);
    while (--axes.count > 0)
        if (try_rows(v, rows_of(&axes))) return true;
    return false;
}

/* Whether each step uses an intermediate, and what a step writes apart from them no other one uses. */
static bool is_connected(const weft_chain_view *v)
{
    for (size_t s = 0; s < v->count; s++) {
        const weft_step *step = &v->steps[s];
        bool any = false;
        for (size_t i = 0; i < step->buffer_count; i++) any |= weft_chain_is_intermediate(v, step->buffers[i]);
        if (!any) return false;
        for (size_t i = 0; i < step->written; i++) {
            uint32_t written = weft_step_written(step, i);
            for (size_t other = 0; other < v->count && !weft_chain_is_intermediate(v, written); other++)
                if (other != s && weft_chain_step_uses(&v->steps[other], written)) return false;
        }
    }
    return true;
}

/* The kernels of a chain whose products fit. */
static bool kernels_fit(weft_chain_view *v)
{
    v->grain = 1;
    for (size_t s = 0; s < v->count; s++) {
        if (v->steps[s].kind == WEFT_STEP_GEMM) continue;
        if (!kernel_fits(v, s)) return false;
        int64_t rows = v->found[s].rows > 1 ? v->found[s].rows : 1;
        if (v->grain % rows != 0 && rows % v->grain != 0) return false;
        if (rows > v->grain) v->grain = rows;
    }
    return true;
}

bool weft_chain_find_rows(weft_chain_view *v)
{
    return is_connected(v) && find_rows(v) && kernels_fit(v);
}
