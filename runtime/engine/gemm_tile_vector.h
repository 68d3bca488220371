/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of products for one dtype and ISA level. Included once for each, after the macros below; it ends by undefining
 * them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     FUNCTION, ROWS, VECTORS  what is defined; rows at most, of one or two registers, and registers at most
 *     VECTOR, LOAD, STORE      a register of numbers; from and to memory
 *     LOAD_LAST(p, n), STORE_LAST(p, n, v)  the same of the last register of a row, of which there are n numbers
 *     COMPLEX_FUNCTION         the same of complex numbers; need not be defined
 *     TIMES_I                  i * a, of complex numbers as pairs of lanes
 *     AHEAD                    terms ahead of which the wide operand is asked for; 0: it is not
 *     SPLAT, ADD, FMA_VECTOR   of one number; a + b; a * b + c, rounded once
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL) };

/* Inlined with constants, so that all sums are registers. `parts`: 2 of complex numbers, whose terms are multiplied by re
 * of narrow and then, times i, by im. */
static inline __attribute__((always_inline)) void NAME(tile)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                             int parts)
{
    const int64_t last = p->columns - (vectors - 1) * NAME(LANES);
    VECTOR sums[ROWS][VECTORS];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = (VECTOR){0};
    if (p->add) UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch((const ELEMENT *)p->c + i * p->c_stride);
    const ELEMENT *wide = p->wide, *narrow = p->narrow;
    _Pragma("GCC unroll 4") for (int64_t t = 0; t < p->terms; t++, wide += p->wide_term, narrow += p->narrow_term) {
        VECTOR across[VECTORS];
        const REAL *line = (const REAL *)wide;
        if (AHEAD > 0) UNROLL for (int v = 0; v < vectors; v++)
                __builtin_prefetch(wide + AHEAD * p->wide_term + v * NAME(LANES));
        UNROLL for (int v = 0; v < vectors - 1; v++) across[v] = LOAD(line + v * NAME(LANES));
        across[vectors - 1] = LOAD_LAST(line + (vectors - 1) * NAME(LANES), last);
        UNROLL for (int part = 0; part < parts; part++)
        {
            if (part > 0) UNROLL for (int v = 0; v < vectors; v++) across[v] = TIMES_I(across[v]);
            UNROLL for (int i = 0; i < rows; i++)
            {
                VECTOR factor = SPLAT(narrow[i * p->narrow_stride + part]);
                UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = FMA_VECTOR(factor, across[v], sums[i][v]);
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++)
    {
        REAL *c = (REAL *)((ELEMENT *)p->c + i * p->c_stride), *end = c + (vectors - 1) * NAME(LANES);
        UNROLL for (int v = 0; v < vectors - 1; v++, c += NAME(LANES))
            STORE(c, p->add ? ADD(LOAD(c), sums[i][v]) : sums[i][v]);
        STORE_LAST(end, last, p->add ? ADD(LOAD_LAST(end, last), sums[i][vectors - 1]) : sums[i][vectors - 1]);
    }
}

static inline __attribute__((always_inline)) void NAME(tiles)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                              int parts)
{
    weft_gemm_tile_call next = *p;
    for (int64_t i = 0; i < p->count; i++) {
        NAME(tile)(&next, rows, vectors, parts);
        next.wide = (const ELEMENT *)next.wide + p->wide_step;
        next.narrow = (const ELEMENT *)next.narrow + p->narrow_step;
        next.c = (ELEMENT *)next.c + p->c_step;
    }
}

#define CASE(rows, parts)                                                                                              \
    case rows:                                                                                                         \
        if (p->columns <= NAME(LANES)) NAME(tiles)(p, rows, 1, parts);                                                 \
        else if (VECTORS == 2 || p->columns <= 2 * NAME(LANES)) NAME(tiles)(p, rows, 2, parts);                        \
        else NAME(tiles)(p, rows, VECTORS, parts);                                                                     \
        break;

/* More rows of two registers at most. */
#define CASE_OF_TWO(rows)                                                                                              \
    case rows:                                                                                                         \
        if (p->columns <= NAME(LANES)) NAME(tiles)(p, rows, 1, 1);                                                     \
        else NAME(tiles)(p, rows, 2, 1);                                                                               \
        break;

void FUNCTION(const weft_gemm_tile_call *p)
{
    switch (p->rows) {
        CASE(1, 1)
        CASE(2, 1)
        CASE(3, 1)
        CASE(4, 1)
        CASE(5, 1)
        CASE(6, 1)
#if ROWS >= 12
        CASE(7, 1)
        CASE(8, 1)
        CASE(9, 1)
        CASE_OF_TWO(10)
        CASE_OF_TWO(11)
        CASE_OF_TWO(12)
#endif
#if ROWS >= 14
        CASE_OF_TWO(13)
        CASE_OF_TWO(14)
#endif
    }
}

#ifdef COMPLEX_FUNCTION
void COMPLEX_FUNCTION(const weft_gemm_tile_call *p)
{
    switch (p->rows) {
        CASE(1, 2)
        CASE(2, 2)
        CASE(3, 2)
        CASE(4, 2)
        CASE(5, 2)
        CASE(6, 2)
        CASE(7, 2)
        CASE(8, 2)
        CASE(9, 2)
    }
}
#undef COMPLEX_FUNCTION
#endif

#undef CASE
#undef CASE_OF_TWO
#undef REAL
#undef ELEMENT
#undef NAME
#undef FUNCTION
#undef ROWS
#undef VECTORS
#undef VECTOR
#undef LOAD
#undef STORE
#undef LOAD_LAST
#undef STORE_LAST
#undef AHEAD
#undef TIMES_I
#undef SPLAT
#undef ADD
#undef FMA_VECTOR
