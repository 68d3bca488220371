/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Hand-written loops: what a careful programmer would put in place of a library, with ordinary stores. Compiled for the
 * machine at hand, without reassociation: the order of a sum is written out, as vectors of partial sums. There is no
 * NaN.
 */

enum { LANES = 8, SUMS = 4, STEP = LANES * SUMS, SIDE = 16, TILE = 128 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

static const lanes *at(const float *p)
{
    return (const lanes *)p;
}

void floor_broadcast(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0], *b = data->inputs[1];
    float *restrict y = data->output;
    for (int64_t row = begin; row < end; row++) {
        const float *bias = b + row / (630 * 12) * 32;
        for (int64_t k = 0; k < 32; k++) y[row * 32 + k] = x[row * 32 + k] + bias[k];
    }
}

void floor_chain(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    float *restrict y = data->output;
    for (int64_t i = begin; i < end; i++) {
        float v = (sqrtf(fabsf(x[i] * 1.5f + 0.25f)) - x[i]) * x[i];
        y[i] = fminf(fmaxf(v, -0.5f), 0.5f);
    }
}

/* Of arguments up to 0: 2^n times Taylor's polynomial on [-ln2/2, ln2/2], 0 below the normal numbers. */
static inline float exponential(float x)
{
    const float magic = 0x1.8p23f;
    float clamped = x < -87.0f ? -87.0f : x;
    float shifted = fmaf(clamped, 0x1.715476p0f, magic), n = shifted - magic;
    float r = fmaf(n, -0x1.62e430p-1f, clamped);
    r = fmaf(n, 0x1.05c610p-29f, r);
    float p = fmaf(1 / 720.0f, r, 1 / 120.0f);
    p = fmaf(p, r, 1 / 24.0f);
    p = fmaf(p, r, 1 / 6.0f);
    p = fmaf(fmaf(fmaf(p, r, 0.5f), r, 1.0f), r, 1.0f);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return x < -87.0f ? 0.0f : p * scale;
}

static float greatest(const float *x, int64_t count)
{
    float most[STEP], result = x[0];
    for (int j = 0; j < STEP; j++) most[j] = x[j];
    for (int64_t k = STEP; k < count; k += STEP)
        for (int j = 0; j < STEP; j++) most[j] = fmaxf(most[j], x[k + j]);
    for (int j = 0; j < STEP; j++) result = fmaxf(most[j], result);
    return result;
}

static float total(const float *x, int64_t count)
{
    lanes sums[SUMS] = {{0}};
    for (int64_t k = 0; k < count; k += STEP)
        for (int j = 0; j < SUMS; j++) sums[j] += *at(x + k + j * LANES);
    lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float result = 0;
    for (int j = 0; j < LANES; j++) result += all[j];
    return result;
}

void floor_softmax_row(const float *x, float *restrict y, int64_t n)
{
    float most = greatest(x, n);
    for (int64_t k = 0; k < n; k++) y[k] = exponential(x[k] - most);
    float scale = 1.0f / total(y, n);
    for (int64_t k = 0; k < n; k++) y[k] *= scale;
}

void floor_softmax(const case_data *data, int64_t begin, int64_t end)
{
    int64_t n = data->columns;
    for (int64_t row = begin; row < end; row++)
        floor_softmax_row((const float *)data->inputs[0] + row * n, (float *)data->output + row * n, n);
}

void floor_row_sum(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    for (int64_t row = begin; row < end; row++)
        ((float *)data->output)[row] = total(x + row * data->columns, data->columns);
}

/* Threads take columns; four rows at a time go into a row of sums that stays in L1. */
void floor_column_sum(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    float *restrict y = data->output;
    int64_t n = data->columns;
    memset(y + begin, 0, (size_t)(end - begin) * sizeof *y);
    for (int64_t i = 0; i < data->rows; i += 4) {
        const float *a = x + i * n, *b = a + n, *c = b + n, *d = c + n;
        for (int64_t j = begin; j < end; j++) y[j] += (a[j] + b[j]) + (c[j] + d[j]);
    }
}

#define PAIR(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* Eight rows of eight, in registers. */
static inline void transpose_block(const float *x, float *y, int64_t n)
{
    lanes r[8], s[8];
    for (int i = 0; i < 8; i++) r[i] = *at(x + i * n);
    for (int i = 0; i < 8; i += 2) {
        s[i] = PAIR(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = PAIR(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            r[i + 2 * j] = PAIR(s[i + j], s[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + 2 * j + 1] = PAIR(s[i + j], s[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < 4; j++) {
        *(lanes *)(y + j * n) = PAIR(r[j], r[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(lanes *)(y + (j + 4) * n) = PAIR(r[j], r[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* A square of whole cache lines on both sides. */
static inline void transpose_square(const float *x, float *y, int64_t n)
{
    for (int b = 0; b < SIDE; b += 8)
        for (int a = 0; a < SIDE; a += 8) transpose_block(x + a * n + b, y + b * n + a, n);
}

/* Tiles that fit L2, rows of tiles in turn; inside a tile along the rows of the input. */
void floor_transpose_along(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    float *y = data->output;
    int64_t n = data->columns;
    for (int64_t i = begin * TILE; i < end * TILE; i += TILE)
        for (int64_t j = 0; j < n; j += TILE)
            for (int64_t a = i; a < i + TILE; a += SIDE)
                for (int64_t b = j; b < j + TILE; b += SIDE) transpose_square(x + a * n + b, y + b * n + a, n);
}

/* The same along the rows of the output. */
void floor_transpose_across(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    float *y = data->output;
    int64_t n = data->columns;
    for (int64_t j = begin * TILE; j < end * TILE; j += TILE)
        for (int64_t i = 0; i < n; i += TILE)
            for (int64_t b = j; b < j + TILE; b += SIDE)
                for (int64_t a = i; a < i + TILE; a += SIDE) transpose_square(x + a * n + b, y + b * n + a, n);
}

void floor_add(const case_data *data, int64_t begin, int64_t end)
{
    const float *a = data->inputs[0], *b = data->inputs[1];
    float *restrict y = data->output;
    for (int64_t i = begin; i < end; i++) y[i] = a[i] + b[i];
}

/* The sum of (x - mean)^2. */
static float spread(const float *x, float mean, int64_t n)
{
    lanes sums[SUMS] = {{0}};
    int64_t k = 0;
    for (; k + STEP <= n; k += STEP)
        for (int i = 0; i < SUMS; i++) {
            lanes d = *at(x + k + i * LANES) - mean;
            sums[i] += d * d;
        }
    lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int i = 0; i < LANES; i++) sum += all[i];
    for (; k < n; k++) sum += (x[k] - mean) * (x[k] - mean);
    return sum;
}

/* Mean, then variance, then the result; the row is read from memory once. */
void floor_layer_norm(const case_data *data, int64_t begin, int64_t end)
{
    int64_t n = data->columns;
    const float *scale = data->inputs[1], *bias = data->inputs[2];
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)data->inputs[0] + row * n;
        float *restrict y = (float *)data->output + row * n;
        float mean = total(x, n) / (float)n;
        float factor = 1.0f / sqrtf(spread(x, mean, n) / (float)n + 1e-5f);
        for (int64_t k = 0; k < n; k++) y[k] = (x[k] - mean) * factor * scale[k] + bias[k];
    }
}

/* erf by Abramowitz and Stegun, 7.1.26: within 2e-7. */
static inline float normal_share(float x)
{
    float a = fabsf(x) * 0x1.6a09e6p-1f, t = 1.0f / fmaf(0.3275911f, a, 1.0f);
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(fmaf(fmaf(p, t, 1.421413741f), t, -0.284496736f), t, 0.254829592f) * t;
    float half_tail = 0.5f * p * exponential(-a * a);
    return x < 0 ? half_tail : 1.0f - half_tail;
}

void floor_gelu(const case_data *data, int64_t begin, int64_t end)
{
    const float *x = data->inputs[0];
    float *restrict y = data->output;
    for (int64_t i = begin * data->columns; i < end * data->columns; i++) y[i] = x[i] * normal_share(x[i]);
}

void floor_embedding(const case_data *data, int64_t begin, int64_t end)
{
    const int64_t *indices = data->inputs[1];
    size_t bytes = (size_t)data->columns * sizeof(float);
    for (int64_t i = begin; i < end; i++)
        memcpy((char *)data->output + (size_t)i * bytes, (const char *)data->inputs[0] + (size_t)indices[i] * bytes,
               bytes);
}

/* 64 channels of 56 x 56 around which there are zeros, and a kernel of 3 x 3. */
void floor_prepare_windows(const case_data *data)
{
    enum { CHANNELS = 64, EDGE = 56, KERNEL = 3 };
    const float *x = data->inputs[0];
    float *y = data->scratch;
    for (int row = 0; row < CHANNELS * KERNEL * KERNEL; row++) {
        int channel = row / (KERNEL * KERNEL), down = row / KERNEL % KERNEL - 1, right = row % KERNEL - 1;
        for (int i = down; i < EDGE + down; i++)
            for (int j = right; j < EDGE + right; j++)
                *y++ = i < 0 || i >= EDGE || j < 0 || j >= EDGE ? 0 : x[(channel * EDGE + i) * EDGE + j];
    }
}
