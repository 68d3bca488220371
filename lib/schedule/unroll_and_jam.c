/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

/*
 * A product reads each element of an operand once for every row or column of the other. So several points of an outer
 * range become one, whose reductions run side by side: what they read alike is one load, and no sum waits for another.
 * Where the range is no multiple of them, the last point has its last row more than once, with equal values. Rows that
 * are scattered by the same positions share these, and no element waits for the one before it.
 */

enum { MOST_ROWS = 8, UNKNOWN_ROWS = 4, MOST_INSTRUCTIONS = 20 };

/* Rows that are computed side by side. */
typedef struct jam {
    weft_kernel *kernel;
    weft_expr variable;
    uint32_t count;
    weft_expr rows[MOST_ROWS]; /* values of the variable */
    weft_inst_list list;
    weft_inst_id *new_ids; /* by row, by old instruction */
} jam;

static weft_expr translate(const jam *j, uint32_t row, weft_expr e)
{
    return weft_expr_substitute(j->kernel->exprs, e, 1, &j->variable, &j->rows[row]);
}

static weft_status *translate_all(const jam *j, uint32_t row, uint32_t count, const weft_expr **exprs)
{
    if (count == 0) return NULL;
    weft_expr *copy = weft_arena_copy(&j->kernel->arena, *exprs, count * sizeof *copy);
    if (copy == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < count; i++) copy[i] = translate(j, row, copy[i]);
    *exprs = copy;
    return NULL;
}

static weft_inst_id new_id(const jam *j, uint32_t row, weft_inst_id id)
{
    return j->new_ids[row * j->kernel->inst_count + id];
}

/* Accumulators of a stage come row by row. */
static uint32_t new_accumulator(const jam *j, uint32_t row, uint32_t number)
{
    const weft_stage *stage = j->kernel->stages;
    while (number >= stage->accumulator_first + stage->accumulator_count) stage++;
    return j->count * stage->accumulator_first + row * stage->accumulator_count + number - stage->accumulator_first;
}

static weft_status *jam_inst(jam *j, uint32_t row, weft_inst_id id)
{
    weft_inst inst = j->kernel->insts[id];
    for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = new_id(j, row, inst.args[a]);
    if (inst.index != WEFT_EXPR_NONE) inst.index = translate(j, row, inst.index);
    if (inst.position != WEFT_EXPR_NONE) inst.position = translate(j, row, inst.position);
    if (inst.op == WEFT_SCALAR_result || inst.op == WEFT_SCALAR_running)
        inst.buffer = new_accumulator(j, row, inst.buffer);
    WEFT_TRY(translate_all(j, row, inst.predicate_count, &inst.predicates));
    j->new_ids[row * j->kernel->inst_count + id] = weft_inst_list_add(&j->list, &inst);
    return NULL;
}

static weft_status *jam_stores(jam *j, weft_stage *stage)
{
    uint32_t count = stage->store_count;
    weft_store *stores = weft_arena_allocate(&j->kernel->arena, j->count * (count + 1) * sizeof *stores);
    if (stores == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < j->count * count; i++) {
        uint32_t row = i / count;
        stores[i] = stage->stores[i % count];
        stores[i].index = translate(j, row, stores[i].index);
        stores[i].value = new_id(j, row, stores[i].value);
        if (stores[i].is_indirect) stores[i].offset = new_id(j, row, stores[i].offset);
        WEFT_TRY(translate_all(j, row, stores[i].predicate_count, &stores[i].predicates));
    }
    stage->stores = stores;
    stage->store_count = j->count * count;
    return NULL;
}

/* Instructions before the first one that looks at an accumulator while it grows. */
static uint32_t count_taken_in(const weft_kernel *kernel, const weft_stage *stage)
{
    uint32_t count = 0;
    while (count < stage->inst_count && kernel->insts[stage->inst_first + count].op != WEFT_SCALAR_running) count++;
    return count;
}

/* What accumulators of all rows take in comes before what looks at one of them. */
static weft_status *jam_insts(jam *j, weft_stage *stage)
{
    uint32_t first = j->list.visible = j->list.count, taken_in = count_taken_in(j->kernel, stage);
    for (uint32_t row = 0; row < j->count; row++)
        for (uint32_t i = 0; i < taken_in; i++) WEFT_TRY(jam_inst(j, row, stage->inst_first + i));
    for (uint32_t row = 0; row < j->count; row++)
        for (uint32_t i = taken_in; i < stage->inst_count; i++) WEFT_TRY(jam_inst(j, row, stage->inst_first + i));
    stage->inst_first = first;
    stage->inst_count = j->list.count - first;
    return jam_stores(j, stage);
}

static weft_status *jam_accumulators(jam *j)
{
    weft_kernel *kernel = j->kernel;
    uint32_t count = kernel->accumulator_count;
    weft_accumulator *all = weft_arena_allocate(&kernel->arena, j->count * (count + 1) * sizeof *all);
    if (all == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < j->count * count; i++) {
        uint32_t row = i / count, number = i % count;
        weft_accumulator accumulator = kernel->accumulators[number];
        for (uint32_t v = 0; v < accumulator.value_count; v++)
            accumulator.values[v] = new_id(j, row, accumulator.values[v]);
        all[new_accumulator(j, row, number)] = accumulator;
    }
    kernel->accumulators = all;
    kernel->accumulator_count = j->count * count;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        kernel->stages[s].accumulator_first *= j->count;
        kernel->stages[s].accumulator_count *= j->count;
    }
    return NULL;
}

/*
 * requires   an unscheduled kernel
 * maintains  what is computed, and the order of every reduction
 * breaks     that an iteration stores each element once
 */
weft_status *weft_kernel_jam(weft_kernel *kernel, uint32_t number, uint32_t rows)
{
    weft_expr_context *x = kernel->exprs;
    weft_range *range = &kernel->ranges[number];
    jam j = {.kernel = kernel, .variable = range->variable, .count = rows, .list = {.arena = &kernel->arena}};
    j.new_ids = weft_arena_allocate(&kernel->arena, rows * (kernel->inst_count + 1) * sizeof *j.new_ids);
    if (j.new_ids == NULL) return weft_status_out_of_memory();
    weft_expr size = weft_expr_constant(x, rows), last = weft_expr_sub(x, range->extent, weft_expr_constant(x, 1));
    range->extent = weft_expr_div(x, weft_expr_add(x, range->extent, weft_expr_constant(x, rows - 1)), size);
    range->variable = weft_kernel_fresh_variable(kernel, range->extent);
    for (uint32_t r = 0; r < rows; r++) {
        weft_expr row = weft_expr_add(x, weft_expr_mul(x, range->variable, size), weft_expr_constant(x, r));
        j.rows[r] = weft_expr_min(x, row, last);
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) WEFT_TRY(jam_insts(&j, &kernel->stages[s]));
    if (j.list.failed) return weft_status_out_of_memory();
    WEFT_TRY(jam_accumulators(&j));
    kernel->insts = j.list.items;
    kernel->inst_count = j.list.count;
    return NULL;
}

/* ---- where it pays ---- */

/* How the loads of reductions depend on a range. */
typedef struct sharing {
    uint32_t shared; /* a load that does not depend on it is worth one, along the lanes two */
    uint32_t again;  /* those along the lanes */
    uint32_t own;    /* loads that do depend on it */
    uint32_t dense;  /* of these, those that walk memory along it */
} sharing;

static void add_load(const weft_kernel *kernel, weft_expr index, weft_expr variable, weft_expr lanes, sharing *s)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    if (!weft_expr_uses(x, index, variable)) {
        bool along = weft_expr_uses(x, index, lanes);
        s->shared += along ? 2 : 1;
        s->again += along;
        return;
    }
    s->own++;
    s->dense += weft_expr_affine(x, index, variable, &step, &rest) && step == weft_expr_constant(x, 1);
}

static sharing find_sharing(const weft_kernel *kernel, weft_expr variable, weft_expr lanes)
{
    sharing found = {0};
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
            const weft_inst *inst = &kernel->insts[i];
            if (stage->range_count == 0 || inst->op != WEFT_SCALAR_load) continue;
            if (inst->arg_count > 0) found.own++; /* data decides where it is */
            else add_load(kernel, inst->index, variable, lanes, &found);
        }
    }
    if (found.own == 0) found.shared = found.again = 0;
    return found;
}

static bool scatters(const weft_kernel *kernel)
{
    bool found = false;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) found |= kernel->stages[s].stores[i].is_indirect;
    return found;
}

static bool has_local_buffers(const weft_kernel *kernel)
{
    bool found = false;
    for (uint32_t i = 0; i < kernel->buffer_count; i++) found |= kernel->buffers[i].local != 0;
    return found;
}

/* Stages that reduce or scan in order, straight from memory. */
static bool may_jam(const weft_kernel *kernel)
{
    return kernel->accumulator_count > 0 && !has_local_buffers(kernel) && !scatters(kernel);
}

/* Rows that are scattered, each into its own: one that a point has twice is loaded twice before it is stored. */
static bool may_jam_scattered(const weft_kernel *kernel)
{
    return scatters(kernel) && kernel->accumulator_count == 0 && !has_local_buffers(kernel);
}

const char *weft_kernel_jam_refusal(const weft_kernel *kernel, uint32_t range, int64_t rows)
{
    enum { MOST_JAMMED = 512 };
    if (rows < 2 || rows > MOST_ROWS) return "2 to 8 points become one";
    if (kernel->inst_count > MOST_JAMMED / rows) return "it would be too much code";
    if (!may_jam(kernel) && !may_jam_scattered(kernel)) return "no stage reduces, or it has local buffers";
    if (kernel->ranges[range].bind != WEFT_BIND_SERIAL) return "its lanes are bound";
    for (uint32_t i = range + 1; i < kernel->range_count; i++)
        if (weft_expr_uses(kernel->exprs, kernel->ranges[i].extent, kernel->ranges[range].variable))
            return "a later extent depends on it";
    return weft_kernel_bounds_inner(kernel, kernel->ranges[range].variable) ? "an inner extent depends on it" : NULL;
}

/* The outer range, not the last, along which most is shared; of equal ones one that walks memory, and the innermost.
 * range_count: none. */
static uint32_t find_range(const weft_kernel *kernel)
{
    uint32_t best = kernel->range_count, most = 0, last = kernel->range_count - 1;
    for (uint32_t r = 0; r < last; r++) {
        int64_t least, most_points;
        const weft_range *range = &kernel->ranges[r];
        weft_expr_range(kernel->exprs, range->extent, &least, &most_points);
        if (most_points < 2) continue;
        sharing found = find_sharing(kernel, range->variable, kernel->ranges[last].variable);
        uint32_t worth = 2 * found.shared + (found.dense > 0);
        if (found.shared == 0 || worth < most || weft_kernel_bounds_inner(kernel, range->variable)) continue;
        best = r;
        most = worth;
    }
    return best;
}

/* As many as the registers hold, while computing few of them twice: a point costs half a row on top of its rows. Fewer
 * if their number is unknown. */
uint32_t weft_kernel_jam_rows(const weft_kernel *kernel, uint32_t number, uint32_t most)
{
    uint32_t best = 1;
    int64_t extent;
    double least = 0;
    if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[number].extent, &extent)) extent = UNKNOWN_ROWS;
    for (uint32_t rows = 1; rows <= most && rows <= MOST_ROWS && (int64_t)rows <= extent; rows++) {
        double cost = (double)((extent + rows - 1) / rows) * (rows + 0.5);
        if (rows > 1 && cost > least) continue;
        best = rows;
        least = cost;
    }
    return best;
}

/* Whether all points of the range read the same elements along the lanes. Factors that do not lie along them count only
 * with shorter vectors: 8 products of 16 x 32 by 32 x 12544 take 0.76 of the time where blocks of one come one after
 * another, not one of each product in turn (Sapphire Rapids). */
static bool reads_again(const weft_kernel *kernel, const weft_machine *machine, uint32_t range, weft_expr lanes)
{
    sharing found = find_sharing(kernel, kernel->ranges[range].variable, lanes);
    return machine->vector_bytes >= 64 ? found.again > 0 : found.shared > 1;
}

static uint32_t count_components(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->accumulator_count; i++) count += kernel->accumulators[i].width;
    return count;
}

/* Bytes that a load of a reduction reads in all, or for one point of an outer range: at most, as windows overlap. */
static double bytes_read(const weft_kernel *kernel, const weft_stage *stage, const weft_inst *load, uint32_t fixed)
{
    double points = 1;
    int64_t least, most;
    for (uint32_t i = 0; i < kernel->range_count + stage->range_count; i++) {
        const weft_range *range =
            i < kernel->range_count ? &kernel->ranges[i] : &stage->ranges[i - kernel->range_count];
        if (i == fixed || !weft_expr_uses(kernel->exprs, load->index, range->variable)) continue;
        weft_expr_range(kernel->exprs, range->extent, &least, &most);
        points *= (double)most;
    }
    weft_expr_range(kernel->exprs, load->index, &least, &most);
    double span = (double)most - (double)least + 1;
    return (points < span ? points : span) * (double)weft_dtype_size(load->dtype);
}

/* Whether all that reductions read along the lanes stays in L1. Then whole rows are stored one after the other, not a
 * block of each: 1432 x 2 by 2 x 1345 f64 takes 0.74 of the time (Sapphire Rapids). */
static bool stays_near(const weft_kernel *kernel, const weft_machine *machine, weft_expr lanes)
{
    double bytes = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
            const weft_inst *load = &kernel->insts[i];
            if (load->op != WEFT_SCALAR_load || !weft_expr_uses(kernel->exprs, load->index, lanes)) continue;
            bytes += bytes_read(kernel, stage, load, UINT32_MAX);
        }
    }
    return bytes <= (double)machine->cache_bytes[0] / 2;
}

uint32_t weft_kernel_find_block(const weft_kernel *kernel, const weft_machine *machine)
{
    uint32_t first = kernel->range_count - 1;
    weft_expr lanes = kernel->ranges[first].variable;
    if (machine->vector_bytes >= 64 && stays_near(kernel, machine, lanes)) return first;
    while (first > 0 && reads_again(kernel, machine, first - 1, lanes)) first--;
    return first;
}

bool weft_kernel_rereads_far(const weft_kernel *kernel, const weft_machine *machine, uint32_t jammed, uint32_t inner)
{
    weft_expr rows = kernel->ranges[jammed].variable, point = kernel->ranges[inner].variable;
    double all = 0, each = 0, near = (double)machine->cache_bytes[1];
    if (weft_expr_uses(kernel->exprs, kernel->ranges[inner].extent, rows)) return false;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
            const weft_inst *load = &kernel->insts[i];
            if (load->op != WEFT_SCALAR_load || stage->range_count == 0) continue;
            bool by_row = weft_expr_uses(kernel->exprs, load->index, rows);
            if (by_row == weft_expr_uses(kernel->exprs, load->index, point)) return false;
            each += bytes_read(kernel, stage, load, inner);
            if (!by_row) all += bytes_read(kernel, stage, load, jammed);
        }
    }
    return all > near && each <= near;
}

weft_jam weft_kernel_find_jam(const weft_kernel *kernel, uint32_t vectors)
{
    bool fits = kernel->inst_count <= MOST_INSTRUCTIONS && may_jam(kernel);
    weft_jam found = {fits ? find_range(kernel) : kernel->range_count, 1};
    if (found.range == kernel->range_count) return found;
    found.rows = weft_kernel_jam_rows(kernel, found.range, vectors / count_components(kernel));
    return found;
}

/* The stage that adds up products along memory; NULL: there is none, or another one reduces. */
static const weft_stage *find_dot_in_lanes(const weft_kernel *kernel)
{
    const weft_stage *found = NULL;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        if (stage->range_count == 0) continue;
        if (found != NULL || stage->accumulator_count != 1 || stage->ranges[stage->range_count - 1].virtual_lanes == 1)
            return NULL;
        found = stage;
    }
    return found != NULL && kernel->accumulators[found->accumulator_first].step.count > 0 ? found : NULL;
}

/* The innermost outer range of a few points that share what is read along the lanes; range_count: none. */
static uint32_t find_columns(const weft_kernel *kernel, weft_expr lanes)
{
    for (uint32_t r = kernel->range_count; r-- > 0;) {
        int64_t extent;
        const weft_range *range = &kernel->ranges[r];
        bool is_short = weft_expr_is_constant(kernel->exprs, range->extent, &extent) && extent <= MOST_ROWS;
        if (!is_short || weft_kernel_bounds_inner(kernel, range->variable)) continue;
        if (find_sharing(kernel, range->variable, lanes).again > 0) return r;
    }
    return kernel->range_count;
}

/* The same of any number, besides the columns. */
static uint32_t find_rows(const weft_kernel *kernel, weft_expr lanes, uint32_t columns)
{
    for (uint32_t r = kernel->range_count; r-- > 0;) {
        weft_expr variable = kernel->ranges[r].variable;
        if (r == columns || weft_kernel_bounds_inner(kernel, variable)) continue;
        if (find_sharing(kernel, variable, lanes).again > 0) return r;
    }
    return kernel->range_count;
}

/* Whether numbers are converted after they are loaded. */
static bool converts(const weft_kernel *kernel, const weft_stage *stage)
{
    size_t size = weft_dtype_size(kernel->accumulators[stage->accumulator_first].dtypes[0]);
    bool found = false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *load = &kernel->insts[i];
        found |= load->op == WEFT_SCALAR_load && weft_dtype_size(load->dtype) < size;
    }
    return found;
}

weft_product_jam weft_kernel_find_columns(const weft_kernel *kernel, const weft_machine *machine, uint32_t width)
{
    enum { SOME_ROWS = 3, MANY_COLUMNS = 5 };
    weft_product_jam found = {{kernel->range_count, 1}, {kernel->range_count, 1}};
    const weft_stage *stage = find_dot_in_lanes(kernel);
    if (stage == NULL || kernel->inst_count > MOST_INSTRUCTIONS || !may_jam(kernel)) return found;
    const weft_range *lanes = &stage->ranges[stage->range_count - 1];
    uint32_t columns = find_columns(kernel, lanes->variable), vectors = lanes->virtual_lanes / width;
    if (columns == kernel->range_count) return found;
    uint32_t sums = machine->registers * 3 / 4 / ((vectors > 0 ? vectors : 1) * count_components(kernel));
    uint32_t rows = find_rows(kernel, lanes->variable, columns);
    int64_t least, count;
    weft_expr_range(kernel->exprs, kernel->ranges[columns].extent, &least, &count);
    bool shares = converts(kernel, stage) && count >= MANY_COLUMNS && rows < kernel->range_count && sums > SOME_ROWS;
    found.columns = (weft_jam){columns, weft_kernel_jam_rows(kernel, columns, shares ? sums / SOME_ROWS : sums)};
    if (shares) found.rows = (weft_jam){rows, weft_kernel_jam_rows(kernel, rows, sums / found.columns.rows)};
    return found;
}

/* Points of a range that are left for threads. */
enum { LEAST_POINTS = 8 };

weft_jam weft_kernel_find_second_vector(const weft_kernel *kernel, weft_jam rows, uint32_t vectors)
{
    enum { ENOUGH = 8 }; /* sums, for none to wait for itself */
    weft_jam found = {kernel->range_count, 1};
    weft_expr lanes = kernel->ranges[kernel->range_count - 1].variable;
    uint32_t sums = rows.rows * count_components(kernel), apart = kernel->range_count;
    if (2 * sums > vectors) return found;
    for (uint32_t r = kernel->range_count - 1; r-- > 0 && found.rows == 1;) {
        weft_expr variable = kernel->ranges[r].variable;
        sharing s = find_sharing(kernel, variable, lanes);
        int64_t least, most;
        weft_expr_range(kernel->exprs, kernel->ranges[r].extent, &least, &most);
        if (r == rows.range || s.again > 0 || weft_kernel_bounds_inner(kernel, variable)) continue;
        if (s.shared > 0) found = (weft_jam){r, weft_kernel_jam_rows(kernel, r, 2)};
        else if (apart == kernel->range_count && s.own > 0 && most >= 2 * LEAST_POINTS) apart = r;
    }
    if (found.rows > 1 || apart == kernel->range_count || sums >= ENOUGH) return found;
    return (weft_jam){apart, weft_kernel_jam_rows(kernel, apart, 2)};
}

weft_jam weft_kernel_find_scattered_rows(const weft_kernel *kernel)
{
    weft_jam found = {kernel->range_count - 1, 1};
    int64_t least, most;
    weft_expr variable = kernel->ranges[found.range].variable, extent = kernel->ranges[found.range].extent;
    weft_expr_range(kernel->exprs, extent, &least, &most);
    if (kernel->inst_count > MOST_INSTRUCTIONS || find_sharing(kernel, variable, variable).shared == 0 ||
        weft_kernel_bounds_inner(kernel, variable) || !may_jam_scattered(kernel))
        return found;
    uint32_t rows = MOST_ROWS;
    while (rows > 1 && weft_expr_divisor(kernel->exprs, extent) % rows != 0) rows--;
    found.rows = rows > 1 ? rows : weft_kernel_jam_rows(kernel, found.range, MOST_ROWS);
    while (found.rows > 1 && most / found.rows < LEAST_POINTS) found.rows--;
    return found;
}

/* Maxima and minima of floats or short integers, which take several instructions each: others wait for their stores
 * instead. */
static bool takes_long(const weft_accumulator *accumulator)
{
    const weft_combiner *combine = &accumulator->combine;
    weft_scalar_op op = combine->insts[combine->count - 1].op;
    bool is_float = weft_dtype_info_of(accumulator->dtypes[0])->kind == WEFT_KIND_FLOAT;
    return (is_float || weft_dtype_size(accumulator->dtypes[0]) < 8) &&
           (op == WEFT_SCALAR_max || op == WEFT_SCALAR_min);
}

weft_jam weft_kernel_find_scanned_rows(const weft_kernel *kernel, uint32_t vectors)
{
    weft_jam found = {kernel->range_count, 1};
    int64_t least, most = 1;
    if (kernel->inst_count > MOST_INSTRUCTIONS || !may_jam(kernel)) return found;
    if (!takes_long(&kernel->accumulators[0])) return found;
    while (found.range > 0 && most < 2)
        weft_expr_range(kernel->exprs, kernel->ranges[--found.range].extent, &least, &most);
    if (most < 2 || weft_kernel_bounds_inner(kernel, kernel->ranges[found.range].variable)) return found;
    found.rows = weft_kernel_jam_rows(kernel, found.range, vectors / count_components(kernel));
    return found;
}
