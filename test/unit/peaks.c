/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beside inputs and results: that of attention grows with the length, not with its square, windows are never
 * written, and a softmax needs none. */
#include <weft/weft.h>
#include "runtime/base/machine.h"
#include "test/support.h"

enum { MOST_INPUTS = 3, MOST_RANK = 4 };

typedef struct subject {
    weft_graph *graph;
    size_t input_count;
    weft_array *inputs[MOST_INPUTS];
    double bytes; /* of inputs and result */
} subject;

static weft_tensor input(subject *s, size_t rank, const int64_t *shape)
{
    weft_extent extents[MOST_RANK];
    const char name[] = {(char)('a' + s->input_count), '\0'};
    weft_array **array = &s->inputs[s->input_count++];
    for (size_t i = 0; i < rank; i++) extents[i] = weft_extent_of(shape[i]);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, rank, shape, array));
    float *data = weft_array_data(*array);
    for (int64_t i = 0; i < weft_array_count(*array); i++) data[i] = (float)(i * 7919 % 1009) / 1009 - 0.5f;
    s->bytes += 4.0 * (double)weft_array_count(*array);
    return weft_input(s->graph, name, WEFT_F32, (weft_shape){rank, extents});
}

/* Bytes that a run takes for temporaries and packed operands; `result` is traced in the graph of `s`, which ends. */
static double measure(subject *s, weft_tensor result, unsigned threads)
{
    weft_program *program;
    weft_executor *executor;
    weft_array *output = NULL;
    weft_report report;
    const weft_executor_options options = {.threads = threads, .machine = weft_machine_reference()};
    weft_test_ok(weft_compile(s->graph, WEFT_TENSORS(result), NULL, &program));
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    const weft_run run = {
        .input_count = s->input_count, .inputs = s->inputs, .output_count = 1, .outputs = &output, .report = &report};
    weft_test_ok(weft_executor_run(executor, program, &run));
    s->bytes += 4.0 * (double)weft_array_count(output);
    for (size_t i = 0; i < s->input_count; i++) weft_array_release(s->inputs[i]);
    weft_array_release(output);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(s->graph);
    return (double)report.peak_bytes + (double)report.packed_bytes;
}

static double attention(int64_t length, bool causal, unsigned threads)
{
    subject s = {0};
    weft_test_ok(weft_graph_create(NULL, &s.graph));
    const int64_t shape[] = {length, 64};
    weft_tensor q = input(&s, 2, shape), k = input(&s, 2, shape), v = input(&s, 2, shape);
    return measure(&s, weft_attention(q, k, v, &(weft_attention_options){.causal = causal}), threads);
}

static void attention_is_linear(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++)
        for (int causal = 0; causal < 2; causal++) {
            double one = attention(2048, causal, threads), four = attention(8192, causal, threads);
            if (four > 64e6 || four > 5 * one)
                fail_msg("%u threads: %.3g bytes for 8192, %.3g for 2048", threads, four, one);
        }
}

static void windows_are_not_written(void **state)
{
    (void)state;
    /* channels, results, side, kernel, stride, groups */
    static const int64_t cases[][6] = {{64, 64, 56, 3, 1, 1},  {3, 64, 224, 7, 2, 1},   {64, 256, 56, 1, 1, 1},
                                       {64, 64, 56, 3, 1, 64}, {256, 256, 14, 3, 1, 1}, {64, 64, 56, 3, 1, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t *c = cases[i], pad = c[3] / 2;
        subject s = {0};
        weft_test_ok(weft_graph_create(NULL, &s.graph));
        weft_tensor x = input(&s, 4, (int64_t[]){1, c[0], c[2], c[2]});
        weft_tensor w = input(&s, 4, (int64_t[]){c[1], c[0] / c[5], c[3], c[3]});
        const weft_conv_options options = {
            .stride = WEFT_INTS(c[4], c[4]), .low = WEFT_INTS(pad, pad), .high = WEFT_INTS(pad, pad), .groups = c[5]};
        double peak = measure(&s, weft_conv(x, w, &options), 1);
        if (peak > s.bytes) fail_msg("convolution %zu: %.3g bytes beside %.3g", i, peak, s.bytes);
    }
}

/* The powers lie where the result is going to be. */
static void softmax_needs_none(void **state)
{
    (void)state;
    for (int64_t axis = 0; axis < 2; axis++) {
        subject s = {0};
        weft_test_ok(weft_graph_create(NULL, &s.graph));
        weft_tensor x = input(&s, 2, (int64_t[]){300, 400});
        assert_true(measure(&s, weft_softmax(x, axis), 1) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_linear),
        cmocka_unit_test(windows_are_not_written),
        cmocka_unit_test(softmax_needs_none),
    };
    return cmocka_run_group_tests_name("peaks", tests, NULL, NULL);
}
