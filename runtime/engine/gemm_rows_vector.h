/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of a few rows, for one dtype and ISA level. Every element takes its terms in order: sums of a chunk of
 * columns stay in L1 and take a few terms in one pass. Included once for each, after the macros below; it ends by
 * undefining them.
 *
 *     REAL, ELEMENT, NAME(x)   the dtype; the same where operands lie, which may be anywhere; the name of a function
 *     VECTOR, LOAD, STORE      a register of numbers; from and to memory
 *     LOAD_FIRST(p, n)         the first n numbers, with zeros after them; no other memory is read
 *     SPLAT                    of one number
 *     FMA_VECTOR               a * b + c, rounded once
 *     TOGETHER                 rows whose sums take the same registers of the matrix
 *     TIMES_I                  i * a, of complex numbers as pairs of lanes; need not be defined, nor what follows
 *     FMA                      a * b + c, rounded once
 */
enum { NAME(PASS) = 4 }; /* terms of a pass */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(REAL) };

/* Numbers of a row of sums that are kept in L1, of which columns of C have `parts` each: whole vectors. Lines that are
 * asked for are there too, those of a pass and of the next one, so less of these is taken at once. */
static int64_t NAME(pitch)(const weft_gemm_rows *p, int64_t parts)
{
    enum { FAR_BYTES = 4096 };
    int64_t fit = WEFT_GEMM_ROWS_SUMS / p->row_count / (2 * NAME(LANES)) * (2 * NAME(LANES));
    int64_t all = (p->column_count * parts + 2 * NAME(LANES) - 1) / (2 * NAME(LANES)) * (2 * NAME(LANES));
    if (p->far && fit > FAR_BYTES / (int64_t)sizeof(REAL)) fit = FAR_BYTES / (int64_t)sizeof(REAL);
    return all < fit ? all : fit;
}

/* The end of the block of terms that begins with `first`. */
static int64_t NAME(block_end)(const weft_gemm_rows *p, int64_t first)
{
    return p->terms - first < p->block ? p->terms : first + p->block;
}

static void NAME(put)(const weft_gemm_rows *p, int64_t row, int64_t column, int64_t count, const REAL *sums, bool add)
{
    ELEMENT *c = (ELEMENT *)p->c + row * p->c_row + column * p->c_column;
    if (p->c_column == 1)
        for (int64_t j = 0; j < count; j++) c[j] = add ? c[j] + sums[j] : sums[j];
    else
        for (int64_t j = 0; j < count; j++, c += p->c_column) *c = add ? *c + sums[j] : sums[j];
}

/* ---- real numbers ---- */

/* Rows of the product, terms, and the columns of a chunk. */
typedef struct NAME(pass) {
    const ELEMENT *rows, *matrix; /* at the first term */
    REAL *sums;
    int64_t row_stride, row_term_stride, matrix_term_stride, pitch, columns;
    bool far;
} NAME(pass);

/* Adds terms to a vector of sums, of `columns` columns. */
static inline __attribute__((always_inline)) void NAME(add_vector)(REAL *sums, int64_t pitch,
                                                                   const ELEMENT *const *lines,
                                                                   VECTOR (*factors)[NAME(PASS)], int rows, int terms,
                                                                   int64_t columns)
{
    VECTOR line[NAME(PASS)];
    UNROLL for (int t = 0; t < terms; t++) line[t] =
        columns == NAME(LANES) ? LOAD((const REAL *)lines[t]) : LOAD_FIRST((const REAL *)lines[t], columns);
    UNROLL for (int i = 0; i < rows; i++)
    {
        VECTOR sum = LOAD(sums + i * pitch);
        UNROLL for (int t = 0; t < terms; t++) sum = FMA_VECTOR(factors[i][t], line[t], sum);
        STORE(sums + i * pitch, sum);
    }
}

/* Inlined with constant `rows` and `terms`, so that all factors are registers. Lines that are far are asked for while
 * those before them are multiplied. */
static inline __attribute__((always_inline)) void NAME(add)(const NAME(pass) * p, int rows, int terms)
{
    VECTOR factors[TOGETHER][NAME(PASS)];
    const ELEMENT *lines[NAME(PASS)];
    UNROLL for (int t = 0; t < terms; t++) lines[t] = p->matrix + t * p->matrix_term_stride;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int t = 0; t < terms; t++) factors[i][t] =
        SPLAT(p->rows[i * p->row_stride + t * p->row_term_stride]);
    REAL *sums = p->sums;
    const int64_t pitch = p->pitch, whole = p->columns / NAME(LANES), rest = p->columns % NAME(LANES);
    for (int64_t v = 0; v < whole; v++) {
        if (p->far) UNROLL for (int t = 0; t < terms; t++) __builtin_prefetch(lines[t] + terms * p->matrix_term_stride);
        NAME(add_vector)(sums, pitch, lines, factors, rows, terms, NAME(LANES));
        UNROLL for (int t = 0; t < terms; t++) lines[t] += NAME(LANES);
        sums += NAME(LANES);
    }
    if (rest > 0) NAME(add_vector)(sums, pitch, lines, factors, rows, terms, rest);
}

#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        if (terms == 1) NAME(add)(p, rows, 1);                                                                         \
        else NAME(add)(p, rows, NAME(PASS));                                                                           \
        break;

static void NAME(add_pass)(const NAME(pass) * p, int64_t rows, int64_t terms)
{
    switch (rows) {
        CASE(1)
        CASE(2)
#if TOGETHER >= 4
        CASE(3)
        CASE(4)
#endif
    }
}

static void NAME(add_terms)(const weft_gemm_rows *p, int64_t first, int64_t last, int64_t column, int64_t count,
                            int64_t pitch, REAL *sums)
{
    const ELEMENT *rows = (const ELEMENT *)p->rows, *matrix = (const ELEMENT *)p->matrix + column;
    for (int64_t t = first, terms; t < last; t += terms) {
        terms = last - t < NAME(PASS) ? 1 : NAME(PASS);
        for (int64_t i = 0, together; i < p->row_count; i += together) {
            together = p->row_count - i < TOGETHER ? p->row_count - i : TOGETHER;
            const NAME(pass) pass = {.rows = rows + i * p->row_stride + t * p->row_term_stride,
                                     .matrix = matrix + t * p->matrix_term_stride,
                                     .sums = sums + i * pitch,
                                     .row_stride = p->row_stride,
                                     .row_term_stride = p->row_term_stride,
                                     .matrix_term_stride = p->matrix_term_stride,
                                     .pitch = pitch,
                                     .columns = count,
                                     .far = p->far};
            NAME(add_pass)(&pass, together, terms);
        }
    }
}

static void NAME(run_real)(const weft_gemm_rows *p, REAL *sums)
{
    int64_t pitch = NAME(pitch)(p, 1);
    for (int64_t j = 0, count; j < p->column_count; j += count) {
        count = p->column_count - j < pitch ? p->column_count - j : pitch;
        for (int64_t t = 0, last; t < p->terms; t = last) {
            last = NAME(block_end)(p, t);
            memset(sums, 0, (size_t)(p->row_count * pitch) * sizeof *sums);
            NAME(add_terms)(p, t, last, j, count, pitch, sums);
            for (int64_t i = 0; i < p->row_count; i++) NAME(put)(p, i, j, count, sums + i * pitch, t > 0);
        }
    }
}

#ifdef TIMES_I
/* ---- complex numbers ---- */

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
    const ELEMENT *rows = (const ELEMENT *)p->rows, *matrix = (const ELEMENT *)p->matrix;
    int64_t pitch = NAME(pitch)(p, 2), pairs = pitch / 2;
    for (int64_t j = 0, count; j < p->column_count; j += count) {
        count = p->column_count - j < pairs ? p->column_count - j : pairs;
        for (int64_t t = 0, last; t < p->terms; t = last) {
            last = NAME(block_end)(p, t);
            memset(sums, 0, (size_t)(p->row_count * pitch) * sizeof *sums);
            for (int64_t k = t; k < last; k++)
                for (int64_t i = 0; i < p->row_count; i++) NAME(add_complex)
            (sums + i * pitch, count, matrix + 2 * (j + k * p->matrix_term_stride),
             rows + 2 * (i * p->row_stride + k * p->row_term_stride));
            for (int64_t i = 0; i < p->row_count; i++) NAME(put_complex)(p, i, j, count, sums + i * pitch, t > 0);
        }
    }
}

#endif

void FUNCTION(const weft_gemm_rows *p, void *sums)
{
#ifdef TIMES_I
    if (p->is_complex) {
        NAME(run_complex)(p, sums);
        return;
    }
#endif
    NAME(run_real)(p, sums);
}

#undef CASE
#undef REAL
#undef ELEMENT
#undef NAME
#undef FUNCTION
#undef VECTOR
#undef LOAD
#undef LOAD_FIRST
#undef STORE
#undef TIMES_I
#undef SPLAT
#undef FMA
#undef FMA_VECTOR
#undef TOGETHER
