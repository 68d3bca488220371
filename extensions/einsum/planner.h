/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLANNER_H
#define EINSUM_PLANNER_H
/*
 * The settings of AUTO, and their text, which a node keeps: the objective (time, flops, size, write, combo), then what
 * differs from the default, as in "flops seed=7 moves=100000 budget=500000000 limit=1048576 machine=1,2,3,4,5,6".
 * Nothing at all is "time". All numbers are whole, so that the text holds them exactly.
 */
#include "memory.h"
#include "plan/stop.h"

typedef struct einsum_planner {
    weft_einsum_minimize minimize;
    uint64_t seed, moves; /* moves 0: by the time that contracting takes */
    uint64_t budget;      /* nanoseconds; 0: moves count */
    uint64_t limit;       /* bytes of intermediates that live at once; 0: any */
    uint64_t
        machine[WEFT_MACHINE_RATES + 2]; /* rates, bytes in a second, picoseconds of overhead; all 0: the default */
    /* Not in the text: */
    size_t threads; /* 0: one for each processor */
    einsum_cancel cancel;
    const weft_einsum_watch *watch; /* may be NULL */
} einsum_planner;

weft_status *einsum_planner_from_options(const einsum_arena *arena, const weft_einsum_options *options,
                                         einsum_planner *out_planner) WEFT_MUST_USE;
/* Whether its text may be left out. */
bool einsum_planner_is_default(const einsum_planner *planner);
/* Failure shows in `text`. */
void einsum_planner_print(const einsum_planner *planner, einsum_text *text);
weft_status *einsum_planner_parse(const einsum_arena *arena, const char *text,
                                  einsum_planner *out_planner) WEFT_MUST_USE;

/* CANCELLED, if it is. */
weft_status *einsum_planner_check(const weft_allocator *allocator, const einsum_planner *planner) WEFT_MUST_USE;

/* A number of bytes for a sentence, also where no double holds it. */
typedef struct einsum_bytes_text {
    char text[32];
} einsum_bytes_text;

einsum_bytes_text einsum_planner_print_bytes(double log2_bytes);

/* OVER_LIMIT for a limit in bytes, and a printf-style clause that says why. */
weft_status *einsum_planner_over_limit(const weft_allocator *allocator, uint64_t limit, const char *format,
                                       ...) WEFT_MUST_USE WEFT_FORMAT(3, 4);

/*
 * The limit given to the planner, since programs need more memory than it counts: less from one try to the next, half
 * where a try took as much as the one before, and where nothing is found for less the mean of both. After some tries
 * copies of operands are counted as well, all of them, from a multiple of the limit down: few are made.
 */
typedef struct einsum_room {
    uint64_t limit;
    uint64_t bytes;     /* for the next try */
    uint64_t low, high; /* nothing is found for `low`, what is found for `high` takes too much */
    double last;        /* log2_over of the last try that found something */
    int tries;
    bool copies; /* count in the next try */
} einsum_room;

einsum_room einsum_room_start(uint64_t limit);
/* Notes a try, which took 2^log2_over of the limit, INFINITY: nothing was found. False where that is the end. */
bool einsum_room_lower(einsum_room *room, double log2_over);

/* How steps on elements of `dtype` are compared for `minimize`, which need not be the planner's own. */
einsum_score einsum_planner_score(const einsum_planner *planner, weft_einsum_minimize minimize, weft_dtype dtype);
#endif
