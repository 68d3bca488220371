/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include <string.h>

/*
 * A load that walks memory along one range and jumps along the one that has the lanes would fetch a cache line for
 * every element. So both ranges are cut into tiles, and a stage in front reads each tile along the memory into a
 * local buffer, rows to columns, which code generators do in registers; the kernel's own stage then reads rows of that,
 * which lies in L1.
 */

/* Elements along each side of a square tile, the longer side if there is room for its local buffers: runs of 256 bytes
 * where elements have four, so that few lines and pages are touched for what they hold. */
#define MOST_TILE 64
#define LEAST_TILE 32
/* Of a tile with long runs of results: these are fetched ahead from the second or third line on, and a line or two are
 * enough of what is read, whose next ones follow in time. */
#define LONGEST_RUN 256
#define LEAST_ACROSS 16
/* Bytes of a vector. */
#define VECTOR 64
/* Columns up to which results are better stored in long runs than in lines that evict each other: beyond, what is read
 * would. */
#define MOST_EVICTED 256

/* Backwards lines are worth a tile where elements are too short to be gathered. */
static bool is_transposed(const weft_kernel *kernel, const weft_inst *inst, weft_expr across, weft_expr along)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr one = weft_expr_constant(x, 1), coefficient, rest;
    if (inst->op != WEFT_SCALAR_load || inst->arg_count != 0) return false;
    if (!weft_expr_affine(x, inst->index, along, &coefficient, &rest)) return false;
    if (coefficient == one || coefficient == weft_expr_constant(x, 0) || coefficient == weft_expr_constant(x, -1))
        return false;
    if (!weft_expr_affine(x, inst->index, across, &coefficient, &rest)) return false;
    bool is_backward = coefficient == weft_expr_constant(x, -1) && weft_dtype_size(inst->dtype) < 4;
    return coefficient == one || is_backward;
}

/* ---- lines that stay ---- */

/* Bytes over which the sets of L1 repeat, and lines of one set that may be used at the same time, of eight and more. */
#define SETS 4096
#define WAYS 4

/* Bytes that a step of the range takes in memory; false where that is no number. */
static bool find_step(const weft_kernel *kernel, const weft_inst *load, const weft_range *range, int64_t *out_step)
{
    weft_expr step, rest;
    if (!weft_expr_affine(kernel->exprs, load->index, range->variable, &step, &rest)) return false;
    if (!weft_expr_is_constant(kernel->exprs, step, out_step)) return false;
    *out_step = (*out_step < 0 ? -*out_step : *out_step) * (int64_t)weft_dtype_size(load->dtype);
    return true;
}

/* Lines that `extent` steps touch, and whether the sets of L1 hold them beside each other. */
static int64_t count_lines(int64_t step, int64_t extent, const weft_machine *machine, bool *fits)
{
    if (step == 0) return 1;
    if (step < machine->line_bytes) return (step * extent + machine->line_bytes - 1) / machine->line_bytes;
    *fits &= extent <= WAYS * (SETS / weft_expr_gcd(step, SETS));
    return extent;
}

bool weft_kernel_keeps_lines(const weft_kernel *kernel, const weft_inst *load, const weft_machine *machine)
{
    int64_t lines = 1, most = (int64_t)machine->cache_bytes[0] / 2 / machine->line_bytes;
    bool fits = true;
    for (uint32_t r = kernel->range_count; r-- > 0 && fits && lines <= most;) {
        int64_t step, extent;
        const weft_range *range = &kernel->ranges[r];
        if (!find_step(kernel, load, range, &step)) return false;
        bool is_near = step != 0 && step <= machine->line_bytes / 4;
        /* Short or long: few lines, or most of each is used. */
        if (!weft_expr_is_constant(kernel->exprs, range->extent, &extent)) return is_near;
        /* From here on most of each line is used. */
        if (is_near && 2 * step * extent >= machine->line_bytes) return true;
        if (extent > most) return false;
        lines *= count_lines(step, extent, machine, &fits);
    }
    return fits && lines <= most;
}

/* ---- transpositions ---- */

/* Bytes of a point of all loads that are transposed. */
static size_t transposed_bytes(const weft_kernel *kernel, uint32_t across)
{
    weft_expr last = kernel->ranges[kernel->range_count - 1].variable;
    size_t bytes = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (is_transposed(kernel, inst, kernel->ranges[across].variable, last)) bytes += weft_dtype_size(inst->dtype);
    }
    return bytes;
}

weft_tile_sides weft_kernel_square_tile(const weft_kernel *kernel, uint32_t across)
{
    size_t bytes = transposed_bytes(kernel, across);
    uint32_t side = MOST_TILE;
    while (side > LEAST_TILE && side * side * bytes > WEFT_LOCAL_BYTES) side /= 2;
    return (weft_tile_sides){side, side};
}

/* Whether there are so many points that elements of 8 bytes come from beyond L2. */
static bool is_far(const weft_kernel *kernel, const weft_machine *machine)
{
    int64_t points = 1, extent, most = 2 * (int64_t)machine->cache_bytes[1] / 8;
    for (uint32_t i = 0; i < kernel->range_count && points <= most; i++) {
        if (!weft_expr_is_constant(kernel->exprs, kernel->ranges[i].extent, &extent)) return false;
        points *= extent;
    }
    return points > most;
}

/* Complex numbers that are computed with keep their tiles, whose vectors are read once and whole. */
bool weft_kernel_wants_strips(const weft_kernel *kernel, const weft_machine *machine, uint32_t across)
{
    const weft_range *last = &kernel->ranges[kernel->range_count - 1];
    bool wants = across + 2 == kernel->range_count;
    for (uint32_t i = 0; i < kernel->inst_count && wants; i++) {
        const weft_inst *inst = &kernel->insts[i];
        int64_t step;
        bool is_complex = weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX;
        if (is_complex && inst->op != WEFT_SCALAR_load) return false;
        if (!is_transposed(kernel, inst, kernel->ranges[across].variable, last->variable)) continue;
        size_t size = weft_dtype_size(inst->dtype);
        wants = (size == 16 || (size == 8 && is_far(kernel, machine))) && find_step(kernel, inst, last, &step);
        if (wants) count_lines(step, WEFT_STRIP, machine, &wants);
    }
    return wants;
}

/* Elements of memory from a point of the range to the next; 0: none, or that is no number. */
static int64_t step_along(const weft_kernel *kernel, weft_expr index, const weft_range *range)
{
    weft_expr step, rest;
    int64_t number;
    bool known = weft_expr_affine(kernel->exprs, index, range->variable, &step, &rest) &&
                 weft_expr_is_constant(kernel->exprs, step, &number);
    return known ? number : 0;
}

/* A number that divides how many elements of memory it is from a point of the range to the next. */
static int64_t step_divisor(const weft_kernel *kernel, weft_expr index, const weft_range *range)
{
    weft_expr step, rest;
    bool is_affine = weft_expr_affine(kernel->exprs, index, range->variable, &step, &rest);
    return is_affine ? weft_expr_divisor(kernel->exprs, step) : 1;
}

/* Whether lines of as many columns as a vector has floats fall into sets of L1 that hold fewer, so that results are
 * better stored in long runs. Of an unknown distance that is a multiple of so many bytes that mostly is: n x 256 x 64
 * with the last axis first takes 0.65 of the time for f32 where n is a symbol, f16 0.55 (Zen 5). */
static bool evicts_lines(const weft_kernel *kernel, uint32_t across)
{
    enum { MOST_WAYS = 8, LINES = 16, MANY = 512 };
    const weft_store *store = &kernel->stages[0].stores[0];
    int64_t size = (int64_t)weft_dtype_size(kernel->insts[store->value].dtype);
    int64_t step = step_along(kernel, store->index, &kernel->ranges[across]) * size;
    if (step == 0) return step_divisor(kernel, store->index, &kernel->ranges[across]) * size % MANY == 0;
    return LINES > MOST_WAYS * (SETS / weft_expr_gcd(step, SETS));
}

bool weft_kernel_copies_lines(const weft_kernel *kernel, const weft_machine *machine, uint32_t across)
{
    const weft_range *other = &kernel->ranges[across], *last = &kernel->ranges[kernel->range_count - 1];
    const weft_inst *load = &kernel->insts[0];
    const weft_store *store = &kernel->stages[0].stores[0];
    int64_t rows, columns, least, size = (int64_t)weft_dtype_size(load->dtype);
    if (kernel->inst_count != 1 || kernel->stages[0].store_count != 1) return false;
    if (!is_transposed(kernel, load, other->variable, last->variable)) return false;
    if (load->predicate_count != 0 || store->predicate_count != 0 || store->is_indirect) return false;
    weft_expr_range(kernel->exprs, other->extent, &least, &columns);
    weft_expr_range(kernel->exprs, last->extent, &least, &rows);
    bool fills = size >= 4 && machine->vector_bytes == machine->line_bytes && columns * size >= machine->line_bytes &&
                 rows >= MOST_TILE;
    bool evicts = size < 8 && columns <= MOST_EVICTED && evicts_lines(kernel, across);
    return fills && !evicts && step_along(kernel, store->index, last) == 1 &&
           step_along(kernel, store->index, other) != 1;
}

/* Doubles a side as long as the tile has room and the side is below `most`. */
static void grow(uint32_t *side, const weft_tile_sides *sides, size_t bytes, int64_t most)
{
    while (*side < most && 2 * sides->along * sides->across * bytes <= WEFT_LOCAL_BYTES) *side *= 2;
}

weft_tile_sides weft_kernel_long_tile(const weft_kernel *kernel, uint32_t across)
{
    size_t bytes = transposed_bytes(kernel, across);
    weft_tile_sides sides = {LEAST_TILE, LEAST_ACROSS};
    int64_t least, rows, columns;
    weft_expr_range(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent, &least, &rows);
    weft_expr_range(kernel->exprs, kernel->ranges[across].extent, &least, &columns);
    /* Short rows are read whole, one after another, by vectors that are no longer. */
    while (sides.across > 1 && columns <= sides.across / 2) sides.across /= 2;
    if (columns <= MOST_TILE && !evicts_lines(kernel, across)) grow(&sides.across, &sides, bytes, columns);
    grow(&sides.along, &sides, bytes, rows < LONGEST_RUN ? rows : LONGEST_RUN);
    grow(&sides.across, &sides, bytes, columns < MOST_TILE ? columns : MOST_TILE);
    return sides;
}

/* Fewest elements of a row that vectors of 64 bytes transpose: shorter rows of bytes are picked from vectors. */
static int64_t least_row(const weft_kernel *kernel, uint32_t across)
{
    return transposed_bytes(kernel, across) < 4 ? 8 : 4;
}

bool weft_kernel_fills_tile(const weft_kernel *kernel, const weft_machine *machine, uint32_t across)
{
    int64_t rows, columns, most, tile = weft_kernel_square_tile(kernel, across).along;
    weft_expr_range(kernel->exprs, kernel->ranges[across].extent, &columns, &most);
    weft_expr_range(kernel->exprs, kernel->ranges[kernel->range_count - 1].extent, &rows, &most);
    bool is_many = columns >= LEAST_TILE && transposed_bytes(kernel, across) == 4;
    int64_t least = is_many ? VECTOR / 4 + 1 : LEAST_TILE;
    if (machine->vector_bytes >= VECTOR) return rows >= least && columns >= least_row(kernel, across);
    return rows >= tile && columns >= tile;
}

uint32_t weft_kernel_find_transposition(const weft_kernel *kernel, const weft_machine *machine)
{
    uint32_t last = kernel->range_count - 1;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        for (uint32_t r = 0; r < last; r++)
            if (is_transposed(kernel, inst, kernel->ranges[r].variable, kernel->ranges[last].variable) &&
                (weft_kernel_fills_tile(kernel, machine, r) || !weft_kernel_keeps_lines(kernel, inst, machine)))
                return r;
    }
    return kernel->range_count;
}

/* The tile that two stages walk, each with variables of its own. */
typedef struct tile {
    weft_tile_sides sides;
    weft_range across, along;  /* of the kernel's own stage */
    weft_range rows, row;      /* of the reading stage: along, across */
    weft_substitution reading; /* from the former to the latter */
} tile;

static weft_expr substitute(weft_expr_context *x, const tile *t, weft_expr e)
{
    return weft_expr_substitute(x, e, t->reading.count, t->reading.variables, t->reading.values);
}

/* Whether a load is read in front, of those that come before it as many as there is room for. */
static bool is_read(const weft_kernel *kernel, const weft_inst *inst, const tile *t, int64_t *room)
{
    int64_t bytes = (int64_t)weft_dtype_size(inst->dtype) * t->sides.along * t->sides.across;
    if (!is_transposed(kernel, inst, t->across.variable, t->along.variable) || bytes > *room) return false;
    *room -= bytes;
    return true;
}

static weft_range same_range(weft_kernel *kernel, const weft_range *range)
{
    weft_range copy = *range;
    copy.variable = weft_kernel_fresh_variable(kernel, range->extent);
    return copy;
}

static weft_expr local_index(weft_expr_context *x, const tile *t, weft_expr along, weft_expr across)
{
    return weft_expr_add(x, weft_expr_mul(x, across, weft_expr_constant(x, t->sides.along)), along);
}

static weft_status *copy_predicates(weft_kernel *kernel, const tile *t, weft_inst *inst)
{
    if (inst->predicate_count == 0) return NULL;
    weft_expr *copy = weft_arena_copy(&kernel->arena, inst->predicates, inst->predicate_count * sizeof *copy);
    if (copy == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < inst->predicate_count; i++) copy[i] = substitute(kernel->exprs, t, copy[i]);
    inst->predicates = copy;
    return NULL;
}

/* Moves the transposed loads into the reading stage: `reads` gets them, the kernel's own read the local buffers from
 * `first_local` on. */
static weft_status *divert_loads(weft_kernel *kernel, const tile *t, uint32_t first_local, weft_inst *reads,
                                 weft_store *stores)
{
    weft_expr_context *x = kernel->exprs;
    int64_t room = WEFT_LOCAL_BYTES;
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_inst *inst = &kernel->insts[i];
        if (!is_read(kernel, inst, t, &room)) continue;
        reads[count] = *inst;
        reads[count].index = substitute(x, t, inst->index);
        WEFT_TRY(copy_predicates(kernel, t, &reads[count]));
        stores[count] = (weft_store){.buffer = first_local + count,
                                     .index = local_index(x, t, t->rows.variable, t->row.variable),
                                     .value = count};
        inst->buffer = first_local + count++;
        inst->index = local_index(x, t, t->along.variable, t->across.variable);
        inst->predicate_count = 0;
        inst->predicates = NULL;
    }
    return NULL;
}

static uint32_t count_transposed(const weft_kernel *kernel, const tile *t)
{
    int64_t room = WEFT_LOCAL_BYTES;
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) count += is_read(kernel, &kernel->insts[i], t, &room);
    return count;
}

static weft_status *add_locals(weft_kernel *kernel, const tile *t, uint32_t count)
{
    int64_t room = WEFT_LOCAL_BYTES;
    size_t total = kernel->buffer_count + count;
    weft_kernel_buffer *buffers = weft_arena_allocate(&kernel->arena, total * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    memcpy(buffers, kernel->buffers, kernel->buffer_count * sizeof *buffers);
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (!is_read(kernel, inst, t, &room)) continue;
        buffers[kernel->buffer_count++] =
            (weft_kernel_buffer){.dtype = inst->dtype, .local = t->sides.along * t->sides.across};
    }
    kernel->buffers = buffers;
    return NULL;
}

static weft_range *two_ranges(weft_kernel *kernel, weft_range outer, weft_range inner)
{
    const weft_range ranges[2] = {outer, inner};
    return weft_arena_copy(&kernel->arena, ranges, sizeof ranges);
}

/* Puts the reading stage, with `count` loads, in front of the kernel's own. */
static weft_status *add_stage(weft_kernel *kernel, const tile *t, uint32_t count, const weft_inst *reads,
                              weft_store *stores)
{
    weft_inst *insts = weft_arena_allocate(&kernel->arena, (count + kernel->inst_count) * sizeof *insts);
    weft_stage *stages = weft_arena_allocate(&kernel->arena, 2 * sizeof *stages);
    if (insts == NULL || stages == NULL) return weft_status_out_of_memory();
    memcpy(insts, reads, count * sizeof *insts);
    memcpy(insts + count, kernel->insts, kernel->inst_count * sizeof *insts);
    for (uint32_t i = count; i < count + kernel->inst_count; i++) {
        for (uint32_t a = 0; a < insts[i].arg_count; a++) insts[i].args[a] += count;
    }
    stages[0] = (weft_stage){.range_count = 2, .inst_count = count, .store_count = count, .stores = stores};
    stages[1] = kernel->stages[0];
    stages[1].inst_first = count;
    stages[1].range_count = 2;
    for (uint32_t i = 0; i < stages[1].store_count; i++) {
        stages[1].stores[i].value += count;
        if (stages[1].stores[i].is_indirect) stages[1].stores[i].offset += count;
    }
    stages[0].ranges = two_ranges(kernel, t->rows, t->row);
    stages[1].ranges = two_ranges(kernel, t->across, t->along);
    if (stages[0].ranges == NULL || stages[1].ranges == NULL) return weft_status_out_of_memory();
    kernel->insts = insts;
    kernel->inst_count += count;
    kernel->stages = stages;
    kernel->stage_count = 2;
    return NULL;
}

static void bind_lanes(weft_range *range, uint32_t width, uint32_t unroll)
{
    range->bind = WEFT_BIND_LANE;
    range->width = width;
    range->unroll = unroll;
}

/* The sides that the move says, or those of a square. */
static weft_tile_sides sides_of(const weft_kernel *kernel, const weft_move *move)
{
    return move->sides.along != 0 ? move->sides : weft_kernel_square_tile(kernel, move->range);
}

const char *weft_kernel_transpose_refusal(const weft_kernel *kernel, const weft_move *move)
{
    uint32_t across = move->range, last = kernel->range_count - 1;
    if (kernel->stage_count != 1 || kernel->stages[0].range_count != 0 || kernel->stages[0].accumulator_count != 0)
        return "the kernel is more than one stage, or reduces";
    if (across == last) return "it is the last range";
    weft_tile_sides sides = sides_of(kernel, move);
    if (move->width > sides.along || move->width > sides.across) return "a vector is longer than a tile";
    if (kernel->ranges[last].bind != WEFT_BIND_SERIAL) return "the lanes of the last outer range are bound";
    for (uint32_t i = 0; i < kernel->range_count; i++)
        if (weft_expr_uses(kernel->exprs, kernel->ranges[i].extent, kernel->ranges[across].variable))
            return "an extent depends on it";
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (!is_transposed(kernel, inst, kernel->ranges[across].variable, kernel->ranges[last].variable)) continue;
        bool fits = sides.along <= WEFT_LOCAL_BYTES / weft_dtype_size(inst->dtype) / sides.across;
        return fits ? NULL : "a tile is more than there is room for";
    }
    return "no load walks memory along it and jumps along the last range";
}

weft_status *weft_kernel_transpose(weft_kernel *kernel, const weft_move *move)
{
    uint32_t across = move->range, count = kernel->range_count, last = count - 1;
    weft_tile_sides sides = sides_of(kernel, move);
    WEFT_TRY(weft_kernel_split(kernel, across, sides.across));
    WEFT_TRY(weft_kernel_split(kernel, kernel->range_count == count ? last - 1 : last, sides.along));
    tile t = {.sides = sides,
              .across = kernel->ranges[kernel->range_count - 2],
              .along = kernel->ranges[kernel->range_count - 1]};
    kernel->range_count -= 2;
    t.rows = same_range(kernel, &t.along);
    t.row = same_range(kernel, &t.across);
    t.reading = (weft_substitution){{t.across.variable, t.along.variable}, {t.row.variable, t.rows.variable}, 2};
    uint32_t loads = count_transposed(kernel, &t), first_local = kernel->buffer_count;
    weft_inst *reads = weft_arena_allocate(&kernel->arena, loads * sizeof *reads);
    weft_store *stores = weft_arena_allocate(&kernel->arena, loads * sizeof *stores);
    if (reads == NULL || stores == NULL) return weft_status_out_of_memory();
    WEFT_TRY(add_locals(kernel, &t, loads));
    WEFT_TRY(divert_loads(kernel, &t, first_local, reads, stores));
    uint32_t most = sides.along / move->width;
    bind_lanes(&t.row, move->width, 1);
    bind_lanes(&t.along, move->width, move->unroll < most ? move->unroll : most);
    return add_stage(kernel, &t, loads, reads, stores);
}
