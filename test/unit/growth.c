/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/inspect.h>
#include <weft/weft.h>

/* What large programs cost, counted in instructions, requests or bytes: never in time. */

static const char *runtime = "ref";

/* ---- runs with many arrays ---- */

enum { ELEMENTS = 4, MOST_ARRAYS = 128 };

/* Outputs that are inputs with an element changed, so that an output may be its input's array. */
typedef struct many {
    weft_executor *executor;
    weft_program *program;
    size_t count;
    float *data; /* all arrays lie in it */
    weft_array *inputs[MOST_ARRAYS], *outputs[MOST_ARRAYS];
    bool donated[MOST_ARRAYS];
} many;

static void many_open(many *m, size_t count)
{
    weft_graph *graph;
    weft_tensor results[MOST_ARRAYS];
    *m = (many){.count = count, .data = calloc(16 * count * ELEMENTS, sizeof(float))};
    assert_non_null(m->data);
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor row = weft_constant(graph, WEFT_F32, WEFT_INTS(1), (const float[]){5});
    weft_tensor start = weft_constant(graph, WEFT_I64, WEFT_INTS(), (const int64_t[]){2});
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%zu", i);
        weft_tensor x = weft_input(graph, name, WEFT_F32, WEFT_SHAPE(ELEMENTS));
        results[i] = weft_dynamic_update_slice(x, row, WEFT_TENSORS(start), WEFT_INTS(0));
    }
    weft_test_ok(weft_compile(graph, (weft_tensors){count, results}, NULL, &m->program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &m->executor));
}

static weft_array *array_at(const many *m, size_t element)
{
    weft_array *array;
    weft_test_ok(
        weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){ELEMENTS}, NULL, m->data + element, NULL, NULL, &array));
    return array;
}

static weft_status *many_run(many *m)
{
    return weft_executor_run(m->executor, m->program,
                             &(weft_run){.runtime = runtime,
                                         .input_count = m->count,
                                         .inputs = m->inputs,
                                         .output_count = m->count,
                                         .outputs = m->outputs,
                                         .donated = m->donated});
}

static void many_drop(many *m)
{
    for (size_t i = 0; i < m->count; i++) {
        weft_array_release(m->inputs[i]);
        weft_array_release(m->outputs[i]);
        m->inputs[i] = m->outputs[i] = NULL;
    }
}

static void many_close(many *m)
{
    many_drop(m);
    weft_program_release(m->program);
    weft_executor_destroy(m->executor);
    free(m->data);
}

/* Every output in its input's array, in an order that is not that of addresses. */
static uint64_t run_in_place(size_t count, bool given)
{
    static many m;
    uint64_t instructions = 0;
    many_open(&m, count);
    for (size_t i = 0; i < count; i++) {
        m.inputs[i] = array_at(&m, (i * 7 % count) * ELEMENTS);
        m.donated[i] = true;
    }
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            weft_array_release(m.outputs[i]);
            m.outputs[i] = given ? weft_array_retain(m.inputs[i]) : NULL;
        }
        if (round > 0) weft_test_count_begin();
        weft_status *status = many_run(&m);
        if (round > 0) instructions = weft_test_count_end();
        weft_test_ok(status);
    }
    for (size_t i = 0; i < count; i++) assert_true(((float *)weft_array_data(m.outputs[i]))[2] == 5);
    many_close(&m);
    return instructions;
}

static void test_runs_cost_what_they_have(void **state)
{
    (void)state;
    if (strcmp(runtime, "ref") == 0) skip();
    for (int given = 0; given < 2; given++) {
        uint64_t few = run_in_place(16, given), more = run_in_place(48, given);
        if (few == 0) skip();
        if (more > 4 * few) fail_msg("16 arrays cost %zu instructions, 48 arrays %zu", (size_t)few, (size_t)more);
    }
}

/* ---- runs by name ---- */

enum { NAMES = 128 };

/* Instructions of the run. */
static uint64_t count_run(const many *m, const weft_run *run)
{
    weft_test_ok(weft_executor_run(m->executor, m->program, run));
    weft_test_count_begin();
    weft_status *status = weft_executor_run(m->executor, m->program, run);
    uint64_t instructions = weft_test_count_end();
    weft_test_ok(status);
    return instructions;
}

/* The same where inputs and outputs are given by name, the i-th name being that of number (i * step + 1) % NAMES. */
static uint64_t count_by_name(const many *m, size_t step)
{
    static char text[2 * NAMES][16];
    weft_named_array inputs[NAMES], outputs[NAMES];
    for (size_t i = 0; i < NAMES; i++) {
        size_t number = (i * step + 1) % NAMES;
        snprintf(text[i], sizeof text[i], "x%zu", number);
        snprintf(text[NAMES + i], sizeof text[i], "out%zu", number);
        inputs[i] = (weft_named_array){text[i], m->inputs[number]};
        outputs[i] = (weft_named_array){text[NAMES + i], m->outputs[number]};
    }
    weft_run run = {.runtime = runtime, .named_inputs = {NAMES, inputs}, .named_outputs = {NAMES, outputs}};
    return count_run(m, &run);
}

/* In no order does a name cost more the more there are. */
static void test_names_in_any_order(void **state)
{
    static many m;
    (void)state;
    if (strcmp(runtime, "ref") == 0) skip();
    many_open(&m, NAMES);
    for (size_t i = 0; i < NAMES; i++) {
        m.inputs[i] = array_at(&m, i * ELEMENTS);
        m.outputs[i] = array_at(&m, (NAMES + i) * ELEMENTS);
    }
    weft_run plain = {.runtime = runtime, .input_count = NAMES, .inputs = m.inputs};
    plain.output_count = NAMES;
    plain.outputs = m.outputs;
    uint64_t nameless = count_run(&m, &plain);
    for (size_t step = 1; step < NAMES; step += 42) {
        uint64_t named = count_by_name(&m, step);
        if (named > 2 * nameless)
            fail_msg("in order the run takes %zu instructions, by name with step %zu %zu", (size_t)nameless, step,
                     (size_t)named);
    }
    many_close(&m);
    if (nameless == 0) skip();
}

/* ---- overlaps ---- */

static bool meet(size_t x, size_t y)
{
    return x < y + ELEMENTS && y < x + ELEMENTS;
}

/* What the first pair of arrays that must not overlap is said to be; empty if there is none. */
static void expect(const many *m, const size_t *inputs, const size_t *outputs, char *out_text, size_t size)
{
    *out_text = '\0';
    for (size_t o = 0; o < m->count; o++) {
        for (size_t i = 0; i < m->count; i++) {
            if (!meet(outputs[o], inputs[i]) || m->donated[i]) continue;
            snprintf(out_text, size, "output \"out%zu\" overlaps input \"x%zu\", which is not donated", o, i);
            return;
        }
        for (size_t i = 0; i < o; i++) {
            if (!meet(outputs[o], outputs[i])) continue;
            snprintf(out_text, size, "outputs \"out%zu\" and \"out%zu\" overlap", i, o);
            return;
        }
    }
}

/* Random places, more or less crowded; results as if all inputs had been read before. */
static void try_places(many *m, unsigned *seed, size_t room)
{
    size_t inputs[MOST_ARRAYS], outputs[MOST_ARRAYS];
    float before[MOST_ARRAYS][ELEMENTS];
    char expected[128];
    bool crowded = rand_r(seed) % 2;
    for (size_t i = 0; i < 16 * m->count * ELEMENTS; i++) m->data[i] = (float)i;
    for (size_t i = 0; i < m->count; i++) {
        m->donated[i] = rand_r(seed) % 8 != 0 || !crowded;
        inputs[i] = (size_t)rand_r(seed) % room;
        outputs[i] = crowded ? (size_t)rand_r(seed) % room : (m->count - i) * ELEMENTS;
        if (rand_r(seed) % 4 == 0) inputs[i] = outputs[i];
        m->inputs[i] = array_at(m, inputs[i]);
        m->outputs[i] = array_at(m, outputs[i]);
        memcpy(before[i], m->data + inputs[i], sizeof before[i]);
        before[i][2] = 5;
    }
    expect(m, inputs, outputs, expected, sizeof expected);
    weft_status *status = many_run(m);
    if (*expected != '\0') weft_test_fails(status, WEFT_INVALID_ARGUMENT, expected);
    else weft_test_ok(status);
    for (size_t i = 0; *expected == '\0' && i < m->count; i++)
        assert_memory_equal(m->data + outputs[i], before[i], sizeof before[i]);
    many_drop(m);
}

static void test_overlaps(void **state)
{
    (void)state;
    static many m;
    unsigned seed = 1;
    many_open(&m, 12);
    for (int trial = 0; trial < 400; trial++) {
        size_t room = trial % 2 == 0 ? 15 * m.count * ELEMENTS : 20 * ELEMENTS;
        try_places(&m, &seed, room);
    }
    many_close(&m);
}

/* ---- building long chains ---- */

typedef weft_tensor (*link_function)(weft_tensor y, weft_tensor w);

static weft_tensor product(weft_tensor y, weft_tensor w)
{
    return weft_matmul(y, w);
}

/* The same through changes of shape. */
static weft_tensor folded_product(weft_tensor y, weft_tensor w)
{
    weft_tensor narrow = weft_narrow(w, 1, weft_extent_of(0), weft_extent_of(4));
    weft_tensor square = weft_narrow(narrow, 0, weft_extent_of(0), weft_extent_of(4));
    weft_tensor result = weft_matmul(weft_reshape(y, WEFT_SHAPE(2, 4)), square);
    return weft_reshape(weft_permute(result, WEFT_INTS(1, 0)), WEFT_SHAPE(8));
}

static weft_tensor shifted(weft_tensor y, weft_tensor w)
{
    weft_tensor halves[] = {weft_narrow(y, 0, weft_extent_of(4), weft_extent_of(4)),
                            weft_narrow(y, 0, weft_extent_of(0), weft_extent_of(4))};
    (void)w;
    return weft_concat((weft_tensors){2, halves}, 0);
}

static weft_tensor centred(weft_tensor y, weft_tensor w)
{
    (void)w;
    return weft_sub(y, weft_reduce_max(y, WEFT_INTS(0), true));
}

/* Requests of a run that builds a chain of so many links. */
static size_t build_chain(link_function function, size_t links)
{
    weft_test_allocator test;
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_array *inputs[2], *output = NULL;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(8));
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(8, 8));
    y = weft_add(y, weft_reduce_sum(w, WEFT_INTS(0), false));
    for (size_t i = 0; i < links; i++) y = function(y, w);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    weft_executor_options options = {.allocator = &test.allocator, .threads = 1};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, (const int64_t[]){8}, &inputs[0]));
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){8, 8}, &inputs[1]));
    for (size_t i = 0; i < 2; i++)
        memset(weft_array_data(inputs[i]), 0, (size_t)weft_array_count(inputs[i]) * sizeof(float));
    weft_run run = {.runtime = runtime, .input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &output};
    weft_test_ok(weft_executor_run(executor, program, &run));
    weft_array_release(output);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_test_allocator_check(&test);
    return atomic_load(&test.requests);
}

static void test_chains_are_built_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        link_function function;
    } chains[] = {{"product", product}, {"folded", folded_product}, {"shifted", shifted}, {"centred", centred}};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        size_t few = build_chain(chains[i].function, 100), more = build_chain(chains[i].function, 400);
        if (more > 6 * few) fail_msg("%s: 100 links take %zu requests, 400 take %zu", chains[i].name, few, more);
    }
}

/* ---- chains of slices of a symbolic extent, which may be 0 ---- */

static weft_tensor differences(weft_tensor y)
{
    return weft_sub(weft_at(y, WEFT_RANGE(1, WEFT_OPEN)), weft_at(y, WEFT_RANGE(WEFT_OPEN, -1)));
}

static weft_tensor inner(weft_tensor y)
{
    return weft_neg(weft_at(y, WEFT_RANGE(1, -1)));
}

static weft_tensor rolled(weft_tensor y)
{
    return weft_roll(weft_at(y, WEFT_RANGE(1, WEFT_OPEN)), WEFT_INTS(1), WEFT_INTS(0));
}

static weft_tensor thirds(weft_tensor y)
{
    return weft_neg(weft_at(y, WEFT_RANGE(2, WEFT_OPEN, 3)));
}

static weft_tensor repeated_last(weft_tensor y)
{
    return weft_concat(WEFT_TENSORS(y, weft_at(y, WEFT_RANGE(-1, WEFT_OPEN))), 0);
}

static weft_tensor all_but_last(weft_tensor y)
{
    weft_extent n = weft_tensor_extent(y, 0);
    return weft_neg(weft_at(y, WEFT_RANGE(0, weft_extent_sub(n, weft_extent_of(1)))));
}

static weft_tensor pairs(weft_tensor y)
{
    weft_extent two = weft_extent_of(2), half = weft_extent_div(weft_tensor_extent(y, 0), two);
    weft_extent even = weft_extent_mul(half, two);
    return weft_add(weft_at(y, WEFT_RANGE(0, even, 2)), weft_at(y, WEFT_RANGE(1, even, 2)));
}

/* Requests for memory of tracing and compiling that many links, and the length of the extent's text. */
static size_t slice_chain(weft_tensor (*link)(weft_tensor y), size_t links, size_t *out_length)
{
    weft_test_allocator test;
    weft_graph *graph;
    weft_program *program;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_ok(weft_graph_create(&(weft_graph_options){.allocator = &test.allocator}, &graph));
    weft_tensor y = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 0, 1 << 30)));
    for (size_t i = 0; i < links; i++) y = link(y);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    *out_length = weft_extent_print(weft_tensor_extent(y, 0), NULL, 0);
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_test_allocator_check(&test);
    return atomic_load(&test.requests);
}

static void test_chains_of_slices(void **state)
{
    (void)state;
    if (strcmp(runtime, "ref") != 0) skip();
    static const struct {
        const char *name;
        weft_tensor (*link)(weft_tensor y);
    } chains[] = {{"differences", differences},     {"inner", inner},   {"rolled", rolled},
                  {"thirds", thirds},               {"pairs", pairs},   {"all but last", all_but_last},
                  {"repeated last", repeated_last}};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        size_t short_length, length;
        size_t few = slice_chain(chains[i].link, 12, &short_length);
        size_t more = slice_chain(chains[i].link, 96, &length);
        if (length > 24 || short_length > 24)
            fail_msg("%s: extents of %zu and %zu characters", chains[i].name, short_length, length);
        if (more > 32 * few) fail_msg("%s: 12 links take %zu requests, 96 take %zu", chains[i].name, few, more);
    }
}

/* Requests for memory until two sums of so many minima and maxima are compared and compiled. */
static size_t compare_sums(int count)
{
    weft_test_allocator test;
    weft_graph *graph;
    weft_program *program;
    char name[24];
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_ok(weft_graph_create(&(weft_graph_options){.allocator = &test.allocator}, &graph));
    weft_extent before = weft_symbol(graph, "first", 0, 1000), low = before, high = before;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "s%d", i);
        weft_extent next = weft_symbol(graph, name, 0, 1000);
        high = weft_extent_add(high, weft_extent_max(next, before));
        low = weft_extent_add(low, weft_extent_min(next, before));
        before = next;
    }
    assert_true(weft_require_at_most(graph, low, high, "low <= high"));
    assert_true(weft_require_at_most(graph, high, weft_extent_mul(low, weft_extent_of(2)), "high <= 2 low"));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_extent_tensor(graph, high)), NULL, &program));
    weft_program_release(program);
    weft_graph_destroy(graph);
    return atomic_load(&test.requests);
}

/* Each term of a sum is looked at with the others as they are, not in each form that their subsets have. */
static void test_sums_of_minima(void **state)
{
    (void)state;
    size_t few = compare_sums(4), more = compare_sums(16);
    if (more > 32 * few) fail_msg("4 terms take %zu requests, 16 take %zu", few, more);
}

/* An extent that has no short form is refused where its text gets too long. */
static void test_long_extents_are_refused(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program = NULL;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 0, 1 << 30)));
    for (size_t i = 0; i < 100; i++) y = weft_concat(WEFT_TENSORS(y, weft_at(y, WEFT_RANGE(0, WEFT_OPEN, 2))), 0);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(y), NULL, &program), WEFT_UNSUPPORTED, "written out");
    weft_graph_destroy(graph);
}

/* ---- constants ---- */

enum { ROWS = 1024, COLUMNS = 1024, CONSTANT_BYTES = ROWS * COLUMNS * sizeof(float) };

static void fill_constant(float *data)
{
    for (size_t i = 0; i < ROWS * COLUMNS; i++) data[i] = (float)(i % 251);
}

/* A product with the constant, and its first elements, of a constant of another shape. */
static weft_tensor use_constant(weft_graph *graph, const float *data)
{
    weft_tensor w = weft_constant(graph, WEFT_F32, WEFT_INTS(ROWS, COLUMNS), data);
    weft_tensor again = weft_constant(graph, WEFT_F32, WEFT_INTS(ROWS, COLUMNS), data);
    assert_int_equal(w.node, again.node);
    weft_tensor column = weft_constant(graph, WEFT_F32, WEFT_INTS(ROWS * COLUMNS, 1), data);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(COLUMNS));
    return weft_add(weft_matmul(w, x), weft_narrow(weft_reshape(column, WEFT_SHAPE(ROWS * COLUMNS)), 0,
                                                   weft_extent_of(0), weft_extent_of(ROWS)));
}

static void check_product(weft_executor *executor, weft_program *program)
{
    weft_array *x, *output = NULL;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, (const int64_t[]){COLUMNS}, &x));
    for (size_t i = 0; i < COLUMNS; i++) ((float *)weft_array_data(x))[i] = i == 3;
    weft_run run = {.runtime = runtime, .input_count = 1, .inputs = &x, .output_count = 1, .outputs = &output};
    weft_test_ok(weft_executor_run(executor, program, &run));
    for (size_t i = 0; i < ROWS; i++)
        assert_true(((float *)weft_array_data(output))[i] == (float)((i * COLUMNS + 3) % 251 + i % 251));
    weft_array_release(output);
    weft_array_release(x);
}

/* One copy of the bytes, from tracing to the end of the run; its text is parsed to the same program. */
static void test_constants_are_one_copy(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_graph *graph;
    weft_module *module;
    weft_program *program, *second;
    weft_executor *executor;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    float *data = malloc(CONSTANT_BYTES);
    assert_non_null(data);
    fill_constant(data);
    weft_test_ok(weft_graph_create(&(weft_graph_options){.allocator = &test.allocator}, &graph));
    weft_tensor y = use_constant(graph, data);
    free(data);
    assert_in_range(atomic_load(&test.most_bytes), CONSTANT_BYTES, CONSTANT_BYTES + CONSTANT_BYTES / 8);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y, y), NULL, &second));
    weft_graph_destroy(graph);
    weft_program_release(second);
    weft_executor_options options = {.allocator = &test.allocator, .threads = 1};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    check_product(executor, program);
    /* The reference runtime keeps every value. */
    if (strcmp(runtime, "ref") != 0)
        assert_in_range(atomic_load(&test.most_bytes), CONSTANT_BYTES, CONSTANT_BYTES + CONSTANT_BYTES / 4);
    assert_in_range(weft_program_bytes(program), CONSTANT_BYTES, CONSTANT_BYTES + CONSTANT_BYTES / 8);
    const char *text = weft_program_text(program);
    assert_ptr_equal(text, weft_program_text(program));
    weft_test_ok(weft_graph_parse("program", text, strlen(text), NULL, 0, NULL, &module));
    weft_program_release(program);
    weft_test_ok(weft_compile(module->graph, module->outputs, NULL, &program));
    weft_module_destroy(module);
    check_product(executor, program);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_test_allocator_check(&test);
}

/* Every allocation fails once. */
static weft_status *compile_constant(const weft_allocator *allocator, void *context)
{
    weft_graph *graph;
    weft_program *program = NULL;
    (void)context;
    float data[300];
    for (size_t i = 0; i < 300; i++) data[i] = (float)i;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_tensor a = weft_constant(graph, WEFT_F32, WEFT_INTS(300), data);
    weft_tensor b = weft_constant(graph, WEFT_F32, WEFT_INTS(3, 100), data);
    weft_status *status =
        weft_compile(graph, WEFT_TENSORS(weft_add(weft_reshape(b, WEFT_SHAPE(300)), a)), NULL, &program);
    weft_graph_destroy(graph);
    if (status == NULL && weft_program_text(program) == NULL)
        status = weft_status_create(allocator, WEFT_OUT_OF_MEMORY, "test", "no text");
    weft_program_release(program);
    return status;
}

static void test_constants_without_memory(void **state)
{
    (void)state;
    weft_test_fail_each(compile_constant, NULL);
}

/* A chain over many arrays is cut into a few kernels, each of as many arrays as fit. */
static void test_chains_over_many_arrays(void **state)
{
    enum { COUNT = 1000 };
    static weft_array *inputs[COUNT];
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_array *output = NULL;
    weft_report report;
    (void)state;
    if (strcmp(runtime, "ref") == 0) skip();
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor sum = weft_scalar(graph, WEFT_F32, 1);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        sum = weft_add(sum, weft_input(graph, name, WEFT_F32, WEFT_SHAPE(1)));
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, (const int64_t[]){1}, &inputs[i]));
        *(float *)weft_array_data(inputs[i]) = 2;
    }
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(sum), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_run run = {.input_count = COUNT, .inputs = inputs, .output_count = 1, .outputs = &output, .report = &report};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_true(*(float *)weft_array_data(output) == 2 * COUNT + 1);
    assert_in_range(report.steps, COUNT / 128, COUNT / 32);
    for (int i = 0; i < COUNT; i++) weft_array_release(inputs[i]);
    weft_array_release(output);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- many axes ---- */

/* Kernels over 2^40 points, in an order that wants a tile: looking for one takes no step for each of them. */
static void test_tiles_of_long_axes(void **state)
{
    enum { RANK = 40 };
    weft_graph *graph;
    weft_program *program;
    weft_extent extents[RANK];
    int64_t order[RANK];
    char *text;
    (void)state;
    for (int i = 0; i < RANK; i++) {
        extents[i] = weft_extent_of(2);
        order[i] = (i * 7 + 3) % RANK;
    }
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_shape shape = {RANK, extents};
    weft_ints permutation = {RANK, order};
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(2, 2));
    weft_tensor x = weft_permute(weft_input(graph, "x", WEFT_F32, shape), permutation);
    for (int i = 0; i < 4; i++) {
        x = weft_reshape(weft_permute(x, permutation), WEFT_SHAPE((int64_t)1 << (RANK - 1), 2));
        x = weft_reshape(weft_matmul(x, w), shape);
    }
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, NULL, &text));
    weft_text_destroy(text);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    if (argc > 1) runtime = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_cost_what_they_have), cmocka_unit_test(test_names_in_any_order),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_chains_of_slices),         cmocka_unit_test(test_long_extents_are_refused),
        cmocka_unit_test(test_sums_of_minima),           cmocka_unit_test(test_chains_are_built_at_once),
        cmocka_unit_test(test_tiles_of_long_axes),       cmocka_unit_test(test_chains_over_many_arrays),
        cmocka_unit_test(test_constants_are_one_copy),   cmocka_unit_test(test_constants_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
