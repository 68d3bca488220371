/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/gemm.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <blis.h>

/*
 * BLIS runs on one thread per call; M and N are cut into a grid of blocks that the pool's threads take. K is never cut,
 * and blocks begin at multiples of the micro-tile, so every element sees the same sums in the same order whatever the
 * grid.
 */

/* In multiplications: below SERIAL_WORK the pool is not worth waking; products below SMALL_WORK are never cut. */
enum { SERIAL_WORK = 128 * 128 * 64, SMALL_WORK = 96 * 96 * 96 };

/* ---- engine ---- */

static struct {
    arch_t arch;
    cntx_t *real;
    cntx_t *complex; /* NULL: BLIS finds it */
    cntx_t induced, unpacked;
} engine;

#if defined(BLIS_CONFIG_SKX) && defined(__x86_64__)
/* BLIS 0.9 takes its AVX2 kernels on AVX-512 machines whose brand string it does not know. */
static void prefer_avx512(void)
{
    if (engine.arch == BLIS_ARCH_SKX || engine.arch == BLIS_ARCH_KNL) return;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return;
    engine.arch = BLIS_ARCH_SKX;
    engine.real = bli_gks_lookup_nat_cntx(BLIS_ARCH_SKX);
    /* Complex products need the context of the 1m method; the plain one halves their speed. */
    engine.induced = *engine.real;
    bli_cntx_init_skx_ind(BLIS_1M, &engine.induced);
    engine.complex = &engine.induced;
}
#else
static void prefer_avx512(void) {}
#endif

/* Terms that are added up one after the other; then comes the sum of the next block. */
static int64_t block_terms(num_t type)
{
    return bli_cntx_get_blksz_def_dt(type, BLIS_KC, engine.real);
}

/* BLIS takes down to a fifth of the block for operands that are not packed. */
static void keep_blocks(void)
{
    engine.unpacked = *engine.real;
    blksz_t *block = bli_cntx_get_l3_sup_blksz(BLIS_KC, &engine.unpacked);
    bli_blksz_set_def(5 * block_terms(BLIS_FLOAT), BLIS_FLOAT, block);
    bli_blksz_set_def(5 * block_terms(BLIS_DOUBLE), BLIS_DOUBLE, block);
}

static void start(void)
{
    bli_init();
    engine.arch = bli_arch_query_id();
    engine.real = bli_gks_lookup_nat_cntx(engine.arch);
    prefer_avx512();
    keep_blocks();
}

static void ensure_started(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

const char *weft_gemm_configuration(void)
{
    ensure_started();
    return bli_arch_string(engine.arch);
}

/* ---- one block ---- */

static bool find_type(weft_dtype dtype, num_t *out_type)
{
    switch (dtype) {
    case WEFT_F32: *out_type = BLIS_FLOAT; return true;
    case WEFT_F64: *out_type = BLIS_DOUBLE; return true;
    case WEFT_C64: *out_type = BLIS_SCOMPLEX; return true;
    case WEFT_C128: *out_type = BLIS_DCOMPLEX; return true;
    default: return false;
    }
}

bool weft_gemm_supports(weft_dtype dtype)
{
    num_t type;
    return find_type(dtype, &type);
}

enum way { PACKED, UNPACKED, TURNED };

/* What the library is asked for at once: all of one product, or a part of it. */
struct block {
    weft_gemm_call call; /* of its m, n and strides */
    num_t type;
    size_t size; /* of an element */
    enum way way;
    const char *a, *b; /* first elements */
    char *c;
};

static obj_t matrix(const struct block *block, int64_t rows, int64_t columns, const void *data, int64_t row,
                    int64_t column)
{
    obj_t object;
    bli_obj_create_without_buffer(block->type, rows, columns, &object);
    bli_obj_set_buffer((void *)data, &object);
    bli_obj_set_strides(row, column, &object);
    return object;
}

static cntx_t *choose_context(const struct block *block)
{
    if (block->type == BLIS_SCOMPLEX || block->type == BLIS_DCOMPLEX) return engine.complex;
    return block->way == PACKED ? engine.real : &engine.unpacked;
}

static void call_blis(const struct block *block)
{
    const weft_gemm_call *call = &block->call;
    obj_t left = matrix(block, call->m, call->k, block->a, call->a_row, call->a_column);
    obj_t right = matrix(block, call->k, call->n, block->b, call->b_row, call->b_column);
    obj_t result = matrix(block, call->m, call->n, block->c, call->c_row, call->c_column);
    rntm_t runtime = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &runtime);
    if (block->way == PACKED) bli_rntm_disable_l3_sup(&runtime);
    bli_gemm_ex(&BLIS_ONE, &left, &right, &BLIS_ZERO, &result, choose_context(block), &runtime);
}

static void clear(const struct block *block)
{
    const weft_gemm_call *call = &block->call;
    for (int64_t i = 0; i < call->m; i++)
        for (int64_t j = 0; j < call->n; j++)
            memset(block->c + (i * call->c_row + j * call->c_column) * (int64_t)block->size, 0, block->size);
}

/* ---- small products ---- */

/*
 * Small real products take BLIS's kernels for operands that are not packed, which are up to ten times as fast. These
 * add up terms in the same order as long as there is one block of them, but for the last of an odd number of rows or
 * columns of C, whichever they put into vectors: it is computed together with the one before, once more. They take a
 * stride of -1 for 1. Those for two operands that are dense along K read beyond them, and add up along it; the smaller
 * one is turned before, where it fits a buffer.
 */
enum { TURNED_BYTES = 1 << 14 };

/* Multiplications of one product, as a double: only thresholds look at it. */
static double product_work(const weft_gemm_call *call)
{
    return (double)call->m * (double)call->n * (double)call->k;
}

static bool is_dense(int64_t row, int64_t column)
{
    return (row == 1 || column == 1) && row != -1 && column != -1;
}

static bool is_along_k(const weft_gemm_call *call)
{
    return call->a_column == 1 && call->b_row == 1;
}

/* The strides that the smaller operand has when it is turned. */
static void turn_strides(weft_gemm_call *call)
{
    if (call->m <= call->n) {
        call->a_row = 1;
        call->a_column = call->m;
    } else {
        call->b_row = call->n;
        call->b_column = 1;
    }
}

/* Whether vectors go along the rows of C: BLIS asks which way two of the three matrices lie. */
static bool has_row_vectors(const weft_gemm_call *call)
{
    return (call->a_row == 1) + (call->b_row == 1) + (call->c_row == 1) < 2;
}

static bool fits_unpacked(const weft_gemm_call *call, num_t type)
{
    return type != BLIS_SCOMPLEX && type != BLIS_DCOMPLEX && product_work(call) < SMALL_WORK &&
           call->k <= block_terms(type) && is_dense(call->a_row, call->a_column) &&
           is_dense(call->b_row, call->b_column) && is_dense(call->c_row, call->c_column) &&
           bli_cntx_l3_sup_thresh_is_met(type, call->m, call->n, call->k, &engine.unpacked);
}

static enum way choose_way(const weft_gemm_call *call, num_t type)
{
    if (!fits_unpacked(call, type)) return PACKED;
    weft_gemm_call straight = *call;
    enum way way = is_along_k(call) ? TURNED : UNPACKED;
    int64_t smaller = call->m < call->n ? call->m : call->n;
    if (way == TURNED) turn_strides(&straight);
    if (is_along_k(&straight)) return PACKED;
    if (way == TURNED && smaller * call->k * (int64_t)weft_dtype_size(call->dtype) > TURNED_BYTES) return PACKED;
    return (has_row_vectors(&straight) ? call->n : call->m) == 1 ? PACKED : way;
}

/* Rows of `k` elements, `stride` apart, become columns. */
static void turn(size_t size, const char *from, int64_t stride, char *to, int64_t rows, int64_t k)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t p = 0; p < k; p++)
            if (size == sizeof(float)) ((float *)to)[p * rows + i] = ((const float *)from)[i * stride + p];
            else ((double *)to)[p * rows + i] = ((const double *)from)[i * stride + p];
}

static void turn_smaller(struct block *block, char *turned)
{
    weft_gemm_call *call = &block->call;
    if (call->m <= call->n) {
        turn(block->size, block->a, call->a_row, turned, call->m, call->k);
        block->a = turned;
    } else {
        turn(block->size, block->b, call->b_column, turned, call->n, call->k);
        block->b = turned;
    }
    turn_strides(call);
}

/* Drops the first `count` rows, or columns, of C. */
static void advance(struct block *block, bool rows, int64_t count)
{
    const weft_gemm_call *call = &block->call;
    int64_t bytes = count * (int64_t)block->size;
    if (rows) block->a += call->a_row * bytes;
    else block->b += call->b_column * bytes;
    block->c += (rows ? call->c_row : call->c_column) * bytes;
}

static void multiply_unpacked(struct block *block)
{
    _Alignas(64) char turned[TURNED_BYTES];
    if (block->way == TURNED) turn_smaller(block, turned);
    bool rows = !has_row_vectors(&block->call);
    int64_t *extent = rows ? &block->call.m : &block->call.n;
    bool odd = *extent % 2 != 0;
    if (odd) --*extent;
    call_blis(block);
    if (!odd) return;
    advance(block, rows, *extent - 1);
    *extent = 2;
    call_blis(block);
}

static void multiply(struct block *block)
{
    if (block->call.m <= 0 || block->call.n <= 0) return;
    if (block->call.k == 0) clear(block);
    else if (block->way == PACKED) call_blis(block);
    else multiply_unpacked(block);
}

/* ---- the grid ---- */

struct grid {
    const weft_gemm_call *call;
    num_t type;
    size_t size; /* of an element */
    enum way way;
    int64_t batch;         /* product of the batch extents */
    int64_t units[2];      /* blocks begin at multiples of these rows and columns */
    int64_t rows, columns; /* blocks along M and N */
    const char *a, *b;
    char *c;
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

static void run_block(const struct grid *grid, int64_t product, int64_t row, int64_t column)
{
    const weft_gemm_call *call = grid->call;
    int64_t i = block_begin(call->m, grid->units[0], grid->rows, row);
    int64_t j = block_begin(call->n, grid->units[1], grid->columns, column);
    int64_t a = call->a_offset + batch_offset(call, call->a_batch, product) + i * call->a_row;
    int64_t b = call->b_offset + batch_offset(call, call->b_batch, product) + j * call->b_column;
    int64_t c = call->c_offset + batch_offset(call, call->c_batch, product) + i * call->c_row + j * call->c_column;
    int64_t size = (int64_t)grid->size;
    struct block block = {.call = *call,
                          .type = grid->type,
                          .size = grid->size,
                          .way = grid->way,
                          .a = grid->a + a * size,
                          .b = grid->b + b * size,
                          .c = grid->c + c * size};
    block.call.m = block_begin(call->m, grid->units[0], grid->rows, row + 1) - i;
    block.call.n = block_begin(call->n, grid->units[1], grid->columns, column + 1) - j;
    multiply(&block);
}

static void run_blocks(void *context, int64_t begin, int64_t end)
{
    const struct grid *grid = context;
    for (int64_t t = begin; t < end; t++) {
        int64_t block = t % (grid->rows * grid->columns);
        run_block(grid, t / (grid->rows * grid->columns), block / grid->columns, block % grid->columns);
    }
}

/* The micro-tile of BLIS, which swaps the operands where its kernel prefers the other order of C. */
static void find_units(struct grid *grid)
{
    const weft_gemm_call *call = grid->call;
    bool by_columns = llabs(call->c_column) > llabs(call->c_row);
    bool swapped = by_columns == bli_cntx_l3_nat_ukr_prefers_rows_dt(grid->type, BLIS_GEMM_UKR, engine.real);
    grid->units[swapped] = bli_cntx_get_blksz_def_dt(grid->type, BLIS_MR, engine.real);
    grid->units[!swapped] = bli_cntx_get_blksz_def_dt(grid->type, BLIS_NR, engine.real);
}

/* Cuts one product into `parts` blocks so that as little as possible is packed twice. */
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

/* Of the whole batch. */
static double work_of(const weft_gemm_call *call)
{
    double work = product_work(call);
    for (size_t axis = 0; axis < call->batch_rank; axis++) work *= (double)call->batch[axis];
    return work;
}

double weft_gemm_estimate(const weft_gemm_call *call, size_t threads)
{
    ensure_started();
    num_t type = BLIS_FLOAT;
    const weft_dtype_info *info = weft_dtype_info_of(call->dtype);
    double call_ns =
        find_type(call->dtype, &type) && choose_way(call, type) != PACKED ? 500 : 5000; /* for each block */
    double per_ns = (info->kind == WEFT_KIND_COMPLEX ? 72.0 : 128.0) / (double)info->size;
    double work = work_of(call), blocks = 1;
    for (size_t axis = 0; axis < call->batch_rank; axis++) blocks *= (double)call->batch[axis];
    double alone = blocks * call_ns + work / per_ns;
    if (threads == 1 || work < SERIAL_WORK) return alone;
    double share = blocks > (double)threads ? blocks / (double)threads : 1;
    double parts = product_work(call) < SMALL_WORK && blocks < (double)threads ? blocks : (double)threads;
    return share * call_ns + work / per_ns / parts + WEFT_POOL_REGION_NS;
}

void weft_gemm_run(weft_pool *pool, const weft_gemm_call *call, const void *a, const void *b, void *c)
{
    ensure_started();
    struct grid grid = {.call = call, .size = weft_dtype_size(call->dtype), .batch = 1, .a = a, .b = b, .c = c};
    if (!find_type(call->dtype, &grid.type)) return;
    for (size_t axis = 0; axis < call->batch_rank; axis++) grid.batch *= call->batch[axis];
    if (grid.batch == 0 || call->m == 0 || call->n == 0) return;
    grid.way = choose_way(call, grid.type);
    find_units(&grid);
    int64_t threads = (int64_t)weft_pool_width(pool);
    bool serial = threads == 1 || work_of(call) < SERIAL_WORK;
    bool whole = serial || grid.batch >= threads || product_work(call) < SMALL_WORK;
    cut(&grid, whole ? 1 : (threads + grid.batch - 1) / grid.batch);
    int64_t tasks = grid.batch * grid.rows * grid.columns;
    if (serial) run_blocks(&grid, 0, tasks);
    else weft_pool_run(pool, tasks, 1, run_blocks, &grid);
}
