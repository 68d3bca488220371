/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of a few rows, for one dtype and ISA level. Included once for each, after the macros below; it ends by
 * undefining them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     VECTOR, LOAD, STORE      a register of numbers; from and to memory
 *     SPLAT                    of one number
 *     FMA, FMA_VECTOR          a * b + c, rounded once
 *     UNROLL                   before a loop whose arrays are registers
 *     TRANSPOSE(v)             of a square of as many registers as one has lanes
 *     TIMES_I                  i * a, of complex numbers as pairs of lanes
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL) };

/* ---- columns that are adjacent ---- */

static void NAME(add_pass)(REAL *restrict sums, int64_t count, const ELEMENT *matrix, int64_t stride,
                           const REAL *factors)
{
    const ELEMENT *a = matrix, *b = a + stride, *c = b + stride, *d = c + stride;
    REAL x = factors[0], y = factors[1], z = factors[2], w = factors[3];
    for (int64_t j = 0; j < count; j++) sums[j] = FMA(w, d[j], FMA(z, c[j], FMA(y, b[j], FMA(x, a[j], sums[j]))));
}

static void NAME(add_term)(REAL *restrict sums, int64_t count, const ELEMENT *matrix, REAL factor)
{
    for (int64_t j = 0; j < count; j++) sums[j] = FMA(factor, matrix[j], sums[j]);
}

static void NAME(add_terms)(const weft_gemm_rows *p, int64_t first, int64_t last, int64_t column, int64_t count,
                            REAL *sums)
{
    const ELEMENT *rows = (const ELEMENT *)p->rows, *matrix = (const ELEMENT *)p->matrix + column;
    for (int64_t t = first, step; t < last; t += step) {
        step = last - t < PASS ? 1 : PASS;
        for (int64_t i = 0; i < p->row_count; i++) {
            REAL factors[PASS];
            for (int64_t k = 0; k < step; k++) factors[k] = rows[i * p->row_stride + (t + k) * p->row_term_stride];
            const ELEMENT *at = matrix + t * p->matrix_term_stride;
            if (step == PASS) NAME(add_pass)(sums + i * COLUMNS, count, at, p->matrix_term_stride, factors);
            else NAME(add_term)(sums + i * COLUMNS, count, at, factors[0]);
        }
    }
}

static void NAME(put)(const weft_gemm_rows *p, int64_t row, int64_t column, int64_t count, const REAL *sums, bool add)
{
    ELEMENT *c = (ELEMENT *)p->c + row * p->c_row + column * p->c_column;
    for (int64_t j = 0; j < count; j++, c += p->c_column) *c = add ? *c + sums[j] : sums[j];
}

/* The end of the block of terms that begins with `first`. */
static int64_t NAME(block_end)(const weft_gemm_rows *p, int64_t first)
{
    return p->terms - first < p->block ? p->terms : first + p->block;
}

static void NAME(run_across)(const weft_gemm_rows *p, REAL *sums)
{
    for (int64_t j = 0, count; j < p->column_count; j += count) {
        count = p->column_count - j < COLUMNS ? p->column_count - j : COLUMNS;
        for (int64_t t = 0, last; t < p->terms; t = last) {
            last = NAME(block_end)(p, t);
            for (int64_t i = 0; i < p->row_count; i++) memset(sums + i * COLUMNS, 0, (size_t)count * sizeof *sums);
            NAME(add_terms)(p, t, last, j, count, sums);
            for (int64_t i = 0; i < p->row_count; i++) NAME(put)(p, i, j, count, sums + i * COLUMNS, t > 0);
        }
    }
}

/* ---- complex columns that are adjacent ---- */

/* Strides of complex numbers are in pairs. */
static void NAME(add_complex)(REAL *restrict sums, int64_t count, const ELEMENT *matrix, const ELEMENT *factor)
{
    const REAL re = factor[0], im = factor[1];
    int64_t j = 0;
    for (; j + NAME(LANES) <= 2 * count; j += NAME(LANES)) {
        VECTOR column = LOAD((const REAL *)(matrix + j)), sum = LOAD(sums + j);
        sum = FMA_VECTOR(SPLAT(re), column, sum);
        STORE(sums + j, FMA_VECTOR(SPLAT(im), TIMES_I(column), sum));
    }
    for (; j < 2 * count; j += 2) {
        sums[j] = FMA(im, -matrix[j + 1], FMA(re, matrix[j], sums[j]));
        sums[j + 1] = FMA(im, matrix[j], FMA(re, matrix[j + 1], sums[j + 1]));
    }
}

static void NAME(put_complex)(const weft_gemm_rows *p, int64_t row, int64_t column, int64_t count, const REAL *sums,
                              bool add)
{
    ELEMENT *c = (ELEMENT *)p->c + 2 * (row * p->c_row + column * p->c_column);
    for (int64_t j = 0; j < 2 * count; j += 2, c += 2 * p->c_column)
        for (int64_t part = 0; part < 2; part++) c[part] = add ? c[part] + sums[j + part] : sums[j + part];
}

static void NAME(run_complex)(const weft_gemm_rows *p, REAL *sums)
{
    enum { PAIRS = COLUMNS / 2 };
    const ELEMENT *rows = (const ELEMENT *)p->rows, *matrix = (const ELEMENT *)p->matrix;
    for (int64_t j = 0, count; j < p->column_count; j += count) {
        count = p->column_count - j < PAIRS ? p->column_count - j : PAIRS;
        for (int64_t t = 0, last; t < p->terms; t = last) {
            last = NAME(block_end)(p, t);
            for (int64_t i = 0; i < p->row_count; i++) memset(sums + i * COLUMNS, 0, (size_t)count * 2 * sizeof *sums);
            for (int64_t k = t; k < last; k++)
                for (int64_t i = 0; i < p->row_count; i++) NAME(add_complex)
            (sums + i * COLUMNS, count, matrix + 2 * (j + k * p->matrix_term_stride),
             rows + 2 * (i * p->row_stride + k * p->row_term_stride));
            for (int64_t i = 0; i < p->row_count; i++) NAME(put_complex)(p, i, j, count, sums + i * COLUMNS, t > 0);
        }
    }
}

/* ---- terms that are adjacent ---- */

/* The terms of a square, or a single one, for a vector of columns. */
static inline __attribute__((always_inline)) void NAME(take)(const weft_gemm_rows *p, int64_t term, int64_t count,
                                                             int64_t column, VECTOR *sums)
{
    const ELEMENT *rows = (const ELEMENT *)p->rows + term * p->row_term_stride;
    const ELEMENT *matrix = (const ELEMENT *)p->matrix + column * p->matrix_stride + term;
    VECTOR square[NAME(LANES)];
    if (count == 1) {
        REAL single[NAME(LANES)];
        for (int64_t j = 0; j < NAME(LANES); j++) single[j] = matrix[j * p->matrix_stride];
        square[0] = LOAD(single);
    } else {
        UNROLL for (int64_t j = 0; j < NAME(LANES); j++) square[j] =
            LOAD((const REAL *)(matrix + j * p->matrix_stride));
        TRANSPOSE(square);
    }
    for (int64_t i = 0; i < p->row_count; i++)
        UNROLL for (int64_t t = 0; t < count; t++) sums[i] =
            FMA_VECTOR(SPLAT(rows[i * p->row_stride + t * p->row_term_stride]), square[t], sums[i]);
}

/* Asks for a line of each of a vector of columns: there are too many streams for the processor to see them. */
static void NAME(fetch)(const weft_gemm_rows *p, int64_t term, int64_t column)
{
    if (term >= p->terms) return;
    const ELEMENT *line = (const ELEMENT *)p->matrix + column * p->matrix_stride + term;
    UNROLL for (int64_t j = 0; j < NAME(LANES); j++) __builtin_prefetch(line + j * p->matrix_stride);
}

/* Of each vector of columns whole cache lines, one vector after the other: no sum waits for another. */
static void NAME(take_block)(const weft_gemm_rows *p, int64_t first, int64_t last, int64_t column, int64_t groups,
                             VECTOR (*sums)[WEFT_GEMM_FEW_ROWS])
{
    int64_t whole = last - (last - first) % NAME(LANES), line = LINE / (int64_t)sizeof(REAL);
    for (int64_t t = first, end; t < whole; t = end) {
        end = whole - t < line ? whole : t + line;
        for (int64_t g = 0; g < groups; g++) {
            NAME(fetch)(p, t + AHEAD * line, column + g * NAME(LANES));
            for (int64_t k = t; k < end; k += NAME(LANES))
                NAME(take)(p, k, NAME(LANES), column + g * NAME(LANES), sums[g]);
        }
    }
    for (int64_t t = whole; t < last; t++)
        for (int64_t g = 0; g < groups; g++) NAME(take)(p, t, 1, column + g * NAME(LANES), sums[g]);
}

static void NAME(run_groups)(const weft_gemm_rows *p, int64_t column, int64_t groups)
{
    for (int64_t t = 0, last; t < p->terms; t = last) {
        last = NAME(block_end)(p, t);
        VECTOR sums[GROUPS][WEFT_GEMM_FEW_ROWS] = {{{0}}};
        NAME(take_block)(p, t, last, column, groups, sums);
        for (int64_t g = 0; g < groups; g++)
            for (int64_t i = 0; i < p->row_count; i++)
                NAME(put)(p, i, column + g * NAME(LANES), NAME(LANES), (const REAL *)&sums[g][i], t > 0);
    }
}

static void NAME(run_column)(const weft_gemm_rows *p, int64_t row, int64_t column)
{
    const ELEMENT *rows = (const ELEMENT *)p->rows + row * p->row_stride;
    const ELEMENT *matrix = (const ELEMENT *)p->matrix + column * p->matrix_stride;
    for (int64_t t = 0, last; t < p->terms; t = last) {
        last = NAME(block_end)(p, t);
        REAL sum = 0;
        for (int64_t k = t; k < last; k++) sum = FMA(rows[k * p->row_term_stride], matrix[k], sum);
        NAME(put)(p, row, column, 1, &sum, t > 0);
    }
}

static void NAME(run_along)(const weft_gemm_rows *p)
{
    int64_t column = 0, groups;
    for (; column + NAME(LANES) <= p->column_count; column += groups * NAME(LANES)) {
        groups = (p->column_count - column) / NAME(LANES);
        if (groups > GROUPS) groups = GROUPS;
        NAME(run_groups)(p, column, groups);
    }
    for (; column < p->column_count; column++)
        for (int64_t i = 0; i < p->row_count; i++) NAME(run_column)(p, i, column);
}

static void NAME(run)(const weft_gemm_rows *p, REAL *sums)
{
    if (p->complex) NAME(run_complex)(p, sums);
    else if (p->matrix_stride == 1) NAME(run_across)(p, sums);
    else NAME(run_along)(p);
}

#undef REAL
#undef ELEMENT
#undef NAME
#undef VECTOR
#undef LOAD
#undef STORE
#undef TIMES_I
#undef SPLAT
#undef FMA
#undef FMA_VECTOR
#undef TRANSPOSE
