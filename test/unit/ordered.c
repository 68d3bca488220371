/* SPDX-License-Identifier: Apache-2.0 */
/* Products that lie in memory in the order of axes in which a permute of them would be stored: which ones, and that
 * every bit is that of the same product in its own order, which it has where it is an output. */
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "lib/build/build.h"
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"
#include "test/rng.h"
#include "test/support.h"

enum { HEADS = 3, LENGTH = 40, DEPTH = 24, MODEL = HEADS * DEPTH, INPUTS = 4, RESULTS = 2 };

static weft_executor *executor;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    return 0;
}

/* ---- programs ---- */

typedef struct source {
    weft_tensor made;   /* HEADS x n x DEPTH, the product */
    weft_tensor like;   /* of its shape */
    weft_tensor w;      /* MODEL x MODEL */
    weft_tensor joined; /* n x MODEL: the product permuted and reshaped */
    weft_extent n;
} source;

typedef weft_tensor (*reading)(const source *s);

static weft_tensor elements(const source *s)
{
    return weft_reduce_sum(weft_mul(s->made, s->like), WEFT_INTS(2), false);
}

static weft_tensor products(const source *s)
{
    return weft_matmul(s->made, weft_permute(s->like, WEFT_INTS(0, 2, 1)));
}

static weft_tensor transposed(const source *s)
{
    return weft_matmul(weft_permute(s->joined, WEFT_INTS(1, 0)), s->joined);
}

static weft_tensor sorted(const source *s)
{
    return weft_sort(s->made, 1, false);
}

static weft_tensor gathered(const source *s)
{
    weft_tensor index =
        weft_cast(weft_gt(weft_reduce_max(s->w, WEFT_INTS(0), false), weft_scalar(s->w.graph, WEFT_F32, 0)), WEFT_I64);
    return weft_gather(s->joined, index, 0);
}

static weft_tensor updated(const source *s)
{
    weft_tensor zero = weft_scalar(s->w.graph, WEFT_I64, 0);
    weft_tensor part = weft_slice(s->like, WEFT_SHAPE(0, 0, 0), WEFT_SHAPE(1, 1, DEPTH), WEFT_INTS(1, 1, 1));
    return weft_exp(weft_dynamic_update_slice(s->made, part, WEFT_TENSORS(zero, zero), WEFT_INTS(0, 1)));
}

static void doubled(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    (void)index;
    out_next[0] = weft_add(carried[0], s->made);
}

static weft_tensor folded(const source *s)
{
    return weft_fold(weft_extent_of(3), WEFT_TENSORS(s->like), doubled, (void *)(uintptr_t)s, NULL);
}

static void joined(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)index;
    out_next[0] = weft_neg(carried[0]);
}

static weft_tensor folded_joined(const source *s)
{
    return weft_fold(weft_extent_of(3), WEFT_TENSORS(s->joined), joined, NULL, NULL);
}

static weft_tensor put_out(const source *s)
{
    return s->joined;
}

static const struct {
    const char *name;
    reading read;
    bool ordered;
} cases[] = {
    {"elements", elements, true},     {"products", products, true},
    {"transposed", transposed, true}, {"sorted", sorted, false},
    {"gathered", gathered, false},    {"updated", updated, false},
    {"folded", folded, false},        {"folded joined", folded_joined, false},
    {"put out", put_out, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static weft_status *trace(const weft_allocator *allocator, size_t number, bool symbolic, bool is_output,
                          weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = symbolic ? weft_symbol(graph, "n", 2, 4096) : weft_extent_of(LENGTH);
    weft_tensor a = weft_input(graph, "a", WEFT_F32, WEFT_SHAPE(HEADS, n, LENGTH));
    weft_tensor b = weft_input(graph, "b", WEFT_F32, WEFT_SHAPE(HEADS, LENGTH, DEPTH));
    source s = {.made = weft_matmul(a, b),
                .like = weft_input(graph, "like", WEFT_F32, WEFT_SHAPE(HEADS, n, DEPTH)),
                .w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(MODEL, MODEL)),
                .n = n};
    s.joined = weft_reshape(weft_permute(s.made, WEFT_INTS(1, 0, 2)), WEFT_SHAPE(n, MODEL));
    weft_tensor results[] = {weft_matmul(s.joined, s.w), cases[number].read(&s), s.made};
    /* So that there are all inputs in any case. */
    results[0] = weft_add(results[0], weft_reduce_max(s.like, WEFT_INTS(0, 1, 2), false));
    weft_policy policy = {.products = WEFT_PRODUCTS_LIBRARY};
    weft_status *status = weft_compile(graph, (weft_tensors){RESULTS + is_output, results}, &policy, out_program);
    weft_graph_destroy(graph);
    return status;
}

/* ---- what is stored ---- */

static weft_status *find_stored(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    bool *found = context;
    (void)kernels;
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        *found = *found || (step->kind == WEFT_STEP_KERNEL && strcmp(step->name, "reshape") == 0);
    }
    return NULL;
}

static weft_status *visit(const weft_allocator *allocator, const weft_program *program, bool *out_stored)
{
    const uint8_t layouts[INPUTS] = {0};
    *out_stored = false;
    return weft_variant_visit(&(weft_build_request){.allocator = allocator,
                                                    .program = program,
                                                    .input_layouts = layouts,
                                                    .output_layouts = layouts,
                                                    .machine = weft_machine_reference(),
                                                    .level = weft_isa_level()},
                              find_stored, out_stored);
}

static void what_all_can_read_has_one_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * CASES; i++) {
        weft_program *program;
        bool stored, is_output = i % 2 == 1;
        weft_test_ok(trace(NULL, i / 4, i / 2 % 2 == 1, is_output, &program));
        weft_test_ok(visit(weft_allocator_or_default(NULL), program, &stored));
        if (stored == (cases[i / 4].ordered && !is_output))
            fail_msg("%s: %s", cases[i / 4].name, stored ? "stored" : "not stored");
        weft_program_release(program);
    }
}

/* ---- runs ---- */

static weft_array *array_of(const char *name, int64_t n)
{
    weft_array *array;
    const int64_t shapes[][3] = {{HEADS, n, LENGTH}, {HEADS, LENGTH, DEPTH}, {HEADS, n, DEPTH}, {MODEL, MODEL, 0}};
    const int64_t *shape = shapes[name[0] == 'a' ? 0 : name[0] == 'b' ? 1 : name[0] == 'l' ? 2 : 3];
    weft_test_ok(weft_array_create(NULL, WEFT_F32, name[0] == 'w' ? 2 : 3, shape, &array));
    uint64_t seed = (uint64_t)name[0];
    for (int64_t i = 0; i < weft_array_count(array); i++)
        ((float *)weft_array_data(array))[i] = (float)weft_test_real(&seed) / 2;
    return array;
}

static void run(weft_program *program, int64_t n, size_t count, weft_array **out_results)
{
    weft_array *inputs[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) inputs[i] = array_of(weft_program_input_name(program, i), n);
    for (size_t i = 0; i < count; i++) out_results[i] = NULL;
    weft_test_ok(weft_executor_run(
        executor, program,
        &(weft_run){.input_count = INPUTS, .inputs = inputs, .output_count = count, .outputs = out_results}));
    for (size_t i = 0; i < INPUTS; i++) weft_array_release(inputs[i]);
}

static void bits_are_those_of_its_own_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * CASES; i++) {
        weft_program *program, *stored;
        bool symbolic = i % 2 == 1;
        weft_array *found[RESULTS], *expected[RESULTS + 1];
        weft_test_ok(trace(NULL, i / 2, symbolic, false, &program));
        weft_test_ok(trace(NULL, i / 2, symbolic, true, &stored));
        for (int64_t n = symbolic ? 2 : LENGTH; n <= LENGTH; n += 13) {
            run(program, n, RESULTS, found);
            run(stored, n, RESULTS + 1, expected);
            for (size_t k = 0; k < RESULTS; k++)
                if (memcmp(weft_array_data(found[k]), weft_array_data(expected[k]),
                           (size_t)weft_array_count(found[k]) * sizeof(float)) != 0)
                    fail_msg("%s: result %zu of %d rows differs", cases[i / 2].name, k, (int)n);
            for (size_t k = 0; k < RESULTS; k++) weft_array_release(found[k]);
            for (size_t k = 0; k <= RESULTS; k++) weft_array_release(expected[k]);
        }
        weft_program_release(program);
        weft_program_release(stored);
    }
}

/* ---- no memory ---- */

static weft_status *build(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    WEFT_TRY(trace(allocator, 0, false, false, &program));
    weft_status *status = visit(allocator, program, context);
    weft_program_release(program);
    return status;
}

static void memory_runs_out(void **state)
{
    bool stored;
    (void)state;
    weft_test_fail_each(build, &stored);
    assert_false(stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_can_read_has_one_order),
        cmocka_unit_test(bits_are_those_of_its_own_order),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
