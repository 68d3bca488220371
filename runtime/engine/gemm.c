/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include <stdatomic.h>
#include <string.h>
#include "runtime/base/machine.h"
#include "runtime/engine/gemm_block.h"
#include "runtime/engine/gemm_rows.h"

/*
 * M and N are cut into a grid of blocks that the pool's threads take, K is not (gemm_block.c cuts it, always at the
 * same places). Real products may be computed transposed, which changes nothing but which of two factors comes first.
 * Complex ones are not: the order of the four real products of two complex numbers depends on which operand is doubled,
 * so that is always B.
 */

/* Operands that fit are packed on the stack. */
enum { STACK_BYTES = 8 << 10 };

static size_t real_size(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    return info->kind == WEFT_KIND_COMPLEX ? info->size / 2 : info->size;
}

static bool is_complex(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX;
}

bool weft_gemm_supports(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64 || dtype == WEFT_C64 || dtype == WEFT_C128;
}

/* ---- the grid ---- */

/* The side that is so short that the other operand is read in place (gemm_rows.h). */
enum few { FEW_NONE, FEW_ROWS, FEW_COLUMNS };

struct grid {
    const weft_gemm_call *call;
    const weft_machine *machine;
    const weft_gemm_kernel *kernel;
    bool transposed; /* C' = B' * A' is computed */
    enum few few;
    int64_t batch;         /* product of the batch extents */
    int64_t units[2];      /* blocks begin at multiples of these rows and columns */
    int64_t rows, columns; /* blocks along M and N */
    size_t bytes;          /* to pack the operands of a block */
    const char *a, *b;
    char *c;
    weft_block_store *store;
    atomic_bool failed; /* for want of memory */
};

/* Element offset of product `index` of the batch. */
static int64_t batch_offset(const weft_gemm_call *call, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (size_t axis = call->batch_rank; axis-- > 0; index /= call->batch[axis])
        offset += index % call->batch[axis] * strides[axis];
    return offset;
}

/* First row or column of block `index` of `count` over `extent`. */
static int64_t block_begin(int64_t extent, int64_t unit, int64_t count, int64_t index)
{
    int64_t units = (extent + unit - 1) / unit;
    int64_t begin = (units / count * index + units % count * index / count) * unit;
    return begin < extent ? begin : extent;
}

/* Product `product`, rows and columns [begin, end) of C. */
static weft_gemm_block block_of(const struct grid *grid, int64_t product, const int64_t *begin, const int64_t *end)
{
    const weft_gemm_call *call = grid->call;
    bool complex = is_complex(call->dtype);
    int64_t size = (int64_t)weft_dtype_size(call->dtype);
    int64_t a = call->a_offset + batch_offset(call, call->a_batch, product) + begin[0] * call->a_row;
    int64_t b = call->b_offset + batch_offset(call, call->b_batch, product) + begin[1] * call->b_column;
    int64_t c = call->c_offset + batch_offset(call, call->c_batch, product) + begin[0] * call->c_row +
                begin[1] * call->c_column;
    weft_gemm_side sides[2] = {{.data = grid->a + a * size,
                                .count = end[0] - begin[0],
                                .stride = call->a_row,
                                .term_stride = call->a_column,
                                .complex = complex,
                                .size = real_size(call->dtype)},
                               {.data = grid->b + b * size,
                                .count = end[1] - begin[1],
                                .stride = call->b_column,
                                .term_stride = call->b_row,
                                .complex = complex,
                                .doubled = complex,
                                .size = real_size(call->dtype)}};
    return (weft_gemm_block){.kernel = grid->kernel,
                             .cache_bytes = (int64_t)grid->machine->cache_bytes[1],
                             .left = sides[grid->transposed],
                             .right = sides[!grid->transposed],
                             .terms = call->k,
                             .c = grid->c + c * size,
                             .c_left = grid->transposed ? call->c_column : call->c_row,
                             .c_right = grid->transposed ? call->c_row : call->c_column,
                             .few_left = grid->few == (grid->transposed ? FEW_COLUMNS : FEW_ROWS),
                             .few_right = grid->few == (grid->transposed ? FEW_ROWS : FEW_COLUMNS)};
}

/* Block (row, column) of the grid. */
static weft_gemm_block find_block(const struct grid *grid, int64_t product, int64_t row, int64_t column)
{
    const weft_gemm_call *call = grid->call;
    int64_t begin[2] = {block_begin(call->m, grid->units[0], grid->rows, row),
                        block_begin(call->n, grid->units[1], grid->columns, column)};
    int64_t end[2] = {block_begin(call->m, grid->units[0], grid->rows, row + 1),
                      block_begin(call->n, grid->units[1], grid->columns, column + 1)};
    return block_of(grid, product, begin, end);
}

static void clear(const weft_gemm_block *block, size_t size)
{
    for (int64_t i = 0; i < block->left.count; i++)
        for (int64_t j = 0; j < block->right.count; j++)
            memset(block->c + (i * block->c_left + j * block->c_right) * (int64_t)size, 0, size);
}

static void run_range(const struct grid *grid, int64_t begin, int64_t end, char *memory)
{
    for (int64_t t = begin; t < end; t++) {
        int64_t place = t % (grid->rows * grid->columns);
        weft_gemm_block block =
            find_block(grid, t / (grid->rows * grid->columns), place / grid->columns, place % grid->columns);
        if (block.left.count <= 0 || block.right.count <= 0) continue;
        if (block.terms == 0) clear(&block, weft_dtype_size(grid->call->dtype));
        else weft_gemm_block_run(&block, memory);
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

/* Cycles for one term of all elements to copy an operand: numbers that are adjacent are copied as registers. */
static double packing(const struct grid *grid, int64_t count, int64_t stride, int64_t term_stride, bool wide,
                      int64_t uses)
{
    const weft_gemm_side side = {.count = count,
                                 .stride = stride,
                                 .term_stride = term_stride,
                                 .complex = is_complex(grid->call->dtype),
                                 .size = real_size(grid->call->dtype)};
    if (!weft_gemm_packs(grid->kernel, &side, grid->call->k, wide, uses, (int64_t)grid->machine->cache_bytes[1]))
        return 0;
    return (double)count * (stride == 1 ? 0.25 : 1);
}

/* Cycles for one term with the kernel's vectors along the rows of C, or along its columns: two registers of products
 * in each, what is copied, and C if its tiles are transposed in a buffer, once for each block of terms. */
static double cycles(const struct grid *grid, bool by_rows)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_kernel *kernel = grid->kernel;
    int64_t wide = by_rows ? call->n : call->m, narrow = by_rows ? call->m : call->n;
    int64_t vector = weft_gemm_vector(kernel);
    int64_t across = kernel->by_columns ? kernel->columns : kernel->rows;
    double products = kernel->tile != NULL ? padded(wide, vector / WEFT_GEMM_VECTORS) * (double)narrow
                                           : padded(wide, vector) * padded(narrow, across);
    bool transposes = (by_rows ? call->c_column : call->c_row) != 1;
    int64_t terms = call->k < 1 ? 1 : call->k < kernel->terms ? call->k : kernel->terms;
    double moves = transposes ? 2 * (double)call->m * (double)call->n / (double)terms : 0;
    return products / (double)vector + moves + packing(grid, call->n, call->b_column, call->b_row, by_rows, call->m) +
           packing(grid, call->m, call->a_row, call->a_column, !by_rows, call->n);
}

static bool has_row_vectors(const struct grid *grid)
{
    return is_complex(grid->call->dtype) || cycles(grid, true) <= cycles(grid, false);
}

static void find_units(struct grid *grid)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_kernel *kernel = grid->kernel;
    grid->transposed = has_row_vectors(grid) == kernel->by_columns;
    grid->units[grid->transposed] = kernel->rows;
    grid->units[!grid->transposed] = kernel->columns;
    if (is_complex(call->dtype)) grid->units[1] /= 2;
}

/* Whether the other operand, with these strides, is read in place for so many rows or columns. */
static bool is_few(int64_t count, int64_t stride, int64_t term_stride)
{
    return (stride == 1 && count <= WEFT_GEMM_FEW_ROWS) || (term_stride == 1 && count <= WEFT_GEMM_FEW_ROWS / 2);
}

static enum few find_few(const weft_gemm_call *call)
{
    if (weft_gemm_rows_find() == NULL) return FEW_NONE;
    if (is_complex(call->dtype)) return call->m <= WEFT_GEMM_FEW_ROWS && call->b_column == 1 ? FEW_ROWS : FEW_NONE;
    if (is_few(call->m, call->b_column, call->b_row)) return FEW_ROWS;
    return is_few(call->n, call->a_row, call->a_column) ? FEW_COLUMNS : FEW_NONE;
}

/* Cuts one product into `parts` blocks so that as little as possible is read twice. */
static void cut(struct grid *grid, int64_t parts)
{
    const weft_gemm_call *call = grid->call;
    double least = 0;
    for (int64_t rows = 1; rows <= parts; rows++) {
        if (parts % rows != 0) continue;
        double packed = (double)call->m * (double)(parts / rows) + (double)call->n * (double)rows;
        if (rows > 1 && packed >= least) continue;
        least = packed;
        grid->rows = rows;
        grid->columns = parts / rows;
    }
}

/* The bytes of the block that needs most; a smaller block may be cut differently and pack more at once. */
static void find_bytes(struct grid *grid)
{
    if (grid->call->k == 0) return;
    for (int64_t row = 0; row < grid->rows; row++)
        for (int64_t column = 0; column < grid->columns; column++) {
            weft_gemm_block block = find_block(grid, 0, row, column);
            if (block.left.count <= 0 || block.right.count <= 0) continue;
            size_t bytes = weft_gemm_block_bytes(&block);
            if (bytes > grid->bytes) grid->bytes = bytes;
        }
}

/* Of one product, or of the whole batch. */
static double product_ns(const weft_machine *machine, const weft_gemm_call *call, double count)
{
    return count * weft_machine_product_ns(machine, call->dtype, (double)call->m, (double)call->n, (double)call->k);
}

double weft_gemm_estimate(const weft_machine *machine, const weft_gemm_call *call, size_t threads)
{
    double count = 1, each = 1e9 * machine->dispatch_seconds;
    for (size_t axis = 0; axis < call->batch_rank; axis++) count *= (double)call->batch[axis];
    double work = product_ns(machine, call, count);
    if (threads == 1 || weft_machine_is_serial_product(machine, work)) return count * each + work;
    double share = count > (double)threads ? count / (double)threads : 1;
    bool whole = count < (double)threads && weft_machine_is_serial_product(machine, product_ns(machine, call, 1));
    return share * each + work / (whole ? count : (double)threads) + 1e9 * machine->fork_join_seconds;
}

weft_status *weft_gemm_run(weft_pool *pool, weft_block_store *store, const weft_gemm_call *call, const void *a,
                           const void *b, void *c)
{
    struct grid grid = {
        .call = call, .machine = weft_pool_machine(pool), .batch = 1, .a = a, .b = b, .c = c, .store = store};
    for (size_t axis = 0; axis < call->batch_rank; axis++) grid.batch *= call->batch[axis];
    if (grid.batch == 0 || call->m == 0 || call->n == 0) return NULL;
    grid.kernel = weft_gemm_kernel_find(real_size(call->dtype));
    grid.few = find_few(call);
    find_units(&grid);
    int64_t threads = (int64_t)weft_pool_width(pool);
    double each = product_ns(grid.machine, call, 1), all = product_ns(grid.machine, call, (double)grid.batch);
    bool serial = threads == 1 || weft_machine_is_serial_product(grid.machine, all);
    bool whole = serial || grid.batch >= threads || weft_machine_is_serial_product(grid.machine, each);
    cut(&grid, whole ? 1 : (threads + grid.batch - 1) / grid.batch);
    int64_t tasks = grid.batch * grid.rows * grid.columns;
    find_bytes(&grid);
    if (serial) run_blocks(&grid, 0, tasks);
    else weft_pool_run(pool, tasks, 1, run_blocks, &grid);
    return atomic_load(&grid.failed) ? weft_status_out_of_memory() : NULL;
}
