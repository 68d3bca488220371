/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidates [SAMPLES [SEED]]: random programs for each template of schedules, of random shapes, strides and dtypes,
 * with all schedules that templates give for their kernels. Inputs lie between pages without access, with poison
 * between their elements, and so do results and temporaries. weft_tune compares the bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/conform/place.h"
#include "test/rng.h"
#include "test/support.h"

enum { MOST_RANK = 4, INPUTS = 2, MOST_ELEMENTS = 20000 };

typedef enum form {
    ELEMENTS,
    TRANSPOSED,
    TURNED,
    REDUCED,
    POSITIONS,
    NORMALISED,
    SCANNED,
    JOINED,
    ROLLED,
    STACKED,
    REPEATED,
    MULTIPLIED,
    FORMS
} form;

static const char *const forms[] = {"elements", "transposed", "turned", "reduced", "positions", "normalised",
                                    "scanned",  "joined",     "rolled", "stacked", "repeated",  "multiplied"};

typedef struct sample {
    form form;
    weft_dtype dtype;
    bool symbolic;
    size_t rank;
    int64_t shape[MOST_RANK], axis, other_axis, permutation[MOST_RANK];
    weft_test_layout layouts[INPUTS];
} sample;

static uint64_t state;

static int64_t draw(int64_t below)
{
    return (int64_t)weft_test_below(&state, (uint64_t)below);
}

/* Some axes are as short as registers are, some as long as tiles. */
static void draw_shape(sample *s)
{
    static const int64_t longest[] = {4, 20, 70, 300};
    int64_t left = MOST_ELEMENTS;
    s->rank = (size_t)(1 + draw(MOST_RANK));
    if (s->form == TRANSPOSED || s->form == TURNED) s->rank = s->rank < 2 ? 2 : s->rank;
    if (s->form == MULTIPLIED) s->rank = 2;
    for (size_t i = 0; i < s->rank; i++) {
        s->shape[i] = 1 + draw(longest[draw(4)]);
        if (s->shape[i] > left) s->shape[i] = left;
        left /= s->shape[i];
        s->permutation[i] = (int64_t)i;
    }
    for (size_t i = s->rank; i > 1; i--) {
        size_t k = (size_t)draw((int64_t)i);
        int64_t axis = s->permutation[i - 1];
        s->permutation[i - 1] = s->permutation[k];
        s->permutation[k] = axis;
    }
    s->axis = draw((int64_t)s->rank);
    s->other_axis = draw((int64_t)s->rank);
}

static void draw_sample(sample *s, int64_t number)
{
    static const weft_dtype floats[] = {WEFT_F32, WEFT_F64, WEFT_F32, WEFT_BF16, WEFT_F16};
    static const weft_dtype all[] = {WEFT_F32, WEFT_F64, WEFT_I32, WEFT_I64, WEFT_U8, WEFT_BF16, WEFT_F16, WEFT_C64};
    s->form = (form)(number % FORMS);
    s->dtype = s->form == NORMALISED ? floats[draw(5)] : all[draw(s->form == POSITIONS ? 7 : 8)];
    s->symbolic = draw(3) == 0;
    draw_shape(s);
    for (size_t i = 0; i < INPUTS; i++) s->layouts[i] = (weft_test_layout)draw(WEFT_TEST_REVERSED + 1);
}

/* ---- programs ---- */

/* Of the second input; it is the first one's but for a permutation, or the matrix that the first one is multiplied
 * with. */
static void fill_shape(const sample *s, size_t number, int64_t *out_shape)
{
    bool permuted = number == 1 && (s->form == TRANSPOSED || s->form == TURNED);
    for (size_t i = 0; i < s->rank; i++) out_shape[permuted ? s->permutation[i] : (int64_t)i] = s->shape[i];
    if (s->form != MULTIPLIED || number == 0) return;
    out_shape[0] = s->shape[1];
    out_shape[1] = 1 + s->shape[0] % 40;
}

/* Symbols of a program are those of the first input's axes. */
static weft_tensor input(weft_graph *graph, const sample *s, size_t number)
{
    int64_t shape[MOST_RANK];
    weft_extent extents[MOST_RANK];
    fill_shape(s, number, shape);
    for (size_t i = 0; i < s->rank; i++) {
        char name[24];
        snprintf(name, sizeof name, "n%zu", i);
        bool permuted = number == 1 && (s->form == TRANSPOSED || s->form == TURNED);
        size_t axis = permuted ? (size_t)s->permutation[i] : i;
        bool known = !s->symbolic || s->form == MULTIPLIED || s->form == STACKED;
        extents[axis] = known ? weft_extent_of(shape[axis]) : weft_symbol(graph, name, 1, 1000);
    }
    return weft_input(graph, number == 0 ? "x" : "y", s->dtype, (weft_shape){s->rank, extents});
}

static weft_tensor trace(weft_graph *graph, const sample *s)
{
    weft_tensor x = input(graph, s, 0), y = input(graph, s, 1);
    const weft_ints permutation = {s->rank, s->permutation};
    weft_extent counts[MOST_RANK];
    for (size_t i = 0; i < s->rank; i++) counts[i] = weft_extent_of((int64_t)i == s->axis ? 3 : 1);
    switch (s->form) {
    case TRANSPOSED: return weft_add(x, weft_permute(y, permutation));
    case TURNED: return weft_add(weft_permute(x, permutation), weft_permute(weft_permute(y, permutation), permutation));
    case REDUCED:
        return weft_reduce_sum(
            weft_mul(x, y), (weft_ints){s->axis == s->other_axis ? 1 : 2, (int64_t[]){s->axis, s->other_axis}}, false);
    case POSITIONS: return weft_argmax(weft_add(x, y), s->axis, false);
    case NORMALISED: return weft_softmax(weft_add(x, y), s->axis);
    case SCANNED: return weft_cumsum(weft_add(x, y), s->axis, draw(2) == 0, draw(2) == 0);
    case JOINED: return weft_concat(WEFT_TENSORS(x, weft_add(x, y), y), s->axis);
    case ROLLED:
        return weft_add(weft_roll(x, WEFT_INTS(s->shape[s->axis] / 3), WEFT_INTS(s->axis)),
                        weft_roll(y, WEFT_INTS(1), WEFT_INTS(s->other_axis)));
    case STACKED: return weft_stack(WEFT_TENSORS(x, y, weft_mul(x, y)), (int64_t)s->rank);
    case REPEATED: return weft_tile(weft_add(x, y), (weft_shape){s->rank, counts});
    case MULTIPLIED: return weft_matmul(x, y);
    default: return weft_mul(weft_add(x, y), x);
    }
}

/* ---- data ---- */

/* Random bytes whose floats are small numbers. */
static void fill(void *context, int64_t number, void *element)
{
    weft_dtype dtype = *(const weft_dtype *)context, part = weft_dtype_component(dtype);
    size_t size = weft_dtype_size(dtype), part_size = weft_dtype_size(part);
    unsigned char *bytes = element;
    (void)number;
    for (size_t i = 0; i < size; i++) {
        bool is_exponent = weft_dtype_info_of(part)->kind == WEFT_KIND_FLOAT && i % part_size == part_size - 1;
        bytes[i] = (unsigned char)draw(256);
        if (is_exponent) bytes[i] = (bytes[i] & 0x80) | 0x3f;
    }
}

static void describe(const sample *s)
{
    print_error("%s, %s%s:", forms[s->form], weft_dtype_name(s->dtype), s->symbolic ? ", symbols" : "");
    for (size_t i = 0; i < s->rank; i++) print_error(" %lld", (long long)s->shape[i]);
    print_error(", axes %lld, %lld, layouts %d, %d\n", (long long)s->axis, (long long)s->other_axis, s->layouts[0],
                s->layouts[1]);
}

/* ---- trying ---- */

static size_t try_sample(const sample *s)
{
    weft_graph *graph;
    weft_program *program;
    weft_schedules *schedules;
    weft_test_place places[INPUTS];
    weft_array *inputs[INPUTS];
    weft_tune_report report = {0};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(trace(graph, s)), NULL, &program));
    weft_graph_destroy(graph);
    for (size_t i = 0; i < INPUTS; i++) {
        int64_t shape[MOST_RANK];
        weft_dtype dtype = s->dtype;
        fill_shape(s, i, shape);
        assert_true(weft_test_place_create(dtype, s->rank, shape, s->layouts[i], draw(2) == 0, &places[i]));
        inputs[i] = places[i].array;
        weft_test_visit(inputs[i], fill, &dtype);
    }
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    const weft_executor_options executor = {.allocator = weft_test_guarded_allocator(), .threads = 1};
    const weft_run run = {.input_count = INPUTS, .inputs = inputs};
    weft_status *status =
        weft_tune(program, &run, &(weft_tune_options){.executor = executor, .seconds = 1000}, schedules, &report);
    if (status != NULL) describe(s);
    weft_test_ok(status);
    for (size_t i = 0; i < INPUTS; i++) {
        if (!weft_test_place_is_clean(&places[i])) {
            describe(s);
            fail_msg("something was written between the elements of input %zu", i);
        }
        weft_test_place_destroy(&places[i]);
    }
    weft_schedules_destroy(schedules);
    weft_program_release(program);
    return report.tried;
}

static int64_t sample_count = 2 * FORMS;

static void test_samples(void **unused)
{
    size_t tried[FORMS] = {0}, all = 0;
    (void)unused;
    for (int64_t i = 0; i < sample_count; i++) {
        sample s;
        draw_sample(&s, i);
        tried[s.form] += try_sample(&s);
    }
    for (size_t i = 0; i < FORMS; i++) {
        print_message("%s: %zu schedules\n", forms[i], tried[i]);
        all += tried[i];
    }
    assert_true(all > 2 * (size_t)sample_count);
}

int main(int argc, char **argv)
{
    if (argc > 1) sample_count = strtol(argv[1], NULL, 10);
    state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples)};
    return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
