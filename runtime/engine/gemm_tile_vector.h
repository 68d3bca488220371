/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of products for one dtype and ISA level. Included once for each, after the macros below; it ends by undefining
 * them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     FUNCTION, ROWS, VECTORS  what is defined; rows at most, of one or two registers, and registers at most
 *     VECTOR, LOAD, STORE      a register of numbers; from and to memory
 *     LOAD_LAST(p, n), STORE_LAST(p, n, v)  the same of the last register of a row, of which there are n numbers
 *     FMA_EACH(sum, a, p, i)   adds a * p[i], rounded once, without a register for p[i]; if there are more than 9 rows
 *     LOAD_PARTS(p, q, n)      a register of which the first n numbers are at p, others from q on, where lane 0 would
 *                              be; need not be defined
 *     COMPLEX_FUNCTION         the same of complex numbers; need not be defined, nor what follows
 *     COMPLEX_ROWS             rows at most, of two registers
 *     EVEN, ODD(a, b)          re, and im, of the complex numbers in two registers
 *     LOW, HIGH(re, im)        these two registers
 *     TIMES_I                  i * a, of complex numbers as pairs of lanes
 *     FNMA_EACH(sum, a, p, i)  subtracts a * p[i], rounded once, without a register for p[i]
 *     AHEAD                    terms ahead of which the wide operand is asked for; 0: it is not
 *     SPLAT, ADD, FMA_VECTOR   of one number; a + b; a * b + c, rounded once
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL) };

/* Rows of the narrow operand whose addresses are found from that of the first one of them: where there are many, one
 * for each row is more than there are registers. */
enum { NAME(GROUP) = 5 };

/* Row `i` of those that these are the first ones of; `three` is three times the stride. */
static inline __attribute__((always_inline)) const ELEMENT *NAME(row_at)(const ELEMENT *const *firsts, int i,
                                                                         int64_t stride, int64_t three)
{
    const int rest = i % NAME(GROUP);
    return firsts[i / NAME(GROUP)] + (rest == 3 ? three : rest * stride);
}

/* What is known of a tile: its registers are whole, since a mask takes a port from multiplications; the wide operand is
 * near, and not asked for; terms of the narrow one are adjacent; or its rows are, and every second factor is an operand
 * in memory, which takes fewer instructions; if all were, there would be more loads than multiplications. */
enum { NAME(WHOLE) = 1, NAME(NEAR) = 2, NAME(TERMS) = 4, NAME(PACKED) = 8 };

/* Sums are zero, and where they go is asked for, unless there are so few terms that they are there before it is. */
static inline __attribute__((always_inline)) void NAME(start)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                              VECTOR (*sums)[VECTORS])
{
    enum { FEW_TERMS = 32 };
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = (VECTOR){0};
    if (!p->add && p->terms < FEW_TERMS) return;
    UNROLL for (int i = 0; i < rows; i++)
    {
        const ELEMENT *c = (const ELEMENT *)p->c + i * p->c_stride;
        UNROLL for (int v = 0; v < vectors; v++) __builtin_prefetch(c + v * NAME(LANES), 1);
        if (AHEAD > 0) __builtin_prefetch(c + p->columns - 1, 1);
    }
}

static inline __attribute__((always_inline)) void NAME(finish)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                               VECTOR (*sums)[VECTORS])
{
    const int64_t last = p->columns - (vectors - 1) * NAME(LANES);
    UNROLL for (int i = 0; i < rows; i++)
    {
        REAL *c = (REAL *)((ELEMENT *)p->c + i * p->c_stride), *end = c + (vectors - 1) * NAME(LANES);
        UNROLL for (int v = 0; v < vectors - 1; v++, c += NAME(LANES))
            STORE(c, p->add ? ADD(LOAD(c), sums[i][v]) : sums[i][v]);
        STORE_LAST(end, last, p->add ? ADD(LOAD_LAST(end, last), sums[i][vectors - 1]) : sums[i][vectors - 1]);
    }
}

/* Inlined with constants, so that all sums are registers. */
static inline __attribute__((always_inline)) void NAME(tile)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                             int known)
{
    const bool asks = AHEAD > 0 && !(known & NAME(NEAR));
    const int64_t last = p->columns - (vectors - 1) * NAME(LANES);
    const int64_t step = known & NAME(TERMS) ? 1 : p->narrow_term;
    VECTOR sums[ROWS][VECTORS];
    NAME(start)(p, rows, vectors, sums);
    int64_t stride = p->narrow_stride, three = 3 * stride;
    int far = p->far;
    const ELEMENT *wide = p->wide, *narrow = p->narrow, *second = narrow + NAME(GROUP) * stride,
                  *third = second + NAME(GROUP) * stride;
    _Pragma("GCC unroll 4") for (int64_t t = 0; t < p->terms; t++, wide += p->wide_term, narrow += step)
    {
        VECTOR across[VECTORS];
        const REAL *line = (const REAL *)wide;
        if (asks && far) {
            UNROLL for (int v = 0; v < vectors; v++) __builtin_prefetch(wide + p->fetch + v * NAME(LANES), 0, 2);
        } else if (asks) {
            UNROLL for (int v = 0; v < vectors; v++) __builtin_prefetch(wide + AHEAD * p->wide_term + v * NAME(LANES));
            __builtin_prefetch(wide + p->fetch, 0, 2);
        }
        if (asks) __asm__("" : "+r"(far)); /* one loop for both */
        UNROLL for (int v = 0; v < vectors - 1; v++) across[v] = LOAD(line + v * NAME(LANES));
        across[vectors - 1] = known & NAME(WHOLE) ? LOAD(line + (vectors - 1) * NAME(LANES))
                                                  : LOAD_LAST(line + (vectors - 1) * NAME(LANES), last);
        if (AHEAD > 0) __asm__("" : "+r"(stride), "+r"(three)); /* no address is kept */
        const ELEMENT *const firsts[] = {narrow, second, third};
        UNROLL for (int i = 0; i < rows; i++)
        {
#ifdef FMA_EACH
            if (known & NAME(PACKED) && i % 2 == 0) {
                UNROLL for (int v = 0; v < vectors; v++) FMA_EACH(sums[i][v], across[v], narrow, i);
                continue;
            }
#endif
            const ELEMENT *factor = known & NAME(PACKED) ? narrow + i
                                    : AHEAD > 0          ? NAME(row_at)(firsts, i, stride, three)
                                                         : narrow + i * p->narrow_stride;
            VECTOR splat = SPLAT(*factor);
            UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = FMA_VECTOR(splat, across[v], sums[i][v]);
        }
        second += step;
        third += step;
    }
    NAME(finish)(p, rows, vectors, sums);
}

static inline __attribute__((always_inline)) void NAME(tiles)(const weft_gemm_tile_call *p, int rows, int vectors,
                                                              int known)
{
    weft_gemm_tile_call next = *p;
    for (int64_t i = 0; i < p->count; i++) {
        NAME(tile)(&next, rows, vectors, known);
        next.wide = (const ELEMENT *)next.wide + p->wide_step;
        next.narrow = (const ELEMENT *)next.narrow + p->narrow_step;
        next.c = (ELEMENT *)next.c + p->c_step;
        next.fetch += p->fetch_step;
    }
}

#ifdef LOAD_PARTS
/* A whole tile that packs the wide operand, of which the next panel is asked for. Rows of a packed operand, of two
 * registers, are `adjacent`. Inlined with constants. */
static inline __attribute__((always_inline)) void NAME(packing_tile)(const weft_gemm_tile_call *p, int rows,
                                                                     int vectors, bool adjacent)
{
    const weft_gemm_source source = *p->source;
    int64_t stride = p->narrow_stride, three = 3 * stride;
    REAL *panel = source.panel;
    const ELEMENT *narrow = p->narrow;
    VECTOR sums[ROWS][VECTORS];
    NAME(start)(p, rows, vectors, sums);
    for (int64_t t = 0; t < p->terms; t++, panel += p->wide_term, narrow += p->narrow_term) {
        const char *from = source.from + source.offsets[t];
        VECTOR across[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++)
        {
            const char *place = from + source.registers[v].place;
            const int64_t before = source.registers[v].before;
            across[v] = before == NAME(LANES) ? LOAD((const REAL *)place)
                                              : LOAD_PARTS(place, from + source.registers[v].beyond, before);
            __builtin_prefetch(place + vectors * sizeof(VECTOR), 0, 2);
            STORE(panel + v * NAME(LANES), across[v]);
        }
        __asm__("" : "+r"(stride), "+r"(three)); /* no address is kept */
        const ELEMENT *const firsts[] = {narrow, narrow + NAME(GROUP) * stride, narrow + 2 * NAME(GROUP) * stride};
        UNROLL for (int i = 0; i < rows; i++)
        {
            VECTOR splat = SPLAT(adjacent ? narrow[i] : *NAME(row_at)(firsts, i, stride, three));
            UNROLL for (int v = 0; v < vectors; v++) sums[i][v] = FMA_VECTOR(splat, across[v], sums[i][v]);
        }
    }
    NAME(finish)(p, rows, vectors, sums);
}

#define PACKING_CASE(rows, vectors, adjacent)                                                                          \
    case rows: NAME(packing_tile)(p, rows, vectors, adjacent); break;

static void NAME(pack_on_the_way)(const weft_gemm_tile_call *p)
{
    if (p->columns == 2 * NAME(LANES)) switch (p->rows) {
            PACKING_CASE(8, 2, true)
            PACKING_CASE(9, 2, true)
            PACKING_CASE(10, 2, true)
            PACKING_CASE(11, 2, true)
            PACKING_CASE(12, 2, true)
            PACKING_CASE(13, 2, true)
            PACKING_CASE(14, 2, true)
        }
    else switch (p->rows) {
            PACKING_CASE(7, 3, false)
            PACKING_CASE(8, 3, false)
            PACKING_CASE(9, 3, false)
        }
}
#undef PACKING_CASE
#endif

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (p->columns <= NAME(LANES)) NAME(tiles)(p, rows, 1, 0);                                                     \
        else if (VECTORS == 2 || p->columns <= 2 * NAME(LANES)) NAME(tiles)(p, rows, 2, 0);                            \
        else NAME(tiles)(p, rows, VECTORS, 0);                                                                         \
        break;

/* The same of tiles that large products have most of, and of those of one register, which has a load for each
 * multiplication, so that asking for what is near shows. */
#define CASE_OF_MANY(rows)                                                                                             \
    case rows:                                                                                                         \
        if (p->columns <= NAME(LANES) && p->near && p->narrow_term == 1)                                               \
            NAME(tiles)(p, rows, 1, NAME(NEAR) | NAME(TERMS));                                                         \
        else if (p->columns <= NAME(LANES)) NAME(tiles)(p, rows, 1, 0);                                                \
        else if (p->columns == 2 * NAME(LANES) && p->near && p->narrow_term == 1)                                      \
            NAME(tiles)(p, rows, 2, NAME(WHOLE) | NAME(NEAR) | NAME(TERMS));                                           \
        else if (p->columns <= 2 * NAME(LANES)) NAME(tiles)(p, rows, 2, 0);                                            \
        else if (p->columns < VECTORS * NAME(LANES)) NAME(tiles)(p, rows, VECTORS, 0);                                 \
        else if (p->near && p->narrow_term == 1)                                                                       \
            NAME(tiles)(p, rows, VECTORS, NAME(WHOLE) | NAME(NEAR) | NAME(TERMS));                                     \
        else NAME(tiles)(p, rows, VECTORS, NAME(WHOLE));                                                               \
        break;

/* More rows, of two registers at most, are those of a packed narrow operand. */
#define CASE_OF_PACKED(rows)                                                                                           \
    case rows:                                                                                                         \
        if (p->columns <= NAME(LANES)) NAME(tiles)(p, rows, 1, NAME(NEAR) | NAME(PACKED));                             \
        else if (p->columns < 2 * NAME(LANES)) NAME(tiles)(p, rows, 2, NAME(NEAR) | NAME(PACKED));                     \
        else if (p->near) NAME(tiles)(p, rows, 2, NAME(WHOLE) | NAME(NEAR) | NAME(PACKED));                            \
        else NAME(tiles)(p, rows, 2, NAME(WHOLE) | NAME(PACKED));                                                      \
        break;

void FUNCTION(const weft_gemm_tile_call *p)
{
#ifdef LOAD_PARTS
    if (p->source != NULL) {
        NAME(pack_on_the_way)(p);
        return;
    }
#endif
    switch (p->rows) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
#if ROWS >= 12
        CASE_OF_MANY(7)
        CASE_OF_MANY(8)
        CASE_OF_MANY(9)
        CASE_OF_PACKED(10)
        CASE_OF_PACKED(11)
        CASE_OF_PACKED(12)
#endif
#if ROWS >= 14
        CASE_OF_PACKED(13)
        CASE_OF_PACKED(14)
#endif
    }
}

#ifdef COMPLEX_FUNCTION
/*
 * Re and im of the wide operand are parted, so that no product needs i times a register. Of the narrow one re is a
 * register, and im an operand in memory: if both were, there would be more loads than multiplications. Addresses of two
 * registers would cost an instruction for each of these. One register alone, of a second factor, is not parted. Inlined
 * with constants; `stride` is that of rows.
 */
static inline __attribute__((always_inline)) void
NAME(complex_tile)(const weft_gemm_tile_call *p, int rows, int64_t stride, int vectors, bool wide_first, bool whole)
{
    const int64_t first = p->columns < NAME(LANES) ? p->columns : NAME(LANES), last = p->columns - first;
    int64_t three = 3 * stride;
    VECTOR re[COMPLEX_ROWS], im[COMPLEX_ROWS];
    UNROLL for (int i = 0; i < rows; i++) re[i] = im[i] = (VECTOR){0};
    if (p->add) UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch((const ELEMENT *)p->c + i * p->c_stride);
    const ELEMENT *wide = p->wide, *narrow[] = {p->narrow, (const ELEMENT *)p->narrow + NAME(GROUP) * stride,
                                                (const ELEMENT *)p->narrow + 2 * NAME(GROUP) * stride};
    _Pragma("GCC unroll 2") for (int64_t t = 0; t < p->terms; t++, wide += p->wide_term)
    {
        const REAL *line = (const REAL *)wide;
        UNROLL for (int v = 0; v < vectors; v++) __builtin_prefetch(wide + AHEAD * p->wide_term + v * NAME(LANES));
        VECTOR a = whole ? LOAD(line) : LOAD_LAST(line, first);
        VECTOR b = vectors == 1 ? a : whole ? LOAD(line + NAME(LANES)) : LOAD_LAST(line + NAME(LANES), last);
        VECTOR x = vectors == 1 ? a : EVEN(a, b), y = vectors == 1 ? TIMES_I(a) : ODD(a, b);
        if (!__builtin_constant_p(stride)) __asm__("" : "+r"(stride), "+r"(three)); /* no address is kept */
        UNROLL for (int i = 0; i < rows; i++)
        {
            const ELEMENT *factor = NAME(row_at)(narrow, i, stride, three);
            if (vectors == 1) {
                FMA_EACH(re[i], x, factor, 0);
                FMA_EACH(re[i], y, factor, 1);
                continue;
            }
            VECTOR real = SPLAT(factor[0]);
            re[i] = FMA_VECTOR(real, x, re[i]);
            if (wide_first) FMA_EACH(im[i], x, factor, 1);
            else im[i] = FMA_VECTOR(real, y, im[i]);
            FNMA_EACH(re[i], y, factor, 1);
            if (wide_first) im[i] = FMA_VECTOR(real, y, im[i]);
            else FMA_EACH(im[i], x, factor, 1);
        }
        UNROLL for (int k = 0; k < 3; k++) narrow[k] += p->narrow_term;
    }
    UNROLL for (int i = 0; i < rows; i++)
    {
        REAL *c = (REAL *)((ELEMENT *)p->c + i * p->c_stride), *end = c + NAME(LANES);
        VECTOR a = vectors == 1 ? re[i] : LOW(re[i], im[i]), b = HIGH(re[i], im[i]);
        STORE_LAST(c, first, p->add ? ADD(LOAD_LAST(c, first), a) : a);
        if (vectors == 1) continue;
        STORE_LAST(end, last, p->add ? ADD(LOAD_LAST(end, last), b) : b);
    }
}

#define COMPLEX_CASE(rows)                                                                                             \
    case rows:                                                                                                         \
        if (p->wide_first) NAME(complex_tile)(p, rows, p->narrow_stride, 2, true, false);                              \
        else if (p->columns <= NAME(LANES)) NAME(complex_tile)(p, rows, p->narrow_stride, 1, false, false);            \
        else NAME(complex_tile)(p, rows, p->narrow_stride, 2, false, false);                                           \
        break;

/* The same of tiles that large products have most of; rows of the narrow operand are adjacent where it is packed. */
#define COMPLEX_CASE_OF_MANY(rows)                                                                                     \
    case rows:                                                                                                         \
        if (p->wide_first) NAME(complex_tile)(p, rows, p->narrow_stride, 2, true, false);                              \
        else if (p->columns <= NAME(LANES)) NAME(complex_tile)(p, rows, p->narrow_stride, 1, false, false);            \
        else if (p->columns < 2 * NAME(LANES)) NAME(complex_tile)(p, rows, p->narrow_stride, 2, false, false);         \
        else if (p->narrow_stride == 2) NAME(complex_tile)(p, rows, 2, 2, false, true);                                \
        else NAME(complex_tile)(p, rows, p->narrow_stride, 2, false, true);                                            \
        break;

static void NAME(one_complex_tile)(const weft_gemm_tile_call *p)
{
    switch (p->rows) {
        COMPLEX_CASE(1)
        COMPLEX_CASE(2)
        COMPLEX_CASE(3)
        COMPLEX_CASE(4)
        COMPLEX_CASE(5)
        COMPLEX_CASE(6)
        COMPLEX_CASE(7)
        COMPLEX_CASE(8)
        COMPLEX_CASE_OF_MANY(9)
        COMPLEX_CASE_OF_MANY(10)
        COMPLEX_CASE_OF_MANY(11)
        COMPLEX_CASE_OF_MANY(12)
        COMPLEX_CASE_OF_MANY(13)
        COMPLEX_CASE_OF_MANY(14)
    }
}

void COMPLEX_FUNCTION(const weft_gemm_tile_call *p)
{
    weft_gemm_tile_call next = *p;
    for (int64_t i = 0; i < p->count; i++) {
        NAME(one_complex_tile)(&next);
        next.wide = (const ELEMENT *)next.wide + p->wide_step;
        next.narrow = (const ELEMENT *)next.narrow + p->narrow_step;
        next.c = (ELEMENT *)next.c + p->c_step;
    }
}
#undef COMPLEX_FUNCTION
#undef COMPLEX_ROWS
#undef COMPLEX_CASE
#undef COMPLEX_CASE_OF_MANY
#undef EVEN
#undef ODD
#undef LOW
#undef TIMES_I
#undef HIGH
#undef FMA_EACH
#undef FNMA_EACH
#endif

#undef CASE
#undef CASE_OF_MANY
#undef CASE_OF_PACKED
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
#undef LOAD_PARTS
#undef AHEAD
#undef SPLAT
#undef ADD
#undef FMA_VECTOR
