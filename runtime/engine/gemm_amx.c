/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bf16 in tiles of AMX: 16 rows by 32 terms times 32 terms by 16 columns in one instruction. It adds up in
 * f32, and takes denormals for zero.
 */
#include <immintrin.h>
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_pairs.h"

enum { ROW = WEFT_PAIRS_TILE_ROW, BYTES = WEFT_PAIRS_TILE_BYTES, LINES = WEFT_PAIRS_TILE_LINES };

/* Compilers do not know all that instructions for tiles read: what lies there, and elsewhere, is in memory then. */
static inline void write_out(const void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/* What LDTILECFG reads: all eight registers are whole tiles. */
static void configure(void)
{
    enum { TILES = 8, NAMES = 16 };
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[NAMES];
        uint8_t rows[NAMES];
    } tiles = {.palette = 1};
    for (int i = 0; i < TILES; i++) tiles.row_bytes[i] = ROW, tiles.rows[i] = LINES;
    write_out(&tiles);
    _tile_loadconfig(&tiles);
}

/* Of one tile or two of each panel. */
static __attribute__((noinline)) void multiply(const char *left, const char *right, int64_t steps, int64_t rows,
                                               int64_t columns, const int32_t *first, void *sums)
{
    enum { WIDTH = WEFT_PAIRS_LINES, PITCH = WIDTH * sizeof(float) };
    const bool two_left = rows > LINES, two_right = columns > LINES;
    (void)first;
    write_out(left);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t s = 0; s < steps; s++, left += WEFT_PAIRS_STEP_BYTES, right += WEFT_PAIRS_STEP_BYTES) {
        _tile_loadd(4, left, ROW);
        _tile_loadd(6, right, ROW);
        _tile_dpbf16ps(0, 4, 6);
        if (two_right) {
            _tile_loadd(7, right + BYTES, ROW);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (!two_left) continue;
        _tile_loadd(5, left + BYTES, ROW);
        _tile_dpbf16ps(2, 5, 6);
        if (two_right) _tile_dpbf16ps(3, 5, 7);
    }
    float *beside = (float *)sums + LINES, *below = (float *)sums + LINES * WIDTH;
    _tile_stored(0, sums, PITCH);
    if (two_right) _tile_stored(1, beside, PITCH);
    if (!two_left) return;
    _tile_stored(2, below, PITCH);
    if (two_right) _tile_stored(3, below + LINES, PITCH);
}

static const weft_gemm_kernel kernel = {WEFT_PAIRS_KERNEL(sizeof(uint16_t)), .speed = 8};
static const weft_gemm_pairs pairs = WEFT_PAIRS_BF16(multiply);

static void run(const weft_gemm_block *block, char *memory)
{
    configure();
    weft_gemm_pairs_run(&pairs, block, memory);
    _tile_release();
}

static void fill(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels)
{
    weft_gemm_pairs_fill(&pairs, kernel.step, side, term, terms, panels);
}

static const weft_gemm_numbers numbers = {weft_gemm_pack_16, weft_gemm_pairs_bytes, run, fill};
const weft_gemm_engine weft_gemm_amx_engine_bf16 = {&kernel, &numbers, &weft_gemm_pairs_float16};
