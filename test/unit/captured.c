/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public tracing function in the bodies of fold, while and cond, and of folds in folds, with each operand in turn
 * the only one that is captured from around, the only one that is not, and all captured. The results must be those of
 * the same call outside, to the bit. Arguments: the headers in which tracing functions are looked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/support.h"

enum { S, V, M, X, K, J, I, B, C, OPERANDS };

typedef struct call {
    const char *function;
    weft_tensor (*trace)(const weft_tensor *operands);
} call;

/* ---- the calls ---- */

#define NAME_(line) traced_at_##line
#define NAME(line) NAME_(line)
#define CALL(function, ...)                                                                                            \
    static weft_tensor NAME(__LINE__)(const weft_tensor *operands)                                                     \
    {                                                                                                                  \
        weft_tensor s = operands[S], v = operands[V], m = operands[M], x = operands[X], k = operands[K];               \
        weft_tensor j = operands[J], i = operands[I], b = operands[B], c = operands[C];                                \
        (void)s, (void)v, (void)m, (void)x, (void)k, (void)j, (void)i, (void)b, (void)c;                               \
        return __VA_ARGS__;                                                                                            \
    }
#include "test/unit/captured.def"
#undef CALL

static const call calls[] = {
#define CALL(function, ...) {#function, NAME(__LINE__)},
#include "test/unit/captured.def"
#undef CALL
};

enum { CALLS = sizeof calls / sizeof *calls };

/* ---- one number of each ---- */

static weft_tensor sum_of(weft_tensor result)
{
    if (weft_tensor_dtype(result) == WEFT_C64) result = weft_add(weft_real(result), weft_imag(result));
    if (weft_tensor_dtype(result) != WEFT_F32) result = weft_cast(result, WEFT_F32);
    if (weft_tensor_rank(result) > 0) result = weft_flatten(result, 0, -1);
    return weft_tensor_rank(result) == 0 ? result : weft_reduce_sum(result, WEFT_INTS(0), false);
}

/* What a body traces: `local` has a bit for each operand that is made in the body. */
typedef struct body_context {
    const call *call;
    const weft_tensor *operands;
    unsigned local;
    int depth; /* folds around it */
} body_context;

static weft_tensor trace_in_body(const body_context *context, weft_tensor inner)
{
    weft_tensor operands[OPERANDS], is_true = weft_or(weft_eq(inner, inner), weft_ne(inner, inner));
    for (unsigned k = 0; k < OPERANDS; k++) {
        operands[k] = context->operands[k];
        if (context->local >> k & 1) operands[k] = weft_select(is_true, operands[k], operands[k]);
    }
    return sum_of(context->call->trace(operands));
}

static void fold_body(void *argument, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)carried;
    body_context context = *(body_context *)argument;
    weft_tensor zero = weft_scalar(index.graph, WEFT_F32, 0);
    if (context.depth-- == 0) out_next[0] = trace_in_body(&context, index);
    else out_next[0] = weft_fold(weft_extent_of(1), WEFT_TENSORS(zero), fold_body, &context, NULL);
}

static weft_tensor in_fold(body_context *context)
{
    weft_tensor zero = weft_scalar(context->operands[0].graph, WEFT_F32, 0);
    return weft_fold(weft_extent_of(1), WEFT_TENSORS(zero), fold_body, context, NULL);
}

static weft_tensor while_condition(void *argument, const weft_tensor *carried)
{
    const body_context *context = argument;
    weft_tensor sum = trace_in_body(context, carried[0]);
    weft_tensor is_first = weft_eq(carried[0], weft_scalar(carried[0].graph, WEFT_F32, 0));
    return weft_and(is_first, weft_or(weft_eq(sum, sum), weft_ne(sum, sum)));
}

static void while_body(void *argument, const weft_tensor *carried, weft_tensor *out_next)
{
    out_next[0] = weft_scalar(carried[0].graph, WEFT_F32, 1);
    out_next[1] = trace_in_body(argument, carried[0]);
}

static weft_tensor in_while(body_context *context)
{
    weft_tensor results[2], zero = weft_scalar(context->operands[0].graph, WEFT_F32, 0);
    weft_while(WEFT_TENSORS(zero, zero), while_condition, while_body, context, results);
    return results[1];
}

static void branch(void *argument, weft_tensor *out_results)
{
    const body_context *context = argument;
    out_results[0] = trace_in_body(context, weft_scalar(context->operands[0].graph, WEFT_F32, 0));
}

static weft_tensor in_cond(body_context *context)
{
    weft_tensor s = context->operands[S];
    return weft_cond(weft_gt(s, weft_scalar(s.graph, WEFT_F32, 0)), 1, branch, branch, context, NULL);
}

/* ---- one call ---- */

typedef struct fixture {
    weft_executor *executor;
    weft_array *arrays[OPERANDS];
} fixture;

static const char *const names[OPERANDS] = {"s", "v", "m", "x", "k", "j", "i", "b", "c"};
static const weft_dtype dtypes[OPERANDS] = {WEFT_F32, WEFT_F32, WEFT_F32,  WEFT_F32, WEFT_F32,
                                            WEFT_I64, WEFT_I64, WEFT_BOOL, WEFT_C64};
static const size_t ranks[OPERANDS] = {0, 1, 2, 4, 4, 0, 1, 2, 1};
static const int64_t shapes[OPERANDS][4] = {[V] = {4},          [M] = {4, 4}, [X] = {1, 2, 4, 4},
                                            [K] = {2, 2, 3, 3}, [I] = {4},    [B] = {4, 4},
                                            [C] = {4}};

static void make_operands(weft_graph *graph, weft_tensor *out_operands)
{
    for (unsigned k = 0; k < OPERANDS; k++) {
        weft_extent extents[4];
        for (size_t axis = 0; axis < ranks[k]; axis++) extents[axis] = weft_extent_of(shapes[k][axis]);
        out_operands[k] = weft_input(graph, names[k], dtypes[k], (weft_shape){ranks[k], extents});
    }
}

static unsigned number_of(const char *name)
{
    unsigned k = 0;
    while (strcmp(names[k], name) != 0) k++;
    return k;
}

/* Which operands the program of `output` has as inputs. */
static unsigned find_used(weft_tensor output)
{
    weft_program *program;
    unsigned used = 0;
    weft_test_ok(weft_compile(output.graph, WEFT_TENSORS(output), NULL, &program));
    for (size_t i = 0; i < weft_program_input_count(program); i++)
        used |= 1u << number_of(weft_program_input_name(program, i));
    weft_program_release(program);
    return used;
}

/* Outputs 1 and on must be what output 0 is. */
static void compare(const fixture *f, const char *function, weft_tensors outputs)
{
    weft_program *program;
    weft_array *inputs[OPERANDS], *results[4 * (2 * OPERANDS + 1) + 1] = {NULL};
    weft_test_ok(weft_compile(outputs.items[0].graph, outputs, NULL, &program));
    for (size_t i = 0; i < weft_program_input_count(program); i++)
        inputs[i] = f->arrays[number_of(weft_program_input_name(program, i))];
    weft_test_ok(weft_executor_run(f->executor, program,
                                   &(weft_run){.runtime = "ref",
                                               .input_count = weft_program_input_count(program),
                                               .inputs = inputs,
                                               .output_count = outputs.count,
                                               .outputs = results}));
    weft_program_release(program);
    for (size_t i = 0; i < outputs.count; i++) {
        const float *wanted = weft_array_data(results[0]), *got = weft_array_data(results[i]);
        if (memcmp(wanted, got, sizeof *wanted) != 0) fail_msg("%s: case %zu: %g, not %g", function, i, *got, *wanted);
    }
    for (size_t i = 0; i < outputs.count; i++) weft_array_release(results[i]);
}

static void check_call(const fixture *f, const call *called)
{
    weft_graph *graph;
    weft_tensor operands[OPERANDS], outputs[4 * (2 * OPERANDS + 1) + 1];
    size_t count = 0;
    weft_test_ok(weft_graph_create(NULL, &graph));
    make_operands(graph, operands);
    outputs[count++] = sum_of(called->trace(operands));
    unsigned used = find_used(outputs[0]);
    for (unsigned k = 0; k <= 2 * OPERANDS; k++) {
        unsigned one = k == 0 ? 0 : 1u << (k - 1) / 2, local = k % 2 == 0 ? one : used & ~one;
        if (k > 0 && (used & one) == 0) continue;
        outputs[count++] = in_fold(&(body_context){called, operands, local, 0});
        outputs[count++] = in_fold(&(body_context){called, operands, local, 1});
        outputs[count++] = in_while(&(body_context){called, operands, local, 0});
        outputs[count++] = in_cond(&(body_context){called, operands, local, 0});
    }
    compare(f, called->function, (weft_tensors){count, outputs});
    weft_graph_destroy(graph);
}

static void fill(weft_array *array, unsigned operand)
{
    for (int64_t n = 0; n < weft_array_count(array); n++) {
        float value = 0.2f + 0.013f * (float)(n * 7 % 43);
        void *data = weft_array_data(array);
        if (dtypes[operand] == WEFT_F32) ((float *)data)[n] = value;
        if (dtypes[operand] == WEFT_I64) ((int64_t *)data)[n] = (n + 1) % 4;
        if (dtypes[operand] == WEFT_BOOL) ((bool *)data)[n] = n % 3 != 0;
        if (dtypes[operand] == WEFT_C64) ((float *)data)[2 * n] = ((float *)data)[2 * n + 1] = value;
    }
}

static void every_call(void **state)
{
    (void)state;
    fixture f;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &f.executor));
    weft_test_ok(weft_executor_register_extension(f.executor, weft_einsum_extension()));
    for (unsigned k = 0; k < OPERANDS; k++) {
        weft_test_ok(weft_array_create(NULL, dtypes[k], ranks[k], shapes[k], &f.arrays[k]));
        fill(f.arrays[k], k);
    }
    for (size_t i = 0; i < CALLS; i++) check_call(&f, &calls[i]);
    for (unsigned k = 0; k < OPERANDS; k++) weft_array_release(f.arrays[k]);
    weft_executor_destroy(f.executor);
}

/* ---- is every function there? ---- */

static bool is_called(const char *function)
{
    static const char *const others[] = {"fold", "fold_in_segments", "fold_with_snapshots", "while",
                                        "while_at_most", "cond", "tensor_locate", "trace", "tensor_input"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], function) == 0) return true;
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(calls[i].function, function) == 0) return true;
    return false;
}

static char **headers;

static void every_function(void **state)
{
    (void)state;
    size_t count = 0;
    for (char **header = headers; *header != NULL; header++) {
        char line[512], function[64];
        FILE *file = fopen(*header, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file) != NULL) {
            if (sscanf(line, "weft_tensor weft_%63[a-z0-9_](", function) != 1) continue;
            if (!is_called(function)) fail_msg("%s: weft_%s is not in captured.def", *header, function);
            count++;
        }
        fclose(file);
    }
    assert_true(count > 150);
}

int main(int argument_count, char **arguments)
{
    (void)argument_count;
    headers = arguments + 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call), cmocka_unit_test(every_function)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
