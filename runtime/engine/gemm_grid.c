/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_grid.h"
#include <stdlib.h>
#include "runtime/base/machine.h"
#include "runtime/engine/gemm_float16.h"
#include "runtime/engine/gemm_panels.h"
#include "runtime/engine/gemm_part.h"
#include "runtime/engine/gemm_rows.h"

/* ---- which way round ---- */

static double padded(int64_t extent, int64_t unit)
{
    return (double)((extent + unit - 1) / unit * unit);
}

/* A and B, as far as it matters whether they are packed. */
struct operands {
    weft_gemm_side a, b;
};

static struct operands operands_of(const weft_gemm_grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    const weft_gemm_side both = {.complex = weft_gemm_is_complex(grid->call->dtype),
                                 .size = weft_gemm_real_size(grid->call->dtype),
                                 .float16 = grid->float16};
    struct operands operands = {both, both};
    operands.a.lines = &m->a_rows;
    operands.a.terms = &m->a_terms;
    operands.a.count = m->a_rows.count;
    operands.b.lines = &m->b_columns;
    operands.b.terms = &m->b_terms;
    operands.b.count = m->b_columns.count;
    return operands;
}

static bool packs(const weft_gemm_grid *grid, const weft_gemm_side *side, const weft_gemm_side *other, bool wide)
{
    return weft_gemm_packs(grid->kernel, side, other, side->terms->count, wide, (int64_t)grid->machine->cache_bytes[1]);
}

/* Cycles for one term of all elements to copy an operand, or to wait for what is read in place in too many streams to
 * be fetched ahead of time. Numbers that are adjacent are copied as registers, which wait for what is not in L2. 512 x
 * 1500 by 1500 x 17 f64, of which the larger one is read in place then, takes 0.6 of the time (Sapphire Rapids). */
static double packing(const weft_gemm_grid *grid, const weft_gemm_side *side, const weft_gemm_side *other, bool wide)
{
    const double in_registers = 0.25, one_by_one = 1;
    double count = (double)side->count, size = (double)side->size;
    bool is_far = count * (double)side->terms->count * size > (double)grid->machine->cache_bytes[1] / 2;
    if (!packs(grid, side, other, wide)) return !wide && is_far ? count * in_registers : 0;
    bool in_squares = !side->complex || (grid->kernel->is_complex && side->size == sizeof(float));
    bool transposed = side->terms->stride == 1 && in_squares && grid->kernel->tile != NULL;
    if (side->lines->stride != 1 && !transposed) return count * one_by_one;
    return count * (is_far ? size / sizeof(double) : in_registers);
}

/* Cycles for one term with the kernel's vectors along the rows of C, or along its columns: two registers of products
 * in each, what is copied, and C if its tiles are transposed in a buffer, once for each block of terms. */
static double cycles(const weft_gemm_grid *grid, const struct operands *operands, bool by_rows)
{
    const weft_gemm_matrices *matrices = grid->matrices;
    const weft_gemm_kernel *kernel = grid->kernel;
    int64_t m = matrices->c_rows.count, n = matrices->c_columns.count, k = matrices->a_terms.count;
    int64_t wide = by_rows ? n : m, narrow = by_rows ? m : n;
    int64_t vector = weft_gemm_vector(kernel);
    int64_t across = kernel->by_columns ? kernel->columns : kernel->rows;
    double products = kernel->is_complex
                          ? 2 * padded(2 * wide, by_rows ? weft_gemm_lanes(kernel) : vector) * (double)narrow
                      : kernel->tile != NULL ? padded(wide, weft_gemm_lanes(kernel)) * (double)narrow
                                             : padded(wide, vector) * padded(narrow, across);
    bool transposes = (by_rows ? matrices->c_columns.stride : matrices->c_rows.stride) != 1;
    int64_t terms = k < 1 ? 1 : k < kernel->terms ? k : kernel->terms;
    double moves = transposes ? 2 * (double)m * (double)n / (double)terms : 0;
    bool a_is_packed = grid->call->panels == WEFT_PANELS_A && !by_rows;
    bool b_is_packed = grid->call->panels == WEFT_PANELS_B && by_rows;
    double a = a_is_packed ? 0 : packing(grid, &operands->a, &operands->b, !by_rows);
    double b = b_is_packed ? 0 : packing(grid, &operands->b, &operands->a, by_rows);
    return products / (double)vector + moves + a + b;
}

/* Whether both operands are packed, with the kernel's vectors along the rows of C or along its columns. */
static bool packs_both(const weft_gemm_grid *grid, bool by_rows)
{
    const struct operands operands = operands_of(grid);
    return packs(grid, &operands.a, &operands.b, !by_rows) && packs(grid, &operands.b, &operands.a, by_rows);
}

static bool has_row_vectors(const weft_gemm_grid *grid)
{
    if (weft_gemm_is_complex(grid->call->dtype) && !grid->kernel->is_complex) return true;
    const struct operands operands = operands_of(grid);
    return cycles(grid, &operands, true) <= cycles(grid, &operands, false);
}

/* Whether one tile of more rows reads a matrix along the vectors, in place and from beyond L2, that others would read
 * twice. Copying the rows takes little of that. */
static bool is_tall(const weft_gemm_grid *grid, bool by_rows)
{
    enum { LEAST_SHARE = 16 };
    const struct operands operands = operands_of(grid);
    const weft_gemm_side *wide = by_rows ? &operands.b : &operands.a, *narrow = by_rows ? &operands.a : &operands.b;
    int64_t element = weft_gemm_side_element(wide), l2 = (int64_t)grid->machine->cache_bytes[1];
    if (grid->few != WEFT_FEW_NONE || grid->call->panels != WEFT_PANELS_NONE) return false;
    if (narrow->count <= grid->kernel->columns || narrow->count > grid->kernel->tall->columns) return false;
    return wide->count / narrow->count >= LEAST_SHARE && wide->count * wide->terms->count * element > l2 &&
           !packs(grid, wide, narrow, true);
}

static void find_units(weft_gemm_grid *grid)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_kernel *kernel = grid->kernel;
    bool by_rows = call->panels == WEFT_PANELS_NONE ? has_row_vectors(grid) : call->panels == WEFT_PANELS_B;
    bool is_large = grid->few == WEFT_FEW_NONE && call->panels == WEFT_PANELS_NONE && packs_both(grid, by_rows);
    if (kernel->large != NULL && is_large) grid->kernel = kernel = kernel->large;
    if (kernel->tall != NULL && !is_large && is_tall(grid, by_rows)) grid->kernel = kernel = kernel->tall;
    grid->transposed = by_rows == kernel->by_columns;
    grid->units[grid->transposed] = kernel->rows;
    grid->units[!grid->transposed] = kernel->columns;
    if (weft_gemm_is_complex(call->dtype)) grid->units[by_rows] /= 2;
}

/* Whether the part of a matrix that a thread reads comes from beyond L2. */
static bool is_beyond_l2(const weft_gemm_grid *grid, const weft_gemm_axes *lines, const weft_gemm_axes *terms)
{
    int64_t line = terms->count * (int64_t)weft_gemm_real_size(grid->call->dtype);
    return (double)lines->count * (double)line >= (double)grid->machine->cache_bytes[1] * (double)grid->threads;
}

/* Whether the matrix beside so many rows or columns, which lies like this, is read in place: of more than a few where
 * its lines are so long that tiles of them would be read from one page after the other. What tiles ask for ahead of
 * time comes from L2 in time, but not from beyond. */
static bool is_few(const weft_gemm_grid *grid, int64_t count, const weft_gemm_axes *lines, const weft_gemm_axes *terms)
{
    enum { ANYWHERE = 4 };
    bool is_complex = weft_gemm_is_complex(grid->call->dtype);
    bool is_long = llabs(terms->stride) * (int64_t)weft_gemm_real_size(grid->call->dtype) > WEFT_GEMM_FAR;
    int64_t few = grid->kernel->few, most = is_long || few < ANYWHERE ? few : ANYWHERE;
    if (is_complex || (is_long && few < ANYWHERE && is_beyond_l2(grid, lines, terms))) most = ANYWHERE;
    return lines->stride == 1 && count <= most;
}

/* The same of a matrix whose terms are adjacent, if there are so many that transposing them in registers takes less
 * than the lanes that tiles leave idle, which are at least half of a register or fewer. Measured on Zen 5. */
static bool is_few_of_lines(const weft_gemm_grid *grid, int64_t count, const weft_gemm_axes *lines,
                            const weft_gemm_axes *terms)
{
    enum { OF_SINGLES = 3, OF_SINGLES_OF_FEW = 12, OF_DOUBLES = 12, OF_DOUBLES_OF_FEW = 32 };
    if (grid->kernel->lines_in_place == NULL || weft_gemm_is_complex(grid->call->dtype)) return false;
    bool is_double = weft_gemm_real_size(grid->call->dtype) > sizeof(float);
    int64_t lanes = weft_gemm_lanes(grid->kernel), idle = weft_gemm_round_up(count, lanes) - count, each;
    if (2 * idle >= lanes) each = is_double ? OF_DOUBLES : OF_SINGLES;
    else each = is_double ? OF_DOUBLES_OF_FEW : OF_SINGLES_OF_FEW;
    return terms->stride == 1 && terms->count >= each * count && count <= WEFT_GEMM_LINES_ROWS &&
           lines->count >= WEFT_GEMM_LEAST_LINES;
}

static bool is_joined(const weft_gemm_matrices *m)
{
    return m->a_rows.rank + m->a_terms.rank + m->b_columns.rank + m->b_terms.rank + m->c_rows.rank + m->c_columns.rank >
           0;
}

static void find_few(weft_gemm_grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    const int64_t rows = m->c_rows.count, columns = m->c_columns.count;
    weft_dtype dtype = grid->call->dtype;
    if (grid->kernel->few == 0 || is_joined(m) || weft_dtype_is_float16(dtype)) return;
    if (grid->call->panels != WEFT_PANELS_NONE) return;
    if (is_few(grid, rows, &m->b_columns, &m->b_terms)) grid->few = WEFT_FEW_ROWS;
    else if (!weft_gemm_is_complex(dtype) && is_few(grid, columns, &m->a_rows, &m->a_terms))
        grid->few = WEFT_FEW_COLUMNS;
    if (grid->few != WEFT_FEW_NONE) return;
    bool beside_b = is_few_of_lines(grid, rows, &m->b_columns, &m->b_terms);
    grid->in_lines = beside_b || is_few_of_lines(grid, columns, &m->a_rows, &m->a_terms);
    if (grid->in_lines) grid->few = beside_b ? WEFT_FEW_ROWS : WEFT_FEW_COLUMNS;
}

void weft_gemm_grid_init(weft_gemm_grid *grid, const weft_gemm_engine *engine, const weft_machine *machine,
                         const weft_gemm_call *call, const weft_gemm_matrices *matrices, int64_t threads)
{
    *grid = (weft_gemm_grid){.call = call,
                             .matrices = matrices,
                             .machine = machine,
                             .kernel = engine->kernel,
                             .numbers = engine->numbers,
                             .float16 = engine->float16,
                             .threads = threads};
    if (call->packed && grid->kernel->packed != NULL) grid->kernel = grid->kernel->packed;
    find_few(grid);
    find_units(grid);
}

/* ---- panels of constants ---- */

/* Whether an operand is one matrix for all products, none of which are added up. */
static bool is_matrix(const weft_gemm_call *call, const int64_t *strides)
{
    bool moves = false;
    for (size_t axis = 0; axis < call->batch_rank; axis++)
        moves |= call->batch[axis] != 1 && (strides[axis] != 0 || call->c_batch[axis] == 0);
    return !moves;
}

/* Whether the product would have its vectors along that operand if it were packed, and is not so short that it reads
 * the operand in place in no more time than panels. Measured on Zen 3. */
static bool is_worth_panels(const weft_gemm_engine *engine, const weft_machine *machine, weft_gemm_call call,
                            weft_panels operand)
{
    enum { LEAST_USES = 3 };
    weft_gemm_matrices matrices;
    weft_gemm_matrices_find(&matrices, &call, engine->kernel->ahead);
    if ((operand == WEFT_PANELS_A ? matrices.c_columns : matrices.c_rows).count < LEAST_USES) return false;
    call.panels = operand;
    const weft_gemm_grid grid = {.call = &call, .matrices = &matrices, .machine = machine, .kernel = engine->kernel};
    return has_row_vectors(&grid) == (operand == WEFT_PANELS_B);
}

weft_panels weft_gemm_panels_choose(const weft_gemm_engine *engine, const weft_machine *machine,
                                    const weft_gemm_call *call, bool a_is_constant, bool b_is_constant)
{
    if (call->packed || weft_gemm_is_empty(call) || call->k == 0) return WEFT_PANELS_NONE;
    if (call->dtype != WEFT_F32 && call->dtype != WEFT_F64 && engine->numbers->fill == NULL) return WEFT_PANELS_NONE;
    if (b_is_constant && is_matrix(call, call->b_batch) && is_worth_panels(engine, machine, *call, WEFT_PANELS_B))
        return WEFT_PANELS_B;
    if (a_is_constant && is_matrix(call, call->a_batch) && is_worth_panels(engine, machine, *call, WEFT_PANELS_A))
        return WEFT_PANELS_A;
    return WEFT_PANELS_NONE;
}

/* ---- blocks ---- */

/* Whether sums are added up elsewhere than in C. */
static bool has_own_sums(const weft_gemm_grid *grid)
{
    return weft_dtype_is_float16(grid->call->dtype) || grid->call->dtype == WEFT_U8;
}

static bool are_equal(const weft_gemm_axes *a, const weft_gemm_axes *b)
{
    return a->rank == 0 && b->rank == 0 && a->count == b->count && (a->count == 1 || a->stride == b->stride);
}

bool weft_gemm_grid_is_symmetric(const weft_gemm_grid *grid)
{
    enum { LEAST_SIZE = 32, LEAST_TERMS = 64 };
    const weft_gemm_matrices *m = grid->matrices;
    const weft_gemm_call *call = grid->call;
    if (weft_gemm_is_complex(call->dtype) || has_own_sums(grid) || grid->few != WEFT_FEW_NONE) return false;
    if (grid->a != grid->b || call->a_offset != call->b_offset || m->c_rows.rank > 0 || m->c_columns.rank > 0)
        return false;
    if (m->c_rows.count < LEAST_SIZE || m->a_terms.count < LEAST_TERMS) return false;
    for (size_t i = 0; i < m->batch_rank; i++)
        if (m->a_strides[i] != m->b_strides[i]) return false;
    return are_equal(&m->a_rows, &m->b_columns) && are_equal(&m->a_terms, &m->b_terms);
}

/* Cuts one product into `parts` blocks so that as little as possible is read twice. */
static void cut(weft_gemm_grid *grid, int64_t parts)
{
    double m = (double)grid->matrices->c_rows.count, n = (double)grid->matrices->c_columns.count, least = 0;
    for (int64_t rows = 1; rows <= parts; rows++) {
        if (parts % rows != 0) continue;
        double packed = m * (double)(parts / rows) + n * (double)rows;
        if (rows > 1 && packed >= least) continue;
        least = packed;
        grid->rows = rows;
        grid->columns = parts / rows;
    }
}

/* Cuts further until the sums of a block that are not those of C are few enough, whose rows are padded to a cache line.
 */
static void cut_sums(weft_gemm_grid *grid)
{
    enum { LINE = WEFT_GEMM_ALIGNMENT / sizeof(float) };
    int64_t *counts[] = {&grid->rows, &grid->columns};
    const int64_t extents[] = {grid->matrices->c_rows.count, grid->matrices->c_columns.count};
    while (has_own_sums(grid) && grid->matrices->a_terms.count > grid->kernel->alone) {
        int64_t sizes[2];
        for (int i = 0; i < 2; i++) sizes[i] = ((extents[i] + *counts[i] - 1) / *counts[i] + LINE - 1) / LINE * LINE;
        if (sizes[0] <= WEFT_GEMM_FLOAT16_ELEMENTS / sizes[1]) break;
        *counts[sizes[1] > sizes[0]] *= 2;
    }
}

void weft_gemm_grid_cut(weft_gemm_grid *grid, int64_t parts)
{
    cut(grid, parts);
    cut_sums(grid);
}
