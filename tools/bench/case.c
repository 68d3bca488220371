/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"
#include <weft/weft.h>

static weft_tensor number(weft_tensor x, double value)
{
    return weft_scalar(x.graph, weft_tensor_dtype(x), value);
}

static weft_tensor trace_add(const weft_tensor *inputs)
{
    return weft_add(inputs[0], inputs[1]);
}

/* Eight operations. */
static weft_tensor trace_chain(const weft_tensor *inputs)
{
    weft_tensor x = inputs[0];
    weft_tensor y = weft_add(weft_mul(x, number(x, 1.5)), number(x, 0.25));
    y = weft_sub(weft_sqrt(weft_abs(y)), x);
    return weft_min(weft_max(weft_mul(y, x), number(x, -0.5)), number(x, 0.5));
}

static weft_tensor trace_softmax(const weft_tensor *inputs)
{
    return weft_softmax(inputs[0], 1);
}

static weft_tensor trace_row_sum(const weft_tensor *inputs)
{
    return weft_reduce_sum(inputs[0], WEFT_INTS(1), false);
}

static weft_tensor trace_column_sum(const weft_tensor *inputs)
{
    return weft_reduce_sum(inputs[0], WEFT_INTS(0), false);
}

static weft_tensor trace_transpose(const weft_tensor *inputs)
{
    return weft_transpose(inputs[0], 0, 1);
}

static weft_tensor trace_matmul(const weft_tensor *inputs)
{
    return weft_matmul(inputs[0], inputs[1]);
}

static weft_tensor trace_layer_norm(const weft_tensor *inputs)
{
    return weft_layer_norm(inputs[0], 1, &(weft_norm_options){.scale = inputs[1], .bias = inputs[2]});
}

/* With erf, not with tanh. */
static weft_tensor trace_gelu(const weft_tensor *inputs)
{
    return weft_gelu(inputs[0]);
}

static weft_tensor trace_attention(const weft_tensor *inputs)
{
    return weft_attention(inputs[0], inputs[1], inputs[2], NULL);
}

static weft_tensor trace_conv(const weft_tensor *inputs)
{
    return weft_conv(inputs[0], inputs[1], &(weft_conv_options){.low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1)});
}

static weft_tensor trace_embedding(const weft_tensor *inputs)
{
    return weft_embedding(inputs[0], inputs[1], WEFT_NO_PADDING);
}

#define MATMUL(extent, type, largest_error)                                                                            \
    {                                                                                                                  \
        .name = "matmul-" #extent "-" #type, .bound = "compute", .dtype = #type, .input_count = 2,                     \
        .inputs = {{2, {extent, extent}}, {2, {extent, extent}}}, .output = {2, {extent, extent}},                     \
        .flops = 2.0 * extent * extent * extent, .tolerance = largest_error, .trace = trace_matmul,                    \
        .floors = {floor_product_##type, floor_small_product_##type}, .rows = extent, .chunks = 1                      \
    }

static const weft_bench_case cases[] = {
    {.name = "broadcast-add",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 2,
     .inputs = {{4, {32, 630, 12, 32}}, {4, {32, 1, 1, 32}}},
     .output = {4, {32, 630, 12, 32}},
     .bytes = 2.0 * 32 * 630 * 12 * 32 * 4,
     .trace = trace_add,
     .floors = {floor_broadcast},
     .rows = 32 * 630 * 12,
     .chunks = 4},
    {.name = "chain",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{1, {1 << 24}}},
     .output = {1, {1 << 24}},
     .bytes = 2.0 * (1 << 24) * 4,
     .trace = trace_chain,
     .floors = {floor_chain},
     .rows = 1 << 24,
     .chunks = 4},
    {.name = "softmax",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{2, {4096, 1024}}},
     .output = {2, {4096, 1024}},
     .bytes = 2.0 * 4096 * 1024 * 4,
     .tolerance = 2e-6,
     .trace = trace_softmax,
     .floors = {floor_softmax},
     .rows = 4096,
     .chunks = 4},
    {.name = "row-sum",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{2, {4096, 4096}}},
     .output = {1, {4096}},
     .bytes = 4096.0 * 4096 * 4,
     .tolerance = 1e-5,
     .trace = trace_row_sum,
     .floors = {floor_row_sum},
     .rows = 4096,
     .chunks = 4},
    {.name = "column-sum",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{2, {4096, 4096}}},
     .output = {1, {4096}},
     .bytes = 4096.0 * 4096 * 4,
     .tolerance = 1e-5,
     .trace = trace_column_sum,
     .floors = {floor_column_sum},
     .rows = 4096,
     .chunks = 1},
    {.name = "transpose",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{2, {4096, 4096}}},
     .output = {2, {4096, 4096}},
     .bytes = 2.0 * 4096 * 4096 * 4,
     .trace = trace_transpose,
     .floors = {floor_transpose_along, floor_transpose_across},
     .rows = 4096 / 128,
     .chunks = 4},
    MATMUL(256, f32, 1e-5),
    MATMUL(1024, f32, 1e-5),
    MATMUL(2048, f32, 1e-5),
    MATMUL(256, f64, 1e-14),
    MATMUL(1024, f64, 1e-14),
    MATMUL(2048, f64, 1e-14),
    {.name = "layer-norm",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 3,
     .inputs = {{2, {4096, 1024}}, {1, {1024}}, {1, {1024}}},
     .output = {2, {4096, 1024}},
     .bytes = 2.0 * 4096 * 1024 * 4,
     .tolerance = 2e-6,
     .trace = trace_layer_norm,
     .floors = {floor_layer_norm},
     .rows = 4096,
     .chunks = 4},
    {.name = "gelu",
     .bound = "compute",
     .dtype = "f32",
     .input_count = 1,
     .inputs = {{.rank = 2, .shape = {4096, 4096}, .reach = 4}},
     .output = {2, {4096, 4096}},
     .bytes = 2.0 * 4096 * 4096 * 4,
     .tolerance = 2e-6,
     .trace = trace_gelu,
     .floors = {floor_gelu},
     .rows = 4096,
     .chunks = 4},
    {.name = "attention",
     .bound = "compute",
     .dtype = "f32",
     .input_count = 3,
     .inputs = {{4, {1, 12, 512, 64}}, {4, {1, 12, 512, 64}}, {4, {1, 12, 512, 64}}},
     .output = {4, {1, 12, 512, 64}},
     .flops = 4.0 * 12 * 512 * 512 * 64,
     .tolerance = 1e-5,
     .trace = trace_attention,
     .floors = {floor_attention},
     .rows = 12 * 512 / 64,
     .chunks = 4},
    {.name = "conv",
     .bound = "compute",
     .dtype = "f32",
     .input_count = 2,
     .inputs = {{4, {1, 64, 56, 56}}, {4, {64, 64, 3, 3}}},
     .output = {4, {1, 64, 56, 56}},
     .flops = 2.0 * 64 * 64 * 9 * 56 * 56,
     .tolerance = 1e-5,
     .trace = trace_conv,
     .scratch = 64 * 9 * 56 * 56,
     .prepare = floor_prepare_windows,
     .floors = {floor_conv},
     .rows = 56 * 56,
     .chunks = 1},
    {.name = "embedding",
     .bound = "memory",
     .dtype = "f32",
     .input_count = 2,
     .inputs = {{2, {30522, 768}}, {.rank = 2, .shape = {32, 512}, .below = 30522}},
     .output = {3, {32, 512, 768}},
     .bytes = 2.0 * 32 * 512 * 768 * 4,
     .trace = trace_embedding,
     .floors = {floor_embedding},
     .rows = 32 * 512,
     .chunks = 4},
    {.name = "add-4",
     .bound = "call",
     .dtype = "f32",
     .input_count = 2,
     .inputs = {{1, {4}}, {1, {4}}},
     .output = {1, {4}},
     .trace = trace_add,
     .floors = {floor_add},
     .rows = 4},
};

size_t weft_bench_case_count(void)
{
    return sizeof cases / sizeof *cases;
}

const weft_bench_case *weft_bench_case_at(size_t index)
{
    return index < weft_bench_case_count() ? &cases[index] : NULL;
}
