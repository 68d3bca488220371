/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/tile.h"

/*
 * Many short ranges. A tensor of twenty axes of two has no range that is worth a loop, and a permutation of them none
 * that fills a cache line on both sides. So a tile is made of several ranges: those that the first store walks closest,
 * until they make a run of memory, and those of each load that would jump along that run. Ranges of a tile become two,
 * rows and lanes, whose variables are taken apart into digits; code generators turn short lanes into constants and
 * digits of a short range into a table. Loads that jump are read along their own runs into a local buffer first, as in
 * transpose_tile.c.
 */

/* Bodies that allow fewer vectors compute so much that separate loops, out of which values can be hoisted, are better
 * than rows. */
#define WIDEN_UNROLL 4

/* ---- lists of axes ---- */

/* The axis outside of the list along which the access moves least, but moves; axis_count: none. `loose`: none that is
 * in the tile. */
static uint32_t closest(const weft_tiling *t, const weft_tile_access *a, const weft_tile_axes *list, bool loose)
{
    uint32_t best = t->axis_count;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (a->strides[i] == 0 || t->axes[i].extent == 1 || (list != NULL && weft_tile_contains(list, i))) continue;
        if (loose && t->axes[i].tiled) continue;
        if (best == t->axis_count || weft_tile_magnitude(a->strides[i]) < weft_tile_magnitude(a->strides[best]))
            best = i;
    }
    return best;
}

/* The least divisor of `extent` from `low` to `high`, if there is one that is whole vectors; 0: none. */
static int64_t divisor_between(const weft_tiling *t, int64_t extent, int64_t low, int64_t high)
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
static bool take_run(weft_tiling *t, const weft_tile_access *a, int64_t target, weft_tile_axes *list)
{
    list->count = 0;
    list->points = 1;
    while (4 * list->points < 3 * target) {
        uint32_t next = closest(t, a, list, false);
        if (next == t->axis_count) return true;
        int64_t extent = t->axes[next].extent, points = list->points;
        if (points * extent > 2 * target && !t->axes[next].tiled && t->axis_count < WEFT_TILE_AXES) {
            int64_t part =
                divisor_between(t, extent, (3 * target + 4 * points - 1) / (4 * points), 2 * target / points);
            if (part != 0) next = weft_tiling_cut(t, next, part);
            else if (points * extent > 4 * target) return 2 * points >= target;
        } else if (points * extent > 4 * target) {
            return true;
        }
        weft_tiling_append(t, list, next);
    }
    return true;
}

/* ---- which loads are staged ---- */

/* Elements that lie side by side along the lanes, or are one element. */
static int64_t smooth_lanes(const weft_tiling *t, const weft_tile_access *a)
{
    int64_t points = 1, stride = 0;
    for (uint32_t i = 0; i < t->lanes.count; i++) {
        int64_t next = a->strides[t->lanes.items[i]];
        if (i == 0 && weft_tile_magnitude(next) > 1) return 1;
        if (i == 0) stride = next;
        if (next != stride * points) return points;
        points *= t->axes[t->lanes.items[i]].extent;
    }
    return points;
}

/* Whether the last range alone is long enough for the lanes. */
static bool has_long_rows(const weft_tiling *t)
{
    int64_t last = 0;
    const weft_range *range = &t->kernel->ranges[t->kernel->range_count - 1];
    weft_expr_is_constant(t->exprs, range->extent, &last);
    return last >= 2 * (int64_t)t->width;
}

/* Whether the last range alone is less than half a line of what is stored. */
static bool has_tiny_rows(const weft_tiling *t)
{
    int64_t last = 0;
    const weft_range *range = &t->kernel->ranges[t->kernel->range_count - 1];
    bool known = weft_expr_is_constant(t->exprs, range->extent, &last);
    return known && last * t->accesses[0].size < t->line_bytes / 2;
}

/* Whether the load walks memory in runs, and the lanes jump from one to the next. They may in what stays in the cache,
 * and along rows whose lines do. */
static bool jumps(const weft_tiling *t, const weft_tile_access *a)
{
    if (!a->known || a->inst->predicate_count != 0 || smooth_lanes(t, a) >= t->width) return false;
    if (t->kernel->buffers[a->inst->buffer].written) return false;
    int64_t elements = 1;
    for (uint32_t i = 0; i < t->axis_count; i++) elements *= a->strides[i] == 0 ? 1 : t->axes[i].extent;
    if (elements * a->size <= t->local_bytes) return false;
    if (has_long_rows(t) && weft_kernel_keeps_lines(t->kernel, a->inst, t->machine)) return false;
    uint32_t first = closest(t, a, NULL, false);
    return first != t->axis_count && weft_tile_magnitude(a->strides[first]) * a->size < t->line_bytes;
}

/* Takes the run of every load that jumps into the tile; what lies within the lanes anyway needs no stage. */
static bool stage_loads(weft_tiling *t, int64_t bytes)
{
    for (uint32_t i = t->store_count; i < t->access_count && t->staged_count < WEFT_TILE_READS; i++) {
        weft_tile_access *a = &t->accesses[i];
        if (!jumps(t, a)) continue;
        if (!take_run(t, a, bytes / a->size, &a->run)) return false;
        for (uint32_t k = 0; k < a->run.count; k++) a->staged |= !weft_tile_contains(&t->lanes, a->run.items[k]);
        t->staged_count += a->staged;
    }
    return true;
}

/* ---- how large a tile is ---- */

static int64_t tile_points(const weft_tiling *t, const weft_tile_access *a)
{
    int64_t points = 1;
    for (uint32_t i = 0; i < t->axis_count; i++) {
        if (t->axes[i].tiled && (a == NULL || a->strides[i] != 0)) points *= t->axes[i].extent;
    }
    return points;
}

/* Whether a tile `times` as large is small enough. */
static bool fits(const weft_tiling *t, int64_t times)
{
    int64_t bytes = 0, points = tile_points(t, NULL) * times;
    for (uint32_t i = 0; i < t->access_count; i++) {
        const weft_tile_access *a = &t->accesses[i];
        if (a->staged) bytes += tile_points(t, a) * a->size;
    }
    /* Without a local buffer a point counts as eight bytes. */
    return bytes * times <= t->local_bytes && points <= t->local_bytes / (bytes == 0 ? 8 : t->accesses[0].size);
}

/* The tile takes in the next axis of the access, or a part of it. */
static bool widen(weft_tiling *t, const weft_tile_access *a)
{
    uint32_t next = closest(t, a, NULL, true);
    if (next == t->axis_count) return false;
    int64_t part = t->axes[next].extent;
    /* No tile has more points than this, however long the axis is. */
    if (part > t->local_bytes) part = t->local_bytes;
    while (part > 1 && (!fits(t, part) || t->axes[next].extent % part != 0)) part--;
    if (part == 1 || t->axis_count == WEFT_TILE_AXES) return false;
    if (part != t->axes[next].extent) next = weft_tiling_cut(t, next, part);
    t->axes[next].tiled = true;
    return true;
}

/* What is left of the room goes to store and staged loads in turn, for longer runs and fewer tiles. */
static void widen_all(weft_tiling *t)
{
    bool grown = true;
    while (grown) {
        grown = widen(t, &t->accesses[0]);
        for (uint32_t i = t->store_count; i < t->access_count; i++) {
            if (t->accesses[i].staged) grown |= widen(t, &t->accesses[i]);
        }
    }
}

/* Finds a tile with runs of about `stored` bytes that are stored and `read` that are read; false: there is none. */
static bool find_tile(weft_tiling *t, int64_t stored, int64_t read)
{
    if (weft_tiling_fill(t) != NULL) return false;
    int64_t most = 2 * (int64_t)t->width * t->unroll, target = stored / t->accesses[0].size;
    if (!take_run(t, &t->accesses[0], target < most ? target : most, &t->lanes)) return false;
    if (t->lanes.count == 0 || t->lanes.points > most || !stage_loads(t, read) || !fits(t, 1)) return false;
    if (t->staged_count > 0 || t->unroll >= WIDEN_UNROLL) widen_all(t);
    weft_tiling_find_rows(t, &t->accesses[0], false, &t->lanes, &t->rows);
    for (uint32_t i = t->store_count; i < t->access_count; i++) {
        weft_tile_access *a = &t->accesses[i];
        if (a->staged) weft_tiling_find_rows(t, a, true, &a->run, &a->rows);
    }
    return true;
}

/* Where an axis has no part that fits, a run of half a line at least on one side, and of two on the other. */
static bool find_uneven_tile(weft_tiling *t)
{
    int64_t line = t->line_bytes;
    bool found = false;
    for (int64_t bytes = line; bytes >= line / 2 && !found; bytes /= 2)
        found = find_tile(t, bytes, 2 * line) || find_tile(t, 2 * line, bytes);
    return found && 2 * t->lanes.points * t->accesses[0].size >= line;
}

/* Whether every access runs along rows, and one of them under predicates that all points of a row share, but not those
 * of a tile. */
static bool has_row_predicates(const weft_tiling *t)
{
    uint32_t last = t->kernel->range_count - 1;
    weft_expr variable = t->kernel->ranges[last].variable;
    bool found = false;
    for (uint32_t i = 0; i < t->access_count; i++) {
        const weft_tile_access *a = &t->accesses[i];
        for (uint32_t k = 0; k < t->axis_count; k++)
            if (t->axes[k].of == last && t->axes[k].scale == 1 && weft_tile_magnitude(a->strides[k]) > 1) return false;
        for (uint32_t k = 0; a->inst != NULL && k < a->inst->predicate_count; k++)
            found |= !weft_expr_uses(t->exprs, a->inst->predicates[k], variable);
    }
    return found;
}

/* Whether no load jumps, and the last range alone is long enough for the lanes or decides less. */
static bool is_needless(const weft_tiling *t)
{
    return t->staged_count == 0 && (has_long_rows(t) || has_row_predicates(t));
}

/* ---- as a move ---- */

static weft_tile_part part_of(const weft_tiling *t, uint32_t axis)
{
    weft_tile_part part = {t->axes[axis].of, 0};
    for (uint32_t i = t->range_count; i < t->axis_count; i++)
        part.part += t->axes[i].of == part.range && (axis < t->range_count || i < axis);
    return part;
}

static void describe_list(const weft_tiling *t, const weft_tile_axes *list, weft_tile_parts *out_parts)
{
    out_parts->count = list->count;
    for (uint32_t i = 0; i < list->count; i++) out_parts->items[i] = part_of(t, list->items[i]);
}

static const weft_tile_plan *describe(const weft_tiling *t)
{
    weft_tile_plan *tile = weft_arena_allocate(&t->kernel->arena, sizeof *tile);
    if (tile == NULL) return NULL;
    tile->cut_count = t->axis_count - t->range_count;
    for (uint32_t i = 0; i < tile->cut_count; i++) {
        const weft_tile_axis *cut = &t->axes[t->range_count + i];
        tile->cuts[i] = (weft_tile_cut){cut->of, cut->extent};
    }
    describe_list(t, &t->lanes, &tile->lanes);
    describe_list(t, &t->rows, &tile->rows);
    tile->read_count = 0;
    for (uint32_t i = t->store_count; i < t->access_count; i++) {
        const weft_tile_access *a = &t->accesses[i];
        if (!a->staged) continue;
        tile->reads[tile->read_count].load = (weft_inst_id)(a->inst - t->kernel->insts);
        describe_list(t, &a->run, &tile->reads[tile->read_count++].run);
    }
    return tile;
}

weft_status *weft_kernel_find_tile(weft_kernel *kernel, const weft_machine *machine, uint32_t width, uint32_t unroll,
                                   bool needless, const weft_tile_plan **out_tile)
{
    int64_t line = machine->line_bytes, local = (int64_t)machine->cache_bytes[0] / 2;
    weft_tiling *t;
    bool found = false;
    *out_tile = NULL;
    WEFT_TRY(weft_tiling_create(kernel, &t));
    t->machine = machine;
    t->line_bytes = line;
    t->local_bytes = local < WEFT_LOCAL_BYTES ? local : WEFT_LOCAL_BYTES;
    t->width = width;
    t->unroll = unroll;
    /* A run is two cache lines at best, half a line at worst. Where an axis has no part that fits, it may be half a
     * line on one side alone, unless rows are as long. */
    for (int64_t bytes = 2 * line; bytes >= line / 2 && !found; bytes /= 2) found = find_tile(t, bytes, bytes);
    if (!found && has_tiny_rows(t)) found = find_uneven_tile(t);
    if (!found || (!needless && is_needless(t))) return NULL;
    *out_tile = describe(t);
    return *out_tile == NULL ? weft_status_out_of_memory() : NULL;
}
