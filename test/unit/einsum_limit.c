/* SPDX-License-Identifier: Apache-2.0 */
/* Contracting within a memory limit: results, what is allocated, plans, errors. */
#include "test/einsum/einsum.h"
#include "test/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { MOST = 8, BOOKKEEPING = 16384 };

/* Operand i has extents[l] for each letter l of its term. */
typedef struct problem {
    const char *text;
    int64_t extents[26];
} problem;

static const problem problems[] = {
    {"abcd,cdef,efgh,aghi->bi", {12, 12, 12, 12, 12, 12, 12, 12, 12}},
    {"ab,bc,cd,de,ef,fg,ga->", {64, 48, 80, 64, 48, 80, 64}},
    {"bij,bjk,bkl->bil", {['b' - 'a'] = 64, ['i' - 'a'] = 24, 32, 40, 24}}, /* only what the output has helps */
    {"axy,bxz,cyz,aw,bw,cw->abc", {8, 12, 10, ['w' - 'a'] = 16, 16, 16, 16}},
    {"ab,bc,xy,yz->acxz", {20, 30, 20, ['x' - 'a'] = 8, 9, 10}}, /* two parts */
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static bool on_llvm;
static weft_test_allocator counter;

static weft_executor *executor_create(void)
{
    weft_executor *executor;
    /* Nothing that was freed is kept. */
    const weft_executor_options options = {.allocator = &counter.allocator, .threads = 2, .buffer_capacity = 1};
    weft_test_ok(weft_executor_create(&options, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, on_llvm ? weft_runtime_llvm() : weft_runtime_reference()));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    return executor;
}

/* ---- operands ---- */

static uint64_t random_state = 1;

static void fill(weft_array *array, size_t count)
{
    void *data = weft_array_data(array);
    if (weft_array_dtype(array) == WEFT_C64) count *= 2;
    for (size_t i = 0; i < count; i++) {
        if (weft_array_dtype(array) == WEFT_F64) ((double *)data)[i] = weft_test_real(&random_state);
        else ((float *)data)[i] = (float)weft_test_real(&random_state);
    }
}

static size_t make_operands(const problem *p, weft_dtype dtype, weft_array **out_operands)
{
    size_t count = 0;
    for (const char *at = p->text; *at != '-'; count++) {
        int64_t shape[MOST];
        size_t rank = 0, elements = 1;
        for (; *at >= 'a' && *at <= 'z'; at++) elements *= (size_t)(shape[rank++] = p->extents[*at - 'a']);
        at += *at == ',';
        weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &out_operands[count]));
        fill(out_operands[count], elements);
    }
    return count;
}

static void release(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
}

/* ---- results ---- */

static size_t element_count(const weft_array *array)
{
    size_t count = weft_array_dtype(array) == WEFT_C64 ? 2 : 1;
    for (size_t axis = 0; axis < weft_array_rank(array); axis++) count *= (size_t)weft_array_shape(array)[axis];
    return count;
}

static double element(const weft_array *array, size_t i)
{
    const void *data = weft_array_data(array);
    return weft_array_dtype(array) == WEFT_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Orders and slices round differently; sums of n products of numbers up to 1 are around sqrt(n). */
static void assert_near(const weft_array *got, const weft_array *wanted)
{
    double scale = 0, allowed = weft_array_dtype(wanted) == WEFT_F64 ? 1e-9 : 1e-3;
    size_t count = element_count(wanted);
    assert_int_equal(element_count(got), count);
    for (size_t i = 0; i < count; i++) scale = fmax(scale, fabs(element(wanted, i)));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(element(got, i) - element(wanted, i)) <= allowed * scale))
            fail_msg("element %zu is %.9g instead of %.9g", i, element(got, i), element(wanted, i));
}

/* ---- what is allocated ---- */

static weft_status *contract(weft_executor *executor, const problem *p, size_t count, weft_array **operands,
                             size_t limit, weft_report *report, weft_array **result)
{
    const weft_einsum_options options = {.memory_limit = limit, .moves = limit == 40 ? 100 : 0, .report = report};
    return weft_einsum_arrays(executor, p->text, count, operands, &options, result);
}

/* What two threads pack for products, which does not count: at most their operands each. */
static size_t packed_bytes(size_t count, weft_array **operands)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (size_t)weft_array_count(operands[i]) * weft_dtype_size(weft_array_dtype(operands[i]));
    return 2 * bytes;
}

/* What a call allocates at most, once everything is compiled; *out_peak: what its report says. */
static size_t bytes_of_call(weft_executor *executor, const problem *p, size_t count, weft_array **operands,
                            size_t limit, weft_array **result, size_t *out_peak)
{
    size_t before = atomic_load(&counter.bytes);
    weft_report report;
    memset(&report, 0xff, sizeof report);
    atomic_store(&counter.most_bytes, before);
    weft_test_ok(contract(executor, p, count, operands, limit, &report, result));
    assert_true(report.hit == true && report.steps > 0 && report.compile_ns == 0 && report.run_ns > 0);
    *out_peak = report.peak_bytes;
    return atomic_load(&counter.most_bytes) - before;
}

/* Lowers the limit until it cannot be kept, or a few times where iterations are slow; returns how many were. */
static size_t lower_limit(weft_executor *executor, const problem *p, weft_dtype dtype)
{
    weft_array *operands[MOST], *whole = NULL, *result = NULL;
    size_t count = make_operands(p, dtype, operands), kept = 0, peak;
    weft_test_ok(contract(executor, p, count, operands, 0, NULL, &whole));
    weft_test_ok(weft_array_create(NULL, dtype, weft_array_rank(whole), weft_array_shape(whole), &result));
    for (size_t limit = bytes_of_call(executor, p, count, operands, 0, &whole, &peak);; limit /= 4) {
        weft_status *status = contract(executor, p, count, operands, limit, NULL, &result);
        if (status != NULL) {
            weft_test_fails(status, WEFT_OVER_LIMIT, "the memory limit is");
            break;
        }
        assert_near(result, whole);
        size_t bytes = bytes_of_call(executor, p, count, operands, limit, &result, &peak);
        assert_true((peak > 0 || !on_llvm) && peak <= limit);
        if (on_llvm && bytes > limit + BOOKKEEPING + packed_bytes(count, operands))
            fail_msg("%s: %zu of %zu bytes", p->text, bytes, limit);
        if (++kept == 3 && !on_llvm) break;
    }
    release(count, operands);
    weft_array_release(whole);
    weft_array_release(result);
    return kept;
}

static void keep_limits(void **state)
{
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_C64};
    (void)state;
    for (size_t i = on_llvm ? 0 : 3; i < PROBLEMS; i++) {
        weft_test_allocator_init(&counter, WEFT_TEST_NEVER);
        weft_executor *executor = executor_create();
        size_t kept = lower_limit(executor, &problems[i], dtypes[i % 3]);
        if (kept == 0) fail_msg("%s: no limit was kept", problems[i].text);
        weft_executor_destroy(executor);
        weft_test_allocator_check(&counter);
    }
}

/* What lies beside the results of steps. */
static const struct {
    problem of;
    size_t limit;
} narrow[] = {
    {{"abk,ab->", {300, 300, ['k' - 'a'] = 3}}, 1000}, /* labels of one operand are summed in the loop */
    {{"kabb,b,a->", {90, 90, ['k' - 'a'] = 3}}, 1000}, /* on a diagonal */
    {{"abk,bc->ac", {300, 300, 5, ['k' - 'a'] = 2}}, 2000},
    {{"ab,ab,bc->ac", {300, 300, 5}}, 2000}, /* operands with the same labels */
    {{"ab,ab,bc,cd->ad", {300, 300, 5, 5}}, 100000},
    {{"ab,ab,ab->b", {300, 300}}, 2000}, /* one kernel, no slices */
    {{"ab,a,ab->ab", {300, 300}}, 64},
    {{"cd,adb,acb->c", {5, 60, 60, 20}}, 100000}, /* copies of operands, just above the limit */
    {{"bad,ca,dbc->c", {60, 60, 20, 5}}, 100000},
    {{"cabc,cda,adc->cdb", {20, 60, 1, 20}}, 1500},  /* and those with axes of extent one */
    {{"adc,cbd->ba", {5, 20, 20, 20}}, 3000},        /* two operands, copied for their product */
    {{"bbc,abc,cb->b", {1, 60, 60}}, 1000},          /* diagonals and axes of extent one stay views */
    {{"bb,cba,bca,cab,ba->ca", {20, 60, 60}}, 3000}, /* the result is added up in its place */
};
enum { NARROW = sizeof narrow / sizeof *narrow, QUICK = 10 /* from there on, also without a compiler */ };

static void keep_narrow_limits(void **state)
{
    (void)state;
    weft_test_allocator_init(&counter, WEFT_TEST_NEVER);
    weft_executor *executor = executor_create();
    for (size_t i = on_llvm ? 0 : QUICK; i < NARROW; i++) {
        weft_array *operands[MOST], *whole = NULL, *result = NULL;
        const problem *p = &narrow[i].of;
        size_t count = make_operands(p, WEFT_F64, operands);
        weft_test_ok(contract(executor, p, count, operands, 0, NULL, &whole));
        weft_status *status = contract(executor, p, count, operands, 2 * narrow[i].limit, NULL, &result);
        if (status != NULL) fail_msg("%s: %s", p->text, weft_status_message(status));
        assert_near(result, whole);
        size_t peak;
        bytes_of_call(executor, p, count, operands, 2 * narrow[i].limit, &result, &peak);
        assert_true(peak <= 2 * narrow[i].limit);
        weft_array_release(whole);
        weft_array_release(result);
        release(count, operands);
    }
    weft_executor_destroy(executor);
    weft_test_allocator_check(&counter);
}

/* 16-bit floats are summed in f32, beside the result: slices of what is left need no sum of all of it. */
static void sum_short_floats(void **state)
{
    enum { EXTENT = 64, COUNT = EXTENT * EXTENT, ONE = 0x3c00, SUM = 0x5400 /* of EXTENT ones */ };
    const int64_t shape[] = {EXTENT, EXTENT};
    weft_array *operands[2], *result = NULL;
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    for (size_t i = 0; i < 2; i++) {
        weft_test_ok(weft_array_create(NULL, WEFT_F16, 2, shape, &operands[i]));
        for (size_t k = 0; k < COUNT; k++) ((uint16_t *)weft_array_data(operands[i]))[k] = ONE;
    }
    for (size_t limit = COUNT * 2; limit >= COUNT / 16; limit /= 2) {
        weft_report report;
        const weft_einsum_options options = {.memory_limit = limit, .report = &report};
        weft_test_ok(weft_einsum_arrays(executor, "ij,jk->ik", 2, operands, &options, &result));
        assert_true(report.peak_bytes <= limit);
        for (size_t k = 0; k < COUNT; k++) assert_int_equal(((const uint16_t *)weft_array_data(result))[k], SUM);
        weft_array_release(result);
        result = NULL;
    }
    release(2, operands);
    weft_executor_destroy(executor);
}

/* Labels that are sliced are in no intermediate, those of one operand included. */
static void slice_what_is_summed_first(void **state)
{
    enum { EXTENT = 60 };
    static const problem p = {"abk,ab,ab->", {EXTENT, EXTENT, ['k' - 'a'] = 2}};
    const int64_t labels[] = {'a', 'b'};
    weft_array *operands[MOST], *whole = NULL, *result = NULL;
    weft_report report;
    (void)state;
    weft_test_allocator_init(&counter, WEFT_TEST_NEVER);
    weft_executor *executor = executor_create();
    size_t count = make_operands(&p, WEFT_F64, operands);
    weft_test_ok(contract(executor, &p, count, operands, 0, NULL, &whole));
    for (size_t sliced = 1; sliced <= 2; sliced++) {
        const weft_einsum_options options = {.order = WEFT_EINSUM_LEFT, .sliced = {sliced, labels}, .report = &report};
        weft_test_ok(weft_einsum_arrays(executor, p.text, count, operands, &options, &result));
        assert_near(result, whole);
        assert_true(!on_llvm || report.peak_bytes < EXTENT * EXTENT * 8 / 2);
    }
    weft_array_release(whole);
    weft_array_release(result);
    release(count, operands);
    weft_executor_destroy(executor);
    weft_test_allocator_check(&counter);
}

/* ---- nodes ---- */

static void keep_limits_in_graphs(void **state)
{
    weft_array *operands[MOST], *whole, *result;
    weft_report report;
    (void)state;
    weft_test_allocator_init(&counter, WEFT_TEST_NEVER);
    weft_executor *executor = executor_create();
    size_t count = make_operands(&problems[0], WEFT_F32, operands);
    weft_test_einsum call = {.text = problems[0].text, .count = count, .operands = operands, .report = &report};
    weft_test_ok(weft_test_einsum_run(executor, &call, &whole));
    const weft_einsum_options options = {.memory_limit = 40000};
    call.options = &options;
    for (call.way = WEFT_TEST_STATIC; call.way < WEFT_TEST_ARRAYS; call.way++) {
        weft_test_ok(weft_test_einsum_run(executor, &call, &result));
        assert_near(result, whole);
        assert_true(!on_llvm || (report.peak_bytes > 0 && report.peak_bytes <= options.memory_limit));
        weft_array_release(result);
    }
    weft_array_release(whole);
    release(count, operands);
    weft_executor_destroy(executor);
    weft_test_allocator_check(&counter);
}

/* ---- plans ---- */

static void plan_within_limits(void **state)
{
    const int64_t shape[] = {12, 12, 12, 12};
    const weft_ints shapes[] = {{4, shape}, {4, shape}, {4, shape}, {4, shape}};
    (void)state;
    for (size_t limit = 1 << 17; limit >= 1 << 11; limit /= 4) {
        weft_einsum_plan *plan;
        const weft_einsum_options options = {.memory_limit = limit, .dtype = WEFT_F64};
        weft_test_ok(weft_einsum_plan_create(NULL, problems[0].text, 4, shapes, &options, &plan));
        assert_true(weft_einsum_plan_log2_peak(plan) + 3 <= log2((double)limit) + 1e-9);
        assert_true(weft_einsum_plan_sliced(plan).count > 0);
        assert_true(weft_einsum_plan_log10_overhead(plan) >= -1e-9);
        weft_einsum_plan_destroy(plan);
    }
}

/* What an iteration adds to the output is sliced too, where it is larger than all intermediates and has memory of its
 * own: a product of the library. */
static void slice_large_outputs(void **state)
{
    const weft_ints shapes[] = {WEFT_INTS(30, 200), WEFT_INTS(200, 2, 30), WEFT_INTS(30, 2, 500)};
    (void)state;
    for (size_t limit = 4000; limit >= 400; limit /= 2) {
        weft_einsum_plan *plan;
        const weft_einsum_options options = {.memory_limit = limit};
        weft_test_ok(weft_einsum_plan_create(NULL, "ij,jbk,kbl->il", 3, shapes, &options, &plan));
        assert_true(weft_einsum_plan_log2_peak(plan) + 2 <= log2((double)limit) + 1e-9);
        assert_true(weft_einsum_plan_sliced(plan).count > 1 || weft_einsum_plan_sliced(plan).items[0] != 'b');
        weft_einsum_plan_destroy(plan);
    }
}

/* But not of one row, which loops add up where it lies: no order costs more than that without slices. */
static void slice_into_rows(void **state)
{
    const problem p = {"ij,jk,kl->il", {['i' - 'a'] = 10, 1000, 10, 500}};
    const weft_ints shapes[] = {WEFT_INTS(10, 1000), WEFT_INTS(1000, 10), WEFT_INTS(10, 500)};
    weft_array *operands[MOST], *result = NULL;
    (void)state;
    weft_executor *executor = executor_create();
    size_t count = make_operands(&p, WEFT_F32, operands);
    for (size_t limit = 399; limit >= 192; limit -= 100) {
        weft_einsum_plan *plan;
        weft_report report;
        const weft_einsum_options options = {.memory_limit = limit, .report = &report};
        weft_test_ok(weft_einsum_plan_create(NULL, p.text, 3, shapes, &options, &plan));
        assert_true(weft_einsum_plan_log2_peak(plan) + 2 <= log2((double)limit) + 1e-9);
        assert_true(weft_einsum_plan_log10_overhead(plan) < 0.01);
        assert_true(weft_einsum_plan_log10_flops(plan) < 5.2);
        weft_einsum_plan_destroy(plan);
        weft_test_ok(weft_einsum_arrays(executor, p.text, count, operands, &options, &result));
        assert_true(!on_llvm || report.peak_bytes <= limit);
        weft_array_release(result);
        result = NULL;
    }
    release(count, operands);
    weft_executor_destroy(executor);
}

/* What arrays can keep plans can, from two operands on. */
static void plan_what_is_narrow(void **state)
{
    (void)state;
    for (size_t i = 0; i < NARROW; i++) {
        weft_ints shapes[MOST];
        int64_t room[MOST][MOST];
        size_t count = 0;
        for (const char *at = narrow[i].of.text; *at != '-'; count++) {
            shapes[count] = (weft_ints){0, room[count]};
            for (; *at >= 'a' && *at <= 'z'; at++) room[count][shapes[count].count++] = narrow[i].of.extents[*at - 'a'];
            at += *at == ',';
        }
        weft_einsum_plan *plan;
        const weft_einsum_options options = {.memory_limit = narrow[i].limit};
        weft_test_ok(weft_einsum_plan_create(NULL, narrow[i].of.text, count, shapes, &options, &plan));
        assert_true(weft_einsum_plan_log2_peak(plan) + 2 <= log2((double)narrow[i].limit) + 1e-9);
        weft_einsum_plan_destroy(plan);
    }
}

/* A plan keeps its slices where it is taken as a tree, which is lowered. */
static void run_a_sliced_tree(void **state)
{
    const int64_t shape[] = {12, 12, 12, 12};
    const weft_ints shapes[] = {{4, shape}, {4, shape}, {4, shape}, {4, shape}};
    weft_array *operands[MOST], *whole, *result;
    weft_einsum_plan *plan;
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    size_t count = make_operands(&problems[0], WEFT_F32, operands);
    weft_test_einsum call = {.text = problems[0].text, .count = count, .operands = operands};
    weft_test_ok(weft_test_einsum_run(executor, &call, &whole));
    const weft_einsum_options limited = {.memory_limit = 1 << 13};
    weft_test_ok(weft_einsum_plan_create(NULL, call.text, count, shapes, &limited, &plan));
    const weft_einsum_options options = {.order = WEFT_EINSUM_TREE, .tree = plan};
    call.options = &options;
    weft_test_ok(weft_test_einsum_run(executor, &call, &result));
    assert_near(result, whole);
    weft_einsum_plan_destroy(plan);
    weft_array_release(whole);
    weft_array_release(result);
    release(count, operands);
    weft_executor_destroy(executor);
}

/* Of 5x5 with extents of 3: much of the work is at its rim, before what slices make smaller. */
static weft_status *plan_lattice(size_t limit, weft_einsum_plan **out_plan)
{
    enum { SIDE = 5, COUNT = SIDE * SIDE };
    static const int64_t threes[] = {3, 3, 3, 3};
    int64_t room[COUNT][4];
    weft_ints labels[COUNT], shapes[COUNT];
    for (int64_t i = 0; i < COUNT; i++) {
        size_t rank = 0;
        if (i % SIDE > 0) room[i][rank++] = i - 1;
        if (i % SIDE < SIDE - 1) room[i][rank++] = i;
        if (i >= SIDE) room[i][rank++] = COUNT + i - SIDE;
        if (i < COUNT - SIDE) room[i][rank++] = COUNT + i;
        labels[i] = (weft_ints){rank, room[i]};
        shapes[i] = (weft_ints){rank, threes};
    }
    const weft_einsum_options options = {.memory_limit = limit, .moves = 500, .threads = 1};
    return weft_einsum_plan_create_labels(NULL, COUNT, labels, (weft_ints){0, NULL}, shapes, &options, out_plan);
}

static void plans_keep_limits(void **state)
{
    (void)state;
    size_t kept = 0;
    for (size_t limit = 100; limit < 4200; limit += limit / 7) {
        weft_einsum_plan *plan = NULL;
        weft_status *status = plan_lattice(limit, &plan);
        if (status != NULL) {
            weft_test_fails(status, WEFT_OVER_LIMIT, "the memory limit is");
            continue;
        }
        assert_true(4 * exp2(weft_einsum_plan_log2_peak(plan)) <= (double)limit * (1 + 1e-9));
        weft_einsum_plan_destroy(plan);
        kept++;
    }
    assert_true(kept > 10);
}

/* ---- what is empty ---- */

/* With an extent of zero. */
static const problem empty[] = {
    {"ab,bc,cd,da->", {40, 0, 40, 40}},
    {"ab,bc,cd,de->ae", {300, 200, 0, 200, 5}},
    {"ab,bc,cd->ad", {0, 300, 300, 7}},
    {"ab,cd,ef,fb,ad->ce", {1 << 10, 0, 3, 1 << 10, 4, 1 << 10}}, /* some orders have results that nobody can hold */
};
enum { EMPTY = sizeof empty / sizeof *empty };

static void assert_zeros(const weft_array *array)
{
    size_t count = element_count(array);
    for (size_t i = 0; i < count; i++) assert_true(element(array, i) == 0);
}

static void contract_what_is_empty(weft_executor *executor, const problem *p, const weft_einsum_options *options)
{
    weft_array *operands[MOST], *result;
    size_t count = make_operands(p, WEFT_F64, operands);
    weft_test_einsum call = {.text = p->text, .count = count, .operands = operands, .options = options};
    for (call.way = WEFT_TEST_STATIC; call.way < WEFT_TEST_WAYS; call.way++) {
        weft_test_ok(weft_test_einsum_run(executor, &call, &result));
        assert_zeros(result);
        weft_array_release(result);
    }
    release(count, operands);
}

static void need_nothing_for_what_is_empty(void **state)
{
    const weft_einsum_options limited = {.memory_limit = 1}, left = {.order = WEFT_EINSUM_LEFT};
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    for (size_t i = 0; i < EMPTY; i++) {
        contract_what_is_empty(executor, &empty[i], &limited);
        contract_what_is_empty(executor, &empty[i], &left);
    }
    weft_executor_destroy(executor);
}

static void plan_what_is_empty(void **state)
{
    const int64_t large[] = {(int64_t)1 << 40, (int64_t)1 << 40}, none[] = {(int64_t)1 << 40, 0};
    const weft_ints shapes[] = {{2, large}, {2, large}, {2, none}};
    const weft_einsum_options limited = {.memory_limit = 1};
    weft_einsum_plan *plan;
    (void)state;
    weft_test_ok(weft_einsum_plan_create(NULL, "ij,jk,kl->il", 3, shapes, &limited, &plan));
    assert_true(weft_einsum_plan_log2_peak(plan) == 0);
    assert_true(weft_einsum_plan_log10_overhead(plan) == 0);
    assert_true(weft_einsum_plan_log10_flops(plan) < 1 && weft_einsum_plan_log2_size(plan) == 0);
    assert_int_equal(weft_einsum_plan_sliced(plan).count, 0);
    weft_einsum_plan_destroy(plan);
    weft_test_ok(weft_einsum_plan_create(NULL, "jk,kl->jl", 2, shapes + 1, &limited, &plan));
    assert_true(weft_einsum_plan_log2_peak(plan) == -INFINITY); /* there is no intermediate */
    weft_einsum_plan_destroy(plan);
}

/* ---- errors ---- */

static void name_what_is_wrong(void **state)
{
    weft_array *operands[MOST], *result = NULL;
    (void)state;
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    size_t count = make_operands(&problems[0], WEFT_F32, operands);
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT, .memory_limit = 1};
    weft_test_fails(weft_einsum_arrays(executor, problems[0].text, count, operands, &left, &result),
                    WEFT_INVALID_ARGUMENT, "a memory limit requires order AUTO");
    weft_report report = {.steps = 7};
    const weft_einsum_options small = {.memory_limit = 1, .report = &report}, slices = {.memory_limit = 64};
    if (on_llvm) { /* the reference runtime keeps no limit */
        weft_test_fails(weft_einsum_arrays(executor, problems[0].text, count, operands, &small, &result),
                        WEFT_OVER_LIMIT, "the memory limit is 1 byte, but ");
        assert_null(result);
        assert_int_equal(report.steps, 0);
    }
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 3, (int64_t[]){1, 2, 3}, &result));
    weft_test_fails(weft_einsum_arrays(executor, problems[0].text, count, operands, NULL, &result), WEFT_SHAPE_MISMATCH,
                    "output \"result\"");
    weft_array_release(result);
    result = NULL;
    const int64_t extents[] = {(int64_t)1 << 40, (int64_t)1 << 40};
    const weft_ints huge[] = {{2, extents}, {2, extents}, {2, extents}};
    weft_einsum_plan *plan;
    weft_test_fails(weft_einsum_plan_create(NULL, "ij,jk,ki->", 3, huge, &slices, &plan), WEFT_OVER_LIMIT,
                    "a loop over slices that keep it has 2^80.0 iterations");
    release(count, operands);
    weft_executor_destroy(executor);
}

static weft_status *contract_limited(weft_executor *executor, void *context)
{
    const problem p = {"ab,bc,cd,da->", {4, 5, 6, 7}};
    weft_array *operands[MOST], *result = NULL;
    (void)context;
    size_t count = make_operands(&p, WEFT_F32, operands);
    weft_status *status = contract(executor, &p, count, operands, 40, NULL, &result);
    weft_array_release(result);
    release(count, operands);
    return status;
}

static void survive_failed_allocations(void **state)
{
    (void)state;
    assert_true(weft_test_einsum_fail_each(contract_limited, NULL) > 20);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_limits),
        cmocka_unit_test(keep_narrow_limits),
        cmocka_unit_test(sum_short_floats),
        cmocka_unit_test(slice_what_is_summed_first),
        cmocka_unit_test(keep_limits_in_graphs),
        cmocka_unit_test(plan_within_limits),
        cmocka_unit_test(slice_large_outputs),
        cmocka_unit_test(slice_into_rows),
        cmocka_unit_test(run_a_sliced_tree),
        cmocka_unit_test(plan_what_is_narrow),
        cmocka_unit_test(plans_keep_limits),
        cmocka_unit_test(name_what_is_wrong),
        cmocka_unit_test(survive_failed_allocations),
        cmocka_unit_test(need_nothing_for_what_is_empty),
        cmocka_unit_test(plan_what_is_empty),
    };
    on_llvm = argc > 1 && strcmp(argv[1], "llvm") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
