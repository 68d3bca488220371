/* SPDX-License-Identifier: Apache-2.0 */
/* Searches that would take for ever, ended from outside; and what is told while they go on. */
#include "test/einsum/einsum.h"
#include "test/rng.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

enum { COUNT = 220, MANY = 5000 };
static const uint64_t for_ever = UINT64_MAX;

static bool on_llvm;
static int64_t label_items[COUNT][3], two[] = {2, 2, 2};
static weft_ints labels[COUNT], shapes[COUNT];
static int64_t many_items[MANY][3];
static weft_ints many_labels[MANY], many_shapes[MANY];
static volatile bool cancelled;

/* A random graph in which each operand has three links. */
static void draw_graph(int count, int64_t (*items)[3], weft_ints *out_labels, weft_ints *out_shapes)
{
    static int ends[3 * MANY], used[MANY];
    uint64_t random = 1;
    memset(used, 0, sizeof used);
    for (int i = 0; i < 3 * count; i++) ends[i] = i / 3;
    for (int i = 3 * count - 1; i > 0; i--) {
        int j = (int)weft_test_below(&random, (unsigned)i + 1), end = ends[i];
        ends[i] = ends[j];
        ends[j] = end;
    }
    for (int i = 0; i < 3 * count; i++) items[ends[i]][used[ends[i]]++] = i / 2;
    for (int i = 0; i < count; i++) {
        out_labels[i] = (weft_ints){3, items[i]};
        out_shapes[i] = (weft_ints){3, two};
    }
}

static int set_up(void **state)
{
    (void)state;
    draw_graph(COUNT, label_items, labels, shapes);
    draw_graph(MANY, many_items, many_labels, many_shapes);
    return 0;
}

/* Of the processor: other processes may have the machine for a while. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *cancel_soon(void *argument)
{
    double begin = now();
    while (now() < begin + 0.3) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    __atomic_store_n(&cancelled, true, __ATOMIC_RELAXED);
    *(double *)argument = now();
    return NULL;
}

/* Ends what `body` does from another thread; how long it went on after that. */
static double cancel(void (*body)(void *context), void *context)
{
    pthread_t thread;
    double asked;
    cancelled = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &asked), 0);
    body(context);
    double ended = now();
    pthread_join(thread, NULL);
    return ended - asked;
}

/* Searches here would take days. */
static const double at_once = 5;

/* ---- plans ---- */

static weft_einsum_plan *plan(weft_einsum_options options)
{
    weft_einsum_plan *made;
    options.minimize = WEFT_EINSUM_FLOPS;
    weft_test_ok(weft_einsum_plan_create_labels(NULL, COUNT, labels, (weft_ints){0}, shapes, &options, &made));
    return made;
}

static void plan_for_ever(void *context)
{
    *(weft_einsum_plan **)context = plan((weft_einsum_options){.moves = for_ever, .cancelled = &cancelled});
}

static void plans_are_the_best_so_far(void **state)
{
    (void)state;
    weft_einsum_plan *greedy = plan((weft_einsum_options){.moves = 1}), *found;
    assert_true(cancel(plan_for_ever, &found) < at_once);
    assert_true(weft_einsum_plan_log10_flops(found) < weft_einsum_plan_log10_flops(greedy));
    weft_einsum_plan_destroy(found);
    weft_einsum_plan_destroy(greedy);
}

static weft_einsum_plan *plan_many(weft_einsum_options options)
{
    weft_einsum_plan *made;
    options.threads = 1;
    weft_test_ok(weft_einsum_plan_create_labels(NULL, MANY, many_labels, (weft_ints){0}, many_shapes, &options, &made));
    return made;
}

static void plan_many_for_ever(void *context)
{
    *(weft_einsum_plan **)context = plan_many((weft_einsum_options){.moves = for_ever, .cancelled = &cancelled});
}

/* What takes a greedy order and what is made of it. */
static double time_greedy(void)
{
    double begin = now();
    weft_einsum_plan_destroy(plan_many((weft_einsum_options){.moves = 1}));
    return now() - begin;
}

/* No method goes on to its end, and nothing is tried after it: that takes many times as long as a greedy order. */
static bool search_among_thousands(void)
{
    static const double budget = 0.3;
    weft_einsum_plan *found;
    double least = time_greedy(), after = cancel(plan_many_for_ever, &found), begin = now();
    weft_einsum_plan_destroy(found);
    weft_einsum_plan_destroy(plan_many((weft_einsum_options){.time_budget = budget}));
    return after < 4 * least && now() - begin < budget + 4 * least;
}

/* Here thousands of labels would be sliced, one after the other. */
static bool slice_thousands(void)
{
    const weft_einsum_options options = {.moves = 1, .memory_limit = 1 << 20, .threads = 1, .cancelled = &cancelled};
    double least = time_greedy(), begin = now();
    weft_einsum_plan *made = NULL;
    cancelled = true;
    weft_test_fails(
        weft_einsum_plan_create_labels(NULL, MANY, many_labels, (weft_ints){0}, many_shapes, &options, &made),
        WEFT_CANCELLED, "einsum: the search for an order was cancelled");
    assert_null(made);
    return now() - begin < 8 * least;
}

/* Once in three times: a busy machine has pauses as long as these take. */
static void searches_among_thousands_end_at_once(void **state)
{
    (void)state;
    assert_true(search_among_thousands() || search_among_thousands() || search_among_thousands());
    assert_true(slice_thousands() || slice_thousands() || slice_thousands());
}

static void a_plan_without_room_is_cancelled(void **state)
{
    (void)state;
    weft_einsum_plan *made = NULL;
    const weft_einsum_options options = {.moves = 1000, .memory_limit = 1, .cancelled = &cancelled};
    for (int i = 0; i < 2; i++) {
        cancelled = i == 1;
        weft_test_fails(weft_einsum_plan_create_labels(NULL, COUNT, labels, (weft_ints){0}, shapes, &options, &made),
                        cancelled ? WEFT_CANCELLED : WEFT_OVER_LIMIT,
                        cancelled ? "einsum: the search for an order was cancelled" : "the memory limit is 1 byte");
        assert_null(made);
    }
}

/* ---- what is told ---- */

typedef struct told {
    pthread_t thread;
    int orders;
    weft_einsum_progress last;
} told;

static void take(void *self, const weft_einsum_progress *progress)
{
    static const char *const known[] = {"greedy", "sweeps", "elimination", "bisection", "annealing", "exact"};
    told *log = self;
    assert_int_equal(progress->size, sizeof *progress);
    assert_true(pthread_equal(log->thread, pthread_self()));
    assert_true(progress->seconds >= log->last.seconds);
    assert_true(progress->log10_flops <= log->last.log10_flops);
    bool found = progress->log10_flops < INFINITY;
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i], progress->found_by) != 0) i++;
    assert_true(found ? i < sizeof known / sizeof *known : progress->found_by[0] == 0);
    log->orders += found;
    log->last = *progress;
    if (log->orders == 3) cancelled = true;
}

static void a_watcher_sees_orders_get_better(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads += 2) {
        told log = {.thread = pthread_self(), .last = {.log10_flops = INFINITY}};
        const weft_einsum_watch watch = {&log, take};
        cancelled = false;
        bool timed = threads > 1;
        weft_einsum_plan *found = plan((weft_einsum_options){.moves = timed ? 0 : 20000000,
                                                             .time_budget = timed ? 5 : 0,
                                                             .threads = threads,
                                                             .cancelled = &cancelled,
                                                             .watch = &watch});
        assert_true(log.orders >= 3);
        assert_true(fabs(log.last.budget - (timed ? 5 : 0)) < 1e-6);
        assert_true(weft_einsum_plan_log10_flops(found) <= log.last.log10_flops + 1e-6);
        weft_einsum_plan_destroy(found);
    }
}

/* Parts that are not connected are planned one after the other; what all have is told from the first call on. */
static void a_watcher_always_has_an_order(void **state)
{
    (void)state;
    static int64_t items[COUNT][3];
    weft_ints all[2 * COUNT], extents[2 * COUNT];
    weft_einsum_plan *made;
    for (int i = 0; i < 2 * COUNT; i++) {
        for (int k = 0; k < 3 && i < COUNT; k++) items[i][k] = label_items[i][k] + 1000;
        all[i] = i < COUNT ? labels[i] : (weft_ints){3, items[i - COUNT]};
        extents[i] = (weft_ints){3, two};
    }
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        told log = {.thread = pthread_self(), .last = {.log10_flops = 300}};
        const weft_einsum_watch watch = {&log, take};
        cancelled = cancel_first == 1;
        const weft_einsum_options options = {
            .minimize = WEFT_EINSUM_FLOPS, .time_budget = 5, .threads = 1, .cancelled = &cancelled, .watch = &watch};
        weft_test_ok(weft_einsum_plan_create_labels(NULL, 2 * COUNT, all, (weft_ints){0}, extents, &options, &made));
        assert_true(log.orders >= 1);
        assert_true(weft_einsum_plan_log10_flops(made) <= log.last.log10_flops + 1e-6);
        weft_einsum_plan_destroy(made);
    }
}

/* ---- runs ---- */

typedef struct session {
    weft_executor *executor;
    weft_program *program;
    weft_array *operands[COUNT], *result;
    weft_status *status;
} session;

static float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

static void session_init(session *s, const weft_einsum_options *options)
{
    weft_graph *graph;
    weft_tensor inputs[COUNT];
    *s = (session){.executor = weft_test_einsum_executor(on_llvm)};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 4);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        inputs[i] = weft_input(graph, name, WEFT_F32, WEFT_SHAPE(n, n, n));
        weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 3, two, NULL, ones, NULL, NULL, &s->operands[i]));
    }
    weft_tensor result = weft_einsum_labels((weft_tensors){COUNT, inputs}, labels, (weft_ints){0}, options);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &s->program));
    weft_graph_destroy(graph);
}

static void session_finish(session *s)
{
    for (int i = 0; i < COUNT; i++) weft_array_release(s->operands[i]);
    weft_array_release(s->result);
    weft_program_release(s->program);
    weft_executor_destroy(s->executor);
}

static size_t count_kept(const session *s)
{
    size_t kept = 0;
    for (int cache = WEFT_EINSUM_PLANS; cache <= WEFT_EINSUM_ORDERS; cache++) {
        weft_cache_counters counters;
        weft_test_ok(weft_einsum_cache_read(s->executor, (weft_einsum_cache)cache, &counters));
        kept += counters.entries;
    }
    return kept;
}

static void run(void *context)
{
    session *s = context;
    const weft_run run = {
        .input_count = COUNT, .inputs = s->operands, .output_count = 1, .outputs = &s->result, .cancelled = &cancelled};
    s->status = weft_executor_run(s->executor, s->program, &run);
}

static void runs_end_while_they_plan(void **state)
{
    (void)state;
    session s;
    session_init(&s, &(weft_einsum_options){.moves = for_ever});
    for (int i = 0; i < 2; i++) { /* also where a search is under way already */
        assert_true(cancel(run, &s) < at_once);
        weft_test_fails(s.status, WEFT_CANCELLED, "einsum: the search for an order was cancelled");
        assert_null(s.result);
        assert_int_equal(count_kept(&s), 0);
    }
    session_finish(&s);
}

static void contract_arrays(void *context)
{
    session *s = context;
    static char text[COUNT * 20];
    size_t used = 0;
    for (int i = 0; i < COUNT; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%d %d %d]", i == 0 ? "" : ",",
                                 (int)label_items[i][0], (int)label_items[i][1], (int)label_items[i][2]);
    snprintf(text + used, sizeof text - used, "->[]");
    const weft_einsum_options options = {.moves = for_ever, .cancelled = &cancelled};
    s->status = weft_einsum_arrays(s->executor, text, COUNT, s->operands, &options, &s->result);
}

static void arrays_end_while_they_plan(void **state)
{
    (void)state;
    session s;
    session_init(&s, NULL);
    assert_true(cancel(contract_arrays, &s) < at_once);
    weft_test_fails(s.status, WEFT_CANCELLED, "einsum: the search for an order was cancelled");
    assert_int_equal(count_kept(&s), 0);
    session_finish(&s);
}

/* Contracts a chain of matrices, the first one over `batch`. */
static weft_status *contract_chain(weft_executor *executor, int64_t batch, const volatile bool *flag)
{
    enum { CHAIN = 10 };
    static const char text[] = "zab,bc,cd,de,ef,fg,gh,hi,ij,jk->zak";
    weft_array *operands[CHAIN], *result = NULL;
    for (int i = 0; i < CHAIN; i++) {
        const int64_t shape[] = {batch, 2, 2};
        weft_test_ok(weft_array_create(NULL, WEFT_F32, i == 0 ? 3 : 2, shape + (i > 0), &operands[i]));
        memset(weft_array_data(operands[i]), 0, weft_array_count(operands[i]) * sizeof(float));
    }
    const weft_einsum_options options = {.cancelled = flag};
    weft_status *status = weft_einsum_arrays(executor, text, CHAIN, operands, &options, &result);
    for (int i = 0; i < CHAIN; i++) weft_array_release(operands[i]);
    weft_array_release(result);
    return status;
}

/* An order that was kept for other extents cannot be judged by a search that was cancelled. */
static void nothing_is_kept_beside_kept_orders(void **state)
{
    (void)state;
    const volatile bool yes = true;
    weft_cache_counters orders;
    session s = {.executor = weft_test_einsum_executor(on_llvm)};
    weft_test_ok(contract_chain(s.executor, 2, NULL));
    size_t kept = count_kept(&s);
    assert_int_equal(kept, 3); /* a plan, its program, its order */
    weft_test_fails(contract_chain(s.executor, 3, &yes), WEFT_CANCELLED,
                    "einsum: the search for an order was cancelled");
    assert_int_equal(count_kept(&s), kept);
    weft_test_ok(weft_einsum_cache_read(s.executor, WEFT_EINSUM_ORDERS, &orders));
    assert_int_equal(orders.hits, 0);
    weft_test_ok(contract_chain(s.executor, 3, NULL));
    assert_int_equal(count_kept(&s), kept + 2);
    weft_executor_destroy(s.executor);
}

/* Nothing is compiled for who does not wait for it. */
static void runs_end_while_they_compile(void **state)
{
    (void)state;
    const volatile bool yes = true;
    weft_graph *graph;
    weft_program *program;
    weft_array *x, *y = NULL;
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor result = weft_exp(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(2, 2, 2)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &program));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 3, two, NULL, ones, NULL, NULL, &x));
    const weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &y, .cancelled = &yes};
    weft_test_fails(weft_executor_run(executor, program, &run), WEFT_CANCELLED,
                    on_llvm ? "while its kernels were compiled" : "the run was cancelled");
    weft_executor_counters_read(executor, &counters);
    assert_int_equal(counters.kernels_compiled, 0);
    weft_array_release(x);
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    on_llvm = argc > 1 && strcmp(argv[1], "llvm") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_the_best_so_far),        cmocka_unit_test(searches_among_thousands_end_at_once),
        cmocka_unit_test(a_plan_without_room_is_cancelled), cmocka_unit_test(a_watcher_sees_orders_get_better),
        cmocka_unit_test(a_watcher_always_has_an_order),    cmocka_unit_test(runs_end_while_they_plan),
        cmocka_unit_test(arrays_end_while_they_plan),       cmocka_unit_test(nothing_is_kept_beside_kept_orders),
        cmocka_unit_test(runs_end_while_they_compile),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
