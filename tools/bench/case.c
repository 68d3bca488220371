/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"
#include <weft/weft.h>

static weft_tensor number(weft_tensor x, double value)
{
    return weft_scalar(x.graph, weft_tensor_dtype(x), value);
}

static weft_tensor trace_add(weft_tensor a, weft_tensor b)
{
    return weft_add(a, b);
}

/* Eight operations. */
static weft_tensor trace_chain(weft_tensor x, weft_tensor unused)
{
    (void)unused;
    weft_tensor y = weft_add(weft_mul(x, number(x, 1.5)), number(x, 0.25));
    y = weft_sub(weft_sqrt(weft_abs(y)), x);
    return weft_min(weft_max(weft_mul(y, x), number(x, -0.5)), number(x, 0.5));
}

static weft_tensor trace_softmax(weft_tensor x, weft_tensor unused)
{
    (void)unused;
    return weft_softmax(x, 1);
}

static weft_tensor trace_row_sum(weft_tensor x, weft_tensor unused)
{
    (void)unused;
    return weft_reduce_sum(x, WEFT_INTS(1), false);
}

static weft_tensor trace_column_sum(weft_tensor x, weft_tensor unused)
{
    (void)unused;
    return weft_reduce_sum(x, WEFT_INTS(0), false);
}

static weft_tensor trace_transpose(weft_tensor x, weft_tensor unused)
{
    (void)unused;
    return weft_transpose(x, 0, 1);
}

static weft_tensor trace_matmul(weft_tensor a, weft_tensor b)
{
    return weft_matmul(a, b);
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
