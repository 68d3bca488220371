/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which products and sums add up: whatever computes one, loops, the library or the reference in order, for
 * any layout, number of threads, and extents that are known or not, the bits are the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"

enum { GROUPS = 4, MOST_AXES = 8, PRODUCTS = WEFT_TEST_ADDRESS ? 20 : 200, SUMS = PRODUCTS / 4 };

static uint64_t state;
static weft_executor *executors[3], *reference; /* of 1, 2, 3 threads; in order */

static uint64_t draw(uint64_t below)
{
    return weft_test_below(&state, below);
}

static int set_up(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < 3; i++)
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = i + 1}, &executors[i]));
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &reference));
    weft_test_ok(weft_executor_register_runtime(reference, weft_runtime_reference_ordered()));
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < 3; i++) weft_executor_destroy(executors[i]);
    weft_executor_destroy(reference);
    return 0;
}

/* ---- a product ---- */

/* Of batch, rows, columns, terms. */
typedef struct axes {
    size_t count;
    int64_t extents[MOST_AXES];
    size_t groups[MOST_AXES];
} axes;

typedef struct operand {
    size_t rank;
    size_t axes[MOST_AXES];    /* of the product, in the order of the tensor */
    int64_t memory[MOST_AXES]; /* of the tensor, from the outermost to the innermost in memory */
    int64_t batch[MOST_AXES], contract[MOST_AXES];
    size_t batch_count, contract_count;
    weft_array *array;
} operand;

typedef struct sample {
    weft_dtype dtype;
    bool symbolic;
    enum { ANY, VANISHING, HALVES } numbers; /* HALVES: sums often lie in the middle of two numbers, or next to it */
    axes axes;
    operand a, b;
} sample;

static void shuffle(size_t count, size_t *items)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = draw(i), item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}

/* Mostly one axis for each group, of sizes for loops and for the library, and for more than one block of terms; or few
 * of all but one; or few rows or columns of many terms. */
static void draw_axes(axes *out_axes)
{
    static const int64_t many[GROUPS][6] = {
        {1, 2, 3, 5, 2, 1}, {1, 2, 5, 17, 33, 70}, {1, 3, 16, 31, 64, 100}, {1, 7, 40, 255, 300, 1100}};
    static const int64_t few[GROUPS][6] = {
        {1, 3, 40, 77, 300, 2}, {2, 3, 4, 50, 99, 333}, {1, 2, 3, 4, 6, 8}, {2, 3, 4, 8, 16, 24}};
    static const int64_t skinny[GROUPS][6] = {
        {1, 2, 3, 2, 1, 1}, {1, 2, 4, 8, 33, 70}, {2, 3, 4, 5, 8, 35}, {64, 80, 111, 144, 320, 5000}};
    const int64_t(*const families[])[6] = {many, few, skinny};
    const int64_t(*sizes)[6] = families[draw(3)];
    int64_t total = 1;
    out_axes->count = 0;
    for (size_t group = 0; group < GROUPS; group++) {
        size_t count = group == 0 ? draw(2) : 1 + (draw(4) == 0);
        for (size_t i = 0; i < count; i++) {
            int64_t extent = sizes[group][draw(6)];
            while (total * extent > 400000) extent = (extent + 1) / 2;
            if (count > 1 && extent > 40) extent = 40;
            total *= extent;
            out_axes->groups[out_axes->count] = group;
            out_axes->extents[out_axes->count++] = extent;
        }
    }
}

static void fill(const sample *s, int64_t count, void *data)
{
    weft_dtype dtype = s->dtype, part = weft_dtype_component(dtype);
    double tiny = part == WEFT_F64 ? 1e-162 : 1e-23;
    int64_t numbers = part == dtype ? count : 2 * count;
    for (int64_t i = 0; i < numbers; i++) {
        double value = ((double)draw(1 << 24) / (1 << 23) - 1) * (draw(8) == 0 ? 1e-3 : 1);
        if (s->numbers == VANISHING) value = draw(4) == 0 ? value * tiny : 0;
        if (s->numbers == HALVES) value = ldexp((double)draw(17) - 8, -(int)draw(3) * (part == WEFT_F64 ? 27 : 12));
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        switch (part) {
        case WEFT_F32: ((float *)data)[i] = single; break;
        case WEFT_F64: ((double *)data)[i] = value; break;
        case WEFT_BF16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
        default: ((uint16_t *)data)[i] = (uint16_t)(draw(2) << 15 | (8 + draw(7)) << 10 | draw(1024)); break;
        }
    }
}

static void release(void *context)
{
    free(context);
}

/* Which axes an operand has, in any order, its terms as those of the other one, and its elements as they lie in memory.
 */
static void draw_operand(const sample *s, size_t free_group, const size_t *terms, size_t term_count, operand *o)
{
    int64_t shape[MOST_AXES], strides[MOST_AXES], step = 1;
    size_t memory[MOST_AXES];
    o->rank = o->batch_count = o->contract_count = 0;
    for (size_t i = 0; i < s->axes.count; i++)
        if (s->axes.groups[i] == 0 || s->axes.groups[i] == 3 || s->axes.groups[i] == free_group) o->axes[o->rank++] = i;
    if (draw(2) == 0) shuffle(o->rank, o->axes);
    for (size_t i = 0; i < o->rank; i++) memory[i] = i;
    if (draw(2) == 0) shuffle(o->rank, memory);
    for (size_t axis = 0; axis < s->axes.count; axis++)
        for (size_t i = 0; i < o->rank; i++)
            if (o->axes[i] == axis && s->axes.groups[axis] == 0) o->batch[o->batch_count++] = (int64_t)i;
    for (size_t t = 0; t < term_count; t++)
        for (size_t i = 0; i < o->rank; i++)
            if (o->axes[i] == terms[t]) o->contract[o->contract_count++] = (int64_t)i;
    for (size_t i = o->rank; i-- > 0;) {
        strides[memory[i]] = step;
        step *= s->axes.extents[o->axes[memory[i]]];
    }
    for (size_t i = 0; i < o->rank; i++) shape[i] = s->axes.extents[o->axes[i]];
    void *data = malloc((size_t)step * weft_dtype_size(s->dtype));
    assert_non_null(data);
    fill(s, step, data);
    weft_test_ok(weft_array_wrap(NULL, s->dtype, o->rank, shape, strides, data, release, data, &o->array));
}

static void draw_sample(sample *s)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F32, WEFT_F64, WEFT_C64, WEFT_C128, WEFT_F16, WEFT_BF16};
    size_t terms[MOST_AXES], term_count = 0;
    s->dtype = dtypes[draw(sizeof dtypes / sizeof *dtypes)];
    s->symbolic = draw(3) == 0;
    s->numbers = draw(4) < 2 ? ANY : draw(2) == 0 ? VANISHING : HALVES;
    draw_axes(&s->axes);
    /* Of complex numbers at least two rows: a product of vectors is none by then (lib/pass/match_dot.c). */
    bool is_complex = weft_dtype_component(s->dtype) != s->dtype;
    for (size_t i = 0; i < s->axes.count; i++)
        if (is_complex && s->axes.groups[i] == 1) s->axes.extents[i]++;
    for (size_t i = 0; i < s->axes.count; i++)
        if (s->axes.groups[i] == 3) terms[term_count++] = i;
    shuffle(term_count, terms);
    draw_operand(s, 1, terms, term_count, &s->a);
    draw_operand(s, 2, terms, term_count, &s->b);
}

/* ---- computing it ---- */

static weft_tensor input(weft_graph *graph, const sample *s, const operand *o, const char *name)
{
    weft_extent extents[MOST_AXES];
    char symbol[8];
    for (size_t i = 0; i < o->rank; i++) {
        snprintf(symbol, sizeof symbol, "n%zu", o->axes[i]);
        extents[i] = s->symbolic ? weft_symbol(graph, symbol, 0, 1 << 20) : weft_extent_of(s->axes.extents[o->axes[i]]);
    }
    return weft_input(graph, name, s->dtype, (weft_shape){o->rank, extents});
}

static weft_program *compile(const sample *s, weft_product_policy products)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    const weft_dot_axes dot_axes = {{s->a.batch_count, s->a.batch},
                                    {s->b.batch_count, s->b.batch},
                                    {s->a.contract_count, s->a.contract},
                                    {s->b.contract_count, s->b.contract}};
    weft_tensor a = input(graph, s, &s->a, "a"), b = input(graph, s, &s->b, "b");
    const weft_policy policy = {.size = sizeof policy, .products = products};
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_dot(a, b, dot_axes)), &policy, &program));
    weft_graph_destroy(graph);
    return program;
}

static weft_array *run(weft_executor *executor, weft_program *program, size_t count, const sample *s)
{
    weft_array *output = NULL;
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = count,
                                               .inputs = (weft_array *[]){s->a.array, s->b.array},
                                               .output_count = 1,
                                               .outputs = &output}));
    return output;
}

static void describe(const sample *s, int64_t element)
{
    print_error("%s%s, element %lld:", weft_dtype_name(s->dtype), s->symbolic ? " of symbols" : "", (long long)element);
    for (size_t i = 0; i < s->axes.count; i++)
        print_error(" %c %lld", "bmnk"[s->axes.groups[i]], (long long)s -> axes.extents[i]);
    print_error("\n");
}

static void check(weft_program *program, size_t count, const sample *s)
{
    weft_array *expected = run(reference, program, count, s);
    size_t size = weft_dtype_size(s->dtype), bytes = (size_t)weft_array_count(expected) * size;
    for (size_t i = 0; i < 3; i++) {
        weft_array *actual = run(executors[i], program, count, s);
        const char *x = weft_array_data(actual), *y = weft_array_data(expected);
        for (size_t at = 0; at < bytes; at += size)
            if (memcmp(x + at, y + at, size) != 0) {
                describe(s, (int64_t)(at / size));
                fail_msg("other bits with %zu threads", i + 1);
            }
        weft_array_release(actual);
    }
    weft_array_release(expected);
}

/* ---- sums ---- */

/* Of all kinds of axes: reduced are those of terms, in the order of the tensor. */
static weft_program *compile_sum(const sample *s, bool multiply)
{
    weft_graph *graph;
    weft_program *program;
    int64_t reduced[MOST_AXES];
    size_t count = 0;
    for (size_t i = 0; i < s->a.rank; i++)
        if (s->axes.groups[s->a.axes[i]] == 3) reduced[count++] = (int64_t)i;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = input(graph, s, &s->a, "a");
    weft_ints axes_of_sum = {count, reduced};
    weft_tensor sum = multiply ? weft_reduce_prod(x, axes_of_sum, false) : weft_reduce_sum(x, axes_of_sum, false);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(sum), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* Some of more elements than are added up in one go. */
static void test_random_sums(void **unused)
{
    (void)unused;
    state = 2;
    for (int i = 0; i < SUMS; i++) {
        sample s = {.dtype = draw(2) == 0 ? WEFT_F32 : WEFT_C64, .symbolic = draw(2) == 0};
        size_t none[1];
        draw_axes(&s.axes);
        if (i % 4 == 0) s.axes = (axes){2, {1 + (int64_t)draw(3), 70000 + (int64_t)draw(30000)}, {1, 3}};
        draw_operand(&s, 1, none, 0, &s.a);
        weft_program *program = compile_sum(&s, i % 3 == 0);
        check(program, 1, &s);
        weft_program_release(program);
        weft_array_release(s.a.array);
    }
}

static void test_random_products(void **unused)
{
    (void)unused;
    state = 1;
    for (int i = 0; i < PRODUCTS; i++) {
        sample s;
        draw_sample(&s);
        for (int by_library = 0; by_library < 2; by_library++) {
            weft_program *program = compile(&s, by_library ? WEFT_PRODUCTS_LIBRARY : WEFT_PRODUCTS_GENERATED);
            check(program, 2, &s);
            weft_program_release(program);
        }
        weft_array_release(s.a.array);
        weft_array_release(s.b.array);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_products), cmocka_unit_test(test_random_sums)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
