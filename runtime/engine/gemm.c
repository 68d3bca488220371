/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/float_bits.h"
#include "runtime/base/machine.h"
#include "runtime/engine/gemm_float16.h"
#include "runtime/engine/gemm_matrices.h"
#include "runtime/engine/gemm_mirror.h"
#include "runtime/engine/gemm_panels.h"
#include "runtime/engine/gemm_part.h"
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/gemm_transpose.h"

/*
 * M and N are cut into a grid of blocks that the pool's threads take, K is not (gemm_block.c cuts it, always at the
 * same places). Products may be computed transposed, which changes nothing but which of two factors comes first;
 * kernels of complex numbers are told. Where these are multiplied as real ones they are not: the order of the four real
 * products of two complex numbers depends on which operand is doubled, so that is always B.
 */

/* Operands that fit are packed on the stack, sums of 16-bit floats with them. */
enum { STACK_BYTES = 4 << 10 };

/* Bytes of a real number that kernels add up. */
static size_t real_size(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (weft_dtype_is_float16(dtype)) return sizeof(float);
    return info->kind == WEFT_KIND_COMPLEX ? info->size / 2 : info->size;
}

size_t weft_gemm_result_size(weft_dtype dtype)
{
    return dtype == WEFT_U8 ? sizeof(int32_t) : weft_dtype_size(dtype);
}

static bool is_complex(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX;
}

bool weft_gemm_supports(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64 || dtype == WEFT_C64 || dtype == WEFT_C128 ||
           weft_dtype_is_float16(dtype);
}

bool weft_gemm_is_empty(const weft_gemm_call *call)
{
    bool is_empty = call->m == 0 || call->n == 0;
    for (size_t axis = 0; axis < call->batch_rank; axis++)
        is_empty |= call->batch[axis] == 0 && call->c_batch[axis] != 0;
    return is_empty;
}

/* ---- the grid ---- */

/* The side that is so short that the other operand is read in place (gemm_rows.h, gemm_lines.h). */
enum few { FEW_NONE, FEW_ROWS, FEW_COLUMNS };

struct grid {
    const weft_gemm_call *call;
    const weft_gemm_matrices *matrices;
    const weft_machine *machine;
    const weft_gemm_kernel *kernel;
    const weft_gemm_numbers *numbers;
    const weft_float16 *float16;
    bool transposed; /* C' = B' * A' is computed */
    bool symmetric;  /* B is A transposed: elements beyond the diagonal are copied */
    enum few few;
    bool in_lines;         /* whose terms are adjacent, then */
    int64_t units[2];      /* blocks begin at multiples of these rows and columns */
    int64_t rows, columns; /* blocks along M and N */
    size_t bytes;          /* to pack the operands of a block */
    bool repeats;          /* several products along the first axis of the batch are computed in one go */
    const char *a, *b;
    char *c;
    weft_block_store *store;
    atomic_bool failed; /* for want of memory */
};

/* Element offset of product `index` of the batch. */
static int64_t batch_offset(const weft_gemm_matrices *m, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (size_t axis = 0; axis < m->batch_rank; index /= m->extents[axis++])
        offset += index % m->extents[axis] * strides[axis];
    return offset;
}

/* First row or column of block `index` of `count` over `extent`. */
static int64_t block_begin(int64_t extent, int64_t unit, int64_t count, int64_t index)
{
    int64_t units = (extent + unit - 1) / unit;
    int64_t begin = (units / count * index + units % count * index / count) * unit;
    return begin < extent ? begin : extent;
}

/* An operand without terms may have no memory, and be NULL. */
static const char *operand_at(const char *data, int64_t bytes)
{
    return bytes == 0 ? data : data + bytes;
}

/* Lines [begin, end) of operand A or B, in the matrix at element `offset`. */
static weft_gemm_side side_of(const struct grid *grid, bool is_b, int64_t offset, int64_t begin, int64_t end)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_matrices *m = grid->matrices;
    const char *operand = is_b ? grid->b : grid->a;
    bool complex = is_complex(call->dtype), whole = grid->kernel->is_complex;
    weft_gemm_form parts = is_b && complex ? WEFT_GEMM_DOUBLED : WEFT_GEMM_PARTS;
    return (weft_gemm_side){.data = operand_at(operand, offset * (int64_t)weft_dtype_size(call->dtype)),
                            .panels = call->panels == (is_b ? WEFT_PANELS_B : WEFT_PANELS_A) ? operand : NULL,
                            .panel_lines = call->panel_lines,
                            .lines = is_b ? &m->b_columns : &m->a_rows,
                            .terms = is_b ? &m->b_terms : &m->a_terms,
                            .first = begin,
                            .count = end - begin,
                            .complex = complex,
                            .form = whole ? WEFT_GEMM_WHOLE : parts,
                            .size = real_size(call->dtype),
                            .float16 = grid->float16,
                            .pack = grid->numbers->pack,
                            .transpose = grid->kernel->transpose,
                            .runs = grid->kernel->runs};
}

/* Product `product`, rows and columns [begin, end) of C. */
static weft_gemm_block block_of(const struct grid *grid, int64_t product, const int64_t *begin, const int64_t *end)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_matrices *m = grid->matrices;
    bool transposed = grid->transposed;
    int64_t size = (int64_t)weft_gemm_result_size(call->dtype);
    int64_t a = call->a_offset + batch_offset(m, m->a_strides, product);
    int64_t b = call->b_offset + batch_offset(m, m->b_strides, product);
    int64_t c = call->c_offset + batch_offset(m, m->c_strides, product);
    weft_gemm_side sides[2] = {side_of(grid, false, a, begin[0], end[0]), side_of(grid, true, b, begin[1], end[1])};
    return (weft_gemm_block){.kernel = grid->kernel,
                             .cache_bytes = (int64_t)grid->machine->cache_bytes[1],
                             .left = sides[transposed],
                             .right = sides[!transposed],
                             .right_first = transposed,
                             .terms = m->a_terms.count,
                             .c = grid->c + c * size,
                             .c_element = size,
                             .c_left = transposed ? &m->c_columns : &m->c_rows,
                             .c_right = transposed ? &m->c_rows : &m->c_columns,
                             .symmetric = grid->symmetric,
                             .few_left = grid->few == (transposed ? FEW_COLUMNS : FEW_ROWS),
                             .few_right = grid->few == (transposed ? FEW_ROWS : FEW_COLUMNS),
                             .in_lines = grid->in_lines};
}

/* Block (row, column) of the grid. */
static weft_gemm_block find_block(const struct grid *grid, int64_t product, int64_t row, int64_t column)
{
    int64_t m = grid->matrices->c_rows.count, n = grid->matrices->c_columns.count;
    int64_t begin[2] = {block_begin(m, grid->units[0], grid->rows, row),
                        block_begin(n, grid->units[1], grid->columns, column)};
    int64_t end[2] = {block_begin(m, grid->units[0], grid->rows, row + 1),
                      block_begin(n, grid->units[1], grid->columns, column + 1)};
    return block_of(grid, product, begin, end);
}

static void clear(const weft_gemm_block *block)
{
    for (int64_t i = 0; i < block->left.count; i++)
        for (int64_t j = 0; j < block->right.count; j++)
            memset(weft_gemm_block_element(block, block->left.first + i, block->right.first + j), 0,
                   (size_t)block->c_element);
}

/* How many products from this one on are computed in one go: no more than L1 holds, since tiles share operands. */
static int64_t repeat(const struct grid *grid, weft_gemm_block *block, int64_t product, int64_t end)
{
    const weft_gemm_matrices *m = grid->matrices;
    const int64_t *left = grid->transposed ? m->b_strides : m->a_strides;
    const int64_t *right = grid->transposed ? m->a_strides : m->b_strides;
    int64_t size = block->c_element, rows = block->left.count, columns = block->right.count;
    int64_t bytes = (block->terms * (rows + columns) + rows * columns) * size;
    int64_t count = m->extents[0] - product % m->extents[0], most = (int64_t)grid->machine->cache_bytes[0] / 2 / bytes;
    if (count > end - product) count = end - product;
    if (count > most) count = most < 1 ? 1 : most;
    block->count = count;
    block->left_step = left[0] * size;
    block->right_step = right[0] * size;
    block->c_step = m->c_strides[0] * size;
    return count;
}

static void run_range(const struct grid *grid, int64_t begin, int64_t end, char *memory)
{
    const char *left = NULL, *right = NULL;
    for (int64_t t = begin, done; t < end; t += done) {
        int64_t place = t % (grid->rows * grid->columns);
        weft_gemm_block block =
            find_block(grid, t / (grid->rows * grid->columns), place / grid->columns, place % grid->columns);
        bool is_one = grid->rows * grid->columns == 1;
        block.left_kept = is_one && block.left.data == left;
        block.right_kept = is_one && block.right.data == right;
        left = block.left.data;
        right = block.right.data;
        done = grid->repeats ? repeat(grid, &block, t, end) : 1;
        if (block.left.count <= 0 || block.right.count <= 0) continue;
        if (grid->symmetric && block.left.first >= block.right.first + block.right.count) continue;
        if (block.terms == 0) clear(&block);
        else grid->numbers->run(&block, memory);
    }
}

static void run_blocks(void *context, int64_t begin, int64_t end)
{
    struct grid *grid = context;
    if (grid->bytes <= STACK_BYTES) {
        _Alignas(WEFT_GEMM_ALIGNMENT) char memory[STACK_BYTES];
        run_range(grid, begin, end, memory);
        return;
    }
    weft_block *packed;
    weft_status *status = weft_block_acquire(grid->store, NULL, grid->bytes, &packed);
    if (status == NULL) {
        run_range(grid, begin, end, packed->memory);
        weft_block_release(packed);
    } else {
        atomic_store(&grid->failed, true);
        weft_status_destroy(status);
    }
}

/* ---- how it is cut ---- */

static double padded(int64_t extent, int64_t unit)
{
    return (double)((extent + unit - 1) / unit * unit);
}

/* A and B, as far as it matters whether they are packed. */
struct operands {
    weft_gemm_side a, b;
};

static struct operands operands_of(const struct grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    const weft_gemm_side both = {
        .complex = is_complex(grid->call->dtype), .size = real_size(grid->call->dtype), .float16 = grid->float16};
    struct operands operands = {both, both};
    operands.a.lines = &m->a_rows;
    operands.a.terms = &m->a_terms;
    operands.a.count = m->a_rows.count;
    operands.b.lines = &m->b_columns;
    operands.b.terms = &m->b_terms;
    operands.b.count = m->b_columns.count;
    return operands;
}

static bool packs(const struct grid *grid, const weft_gemm_side *side, const weft_gemm_side *other, bool wide)
{
    return weft_gemm_packs(grid->kernel, side, other, side->terms->count, wide, (int64_t)grid->machine->cache_bytes[1]);
}

/* Cycles for one term of all elements to copy an operand, or to wait for what is read in place in too many streams to
 * be fetched ahead of time. Numbers that are adjacent are copied as registers, which wait for what is not in L2. 512 x
 * 1500 by 1500 x 17 f64, of which the larger one is read in place then, takes 0.6 of the time (Sapphire Rapids). */
static double packing(const struct grid *grid, const weft_gemm_side *side, const weft_gemm_side *other, bool wide)
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
static double cycles(const struct grid *grid, const struct operands *operands, bool by_rows)
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
static bool packs_both(const struct grid *grid, bool by_rows)
{
    const struct operands operands = operands_of(grid);
    return packs(grid, &operands.a, &operands.b, !by_rows) && packs(grid, &operands.b, &operands.a, by_rows);
}

static bool has_row_vectors(const struct grid *grid)
{
    if (is_complex(grid->call->dtype) && !grid->kernel->is_complex) return true;
    const struct operands operands = operands_of(grid);
    return cycles(grid, &operands, true) <= cycles(grid, &operands, false);
}

static void find_units(struct grid *grid)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_kernel *kernel = grid->kernel;
    bool by_rows = call->panels == WEFT_PANELS_NONE ? has_row_vectors(grid) : call->panels == WEFT_PANELS_B;
    bool is_large = grid->few == FEW_NONE && call->panels == WEFT_PANELS_NONE && packs_both(grid, by_rows);
    if (kernel->large != NULL && is_large) grid->kernel = kernel = kernel->large;
    grid->transposed = by_rows == kernel->by_columns;
    grid->units[grid->transposed] = kernel->rows;
    grid->units[!grid->transposed] = kernel->columns;
    if (is_complex(call->dtype)) grid->units[by_rows] /= 2;
}

/* Whether the matrix beside so many rows or columns, which lies like this, is read in place: of more than a few where
 * its lines are so long that tiles of them would be read from one page after the other. */
static bool is_few(const struct grid *grid, int64_t count, const weft_gemm_axes *lines, const weft_gemm_axes *terms)
{
    enum { ANYWHERE = 4 };
    bool is_long = llabs(terms->stride) * (int64_t)real_size(grid->call->dtype) > WEFT_GEMM_FAR;
    int64_t few = grid->kernel->few, most = is_long || few < ANYWHERE ? few : ANYWHERE;
    return lines->stride == 1 && count <= (is_complex(grid->call->dtype) ? ANYWHERE : most);
}

/* The same of a matrix whose terms are adjacent. */
static bool is_few_of_lines(const struct grid *grid, int64_t count, const weft_gemm_axes *lines,
                            const weft_gemm_axes *terms)
{
    return grid->kernel->lines_in_place != NULL && !is_complex(grid->call->dtype) && terms->stride == 1 &&
           count <= WEFT_GEMM_LINES_ROWS && lines->count >= WEFT_GEMM_LEAST_LINES;
}

static bool is_joined(const weft_gemm_matrices *m)
{
    return m->a_rows.rank + m->a_terms.rank + m->b_columns.rank + m->b_terms.rank + m->c_rows.rank + m->c_columns.rank >
           0;
}

static void find_few(struct grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    const int64_t rows = m->c_rows.count, columns = m->c_columns.count;
    weft_dtype dtype = grid->call->dtype;
    if (grid->kernel->few == 0 || is_joined(m) || weft_dtype_is_float16(dtype)) return;
    if (grid->call->panels != WEFT_PANELS_NONE) return;
    if (is_few(grid, rows, &m->b_columns, &m->b_terms)) grid->few = FEW_ROWS;
    else if (!is_complex(dtype) && is_few(grid, columns, &m->a_rows, &m->a_terms)) grid->few = FEW_COLUMNS;
    if (grid->few != FEW_NONE) return;
    bool beside_b = is_few_of_lines(grid, rows, &m->b_columns, &m->b_terms);
    grid->in_lines = beside_b || is_few_of_lines(grid, columns, &m->a_rows, &m->a_terms);
    if (grid->in_lines) grid->few = beside_b ? FEW_ROWS : FEW_COLUMNS;
}

/* Whether sums are added up elsewhere than in C. */
static bool has_own_sums(const struct grid *grid)
{
    return weft_dtype_is_float16(grid->call->dtype) || grid->call->dtype == WEFT_U8;
}

static bool are_equal(const weft_gemm_axes *a, const weft_gemm_axes *b)
{
    return a->rank == 0 && b->rank == 0 && a->count == b->count && (a->count == 1 || a->stride == b->stride);
}

/* Whether B is A transposed, in the same memory, so that C is symmetric to the bit: both factors of a product may
 * change places. Not where copying half of C takes as long as computing it. */
static bool is_symmetric(const struct grid *grid)
{
    enum { LEAST_SIZE = 32, LEAST_TERMS = 64 };
    const weft_gemm_matrices *m = grid->matrices;
    const weft_gemm_call *call = grid->call;
    if (is_complex(call->dtype) || has_own_sums(grid) || grid->few != FEW_NONE) return false;
    if (grid->a != grid->b || call->a_offset != call->b_offset || m->c_rows.rank > 0 || m->c_columns.rank > 0)
        return false;
    if (m->c_rows.count < LEAST_SIZE || m->a_terms.count < LEAST_TERMS) return false;
    for (size_t i = 0; i < m->batch_rank; i++)
        if (m->a_strides[i] != m->b_strides[i]) return false;
    return are_equal(&m->a_rows, &m->b_columns) && are_equal(&m->a_terms, &m->b_terms);
}

/* Cuts one product into `parts` blocks so that as little as possible is read twice. */
static void cut(struct grid *grid, int64_t parts)
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
static void cut_sums(struct grid *grid)
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

/* The bytes of the block that needs most; a smaller block may be cut differently and pack more at once. */
static void find_bytes(struct grid *grid)
{
    if (grid->matrices->a_terms.count == 0) return;
    for (int64_t row = 0; row < grid->rows; row++)
        for (int64_t column = 0; column < grid->columns; column++) {
            weft_gemm_block block = find_block(grid, 0, row, column);
            if (block.left.count <= 0 || block.right.count <= 0) continue;
            size_t bytes = grid->numbers->bytes(&block);
            if (bytes > grid->bytes) grid->bytes = bytes;
        }
}

static void find_repeats(struct grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    if (m->batch == 1 || m->a_terms.count == 0 || grid->rows * grid->columns > 1 || grid->numbers->repeats == NULL)
        return;
    const weft_gemm_block block = find_block(grid, 0, 0, 0);
    grid->repeats = grid->numbers->repeats(&block);
}

/* ---- symmetric products ---- */

/* Each task is WEFT_GEMM_SQUARE rows of one product. */
static void copy_rows(void *context, int64_t begin, int64_t end)
{
    const struct grid *grid = context;
    int64_t count = grid->matrices->c_rows.count, squares = (count + WEFT_GEMM_SQUARE - 1) / WEFT_GEMM_SQUARE;
    int64_t size = (int64_t)weft_dtype_size(grid->call->dtype);
    for (int64_t t = begin; t < end; t++) {
        const int64_t first[2] = {0, 0}, last[2] = {count, count};
        weft_gemm_block block = block_of(grid, t / squares, first, last);
        const weft_gemm_mirror mirror = {.c = block.c,
                                         .count = count,
                                         .left = block.c_left->stride * size,
                                         .right = block.c_right->stride * size,
                                         .size = size,
                                         .transpose = grid->kernel->transpose};
        int64_t i = t % squares * WEFT_GEMM_SQUARE;
        weft_gemm_mirror_rows(&mirror, i, i + WEFT_GEMM_SQUARE < count ? i + WEFT_GEMM_SQUARE : count);
    }
}

static int64_t copy_tasks(const struct grid *grid)
{
    return grid->matrices->batch * ((grid->matrices->c_rows.count + WEFT_GEMM_SQUARE - 1) / WEFT_GEMM_SQUARE);
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
    weft_gemm_matrices_find(&matrices, &call);
    if ((operand == WEFT_PANELS_A ? matrices.c_columns : matrices.c_rows).count < LEAST_USES) return false;
    call.panels = operand;
    const struct grid grid = {.call = &call, .matrices = &matrices, .machine = machine, .kernel = engine->kernel};
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

/* ---- all ---- */

/* Of one product. */
static double product_ns(const weft_gemm_kernel *kernel, const weft_machine *machine, const weft_gemm_matrices *m,
                         weft_dtype dtype)
{
    double ns = weft_machine_product_ns(machine, dtype, (double)m->c_rows.count, (double)m->c_columns.count,
                                        (double)m->a_terms.count);
    return kernel->speed > 0 ? ns / kernel->speed : ns;
}

double weft_gemm_estimate(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                          size_t threads)
{
    weft_gemm_matrices matrices;
    if (weft_gemm_is_empty(call)) return 0;
    weft_gemm_matrices_find(&matrices, call);
    double count = (double)matrices.batch, each = 1e9 * machine->dispatch_seconds;
    double one = product_ns(engine->kernel, machine, &matrices, call->dtype), work = count * one;
    if (threads == 1 || weft_machine_is_serial_product(machine, work)) return count * each + work;
    double share = count > (double)threads ? count / (double)threads : 1;
    bool whole = count < (double)threads && weft_machine_is_serial_product(machine, one);
    return share * each + work / (whole ? count : (double)threads) + 1e9 * machine->fork_join_seconds;
}

/* The product of a call that is not empty, not cut yet. */
static void grid_init(struct grid *grid, const weft_gemm_engine *engine, const weft_machine *machine,
                      const weft_gemm_call *call, weft_gemm_matrices *matrices)
{
    weft_gemm_matrices_find(matrices, call);
    *grid = (struct grid){.call = call,
                          .matrices = matrices,
                          .machine = machine,
                          .kernel = engine->kernel,
                          .numbers = engine->numbers,
                          .float16 = engine->float16};
    if (call->packed && grid->kernel->packed != NULL) grid->kernel = grid->kernel->packed;
    find_few(grid);
    find_units(grid);
}

/* Whether one thread computes it all. */
static bool cut_for(struct grid *grid, int64_t threads)
{
    int64_t batch = grid->matrices->batch;
    double each = product_ns(grid->kernel, grid->machine, grid->matrices, grid->call->dtype);
    double all = each * (double)batch;
    bool serial = threads == 1 || weft_machine_is_serial_product(grid->machine, all);
    bool whole = serial || batch >= threads || weft_machine_is_serial_product(grid->machine, each);
    /* Blocks beyond the diagonal take no time: more of them are alike in sum. */
    cut(grid, whole ? 1 : (grid->symmetric ? 4 : 1) * ((threads + batch - 1) / batch));
    cut_sums(grid);
    find_bytes(grid);
    return serial;
}

size_t weft_gemm_bytes(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                       size_t threads)
{
    weft_gemm_matrices matrices;
    struct grid grid;
    if (weft_gemm_is_empty(call)) return 0;
    grid_init(&grid, engine, machine, call, &matrices);
    grid.a = grid.b = grid.c = (void *)(uintptr_t)call; /* any address: nothing is read */
    cut_for(&grid, 1);
    if (threads > 1) {
        cut_for(&grid, (int64_t)threads);
        grid.symmetric = is_symmetric(&grid); /* that A and B are one matrix shows only in a run */
        if (grid.symmetric) cut_for(&grid, (int64_t)threads);
    }
    return grid.bytes <= STACK_BYTES ? 0 : grid.bytes;
}

/* ---- running ---- */

static weft_status *run_grid(struct grid *grid, weft_pool *pool, bool serial)
{
    int64_t tasks = grid->matrices->batch * grid->rows * grid->columns;
    if (serial) run_blocks(grid, 0, tasks);
    else weft_pool_run(pool, tasks, 1, run_blocks, grid);
    if (grid->symmetric && serial) copy_rows(grid, 0, copy_tasks(grid));
    else if (grid->symmetric) weft_pool_run(pool, copy_tasks(grid), 1, copy_rows, grid);
    return atomic_load(&grid->failed) ? weft_status_out_of_memory() : NULL;
}

static void put_arrays(struct grid *grid, weft_block_store *store, const void *a, const void *b, void *c)
{
    grid->a = a;
    grid->b = b;
    grid->c = c;
    grid->store = store;
    grid->symmetric = is_symmetric(grid);
}

weft_status *weft_gemm_run(const weft_gemm_engine *engine, weft_pool *pool, weft_block_store *store,
                           const weft_gemm_call *call, const void *a, const void *b, void *c)
{
    weft_gemm_matrices matrices;
    struct grid grid;
    if (weft_gemm_is_empty(call)) return NULL;
    grid_init(&grid, engine, weft_pool_machine(pool), call, &matrices);
    put_arrays(&grid, store, a, b, c);
    bool serial = cut_for(&grid, (int64_t)weft_pool_width(pool));
    find_repeats(&grid);
    return run_grid(&grid, pool, serial);
}

struct weft_gemm_plan {
    const weft_gemm_engine *engine;
    weft_gemm_matrices matrices;
    struct grid grid; /* without arrays */
    int64_t threads;
    bool serial;
};

size_t weft_gemm_plan_size(void)
{
    return sizeof(weft_gemm_plan);
}

void weft_gemm_plan_fill(weft_gemm_plan *plan, const weft_gemm_engine *engine, const weft_machine *machine,
                         const weft_gemm_call *call, size_t threads)
{
    plan->engine = engine;
    plan->threads = (int64_t)threads;
    grid_init(&plan->grid, engine, machine, call, &plan->matrices);
    plan->grid.a = plan->grid.b = plan->grid.c = (void *)(uintptr_t)call; /* any address: nothing is read */
    plan->serial = cut_for(&plan->grid, plan->threads);
    find_repeats(&plan->grid);
}

weft_status *weft_gemm_plan_run(const weft_gemm_plan *plan, weft_pool *pool, weft_block_store *store, const void *a,
                                const void *b, void *c)
{
    struct grid grid = plan->grid;
    put_arrays(&grid, store, a, b, c);
    if (grid.symmetric || (int64_t)weft_pool_width(pool) != plan->threads)
        return weft_gemm_run(plan->engine, pool, store, grid.call, a, b, c);
    return run_grid(&grid, pool, plan->serial);
}
