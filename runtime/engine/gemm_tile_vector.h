/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of products for one dtype and ISA level. Included once for each, after the macros below; it ends by undefining
 * them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     FUNCTION, ROWS           what is defined; rows at most
 *     VECTOR, LOAD, STORE      a register of numbers; from and to memory
 *     SPLAT, ADD, FMA_VECTOR   of one number; a + b; a * b + c, rounded once
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL) };

/* Inlined with constant `rows` and `vectors`, so that all sums are registers. */
static inline __attribute__((always_inline)) void NAME(tile)(const weft_gemm_tile_call *p, int rows, int vectors)
{
    VECTOR sums[ROWS][WEFT_GEMM_VECTORS];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = (VECTOR){0};
    if (p->add) UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch((const ELEMENT *)p->c + i * p->c_stride);
    const ELEMENT *wide = p->wide, *narrow = p->narrow;
    _Pragma("GCC unroll 4") for (int64_t t = 0; t < p->terms; t++, wide += p->wide_term, narrow += p->narrow_term) {
        VECTOR across[WEFT_GEMM_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) across[v] = LOAD((const REAL *)wide + v * NAME(LANES));
        UNROLL for (int i = 0; i < rows; i++)
        {
            VECTOR factor = SPLAT(narrow[i * p->narrow_stride]);
            UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = FMA_VECTOR(factor, across[v], sums[i][v]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
    {
        REAL *c = (REAL *)((ELEMENT *)p->c + i * p->c_stride) + v * NAME(LANES);
        STORE(c, p->add ? ADD(LOAD(c), sums[i][v]) : sums[i][v]);
    }
}

static inline __attribute__((always_inline)) void NAME(tiles)(const weft_gemm_tile_call *p, int rows, int vectors)
{
    weft_gemm_tile_call next = *p;
    for (int64_t i = 0; i < p->count; i++) {
        NAME(tile)(&next, rows, vectors);
        next.wide = (const ELEMENT *)next.wide + p->wide_step;
        next.narrow = (const ELEMENT *)next.narrow + p->narrow_step;
        next.c = (ELEMENT *)next.c + p->c_step;
    }
}

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (p->vectors == 1) NAME(tiles)(p, rows, 1);                                                                  \
        else NAME(tiles)(p, rows, WEFT_GEMM_VECTORS);                                                                  \
        break;

void FUNCTION(const weft_gemm_tile_call *p)
{
    switch (p->rows) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
#if ROWS >= 12
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
#endif
#if ROWS >= 14
        CASE(13)
        CASE(14)
#endif
    }
}

#undef CASE
#undef REAL
#undef ELEMENT
#undef NAME
#undef FUNCTION
#undef ROWS
#undef VECTOR
#undef LOAD
#undef STORE
#undef SPLAT
#undef ADD
#undef FMA_VECTOR
