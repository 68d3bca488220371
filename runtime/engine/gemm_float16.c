/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_float16.h"
#include <string.h>

/* The same block with its sums as C; along the kernel's vectors they are adjacent. */
struct sums {
    weft_gemm_block block;
    weft_gemm_axes left, right;
    int64_t along, across, pitch; /* elements of a vector's row, rows, numbers from one to the next */
};

static void find_sums(struct sums *s, const weft_gemm_block *block, char *memory)
{
    enum { LINE = WEFT_GEMM_ALIGNMENT / sizeof(float) };
    bool by_columns = block->kernel->by_columns;
    s->along = by_columns ? block->left.count : block->right.count;
    s->across = by_columns ? block->right.count : block->left.count;
    s->pitch = (s->along + LINE - 1) / LINE * LINE;
    int64_t left = by_columns ? 1 : s->pitch, right = by_columns ? s->pitch : 1;
    s->left = (weft_gemm_axes){.count = block->left.count, .each = block->left.count, .stride = left};
    s->right = (weft_gemm_axes){.count = block->right.count, .each = block->right.count, .stride = right};
    s->block = *block;
    s->block.c = memory;
    s->block.c_first_left = block->left.first;
    s->block.c_first_right = block->right.first;
    s->block.c_element = sizeof(float);
    s->block.c_left = &s->left;
    s->block.c_right = &s->right;
}

static size_t sums_bytes(const struct sums *s)
{
    return (size_t)(s->pitch * s->across) * sizeof(float);
}

size_t weft_gemm_float16_bytes(const weft_gemm_block *block)
{
    struct sums sums;
    find_sums(&sums, block, NULL);
    return sums_bytes(&sums) + weft_gemm_block_bytes(&sums.block);
}

/* Adjacent sums into elements of C that lie `stride` apart. */
static void round_run(const weft_float16 *float16, const float *sums, char *c, int64_t stride, int64_t count)
{
    enum { CHUNK = 64, SIZE = 2 };
    char rounded[CHUNK * SIZE];
    if (stride == 1) {
        float16->round(sums, c, count);
        return;
    }
    for (int64_t i = 0, part; i < count; i += part) {
        part = count - i < CHUNK ? count - i : CHUNK;
        float16->round(sums + i, rounded, part);
        for (int64_t k = 0; k < part; k++) memcpy(c + (i + k) * stride * SIZE, rounded + k * SIZE, SIZE);
    }
}

/* Row by row of the sums, run by run of C. */
void weft_gemm_float16_round(const weft_gemm_block *block, const weft_gemm_sums *sums)
{
    bool by_columns = block->kernel->by_columns;
    const weft_gemm_axes *axes = by_columns ? block->c_left : block->c_right;
    int64_t first = by_columns ? sums->left : sums->right;
    int64_t along = by_columns ? sums->left_count : sums->right_count;
    int64_t across = by_columns ? sums->right_count : sums->left_count;
    for (int64_t j = 0; j < across; j++) {
        const float *row = sums->data + j * sums->pitch;
        for (int64_t i = 0, run; i < along; i += run) {
            run = weft_gemm_axes_run(axes, first + i, along - i);
            int64_t left = sums->left + (by_columns ? i : j), right = sums->right + (by_columns ? j : i);
            round_run(block->left.float16, row + i, weft_gemm_block_element(block, left, right), axes->stride, run);
        }
    }
}

void weft_gemm_float16_run(const weft_gemm_block *block, char *memory)
{
    struct sums sums;
    find_sums(&sums, block, memory);
    weft_gemm_block_run(&sums.block, memory + sums_bytes(&sums));
    weft_gemm_float16_round(block, &(weft_gemm_sums){.data = (const float *)memory,
                                                     .pitch = sums.pitch,
                                                     .left = block->left.first,
                                                     .left_count = block->left.count,
                                                     .right = block->right.first,
                                                     .right_count = block->right.count});
}
