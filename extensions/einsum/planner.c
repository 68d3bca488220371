/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"
#include "plain.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const objectives[] = {[WEFT_EINSUM_TIME] = "time",
                                         [WEFT_EINSUM_FLOPS] = "flops",
                                         [WEFT_EINSUM_SIZE] = "size",
                                         [WEFT_EINSUM_WRITE] = "write",
                                         [WEFT_EINSUM_COMBO] = "combo"};
enum { OBJECTIVES = sizeof objectives / sizeof *objectives, NUMBERS = WEFT_MACHINE_RATES + 2 };

static const double most_seconds = 1e9, combo = 64;

/* ---- from options ---- */

static weft_status *refuse(const einsum_arena *arena, const char *fault)
{
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum", "einsum: %s", fault);
}

static weft_status *refuse_budget(const einsum_arena *arena, double seconds)
{
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: time_budget is %.17g, not from 0 to 1e9 seconds", seconds);
}

static weft_status *check_machine(const einsum_arena *arena, const weft_machine *machine)
{
    weft_status *status = weft_machine_check(machine);
    if (status == NULL || weft_status_code(status) != WEFT_INVALID_ARGUMENT) return status;
    weft_status *named = refuse(arena, weft_status_message(status));
    weft_status_destroy(status);
    return named;
}

static void fill_machine(const weft_machine *machine, uint64_t *out_numbers)
{
    for (size_t i = 0; i < WEFT_MACHINE_RATES; i++) out_numbers[i] = (uint64_t)machine->product_rates[i];
    out_numbers[WEFT_MACHINE_RATES] = (uint64_t)machine->bandwidth;
    out_numbers[WEFT_MACHINE_RATES + 1] = (uint64_t)(machine->dispatch_seconds * 1e12);
}

/* The floating-point options: calls rarely have any, and are then spared the cost of switching the environment. */
static EINSUM_PLAIN_FUNCTION(weft_status *, read_floats,
                             (const einsum_arena *arena, const weft_einsum_options *options,
                              einsum_planner *out_planner),
                             (arena, options, out_planner))
{
    double seconds = options->time_budget;
    if (!(seconds >= 0 && seconds <= most_seconds)) return refuse_budget(arena, seconds);
    if (seconds > 0 && options->moves > 0) return refuse(arena, "time_budget and moves exclude each other");
    if (options->machine != NULL) WEFT_TRY(check_machine(arena, options->machine));
    out_planner->budget = (uint64_t)ceil(seconds * 1e9);
    if (options->machine != NULL) fill_machine(options->machine, out_planner->machine);
    return NULL;
}

weft_status *einsum_planner_from_options(const einsum_arena *arena, const weft_einsum_options *options,
                                         einsum_planner *out_planner)
{
    if ((unsigned)options->minimize >= OBJECTIVES) return refuse(arena, "minimize is not a weft_einsum_minimize");
    if (options->watch != NULL && options->watch->progress == NULL)
        return refuse(arena, "progress of the watch is NULL");
    *out_planner = (einsum_planner){.minimize = options->minimize,
                                    .seed = options->seed,
                                    .moves = options->moves,
                                    .limit = options->memory_limit,
                                    .threads = options->threads,
                                    .cancel = {.flag = options->cancelled},
                                    .watch = options->watch};
    return options->time_budget == 0 && options->machine == NULL ? NULL : read_floats(arena, options, out_planner);
}

/* ---- text ---- */

bool einsum_planner_is_default(const einsum_planner *planner)
{
    return planner->minimize == WEFT_EINSUM_TIME && planner->seed == 0 && planner->moves == 0 && planner->budget == 0 &&
           planner->limit == 0 && planner->machine[0] == 0;
}

static void print_number(const char *name, uint64_t number, einsum_text *text)
{
    if (number != 0) einsum_text_print(text, " %s=%" PRIu64, name, number);
}

void einsum_planner_print(const einsum_planner *planner, einsum_text *text)
{
    einsum_text_print(text, "%s", objectives[planner->minimize]);
    print_number("seed", planner->seed, text);
    print_number("moves", planner->moves, text);
    print_number("budget", planner->budget, text);
    print_number("limit", planner->limit, text);
    if (planner->machine[0] == 0) return;
    for (size_t i = 0; i < NUMBERS; i++)
        einsum_text_print(text, "%s%" PRIu64, i == 0 ? " machine=" : ",", planner->machine[i]);
}

/* Takes `word` from the text at `at` if it is there. */
static bool take(const char **at, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0) return false;
    *at += size;
    return true;
}

static bool take_number(const char **at, uint64_t *out_number)
{
    const char *begin = *at;
    *out_number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (__builtin_mul_overflow(*out_number, 10, out_number) ||
            __builtin_add_overflow(*out_number, digit, out_number))
            return false;
    }
    return *at > begin;
}

static bool take_machine(const char **at, uint64_t *out_numbers)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if ((i > 0 && !take(at, ",")) || !take_number(at, &out_numbers[i])) return false;
    for (size_t i = 0; i + 1 < NUMBERS; i++)
        if (out_numbers[i] == 0) return false;
    return true;
}

static bool take_setting(const char **at, einsum_planner *planner)
{
    if (take(at, " seed=")) return take_number(at, &planner->seed);
    if (take(at, " moves=")) return take_number(at, &planner->moves);
    if (take(at, " budget=")) return take_number(at, &planner->budget);
    if (take(at, " limit=")) return take_number(at, &planner->limit);
    return take(at, " machine=") && take_machine(at, planner->machine);
}

static bool take_objective(const char **at, weft_einsum_minimize *out_minimize)
{
    size_t i = 0;
    while (i < OBJECTIVES && !take(at, objectives[i])) i++;
    *out_minimize = (weft_einsum_minimize)i;
    return i < OBJECTIVES;
}

weft_status *einsum_planner_parse(const einsum_arena *arena, const char *text, einsum_planner *out_planner)
{
    const char *at = text;
    *out_planner = (einsum_planner){.minimize = WEFT_EINSUM_TIME};
    if (*at == '\0') return NULL;
    bool well = take_objective(&at, &out_planner->minimize);
    while (well && *at != '\0') well = take_setting(&at, out_planner);
    if (well) return NULL;
    return weft_status_create(
        arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
        "einsum: the planner \"%.100s\" is not an objective (time, flops, size, write, combo) and "
        "settings such as seed=7; it cannot be read from \"%.40s\" on",
        text, at);
}

weft_status *einsum_planner_check(const weft_allocator *allocator, const einsum_planner *planner)
{
    if (!einsum_stop_cancelled(planner->cancel)) return NULL;
    return weft_status_create(allocator, WEFT_CANCELLED, "weft_einsum",
                              "einsum: the search for an order was cancelled");
}

/* ---- limits ---- */

einsum_bytes_text einsum_planner_print_bytes(double log2_bytes)
{
    enum { LARGEST = 1000 }; /* that a double holds */
    einsum_bytes_text bytes;
    if (log2_bytes > LARGEST) snprintf(bytes.text, sizeof bytes.text, "2^%.1f", log2_bytes);
    else snprintf(bytes.text, sizeof bytes.text, "%.10g", exp2(log2_bytes));
    return bytes;
}

weft_status *einsum_planner_over_limit(const weft_allocator *allocator, uint64_t limit, const char *format, ...)
{
    char clause[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(clause, sizeof clause, format, arguments);
    va_end(arguments);
    return weft_status_create(allocator, WEFT_OVER_LIMIT, "weft_einsum",
                              "einsum: the memory limit is %" PRIu64 " byte%s, but %s", limit, einsum_plural(limit),
                              clause);
}

/* ---- rooms ---- */

einsum_room einsum_room_start(uint64_t limit)
{
    return (einsum_room){.limit = limit, .bytes = limit, .high = limit};
}

/* Less than a try that found something had. */
static uint64_t less_room(const einsum_room *room, double log2_over)
{
    static const double log2_less = -0.044, log2_least = -1; /* parts of the room, from one try to the next */
    double part = fmax((log2_less - log2_over) * (room->tries + 1), log2_least);
    return (uint64_t)((double)room->bytes * exp2(part));
}

bool einsum_room_lower(einsum_room *room, double log2_over)
{
    enum { TRIES = 8, MANY = 64 };
    bool found = log2_over < INFINITY, again = log2_over == room->last;
    *(found ? &room->high : &room->low) = room->bytes;
    uint64_t middle = room->low + (room->high - room->low) / 2;
    uint64_t less = found && !again ? less_room(room, log2_over) : middle;
    room->bytes = less > room->low ? less : middle;
    if (found) room->last = log2_over;
    if (++room->tries < TRIES && room->low < room->bytes && room->bytes < room->high) return true;
    if (room->copies) return false;
    uint64_t high = room->limit < UINT64_MAX / MANY ? room->limit * MANY : UINT64_MAX;
    *room = (einsum_room){.limit = room->limit, .bytes = high, .high = high, .copies = true};
    return true;
}

/* ---- scores ---- */

einsum_score einsum_planner_score(const einsum_planner *planner, weft_einsum_minimize minimize, weft_dtype dtype)
{
    uint64_t numbers[NUMBERS];
    if (planner->machine[0] != 0) memcpy(numbers, planner->machine, sizeof numbers);
    else fill_machine(weft_machine_reference(), numbers);
    double bytes = log2((double)weft_dtype_size(dtype));
    bool is_complex = dtype == WEFT_C64 || dtype == WEFT_C128;
    einsum_score score = {.objective = minimize,
                          .log2_combo = log2(combo),
                          .log2_slowness = fmax(bytes - 2, 0) + is_complex,
                          .log2_bytes = bytes};
    for (size_t i = 0; i < WEFT_MACHINE_RATES; i++) score.machine.log2_rates[i] = log2((double)numbers[i]);
    score.machine.log2_bandwidth = log2((double)numbers[WEFT_MACHINE_RATES]);
    score.machine.log2_overhead = log2((double)numbers[WEFT_MACHINE_RATES + 1]) - log2(1e12);
    return score;
}
