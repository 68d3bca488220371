/* SPDX-License-Identifier: Apache-2.0 */
/* Products of many rows by a small matrix, and of many pairs of small matrices: the bits of the reference in order,
 * with lanes along results and across them, for operands and results at either end of a page. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>
#include "test/support.h"

enum { ROWS = 37, MOST_VALUES = ROWS * 8 * 24, ARRAYS = 3, EXECUTORS = 3 };

static weft_executor *executors[EXECUTORS]; /* the reference; for vectors of 32 bytes and of 64 */
static char *pages[ARRAYS];                 /* between two that are never touched */
static size_t page_bytes, array_bytes;

static int set_up(void **state)
{
    (void)state;
    weft_machine machine = *weft_machine_host();
    weft_executor_options options = {.threads = 2, .machine = &machine};
    weft_test_ok(weft_executor_create(&options, &executors[0]));
    weft_test_ok(weft_executor_register_runtime(executors[0], weft_runtime_reference_ordered()));
    for (uint32_t i = 1; i < EXECUTORS; i++) {
        machine.vector_bytes = 32 * i;
        weft_test_ok(weft_executor_create_standard(&options, &executors[i]));
    }
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    array_bytes = (MOST_VALUES * sizeof(double) + page_bytes - 1) / page_bytes * page_bytes;
    for (size_t i = 0; i < ARRAYS; i++) {
        char *memory = mmap(NULL, array_bytes + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
        pages[i] = memory + page_bytes;
        assert_int_equal(mprotect(pages[i], array_bytes, PROT_READ | PROT_WRITE), 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXECUTORS; i++) weft_executor_destroy(executors[i]);
    for (size_t i = 0; i < ARRAYS; i++) munmap(pages[i] - page_bytes, array_bytes + 2 * page_bytes);
    return 0;
}

/* ---- programs ---- */

typedef enum form { PLAIN, MATRIX_ACROSS, ROWS_ACROSS, RESULT_ACROSS, MATRIX_FIRST, BIASED, PAIRS, FORMS } form;

typedef struct sample {
    form form;
    weft_dtype dtype;
    int64_t columns, terms;
    bool symbolic; /* the number of rows */
} sample;

static weft_tensor turn(weft_tensor x)
{
    return weft_permute(x, WEFT_INTS(1, 0));
}

static weft_tensor trace(weft_graph *graph, const sample *s)
{
    weft_extent n = s->symbolic ? weft_symbol(graph, "n", 1, 100000) : weft_extent_of(ROWS);
    weft_extent k = weft_extent_of(s->terms), m = weft_extent_of(s->columns);
    bool pairs = s->form == PAIRS, matrix_across = s->form == MATRIX_ACROSS || s->form == MATRIX_FIRST;
    weft_tensor x = weft_input(graph, "x", s->dtype,
                               pairs                    ? WEFT_SHAPE(n, m, k)
                               : s->form == ROWS_ACROSS ? WEFT_SHAPE(k, n)
                                                        : WEFT_SHAPE(n, k));
    weft_tensor w = weft_input(graph, "w", s->dtype,
                               pairs           ? WEFT_SHAPE(n, k, m)
                               : matrix_across ? WEFT_SHAPE(m, k)
                                               : WEFT_SHAPE(k, m));
    if (s->form == MATRIX_FIRST) return weft_matmul(w, turn(x));
    weft_tensor y = weft_matmul(s->form == ROWS_ACROSS ? turn(x) : x, matrix_across ? turn(w) : w);
    if (s->form == RESULT_ACROSS) return turn(y);
    return s->form == BIASED ? weft_relu(weft_add(y, weft_reduce_max(w, WEFT_INTS(0), false))) : y;
}

static weft_program *compile(const sample *s)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor result = trace(graph, s);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(result), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- runs ---- */

static weft_array *wrap(const sample *s, size_t number, bool at_end, int64_t a, int64_t b, int64_t c)
{
    int64_t shape[] = {a, b, c}, count = a * b * c;
    size_t bytes = (size_t)count * weft_dtype_size(s->dtype);
    weft_array *array;
    void *data = at_end ? pages[number] + array_bytes - bytes : pages[number];
    weft_test_ok(weft_array_wrap(NULL, s->dtype, s->form == PAIRS ? 3 : 2, s->form == PAIRS ? shape : shape + 1, NULL,
                                 data, NULL, NULL, &array));
    return array;
}

static void fill(const sample *s, weft_array *array, int64_t seed)
{
    void *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) {
        double number = (double)((i + seed) * 7919 % 1009) / 300 - 1.5;
        if (s->dtype == WEFT_F32) ((float *)data)[i] = (float)number;
        else ((double *)data)[i] = number;
    }
}

static void run(const sample *s, weft_program *program, weft_executor *executor, bool at_end, void *out_result)
{
    int64_t n = s->form == PAIRS ? ROWS : 1, first = s->form == PAIRS ? s->columns : ROWS;
    bool across = s->form == MATRIX_ACROSS || s->form == MATRIX_FIRST,
         turned = s->form == RESULT_ACROSS || s->form == MATRIX_FIRST;
    weft_array *x =
        s->form == ROWS_ACROSS ? wrap(s, 0, at_end, n, s->terms, first) : wrap(s, 0, at_end, n, first, s->terms);
    weft_array *w = across ? wrap(s, 1, at_end, n, s->columns, s->terms) : wrap(s, 1, at_end, n, s->terms, s->columns);
    weft_array *y = turned ? wrap(s, 2, at_end, n, s->columns, first) : wrap(s, 2, at_end, n, first, s->columns);
    fill(s, x, 0);
    fill(s, w, 77);
    weft_run options = {.input_count = 2, .inputs = (weft_array *[]){x, w}, .output_count = 1, .outputs = &y};
    weft_test_ok(weft_executor_run(executor, program, &options));
    memcpy(out_result, weft_array_data(y), (size_t)weft_array_count(y) * weft_dtype_size(s->dtype));
    weft_array_release(x);
    weft_array_release(w);
    weft_array_release(y);
}

static void check(const sample *s)
{
    static double wanted[MOST_VALUES], found[MOST_VALUES];
    weft_program *program = compile(s);
    memset(wanted, 0, sizeof wanted);
    run(s, program, executors[0], false, wanted);
    for (size_t i = 1; i < EXECUTORS; i++)
        for (int at_end = 0; at_end < 2; at_end++) {
            memset(found, 0, sizeof found);
            run(s, program, executors[i], at_end, found);
            if (memcmp(wanted, found, sizeof found) != 0)
                fail_msg("form %d of %d columns and %d terms, dtype %s, executor %d: other bits", (int)s->form,
                         (int)s->columns, (int)s->terms, weft_dtype_name(s->dtype), (int)i);
        }
    weft_program_release(program);
}

static void test_forms(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{3, 3}, {2, 2}, {4, 4}, {3, 8}, {7, 3}, {6, 24}, {8, 16}, {5, 5}};
    for (int number = 0; number < FORMS; number++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int wide = 0; wide < 2; wide++)
                check(&(sample){(form)number, wide ? WEFT_F64 : WEFT_F32, sizes[i][0], sizes[i][1], i % 3 == 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
