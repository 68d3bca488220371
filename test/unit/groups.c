/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are compiled together: same bits as one by one, for any number of threads; each is used by other
 * programs, evicted and unloaded as if it were alone; one that cannot be compiled does not hinder the others, unless
 * there is no memory.
 */
#include <string.h>
#include <weft/weft.h>
#include "backends/llvm/runtime.h"
#include "lib/build/build.h"
#include "test/support.h"

enum { OUTPUTS = 11, ELEMENTS = 100 };

/* What a test's runtime emits: how often, the most kernels at once, and how many are refused. */
static struct {
    size_t calls, most;
    size_t refused_count; /* groups of more kernels than one are refused, if it is not 0 */
} emitted;

static void append_target(weft_bytes *key)
{
    weft_bytes_print(key, "test\n");
}

static weft_status *emit(const weft_allocator *allocator, const weft_code_group *group, weft_bytes *out_object)
{
    const weft_llvm_interface *llvm;
    emitted.calls++;
    if (group->count > emitted.most) emitted.most = group->count;
    if (emitted.refused_count != 0 && group->count > 1)
        return weft_status_create(allocator, WEFT_COMPILE_FAILED, "test", "%zu kernels", group->count);
    WEFT_TRY(weft_llvm_load(&llvm));
    return llvm->emit_group(allocator, group, false, out_object);
}

static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    static const weft_code_generator generator = {.append_target = append_target, .emit = emit};
    (void)self;
    return weft_variant_build(request, &generator, out_variant);
}

static const weft_runtime *counting_runtime(void)
{
    static const weft_compiler compiler = {.size = sizeof compiler, .build = build};
    static weft_runtime runtime;
    runtime = *weft_runtime_llvm();
    runtime.compiler = &compiler;
    return &runtime;
}

static weft_executor *open_executor(size_t threads, size_t kernels)
{
    weft_executor *executor;
    const weft_executor_options options = {.threads = threads, .kernel_capacity = kernels};
    memset(&emitted, 0, sizeof emitted);
    weft_test_ok(weft_executor_create(&options, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, counting_runtime()));
    return executor;
}

/* Output i is the sum of the exponentials of so many elements, of which each is a kernel of its own. */
static weft_program *compile(int first)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor y[OUTPUTS];
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(ELEMENTS));
    for (int i = 0; i < OUTPUTS; i++) {
        weft_tensor part = weft_narrow(x, 0, weft_extent_of(0), weft_extent_of(20 + first + i));
        y[i] = weft_reduce_sum(weft_exp(part), WEFT_INTS(0), false);
    }
    weft_test_ok(weft_compile(graph, (weft_tensors){OUTPUTS, y}, NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void run(weft_executor *executor, weft_program *program, float *out_numbers)
{
    float input[ELEMENTS];
    weft_array *x, *outputs[OUTPUTS] = {NULL};
    const int64_t shape[1] = {ELEMENTS};
    for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i * 37 % 101) / 50 - 1;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, shape, NULL, input, NULL, NULL, &x));
    weft_test_ok(weft_executor_run(
        executor, program, &(weft_run){.input_count = 1, .inputs = &x, .output_count = OUTPUTS, .outputs = outputs}));
    for (int i = 0; i < OUTPUTS; i++) {
        out_numbers[i] = *(const float *)weft_array_data(outputs[i]);
        weft_array_release(outputs[i]);
    }
    weft_array_release(x);
}

static weft_executor_counters counters_of(const weft_executor *executor)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(executor, &counters);
    return counters;
}

/* Each kernel by itself: what cannot be made together is made alone. */
static void compute_alone(weft_program *program, float *out_numbers)
{
    weft_executor *executor = open_executor(1, 0);
    emitted.refused_count = 1;
    run(executor, program, out_numbers);
    assert_int_equal(counters_of(executor).kernels_compiled, OUTPUTS);
    assert_true(emitted.calls > OUTPUTS);
    weft_executor_destroy(executor);
}

static void groups_have_the_same_bits(void **state)
{
    (void)state;
    weft_program *program = compile(0);
    float expected[OUTPUTS], found[OUTPUTS];
    compute_alone(program, expected);
    for (size_t threads = 1; threads <= 3; threads++) {
        weft_executor *executor = open_executor(threads, 0);
        run(executor, program, found);
        assert_memory_equal(found, expected, sizeof found);
        assert_int_equal(counters_of(executor).kernels_compiled, OUTPUTS);
        assert_int_equal(counters_of(executor).kernels.entries, OUTPUTS);
        if (threads == 1) assert_true(emitted.most == 8 && emitted.calls == 2);
        weft_executor_destroy(executor);
    }
    weft_program_release(program);
}

/* The second program has all kernels of the first but two. */
static void kernels_of_a_group_are_used_by_others(void **state)
{
    (void)state;
    enum { MOVED = 2 };
    weft_program *program = compile(0), *other = compile(MOVED);
    float numbers[OUTPUTS], expected[OUTPUTS], found[OUTPUTS];
    compute_alone(other, expected);
    weft_executor *executor = open_executor(1, 0);
    run(executor, program, numbers);
    run(executor, other, found);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(counters_of(executor).kernels_compiled, OUTPUTS + MOVED);
    weft_program_release(program);
    weft_executor_clear(executor);
    memset(found, 0, sizeof found);
    run(executor, other, found);
    assert_memory_equal(found, expected, sizeof found);
    weft_executor_destroy(executor);
    weft_program_release(other);
}

/* What the cache has no room for lives with the variant. */
static void kernels_of_a_group_are_evicted_one_by_one(void **state)
{
    (void)state;
    weft_program *program = compile(0);
    float expected[OUTPUTS], found[OUTPUTS];
    compute_alone(program, expected);
    weft_executor *executor = open_executor(1, 2);
    for (int i = 0; i < 2; i++) {
        run(executor, program, found);
        assert_memory_equal(found, expected, sizeof found);
    }
    assert_int_equal(counters_of(executor).kernels.entries, 2);
    assert_int_equal(counters_of(executor).kernels_compiled, OUTPUTS);
    weft_executor_destroy(executor);
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_the_same_bits),
        cmocka_unit_test(kernels_of_a_group_are_used_by_others),
        cmocka_unit_test(kernels_of_a_group_are_evicted_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
