/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "runtime/base/memory.h"
#include "test/fake.h"
#include "test/rng.h"

/*
 * Steps that run side by side. Programs are tables of steps over i64 values, run by executors with and without threads
 * and, as the oracle, one after another on memory of their own. Run under the thread sanitizer too.
 */

enum {
    INPUTS = 2,
    OUTPUTS = 3,
    MOST_VALUES = 160,
    MOST_STEPS = 130,
    MOST_OPERANDS = 3,
    MOST_COUNT = 600,
    WORK = 1 << 20 /* as if a step took 30 us */
};

typedef enum step_kind { MIX, UPDATE, FOLD } step_kind;

/* value[target] = f(operands), elsewise combined with what it was (UPDATE), or so in each of `trips` iterations (FOLD).
 */
typedef struct test_step {
    step_kind kind;
    uint32_t target, operand_count, operands[MOST_OPERANDS];
    int64_t salt, trips;
    bool splits; /* over threads, by itself */
} test_step;

typedef struct test_program {
    int64_t counts[MOST_VALUES]; /* elements; values 0 .. INPUTS-1 are inputs, then outputs, then temporaries */
    uint32_t value_count;
    size_t step_count;
    test_step steps[MOST_STEPS];
    int64_t work;
} test_program;

static test_program subject;

/* ---- kernels ---- */

/* What a step does to element t; scalars: salt, elements of the target, whether it changes it, elements of operands. */
static int64_t mix(int64_t was, const int64_t *scalars, void *const *operands, size_t count, int64_t t)
{
    uint64_t sum = (uint64_t)scalars[0] + (uint64_t)t * 0x9e3779b97f4a7c15u + (scalars[2] ? (uint64_t)was : 0);
    for (size_t i = 0; i < count; i++) {
        const int64_t *data = operands[i];
        if (scalars[3 + i] > 0) sum = (sum ^ (uint64_t)data[t % scalars[3 + i]]) * 0xff51afd7ed558ccdu + (sum >> 29);
    }
    return (int64_t)sum;
}

static atomic_int waiting; /* steps that meet */
static volatile bool cancelled;

/* Two steps of this salt in different branches end only when both have begun. */
#define MEETS INT64_C(-1)
/* The data of this one are in error, and this one cancels the run. */
#define FAILS INT64_C(-2)
#define CANCELS INT64_C(-3)

static bool meet(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    atomic_fetch_add(&waiting, 1);
    for (int i = 0; i < 100000 && atomic_load(&waiting) < 2; i++) nanosleep(&pause, NULL);
    return atomic_load(&waiting) >= 2;
}

static void run_elements(const weft_kernel_frame *frame, size_t count, int64_t begin, int64_t end)
{
    int64_t *target = frame->buffers[0];
    const int64_t *scalars = frame->scalars;
    if (scalars[0] == MEETS) target[0] = meet();
    if (scalars[0] == CANCELS) __atomic_store_n(&cancelled, true, __ATOMIC_RELAXED);
    if (scalars[0] == FAILS) *frame->error = (weft_error_slot){.position = 0, .value = scalars[1], .site = 0};
    if (scalars[0] == MEETS) return;
    for (int64_t t = begin; t < end; t++) target[t] = mix(target[t], scalars, frame->buffers + 1, count, t);
}

/* All elements in one iteration, as a step that is not split; the number of operands is part of the function. */
#define WHOLE(count)                                                                                                   \
    static void whole_##count(const weft_kernel_frame *frame, int64_t begin, int64_t end)                              \
    {                                                                                                                  \
        if (begin < end) run_elements(frame, count, 0, frame->scalars[1]);                                             \
    }                                                                                                                  \
    static void split_##count(const weft_kernel_frame *frame, int64_t begin, int64_t end)                              \
    {                                                                                                                  \
        run_elements(frame, count, begin, end);                                                                        \
    }
WHOLE(0)
WHOLE(1)
WHOLE(2)
WHOLE(3)

static const weft_kernel_code whole[] = {
    {.function = whole_0}, {.function = whole_1}, {.function = whole_2}, {.function = whole_3}};
static const weft_kernel_code split[] = {
    {.function = split_0}, {.function = split_1}, {.function = split_2}, {.function = split_3}};
static const char *const sites[] = {"a step of %" PRId64 " elements fails at %" PRId64};

/* ---- the variant ---- */

static uint32_t slot_of(weft_variant *variant, int64_t value, weft_status **status)
{
    uint32_t slot = 0;
    if (*status == NULL) *status = weft_fake_value(variant, value, &slot);
    return slot;
}

static weft_status *add_kernel(weft_variant *variant, const test_step *step, const uint32_t *buffers)
{
    weft_status *status = NULL;
    int64_t count = subject.counts[step->target];
    uint32_t scalars[3 + MOST_OPERANDS] = {slot_of(variant, step->salt, &status), slot_of(variant, count, &status),
                                           slot_of(variant, step->kind == UPDATE, &status)};
    for (uint32_t i = 0; i < step->operand_count; i++)
        scalars[3 + i] = slot_of(variant, subject.counts[step->operands[i]], &status);
    bool splits = step->splits && step->salt >= 0;
    uint32_t iterations = slot_of(variant, splits ? count : count > 0, &status);
    uint32_t work = slot_of(variant, subject.work, &status);
    WEFT_TRY(status);
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_KERNEL,
                                      .name = "mix",
                                      .buffer_count = 1 + step->operand_count,
                                      .buffers = buffers,
                                      .written = 1,
                                      .scalar_count = 3 + step->operand_count,
                                      .scalars = scalars,
                                      .iterations = iterations,
                                      .work = work,
                                      .sites = sites},
                          (weft_resolved){.code = &(splits ? split : whole)[step->operand_count]});
}

/* Carries its first operand, which has the elements of the target; the others are read in each iteration. */
static weft_status *add_fold(weft_variant *variant, const test_step *step)
{
    uint32_t count, index, spare, trips;
    uint32_t result = step->target, initial = step->operands[0];
    weft_carried *carried = weft_arena_allocate(&variant->arena, sizeof *carried);
    if (carried == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_fake_value(variant, subject.counts[result], &count));
    WEFT_TRY(weft_fake_value(variant, step->trips, &trips));
    WEFT_TRY(weft_fake_temporary(variant, WEFT_I64, 1, &count, &spare));
    WEFT_TRY(weft_fake_temporary(variant, WEFT_I64, 0, &count, &index));
    uint32_t current = (uint32_t)variant->buffer_count, next = current + 1;
    variant->buffers[current] = variant->buffers[next] = variant->buffers[spare];
    variant->buffers[current].kind = variant->buffers[next].kind = WEFT_BUFFER_ALIAS;
    variant->buffer_count += 2;
    for (size_t i = 0; i < 2; i++) {
        weft_buffer *buffer = &variant->buffers[i == 0 ? initial : result];
        buffer->strides = NULL;
        buffer->bytes = variant->buffers[spare].bytes;
    }
    *carried = (weft_carried){initial, current, next, result, spare, false, false};
    uint32_t named[MOST_OPERANDS + 3] = {0}, used = 0;
    for (uint32_t i = 0; i < step->operand_count; i++) named[used++] = step->operands[i];
    named[used++] = spare;
    named[used++] = index;
    named[used++] = result;
    WEFT_TRY(weft_fake_step(variant,
                            (weft_step){.kind = WEFT_STEP_REGION,
                                        .name = "fold",
                                        .buffer_count = used,
                                        .buffers = named,
                                        .written = 1,
                                        .region = {.control = WEFT_CONTROL_FOLD,
                                                   .trips = trips,
                                                   .scalar = index,
                                                   .parts = {1, 0},
                                                   .carried_count = 1,
                                                   .carried = carried}},
                            (weft_resolved){0}));
    uint32_t buffers[1 + MOST_OPERANDS] = {next, current};
    for (uint32_t i = 1; i < step->operand_count; i++) buffers[1 + i] = step->operands[i];
    return add_kernel(variant, step, buffers);
}

static weft_status *add_step(weft_variant *variant, const test_step *step)
{
    uint32_t buffers[1 + MOST_OPERANDS] = {step->target};
    for (uint32_t i = 0; i < step->operand_count; i++) buffers[1 + i] = step->operands[i];
    return step->kind == FOLD ? add_fold(variant, step) : add_kernel(variant, step, buffers);
}

/* Buffers have the numbers of values. */
static weft_status *fill_subject(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    for (uint32_t i = INPUTS + OUTPUTS; i < subject.value_count; i++) {
        uint32_t count, buffer;
        WEFT_TRY(weft_fake_value(variant, subject.counts[i], &count));
        WEFT_TRY(weft_fake_temporary(variant, WEFT_I64, 1, &count, &buffer));
        assert_int_equal(buffer, i);
    }
    for (size_t i = 0; i < subject.step_count; i++) WEFT_TRY(add_step(variant, &subject.steps[i]));
    return NULL;
}

static weft_program *create_program(void)
{
    static const char *const names[] = {"a", "b", "x", "y", "z"};
    weft_program *program = weft_fake_program();
    for (uint32_t i = 0; i < INPUTS + OUTPUTS; i++) {
        uint32_t count = weft_fake_constant(program, subject.counts[i]);
        (i < INPUTS ? weft_fake_input : weft_fake_output)(program, names[i], WEFT_I64, 1, &count);
    }
    return program;
}

/* ---- the oracle ---- */

static int64_t oracle[MOST_VALUES][MOST_COUNT];

static void run_alone(const test_step *step)
{
    static int64_t iterations[2][MOST_COUNT];
    int64_t scalars[3 + MOST_OPERANDS] = {step->salt, subject.counts[step->target], step->kind == UPDATE};
    void *operands[MOST_OPERANDS] = {NULL};
    int64_t *target = oracle[step->target];
    for (uint32_t i = 0; i < step->operand_count; i++) {
        scalars[3 + i] = subject.counts[step->operands[i]];
        operands[i] = oracle[step->operands[i]];
    }
    size_t bytes = (size_t)scalars[1] * sizeof *target;
    if (step->kind == FOLD) memcpy(target, operands[0], bytes);
    for (int64_t iteration = 0; iteration < (step->kind == FOLD ? step->trips : 1); iteration++) {
        if (step->kind == FOLD) operands[0] = memcpy(iterations[0], target, bytes);
        for (int64_t t = 0; t < scalars[1]; t++) target[t] = mix(target[t], scalars, operands, step->operand_count, t);
    }
}

static void fill_input(uint32_t input, int64_t *data)
{
    for (int64_t t = 0; t < subject.counts[input]; t++) data[t] = (t + 1) * (input + 3) * 1000003;
}

static void run_oracle(void)
{
    for (uint32_t i = 0; i < INPUTS; i++) fill_input(i, oracle[i]);
    for (size_t i = 0; i < subject.step_count; i++) run_alone(&subject.steps[i]);
}

/* ---- runs ---- */

typedef struct session {
    weft_fake fake;
    weft_executor *executor;
    weft_program *program;
    weft_array *inputs[INPUTS], *outputs[OUTPUTS];
    weft_report report;
} session;

static weft_status *session_run(session *s, weft_run run)
{
    run.input_count = INPUTS;
    run.inputs = s->inputs;
    run.output_count = OUTPUTS;
    run.outputs = s->outputs;
    run.report = &s->report;
    return weft_executor_run(s->executor, s->program, &run);
}

static weft_status *session_open(session *s, const weft_allocator *allocator, unsigned threads)
{
    memset(s, 0, sizeof *s);
    s->program = create_program();
    for (uint32_t i = 0; i < INPUTS; i++) {
        weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, &subject.counts[i], &s->inputs[i]));
        fill_input(i, weft_array_data(s->inputs[i]));
    }
    weft_fake_init(&s->fake, "fake", fill_subject);
    WEFT_TRY(weft_executor_create(&(weft_executor_options){.allocator = allocator, .threads = threads}, &s->executor));
    return weft_executor_register_runtime(s->executor, &s->fake.runtime);
}

static void drop_outputs(session *s)
{
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        weft_array_release(s->outputs[i]);
        s->outputs[i] = NULL;
    }
}

static void session_close(session *s)
{
    drop_outputs(s);
    for (uint32_t i = 0; i < INPUTS; i++) weft_array_release(s->inputs[i]);
    weft_executor_destroy(s->executor);
    weft_program_release(s->program);
}

static void expect_oracle(const session *s)
{
    for (uint32_t i = 0; i < OUTPUTS; i++)
        assert_memory_equal(weft_array_data(s->outputs[i]), oracle[INPUTS + i],
                            (size_t)subject.counts[INPUTS + i] * sizeof(int64_t));
}

/* Planned bytes. */
static size_t run_and_compare(unsigned threads, weft_run run)
{
    session s;
    weft_test_ok(session_open(&s, NULL, threads));
    for (int i = 0; i < 2; i++) {
        weft_test_ok(session_run(&s, run));
        expect_oracle(&s);
        drop_outputs(&s);
    }
    session_close(&s);
    return s.report.peak_bytes;
}

/* ---- programs at random ---- */

static uint64_t random_state;

static uint32_t below(uint32_t count)
{
    return (uint32_t)weft_test_below(&random_state, count);
}

static uint32_t new_value(int64_t count)
{
    subject.counts[subject.value_count] = count;
    return subject.value_count++;
}

/* Late ones more often where programs are to be deep. */
static uint32_t any_value(const bool *known, uint32_t depth)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i <= depth; i++) {
        uint32_t other = below(subject.value_count);
        if (known[other] && other > value) value = other;
    }
    return value;
}

static void random_step(bool *known, uint32_t depth)
{
    test_step *step = &subject.steps[subject.step_count++];
    *step = (test_step){.kind = below(8) == 0   ? FOLD
                                : below(8) == 0 ? UPDATE
                                                : MIX,
                        .operand_count = 1 + below(MOST_OPERANDS),
                        .salt = below(1 << 20),
                        .trips = below(5),
                        .splits = below(12) == 0};
    for (uint32_t i = 0; i < step->operand_count; i++) step->operands[i] = any_value(known, depth);
    int64_t count = below(6) == 0 ? 0 : below(MOST_COUNT);
    if (step->kind == FOLD) count = subject.counts[step->operands[0]];
    step->target = step->kind == UPDATE ? any_value(known, depth) : new_value(count);
    bool changes_input = step->target < INPUTS;
    for (uint32_t i = 0; i < step->operand_count; i++) changes_input |= step->operands[i] == step->target;
    if (step->kind == UPDATE && changes_input) {
        step->kind = MIX;
        step->target = new_value(count);
    }
    known[step->target] = true;
}

static void random_output(const bool *known, uint32_t output)
{
    test_step *step = &subject.steps[subject.step_count++];
    *step = (test_step){.kind = MIX, .target = output, .operand_count = MOST_OPERANDS, .salt = output};
    for (uint32_t i = 0; i < MOST_OPERANDS; i++) step->operands[i] = any_value(known, 2);
}

static void random_program(uint64_t seed)
{
    bool known[MOST_VALUES] = {true, true};
    random_state = seed;
    memset(&subject, 0, sizeof subject);
    subject.work = WORK;
    for (uint32_t i = 0; i < INPUTS + OUTPUTS; i++) new_value(1 + below(MOST_COUNT - 1));
    uint32_t depth = below(4), steps = 4 + below(MOST_STEPS - OUTPUTS - 4);
    for (uint32_t i = 0; i < steps; i++) random_step(known, depth);
    for (uint32_t i = 0; i < OUTPUTS; i++) random_output(known, INPUTS + i);
}

static void test_random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        random_program(seed);
        run_oracle();
        size_t least = run_and_compare(1, (weft_run){0});
        for (unsigned threads = 2; threads <= 4; threads += 2) {
            size_t bytes = run_and_compare(threads, (weft_run){0});
            assert_true(bytes <= least + least / 4 + (1 << 20));
        }
        assert_true(run_and_compare(3, (weft_run){.memory_limit = least}) <= least);
        assert_true(run_and_compare(3, (weft_run){.memory_limit = least + 4096}) <= least + 4096);
    }
}

/* ---- programs by hand ---- */

/* `branches` chains of `length` steps from input a, their ends mixed in pairs into output x. */
static void chains(uint32_t branches, uint32_t length, int64_t work)
{
    uint32_t ends[MOST_VALUES];
    memset(&subject, 0, sizeof subject);
    subject.work = work;
    for (uint32_t i = 0; i < INPUTS + OUTPUTS; i++) new_value(40 + i);
    for (uint32_t branch = 0; branch < branches; branch++) {
        ends[branch] = 0;
        for (uint32_t i = 0; i < length; i++) {
            uint32_t target = new_value(50 + branch);
            subject.steps[subject.step_count++] =
                (test_step){.target = target, .operand_count = 1, .operands = {ends[branch]}, .salt = 100 * branch + i};
            ends[branch] = target;
        }
    }
    for (uint32_t count = branches; count > 1; count--) {
        uint32_t target = count == 2 ? INPUTS : new_value(60);
        subject.steps[subject.step_count++] = (test_step){
            .target = target, .operand_count = 2, .operands = {ends[count - 1], ends[count - 2]}, .salt = count};
        ends[count - 2] = target;
    }
    for (uint32_t i = INPUTS + (branches > 1); i < INPUTS + OUTPUTS; i++)
        subject.steps[subject.step_count++] =
            (test_step){.target = i, .operand_count = 1, .operands = {ends[0]}, .salt = i};
}

static void test_branches_run_side_by_side(void **state)
{
    (void)state;
    session s;
    chains(2, 3, WORK);
    subject.steps[1].salt = subject.steps[4].salt = MEETS;
    subject.steps[2].target = INPUTS + 1;
    subject.steps[2].operands[0] = subject.steps[1].target;
    atomic_store(&waiting, 0);
    weft_test_ok(session_open(&s, NULL, 2));
    weft_test_ok(session_run(&s, (weft_run){0}));
    assert_int_equal(atomic_load(&waiting), 2);
    session_close(&s);
}

/* Folds have no threads for their steps, so that they are steps of a branch. */
static void test_folds_run_side_by_side(void **state)
{
    (void)state;
    chains(4, 2, WORK);
    for (size_t i = 0; i < 8; i += 2) {
        subject.steps[i].kind = FOLD;
        subject.steps[i].trips = 7;
        subject.counts[subject.steps[i].target] = subject.counts[0];
    }
    run_oracle();
    for (unsigned threads = 1; threads <= 4; threads++) run_and_compare(threads, (weft_run){0});
}

/* Work too small for a branch, or a chain: memory is that of one thread, to the byte. */
static void test_nothing_to_gain(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        if (i == 0) chains(8, 4, 100);
        else chains(1, 40, WORK);
        run_oracle();
        assert_int_equal(run_and_compare(4, (weft_run){0}), run_and_compare(1, (weft_run){0}));
    }
}

static void test_memory_limit(void **state)
{
    (void)state;
    chains(8, 4, WORK);
    for (uint32_t i = INPUTS + OUTPUTS; i < subject.value_count; i++) subject.counts[i] = MOST_COUNT;
    run_oracle();
    size_t least = run_and_compare(1, (weft_run){0}), most = run_and_compare(2, (weft_run){0});
    assert_true(most > least);
    for (size_t limit = least; limit < most; limit += 1024)
        assert_true(run_and_compare(2, (weft_run){.memory_limit = limit}) <= limit);
    assert_int_equal(run_and_compare(2, (weft_run){.memory_limit = most}), most);
    assert_int_equal(run_and_compare(2, (weft_run){.memory_limit = least}), least);
}

/* Chains step by step, all at once: in branches they need less memory. A run is over its limit with any threads, or
 * none. */
static void test_limit_is_that_of_one_thread(void **state)
{
    enum { BRANCHES = 40, LENGTH = 2 };
    test_step depth_first[BRANCHES * LENGTH];
    (void)state;
    chains(BRANCHES, LENGTH, WORK);
    for (uint32_t i = INPUTS + OUTPUTS; i < INPUTS + OUTPUTS + BRANCHES * LENGTH; i++)
        subject.counts[i] = i % LENGTH == 0 ? 8 : MOST_COUNT;
    memcpy(depth_first, subject.steps, sizeof depth_first);
    for (size_t i = 0; i < BRANCHES * LENGTH; i++) subject.steps[i % LENGTH * BRANCHES + i / LENGTH] = depth_first[i];
    run_oracle();
    size_t least = run_and_compare(1, (weft_run){0});
    assert_true(run_and_compare(2, (weft_run){0}) < least);
    for (unsigned threads = 1; threads <= 4; threads++) {
        session s;
        weft_test_ok(session_open(&s, NULL, threads));
        weft_test_fails(session_run(&s, (weft_run){.memory_limit = least - 1}), WEFT_OVER_LIMIT, "memory limit");
        assert_int_equal(s.report.peak_bytes, least);
        session_close(&s);
    }
}

/* Of several errors that of the step that comes first, whoever is faster. */
static void test_first_error(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        random_program(seed);
        char message[128];
        size_t first = SIZE_MAX;
        for (size_t i = 0; i < subject.step_count; i++) {
            test_step *step = &subject.steps[i];
            bool runs = subject.counts[step->target] > 0 && (step->kind != FOLD || step->trips > 0);
            if (!runs || below(6) != 0) continue;
            step->salt = FAILS;
            if (i < first) first = i;
        }
        if (first == SIZE_MAX) continue;
        snprintf(message, sizeof message, "a step of %" PRId64 " elements fails",
                 subject.counts[subject.steps[first].target]);
        for (unsigned threads = 1; threads <= 4; threads++) {
            session s;
            weft_test_ok(session_open(&s, NULL, threads));
            weft_test_fails(session_run(&s, (weft_run){0}), WEFT_DATA_ERROR, message);
            for (uint32_t i = 0; i < OUTPUTS; i++) assert_null(s.outputs[i]);
            session_close(&s);
        }
    }
}

static void test_cancelled_in_a_branch(void **state)
{
    (void)state;
    session s;
    chains(4, 4, WORK);
    subject.steps[5].salt = CANCELS;
    cancelled = false;
    weft_test_ok(session_open(&s, NULL, 2));
    weft_test_fails(session_run(&s, (weft_run){.cancelled = &cancelled}), WEFT_CANCELLED, "the run was cancelled");
    session_close(&s);
}

/* ---- profiles ---- */

typedef struct recorder {
    pthread_t thread;
    size_t count;
    int64_t end;
} recorder;

static void record(void *self, const weft_profile_record *record)
{
    recorder *r = self;
    assert_true(pthread_equal(r->thread, pthread_self()));
    assert_true(record->begin_ns >= r->end && record->end_ns >= record->begin_ns);
    r->end = record->end_ns;
    r->count++;
}

static void test_profile(void **state)
{
    (void)state;
    session s;
    recorder r = {.thread = pthread_self()};
    weft_profile profile = {.self = &r, .record = record};
    chains(6, 3, WORK);
    run_oracle();
    weft_test_ok(session_open(&s, NULL, 3));
    weft_test_ok(session_run(&s, (weft_run){.profile = &profile}));
    assert_int_equal(r.count, subject.step_count);
    expect_oracle(&s);
    session_close(&s);
}

/* ---- memory ---- */

static weft_status *run_with(const weft_allocator *allocator, void *context)
{
    session s;
    (void)context;
    weft_status *status = session_open(&s, allocator, 2);
    if (status == NULL) status = session_run(&s, (weft_run){0});
    session_close(&s);
    return status;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 3; seed < 6; seed++) {
        random_program(seed);
        assert_true(weft_test_fail_each(run_with, NULL) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_branches_run_side_by_side),
        cmocka_unit_test(test_folds_run_side_by_side),
        cmocka_unit_test(test_nothing_to_gain),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_limit_is_that_of_one_thread),
        cmocka_unit_test(test_first_error),
        cmocka_unit_test(test_cancelled_in_a_branch),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
