/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of schedules; the grammar is in move.h. */
#include <inttypes.h>
#include <string.h>
#include "lib/schedule/move.h"
#include "lib/text/text.h"

static const char *const names[] = {
    [WEFT_MOVE_FUSE] = "fuse",
    [WEFT_MOVE_SPLIT] = "split",
    [WEFT_MOVE_REORDER] = "reorder",
    [WEFT_MOVE_SINK] = "sink",
    [WEFT_MOVE_JAM] = "jam",
    [WEFT_MOVE_LANES] = "lanes",
    [WEFT_MOVE_TILE] = "tile",
    [WEFT_MOVE_TRANSPOSE] = "transpose",
    [WEFT_MOVE_SEAMS] = "seams",
    [WEFT_MOVE_PERIODS] = "periods",
    [WEFT_MOVE_PARTS] = "parts",
    [WEFT_MOVE_SWEEP] = "sweep",
    [WEFT_MOVE_INTERLEAVE] = "interleave",
    [WEFT_MOVE_FLATTEN] = "flatten",
    [WEFT_MOVE_SCAN] = "scan",
};

/* ---- printing ---- */

static uint32_t count_cuts(const weft_tile_plan *tile, uint32_t range)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tile->cut_count; i++) count += tile->cuts[i].range == range;
    return count;
}

static void print_parts(const weft_tile_plan *tile, const weft_tile_parts *parts, weft_bytes *out_text)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        weft_bytes_print(out_text, " i%" PRIu32, parts->items[i].range);
        if (count_cuts(tile, parts->items[i].range) > 0 || parts->items[i].part > 0)
            weft_bytes_print(out_text, ".%" PRIu32, parts->items[i].part);
    }
}

static void print_tile(const weft_tile_plan *tile, weft_bytes *out_text)
{
    for (uint32_t i = 0; i < tile->cut_count; i++)
        weft_bytes_print(out_text, " cut i%" PRIu32 " %" PRId64 ",", tile->cuts[i].range, tile->cuts[i].extent);
    if (tile->lanes.count > 0) weft_bytes_print(out_text, " lanes");
    print_parts(tile, &tile->lanes, out_text);
    if (tile->rows.count > 0) weft_bytes_print(out_text, "%s rows", tile->lanes.count > 0 ? "," : "");
    print_parts(tile, &tile->rows, out_text);
    for (uint32_t i = 0; i < tile->read_count; i++) {
        weft_bytes_print(out_text, ", read %%%" PRIu32, tile->reads[i].load);
        print_parts(tile, &tile->reads[i].run, out_text);
    }
}

void weft_move_print(const weft_move *move, weft_bytes *out_text)
{
    weft_bytes_print(out_text, "%s", names[move->kind]);
    switch (move->kind) {
    case WEFT_MOVE_FUSE: weft_bytes_print(out_text, " i%" PRIu32 " i%" PRIu32, move->range, move->range + 1); break;
    case WEFT_MOVE_REORDER: weft_bytes_print(out_text, " i%" PRIu32 " i%" PRIu32, move->range, move->to); break;
    case WEFT_MOVE_SINK: weft_bytes_print(out_text, " i%" PRIu32 " %" PRIu32, move->range, move->to); break;
    case WEFT_MOVE_SPLIT:
    case WEFT_MOVE_JAM: weft_bytes_print(out_text, " i%" PRIu32 " %" PRId64, move->range, move->factor); break;
    case WEFT_MOVE_LANES:
    case WEFT_MOVE_TRANSPOSE:
        weft_bytes_print(out_text, " i%" PRIu32 " %" PRIu32 " x %" PRIu32, move->range, move->width, move->unroll);
        if (move->sides.along != 0)
            weft_bytes_print(out_text, " by %" PRIu32 " x %" PRIu32, move->sides.along, move->sides.across);
        break;
    case WEFT_MOVE_INTERLEAVE: break;
    case WEFT_MOVE_PARTS:
    case WEFT_MOVE_SEAMS: weft_bytes_print(out_text, " %" PRId64, move->factor); break;
    case WEFT_MOVE_PERIODS:
    case WEFT_MOVE_SWEEP: weft_bytes_print(out_text, " %" PRIu32 " %" PRId64, move->width, move->factor); break;
    case WEFT_MOVE_FLATTEN: break;
    case WEFT_MOVE_SCAN: weft_bytes_print(out_text, " %" PRIu32 " x %" PRIu32, move->width, move->unroll); break;
    case WEFT_MOVE_TILE:
        weft_bytes_print(out_text, " %" PRIu32 " x %" PRIu32, move->width, move->unroll);
        print_tile(move->tile, out_text);
        break;
    }
}

weft_status *weft_schedule_print(const weft_schedule *schedule, weft_bytes *out_text)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (i > 0) weft_bytes_append(out_text, "; ", 2);
        weft_move_print(&schedule->moves[i], out_text);
    }
    return weft_bytes_status(out_text);
}

/* ---- parsing ---- */

static weft_status *take_number(weft_lexer *lexer, const char *what, uint32_t *out_number)
{
    const char *at = lexer->token.start;
    int64_t value;
    WEFT_TRY(weft_lexer_take_integer(lexer, what, &value));
    if (value < 0 || value > UINT32_MAX)
        return weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "%s %" PRId64 " does not fit 32 bits", what, value);
    *out_number = (uint32_t)value;
    return NULL;
}

/* Digits up to `end`, nine at most; NULL: there are none. */
static const char *read_digits(const char *at, const char *end, uint32_t *out_number)
{
    const char *start = at;
    for (*out_number = 0; at < end && *at >= '0' && *at <= '9' && at - start < 9; at++)
        *out_number = 10 * *out_number + (uint32_t)(*at - '0');
    return at == start ? NULL : at;
}

/* "i12", or "i12.3" where `out_part` is not NULL. */
static weft_status *take_range(weft_lexer *lexer, uint32_t *out_range, uint32_t *out_part)
{
    const weft_token token = lexer->token;
    const char *at = token.start, *end = token.start + token.length;
    bool fits = token.kind == WEFT_TOKEN_IDENTIFIER && *at == 'i' && (at = read_digits(at + 1, end, out_range)) != NULL;
    if (out_part != NULL) *out_part = 0;
    if (fits && out_part != NULL && at < end && *at == '.') at = read_digits(at + 1, end, out_part);
    if (!fits || at != end) return weft_lexer_unexpected(lexer, "a range, as in i0");
    weft_lexer_advance(lexer);
    return NULL;
}

static weft_status *take_load(weft_lexer *lexer, weft_inst_id *out_load)
{
    weft_token token = lexer->token;
    const char *end = token.start + token.length;
    if (token.kind != WEFT_TOKEN_VALUE || read_digits(token.start + 1, end, out_load) != end)
        return weft_lexer_unexpected(lexer, "a load, as in %0");
    weft_lexer_advance(lexer);
    return NULL;
}

static weft_status *take_vectors(weft_lexer *lexer, weft_move *move)
{
    WEFT_TRY(take_number(lexer, "a width", &move->width));
    WEFT_TRY(weft_lexer_expect(lexer, "x"));
    return take_number(lexer, "a number of vectors", &move->unroll);
}

static weft_status *take_side(weft_lexer *lexer, const char *what, uint32_t *out_side)
{
    const char *at = lexer->token.start;
    WEFT_TRY(take_number(lexer, what, out_side));
    return *out_side > 0 ? NULL : weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "a tile has no elements");
}

static weft_status *take_transposition(weft_lexer *lexer, weft_move *move)
{
    WEFT_TRY(take_vectors(lexer, move));
    if (!weft_lexer_accept(lexer, "by")) return NULL;
    WEFT_TRY(take_side(lexer, "elements along the last range", &move->sides.along));
    WEFT_TRY(weft_lexer_expect(lexer, "x"));
    return take_side(lexer, "elements across it", &move->sides.across);
}

static bool at_range(const weft_lexer *lexer)
{
    return lexer->token.kind == WEFT_TOKEN_IDENTIFIER && lexer->token.start[0] == 'i';
}

static weft_status *refuse_more(weft_lexer *lexer, const char *what, size_t most)
{
    return weft_lexer_error(lexer, lexer->token.start, WEFT_PARSE_ERROR, "a tile has at most %zu %s", most, what);
}

static weft_status *take_parts(weft_lexer *lexer, weft_tile_parts *out_parts)
{
    const size_t most = sizeof out_parts->items / sizeof *out_parts->items;
    do {
        weft_tile_part *part = &out_parts->items[out_parts->count];
        if (out_parts->count == most) return refuse_more(lexer, "parts", most);
        WEFT_TRY(take_range(lexer, &part->range, &part->part));
        out_parts->count++;
    } while (at_range(lexer));
    return NULL;
}

static weft_status *take_tile_item(weft_lexer *lexer, weft_tile_plan *tile)
{
    if (weft_lexer_accept(lexer, "cut")) {
        weft_tile_cut *cut = &tile->cuts[tile->cut_count];
        if (tile->cut_count == WEFT_TILE_CUTS) return refuse_more(lexer, "cuts", WEFT_TILE_CUTS);
        tile->cut_count++;
        WEFT_TRY(take_range(lexer, &cut->range, NULL));
        return weft_lexer_take_integer(lexer, "the elements of a part", &cut->extent);
    }
    if (weft_lexer_accept(lexer, "lanes")) return take_parts(lexer, &tile->lanes);
    if (weft_lexer_accept(lexer, "rows")) return take_parts(lexer, &tile->rows);
    if (!weft_lexer_accept(lexer, "read")) return weft_lexer_unexpected(lexer, "cut, lanes, rows or read");
    if (tile->read_count == WEFT_TILE_READS) return refuse_more(lexer, "loads to read", WEFT_TILE_READS);
    uint32_t number = tile->read_count++;
    WEFT_TRY(take_load(lexer, &tile->reads[number].load));
    return take_parts(lexer, &tile->reads[number].run);
}

static weft_status *take_tile(weft_lexer *lexer, weft_arena *arena, weft_move *move)
{
    weft_tile_plan *tile = weft_arena_allocate(arena, sizeof *tile);
    if (tile == NULL) return weft_status_out_of_memory();
    memset(tile, 0, sizeof *tile);
    move->tile = tile;
    WEFT_TRY(take_vectors(lexer, move));
    do WEFT_TRY(take_tile_item(lexer, tile));
    while (weft_lexer_accept(lexer, ","));
    return NULL;
}

/* The ranges after the first one of a move that fuses. */
static weft_status *take_next_range(weft_lexer *lexer, const weft_move *move)
{
    const char *at = lexer->token.start;
    uint32_t next;
    WEFT_TRY(take_range(lexer, &next, NULL));
    if (next == move->range + 1) return NULL;
    return weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "a range is fused with the next one, i%" PRIu32,
                            move->range + 1);
}

static weft_status *take_move(weft_lexer *lexer, weft_arena *arena, weft_move *move)
{
    uint32_t kind = 0;
    while (kind < sizeof names / sizeof *names && !weft_lexer_at(lexer, names[kind])) kind++;
    if (kind == sizeof names / sizeof *names)
        return weft_lexer_unexpected(lexer, "fuse, split, reorder, sink, jam, lanes, transpose, seams, interleave, "
                                            "periods, parts, sweep, flatten, scan or tile");
    weft_lexer_advance(lexer);
    *move = (weft_move){.kind = (weft_move_kind)kind};
    switch (move->kind) {
    case WEFT_MOVE_TILE: return take_tile(lexer, arena, move);
    case WEFT_MOVE_INTERLEAVE:
    case WEFT_MOVE_FLATTEN: return NULL;
    case WEFT_MOVE_SCAN: return take_vectors(lexer, move);
    case WEFT_MOVE_PERIODS:
    case WEFT_MOVE_SWEEP: WEFT_TRY(take_number(lexer, "a width", &move->width)); break;
    case WEFT_MOVE_SEAMS:
    case WEFT_MOVE_PARTS: break;
    default: WEFT_TRY(take_range(lexer, &move->range, NULL)); break;
    }
    switch (move->kind) {
    case WEFT_MOVE_FUSE: return take_next_range(lexer, move);
    case WEFT_MOVE_REORDER: return take_range(lexer, &move->to, NULL);
    case WEFT_MOVE_SINK: return take_number(lexer, "a stage", &move->to);
    case WEFT_MOVE_JAM: return weft_lexer_take_integer(lexer, "a number of points", &move->factor);
    case WEFT_MOVE_PARTS: return weft_lexer_take_integer(lexer, "a number of parts", &move->factor);
    case WEFT_MOVE_LANES: return take_vectors(lexer, move);
    case WEFT_MOVE_TRANSPOSE: return take_transposition(lexer, move);
    default: return weft_lexer_take_integer(lexer, "the elements of a tile", &move->factor);
    }
}

weft_status *weft_schedule_parse(const char *name, const char *text, weft_schedule *out_schedule)
{
    weft_lexer lexer;
    weft_lexer_init(&lexer, NULL, name, text);
    while (lexer.token.kind != WEFT_TOKEN_END) {
        weft_move move;
        WEFT_TRY(take_move(&lexer, &out_schedule->arena, &move));
        WEFT_TRY(weft_schedule_add(out_schedule, &move));
        if (lexer.token.kind != WEFT_TOKEN_END) WEFT_TRY(weft_lexer_expect(&lexer, ";"));
    }
    return NULL;
}
