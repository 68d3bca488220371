/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <string.h>
#include <weft/inspect.h>
#include <weft/weft.h>
#include "lib/pass/compile.h"
#include "runtime/program/program.h"

static weft_graph *graph_of(const weft_allocator *allocator)
{
    weft_graph *graph;
    weft_test_ok(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    return graph;
}

/* The value of slot `slot` for the symbols' values. */
static int64_t slot_value(const weft_program *program, uint32_t slot, const int64_t *symbols)
{
    int64_t values[64];
    assert_true(program->formulas.count <= 64);
    weft_formulas_evaluate(&program->formulas, symbols, values);
    return values[slot];
}

static void program_describes_its_interface(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_extent n = weft_symbol(graph, "n", 1, 100), m = weft_symbol(graph, "m", 1, 100);
    weft_symbol(graph, "nobody", 1, 2);
    weft_input(graph, "unused", WEFT_F64, WEFT_SHAPE(n));
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(m));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 2));
    weft_tensor sum = weft_add(weft_reduce_sum(x, WEFT_INTS(1), false), y);
    weft_program *program;
    const char *const names[] = {"total", NULL};
    weft_tensor twice = weft_concat(WEFT_TENSORS(sum, sum), 0);
    weft_test_ok(weft_compile_named(graph, WEFT_TENSORS(twice, y), names, NULL, &program));
    weft_graph_destroy(graph);

    assert_int_equal(weft_program_input_count(program), 2);
    assert_string_equal(weft_program_input_name(program, 0), "y");
    assert_string_equal(weft_program_input_name(program, 1), "x");
    assert_int_equal(weft_program_input_rank(program, 1), 2);
    assert_int_equal(weft_program_input_dtype(program, 1), WEFT_F32);
    assert_null(weft_program_input_name(program, 2));
    assert_int_equal(weft_program_output_count(program), 2);
    assert_string_equal(weft_program_output_name(program, 0), "total");
    assert_string_equal(weft_program_output_name(program, 1), "out1");
    assert_null(weft_program_output_name(program, 2));
    assert_int_equal(weft_program_output_rank(program, 2), 0);

    assert_int_equal(program->formulas.symbol_count, 2);
    assert_string_equal(program->formulas.symbols[0].name, "n");
    assert_string_equal(program->formulas.symbols[1].name, "m");
    const int64_t symbols[] = {7, 9};
    assert_int_equal(slot_value(program, program->inputs[0].extents[0], symbols), 9);
    assert_int_equal(slot_value(program, program->inputs[1].extents[0], symbols), 7);
    assert_int_equal(slot_value(program, program->inputs[1].extents[1], symbols), 2);
    assert_int_equal(slot_value(program, program->outputs[0].extents[0], symbols), 14);
    assert_int_equal(program->guard_count, 1);
    assert_true(program->guards[0].equal);
    assert_int_equal(slot_value(program, program->guards[0].a, symbols), 7);
    assert_int_equal(slot_value(program, program->guards[0].b, symbols), 9);
    assert_int_equal(program->family_count, 0);
    assert_non_null(strstr(weft_program_text(program), "return total = "));

    assert_ptr_equal(weft_program_retain(program), program);
    weft_program_release(program);
    assert_string_equal(weft_program_input_name(program, 0), "y");
    weft_program_release(program);
    weft_program_release(NULL);
}

static void input_survives_a_pass_that_drops_it(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 9)));
    weft_tensor yes = weft_scalar(graph, WEFT_BOOL, 1);
    weft_tensor chosen = weft_select(yes, x, weft_reduce_sum(y, WEFT_INTS(0), false));
    weft_program *program;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(chosen), NULL, &program));
    assert_int_equal(weft_program_input_count(program), 2);
    assert_string_equal(weft_program_input_name(program, 1), "y");
    assert_int_equal(program->formulas.symbol_count, 1);
    const weft_compiled *compiled = program->graph;
    assert_int_equal(compiled->outputs[0].node, compiled->inputs[0]);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

static void serials_differ(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_program *first, *second;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &first));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &second));
    assert_true(first->serial != second->serial);
    assert_string_equal(weft_program_text(first), weft_program_text(second));
    weft_program_release(first);
    weft_program_release(second);
    weft_graph_destroy(graph);
}

static void policy_names_passes(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_tensor y = weft_neg(weft_neg(x));
    weft_program *program;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), &(weft_policy){.passes = ""}, &program));
    assert_non_null(strstr(weft_program_text(program), "neg"));
    weft_program_release(program);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), &(weft_policy){.passes = " lower , simplify"}, &program));
    assert_null(strstr(weft_program_text(program), "neg"));
    weft_program_release(program);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(y), &(weft_policy){.passes = "lower,polish"}, &program),
                    WEFT_NOT_FOUND, "there is no pass 'polish'; the passes are lower, ");
    weft_graph_destroy(graph);
    assert_string_equal(weft_pass_names()[0], "lower");
}

static void misuse_is_said(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL), *other = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE());
    weft_tensor z = weft_input(other, "z", WEFT_F32, WEFT_SHAPE());
    weft_program *program;
    const char *const same[] = {"a", "a"}, *const clash[] = {"out1", NULL}, *const empty[] = {""};
    weft_test_fails(weft_compile(NULL, WEFT_TENSORS(x), NULL, &program), WEFT_INVALID_ARGUMENT, "graph is NULL");
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(), NULL, &program), WEFT_INVALID_ARGUMENT, "at least one output");
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(x, z), NULL, &program), WEFT_INVALID_ARGUMENT,
                    "output 1 belongs to another graph");
    weft_test_fails(weft_compile_named(graph, WEFT_TENSORS(x, x), same, NULL, &program), WEFT_INVALID_ARGUMENT,
                    "outputs 0 and 1 are both called 'a'");
    weft_test_fails(weft_compile_named(graph, WEFT_TENSORS(x, x), clash, NULL, &program), WEFT_INVALID_ARGUMENT,
                    "outputs 0 and 1 are both called 'out1'");
    weft_test_fails(weft_compile_named(graph, WEFT_TENSORS(x), empty, NULL, &program), WEFT_INVALID_ARGUMENT,
                    "output 0 has an empty name");
    weft_tensor failed = weft_add(x, weft_input(graph, "w", WEFT_F64, WEFT_SHAPE()));
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(failed), NULL, &program), WEFT_DTYPE_MISMATCH, "f64");
    weft_graph_clear_error(graph);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(failed), NULL, &program), WEFT_INVALID_ARGUMENT,
                    "output 0 is a failed tensor");
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(x), NULL, &program));
    weft_program_release(program);
    weft_graph_destroy(graph);
    weft_graph_destroy(other);
}

/* ---- an extension that lowers, one that stays, one that never ends ---- */

static weft_status *infer_same(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *lower_double(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                 weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs;
    out_tensors[0] = weft_add(inputs.items[0], inputs.items[0]);
    return NULL;
}

static weft_status *lower_quadruple(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs,
                                    weft_tensors inputs, weft_tensor *out_tensors)
{
    (void)op;
    weft_tensor once = weft_trace(graph, "sample.double", inputs, attrs);
    out_tensors[0] = weft_trace(graph, "sample.double", WEFT_TENSORS(once), attrs);
    return NULL;
}

static weft_status *lower_decline(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                  weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs, (void)inputs, (void)out_tensors;
    return NULL;
}

static weft_status *lower_forever(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                  weft_tensor *out_tensors)
{
    out_tensors[0] = weft_trace(graph, op->name, WEFT_TENSORS(weft_neg(inputs.items[0])), attrs);
    return NULL;
}

static weft_status *lower_fail(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                               weft_tensor *out_tensors)
{
    (void)op, (void)attrs, (void)inputs, (void)out_tensors;
    return weft_status_create(NULL, WEFT_UNSUPPORTED, "sample.fail", "this lowering of graph %s fails",
                              graph != NULL ? "x" : "");
}

static weft_status *lower_input(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                weft_tensor *out_tensors)
{
    (void)op, (void)attrs;
    weft_tensor more = weft_input(graph, "more", WEFT_F32, weft_tensor_shape(inputs.items[0]));
    out_tensors[0] = weft_add(inputs.items[0], more);
    return NULL;
}

static weft_status *kernel(const weft_kernel_context *context)
{
    (void)context;
    return NULL;
}

#define SAMPLE_OP(op, lowering)                                                                                        \
    {                                                                                                                  \
        .size = sizeof(weft_op_def), .name = "sample." op, .version = 1, .input_count = 1, .output_count = 1,          \
        .op_class = WEFT_CLASS_OPAQUE, .infer = infer_same, .lower = lowering, .kernel = kernel                        \
    }

static const weft_op_def sample_double = SAMPLE_OP("double", lower_double);
static const weft_op_def sample_quadruple = SAMPLE_OP("quadruple", lower_quadruple);
static const weft_op_def sample_decline = SAMPLE_OP("decline", lower_decline);
static const weft_op_def sample_forever = SAMPLE_OP("forever", lower_forever);
static const weft_op_def sample_fail = SAMPLE_OP("fail", lower_fail);
static const weft_op_def sample_input = SAMPLE_OP("input", lower_input);
static const weft_op_def *const sample_ops[] = {&sample_double,  &sample_quadruple, &sample_decline,
                                                &sample_forever, &sample_fail,      &sample_input};
static const weft_extension sample = {.size = sizeof(weft_extension),
                                      .abi_major = WEFT_ABI_MAJOR,
                                      .abi_minor = WEFT_ABI_MINOR,
                                      .family = "sample",
                                      .version = "1",
                                      .op_count = sizeof sample_ops / sizeof *sample_ops,
                                      .ops = sample_ops};

/* Compiles sample.`op` of an input with extent `extent`. */
static weft_status *compile_sample(const char *op, bool symbolic, const weft_policy *policy, weft_program **out_program)
{
    weft_graph *graph = graph_of(NULL);
    weft_test_ok(weft_graph_register(graph, &sample));
    weft_extent extent = symbolic ? weft_symbol(graph, "n", 1, 9) : weft_extent_of(3);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(extent));
    weft_tensor y = weft_tensor_locate((weft_trace)(graph, op, WEFT_TENSORS(x), NULL), NULL, "user.c", 7);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), policy, out_program);
    weft_graph_destroy(graph);
    return status;
}

static void extensions_lower_or_stay(void **state)
{
    (void)state;
    weft_program *program;
    weft_test_ok(compile_sample("sample.quadruple", true, NULL, &program));
    assert_null(strstr(weft_program_text(program), "sample"));
    assert_int_equal(program->family_count, 0);
    weft_program_release(program);

    weft_policy keep = {.size = sizeof keep, .keep_symbolic_extensions = true};
    weft_test_ok(compile_sample("sample.double", true, &keep, &program));
    assert_non_null(strstr(weft_program_text(program), "sample.double"));
    assert_int_equal(program->family_count, 1);
    assert_ptr_equal(program->families[0], &sample);
    weft_program_release(program);
    weft_test_ok(compile_sample("sample.double", false, &keep, &program));
    assert_null(strstr(weft_program_text(program), "sample"));
    weft_program_release(program);

    weft_test_ok(compile_sample("sample.decline", false, NULL, &program));
    assert_int_equal(program->family_count, 1);
    weft_program_release(program);
    weft_test_fails(compile_sample("sample.forever", false, NULL, &program), WEFT_INTERNAL,
                    "lowering does not end after 32 sweeps: lowering sample.forever makes that op again");
    weft_test_fails(compile_sample("sample.fail", false, NULL, &program), WEFT_UNSUPPORTED,
                    "this lowering of graph x fails (user.c:7)");
    weft_test_fails(
        compile_sample("sample.input", false, NULL, &program), WEFT_INVALID_ARGUMENT,
        "sample.input: its lowering makes an input, \"more\", but may only use the op's operands (user.c:7)");
}

static void trace_sample_input(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    weft_tensor y = (weft_trace)(index.graph, "sample.input", WEFT_TENSORS(carried[0]), NULL);
    out_next[0] = weft_tensor_locate(y, NULL, "body.c", 4);
}

static void lowerings_make_no_inputs_in_bodies(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_program *program;
    weft_test_ok(weft_graph_register(graph, &sample));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3));
    weft_tensor y = weft_fold(weft_extent_of(2), WEFT_TENSORS(x), trace_sample_input, NULL, NULL);
    weft_test_fails(
        weft_compile(graph, WEFT_TENSORS(y), NULL, &program), WEFT_INVALID_ARGUMENT,
        "sample.input: its lowering makes an input, \"more\", but may only use the op's operands (body.c:4)");
    weft_graph_destroy(graph);
}

/* It would get the user's input of that name. */
static void lowerings_name_no_inputs(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_program *program;
    weft_test_ok(weft_graph_register(graph, &sample));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3)),
                more = weft_input(graph, "more", WEFT_F32, WEFT_SHAPE(3));
    weft_tensor y = (weft_trace)(graph, "sample.input", WEFT_TENSORS(x), NULL);
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(weft_add(y, more)), NULL, &program), WEFT_INVALID_ARGUMENT,
                    "sample.input: its lowering makes an input, but may only use the op's operands");
    weft_graph_destroy(graph);
}

/* ---- what lowerings leave in the graph, and what they give ---- */

/* Of a vector with 4 elements. */
static weft_tensor dot_of_four(weft_tensor x)
{
    return weft_matmul(x, weft_ones(x.graph, WEFT_F32, WEFT_SHAPE(4)));
}

static weft_status *lower_try(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                              weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs, (void)out_tensors;
    dot_of_four(inputs.items[0]);
    return NULL;
}

static weft_status *lower_scale(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs;
    out_tensors[0] = weft_mul(inputs.items[0], dot_of_four(inputs.items[0]));
    return NULL;
}

static weft_status *lower_last(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                               weft_tensor *out_tensors)
{
    (void)graph, (void)op, (void)attrs;
    out_tensors[0] = weft_mul(inputs.items[0], weft_at(inputs.items[0], 5));
    return NULL;
}

static weft_dtype given_dtype;
static weft_shape given_shape;

static weft_status *lower_given(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                weft_tensor *out_tensors)
{
    (void)op, (void)attrs, (void)inputs;
    out_tensors[0] = weft_zeros(graph, given_dtype, given_shape);
    return NULL;
}

static weft_status *infer_twice(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = out_types[1] = context->inputs[0];
    return NULL;
}

static uint32_t failing_result;

/* One of two results fails while it is traced. */
static weft_status *lower_half(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                               weft_tensor *out_tensors)
{
    (void)op, (void)attrs;
    weft_tensor x = inputs.items[0];
    out_tensors[1 - failing_result] = x;
    out_tensors[failing_result] = weft_matmul(x, weft_ones(graph, WEFT_F32, WEFT_SHAPE(200)));
    return NULL;
}

static weft_status *lower_half_with_status(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs,
                                           weft_tensors inputs, weft_tensor *out_tensors)
{
    WEFT_TRY(lower_half(graph, op, attrs, inputs, out_tensors));
    return weft_status_create(NULL, WEFT_INTERNAL, op->name, "a result failed");
}

static const weft_op_def trial_try = SAMPLE_OP("try", lower_try);
static const weft_op_def trial_scale = SAMPLE_OP("scale", lower_scale);
static const weft_op_def trial_last = SAMPLE_OP("last", lower_last);
static const weft_op_def trial_given = SAMPLE_OP("given", lower_given);
#define TWO_RESULTS(op, lowering)                                                                                      \
    {                                                                                                                  \
        .size = sizeof(weft_op_def), .name = "sample." op, .version = 1, .input_count = 1, .output_count = 2,          \
        .op_class = WEFT_CLASS_OPAQUE, .infer = infer_twice, .lower = lowering                                         \
    }
static const weft_op_def trial_twice = TWO_RESULTS("twice", lower_double);
static const weft_op_def trial_half = TWO_RESULTS("half", lower_half);
static const weft_op_def trial_half_status = TWO_RESULTS("half_with_status", lower_half_with_status);
static const weft_op_def *const trial_ops[] = {&trial_try,   &trial_scale, &trial_last,       &trial_given,
                                               &trial_twice, &trial_half,  &trial_half_status};
static const weft_extension trials = {.size = sizeof(weft_extension),
                                      .abi_major = WEFT_ABI_MAJOR,
                                      .abi_minor = WEFT_ABI_MINOR,
                                      .family = "sample",
                                      .version = "1",
                                      .op_count = sizeof trial_ops / sizeof *trial_ops,
                                      .ops = trial_ops};

/* x: f32[n] */
static weft_tensor trial_input(void)
{
    weft_graph *graph = graph_of(NULL);
    weft_test_ok(weft_graph_register(graph, &trials));
    return weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 100)));
}

static weft_tensor trace_trial(const char *op, weft_tensor x)
{
    return weft_trace(x.graph, op, WEFT_TENSORS(x), NULL);
}

/* How many guards the program has, its text too, and that `sentence` is in it. Destroys the graph. */
static void check_guards(weft_tensors outputs, size_t count, const char *sentence)
{
    weft_program *program;
    weft_test_ok(weft_compile(outputs.items[0].graph, outputs, NULL, &program));
    assert_int_equal(program->guard_count, count);
    size_t printed = 0;
    const char *text = weft_program_text(program);
    for (const char *at = strstr(text, "\nrequire "); at != NULL; at = strstr(at + 1, "\nrequire ")) printed++;
    assert_int_equal(printed, count);
    if (sentence != NULL) assert_non_null(strstr(text, sentence));
    weft_program_release(program);
    weft_graph_destroy(outputs.items[0].graph);
}

static void trace_try(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = trace_trial("sample.try", carried[0]);
}

static void branch_try(void *context, weft_tensor *out_results)
{
    out_results[0] = trace_trial("sample.try", *(weft_tensor *)context);
}

static void branch_scale(void *context, weft_tensor *out_results)
{
    out_results[0] = trace_trial("sample.scale", *(weft_tensor *)context);
}

static void lowerings_that_decline_require_nothing(void **state)
{
    (void)state;
    weft_tensor x = trial_input();
    check_guards(WEFT_TENSORS(trace_trial("sample.try", x)), 0, NULL);
    x = trial_input();
    check_guards(WEFT_TENSORS(weft_fold(weft_extent_of(2), WEFT_TENSORS(x), trace_try, NULL, NULL)), 0, NULL);
    x = trial_input();
    weft_tensor p = weft_input(x.graph, "p", WEFT_BOOL, WEFT_SHAPE());
    check_guards(WEFT_TENSORS(weft_cond(p, 1, branch_try, branch_try, &x, NULL)), 0, NULL);
}

/* What a lowering that declined has traced may be traced again by one that is taken. */
static void lowerings_that_are_taken_require_what_they_need(void **state)
{
    (void)state;
    static const char sentence[] = "contracted axis 0 of a has extent n but axis 0 of b has 4";
    weft_tensor x = trial_input(), tried = trace_trial("sample.try", x);
    check_guards(WEFT_TENSORS(tried, trace_trial("sample.scale", x)), 1, sentence);
    x = trial_input();
    weft_tensor scaled = trace_trial("sample.scale", x);
    check_guards(WEFT_TENSORS(scaled, trace_trial("sample.try", x)), 1, sentence);
    x = trial_input();
    weft_tensor p = weft_input(x.graph, "p", WEFT_BOOL, WEFT_SHAPE());
    check_guards(WEFT_TENSORS(weft_cond(p, 1, branch_try, branch_scale, &x, NULL)), 1, sentence);
    x = trial_input();
    check_guards(WEFT_TENSORS(trace_trial("sample.last", x)), 1, "require 6 <= n");
}

static void refuse_given(weft_dtype dtype, weft_shape shape, weft_code code, const char *sentence)
{
    weft_graph *graph = graph_of(NULL);
    weft_program *program;
    weft_test_ok(weft_graph_register(graph, &trials));
    given_dtype = dtype;
    given_shape = shape;
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3, 5));
    weft_test_fails(weft_compile(graph, WEFT_TENSORS(trace_trial("sample.given", x)), NULL, &program), code, sentence);
    weft_graph_destroy(graph);
}

static void lowerings_give_what_type_rules_promise(void **state)
{
    (void)state;
    refuse_given(WEFT_F32, WEFT_SHAPE(3, 77), WEFT_SHAPE_MISMATCH,
                 "the lowering of 'sample.given' gave f32[3, 77] where its type rule says f32[3, 5]: axis 1 has extent "
                 "77, not 5");
    refuse_given(WEFT_F64, WEFT_SHAPE(3, 5), WEFT_INVALID_ARGUMENT,
                 "the lowering of 'sample.given' gave f64[3, 5] where its type rule says f32[3, 5]");
    refuse_given(WEFT_F32, WEFT_SHAPE(5), WEFT_INVALID_ARGUMENT,
                 "the lowering of 'sample.given' gave f32[5] where its type rule says f32[3, 5]");
    weft_program *program;
    weft_tensor x = trial_input();
    weft_test_fails(weft_compile(x.graph, WEFT_TENSORS(trace_trial("sample.twice", x)), NULL, &program),
                    WEFT_INVALID_ARGUMENT,
                    "the lowering of 'sample.twice' gave no tensor as result 1 where its type rule says f32[n]");
    weft_graph_destroy(x.graph);
}

/* Whichever result it is, and whatever the lowering gives or says after it. */
static void errors_of_lowerings_are_what_failed_first(void **state)
{
    (void)state;
    const char *const ops[] = {"sample.half", "sample.half_with_status"};
    for (int i = 0; i < 2; i++)
        for (failing_result = 0; failing_result < 2; failing_result++) {
            weft_tensor x = trial_input();
            weft_program *program;
            weft_test_fails(weft_compile(x.graph, WEFT_TENSORS(trace_trial(ops[i], x)), NULL, &program),
                            WEFT_SHAPE_MISMATCH, "matmul: ");
            weft_graph_destroy(x.graph);
        }
}

/* Extents that may be equal are a guard, and the op is lowered. */
static void lowerings_of_symbols_leave_guards(void **state)
{
    (void)state;
    weft_tensor x = trial_input();
    given_dtype = WEFT_F32;
    given_shape = WEFT_SHAPE(7);
    weft_tensor y = trace_trial("sample.given", x);
    check_guards(WEFT_TENSORS(y), 1,
                 "the lowering of 'sample.given' gave f32[7] where its type rule says f32[n]: axis 0 has extent 7");
    x = trial_input();
    weft_program *program;
    weft_test_ok(weft_compile(x.graph, WEFT_TENSORS(trace_trial("sample.given", x)), NULL, &program));
    assert_int_equal(program->family_count, 0);
    weft_program_release(program);
    weft_graph_destroy(x.graph);
}

static weft_status *compile_trials(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    weft_program *program;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_status *status = weft_graph_register(graph, &trials);
    if (status == NULL) {
        weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(weft_symbol(graph, "n", 1, 100)));
        weft_tensor y = trace_trial("sample.scale", trace_trial("sample.try", x));
        status = weft_status_clone(NULL, weft_graph_error(graph));
        if (status == NULL) status = weft_compile(graph, WEFT_TENSORS(y), NULL, &program);
        if (status == NULL) weft_program_release(program);
    }
    weft_graph_destroy(graph);
    return status;
}

static void trials_without_memory_are_an_error(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(compile_trials, NULL) > 0);
}

static void extension_ops_have_text(void **state)
{
    (void)state;
    static const char text[] = "weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = f32, shape = [3]} : f32[3]\n"
                               "  %0 = sample.double(%x) : f32[3]\n  return out0 = %0\n}\n";
    const weft_extension *extensions[] = {&sample};
    weft_module *module;
    weft_test_fails(weft_graph_parse("t", text, strlen(text), NULL, 0, NULL, &module), WEFT_NOT_REGISTERED, "t:4:8: ");
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 1, extensions, &module));
    char *printed;
    weft_test_ok(weft_graph_print(module->outputs, &printed));
    assert_string_equal(printed, text);
    weft_text_destroy(printed);
    weft_module_destroy(module);
    weft_module_destroy(NULL);
    weft_text_destroy(NULL);
}

static void all_inputs_that_are_declared_are_listed(void **state)
{
    (void)state;
    static const char text[] = "weft 0.1\nsymbol n in [1, 9]\ngraph {\n"
                               "  %u = input() {name = \"u\", dtype = i64, shape = [n]}\n"
                               "  %x = input() {name = \"x\", dtype = f32, shape = [3]}\n"
                               "  %y = neg(%x)\n"
                               "  %z = input() {name = \"z\", dtype = f32, shape = []}\n"
                               "  return y = %y\n}\n";
    static const char *const names[] = {"u", "x", "z"};
    weft_module *module;
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 0, NULL, &module));
    assert_int_equal(module->inputs.count, 3);
    for (size_t i = 0; i < 3; i++) assert_string_equal(weft_tensor_name(module->inputs.items[i]), names[i]);
    assert_int_equal(weft_tensor_dtype(module->inputs.items[0]), WEFT_I64);
    assert_int_equal(weft_tensor_rank(module->inputs.items[2]), 0);
    weft_module_destroy(module);
}

/* ---- texts that a case file cannot hold ---- */

/* What is no printable character comes as an escape, and back as what it was. */
static void strings_are_printable(void **state)
{
    (void)state;
    static const char text[] = "weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = f32, shape = [3]} : f32[3]\n"
                               "  return \"\\n\\x01\xff\xc2\x9b\xc3\xbc\" = %x\n}\n";
    weft_module *module;
    weft_program *program;
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 0, NULL, &module));
    weft_test_ok(weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program));
    weft_module_destroy(module);
    const char *printed = weft_program_text(program);
    assert_non_null(strstr(printed, "return \"\\n\\x01\\xff\\xc2\\x9b\xc3\xbc\" = %x"));
    weft_test_ok(weft_graph_parse("t", printed, strlen(printed), NULL, 0, NULL, &module));
    assert_string_equal(module->output_names[0], "\n\x01\xff\xc2\x9b\xc3\xbc");
    weft_module_destroy(module);
    weft_program_release(program);
}

static void text_is_bounded(void **state)
{
    (void)state;
    weft_module *module;
    weft_test_fails(weft_graph_parse("t", "weft 0.1\n\0graph", 15, NULL, 0, NULL, &module), WEFT_PARSE_ERROR,
                    "t:2:1: a text must not contain a NUL byte");
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    weft_bytes_print(
        &text,
        "weft 0.1\ngraph {\n%%p = constant() {dtype = bool, shape = [], data = [true]}\n%%0 = cond(%%p) then () {");
    for (int i = 0; i < 100000; i++)
        weft_bytes_print(&text,
                         "%%p = constant() {dtype = bool, shape = [], data = [true]}\n%%0 = cond(%%p) then () {");
    weft_test_fails(weft_graph_parse("t", text.data, text.size, NULL, 0, NULL, &module), WEFT_UNSUPPORTED,
                    "regions nest more than 64 deep");
    weft_bytes_clear(&text);
    weft_bytes_print(&text,
                     "weft 0.1\nsymbol n in [1, 2]\ngraph {\n%%x = input() {name = \"x\", dtype = f32, shape = [");
    for (int i = 0; i < 100000; i++) weft_bytes_append(&text, "(", 1);
    weft_test_fails(weft_graph_parse("t", text.data, text.size, NULL, 0, NULL, &module), WEFT_PARSE_ERROR,
                    "nested too deep");
    weft_bytes_finish(&text);
}

static void large_constants_round_trip(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    float data[1000];
    for (int i = 0; i < 1000; i++) data[i] = (float)i / 7;
    weft_tensor c = weft_constant(graph, WEFT_F32, WEFT_INTS(10, 100), data);
    char *text, *again;
    weft_test_ok(weft_graph_print(WEFT_TENSORS(c), &text));
    assert_non_null(strstr(text, "data = bytes \"00000000"));
    weft_module *module;
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 0, NULL, &module));
    const weft_attr *attr = &weft_graph_node(module->graph, module->outputs.items[0].node)->attrs[2];
    assert_int_equal(attr->size, sizeof data);
    assert_memory_equal(attr->data, data, sizeof data);
    weft_test_ok(weft_graph_print(module->outputs, &again));
    assert_string_equal(text, again);
    weft_text_destroy(text);
    weft_text_destroy(again);
    weft_module_destroy(module);
    weft_graph_destroy(graph);
}

static void print_sum(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    static const char *const inputs[] = {"%index = input()", "%carried0 = input()", "%captured0 = input()"};
    char *text;
    out_next[0] = weft_add(weft_add(carried[0], index), *(weft_tensor *)context);
    weft_test_ok(weft_graph_print(WEFT_TENSORS(out_next[0]), &text));
    for (size_t i = 0; i < 3; i++) assert_non_null(strstr(text, inputs[i]));
    weft_module *module;
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 0, NULL, &module));
    weft_text_destroy(text);
    weft_module_destroy(module);
}

static void tensors_of_a_body_print_the_body(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_I64, WEFT_SHAPE(3)),
                y = weft_input(graph, "y", WEFT_I64, WEFT_SHAPE(3));
    assert_true(weft_tensor_is_valid(weft_fold(weft_extent_of(2), WEFT_TENSORS(x), print_sum, &y, NULL)));
    weft_graph_destroy(graph);
}

static void modules_give_their_graph_away(void **state)
{
    (void)state;
    static const char text[] =
        "weft 0.1\ngraph {\n  %0 = constant() {dtype = i64, shape = [], data = [1]}\n  return %0, b = %0\n}";
    weft_module *module;
    weft_test_ok(weft_graph_parse(NULL, text, strlen(text), NULL, 0, NULL, &module));
    assert_int_equal(module->outputs.count, 2);
    assert_string_equal(module->output_names[0], "out0");
    assert_string_equal(module->output_names[1], "b");
    weft_graph *graph = module->graph;
    module->graph = NULL;
    weft_module_destroy(module);
    assert_null(weft_graph_error(graph));
    weft_graph_destroy(graph);
}

static void printing_needs_well_outputs(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL), *other = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE()), z = weft_input(other, "z", WEFT_F32, WEFT_SHAPE());
    char *text;
    weft_test_fails(weft_graph_print(WEFT_TENSORS(), &text), WEFT_INVALID_ARGUMENT, "at least one output");
    weft_test_fails(weft_graph_print(WEFT_TENSORS(x, z), &text), WEFT_INVALID_ARGUMENT, "output 1 is of another graph");
    weft_tensor failed = weft_permute(x, WEFT_INTS(3));
    weft_test_fails(weft_graph_print(WEFT_TENSORS(failed), &text), WEFT_OUT_OF_RANGE, "permute: axis 3");
    weft_graph_destroy(graph);
    weft_graph_destroy(other);
}

static void verifier_finds_broken_graphs(void **state)
{
    (void)state;
    weft_graph *graph = graph_of(NULL);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(3));
    weft_tensor y = weft_neg(x);
    weft_value output = {y.node, 0};
    weft_node *node = &graph->nodes[y.node];
    const weft_node well = *node;
    weft_test_ok(weft_graph_verify(graph, 1, &output));
    node->inputs = &(weft_value){y.node, 0};
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "node 1 (neg): operand 0 is node 1");
    node->inputs = &(weft_value){x.node, 5};
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "which has no such output");
    *node = well;
    node->input_count = 0;
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "it has 0 operands");
    *node = well;
    node->types = &(weft_type){WEFT_F64, node->types[0].shape};
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "has type f64[3], the type rule says f32[3]");
    *node = well;
    node->op = &weft_op_table()[WEFT_OP_not];
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "has dtype f32, which the op does not take");
    node->op = &weft_op_table()[WEFT_OP_exp];
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "an equal node would not be found");
    *node = well;
    weft_tensor sum = weft_reduce_sum(x, WEFT_INTS(0), false);
    weft_value total = {sum.node, 0};
    const weft_attr *attrs = graph->nodes[sum.node].attrs;
    graph->nodes[sum.node].attrs = &(weft_attr){.ints = {1, (const int64_t[]){7}}};
    weft_test_fails(weft_graph_verify(graph, 1, &total), WEFT_INTERNAL, "(reduce_sum): ");
    graph->nodes[sum.node].attrs = attrs;
    output.output = 1;
    weft_test_fails(weft_graph_verify(graph, 1, &output), WEFT_INTERNAL, "output 0 is not a value of the graph");
    weft_graph_destroy(graph);
}

/* ---- running out of memory ---- */

static weft_status *parse_and_compile(const weft_allocator *allocator, void *context)
{
    weft_graph_options options = {.allocator = allocator};
    const weft_extension *extensions[] = {&sample};
    weft_module *module;
    weft_program *program;
    char *text;
    WEFT_TRY(weft_graph_parse("t", context, strlen(context), &options, 1, extensions, &module));
    weft_status *status = weft_graph_print(module->outputs, &text);
    if (status == NULL) {
        weft_text_destroy(text);
        status = weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program);
        if (status == NULL) weft_program_release(program);
    }
    weft_module_destroy(module);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[] = "weft 0.1\n"
                  "symbol n in [1, 9]\nsymbol m in [1, 9]\n"
                  "require n + 1 = m \"m follows n\"\n"
                  "graph {\n"
                  "  %x = input() {name = \"x\", dtype = f32, shape = [n, 5]}\n"
                  "  %y = input() {name = \"y\", dtype = f32, shape = [5, m]}\n"
                  "  %0 = broadcast(%x) {shape = [n, 5, m], axes = [0, 1]}\n"
                  "  %1 = broadcast(%y) {shape = [n, 5, m], axes = [1, 2]}\n"
                  "  %2 = mul(%0, %1)\n"
                  "  %3 = reduce_sum(%2) {axes = [1]} as product\n"
                  "  %4 = flip(%3) {axes = [0]}\n"
                  "  %5 = flip(%4) {axes = [0]}\n"
                  "  %6 = sample.quadruple(%5)\n"
                  "  %7 = sample.decline(%6)\n"
                  "  %8 = fold(%7) {trips = n, carried = 1} body (%i : i64[], %a : f32[n, m]) {\n"
                  "    %0 = neg(%a)\n"
                  "    %1 = neg(%0)\n"
                  "    yield %1\n"
                  "  }\n"
                  "  return \"the sum\" = %8, %5\n"
                  "}\n";
    assert_true(weft_test_fail_each(parse_and_compile, text) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_describes_its_interface),
        cmocka_unit_test(input_survives_a_pass_that_drops_it),
        cmocka_unit_test(serials_differ),
        cmocka_unit_test(policy_names_passes),
        cmocka_unit_test(misuse_is_said),
        cmocka_unit_test(extensions_lower_or_stay),
        cmocka_unit_test(lowerings_make_no_inputs_in_bodies),
        cmocka_unit_test(lowerings_name_no_inputs),
        cmocka_unit_test(lowerings_that_decline_require_nothing),
        cmocka_unit_test(lowerings_that_are_taken_require_what_they_need),
        cmocka_unit_test(lowerings_give_what_type_rules_promise),
        cmocka_unit_test(errors_of_lowerings_are_what_failed_first),
        cmocka_unit_test(lowerings_of_symbols_leave_guards),
        cmocka_unit_test(trials_without_memory_are_an_error),
        cmocka_unit_test(extension_ops_have_text),
        cmocka_unit_test(all_inputs_that_are_declared_are_listed),
        cmocka_unit_test(strings_are_printable),
        cmocka_unit_test(text_is_bounded),
        cmocka_unit_test(large_constants_round_trip),
        cmocka_unit_test(tensors_of_a_body_print_the_body),
        cmocka_unit_test(modules_give_their_graph_away),
        cmocka_unit_test(printing_needs_well_outputs),
        cmocka_unit_test(verifier_finds_broken_graphs),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
