/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "lib/build/schedules.h"
#include "lib/loop/inst.h"
#include "lib/schedule/candidates.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/program/program.h"

/*
 * Two executors run the program in turns: one with the schedules of the rules, one in which every kernel has the next
 * of its other candidates, as long as it has some. A profile tells what each kernel takes in both, so that one round
 * tries a candidate of every kernel. At the end the best ones of all run together, beside the rules, several times, and
 * those that are faster each time are kept.
 */

enum { RULED, TRIED, SIDES };

/* Runs of each side in a round: enough for the least of them to mean something, but no more than so many seconds. */
enum { LEAST_RUNS = 4, MOST_RUNS = 20 };
#define ROUND_NS 100000000
/* What a schedule has to gain to take the place of another: less is noise. */
#define LEAST_GAIN 0.97
/* Rounds in which a schedule has to gain that much: in one of them it may by chance. The time for them is kept. */
enum { CONFIRMATIONS = 3 };
#define DEFAULT_SECONDS 10

typedef struct tuned_kernel {
    uint64_t key;
    weft_candidates candidates;
    uint32_t used, best; /* candidates; 0: that of the rules */
    double ratio;        /* of the best one to the rules */
    double now[SIDES];   /* nanoseconds of the run that goes on */
    double least[SIDES]; /* of the runs of a round */
} tuned_kernel;

typedef struct tuning tuning;

typedef struct side {
    tuning *owner;
    uint32_t number;
    weft_schedules *schedules;
    weft_executor *executor;
    weft_array **outputs; /* of its first run, written again by others */
} side;

struct tuning {
    const weft_allocator *allocator;
    weft_program *program;
    const weft_run *run;
    side sides[SIDES];
    weft_arena arena;
    weft_map kernels; /* tuned_kernel by key */
    tuned_kernel **list;
    uint32_t count;
    weft_tune_report report;
};

/* ---- kernels ---- */

static weft_status *add_kernel(tuning *t, uint64_t key, const weft_kernel *kernel, const weft_machine *machine,
                               tuned_kernel **out_kernel)
{
    tuned_kernel *made = weft_arena_allocate(&t->arena, sizeof *made);
    tuned_kernel **list = weft_loop_grow(&t->arena, t->list, t->count, sizeof *list);
    if (made == NULL || list == NULL) return weft_status_out_of_memory();
    *made = (tuned_kernel){.key = key, .ratio = 1, .least = {INFINITY, INFINITY}};
    t->list = list;
    WEFT_TRY(weft_candidates_init(t->allocator, kernel, machine, &made->candidates));
    if (!weft_map_insert(&t->kernels, &key, sizeof key, made)) {
        weft_candidates_finish(&made->candidates);
        return weft_status_out_of_memory();
    }
    t->list[t->count++] = made;
    *out_kernel = made;
    return NULL;
}

static weft_status *choose(void *self, uint64_t key, const weft_kernel *kernel, const weft_machine *machine,
                           const char **out_moves)
{
    side *s = self;
    tuned_kernel *found = weft_map_find(&s->owner->kernels, &key, sizeof key);
    if (found == NULL) WEFT_TRY(add_kernel(s->owner, key, kernel, machine, &found));
    *out_moves = s->number == RULED ? NULL : found->candidates.items[found->used].text;
    return NULL;
}

static void record(void *self, const weft_profile_record *record)
{
    side *s = self;
    tuned_kernel *kernel = weft_map_find(&s->owner->kernels, &record->kernel, sizeof record->kernel);
    if (kernel != NULL) kernel->now[s->number] += (double)(record->end_ns - record->begin_ns);
}

/* ---- runs ---- */

static weft_status *run_side(tuning *t, uint32_t number)
{
    side *s = &t->sides[number];
    const weft_profile profile = {s, record};
    weft_run run = *t->run;
    run.output_count = weft_program_output_count(t->program);
    run.outputs = s->outputs;
    run.named_outputs = (weft_named_arrays){0};
    run.donated = NULL;
    run.profile = &profile;
    run.report = NULL;
    run.queue = NULL;
    run.wait_count = 0;
    run.waits = NULL;
    run.signal = NULL;
    for (uint32_t i = 0; i < t->count; i++) t->list[i]->now[number] = 0;
    WEFT_TRY(weft_executor_run(s->executor, t->program, &run));
    for (uint32_t i = 0; i < t->count; i++)
        if (t->list[i]->now[number] < t->list[i]->least[number]) t->list[i]->least[number] = t->list[i]->now[number];
    return NULL;
}

/* Whether two numbers have the same bits, except for sign and payload of a NaN, which are not specified. */
static bool is_same(weft_dtype dtype, const unsigned char *a, const unsigned char *b)
{
    double x, y, imaginary;
    if (memcmp(a, b, weft_dtype_size(dtype)) == 0) return true;
    weft_dtype_load(dtype, a, &x, &imaginary);
    weft_dtype_load(dtype, b, &y, &imaginary);
    return isnan(x) && isnan(y);
}

static bool are_equal(const weft_array *a, const weft_array *b)
{
    size_t size = (size_t)weft_array_count(a) * weft_dtype_size(weft_array_dtype(a));
    const unsigned char *x = weft_array_data(a), *y = weft_array_data(b);
    if (weft_array_count(a) != weft_array_count(b)) return false;
    if (size == 0 || memcmp(x, y, size) == 0) return true;
    weft_dtype part = weft_dtype_component(weft_array_dtype(a));
    bool equal = true;
    for (size_t i = 0; i < size && equal; i += weft_dtype_size(part)) equal = is_same(part, x + i, y + i);
    return equal;
}

static weft_status *compare_outputs(const tuning *t)
{
    for (size_t i = 0; i < weft_program_output_count(t->program); i++)
        if (!are_equal(t->sides[RULED].outputs[i], t->sides[TRIED].outputs[i]))
            return weft_status_create(t->allocator, WEFT_INTERNAL, "weft_tune",
                                      "output \"%s\" has other bits with other schedules",
                                      weft_program_output_name(t->program, i));
    return NULL;
}

/* Runs both sides in turns: each kernel's least times. The first run of each, which may compile, does not count. */
static weft_status *run_round(tuning *t)
{
    WEFT_TRY(run_side(t, RULED));
    WEFT_TRY(run_side(t, TRIED));
    WEFT_TRY(compare_outputs(t));
    for (uint32_t i = 0; i < t->count; i++) t->list[i]->least[RULED] = t->list[i]->least[TRIED] = INFINITY;
    int64_t begin = weft_clock_now();
    for (int i = 0; i < MOST_RUNS && (i < LEAST_RUNS || weft_clock_now() - begin < ROUND_NS); i++) {
        WEFT_TRY(run_side(t, RULED));
        WEFT_TRY(run_side(t, TRIED));
    }
    return NULL;
}

/* ---- rounds ---- */

static double ratio_of(const tuned_kernel *kernel)
{
    return kernel->least[RULED] > 0 && kernel->least[RULED] < INFINITY ? kernel->least[TRIED] / kernel->least[RULED]
                                                                       : 1;
}

/* Every kernel gets candidate `number`, or that of the rules where it has none; false: none has one. */
static bool use_candidates(tuning *t, uint32_t number)
{
    bool any = false;
    for (uint32_t i = 0; i < t->count; i++) {
        tuned_kernel *kernel = t->list[i];
        kernel->used = number < kernel->candidates.count ? number : 0;
        any |= kernel->used != 0;
        t->report.tried += kernel->used != 0;
    }
    return any;
}

/* Whether any kernel has one that is faster than that of the rules. */
static bool take_best(tuning *t)
{
    bool any = false;
    for (uint32_t i = 0; i < t->count; i++) {
        tuned_kernel *kernel = t->list[i];
        double ratio = ratio_of(kernel);
        if (kernel->used != 0 && ratio < kernel->ratio && ratio < LEAST_GAIN) {
            kernel->best = kernel->used;
            kernel->ratio = ratio;
        }
        any |= kernel->best != 0;
    }
    return any;
}

static weft_status *try_candidates(tuning *t, int64_t deadline, bool *out_found)
{
    int64_t kept = 0;
    WEFT_TRY(run_side(t, RULED));
    for (uint32_t number = 1; weft_clock_now() < deadline - kept && use_candidates(t, number); number++) {
        int64_t begin = weft_clock_now();
        weft_executor_clear(t->sides[TRIED].executor);
        WEFT_TRY(run_round(t));
        *out_found = take_best(t);
        if (*out_found) kept = CONFIRMATIONS * (weft_clock_now() - begin);
    }
    return NULL;
}

/* The best ones together, again and again: one that once gains too little was noise, and is dropped. */
static weft_status *confirm_best(tuning *t)
{
    bool any = true;
    for (uint32_t i = 0; i < t->count; i++) t->list[i]->used = t->list[i]->best;
    weft_executor_clear(t->sides[TRIED].executor);
    for (int round = 0; round < CONFIRMATIONS && any; round++) {
        WEFT_TRY(run_round(t));
        any = false;
        for (uint32_t i = 0; i < t->count; i++) {
            tuned_kernel *kernel = t->list[i];
            if (ratio_of(kernel) >= LEAST_GAIN) kernel->best = 0;
            any |= kernel->best != 0;
        }
    }
    return NULL;
}

static weft_status *keep_best(tuning *t, weft_schedules *schedules)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const tuned_kernel *kernel = t->list[i];
        bool better = kernel->best != 0;
        if (kernel->least[RULED] < INFINITY) {
            t->report.ruled_ns += kernel->least[RULED];
            t->report.best_ns += kernel->least[better ? TRIED : RULED];
        }
        t->report.improved += better;
        if (better) WEFT_TRY(weft_schedules_keep(schedules, kernel->key, kernel->candidates.items[kernel->best].text));
    }
    t->report.kernels = t->count;
    return NULL;
}

/* ---- both sides ---- */

static weft_status *side_init(tuning *t, uint32_t number, const weft_tune_options *options)
{
    side *s = &t->sides[number];
    weft_executor_options executor = options->executor;
    s->owner = t;
    s->number = number;
    WEFT_TRY(weft_schedules_create(t->allocator, &s->schedules));
    s->schedules->choose = choose;
    s->schedules->self = s;
    executor.schedules = s->schedules;
    executor.specialize_after = WEFT_SPECIALIZE_NEVER; /* what is measured stays the same kernels */
    s->outputs = weft_allocate_zeroed(t->allocator, (weft_program_output_count(t->program) + 1) * sizeof *s->outputs);
    if (s->outputs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_executor_create_standard(&executor, &s->executor));
    for (size_t i = 0; i < t->program->family_count; i++)
        WEFT_TRY(weft_executor_register_extension(s->executor, t->program->families[i]));
    return NULL;
}

static void side_finish(tuning *t, side *s)
{
    size_t count = weft_program_output_count(t->program);
    for (size_t i = 0; s->outputs != NULL && i < count; i++) weft_array_release(s->outputs[i]);
    if (s->outputs != NULL) weft_free(t->allocator, s->outputs, (count + 1) * sizeof *s->outputs);
    if (s->executor != NULL) weft_executor_destroy(s->executor);
    weft_schedules_destroy(s->schedules);
}

static weft_status *tune(tuning *t, const weft_tune_options *options, weft_schedules *schedules)
{
    double seconds = options->seconds == 0 ? DEFAULT_SECONDS : options->seconds;
    int64_t deadline = weft_clock_now() + (int64_t)(1e9 * seconds);
    for (uint32_t i = 0; i < SIDES; i++) WEFT_TRY(side_init(t, i, options));
    bool found = false;
    WEFT_TRY(try_candidates(t, deadline, &found));
    if (found) WEFT_TRY(confirm_best(t));
    return keep_best(t, schedules);
}

weft_status *weft_tune(weft_program *program, const weft_run *run, const weft_tune_options *options,
                       weft_schedules *schedules, weft_tune_report *out_report)
{
    const weft_tune_options defaults = {0};
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(run);
    WEFT_REQUIRE(schedules);
    if (options == NULL) options = &defaults;
    if (!(options->seconds >= 0 && options->seconds <= 1e9))
        return weft_status_create(schedules->allocator, WEFT_INVALID_ARGUMENT, "weft_tune",
                                  "%g is no number of seconds from 0 to 1e9", options->seconds);
    tuning t = {.allocator = weft_allocator_or_default(options->executor.allocator), .program = program, .run = run};
    weft_arena_init(&t.arena, t.allocator);
    weft_map_init(&t.kernels, t.allocator);
    weft_status *status = tune(&t, options, schedules);
    if (out_report != NULL) *out_report = t.report;
    for (uint32_t i = 0; i < SIDES; i++) side_finish(&t, &t.sides[i]);
    for (uint32_t i = 0; i < t.count; i++) weft_candidates_finish(&t.list[i]->candidates);
    weft_map_finish(&t.kernels, NULL);
    weft_arena_finish(&t.arena);
    return status;
}
