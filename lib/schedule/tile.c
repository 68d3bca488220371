/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include <string.h>

/*
 * Many short ranges. A tensor of twenty axes of two has no range that is worth a loop, and a permutation of them none
 * that fills a cache line on both sides. So a tile is made of several ranges: those that the first store walks closest,
 * until they make a run of memory, and those of each load that would jump along that run. Ranges of a tile become two,
 * rows and lanes, whose variables are taken apart into digits; code generators know what becomes of short lanes
 * (constants) and of digits of a short range (a table). Loads that jump are read along their own runs into a local
 * buffer first, as in transpose_tile.c.
 */

/* Bodies that bear fewer vectors compute so much that loops of their own, out of which values move, are better than
 * rows. */
#define WIDEN_UNROLL 4
/* Local buffers are on the stack. */
#define MOST_LOCAL (64 << 10)
/* Loads that are read in front. */
#define MAX_STAGED 4
#define READ_UNROLL 8
/* Ranges, and one more for every run that ends inside of a range. */
#define MAX_AXES (WEFT_MAX_RANK + 32)

/* A range or a part of it: what `of` walks is the sum of its axes, each times its scale. */
typedef struct axis {
    weft_expr variable;
    uint32_t of;
    int64_t extent, scale;
    bool tiled;
} axis;

/* Axes, the fastest first. */
typedef struct axis_list {
    uint32_t items[MAX_AXES], count;
    int64_t points;
} axis_list;

typedef struct access {
    weft_expr *index;
    weft_inst *inst; /* NULL: a store */
    uint32_t size;   /* bytes of an element */
    bool known;      /* its strides are numbers */
    bool staged;
    axis_list run, rows; /* staged: of the reading stage */
    int64_t strides[MAX_AXES];
    int64_t places[MAX_AXES]; /* staged: strides in the local buffer */
} access;

typedef struct tiling {
    weft_kernel *kernel;
    weft_expr_context *extents;
    int64_t line_bytes;  /* of a cache line */
    int64_t local_bytes; /* of all local buffers: half of the first-level cache */
    uint32_t width, unroll, axis_count, store_count, access_count, staged_count;
    axis axes[MAX_AXES];
    axis_list lanes, rows;
    access *accesses; /* stores, then loads */
} tiling;

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* ---- what is accessed ---- */

static bool read_strides(const tiling *t, access *a)
{
    weft_expr coefficient, rest;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (!weft_expr_affine(t->extents, *a->index, t->axes[i].variable, &coefficient, &rest)) return false;
        if (!weft_expr_is_constant(t->extents, coefficient, &a->strides[i])) return false;
    }
    return true;
}

static void add_access(tiling *t, weft_inst *inst, weft_expr *index, weft_dtype dtype)
{
    access *a = &t->accesses[t->access_count++];
    *a = (access){.index = index, .inst = inst, .size = (uint32_t)weft_dtype_size(dtype)};
    a->known = read_strides(t, a);
}

/* The ranges as axes, and all stores and loads; false where an extent is no number, where data decide what is stored
 * to, or where a vector may report an error: along its lanes positions have to grow. */
static bool fill_tiling(tiling *t)
{
    weft_kernel *kernel = t->kernel;
    if (kernel->range_count > WEFT_MAX_RANK) return false;
    t->axis_count = kernel->range_count;
    t->access_count = t->staged_count = 0;
    t->store_count = kernel->stages[0].store_count;
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        const weft_range *range = &kernel->ranges[i];
        t->axes[i] = (axis){.variable = range->variable, .of = i, .scale = 1};
        if (!weft_expr_is_constant(t->extents, range->extent, &t->axes[i].extent) || t->axes[i].extent < 1)
            return false;
    }
    for (uint32_t i = 0; i < t->store_count; i++) {
        weft_store *store = &kernel->stages[0].stores[i];
        if (store->moved) return false;
        add_access(t, NULL, &store->index, kernel->buffers[store->buffer].dtype);
    }
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_inst *inst = &kernel->insts[i];
        if (inst->position != WEFT_EXPR_NONE) return false;
        if (inst->op == WEFT_SCALAR_load && inst->arg_count == 0) add_access(t, inst, &inst->index, inst->dtype);
    }
    return t->store_count > 0 && t->accesses[0].known;
}

/* ---- lists of axes ---- */

static bool contains(const axis_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) return true;
    }
    return false;
}

static void append(tiling *t, axis_list *list, uint32_t item)
{
    list->items[list->count++] = item;
    list->points *= t->axes[item].extent;
    t->axes[item].tiled = true;
}

/* The axis outside of the list along which the access moves least, but moves; axis_count: none. `loose`: none that is
 * in the tile. */
static uint32_t closest(const tiling *t, const access *a, const axis_list *list, bool loose)
{
    uint32_t best = t->axis_count;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (a->strides[i] == 0 || t->axes[i].extent == 1 || (list != NULL && contains(list, i))) continue;
        if (loose && t->axes[i].tiled) continue;
        if (best == t->axis_count || magnitude(a->strides[i]) < magnitude(a->strides[best])) best = i;
    }
    return best;
}

/* Makes the axis two, of which the inner one, which is returned, has `extent` elements. */
static uint32_t split(tiling *t, uint32_t number, int64_t extent)
{
    uint32_t inner = t->axis_count++;
    axis *outer = &t->axes[number];
    t->axes[inner] = (axis){.variable = WEFT_EXPR_NONE, .of = outer->of, .extent = extent, .scale = outer->scale};
    outer->extent /= extent;
    outer->scale *= extent;
    outer->variable = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < t->access_count; i++) {
        access *a = &t->accesses[i];
        a->strides[inner] = a->strides[number];
        a->strides[number] *= extent;
    }
    return inner;
}

/* The least divisor of `extent` from `low` to `high`, if there is one that is whole vectors; 0: none. */
static int64_t divisor_between(const tiling *t, int64_t extent, int64_t low, int64_t high)
{
    int64_t best = 0;
    for (int64_t d = low < 2 ? 2 : low; d <= high && d < extent; d++) {
        if (extent % d != 0) continue;
        if (d % t->width == 0) return d;
        if (best == 0) best = d;
    }
    return best;
}

/* Fills `list` with the axes, or the part of one, that are a run of about `target` elements of the access; false where
 * a long axis has no part that fits. */
static bool take_run(tiling *t, const access *a, int64_t target, axis_list *list)
{
    list->count = 0;
    list->points = 1;
    while (4 * list->points < 3 * target) {
        uint32_t next = closest(t, a, list, false);
        if (next == t->axis_count) return true;
        int64_t extent = t->axes[next].extent, points = list->points;
        if (points * extent > 2 * target && !t->axes[next].tiled && t->axis_count < MAX_AXES) {
            int64_t part =
                divisor_between(t, extent, (3 * target + 4 * points - 1) / (4 * points), 2 * target / points);
            if (part != 0) next = split(t, next, part);
            else if (points * extent > 4 * target) return 2 * points >= target;
        } else if (points * extent > 4 * target) {
            return true;
        }
        append(t, list, next);
    }
    return true;
}

/* ---- which loads are staged ---- */

/* Elements that lie side by side along the lanes, or are one element. */
static int64_t smooth_lanes(const tiling *t, const access *a)
{
    int64_t points = 1, stride = 0;
    for (uint32_t i = 0; i < t->lanes.count; i++) {
        int64_t next = a->strides[t->lanes.items[i]];
        if (i == 0 && magnitude(next) > 1) return 1;
        if (i == 0) stride = next;
        if (next != stride * points) return points;
        points *= t->axes[t->lanes.items[i]].extent;
    }
    return points;
}

/* Whether the load walks memory in runs, and the lanes jump from one to the next; in what stays in the cache they may.
 */
static bool jumps(const tiling *t, const access *a)
{
    if (!a->known || a->inst->predicate_count != 0 || smooth_lanes(t, a) >= t->width) return false;
    if (t->kernel->buffers[a->inst->buffer].written) return false;
    int64_t elements = 1;
    for (uint32_t i = 0; i < t->axis_count; i++) elements *= a->strides[i] == 0 ? 1 : t->axes[i].extent;
    if (elements * a->size <= t->local_bytes) return false;
    uint32_t first = closest(t, a, NULL, false);
    return first != t->axis_count && magnitude(a->strides[first]) * a->size < t->line_bytes;
}

/* Takes the run of every load that jumps into the tile; what lies within the lanes anyway needs no stage. */
static bool stage_loads(tiling *t, int64_t bytes)
{
    for (uint32_t i = t->store_count; i < t->access_count && t->staged_count < MAX_STAGED; i++) {
        access *a = &t->accesses[i];
        if (!jumps(t, a)) continue;
        if (!take_run(t, a, bytes / a->size, &a->run)) return false;
        for (uint32_t k = 0; k < a->run.count; k++) a->staged |= !contains(&t->lanes, a->run.items[k]);
        t->staged_count += a->staged;
    }
    return true;
}

/* ---- how large a tile is ---- */

static int64_t tile_points(const tiling *t, const access *a)
{
    int64_t points = 1;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (t->axes[i].tiled && (a == NULL || a->strides[i] != 0)) points *= t->axes[i].extent;
    }
    return points;
}

/* Whether a tile `times` as large is small enough. */
static bool fits(const tiling *t, int64_t times)
{
    int64_t bytes = 0, points = tile_points(t, NULL) * times;
    for (uint32_t i = 0; i < t->access_count; i++) {
        const access *a = &t->accesses[i];
        if (a->staged) bytes += tile_points(t, a) * a->size;
    }
    /* Without a local buffer a point counts as eight bytes. */
    return bytes * times <= t->local_bytes && points <= t->local_bytes / (bytes == 0 ? 8 : t->accesses[0].size);
}

/* The tile takes in the next axis of the access, or a part of it. */
static bool widen(tiling *t, const access *a)
{
    uint32_t next = closest(t, a, NULL, true);
    if (next == t->axis_count) return false;
    int64_t part = t->axes[next].extent;
    /* No tile has more points, however long the axis is. */
    if (part > t->local_bytes) part = t->local_bytes;
    while (part > 1 && (!fits(t, part) || t->axes[next].extent % part != 0)) part--;
    if (part == 1 || t->axis_count == MAX_AXES) return false;
    if (part != t->axes[next].extent) next = split(t, next, part);
    t->axes[next].tiled = true;
    return true;
}

/* What is left of the room goes to store and staged loads in turn, for longer runs and fewer tiles. */
static void widen_all(tiling *t)
{
    bool grown = true;
    while (grown) {
        grown = widen(t, &t->accesses[0]);
        for (uint32_t i = t->store_count; i < t->access_count; i++) {
            if (t->accesses[i].staged) grown |= widen(t, &t->accesses[i]);
        }
    }
}

/* The axes of the tile outside of `lanes`, those along which the access moves least first; `moving`: only those along
 * which it moves. */
static void find_rows(const tiling *t, const access *a, bool moving, const axis_list *lanes, axis_list *out_rows)
{
    *out_rows = (axis_list){.points = 1};
    for (;;) {
        uint32_t best = t->axis_count;
        for (uint32_t i = 0; i < t->axis_count; i++) {
            if (!t->axes[i].tiled || contains(lanes, i) || contains(out_rows, i)) continue;
            if (moving && a->strides[i] == 0) continue;
            if (best == t->axis_count || magnitude(a->strides[i]) < magnitude(a->strides[best])) best = i;
        }
        if (best == t->axis_count) return;
        out_rows->items[out_rows->count++] = best;
        out_rows->points *= t->axes[best].extent;
    }
}

/* Finds a tile whose runs are about `bytes` long; false: there is none. */
static bool find_tile(tiling *t, int64_t bytes)
{
    if (!fill_tiling(t)) return false;
    int64_t most = 2 * (int64_t)t->width * t->unroll, target = bytes / t->accesses[0].size;
    if (!take_run(t, &t->accesses[0], target < most ? target : most, &t->lanes)) return false;
    if (t->lanes.count == 0 || t->lanes.points > most || !stage_loads(t, bytes) || !fits(t, 1)) return false;
    if (t->staged_count > 0 || t->unroll >= WIDEN_UNROLL) widen_all(t);
    find_rows(t, &t->accesses[0], false, &t->lanes, &t->rows);
    for (uint32_t i = t->store_count; i < t->access_count; i++) {
        access *a = &t->accesses[i];
        if (a->staged) find_rows(t, a, true, &a->run, &a->rows);
    }
    return true;
}

/* ---- expressions ---- */

static weft_expr constant(const tiling *t, int64_t value)
{
    return weft_expr_constant(t->extents, value);
}

/* The digit of the variable at `place`, of `extent` values; the last one needs no remainder. */
static weft_expr digit(const tiling *t, weft_expr variable, int64_t place, int64_t extent, bool last)
{
    weft_expr value = place == 1 ? variable : weft_expr_div(t->extents, variable, constant(t, place));
    return last ? value : weft_expr_mod(t->extents, value, constant(t, extent));
}

/* `sum`, and how far the list's axes move by `strides`; axes that follow each other stay one digit. */
static weft_expr add_digits(const tiling *t, weft_expr sum, const axis_list *list, weft_expr variable,
                            const int64_t *strides)
{
    int64_t place = 1;
    for (uint32_t i = 0; i < list->count;) {
        int64_t stride = strides[list->items[i]], extent = t->axes[list->items[i]].extent;
        for (i++; i < list->count && strides[list->items[i]] == stride * extent; i++)
            extent *= t->axes[list->items[i]].extent;
        weft_expr value = digit(t, variable, place, extent, i == list->count);
        sum = weft_expr_add(t->extents, sum, weft_expr_mul(t->extents, value, constant(t, stride)));
        place *= extent;
    }
    return sum;
}

/* What stands for the variables of the ranges as they were. */
typedef struct values {
    weft_expr of[WEFT_MAX_RANK], by[WEFT_MAX_RANK];
    uint32_t count;
} values;

static void add_axis(const tiling *t, values *v, uint32_t number, weft_expr value)
{
    const axis *a = &t->axes[number];
    weft_expr scaled = weft_expr_mul(t->extents, value, constant(t, a->scale));
    v->by[a->of] = weft_expr_add(t->extents, v->by[a->of], scaled);
}

/* The tile's corner. */
static void find_corner(const tiling *t, const weft_range *ranges, uint32_t count, values *out_values)
{
    out_values->count = count;
    for (uint32_t i = 0; i < count; i++) {
        out_values->of[i] = ranges[i].variable;
        out_values->by[i] = constant(t, 0);
    }
    for (uint32_t i = 0; i < t->axis_count; i++)
        if (!t->axes[i].tiled) add_axis(t, out_values, i, t->axes[i].variable);
}

static void add_list(const tiling *t, values *v, const axis_list *list, weft_expr variable)
{
    int64_t place = 1;
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t extent = t->axes[list->items[i]].extent;
        add_axis(t, v, list->items[i], digit(t, variable, place, extent, i + 1 == list->count));
        place *= extent;
    }
}

static bool replace(void *context, weft_expr_context *extents, weft_expr *expr)
{
    const values *v = context;
    *expr = weft_expr_substitute(extents, *expr, v->count, v->of, v->by);
    return *expr != WEFT_EXPR_NONE;
}

/* ---- the kernel ---- */

static weft_range make_range(const tiling *t, int64_t extent)
{
    weft_range range = {.extent = constant(t, extent), .lanes = 1, .width = 1, .unroll = 1};
    range.variable = weft_kernel_fresh_variable(t->kernel, range.extent);
    return range;
}

/* Gives the stage its rows and lanes. */
static weft_status *make_ranges(const tiling *t, const axis_list *rows, const axis_list *lanes, uint32_t unroll,
                                weft_stage *stage)
{
    weft_range ranges[2] = {make_range(t, rows->points), make_range(t, lanes->points)};
    while (unroll > 1 && (int64_t)t->width * unroll > lanes->points) unroll /= 2;
    ranges[1].bind = WEFT_BIND_LANE;
    ranges[1].width = t->width;
    ranges[1].unroll = unroll;
    stage->range_count = 2;
    stage->ranges = weft_arena_copy(&t->kernel->arena, ranges, sizeof ranges);
    return stage->ranges == NULL ? weft_status_out_of_memory() : NULL;
}

/* The least way that an access moves along the axis, of those that move. */
static int64_t least_stride(const tiling *t, uint32_t number)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < t->access_count; i++) {
        int64_t stride = t->accesses[i].known ? magnitude(t->accesses[i].strides[number]) : 0;
        if (stride != 0 && stride < least) least = stride;
    }
    return least;
}

/* The ranges outside of the tile. The last ones lead to tiles that are close by, in what is read or what is written: a
 * cache line that two tiles share is used by the second soon after the first. */
static weft_status *make_outer(tiling *t)
{
    weft_kernel *kernel = t->kernel;
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (t->axis_count + 1) * sizeof *ranges);
    int64_t *strides = weft_arena_allocate(&kernel->arena, (t->axis_count + 1) * sizeof *strides);
    if (ranges == NULL || strides == NULL) return weft_status_out_of_memory();
    kernel->range_count = 0;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (t->axes[i].tiled) continue;
        weft_range range = make_range(t, t->axes[i].extent);
        int64_t stride = least_stride(t, i);
        uint32_t at = kernel->range_count++;
        for (; at > 0 && strides[at - 1] < stride; at--) {
            ranges[at] = ranges[at - 1];
            strides[at] = strides[at - 1];
        }
        ranges[at] = range;
        strides[at] = stride;
        t->axes[i].variable = range.variable;
    }
    kernel->ranges = ranges;
    return NULL;
}

/* Strides in the local buffer: the run, then the rows. */
static void place_local(const tiling *t, access *a)
{
    int64_t place = 1;
    for (uint32_t i = 0; i < a->run.count + a->rows.count; i++) {
        uint32_t item = i < a->run.count ? a->run.items[i] : a->rows.items[i - a->run.count];
        a->places[item] = place;
        place *= t->axes[item].extent;
    }
}

/* What is assembled: the reading stages with a load each, then the kernel's own stage. */
typedef struct assembly {
    weft_inst *insts;
    weft_stage *stages;
    weft_store *stores;
    weft_kernel_buffer *buffers;
    uint32_t count; /* reading stages so far */
} assembly;

static weft_status *make_room(const tiling *t, assembly *out_assembly)
{
    weft_kernel *kernel = t->kernel;
    weft_arena *arena = &kernel->arena;
    out_assembly->insts = weft_arena_allocate(arena, (t->staged_count + kernel->inst_count) * sizeof(weft_inst));
    out_assembly->stages = weft_arena_allocate(arena, (t->staged_count + 1) * sizeof(weft_stage));
    out_assembly->stores = weft_arena_allocate(arena, (t->staged_count + 1) * sizeof(weft_store));
    out_assembly->buffers =
        weft_arena_allocate(arena, (t->staged_count + kernel->buffer_count) * sizeof(weft_kernel_buffer));
    out_assembly->count = 0;
    bool made = out_assembly->insts != NULL && out_assembly->stages != NULL && out_assembly->stores != NULL &&
                out_assembly->buffers != NULL;
    if (!made) return weft_status_out_of_memory();
    memcpy(out_assembly->buffers, kernel->buffers, kernel->buffer_count * sizeof *kernel->buffers);
    return NULL;
}

/* Puts a stage in front that reads for the access into a local buffer of its own. */
static weft_status *add_reading(const tiling *t, access *a, weft_expr corner, assembly *made)
{
    uint32_t number = made->count++, buffer = t->kernel->buffer_count + number;
    weft_stage *stage = &made->stages[number];
    *stage = (weft_stage){.inst_first = number, .inst_count = 1, .store_count = 1, .stores = &made->stores[number]};
    WEFT_TRY(make_ranges(t, &a->rows, &a->run, READ_UNROLL, stage));
    weft_expr row = stage->ranges[0].variable, lane = stage->ranges[1].variable;
    corner = add_digits(t, corner, &a->run, lane, a->strides);
    made->insts[number] = *a->inst;
    made->insts[number].index = add_digits(t, corner, &a->rows, row, a->strides);
    weft_expr local = weft_expr_mul(t->extents, row, constant(t, a->run.points));
    *stage->stores = (weft_store){.buffer = buffer, .index = weft_expr_add(t->extents, local, lane), .value = number};
    made->buffers[buffer] =
        (weft_kernel_buffer){.dtype = a->inst->dtype, .local = (uint32_t)(a->run.points * a->rows.points)};
    a->inst->buffer = buffer;
    return NULL;
}

/* The access as the kernel's own stage has it. */
static weft_status *move_access(const tiling *t, access *a, const weft_stage *own, const values *corner, assembly *made)
{
    weft_expr row = own->ranges[0].variable, lane = own->ranges[1].variable, sum = *a->index;
    const int64_t *strides = a->staged ? a->places : a->strides;
    replace((void *)(uintptr_t)corner, t->extents, &sum);
    if (a->staged) {
        place_local(t, a);
        WEFT_TRY(add_reading(t, a, sum, made));
        sum = constant(t, 0);
    }
    sum = add_digits(t, sum, &t->lanes, lane, strides);
    *a->index = add_digits(t, sum, &t->rows, row, strides);
    return NULL;
}

static void install(const tiling *t, assembly *made, const weft_stage *own)
{
    weft_kernel *kernel = t->kernel;
    uint32_t count = made->count;
    memcpy(made->insts + count, kernel->insts, kernel->inst_count * sizeof *kernel->insts);
    for (uint32_t i = count; i < count + kernel->inst_count; i++) {
        for (uint32_t k = 0; k < made->insts[i].arg_count; k++) made->insts[i].args[k] += count;
    }
    for (uint32_t i = 0; i < own->store_count; i++) own->stores[i].value += count;
    made->stages[count] = *own;
    made->stages[count].inst_first = count;
    kernel->insts = made->insts;
    kernel->inst_count += count;
    kernel->stages = made->stages;
    kernel->stage_count = count + 1;
    kernel->buffers = made->buffers;
    kernel->buffer_count += count;
}

static weft_status *apply(tiling *t)
{
    weft_kernel *kernel = t->kernel;
    const weft_range *ranges = kernel->ranges;
    uint32_t count = kernel->range_count;
    weft_stage own = kernel->stages[0];
    values corner, point;
    assembly made;
    WEFT_TRY(make_room(t, &made));
    WEFT_TRY(make_outer(t));
    WEFT_TRY(make_ranges(t, &t->rows, &t->lanes, t->unroll, &own));
    find_corner(t, ranges, count, &corner);
    point = corner;
    add_list(t, &point, &t->rows, own.ranges[0].variable);
    add_list(t, &point, &t->lanes, own.ranges[1].variable);
    for (uint32_t i = 0; i < t->access_count; i++)
        if (t->accesses[i].known) WEFT_TRY(move_access(t, &t->accesses[i], &own, &corner, &made));
    if (!weft_kernel_visit_exprs(kernel, replace, &point)) return weft_status_out_of_memory();
    install(t, &made, &own);
    return NULL;
}

/* Whether every access runs along rows, and one of them under predicates that all points of a row share, but not those
 * of a tile. */
static bool has_row_predicates(const tiling *t)
{
    uint32_t last = t->kernel->range_count - 1;
    weft_expr variable = t->kernel->ranges[last].variable;
    bool found = false;
    for (uint32_t i = 0; i < t->access_count; i++) {
        const access *a = &t->accesses[i];
        for (uint32_t k = 0; k < t->axis_count; k++)
            if (t->axes[k].of == last && t->axes[k].scale == 1 && magnitude(a->strides[k]) > 1) return false;
        for (uint32_t k = 0; a->inst != NULL && k < a->inst->predicate_count; k++)
            found |= !weft_expr_uses(t->extents, a->inst->predicates[k], variable);
    }
    return found;
}

/* Whether no load jumps, and the last range alone is long enough for the lanes or decides less. */
static bool is_needless(const tiling *t)
{
    int64_t last = 0;
    const weft_range *range = &t->kernel->ranges[t->kernel->range_count - 1];
    weft_expr_is_constant(t->extents, range->extent, &last);
    return t->staged_count == 0 && (last >= 2 * (int64_t)t->width || has_row_predicates(t));
}

weft_status *weft_kernel_tile(weft_kernel *kernel, const weft_machine *machine, uint32_t width, uint32_t unroll,
                              bool *out_tiled)
{
    int64_t line = machine->line_bytes, local = (int64_t)machine->cache_bytes[0] / 2;
    if (local > MOST_LOCAL) local = MOST_LOCAL;
    tiling *t = weft_arena_allocate(&kernel->arena, sizeof *t);
    size_t most = kernel->stages[0].store_count;
    for (uint32_t i = 0; i < kernel->inst_count; i++) most += kernel->insts[i].op == WEFT_SCALAR_load;
    access *accesses = weft_arena_allocate(&kernel->arena, most * sizeof *accesses);
    *out_tiled = false;
    if (t == NULL || accesses == NULL) return weft_status_out_of_memory();
    /* A run has two cache lines at best, half of one at worst. */
    for (int64_t bytes = 2 * line; bytes >= line / 2 && !*out_tiled; bytes /= 2) {
        *t = (tiling){.kernel = kernel,
                      .extents = kernel->extents,
                      .line_bytes = line,
                      .local_bytes = local,
                      .width = width,
                      .unroll = unroll};
        t->accesses = accesses;
        *out_tiled = find_tile(t, bytes);
    }
    *out_tiled = *out_tiled && !is_needless(t);
    return *out_tiled ? apply(t) : NULL;
}
