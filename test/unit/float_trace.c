/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the caller's thread does with floats, it traces, plans, compiles and prints the same, and nothing traps. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/float_modes.h"
#include "test/support.h"

/* ---- what is traced ---- */

typedef struct fixture {
    weft_graph *graph;
    weft_tensor x, d, h, b, i, m; /* f32, f64, f16, bf16 and i32 of 16, f64 of 4x4 */
} fixture;

static fixture fixture_create(void)
{
    fixture f;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    f.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(16));
    f.d = weft_input(f.graph, "d", WEFT_F64, WEFT_SHAPE(16));
    f.h = weft_input(f.graph, "h", WEFT_F16, WEFT_SHAPE(16));
    f.b = weft_input(f.graph, "b", WEFT_BF16, WEFT_SHAPE(16));
    f.i = weft_input(f.graph, "i", WEFT_I32, WEFT_SHAPE(16));
    f.m = weft_input(f.graph, "m", WEFT_F64, WEFT_SHAPE(4, 4));
    return f;
}

#define LINEAR(...)                                                                                                    \
    &(weft_resize_options)                                                                                             \
    {                                                                                                                  \
        .mode = WEFT_RESIZE_LINEAR, __VA_ARGS__                                                                        \
    }
#define SCALE(scale) LINEAR(.scales = (const double[]){scale})
#define CHAIN "ij,jk,kl->il", WEFT_TENSORS(f->m, f->m, f->m)

#define CALLS(X)                                                                                                       \
    X(norm_zero, weft_norm(f->d, WEFT_INTS(0), 0, false))                                                              \
    X(norm_three, weft_norm(f->d, WEFT_INTS(0), 3, false))                                                             \
    X(norm_tiny, weft_norm(f->d, WEFT_INTS(0), 1e-310, false))                                                         \
    X(norm_infinite, weft_norm(f->d, WEFT_INTS(0), INFINITY, false))                                                   \
    X(norm_nan, weft_norm(f->d, WEFT_INTS(0), NAN, false))                                                             \
    X(linspace, weft_linspace(f->graph, WEFT_F64, 0.1, 0.7, weft_extent_of(4)))                                        \
    X(linspace_f32, weft_linspace(f->graph, WEFT_F32, -1e300, 1e300, weft_extent_of(3)))                               \
    X(linspace_far, weft_linspace(f->graph, WEFT_F64, -1e308, 1e308, weft_extent_of(3)))                               \
    X(linspace_nan, weft_linspace(f->graph, WEFT_F64, NAN, 1, weft_extent_of(3)))                                      \
    X(arange, weft_arange(f->graph, WEFT_F32, 0.1, 0.3, weft_extent_of(3)))                                            \
    X(arange_integer, weft_arange(f->graph, WEFT_I64, 1e300, 1, weft_extent_of(3)))                                    \
    X(arange_fraction, weft_arange(f->graph, WEFT_I64, 0.5, 1, weft_extent_of(3)))                                     \
    X(arange_nan, weft_arange(f->graph, WEFT_I32, NAN, 1, weft_extent_of(3)))                                          \
    X(leaky_relu, weft_leaky_relu(f->x, 1e300))                                                                        \
    X(leaky_relu_nan, weft_leaky_relu(f->d, NAN))                                                                      \
    X(celu, weft_celu(f->d, 0.3))                                                                                      \
    X(celu_zero, weft_celu(f->d, 0))                                                                                   \
    X(celu_tiny, weft_celu(f->d, 1e-310))                                                                              \
    X(elu_nan, weft_elu(f->d, NAN))                                                                                    \
    X(selu, weft_selu(f->h))                                                                                           \
    X(gelu, weft_gelu(f->b))                                                                                           \
    X(gelu_tanh, weft_gelu_tanh(f->d))                                                                                 \
    X(hard_sigmoid_nan, weft_hard_sigmoid(f->x, NAN, 0))                                                               \
    X(hard_swish, weft_hard_swish(f->d))                                                                               \
    X(hard_tanh, weft_hard_tanh(f->x, NAN, INFINITY))                                                                  \
    X(is_close, weft_is_close(f->x, f->x, 1e-5, 1e-8))                                                                 \
    X(is_close_nan, weft_is_close(f->d, f->d, NAN, 0))                                                                 \
    X(quantile, weft_quantile(f->x, 0.3, 0, false))                                                                    \
    X(quantile_nan, weft_quantile(f->x, NAN, 0, false))                                                                \
    X(median, weft_median(f->x, 0, false))                                                                             \
    X(histogram, weft_histogram(f->x, 7, 0.1, 0.7))                                                                    \
    X(histogram_f16, weft_histogram(f->h, 7, -1e6, 1e6))                                                               \
    X(histogram_integer, weft_histogram(f->i, 7, 0, 1e300))                                                            \
    X(histogram_far, weft_histogram(f->d, 7, -1e308, 1e308))                                                           \
    X(histogram_infinite, weft_histogram(f->x, 7, -INFINITY, INFINITY))                                                \
    X(histogram_equal, weft_histogram(f->d, 7, 1e17, 1e17))                                                            \
    X(histogram_nan, weft_histogram(f->d, 7, NAN, 1))                                                                  \
    X(huber_loss, weft_huber_loss(f->d, f->d, 1e-310, WEFT_REDUCTION_MEAN))                                            \
    X(huber_loss_nan, weft_huber_loss(f->x, f->x, NAN, WEFT_REDUCTION_MEAN))                                           \
    X(mse_loss, weft_mse_loss(f->x, f->x, WEFT_REDUCTION_MEAN))                                                        \
    X(resize, weft_resize(f->d, WEFT_SHAPE(5), SCALE(1.3)))                                                            \
    X(resize_zero, weft_resize(f->d, WEFT_SHAPE(3), SCALE(0)))                                                         \
    X(resize_tiny, weft_resize(f->d, WEFT_SHAPE(3), SCALE(1e-310)))                                                    \
    X(resize_nan, weft_resize(f->d, WEFT_SHAPE(3), SCALE(NAN)))                                                        \
    X(resize_one, weft_resize(f->d, WEFT_SHAPE(1), LINEAR(.coordinates = WEFT_RESIZE_ALIGN_CORNERS)))                  \
    X(attention, weft_attention(f->m, f->m, f->m, NULL))                                                               \
    X(attention_three, attend(f, 3))                                                                                   \
    X(attention_nothing, attend(f, 0))                                                                                 \
    X(layer_norm, weft_layer_norm(f->d, 0, &(weft_norm_options){.epsilon = 1e-310}))                                   \
    X(variance, weft_variance(f->d, WEFT_INTS(0), 17, false))                                                          \
    X(scalar_f16, weft_scalar(f->graph, WEFT_F16, 0.1))                                                                \
    X(scalar_bf16, weft_scalar(f->graph, WEFT_BF16, 0.1))                                                              \
    X(scalar_large, weft_scalar(f->graph, WEFT_F16, 1e300))                                                            \
    X(scalar_byte, weft_scalar(f->graph, WEFT_U8, 1e300))                                                              \
    X(scalar_cut, weft_scalar(f->graph, WEFT_I64, -2.5))                                                               \
    X(scalar_nan, weft_scalar(f->graph, WEFT_I32, NAN))                                                                \
    X(full, weft_full(f->graph, WEFT_F32, 1e-320, WEFT_SHAPE(3)))                                                      \
    X(add_f16, weft_add(f->h, 0.1))                                                                                    \
    X(add_bf16, weft_add(f->b, 0.1))                                                                                   \
    X(add_odd, weft_add(f->d, (INT64_C(1) << 53) + 1))                                                                 \
    X(add_fraction, weft_add(f->i, 0.5))                                                                               \
    X(add_nan, weft_add(f->i, NAN))                                                                                    \
    X(mul_large, weft_mul(f->x, 1e300))                                                                                \
    X(pad_nan, weft_pad(f->d, NAN, WEFT_SHAPE(1), WEFT_SHAPE(1)))                                                      \
    X(einsum, weft_einsum(CHAIN, NULL))                                                                                \
    X(einsum_budget, weft_einsum(CHAIN, &(weft_einsum_options){.time_budget = NAN}))                                   \
    X(einsum_machine, weft_einsum(CHAIN, &(weft_einsum_options){.machine = &slow}))                                    \
    X(einsum_limit, weft_einsum(CHAIN, &(weft_einsum_options){.memory_limit = 100}))

static const weft_machine slow = {.device = WEFT_DEVICE_CPU,
                                  .vector_bytes = 16,
                                  .registers = 8,
                                  .line_bytes = 16,
                                  .cache_bytes = {4096, 4096},
                                  .operations = 1,
                                  .cache_bandwidth = 1,
                                  .sort_rate = 1,
                                  .threads = 1,
                                  .product_rates = {1e3, 2e3, 3.3e3, 4e3},
                                  .bandwidth = 1.1e4,
                                  .dispatch_seconds = 0.1};

static weft_tensor attend(const fixture *f, int64_t depth)
{
    weft_tensor x = weft_narrow(f->m, 1, weft_extent_of(0), weft_extent_of(depth));
    return weft_attention(x, x, x, NULL);
}

#define DEFINE(name, expression)                                                                                       \
    static weft_tensor trace_##name(const fixture *f)                                                                  \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
CALLS(DEFINE)

#define ROW(name, expression) {#name, trace_##name},
static const struct call {
    const char *name;
    weft_tensor (*trace)(const fixture *f);
} calls[] = {CALLS(ROW)};
enum { COUNT = sizeof calls / sizeof *calls };

/* ---- what comes of it ---- */

typedef struct outcome {
    char text[1 << 17];
} outcome;

static sigjmp_buf on_trap;

static void catch_trap(int signal)
{
    (void)signal;
    siglongjmp(on_trap, 1);
}

/* What `find` writes about `number` while the thread does `mode`. */
static void find_in(const weft_test_float_mode *mode, void (*find)(size_t number, outcome *out_found), size_t number,
                    outcome *out_found)
{
    fenv_t saved;
    assert_int_equal(fegetenv(&saved), 0);
    feclearexcept(FE_ALL_EXCEPT);
    memset(out_found, 0, sizeof *out_found);
    if (sigsetjmp(on_trap, 1) == 0) {
        mode->set();
        find(number, out_found);
    } else strcpy(out_found->text, "a trap");
    assert_int_equal(fesetenv(&saved), 0);
}

/* All that differ are named. */
static void compare(size_t count, void (*find)(size_t number, outcome *out_found), const char *(*name)(size_t number))
{
    static outcome expected, found;
    size_t faults = 0;
    assert_int_equal(sigaction(SIGFPE, &(struct sigaction){.sa_handler = catch_trap}, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        find_in(&weft_test_float_modes[0], find, i, &expected);
        for (size_t m = 0; m < WEFT_TEST_FLOAT_MODES; m++) {
            find_in(&weft_test_float_modes[m], find, i, &found);
            if (memcmp(&found, &expected, sizeof found) == 0) continue;
            print_error("%s, %s: %.400s\ninstead of: %.400s\n", name(i), weft_test_float_modes[m].name, found.text,
                        expected.text);
            faults++;
        }
    }
    assert_int_equal(faults, 0);
}

static void keep(outcome *out_found, const char *text)
{
    snprintf(out_found->text, sizeof out_found->text, "%s", text);
}

/* The error; or the graph, the program, and its loops. */
static void find_program(size_t number, outcome *out_found)
{
    char *text, *loops;
    weft_program *program;
    fixture f = fixture_create();
    weft_tensor y = calls[number].trace(&f);
    weft_status *status = weft_compile(f.graph, WEFT_TENSORS(y), NULL, &program);
    if (status != NULL) keep(out_found, weft_status_message(status));
    else {
        weft_test_ok(weft_graph_print(WEFT_TENSORS(y), &text));
        weft_test_ok(weft_program_emit(program, WEFT_EMIT_LOOPS, NULL, NULL, &loops));
        snprintf(out_found->text, sizeof out_found->text, "%s\n%s\n%s", text, weft_program_text(program), loops);
        weft_text_destroy(loops);
        weft_text_destroy(text);
        weft_program_release(program);
    }
    weft_status_destroy(status);
    weft_graph_destroy(f.graph);
}

static const char *call_name(size_t number)
{
    return calls[number].name;
}

static void traces_the_same(void **state)
{
    (void)state;
    compare(COUNT, find_program, call_name);
}

/* ---- text ---- */

static const char *const constants[] = {
    "f32, shape = [1], data = [1e39]",      "f64, shape = [1], data = [1e400]",    "f64, shape = [1], data = [1e-400]",
    "f32, shape = [1], data = [0.1]",       "f16, shape = [2], data = [nan, 0.1]", "f64, shape = [1], data = [0.1]",
    "f64, shape = [1], data = [4.9e-324]",  "i64, shape = [1], data = [1e300]",    "u8, shape = [1], data = [256]",
    "c64, shape = [1], data = [(1e39, 0)]", "f32, shape = [1], data = [1e-45]",    "f16, shape = [1], data = [65530]"};

static void find_text(size_t number, outcome *out_found)
{
    char text[200], *again;
    weft_module *module;
    snprintf(text, sizeof text, "weft 0.1 graph { %%c = constant() {dtype = %s} return %%c }", constants[number]);
    weft_status *status = weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &module);
    if (status != NULL) keep(out_found, weft_status_message(status));
    else {
        weft_test_ok(weft_graph_print(module->outputs, &again));
        keep(out_found, again);
        weft_text_destroy(again);
        weft_module_destroy(module);
    }
    weft_status_destroy(status);
}

static const char *text_name(size_t number)
{
    return constants[number];
}

static void parses_the_same(void **state)
{
    (void)state;
    compare(sizeof constants / sizeof *constants, find_text, text_name);
}

/* ---- plans ---- */

enum { MOST_OPERANDS = 5 };

static const struct plan_case {
    const char *text;
    size_t count, rank; /* operands, and axes of each */
    int64_t extents[MOST_OPERANDS][2];
    uint64_t memory_limit;
} plans[] = {
    {"i,i->", 2, 1, {{1}, {1}}, 0},
    {"ij,jk,kl->il", 3, 2, {{10, 0}, {0, 10}, {10, 5}}, 0},
    {"ij,jk,kl,lm,mn->in", 5, 2, {{10, 7}, {7, 10}, {10, 5}, {5, 6}, {6, 3}}, 0},
    {"ij,jk,kl->il", 3, 2, {{30, 30}, {30, 30}, {30, 30}}, 4000},
    {"ij,jk,kl->", 3, 2, {{1LL << 60, 1LL << 60}, {1LL << 60, 1LL << 60}, {1LL << 60, 9}}, 0},
};

/* The bits of all numbers, after the order. */
static void find_plan(size_t number, outcome *out_found)
{
    weft_einsum_plan *plan;
    weft_ints shapes[MOST_OPERANDS];
    const struct plan_case *c = &plans[number];
    weft_einsum_options options = {.memory_limit = c->memory_limit};
    for (size_t i = 0; i < c->count; i++) shapes[i] = (weft_ints){c->rank, c->extents[i]};
    weft_status *status = weft_einsum_plan_create(NULL, c->text, c->count, shapes, &options, &plan);
    if (status != NULL) {
        keep(out_found, weft_status_message(status));
        weft_status_destroy(status);
        return;
    }
    weft_einsum_value value = weft_einsum_plan_value(plan, 2 * c->count - 2);
    const double numbers[] = {weft_einsum_plan_seconds(plan),
                              weft_einsum_plan_log10_seconds(plan),
                              weft_einsum_plan_log10_flops(plan),
                              weft_einsum_plan_log2_size(plan),
                              weft_einsum_plan_log2_peak(plan),
                              weft_einsum_plan_log10_overhead(plan),
                              weft_einsum_plan_log2_points(plan),
                              value.log2_size,
                              value.log10_flops};
    keep(out_found, weft_einsum_plan_order(plan));
    memcpy(out_found->text + strlen(out_found->text) + 1, numbers, sizeof numbers);
    weft_einsum_plan_destroy(plan);
}

static const char *plan_name(size_t number)
{
    return plans[number].text;
}

static void plans_the_same(void **state)
{
    (void)state;
    compare(sizeof plans / sizeof *plans, find_plan, plan_name);
}

/* ---- arrays ---- */

static weft_array *make_array(void)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 2, (const int64_t[]){3, 3}, &array));
    const double numbers[] = {0.1, 1.0 / 3, 1e-310, 1e300, -2.5, 1e17 / 3, NAN, -INFINITY, 123456789.5};
    memcpy(weft_array_data(array), numbers, sizeof numbers);
    return array;
}

/* A product of three, and how both are printed. */
static void find_product(size_t number, outcome *out_found)
{
    (void)number;
    weft_executor *executor;
    weft_array *array = make_array(), *result = NULL, *operands[] = {array, array, array};
    weft_einsum_options options = {.time_budget = 0.001};
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    weft_test_ok(weft_einsum_arrays(executor, "ij,kj,kl->il", 3, operands, &options, &result));
    size_t length = weft_array_print(array, out_found->text, 1000);
    weft_array_print(result, out_found->text + length, 1000);
    weft_array_release(result);
    weft_array_release(array);
    weft_executor_destroy(executor);
}

static const char *product_name(size_t number)
{
    (void)number;
    return "a product of three arrays";
}

static void prints_the_same(void **state)
{
    (void)state;
    compare(1, find_product, product_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_the_same),
        cmocka_unit_test(parses_the_same),
        cmocka_unit_test(plans_the_same),
        cmocka_unit_test(prints_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
