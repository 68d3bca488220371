/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of panels of pairs, or fours, by an instruction that adds several products to each lane. After these macros:
 *
 *     VECTOR, LOAD, STORE   a register of sums; from and to memory, which is aligned
 *     SPLAT(bits)           32 bits in each lane
 *     ROWS, VECTORS, CASES  rows and registers of columns whose sums are registers: enough to wait for none; CASE(1) to
 *                           CASE(ROWS)
 */
#include <string.h>
#include "runtime/engine/gemm_pairs.h"
#include "runtime/engine/vector.h"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = sizeof(VECTOR) / sizeof(int32_t), COLUMNS = VECTORS * LANES };

/* sum + the products of numbers in the same lane. */
typedef VECTOR add_products(VECTOR sum, VECTOR left, VECTOR right);

/* Inlined with constants, as far as rows. */
INLINE void multiply_rows(const char *left, const char *right, int64_t steps, int rows, int vectors, add_products *add,
                          const int32_t *first, int32_t *sums)
{
    enum { SUM = sizeof *sums, GROUPS = WEFT_PAIRS_TILE_ROW / SUM, LINES = WEFT_PAIRS_TILE_LINES };
    VECTOR sum[ROWS][VECTORS];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = SPLAT(first[i]);
    for (int64_t s = 0; s < steps; s++, left += WEFT_PAIRS_STEP_BYTES, right += WEFT_PAIRS_STEP_BYTES)
        _Pragma("GCC unroll 4") for (int group = 0; group < GROUPS; group++)
        {
            VECTOR across[VECTORS];
            UNROLL for (int v = 0; v < vectors; v++) across[v] =
                LOAD((const void *)(right + v * LANES / LINES * WEFT_PAIRS_TILE_BYTES + v * LANES % LINES * SUM +
                                    group * WEFT_PAIRS_TILE_ROW));
            UNROLL for (int i = 0; i < rows; i++)
            {
                int32_t terms;
                memcpy(&terms, left + i * WEFT_PAIRS_TILE_ROW + group * SUM, sizeof terms);
                VECTOR splat = SPLAT(terms);
                UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = add(sum[i][v], splat, across[v]);
            }
        }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
        STORE((void *)(sums + i * WEFT_PAIRS_LINES + v * LANES), sum[i][v]);
}

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (columns <= LANES) multiply_rows(left, right, steps, rows, 1, add, first, sums);                            \
        else multiply_rows(left, right, steps, rows, VECTORS, add, first, sums);                                       \
        break;

/* Of rows of one tile and columns of one or several. */
INLINE void multiply_some(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                          add_products *add, const int32_t *first, int32_t *sums)
{
    switch (rows) {
        CASES
    }
}

/* A weft_gemm_pairs_function, by one instruction. */
INLINE void multiply(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,
                     add_products *add, const int32_t *first, int32_t *sums)
{
    enum { LINES = WEFT_PAIRS_TILE_LINES };
    for (int64_t j = 0; j < columns; j += COLUMNS)
        for (int64_t i = 0, count; i < rows; i += count) {
            int64_t line = i % LINES, of_tile = rows - i < LINES - line ? rows - i : LINES - line;
            count = of_tile < ROWS ? of_tile : ROWS;
            multiply_some(left + i / LINES * WEFT_PAIRS_TILE_BYTES + line * WEFT_PAIRS_TILE_ROW,
                          right + j / LINES * WEFT_PAIRS_TILE_BYTES, steps, count, columns - j, add, first + i,
                          sums + i * WEFT_PAIRS_LINES + j);
        }
}

/* The instruction `add` on the panels of numbers of one kind. */
#define MULTIPLY(name, add)                                                                                            \
    static void name(const char *left, const char *right, int64_t steps, int64_t rows, int64_t columns,                \
                     const int32_t *first, void *sums)                                                                 \
    {                                                                                                                  \
        multiply(left, right, steps, rows, columns, add, first, sums);                                                 \
    }

/* The engine `engine` of numbers that are packed as so many bytes, by `pairs`. */
#define ENGINE(engine, bytes, speed_, pack, float16, pairs)                                                            \
    static void engine##_run(const weft_gemm_block *block, char *memory)                                               \
    {                                                                                                                  \
        weft_gemm_pairs_run(&(pairs), block, memory);                                                                  \
    }                                                                                                                  \
    static void engine##_fill(const weft_gemm_side *side, int64_t term, int64_t terms, char *panels)                   \
    {                                                                                                                  \
        weft_gemm_pairs_fill(&(pairs), WEFT_PAIRS_TILE_ROW / (bytes), side, term, terms, panels);                      \
    }                                                                                                                  \
    static const weft_gemm_kernel engine##_kernel = {WEFT_PAIRS_KERNEL(bytes), .speed = speed_};                       \
    static const weft_gemm_numbers engine##_numbers = {pack, weft_gemm_pairs_bytes, engine##_run, engine##_fill};      \
    const weft_gemm_engine engine = {&engine##_kernel, &engine##_numbers, float16}
