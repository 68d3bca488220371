/* SPDX-License-Identifier: Apache-2.0 */
/* Products with constants, which are packed once: every bit is that of the same products with inputs. */
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"
#include "test/variants.h"

enum { ROWS = 33, TERMS = 700, COLUMNS = 300, BATCH = 2 };

/* ---- programs ---- */

static double numbers[BATCH * TERMS * TERMS];

/* A constant, or an input in its place. */
typedef struct source {
    weft_graph *graph;
    weft_dtype dtype;
    bool constants;
} source;

static const void *data_of(weft_dtype dtype, uint64_t seed)
{
    static float floats[BATCH * TERMS * TERMS];
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        numbers[i] = weft_test_real(&seed) / 2;
        floats[i] = (float)numbers[i];
    }
    return dtype == WEFT_F32 ? (const void *)floats : numbers;
}

static weft_tensor weights(const source *s, const int64_t *shape, size_t rank)
{
    weft_extent extents[3];
    for (size_t i = 0; i < rank; i++) extents[i] = weft_extent_of(shape[i]);
    return s->constants ? weft_constant(s->graph, s->dtype, (weft_ints){rank, shape}, data_of(s->dtype, 1))
                        : weft_input(s->graph, "w", s->dtype, (weft_shape){rank, extents});
}
#define WEIGHTS(...)                                                                                                   \
    weights(s, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

typedef weft_tensor (*tracer)(const source *s, weft_extent rows);

static weft_tensor right(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(rows, TERMS));
    return weft_relu(weft_matmul(x, WEIGHTS(TERMS, COLUMNS)));
}

static weft_tensor right_transposed(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(rows, TERMS));
    return weft_matmul(x, weft_permute(WEIGHTS(COLUMNS, TERMS), WEFT_INTS(1, 0)));
}

static weft_tensor left(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(TERMS, rows));
    return weft_permute(weft_matmul(WEIGHTS(COLUMNS, TERMS), x), WEFT_INTS(1, 0));
}

static weft_tensor left_by_columns(const source *s, weft_extent rows)
{
    (void)rows;
    weft_tensor w = WEIGHTS(4096, 128), x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(128, 20));
    return weft_matmul(weft_permute(w, WEFT_INTS(1, 0)), weft_relu(weft_matmul(w, x)));
}

static weft_tensor batch_of_other_side(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(BATCH, rows, TERMS));
    return weft_matmul(x, WEIGHTS(TERMS, COLUMNS));
}

static weft_tensor batch_of_both(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(BATCH, rows, TERMS));
    return weft_matmul(x, WEIGHTS(BATCH, TERMS, COLUMNS));
}

static weft_tensor used_twice(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(rows, TERMS));
    weft_tensor w = WEIGHTS(TERMS, TERMS);
    return weft_matmul(weft_tanh(weft_matmul(x, w)), weft_mul(w, weft_permute(w, WEFT_INTS(1, 0))));
}

static weft_tensor part_of_it(const source *s, weft_extent rows)
{
    weft_tensor x = weft_input(s->graph, "x", s->dtype, WEFT_SHAPE(rows, TERMS));
    weft_tensor w = WEIGHTS(TERMS + 9, COLUMNS + 5);
    return weft_matmul(x, weft_slice(w, WEFT_SHAPE(9, 2), WEFT_SHAPE(TERMS, COLUMNS), WEFT_INTS(1, 1)));
}

static const struct {
    const char *name;
    tracer trace;
    weft_panels panels; /* of the first product, where the rows are known */
} cases[] = {
    {"right", right, WEFT_PANELS_B},
    {"right, transposed", right_transposed, WEFT_PANELS_B},
    {"left", left, WEFT_PANELS_B}, /* the product is computed transposed */
    {"left, by columns", left_by_columns, WEFT_PANELS_A},
    {"batch of the other side", batch_of_other_side, WEFT_PANELS_B},
    {"batch of both", batch_of_both, WEFT_PANELS_NONE},
    {"used twice", used_twice, WEFT_PANELS_B},
    {"a part of it", part_of_it, WEFT_PANELS_B},
};
enum { CASES = sizeof cases / sizeof *cases };

static weft_program *compile(size_t number, weft_dtype dtype, bool constants, bool symbolic)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    const source s = {graph, dtype, constants};
    weft_extent rows = symbolic ? weft_symbol(graph, "n", 1, 4096) : weft_extent_of(ROWS);
    weft_tensor y = cases[number].trace(&s, rows);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- runs ---- */

static weft_array *array_of(const weft_program *program, size_t input, weft_dtype dtype)
{
    int64_t shape[WEFT_MAX_RANK], count = 1;
    size_t rank = weft_program_input_rank(program, input);
    const weft_program_axis *axes = weft_program_input_axes(program, input);
    for (size_t i = 0; i < rank; i++) count *= shape[i] = axes[i].size >= 0 ? axes[i].size : ROWS;
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &array));
    uint64_t seed = strcmp(weft_program_input_name(program, input), "w") == 0 ? 1 : 2;
    memcpy(weft_array_data(array), data_of(dtype, seed), (size_t)count * weft_dtype_size(dtype));
    return array;
}

static weft_array *run(weft_executor *executor, weft_program *program, weft_dtype dtype, bool specialize)
{
    weft_array *inputs[2] = {NULL}, *output = NULL;
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++) inputs[i] = array_of(program, i, dtype);
    weft_test_ok(weft_executor_run(
        executor, program,
        &(weft_run){
            .input_count = count, .inputs = inputs, .output_count = 1, .outputs = &output, .specialize = specialize}));
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    return output;
}

static void constants_change_no_bits(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    for (size_t i = 0; i < 2 * CASES; i++) {
        weft_program *plain = compile(i / 2, dtypes[i % 2], false, false);
        weft_array *expected = run(*state, plain, dtypes[i % 2], false);
        for (int symbolic = 0; symbolic < 2; symbolic++) {
            weft_program *program = compile(i / 2, dtypes[i % 2], true, symbolic);
            for (int specialize = 0; specialize < 2; specialize++) {
                weft_array *found = run(*state, program, dtypes[i % 2], specialize);
                weft_test_same_bits(found, expected);
                weft_array_release(found);
            }
            weft_program_release(program);
        }
        weft_array_release(expected);
        weft_program_release(plain);
    }
}

/* ---- what is packed ---- */

/* What the variants of a program read. */
typedef struct reading {
    weft_panels panels; /* of the first product */
    const void *data;   /* that it reads of them */
    size_t empty;       /* constants that nothing reads */
} reading;

static weft_status *look(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    reading *found = context;
    (void)kernels;
    *found = (reading){.panels = WEFT_PANELS_NONE};
    for (size_t i = variant->step_count; i-- > 0;) {
        const weft_step *step = &variant->steps[i];
        if (step->kind != WEFT_STEP_GEMM) continue;
        found->panels = step->gemm.panels;
        if (found->panels != WEFT_PANELS_NONE)
            found->data = variant->buffers[step->buffers[found->panels == WEFT_PANELS_A ? 0 : 1]].data;
    }
    for (size_t i = 0; i < variant->buffer_count; i++) {
        const weft_buffer *buffer = &variant->buffers[i];
        found->empty += buffer->kind == WEFT_BUFFER_CONSTANT && variant->formulas.items[buffer->bytes].constant == 0;
    }
    return NULL;
}

static reading read_of(const weft_program *program, const int64_t *rows)
{
    reading found;
    weft_test_ok(weft_test_visit(NULL, program, rows, false, look, &found));
    return found;
}

static void constants_are_packed_where_sizes_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        weft_program *program = compile(i, WEFT_F32, true, false);
        if (read_of(program, NULL).panels != cases[i].panels)
            fail_msg("%s: %d", cases[i].name, (int)read_of(program, NULL).panels);
        weft_program_release(program);
    }
    weft_program *symbolic = compile(0, WEFT_F32, true, true);
    const reading any = read_of(symbolic, NULL), some = read_of(symbolic, (const int64_t[]){ROWS});
    const reading more = read_of(symbolic, (const int64_t[]){2 * ROWS}), one = read_of(symbolic, (const int64_t[]){1});
    assert_int_equal(any.panels, WEFT_PANELS_NONE);
    assert_int_equal(one.panels, WEFT_PANELS_NONE);
    assert_int_equal(some.panels, WEFT_PANELS_B);
    assert_true(some.data == more.data); /* one copy for all variants */
    assert_int_equal(any.empty, 0);
    assert_int_equal(some.empty, 1);
    weft_program_release(symbolic);
}

/* ---- no memory ---- */

static weft_status *build(const weft_allocator *allocator, void *context)
{
    weft_graph *graph;
    weft_program *program;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    const source s = {graph, WEFT_F32, true};
    weft_tensor y = right(&s, weft_extent_of(ROWS));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, &program);
    weft_graph_destroy(graph);
    if (status != NULL) return status;
    status = weft_test_visit(allocator, program, NULL, false, look, context);
    weft_program_release(program);
    return status;
}

static void memory_runs_out(void **state)
{
    reading found;
    (void)state;
    weft_test_fail_each(build, &found);
    assert_int_equal(found.panels, WEFT_PANELS_B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_change_no_bits),
        cmocka_unit_test(constants_are_packed_where_sizes_are_known),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, weft_test_executor_create, weft_test_executor_destroy);
}
