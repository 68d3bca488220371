/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of contractions that stay nodes: against those of lowered ones, what they cost, limits, caches, errors. */
#include "test/einsum/einsum.h"
#include "test/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/gradient.h>
#include <weft/weft.h>

enum { MOST = 8, LETTERS = 26 };

/* Operand i has extents[l] for each letter l of its term. */
typedef struct problem {
    const char *text;
    int64_t extents[LETTERS];
} problem;

/* How the extents are known, and how the contraction is done. */
typedef struct way {
    bool symbolic, keep; /* symbols for extents; nodes over them stay */
    const weft_einsum_options *options;
} way;

/* ---- programs ---- */

static weft_extent extent_of(weft_graph *graph, const problem *p, char letter, const way *w)
{
    const char name[] = {letter, '\0'};
    int64_t extent = p->extents[letter - 'a'];
    return w->symbolic ? weft_symbol(graph, name, 0, 1000) : weft_extent_of(extent);
}

static size_t trace_operands(weft_graph *graph, const problem *p, const way *w, weft_tensor *out_operands)
{
    size_t count = 0;
    for (const char *at = p->text; *at != '-'; at += *at == ',') {
        weft_extent extents[MOST];
        size_t rank = 0;
        const char name[] = {'x', (char)('0' + count), '\0'};
        for (; *at >= 'a' && *at <= 'z'; at++) extents[rank++] = extent_of(graph, p, *at, w);
        out_operands[count++] = weft_input(graph, name, WEFT_F64, (weft_shape){rank, extents});
    }
    return count;
}

/* Outputs: the gradients; then the result if `with_result`. */
static weft_program *compile(const problem *p, const way *w, bool with_result)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor operands[MOST + 1], results[MOST + 1];
    const weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = w->keep};
    weft_test_ok(weft_graph_create(NULL, &graph));
    size_t count = trace_operands(graph, p, w, operands);
    results[count] = weft_einsum(p->text, (weft_tensors){count, operands}, w->options);
    operands[count] = weft_input(graph, "g", WEFT_F64, weft_tensor_shape(results[count]));
    weft_vjp((weft_tensors){1, &results[count]}, (weft_tensors){1, &operands[count]}, (weft_tensors){count, operands},
             results);
    weft_test_ok(weft_compile(graph, (weft_tensors){count + with_result, results}, &policy, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- arrays ---- */

static uint64_t random_state = 1;

static weft_array *draw_array(size_t rank, const int64_t *shape)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, rank, shape, &array));
    for (int64_t i = 0; i < weft_array_count(array); i++)
        ((double *)weft_array_data(array))[i] = weft_test_real(&random_state);
    return array;
}

/* One for each term, that of the result included. */
static size_t draw_arrays(const problem *p, weft_array **out_arrays)
{
    size_t count = 0;
    for (const char *at = p->text; *at != '\0' || count == 0; at += strspn(at, ",->")) {
        int64_t shape[MOST];
        size_t rank = 0;
        for (; *at >= 'a' && *at <= 'z'; at++) shape[rank++] = p->extents[*at - 'a'];
        out_arrays[count++] = draw_array(rank, shape);
        if (strcmp(at, "->") == 0) out_arrays[count++] = draw_array(0, NULL);
    }
    return count;
}

static void release(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) {
        weft_array_release(arrays[i]);
        arrays[i] = NULL;
    }
}

static void assert_near(const problem *p, const weft_array *got, const weft_array *wanted)
{
    const double *a = weft_array_data((weft_array *)got), *b = weft_array_data((weft_array *)wanted);
    double scale = 0;
    assert_int_equal(weft_array_count(got), weft_array_count(wanted));
    for (int64_t i = 0; i < weft_array_count(got); i++) scale = fmax(scale, fabs(b[i]));
    for (int64_t i = 0; i < weft_array_count(got); i++)
        if (!(fabs(a[i] - b[i]) <= 1e-9 * scale))
            fail_msg("%s: element %d is %.9g instead of %.9g", p->text, (int)i, a[i], b[i]);
}

/* A program has those inputs that matter: "x0", .. and "g", which is the last of `arrays`. */
static weft_status *run(weft_executor *executor, weft_program *program, size_t count, weft_array **arrays,
                        weft_array **outputs, weft_report *report)
{
    weft_array *inputs[MOST + 1];
    for (size_t i = 0; i < weft_program_input_count(program); i++) {
        const char *name = weft_program_input_name(program, i);
        inputs[i] = arrays[name[0] == 'g' ? count - 1 : (size_t)(name[1] - '0')];
    }
    return weft_executor_run(executor, program,
                             &(weft_run){.input_count = weft_program_input_count(program),
                                         .inputs = inputs,
                                         .output_count = weft_program_output_count(program),
                                         .outputs = outputs,
                                         .report = report});
}

/* ---- results ---- */

static bool on_llvm;

static const problem problems[] = {
    {"ab,bc,cd,de->ae", {4, 7, 3, 5, 6}},
    {"ab,bc,ca->", {4, 5, 3}},
    {"ab,ac,ad->a", {6, 3, 4, 5}},        /* a hyperedge */
    {"abc,abd,cd->abcd", {3, 4, 5, 2}},   /* in the output too */
    {"aab,bc,cdd->ac", {3, 4, 5, 6}},     /* diagonals */
    {"ab,cd,ef->fa", {3, 4, 2, 3, 5, 2}}, /* outer products, and sums of one operand's own labels */
    {"ab,ab,bc,cd->da", {5, 6, 4, 3}},    /* operands with the same labels */
    {"a,a,a->", {7}},
    {"abcd,cdef,efgh,aghi->bi", {4, 3, 4, 3, 4, 3, 2, 3, 4}},
    {"ab,bc,cd->aad", {0, 3, 4, 2}}, /* nothing there; the output has a diagonal */
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void agree_with(const problem *p, const way *w, weft_executor *executor, weft_report *report)
{
    const way plain = {.options = &(weft_einsum_options){.order = WEFT_EINSUM_LEFT}};
    weft_program *wanted_program = compile(p, &plain, true), *program = compile(p, w, true);
    weft_array *inputs[MOST + 1], *wanted[MOST + 1] = {NULL}, *got[MOST + 1] = {NULL};
    size_t count = draw_arrays(p, inputs);
    weft_test_ok(run(executor, wanted_program, count, inputs, wanted, NULL));
    weft_test_ok(run(executor, program, count, inputs, got, report));
    for (size_t i = 0; i < count; i++) assert_near(p, got[i], wanted[i]);
    release(count, inputs);
    release(count, wanted);
    release(count, got);
    weft_program_release(wanted_program);
    weft_program_release(program);
}

static void agree_with_lowered_ones(void **state)
{
    (void)state;
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT}, limited = {.memory_limit = 1 << 20};
    const way ways[] = {{.symbolic = true},
                        {.symbolic = true, .keep = true, .options = &left},
                        {.options = &limited},
                        {.symbolic = true, .options = &limited}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        weft_executor *executor = weft_test_einsum_executor(on_llvm);
        for (size_t i = 0; i < PROBLEMS; i++) agree_with(&problems[i], &ways[k], executor, NULL);
        weft_executor_destroy(executor);
    }
}

/* ---- limits ---- */

static const problem large[] = {
    {"abcd,cdef,efgh,aghi->bi", {12, 12, 12, 12, 12, 12, 12, 12, 12}},
    {"ab,bc,cd,de,ef,fg,ga->", {64, 48, 80, 64, 48, 80, 64}},
    {"axy,bxz,cyz,aw,bw,cw->abc", {8, 12, 10, ['w' - 'a'] = 16, 16, 16, 16}},
    {"ab,bc,xy,yz->acxz", {20, 30, 20, ['x' - 'a'] = 8, 9, 10}},
};

/* Twice the limit is enough, or the message says that nothing was found. */
static void keep_limits_of(const problem *p, weft_executor *executor)
{
    weft_status *status = NULL;
    weft_report report;
    weft_array *inputs[MOST + 1], *got[MOST + 1] = {NULL};
    size_t count = draw_arrays(p, inputs);
    for (uint64_t limit = 1 << 19; status == NULL; limit /= 4) {
        const weft_einsum_options options = {.memory_limit = limit};
        weft_program *program = compile(p, &(way){.options = &options}, false);
        status = run(executor, program, count, inputs, got, &report);
        if (status == NULL && report.peak_bytes > 2 * limit)
            fail_msg("%s: %zu bytes, but the limit is %d", p->text, report.peak_bytes, (int)limit);
        if (limit == 1 << 19) weft_test_ok(status);
        weft_program_release(program);
        release(count - 1, got);
    }
    weft_test_fails(status, WEFT_OVER_LIMIT,
                    "but the least that its derivative, which may take 2 times as much, was found");
    release(count, inputs);
}

static void keep_limits(void **state)
{
    (void)state;
    if (!on_llvm) skip();
    weft_executor *executor = weft_test_einsum_executor(true);
    const way limited = {.options = &(weft_einsum_options){.memory_limit = 1 << 17}};
    weft_report report;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        agree_with(&large[i], &limited, executor, &report);
        assert_in_range(report.peak_bytes, 1, 2 << 17);
        keep_limits_of(&large[i], executor);
    }
    weft_executor_destroy(executor);
}

/* ---- what it costs ---- */

static size_t count_in(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) count++;
    return count;
}

/* A chain of square matrices: every step multiplies as often. */
static void cost_three_times_the_steps(void **state)
{
    (void)state;
    enum { LENGTH = 64 };
    weft_graph *graph;
    weft_program *program;
    weft_tensor x[LENGTH], results[LENGTH + 1];
    int64_t labels[LENGTH][2];
    weft_ints lists[LENGTH];
    weft_test_ok(weft_graph_create(NULL, &graph));
    for (int64_t i = 0; i < LENGTH; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", (int)i);
        x[i] = weft_input(graph, name, WEFT_F64, WEFT_SHAPE(4, 4));
        labels[i][0] = i;
        labels[i][1] = i + 1;
        lists[i] = (weft_ints){2, labels[i]};
    }
    results[LENGTH] = weft_einsum_labels((weft_tensors){LENGTH, x}, lists, WEFT_INTS(0, LENGTH), NULL);
    weft_vjp((weft_tensors){1, &results[LENGTH]}, WEFT_TENSORS(weft_input(graph, "g", WEFT_F64, WEFT_SHAPE(4, 4))),
             (weft_tensors){LENGTH, x}, results);
    weft_test_ok(weft_compile(graph, (weft_tensors){LENGTH + 1, results}, NULL, &program));
    assert_int_equal(count_in(weft_program_text(program), "= dot("), 3 * (LENGTH - 1));
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* The gradient takes the order that was found for the contraction, and stays one node. */
static void share_the_order(void **state)
{
    (void)state;
    weft_cache_counters plans, programs;
    const way symbolic = {.symbolic = true};
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    weft_program *program = compile(&problems[0], &symbolic, true);
    assert_int_equal(count_in(weft_program_text(program), "= einsum.einsum("), 1);
    assert_int_equal(count_in(weft_program_text(program), "= einsum.derivative("), 1);
    agree_with(&problems[0], &symbolic, executor, NULL);
    weft_test_ok(weft_einsum_cache_read(executor, WEFT_EINSUM_PLANS, &plans));
    weft_test_ok(weft_einsum_cache_read(executor, WEFT_EINSUM_PROGRAMS, &programs));
    assert_true(plans.entries == 1 && plans.misses == 1 && plans.hits == 1);
    assert_true(programs.entries == 2 && programs.misses == 2);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* A product with the Hessian, the gradient and the result take one node each, which shares what it computes. */
static void stay_one_node(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    weft_tensor x[MOST], outputs[2 * MOST + 1];
    weft_test_ok(weft_graph_create(NULL, &graph));
    size_t count = trace_operands(graph, &problems[1], &(way){.symbolic = true}, x);
    const weft_tensors wrt = {count, x};
    outputs[0] = weft_einsum(problems[1].text, wrt, NULL);
    weft_grad(outputs[0], wrt, outputs + 1);
    weft_hvp(outputs[0], wrt, wrt, outputs + 1 + count);
    weft_test_ok(weft_compile(graph, (weft_tensors){1 + 2 * count, outputs}, NULL, &program));
    assert_int_equal(count_in(weft_program_text(program), "= einsum.einsum("), 1);
    assert_int_equal(count_in(weft_program_text(program), "= einsum.derivative("), 2);
    weft_program_release(program);
    weft_jvp(WEFT_TENSORS(outputs[0]), wrt, wrt, outputs);
    weft_test_ok(weft_compile(graph, (weft_tensors){1, outputs}, NULL, &program));
    assert_int_equal(count_in(weft_program_text(program), "= einsum.derivative("), 1);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* ---- operands that are computed from each other ---- */

/* What one output is, of rank 1 or 0, for inputs "x" and "t" of two elements each. */
static void evaluate(weft_graph *graph, weft_tensor output, double *out_values)
{
    double data[2][2] = {{2, 3}, {1, 10}};
    const int64_t shape[] = {2};
    weft_program *program;
    weft_array *inputs[2], *got[1] = {NULL};
    weft_test_ok(weft_compile(graph, (weft_tensors){1, &output}, NULL, &program));
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++) {
        double *values = data[weft_program_input_name(program, i)[0] == 't'];
        weft_test_ok(weft_array_wrap(NULL, WEFT_F64, 1, shape, NULL, values, NULL, NULL, &inputs[i]));
    }
    weft_test_ok(weft_executor_run(
        executor, program, &(weft_run){.input_count = count, .inputs = inputs, .output_count = 1, .outputs = got}));
    memcpy(out_values, weft_array_data(got[0]), (size_t)weft_array_count(got[0]) * sizeof *out_values);
    release(count, inputs);
    release(1, got);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

/* One that is held without a tangent has none, although it is computed from another that has one. */
static void hold_operands(void **state)
{
    (void)state;
    for (size_t symbolic = 0; symbolic < 2; symbolic++) {
        weft_graph *graph;
        weft_tensor slope;
        double value;
        weft_test_ok(weft_graph_create(NULL, &graph));
        weft_extent n = symbolic ? weft_symbol(graph, "n", 1, 9) : weft_extent_of(2);
        weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(n)),
                    t = weft_input(graph, "t", WEFT_F64, WEFT_SHAPE(n)), y = weft_mul(x, x);
        weft_tensor sum = weft_einsum("i,i,i->", WEFT_TENSORS(x, y, y), NULL);
        weft_jvp(WEFT_TENSORS(sum), WEFT_TENSORS(x, y), WEFT_TENSORS(t, WEFT_NO_TENSOR), &slope);
        evaluate(graph, slope, &value);
        assert_true(value == 1 * 16 + 10 * 81);
        weft_graph_destroy(graph);
    }
}

/* ---- nodes as a caller may write them ---- */

static weft_tensor trace_node(weft_graph *graph, weft_tensors operands, weft_ints passes)
{
    static const char text[] = "i,ij,j->";
    const weft_attr attrs[] = {{.data = text, .size = strlen(text)},
                               {.data = "left", .size = 4},
                               {.data = NULL},
                               {.data = NULL},
                               {.data = ""},
                               {.ints = passes}};
    return weft_trace(graph, "einsum.derivative", operands, attrs);
}

/* Both gradients of an operand that is there twice. */
static void tell_repeated_operands_apart(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_program *program;
    double x_data[] = {2, 3}, a_data[] = {1, 10, 100, 1000}, g_data[] = {1};
    const int64_t shape[] = {2, 2};
    weft_array *inputs[3], *got[2] = {NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_einsum_extension()));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(2)),
                a = weft_input(graph, "a", WEFT_F64, WEFT_SHAPE(2, 2));
    weft_tensor g = weft_input(graph, "g", WEFT_F64, WEFT_SHAPE());
    weft_tensor first = trace_node(graph, WEFT_TENSORS(x, a, x, g), WEFT_INTS(0, 1, 0, 2, 0, 2)), second = first;
    second.output = 1;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(first, second), NULL, &program));
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, 1, shape, NULL, x_data, NULL, NULL, &inputs[0]));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, 2, shape, NULL, a_data, NULL, NULL, &inputs[1]));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, 0, NULL, NULL, g_data, NULL, NULL, &inputs[2]));
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = 3, .inputs = inputs, .output_count = 2, .outputs = got}));
    const double *rows = weft_array_data(got[0]), *columns = weft_array_data(got[1]);
    assert_true(rows[0] == 2 + 30 && rows[1] == 200 + 3000);
    assert_true(columns[0] == 2 + 300 && columns[1] == 20 + 3000);
    release(3, inputs);
    release(2, got);
    weft_program_release(program);
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
}

/* Its inputs are independent of each other, whatever they are computed from. */
static void lower_apart(void **state)
{
    (void)state;
    weft_graph *graph;
    double rows[2];
    static const double matrix[] = {1, 10, 100, 1000};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_einsum_extension()));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(2)), y = weft_mul(x, x);
    weft_tensor a = weft_constant(graph, WEFT_F64, WEFT_INTS(2, 2), matrix), one = weft_scalar(graph, WEFT_F64, 1);
    weft_tensor made = trace_node(graph, WEFT_TENSORS(x, a, y, one), WEFT_INTS(0, 1, 0, 1, 0));
    evaluate(graph, made, rows);
    assert_true(rows[0] == 4 + 90 && rows[1] == 400 + 9000);
    weft_graph_destroy(graph);
}

static void fails(weft_graph *graph, weft_tensor tensor, weft_code code, const char *sentence)
{
    assert_false(weft_tensor_is_valid(tensor));
    weft_test_fails(weft_status_clone(NULL, weft_graph_error(graph)), code, sentence);
    weft_graph_clear_error(graph);
}

static void refuse_other_nodes(void **state)
{
    (void)state;
    weft_graph *graph;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_graph_register(graph, weft_einsum_extension()));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(2)),
                a = weft_input(graph, "a", WEFT_F64, WEFT_SHAPE(2, 2));
    weft_tensor g = weft_input(graph, "g", WEFT_F64, WEFT_SHAPE()), f = weft_input(graph, "f", WEFT_F32, WEFT_SHAPE());
    weft_tensor y = weft_input(graph, "y", WEFT_F64, WEFT_SHAPE(3));
    const weft_tensors usual = WEFT_TENSORS(x, a, x, g);
    fails(graph, trace_node(graph, usual, WEFT_INTS(0, 1, 0, 2, 0, 3)), WEFT_INVALID_ARGUMENT,
          "einsum.derivative: pass 0 has 3 at 1 of its inputs, but must have rising numbers below 3");
    fails(graph, trace_node(graph, usual, WEFT_INTS(0, 1, 0, 2, 1, 1)), WEFT_INVALID_ARGUMENT, "has 1 at 1 of its");
    fails(graph, trace_node(graph, usual, WEFT_INTS(0, 1, 1, 1, 1)), WEFT_INVALID_ARGUMENT,
          "pass 0 has 1 at 0 of its results, but must have rising numbers below 1");
    fails(graph, trace_node(graph, usual, WEFT_INTS(0, 1, 0, 0)), WEFT_INVALID_ARGUMENT, "pass 0 names no input");
    fails(graph, trace_node(graph, usual, WEFT_INTS(1, 1, -1)), WEFT_INVALID_ARGUMENT, "pass 0 has -1 at 0");
    fails(graph, trace_node(graph, usual, WEFT_INTS(0, 1, 0, 1, 0, 2)), WEFT_INVALID_ARGUMENT,
          "einsum.derivative: pass 1 must be 0 or 1, then lists of numbers, each after its length");
    fails(graph, trace_node(graph, usual, WEFT_INTS(1, 4, 0)), WEFT_INVALID_ARGUMENT, "pass 0 must be 0 or 1");
    fails(graph, trace_node(graph, WEFT_TENSORS(x, a, x, x), WEFT_INTS(0, 1, 0, 1, 0)), WEFT_SHAPE_MISMATCH,
          "input 3 has rank 1 but what it is the derivative of 0");
    fails(graph, trace_node(graph, WEFT_TENSORS(x, a, x, y), WEFT_INTS(1, 1, 0)), WEFT_SHAPE_MISMATCH,
          "axis 0 of input 3 has extent 3 but of what it is the derivative of 2");
    fails(graph, trace_node(graph, WEFT_TENSORS(x, a, x, f), WEFT_INTS(0, 1, 0, 1, 0)), WEFT_DTYPE_MISMATCH, "f32");
    fails(graph, trace_node(graph, WEFT_TENSORS(x), WEFT_INTS(0, 1, 0, 1, 0)), WEFT_INVALID_ARGUMENT,
          "1 of 1 inputs are for its passes, which leaves no operand");
    weft_graph_destroy(graph);
}

/* ---- without memory ---- */

static weft_status *run_all(weft_executor *executor, void *context)
{
    weft_array *inputs[MOST + 1], *got[MOST + 1] = {NULL};
    size_t count = draw_arrays(&problems[0], inputs);
    weft_status *status = run(executor, context, count, inputs, got, NULL);
    release(count, inputs);
    release(count, got);
    return status;
}

static weft_status *trace_all(const weft_allocator *allocator, void *context)
{
    const way symbolic = {.symbolic = true};
    weft_graph *graph;
    weft_tensor x[MOST], gradients[MOST], products[MOST];
    (void)context;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    size_t count = trace_operands(graph, &problems[1], &symbolic, x);
    const weft_tensors wrt = {count, x};
    weft_tensor loss = weft_einsum(problems[1].text, wrt, NULL);
    weft_grad(loss, wrt, gradients);
    weft_vjp((weft_tensors){count, gradients}, wrt, wrt, products);
    weft_hvp(loss, wrt, wrt, products);
    weft_status *status = weft_status_clone(NULL, weft_graph_error(graph));
    weft_graph_destroy(graph);
    return status;
}

static void survive_without_memory(void **state)
{
    (void)state;
    weft_program *program = compile(&problems[0], &(way){.symbolic = true}, true);
    assert_true(weft_test_einsum_fail_each(run_all, program) > 50);
    assert_true(weft_test_fail_each(trace_all, NULL) > 50);
    weft_program_release(program);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_lowered_ones),
        cmocka_unit_test(keep_limits),
        cmocka_unit_test(cost_three_times_the_steps),
        cmocka_unit_test(share_the_order),
        cmocka_unit_test(stay_one_node),
        cmocka_unit_test(hold_operands),
        cmocka_unit_test(tell_repeated_operands_apart),
        cmocka_unit_test(lower_apart),
        cmocka_unit_test(refuse_other_nodes),
        cmocka_unit_test(survive_without_memory),
    };
    on_llvm = argc > 1 && strcmp(argv[1], "llvm") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
