/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of a few rows with lines, for one dtype and ISA level. A register has one number of each of as many lines as
 * there are lanes; every element takes its terms in order. Included once for each, after the macros below; it ends by
 * undefining them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     FUNCTION, VECTOR         what is defined; a register of numbers
 *     LOAD, STORE              from and to memory
 *     STORE_FIRST(p, n, v)     the first n numbers of a register
 *     SQUARE(lines, stride, terms, v)   half as many terms of lines as there are lanes, or fewer, as one register for
 *                              each
 *     TRANSPOSE_BLOCKS(v)      as many registers as 128 bits have numbers, in each 128 bits
 *     STORE_BLOCK(p, n, v, b)  the first n numbers of block b, of 128 bits, of a register
 *     SPLAT, ADD, FMA_VECTOR   of one number; a + b; a * b + c, rounded once
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL), NAME(TERMS) = NAME(LANES) / 2, NAME(BLOCK) = 16 / sizeof(REAL) };

/* Lines that are adjacent lanes, and the rows, packed: `width` numbers for each term, zeros among them. */
typedef struct NAME(group) {
    const ELEMENT *lines; /* at the first term */
    int64_t stride, count, terms, block;
    const REAL *rows;
} NAME(group);

/* Adds `terms` terms of a square. Inlined with constants where it is whole. */
static inline __attribute__((always_inline)) void NAME(add_square)(VECTOR *sums, const ELEMENT *lines, int64_t stride,
                                                                   const REAL *rows, int width, int64_t terms)
{
    VECTOR square[NAME(TERMS)];
    SQUARE(lines, stride, terms, square);
    UNROLL for (int t = 0; t < NAME(TERMS); t++)
    {
        if (t == terms) break;
        UNROLL for (int i = 0; i < width; i++) sums[i] = FMA_VECTOR(SPLAT(rows[t * width + i]), square[t], sums[i]);
    }
}

/* With each square, for where one of the next lines begins: it may be in a page from which nothing is fetched yet. */
static inline __attribute__((always_inline)) void NAME(ask_ahead)(const NAME(group) * g, int64_t square)
{
    const ELEMENT *next = g->lines + (NAME(LANES) + square % NAME(LANES)) * g->stride;
    __builtin_prefetch(next + square / NAME(LANES) * (WEFT_GEMM_LINE / (int64_t)sizeof(REAL)), 0, 2);
}

/* The same where terms are missing, or also lines: no other memory is read. */
static inline __attribute__((always_inline)) void NAME(add_part)(VECTOR *sums, const NAME(group) * g, int64_t first,
                                                                 int64_t terms, int width)
{
    if (g->count == NAME(LANES)) {
        NAME(add_square)(sums, g->lines + first, g->stride, g->rows + first * width, width, terms);
        return;
    }
    REAL part[NAME(LANES) * NAME(TERMS)] = {0};
    for (int64_t i = 0; i < g->count; i++)
        memcpy(part + i * NAME(TERMS), g->lines + i * g->stride + first, (size_t)terms * sizeof *part);
    NAME(add_square)(sums, (const ELEMENT *)part, NAME(TERMS), g->rows + first * width, width, terms);
}

/* Adds the sums of a group to those of the terms before, if there are any, block by block. Rows of sums lie one after
 * the other. */
static inline __attribute__((always_inline)) void NAME(add_up)(const NAME(group) * g, REAL *sums, bool add, int width)
{
    for (int64_t first = 0, end; first < g->terms; first = end, add = true) {
        VECTOR of_block[WEFT_GEMM_LINES_ROWS];
        int64_t t = first;
        end = g->terms - first < g->block ? g->terms : first + g->block;
        UNROLL for (int i = 0; i < width; i++) of_block[i] = (VECTOR){0};
        for (; g->count == NAME(LANES) && t + NAME(TERMS) <= end; t += NAME(TERMS)) {
            NAME(ask_ahead)(g, t / NAME(TERMS));
            NAME(add_square)(of_block, g->lines + t, g->stride, g->rows + t * width, width, NAME(TERMS));
        }
        for (int64_t terms; t < end; t += terms) {
            terms = end - t < NAME(TERMS) ? end - t : NAME(TERMS);
            NAME(add_part)(of_block, g, t, terms, width);
        }
        UNROLL for (int i = 0; i < width; i++)
        {
            REAL *row = sums + i * NAME(LANES);
            STORE(row, add ? ADD(LOAD(row), of_block[i]) : of_block[i]);
        }
    }
}

/* From C to sums. */
static inline __attribute__((always_inline)) void NAME(get)(const weft_gemm_lines *p, int64_t line, int64_t count,
                                                            REAL *sums)
{
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < p->row_count; i++)
            sums[i * NAME(LANES) + j] = ((const ELEMENT *)p->c)[(line + j) * p->c_line + i * p->c_row];
}

/* Back, where rows of C are adjacent: 128 bits of them at a time. */
static inline __attribute__((always_inline)) void NAME(put_across)(const weft_gemm_lines *p, ELEMENT *c, int64_t count,
                                                                   const REAL *sums, int width)
{
    UNROLL for (int first = 0; first < width; first += NAME(BLOCK))
    {
        const int64_t rows = p->row_count - first < NAME(BLOCK) ? p->row_count - first : NAME(BLOCK);
        VECTOR v[NAME(BLOCK)];
        UNROLL for (int i = 0; i < NAME(BLOCK); i++) v[i] = LOAD(sums + (first + i) * NAME(LANES));
        TRANSPOSE_BLOCKS(v);
        UNROLL for (int j = 0; j < NAME(LANES); j++)
        {
            if (j == count) break;
            STORE_BLOCK((REAL *)(c + j * p->c_line + first), rows, v[j % NAME(BLOCK)], j / NAME(BLOCK));
        }
    }
}

static inline __attribute__((always_inline)) void NAME(put)(const weft_gemm_lines *p, int64_t line, int64_t count,
                                                            const REAL *sums, int width)
{
    ELEMENT *c = (ELEMENT *)p->c + line * p->c_line;
    if (p->c_row == 1) {
        NAME(put_across)(p, c, count, sums, width);
        return;
    }
    for (int64_t i = 0; i < p->row_count; i++, c += p->c_row, sums += NAME(LANES)) {
        if (p->c_line == 1) STORE_FIRST((REAL *)c, count, LOAD(sums));
        else
            for (int64_t j = 0; j < count; j++) c[j * p->c_line] = sums[j];
    }
}

/* A group, whose first line is `line`; `add`: to what C has. */
static inline __attribute__((always_inline)) void NAME(run_group)(const weft_gemm_lines *p, const NAME(group) * g,
                                                                  int64_t line, bool add, int width)
{
    REAL sums[WEFT_GEMM_LINES_ROWS * NAME(LANES)] = {0};
    if (add) NAME(get)(p, line, g->count, sums);
    NAME(add_up)(g, sums, add, width);
    NAME(put)(p, line, g->count, sums, width);
}

/* So many terms of the rows, `width` numbers for each. */
static void NAME(pack_rows)(const weft_gemm_lines *p, int64_t first, int64_t terms, int64_t width, REAL *packed)
{
    const ELEMENT *rows = (const ELEMENT *)p->rows + first * p->row_term_stride;
    for (int64_t t = 0; t < terms; t++, rows += p->row_term_stride)
        for (int64_t i = 0; i < width; i++) packed[t * width + i] = i < p->row_count ? rows[i * p->row_stride] : 0;
}

void FUNCTION(const weft_gemm_lines *p, void *packed)
{
    const int64_t width = (p->row_count + 1) / 2 * 2;
    for (int64_t t = 0, terms; t < p->terms; t += terms) {
        terms = p->terms - t < WEFT_GEMM_LINES_TERMS ? p->terms - t : WEFT_GEMM_LINES_TERMS;
        NAME(pack_rows)(p, t, terms, width, packed);
        for (int64_t j = 0; j < p->line_count; j += NAME(LANES)) {
            const NAME(group) g = {.lines = (const ELEMENT *)p->lines + j * p->line_stride + t,
                                   .stride = p->line_stride,
                                   .count = p->line_count - j < NAME(LANES) ? p->line_count - j : NAME(LANES),
                                   .terms = terms,
                                   .block = p->block,
                                   .rows = packed};
            switch (width) {
            case 2: NAME(run_group)(p, &g, j, t > 0, 2); break;
            case 4: NAME(run_group)(p, &g, j, t > 0, 4); break;
            case 6: NAME(run_group)(p, &g, j, t > 0, 6); break;
            case 8: NAME(run_group)(p, &g, j, t > 0, 8); break;
            case 10: NAME(run_group)(p, &g, j, t > 0, 10); break;
            default: NAME(run_group)(p, &g, j, t > 0, 12);
            }
        }
    }
}

#undef REAL
#undef ELEMENT
#undef NAME
#undef FUNCTION
#undef VECTOR
#undef LOAD
#undef STORE
#undef STORE_FIRST
#undef SQUARE
#undef TRANSPOSE_BLOCKS
#undef STORE_BLOCK
#undef SPLAT
#undef ADD
#undef FMA_VECTOR
