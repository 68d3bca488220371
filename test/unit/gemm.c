/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/base/float_bits.h"
#include "runtime/engine/float16.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_kernel.h"
#include "runtime/engine/gemm_matrices.h"
#include "runtime/engine/gemm_panels.h"
#include "runtime/engine/gemm_turn.h"
#include "test/rng.h"

/* One product with its operands; element (0, 0) lies at the offset of the call. */
struct product {
    const weft_gemm_engine *engine; /* NULL: of the process */
    weft_gemm_call call;
    size_t count[3]; /* elements after a, b, c */
    void *data[3];
};

/* Of lists of many sizes, one in so many is taken. */
static size_t sparsity = 1;

/* Whether products are those of WEFT_PRODUCTS_FAST, all of bf16. */
static bool fast;

static weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_C64, WEFT_C128, WEFT_F16, WEFT_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Elements as complex doubles, whatever the dtype. */
static double complex load(weft_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case WEFT_F32: return ((const float *)data)[index];
    case WEFT_F64: return ((const double *)data)[index];
    case WEFT_C64: return ((const float complex *)data)[index];
    case WEFT_F16:
    case WEFT_BF16: return weft_float_decode(dtype, ((const uint16_t *)data)[index]);
    default: return ((const double complex *)data)[index];
    }
}

static void store(weft_dtype dtype, void *data, int64_t index, double complex value)
{
    switch (dtype) {
    case WEFT_F32: ((float *)data)[index] = (float)creal(value); break;
    case WEFT_F64: ((double *)data)[index] = creal(value); break;
    case WEFT_C64: ((float complex *)data)[index] = (float complex)value; break;
    case WEFT_F16:
    case WEFT_BF16: ((uint16_t *)data)[index] = (uint16_t)weft_float_encode(dtype, creal(value)); break;
    default: ((double complex *)data)[index] = value; break;
    }
}

static const weft_gemm_engine *engine_of(weft_dtype dtype)
{
    return weft_gemm_engine_find_here(weft_isa_level(), dtype, fast);
}

static uint64_t random_state = 1;

/* From -0.5 to 0.5. */
static double random_value(void)
{
    return (double)(weft_test_bits(&random_state) >> 11) / (1ull << 53) - 0.5;
}

static int random_below(int count)
{
    return (int)weft_test_below(&random_state, (uint64_t)count);
}

static void product_draw(struct product *product)
{
    weft_dtype dtype = product->call.dtype;
    for (size_t i = 0; i < 3; i++)
        for (size_t e = 0; e < product->count[i]; e++)
            store(dtype, product->data[i], (int64_t)e,
                  i == 2 ? (double complex)NAN : random_value() + random_value() * (double complex)I);
}

static void product_fill(struct product *product)
{
    for (size_t i = 0; i < 3; i++) {
        product->data[i] = malloc(product->count[i] * weft_dtype_size(product->call.dtype));
        assert_non_null(product->data[i]);
    }
    product_draw(product);
}

static void *take_from_arena(void *arena, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    assert_true(block == NULL && old_size == 0);
    uintptr_t room = (uintptr_t)weft_arena_allocate(arena, new_size + alignment);
    return (void *)((room + alignment - 1) / alignment * alignment);
}

static void product_finish(struct product *product)
{
    for (size_t i = 0; i < 3; i++) free(product->data[i]);
}

static weft_status *run_once(const struct product *product, const weft_gemm_engine *engine, weft_pool *pool,
                             weft_block_store *store)
{
    return weft_gemm_run(engine, pool, store, &product->call, product->data[0], product->data[1], product->data[2]);
}

/* As a call that is made again and again. */
static weft_status *run_planned(const struct product *product, const weft_gemm_engine *engine, weft_pool *pool,
                                weft_block_store *store)
{
    const weft_gemm_call *call = &product->call;
    void *const *data = product->data;
    if (weft_gemm_is_empty(call)) return run_once(product, engine, pool, store);
    weft_gemm_plan *plan = malloc(weft_gemm_plan_size());
    assert_non_null(plan);
    weft_gemm_plan_fill(plan, engine, weft_pool_machine(pool), call, weft_pool_size(pool));
    weft_status *status = weft_gemm_plan_run(plan, pool, store, data[0], data[1], data[2]);
    free(plan);
    return status;
}

typedef weft_status *run_function(const struct product *product, const weft_gemm_engine *engine, weft_pool *pool,
                                  weft_block_store *store);

/* In blocks of so many bytes, one for each thread, and no others. */
static weft_status *run_in_blocks(run_function *run, struct product *product, const weft_gemm_engine *engine,
                                  weft_pool *pool, size_t bytes)
{
    weft_arena arena;
    weft_block_store *store;
    weft_arena_init(&arena, weft_allocator_or_default(NULL));
    const weft_allocator allocator = {&arena, take_from_arena};
    weft_test_ok(weft_block_store_create_fixed(&allocator, weft_pool_size(pool), bytes, &store));
    weft_status *status = run(product, engine, pool, store);
    weft_arena_finish(&arena);
    return status;
}

/* In as many bytes as the engine asks for; with one thread in no less. */
static void product_run_on(struct product *product, const weft_machine *machine, size_t threads)
{
    const weft_gemm_engine *engine = product->engine;
    if (engine == NULL) engine = engine_of(product->call.dtype);
    weft_pool *pool;
    weft_test_ok(weft_pool_create(NULL, machine, threads, &pool));
    size_t bytes = weft_gemm_bytes(engine, machine, &product->call, threads);
    if (bytes > 0 && threads == 1) {
        weft_test_fails(run_in_blocks(run_planned, product, engine, pool, bytes - 1), WEFT_OUT_OF_MEMORY, "");
        weft_test_fails(run_in_blocks(run_once, product, engine, pool, bytes - 1), WEFT_OUT_OF_MEMORY, "");
    }
    weft_test_ok(run_in_blocks(run_planned, product, engine, pool, bytes));
    weft_pool_destroy(pool);
}

static void product_run(struct product *product, size_t threads)
{
    product_run_on(product, weft_machine_reference(), threads);
}

static int64_t batch_offset(const weft_gemm_call *call, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (size_t axis = call->batch_rank; axis-- > 0; index /= call->batch[axis])
        offset += index % call->batch[axis] * strides[axis];
    return offset;
}

static void check_element(const struct product *product, int64_t batch, int64_t i, int64_t j)
{
    const weft_gemm_call *call = &product->call;
    int64_t a = call->a_offset + batch_offset(call, call->a_batch, batch) + i * call->a_row;
    int64_t b = call->b_offset + batch_offset(call, call->b_batch, batch) + j * call->b_column;
    int64_t c = call->c_offset + batch_offset(call, call->c_batch, batch) + i * call->c_row + j * call->c_column;
    double complex sum = 0;
    for (int64_t k = 0; k < call->k; k++)
        sum += load(call->dtype, product->data[0], a + k * call->a_column) *
               load(call->dtype, product->data[1], b + k * call->b_row);
    double tolerance = (weft_dtype_component(call->dtype) == WEFT_F64 ? 1e-14 : 1e-6) * (double)(call->k + 1);
    if (call->dtype == WEFT_F16) tolerance += ldexp(fabs(creal(sum)), -11) + 0x1p-25;
    if (call->dtype == WEFT_BF16) tolerance += ldexp(fabs(creal(sum)), -8);
    double complex difference = load(call->dtype, product->data[2], c) - sum;
    assert_true(fabs(creal(difference)) <= tolerance && fabs(cimag(difference)) <= tolerance);
}

static void check_product(const struct product *product)
{
    const weft_gemm_call *call = &product->call;
    int64_t batch = 1;
    for (size_t axis = 0; axis < call->batch_rank; axis++) batch *= call->batch[axis];
    for (int64_t t = 0; t < batch; t++)
        for (int64_t i = 0; i < call->m; i++)
            for (int64_t j = 0; j < call->n; j++) check_element(product, t, i, j);
}

static struct product row_major(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    struct product product = {.call = {.dtype = dtype,
                                       .m = m,
                                       .n = n,
                                       .k = k,
                                       .a_row = k,
                                       .a_column = 1,
                                       .b_row = n,
                                       .b_column = 1,
                                       .c_row = n,
                                       .c_column = 1},
                              .count = {(size_t)(m * k), (size_t)(k * n), (size_t)(m * n)}};
    return product;
}

static void test_shapes(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 17, 5},  {13, 1, 7},    {5, 9, 0},    {0, 4, 3},
                                        {3, 0, 4}, {16, 16, 1}, {97, 101, 33}, {64, 300, 7}, {200, 3, 513}};
    for (size_t d = 0; d < DTYPES; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct product product = row_major(dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2]);
            product_fill(&product);
            product_run(&product, 2);
            check_product(&product);
            product_finish(&product);
        }
}

/* Transposed, reversed, spread out and broadcast operands. */
static void check_strides(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    struct product product = row_major(dtype, m, n, k);
    weft_gemm_call *call = &product.call;
    call->a_row = 1;
    call->a_column = m;
    call->b_row = -(2 * n);
    call->b_column = 2;
    call->b_offset = (k - 1) * 2 * n;
    call->c_row = -3;
    call->c_column = 3 * m;
    call->c_offset = 3 * (m - 1);
    product.count[1] *= 2;
    product.count[2] *= 3;
    product_fill(&product);
    product_run(&product, 3);
    check_product(&product);
    call->a_row = 0;
    call->b_column = 0;
    product_run(&product, 2);
    check_product(&product);
    call->a_column = call->b_row = 0;
    product_run(&product, 2);
    check_product(&product);
    product_finish(&product);
}

static void test_strides(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        check_strides(dtypes[d], 37, 29, 41);
        check_strides(dtypes[d], 38, 30, 41);
        check_strides(dtypes[d], 3, 5, 7);
    }
}

static void check_batches(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    const int64_t batch[] = {3, 4}, a[] = {4 * m * k, m * k}, b[] = {0, k * n}, c[] = {m * n, 3 * m * n};
    struct product product = row_major(dtype, m, n, k);
    product.call.batch_rank = 2;
    product.call.batch = batch;
    product.call.a_batch = a;
    product.call.b_batch = b;
    product.call.c_batch = c;
    product.count[0] *= 12;
    product.count[1] *= 4;
    product.count[2] *= 12;
    product_fill(&product);
    product_run(&product, 2);
    check_product(&product);
    product_finish(&product);
}

/* Many small products have the bits that each has alone. */
static void check_many(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    enum { OUTER = 2, INNER = 20, COUNT = OUTER * INNER };
    const int64_t batch[] = {OUTER, INNER}, a[] = {m * k, OUTER * m * k}, b[] = {INNER * k * n, k * n};
    const int64_t c[] = {INNER * (m * n + 3), m * n + 3};
    struct product product = row_major(dtype, m, n, k);
    weft_gemm_call *call = &product.call;
    call->batch_rank = 2;
    call->batch = batch;
    call->a_batch = a;
    call->b_batch = b;
    call->c_batch = c;
    for (size_t i = 0; i < 3; i++) product.count[i] *= COUNT;
    product.count[2] += 3 * COUNT;
    product_fill(&product);
    product_run(&product, 2);
    check_product(&product);
    size_t bytes = product.count[2] * weft_dtype_size(dtype);
    void *together = malloc(bytes);
    assert_non_null(together);
    memcpy(together, product.data[2], bytes);
    for (int64_t t = 0; t < COUNT; t++) {
        struct product alone = product;
        alone.call.batch_rank = 0;
        alone.call.a_offset = batch_offset(call, a, t);
        alone.call.b_offset = batch_offset(call, b, t);
        alone.call.c_offset = batch_offset(call, c, t);
        product_run(&alone, 1);
    }
    assert_memory_equal(together, product.data[2], bytes);
    free(together);
    product_finish(&product);
}

static void test_batches(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        check_batches(dtypes[d], 19, 35, 23);
        check_batches(dtypes[d], 20, 34, 23);
        check_batches(dtypes[d], 3, 5, 4);
        check_many(dtypes[d], 4, 4, 4);
        check_many(dtypes[d], 16, 17, 5);
        check_many(dtypes[d], 25, 3, 16);
    }
}

/* Products that share A or B, which is packed once for them, with a C by rows or by columns. */
static void check_shared(weft_dtype dtype, int64_t m, int64_t n, int64_t k, bool shares_a, bool by_columns)
{
    const int64_t batch[] = {3}, a[] = {shares_a ? 0 : m * k}, b[] = {shares_a ? k * n : 0}, c[] = {m * n + 5};
    struct product product = row_major(dtype, m, n, k);
    product.call.batch_rank = 1;
    product.call.batch = batch;
    product.call.a_batch = a;
    product.call.b_batch = b;
    product.call.c_batch = c;
    if (by_columns) {
        product.call.c_row = 1;
        product.call.c_column = m;
    }
    for (size_t i = 0; i < 3; i++) product.count[i] *= 3;
    product.count[2] += 10;
    product_fill(&product);
    product_run(&product, 1);
    check_product(&product);
    product_finish(&product);
}

static void test_shared_operands(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++)
        for (int way = 0; way < 4; way++) {
            check_shared(dtypes[d], 200, 196, 40, way & 1, way & 2);
            check_shared(dtypes[d], 150, 130, 270, way & 1, way & 2);
        }
}

static void check_bits(const weft_machine *machine, struct product product)
{
    static const size_t threads[] = {2, 3, 7};
    product_fill(&product);
    size_t size = product.count[2] * weft_dtype_size(product.call.dtype);
    void *first = malloc(size);
    assert_non_null(first);
    product_run(&product, 1);
    memcpy(first, product.data[2], size);
    for (size_t i = 0; i < 3; i++) {
        memset(product.data[2], 0xff, size);
        product_run_on(&product, machine, threads[i]);
        assert_memory_equal(first, product.data[2], size);
    }
    free(first);
    product_finish(&product);
}

static void test_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{95, 97, 94},   {150, 333, 700}, {257, 64, 1031}, {2000, 2, 300},
                                        {1, 1500, 300}, {600, 700, 33},  {3, 50000, 40}};
    for (size_t i = 0; i < DTYPES * sizeof shapes / sizeof *shapes; i += sparsity)
        check_bits(weft_machine_reference(),
                   row_major(dtypes[i % DTYPES], shapes[i / DTYPES][0], shapes[i / DTYPES][1], shapes[i / DTYPES][2]));
}

static struct product with_columns(struct product product, bool a, bool b)
{
    if (a) product.call.a_row = 1, product.call.a_column = product.call.m;
    if (b) product.call.b_row = 1, product.call.b_column = product.call.k;
    return product;
}

/* Threads take blocks that differ by a tile, of which the smaller ones alone fit the cache and pack more: of either
 * operand, whichever the kernel calls the left one, and however they lie. */
static void check_blocks(weft_dtype dtype, int64_t width, int64_t other)
{
    const weft_machine *machine = weft_machine_reference();
    int64_t terms = engine_of(dtype)->kernel->terms;
    int64_t fit = (int64_t)(machine->cache_bytes[1] / 4 / weft_dtype_size(dtype)) / terms;
    int64_t apart = (2 * (fit / width) + 1) * width, together = fit / other * other;
    for (int layout = 0; layout<4; layout += sparsity> 1 ? 3 : 1) {
        check_bits(machine, with_columns(row_major(dtype, apart, together, 2 * terms), layout & 1, layout & 2));
        check_bits(machine, with_columns(row_major(dtype, together, apart, 2 * terms), layout & 1, layout & 2));
    }
}

static void test_blocks_about_the_cache(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        const weft_gemm_kernel *kernel = engine_of(dtypes[d])->kernel;
        check_blocks(dtypes[d], kernel->rows, kernel->columns);
        check_blocks(dtypes[d], kernel->columns, kernel->rows);
    }
}

/* With caches so small that few rows are beyond them, and threads that cost nothing. */
static void test_same_bits_for_any_cache(void **state)
{
    (void)state;
    weft_machine machine = *weft_machine_reference();
    machine.fork_join_seconds = 0;
    for (size_t i = 0; i < 600; i += sparsity) {
        machine.cache_bytes[1] = (size_t)4096 << random_below(6);
        int64_t m = 1 + random_below(200), n = 1 + random_below(200), k = 1 + random_below(60);
        check_bits(&machine, with_columns(row_major(dtypes[i % DTYPES], m, n, k), random_below(2), random_below(2)));
    }
}

/* With C beyond all caches, several blocks of terms of one operand are packed at once, or read in place, and of the
 * last ones what is left. */
static void test_same_bits_for_any_blocks_of_terms(void **state)
{
    (void)state;
    weft_machine machine = *weft_machine_reference();
    machine.fork_join_seconds = 0;
    for (size_t i = 0; i < 32; i += sparsity) {
        machine.cache_bytes[1] = (size_t)8192 << random_below(2);
        int64_t m = 1 + random_below(700), n = 500 + random_below(100), k = 257 + random_below(700);
        bool is_tall = random_below(2);
        struct product product = row_major(dtypes[i % 4], is_tall ? n : m, is_tall ? m : n, k);
        check_bits(&machine, with_columns(product, random_below(2), random_below(2)));
    }
}

/* An operand of one tile, or of a few panels with few terms, beside a long one: tiles follow each other along that one,
 * in whole series and with a rest, in a C by rows or by columns. */
static void test_rows_of_tiles(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{300, 17, 300}, {257, 40, 50}, {201, 48, 30},  {500, 32, 7},
                                        {190, 100, 20}, {300, 70, 60}, {131, 113, 12}, {90, 5, 1031}};
    weft_machine machine = *weft_machine_reference();
    machine.fork_join_seconds = 0;
    for (size_t i = 0; i < DTYPES * sizeof shapes / sizeof *shapes; i += sparsity)
        for (int way = 0; way < 8; way++) {
            const int64_t *shape = shapes[i / DTYPES], m = shape[way & 1], n = shape[!(way & 1)], k = shape[2];
            struct product product = with_columns(row_major(dtypes[i % DTYPES], m, n, k), way & 2, way & 4);
            check_bits(&machine, product);
            if (way & 1) product.call.c_row = 1, product.call.c_column = m;
            product_fill(&product);
            product_run(&product, 1);
            check_product(&product);
            product_finish(&product);
        }
}

/* A few rows or columns beside a matrix that is in L2, beyond it, or in memory, of lines whose distance is a multiple
 * of 4 KB or not: what is asked for ahead of time differs, and how many are a tile. */
static void test_same_bits_beside_a_large_matrix(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 3, 4, 5, 9, 10, 14, 18};
    weft_machine machine = *weft_machine_reference();
    machine.fork_join_seconds = 0;
    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i += sparsity)
        for (int way = 0; way < 8; way++) {
            int64_t size = (int64_t)weft_dtype_size(dtypes[i % 4]), terms = 45 + random_below(3);
            int64_t few = rows[i / 4], many = (way & 4 ? 4096 : 2100) / size;
            bool is_b = way & 2;
            struct product product = row_major(dtypes[i % 4], is_b ? few : many, is_b ? many : few, terms);
            machine.cache_bytes[1] = way & 1 ? 4096 : 1 << 16;
            check_bits(&machine, with_columns(product, !is_b, false));
        }
}

/* Up to 12 rows or columns beside a matrix whose terms are adjacent, with C by rows or by columns: the bits are those
 * of packed operands. */
static void test_same_bits_beside_lines(void **state)
{
    (void)state;
    enum { MOST = 12, LINES = 37, TERMS = 12 * MOST };
    for (int64_t few = 1; few <= MOST; few++)
        for (int way = 0; way < 8; way++) {
            int64_t m = way & 1 ? few : LINES, n = way & 1 ? LINES : few, terms = TERMS + random_below(300);
            struct product product =
                with_columns(row_major(way & 4 ? WEFT_F64 : WEFT_F32, m, n, terms), false, way & 1);
            if (way & 2) product.call.c_row = 1, product.call.c_column = m;
            product_fill(&product);
            size_t size = product.count[2] * weft_dtype_size(product.call.dtype);
            void *packed = malloc(size);
            assert_non_null(packed);
            product.call.packed = true;
            product_run(&product, 1);
            memcpy(packed, product.data[2], size);
            memset(product.data[2], 0xff, size);
            product.call.packed = false;
            product_run(&product, 1);
            assert_memory_equal(packed, product.data[2], size);
            free(packed);
            product_finish(&product);
        }
}

/* ---- the borders of operands ---- */

enum { BORDERED = 1 << 19 };

/* Memory between two pages that may not be touched. */
static char *map_bordered(size_t page)
{
    char *memory = mmap(NULL, BORDERED + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + page, BORDERED, PROT_READ | PROT_WRITE), 0);
    return memory + page;
}

/* Bits of `form`: which matrices lie by columns, whether all are reversed. */
static struct product product_of_form(weft_dtype dtype, int64_t m, int64_t n, int64_t k, int form)
{
    struct product product = row_major(dtype, m, n, k);
    weft_gemm_call *call = &product.call;
    int64_t sign = form & 8 ? -1 : 1;
    call->a_row = sign * (form & 1 ? 1 : k);
    call->a_column = sign * (form & 1 ? m : 1);
    call->b_row = sign * (form & 2 ? 1 : n);
    call->b_column = sign * (form & 2 ? k : 1);
    call->c_row = sign * (form & 4 ? 1 : n);
    call->c_column = sign * (form & 4 ? m : 1);
    if (sign > 0) return product;
    call->a_offset = m * k - 1;
    call->b_offset = k * n - 1;
    call->c_offset = m * n - 1;
    return product;
}

/* The same once more on packed operands, bit for bit, over `before` or, where that is NULL, over ones. */
static void check_packed(struct product *product, const char *before, size_t threads)
{
    size_t size = product->count[2] * weft_dtype_size(product->call.dtype);
    char *expected = malloc(size);
    assert_non_null(expected);
    memcpy(expected, product->data[2], size);
    if (before != NULL) memcpy(product->data[2], before, size);
    else memset(product->data[2], 0xff, size);
    product->call.packed = true;
    product_run(product, threads);
    assert_memory_equal(expected, product->data[2], size);
    free(expected);
}

static void check_forms(char *const *memory, weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    for (int form = 0; form < 32; form++) {
        struct product product = product_of_form(dtype, m, n, k, form);
        for (size_t i = 0; i < 3; i++) {
            size_t bytes = product.count[i] * weft_dtype_size(dtype);
            product.data[i] = memory[i] + (form & 16 ? BORDERED - bytes : 0);
        }
        product_draw(&product);
        product_run(&product, 1);
        check_product(&product);
        check_packed(&product, NULL, 1);
    }
}

static void test_no_access_beyond_operands(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 5, 6, 8, 14, 23, 30};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory[3];
    for (size_t i = 0; i < 3; i++) memory[i] = map_bordered(page);
    for (size_t i = 0; i < SIZES * SIZES * SIZES; i += sparsity)
        for (size_t d = 0; d < DTYPES; d++)
            check_forms(memory, dtypes[d], sizes[i % SIZES], sizes[i / SIZES % SIZES], sizes[i / SIZES / SIZES]);
    /* Few rows or columns beside lines longer than 1 KB. */
    for (size_t d = 0; d < DTYPES; d++) {
        check_forms(memory, dtypes[d], 13, 261, 5);
        check_forms(memory, dtypes[d], 259, 7, 6);
        check_forms(memory, dtypes[d], 11, 21, 133);
    }
    for (size_t i = 0; i < 3; i++) munmap(memory[i] - page, BORDERED + 2 * page);
}

/* Bits of `form`: which matrices lie by columns; reversed rows, reversed columns; gaps between rows, between all. */
static struct product spread_product(weft_dtype dtype, int64_t m, int64_t n, int64_t k, int form)
{
    struct product product = product_of_form(dtype, m, n, k, form & 7);
    weft_gemm_call *call = &product.call;
    int64_t *strides[3][2] = {
        {&call->a_row, &call->a_column}, {&call->b_row, &call->b_column}, {&call->c_row, &call->c_column}};
    int64_t *offsets[3] = {&call->a_offset, &call->b_offset, &call->c_offset};
    const int64_t extents[3][2] = {{m, k}, {k, n}, {m, n}};
    for (int i = 0; i < 3; i++) {
        int64_t spread = form & 64 ? 3 : 1, long_one = *strides[i][0] == 1 ? 1 : 0;
        for (int s = 0; s < 2; s++) *strides[i][s] *= spread;
        if (form & 32) *strides[i][long_one] += 2 * spread;
        product.count[i] = 1;
        for (int s = 0; s < 2; s++) product.count[i] += (size_t)((extents[i][s] - 1) * *strides[i][s]);
        for (int s = 0; s < 2; s++) {
            if (!(form & (s == 0 ? 8 : 16))) continue;
            *offsets[i] += (extents[i][s] - 1) * *strides[i][s];
            *strides[i][s] *= -1;
        }
    }
    return product;
}

/* Whether all of C but its elements is what `before` holds. */
static bool gaps_are_kept(const struct product *product, const char *before, char *after)
{
    const weft_gemm_call *call = &product->call;
    size_t size = weft_dtype_size(call->dtype);
    for (int64_t i = 0; i < call->m; i++)
        for (int64_t j = 0; j < call->n; j++) {
            size_t at = (size_t)(call->c_offset + i * call->c_row + j * call->c_column) * size;
            memcpy(after + at, before + at, size);
        }
    return memcmp(before, after, product->count[2] * size) == 0;
}

static void check_spread(char *const *memory, char *before, weft_dtype dtype, int64_t m, int64_t n, int64_t k, int form)
{
    struct product product = spread_product(dtype, m, n, k, form);
    for (size_t i = 0; i < 3; i++) {
        size_t bytes = product.count[i] * weft_dtype_size(dtype);
        assert_true(bytes <= BORDERED);
        product.data[i] = memory[i] + ((form + (int)i) % 2 != 0 ? BORDERED - bytes : 0);
    }
    product_draw(&product);
    memcpy(before, product.data[2], product.count[2] * weft_dtype_size(dtype));
    product_run(&product, (size_t)(1 + form % 3));
    check_product(&product);
    check_packed(&product, before, (size_t)(1 + form % 3));
    assert_true(gaps_are_kept(&product, before, product.data[2]));
}

/* Every number of rows, columns and terms up to 70 meets, with some of the others, some of the ways to lie. */
static void test_writes_only_elements(void **state)
{
    (void)state;
    enum { MOST = 70, FORMS = 128 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory[3], *before = malloc(BORDERED);
    assert_non_null(before);
    for (size_t i = 0; i < 3; i++) memory[i] = map_bordered(page);
    for (size_t i = 0; i < 7 * FORMS; i += sparsity) {
        int64_t m = 1 + (int64_t)i * 11 % MOST, n = 1 + (int64_t)i * 29 % MOST, k = 1 + (int64_t)i * 17 % MOST;
        for (size_t d = 0; d < DTYPES; d++) check_spread(memory, before, dtypes[d], m, n, k, (int)(i % FORMS));
    }
    for (size_t d = 0; d < DTYPES; d++)
        for (int form = 0; form < FORMS; form += 5) check_spread(memory, before, dtypes[d], 7, 9, 530, form);
    for (size_t i = 0; i < 3; i++) munmap(memory[i] - page, BORDERED + 2 * page);
    free(before);
}

/* ---- without memory ---- */

static weft_status *run_with(const weft_allocator *allocator, void *context)
{
    const struct product *product = context;
    weft_pool *pool;
    weft_block_store *store;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 1, &pool));
    weft_status *status = weft_block_store_create(allocator, 0, &store);
    if (status == NULL) {
        status = weft_gemm_run(engine_of(product->call.dtype), pool, store, &product->call, product->data[0],
                               product->data[1], product->data[2]);
        weft_block_store_release(store);
    }
    weft_pool_destroy(pool);
    return status;
}

static void check_requests(weft_dtype dtype, int64_t size, size_t requests)
{
    struct product product = row_major(dtype, size, size, size);
    product.call.a_row = -1;
    product.call.a_column = -size;
    product.call.a_offset = size * size - 1;
    product_fill(&product);
    assert_int_equal(weft_test_fail_each(run_with, &product), requests);
    check_product(&product);
    product_finish(&product);
}

/* Small products need nothing but the store, others, whose A is packed since it lies backwards, say that they get no
 * memory. */
static void test_out_of_memory(void **state)
{
    (void)state;
    check_requests(WEFT_F32, 10, 1);
    for (size_t d = 0; d < DTYPES; d++) check_requests(dtypes[d], 200, 3);
}

/* ---- the same sums in the same order ---- */

/* Copies element (i, j) of operand `which` of one product to where another has it. */
static void copy_elements(const struct product *from, struct product *to, int which)
{
    const weft_gemm_call *f = &from->call, *t = &to->call;
    size_t size = weft_dtype_size(f->dtype);
    int64_t rows = which == 1 ? f->k : f->m, columns = which == 0 ? f->k : f->n;
    int64_t from_row[] = {f->a_row, f->b_row, f->c_row}, to_row[] = {t->a_row, t->b_row, t->c_row};
    int64_t from_column[] = {f->a_column, f->b_column, f->c_column};
    int64_t to_column[] = {t->a_column, t->b_column, t->c_column};
    int64_t from_offset[] = {f->a_offset, f->b_offset, f->c_offset};
    int64_t to_offset[] = {t->a_offset, t->b_offset, t->c_offset};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t source = from_offset[which] + i * from_row[which] + j * from_column[which];
            int64_t target = to_offset[which] + i * to_row[which] + j * to_column[which];
            memcpy((char *)to->data[which] + target * (int64_t)size,
                   (const char *)from->data[which] + source * (int64_t)size, size);
        }
}

static void check_layouts(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    struct product first = row_major(dtype, m, n, k), back = row_major(dtype, m, n, k);
    product_fill(&first);
    product_fill(&back);
    product_run(&first, 1);
    for (int form = 1; form < 16; form++) {
        struct product other = product_of_form(dtype, m, n, k, form);
        product_fill(&other);
        copy_elements(&first, &other, 0);
        copy_elements(&first, &other, 1);
        product_run(&other, 1);
        copy_elements(&other, &back, 2);
        assert_memory_equal(back.data[2], first.data[2], first.count[2] * weft_dtype_size(dtype));
        product_finish(&other);
    }
    product_finish(&back);
    product_finish(&first);
}

/* The first rows and columns alone. */
static void check_part(weft_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    size_t size = weft_dtype_size(dtype);
    struct product whole = row_major(dtype, m, n, k), part;
    product_fill(&whole);
    product_run(&whole, 1);
    part = whole;
    part.call.m = (m + 1) / 2;
    part.call.n = (n + 2) / 3;
    part.data[2] = malloc(whole.count[2] * size);
    assert_non_null(part.data[2]);
    product_run(&part, 1);
    for (int64_t i = 0; i < part.call.m; i++) {
        size_t row = (size_t)(i * n) * size;
        assert_memory_equal((char *)part.data[2] + row, (char *)whole.data[2] + row, (size_t)part.call.n * size);
    }
    free(part.data[2]);
    product_finish(&whole);
}

static void test_same_bits_for_any_layout_and_part(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 9},     {1, 40, 50},     {40, 1, 60},    {5, 7, 100},     {12, 30, 200},
                                        {33, 47, 65},  {64, 64, 64},    {50, 60, 256},  {30, 30, 257},   {20, 20, 900},
                                        {3, 200, 130}, {90, 120, 100},  {2, 2, 256},    {14, 22, 111},   {18, 34, 77},
                                        {10, 6, 255},  {4, 130, 31},    {63, 95, 61},   {2, 1501, 33},   {1501, 3, 33},
                                        {1, 77, 1030}, {77, 1, 513},    {2, 130, 700},  {131, 4, 515},   {2, 2100, 270},
                                        {70, 300, 90}, {200, 128, 300}, {300, 70, 290}, {130, 260, 33},  {100, 600, 20},
                                        {7, 301, 90},  {280, 16, 33},   {11, 530, 270}, {6, 61, 2600},   {45, 3, 4100},
                                        {610, 50, 40}, {20, 1540, 36},  {1540, 20, 36}, {40, 130, 1024}, {27, 96, 40},
                                        {32, 80, 37},  {28, 48, 30},    {27, 624, 21},  {70, 64, 270}};
    for (size_t i = 0; i < DTYPES * sizeof shapes / sizeof *shapes; i += sparsity) {
        const int64_t *shape = shapes[i / DTYPES];
        check_layouts(dtypes[i % DTYPES], shape[0], shape[1], shape[2]);
        check_part(dtypes[i % DTYPES], shape[0], shape[1], shape[2]);
    }
}

/* A by A transposed: B in the memory of A, and as a copy of it. C row by row, or column by column; with `apart`
 * elements from one to the next. */
static void check_symmetric(weft_dtype dtype, int64_t size, int64_t terms, bool across, int64_t apart, int64_t batch,
                            size_t threads)
{
    struct product copied = row_major(dtype, size, size, terms);
    weft_gemm_call *call = &copied.call;
    call->a_row = across ? 1 : terms;
    call->a_column = across ? size : 1;
    call->b_row = call->a_column;
    call->b_column = call->a_row;
    call->c_row = apart * (across ? 1 : size);
    call->c_column = apart * (across ? size : 1);
    const int64_t extents[] = {batch}, a[] = {size * terms}, c[] = {apart * size * size};
    call->batch_rank = 1;
    call->batch = extents;
    call->a_batch = call->b_batch = a;
    call->c_batch = c;
    for (size_t i = 0; i < 3; i++) copied.count[i] *= (size_t)(batch * (i == 2 ? apart : 1));
    product_fill(&copied);
    memcpy(copied.data[1], copied.data[0], copied.count[0] * weft_dtype_size(dtype));
    struct product same = copied;
    same.data[1] = same.data[0];
    same.data[2] = malloc(same.count[2] * weft_dtype_size(dtype));
    assert_non_null(same.data[2]);
    memcpy(same.data[2], copied.data[2], same.count[2] * weft_dtype_size(dtype));
    product_run(&copied, threads);
    product_run(&same, threads);
    assert_memory_equal(copied.data[2], same.data[2], same.count[2] * weft_dtype_size(dtype));
    free(same.data[2]);
    product_finish(&copied);
}

static void test_same_bits_for_symmetric_products(void **state)
{
    (void)state;
    static const int64_t sizes[] = {31, 32, 33, 48, 64, 97, 130, 257}, terms[] = {63, 64, 257, 700};
    enum { SIZES = sizeof sizes / sizeof *sizes, TERMS = sizeof terms / sizeof *terms };
    for (size_t i = 0; i < DTYPES * SIZES * TERMS; i += sparsity)
        check_symmetric(dtypes[i % DTYPES], sizes[i / DTYPES % SIZES], terms[i / DTYPES / SIZES], i % 5 > 2,
                        i % 7 > 4 ? 2 : 1, 1 + (int64_t)(i % 3), 1 + i % 4);
}

/* Odd and even rows and columns, whichever of them the library puts into vectors, against the packed way, which the
 * reversed forms take. */
static void test_same_bits_for_small_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 12, 17, 25, 31, 33}, depths[] = {1, 2, 27, 64};
    enum { SIZES = sizeof sizes / sizeof *sizes, DEPTHS = sizeof depths / sizeof *depths };
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < SIZES * SIZES * DEPTHS; i += sparsity)
            check_layouts(dtypes[d], sizes[i % SIZES], sizes[i / SIZES % SIZES], depths[i / SIZES / SIZES]);
}

/* ---- rows, columns and terms over several axes ---- */

enum kind { ROWS, COLUMNS, TERMS, BATCH, KINDS };
enum { AXES = 5 };

/* A product whose further axes are of any kind, and lie in any order in the operands that have them. */
struct joined {
    struct product product;
    enum kind kinds[AXES];
    int64_t extents[AXES], strides[3][AXES]; /* those of the call */
    int64_t counts[KINDS];                   /* extents of all axes of a kind */
};

static bool has_axis(int operand, enum kind kind)
{
    static const enum kind missing[] = {COLUMNS, ROWS, TERMS};
    return kind == BATCH || kind != missing[operand];
}

static void count_axes(struct joined *j)
{
    weft_gemm_call *call = &j->product.call;
    j->counts[ROWS] = call->m;
    j->counts[COLUMNS] = call->n;
    j->counts[TERMS] = call->k;
    j->counts[BATCH] = 1;
    for (size_t i = 0; i < AXES; i++) j->counts[j->kinds[i]] *= j->extents[i];
    call->batch_rank = AXES;
    call->batch = j->extents;
    call->a_batch = j->strides[0];
    call->b_batch = j->strides[1];
    call->c_batch = j->strides[2];
}

static void draw_extents(struct joined *j, weft_dtype dtype)
{
    j->product.call =
        (weft_gemm_call){.dtype = dtype, .m = 1 + random_below(30), .n = 1 + random_below(40), .k = random_below(20)};
    for (size_t i = 0; i < AXES; i++) {
        j->kinds[i] = (enum kind)(random_below(KINDS));
        j->extents[i] = random_below(40) == 0 ? 0 : random_below(3) == 0 ? 1 : 1 + random_below(7);
    }
    count_axes(j);
}

/* Strides of the axes of an operand in a random order, often the one of a copy, with a gap between elements or none,
 * some of them reversed, and of A and B some 0. Without a gap after axis `last`, if that is not negative. */
static void draw_strides(struct joined *j, int operand, int last)
{
    weft_gemm_call *call = &j->product.call;
    int64_t *inner[3][2] = {
        {&call->a_row, &call->a_column}, {&call->b_row, &call->b_column}, {&call->c_row, &call->c_column}};
    int64_t *offsets[] = {&call->a_offset, &call->b_offset, &call->c_offset};
    int64_t rows = operand == 1 ? call->k : call->m, columns = operand == 0 ? call->k : call->n;
    int64_t *strides[AXES + 2], extents[AXES + 2], stride = random_below(4) == 0 && last < 0 ? 2 : 1;
    int order[AXES + 2], swaps = random_below(2) * random_below(20);
    for (int i = 0; i < AXES + 2; i++) {
        bool outer = i < AXES;
        strides[i] = outer ? &j->strides[operand][i] : inner[operand][i - AXES];
        extents[i] = outer ? j->extents[i] : i == AXES ? rows : columns;
        order[i] = i;
        if (outer) *strides[i] = 0;
    }
    for (; swaps > 0; swaps--) {
        int a = random_below(AXES + 2), b = random_below(AXES + 2), kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
    for (int i = 0; i < AXES + 1 && last >= 0; i++) {
        if (order[i] != last) continue;
        order[i] = order[AXES + 1];
        order[AXES + 1] = last;
    }
    for (int i = AXES + 2; i-- > 0;) {
        int axis = order[i];
        if (axis < AXES && !has_axis(operand, j->kinds[axis])) continue;
        *strides[axis] = operand < 2 && random_below(20) == 0 ? 0 : stride;
        stride *= extents[axis] > 0 ? extents[axis] : 1;
        if (random_below(6) != 0 || extents[axis] == 0) continue;
        *offsets[operand] += (extents[axis] - 1) * *strides[axis];
        *strides[axis] *= -1;
    }
    j->product.count[operand] = (size_t)stride;
}

/* Elements from number 0 of a kind to `number`, in an operand. */
static int64_t place_of(const struct joined *j, int operand, enum kind kind, int64_t number)
{
    const weft_gemm_call *call = &j->product.call;
    const int64_t inner[3][KINDS] = {
        {call->a_row, 0, call->a_column, 0}, {0, call->b_column, call->b_row, 0}, {call->c_row, call->c_column, 0, 0}};
    const int64_t extents[KINDS] = {call->m, call->n, call->k, 1};
    int64_t offset = number % extents[kind] * inner[operand][kind];
    number /= extents[kind];
    for (size_t i = AXES; i-- > 0;) {
        if (j->kinds[i] != kind) continue;
        offset += number % j->extents[i] * j->strides[operand][i];
        number /= j->extents[i];
    }
    return offset;
}

/* Copies a matrix of the batch to a row-major one, or C from it. */
static void copy_matrix(struct joined *j, int operand, int64_t batch, struct product *plain)
{
    static const enum kind sides[3][2] = {{ROWS, TERMS}, {TERMS, COLUMNS}, {ROWS, COLUMNS}};
    const weft_gemm_call *call = &j->product.call;
    const int64_t offsets[] = {call->a_offset, call->b_offset, call->c_offset};
    size_t size = weft_dtype_size(plain->call.dtype);
    int64_t rows = j->counts[sides[operand][0]], columns = j->counts[sides[operand][1]];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int64_t place = offsets[operand] + place_of(j, operand, BATCH, batch) +
                            place_of(j, operand, sides[operand][0], r) + place_of(j, operand, sides[operand][1], c);
            char *there = (char *)j->product.data[operand] + place * (int64_t)size;
            char *here = (char *)plain->data[operand] + (r * columns + c) * (int64_t)size;
            if (operand < 2) memcpy(here, there, size);
            else assert_memory_equal(here, there, size);
            if (operand == 2) memset(there, 0xa5, size);
        }
}

/* Against row-major products of the copied matrices, bit by bit; nothing between the elements of C is written. */
static void check_joined(struct joined *j, const weft_machine *machine, char *const *memory)
{
    struct product plain = row_major(j->product.call.dtype, j->counts[ROWS], j->counts[COLUMNS], j->counts[TERMS]);
    size_t size = weft_dtype_size(plain.call.dtype), bytes = j->product.count[2] * size;
    for (int i = 0; i < 3; i++) {
        plain.count[i]++;
        j->product.data[i] = memory[i] + (random_below(2) != 0 ? BORDERED - j->product.count[i] * size : 0);
    }
    product_fill(&plain);
    product_draw(&j->product);
    memset(j->product.data[2], 0xa5, bytes);
    product_run_on(&j->product, machine, (size_t)(1 + random_below(3)));
    for (int64_t b = 0; b < j->counts[BATCH]; b++) {
        copy_matrix(j, 0, b, &plain);
        copy_matrix(j, 1, b, &plain);
        product_run(&plain, 1);
        copy_matrix(j, 2, b, &plain);
    }
    for (size_t i = 0; i < bytes; i++) assert_int_equal(((unsigned char *)j->product.data[2])[i], 0xa5);
    product_finish(&plain);
}

static void test_joined_axes(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory[3];
    for (size_t i = 0; i < 3; i++) memory[i] = map_bordered(page);
    for (size_t i = 0; i < 1500; i += sparsity) {
        struct joined j = {.counts = {0}};
        weft_machine machine = *weft_machine_reference();
        machine.fork_join_seconds = 0;
        machine.cache_bytes[1] = (size_t)4096 << random_below(8);
        draw_extents(&j, dtypes[i % DTYPES]);
        for (int operand = 0; operand < 3; operand++) draw_strides(&j, operand, -1);
        size_t most = BORDERED / weft_dtype_size(dtypes[i % DTYPES]);
        if (j.product.count[0] > most || j.product.count[1] > most || j.product.count[2] > most) continue;
        check_joined(&j, &machine, memory);
    }
    for (size_t i = 0; i < 3; i++) munmap(memory[i] - page, BORDERED + 2 * page);
}

/* ---- results across an operand ---- */

/* Products of images, whose windows lie side by side in C as far as they are of one image. */
static int64_t batch_of_images(int64_t windows, int64_t terms)
{
    enum { IMAGES = 8, CHANNELS = 128 };
    int64_t image[] = {IMAGES}, a_batch[] = {0}, b_batch[] = {windows * terms}, c_batch[] = {CHANNELS * windows};
    weft_gemm_call call = {.dtype = WEFT_F32,
                           .m = CHANNELS,
                           .n = windows,
                           .k = terms,
                           .a_row = terms,
                           .a_column = 1,
                           .b_row = windows + 1,
                           .b_column = 1,
                           .c_row = windows,
                           .c_column = 1,
                           .batch_rank = 1,
                           .batch = image,
                           .a_batch = a_batch,
                           .b_batch = b_batch,
                           .c_batch = c_batch};
    weft_gemm_matrices matrices;
    weft_gemm_matrices_find(&matrices, &call, false);
    return matrices.batch;
}

/* Images are joined where one would leave lanes of its last vectors empty, beside terms that pay for seams. */
static void test_joined_images(void **state)
{
    (void)state;
    assert_int_equal(batch_of_images(100, 1152), 1);
    assert_int_equal(batch_of_images(196, 1152), 1);
    assert_int_equal(batch_of_images(225, 576), 1);
    assert_int_equal(batch_of_images(196, 64), 8);
    assert_int_equal(batch_of_images(192, 1152), 8);
    assert_int_equal(batch_of_images(289, 1152), 8);
}

/* Axis 0 adds rows or columns; of all of these C has one last, and the operand another one. Often all rows of C are
 * whole lines of the cache, which begin anywhere in the first one. */
static void draw_turned(struct joined *j, weft_dtype dtype)
{
    enum { LINE = 16 };
    bool in_lines = random_below(2) != 0;
    int side = random_below(2), last = in_lines ? 0 : random_below(2), axes[] = {0, AXES + side};
    int64_t extents[] = {1 + random_below(12), 1 + random_below(12)};
    extents[side] = 8 + random_below(50);
    j->product.call = (weft_gemm_call){.dtype = dtype, .m = extents[0], .n = extents[1], .k = random_below(20)};
    for (size_t i = 0; i < AXES; i++) {
        j->kinds[i] = i == 0 ? (side == 0 ? ROWS : COLUMNS) : (enum kind)random_below(KINDS);
        j->extents[i] = i == 0 ? 8 + random_below(50) : 1 + random_below(3);
    }
    if (in_lines) j->extents[0] = LINE * (1 + random_below(3));
    count_axes(j);
    for (int operand = 0; operand < 3; operand++)
        draw_strides(j, operand, operand == 2 ? axes[last] : operand == side ? axes[1 - last] : -1);
    if (!in_lines) return;
    int before = random_below(LINE);
    j->product.call.c_offset += before;
    j->product.count[2] += (size_t)before;
}

/* Of caches of all sizes, so that some results are written past them. */
static void test_turned_axes(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), turned = 0, past = 0, joined[] = {0, 0, 0, 0};
    char *memory[3];
    for (size_t i = 0; i < 3; i++) memory[i] = map_bordered(page);
    for (size_t i = 0; i < 1000; i += sparsity) {
        struct joined j = {.counts = {0}};
        weft_machine machine = *weft_machine_reference();
        machine.fork_join_seconds = 0;
        draw_turned(&j, i % 2 == 0 ? WEFT_F32 : WEFT_F64);
        size_t bytes = j.product.count[2] * weft_dtype_size(j.product.call.dtype),
               sizes[] = {0, bytes / 40, (size_t)4096 << random_below(8)};
        machine.cache_bytes[1] = sizes[random_below(3)];
        size_t most = BORDERED / weft_dtype_size(j.product.call.dtype);
        if (j.product.count[0] > most || j.product.count[1] > most || j.product.count[2] > most) continue;
        weft_gemm_turn turn;
        weft_gemm_turn_find(&turn, &j.product.call, machine.cache_bytes[1]);
        if (turn.rank > 0) weft_gemm_turn_align(&turn, memory[2]);
        turned += turn.rank > 0;
        past += turn.rank > 0 && turn.past;
        joined[turn.rank == 0 || turn.lead == 0 ? 0 : turn.next == turn.rank ? 1 : turn.next == turn.own ? 2 : 3]++;
        check_joined(&j, &machine, memory);
    }
    assert_true(sparsity > 1 || (turned > 100 && past > 10)); /* of all samples */
    for (size_t i = 1; i < 4; i++) assert_true(sparsity > 1 || joined[i] > 5);
    for (size_t i = 0; i < 3; i++) munmap(memory[i] - page, BORDERED + 2 * page);
}

/* A part of one line, whose pieces may pack less: a run takes as much as is promised, wherever C lies. */
static void test_memory_of_turned_lines(void **state)
{
    (void)state;
    enum { OWN = 32, OTHER = 5, LINE = 16, TERMS_ = 300 };
    static const int64_t batch[] = {LINE}, a[] = {OWN}, b[] = {0}, c[] = {1};
    weft_machine machine = *weft_machine_reference();
    machine.cache_bytes[1] = 0;
    for (int64_t offset = 0; offset < LINE; offset++) {
        struct product product = row_major(WEFT_F32, OWN, OTHER, TERMS_);
        weft_gemm_call *call = &product.call;
        call->a_row = 1;
        call->a_column = OWN * LINE;
        call->c_row = OTHER * LINE;
        call->c_column = LINE;
        call->c_offset = offset;
        call->batch_rank = 1;
        call->batch = batch;
        call->a_batch = a;
        call->b_batch = b;
        call->c_batch = c;
        product.count[0] *= LINE;
        product.count[2] = product.count[2] * LINE + LINE;
        product_fill(&product);
        product_run_on(&product, &machine, 1);
        check_product(&product);
        product_finish(&product);
    }
}

/* Rows of A over two axes that are both adjacent in it, as those of windows are; C has a third one last. */
static void test_turned_windows(void **state)
{
    (void)state;
    enum { EACH = 12, TERMS_ = 5, LINE = 2 * EACH, PLANE = EACH * LINE };
    static const int64_t batch[] = {EACH, EACH}, b[] = {0, 0};
    for (int reversed = 0; reversed < 2; reversed++)
        for (int outer = 0; outer < 2; outer++) {
            const int64_t a[] = {reversed ? -1 : 1, LINE}, c[] = {(outer ? EACH : 1) * EACH * 7, 1};
            struct product product = row_major(WEFT_F32, EACH, 7, TERMS_);
            weft_gemm_call *call = &product.call;
            call->a_row = 1;
            call->a_column = PLANE;
            call->a_offset = reversed ? EACH - 1 : 0;
            call->c_row = (outer ? 1 : EACH) * EACH * 7;
            call->c_column = EACH;
            call->batch_rank = 2;
            call->batch = batch;
            call->a_batch = a;
            call->b_batch = b;
            call->c_batch = c;
            product.count[0] = TERMS_ * PLANE;
            product.count[2] = EACH * EACH * EACH * 7;
            weft_gemm_turn turn;
            weft_gemm_turn_find(&turn, call, weft_machine_reference()->cache_bytes[1]);
            assert_true(turn.rank > 0);
            product_fill(&product);
            product_run(&product, 2);
            check_product(&product);
            product_finish(&product);
        }
}

/* ---- runs ---- */

/* Where number `i` of a row is, in bytes after its term: in runs of `each`, which go backwards. */
static ptrdiff_t run_place(int64_t i, int64_t each, int64_t stride, int64_t number)
{
    enum { APART = 400 };
    return -(i / each) * APART + i % each * stride * number;
}

/* Of numbers the first of which end where memory does, into the middle of rows. */
static void check_runs(weft_gemm_runs_function *copy, const char *memory, int64_t count, int64_t each, int64_t stride,
                       size_t size)
{
    enum { PLACES = 3, PITCH = 256, FIRST = 8, MOST = 120 };
    const int64_t number = (int64_t)size, bytes = count * number, first = each < count ? each : count;
    const char *from = memory + BORDERED - ((first - 1) * stride + 1) * number;
    const ptrdiff_t offsets[PLACES] = {-number, 0, -3 * number};
    weft_gemm_one_run runs[MOST];
    int64_t run_count = 0;
    for (int64_t i = 0; i < count; i += each)
        runs[run_count++] =
            (weft_gemm_one_run){run_place(i, each, stride, number), count - i < each ? count - i : each};
    char out[PLACES * PITCH];
    memset(out, 0x5a, sizeof out);
    copy(&(weft_gemm_runs){from, offsets, PLACES, runs, run_count, stride, size, out + FIRST, PITCH});
    for (int64_t t = 0; t < PLACES; t++)
        for (int64_t i = -FIRST; i < PITCH - FIRST; i++) {
            bool is_number = i >= 0 && i < bytes;
            char expected =
                is_number ? from[offsets[t] + run_place(i / number, each, stride, number) + i % number] : 0x5a;
            assert_int_equal(out[t * PITCH + FIRST + i], expected);
        }
}

static void test_runs(void **state)
{
    (void)state;
    enum { MOST = 240 };
    weft_gemm_runs_function *copy = weft_gemm_engine_find(weft_isa_level(), WEFT_F32)->kernel->runs;
    if (copy == NULL) return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = map_bordered(page);
    for (size_t i = 0; i < BORDERED; i++) memory[i] = (char)(i * 7 % 127);
    for (size_t size = 2; size <= 16; size *= 2)
        for (int64_t count = 1; count * (int64_t)size <= MOST; count++)
            for (int64_t stride = 1; stride <= (size == sizeof(float) ? 2 : 1); stride++)
                for (int64_t each = 1; each <= count; each += 3) check_runs(copy, memory, count, each, stride, size);
    munmap(memory - page, BORDERED + 2 * page);
}

/* ---- panels packed on the way ---- */

enum { SOURCE_TERMS = 9, SOURCE_TILE = WEFT_GEMM_TILE * sizeof(double) };

/* Registers with a seam after `before` numbers, whose last number is the last one of `memory`; out_panel is what a tile
 * has to write. */
static weft_gemm_source source_of(const char *memory, const ptrdiff_t *offsets, int64_t lanes, int64_t vectors,
                                  int64_t before, size_t size, char *out_panel)
{
    enum { APART = 700 };
    weft_gemm_source source = {.from = memory + BORDERED - (size_t)lanes * size, .offsets = offsets};
    int64_t bytes = before * (int64_t)size, whole = lanes * (int64_t)size;
    for (int64_t v = 0; v < vectors; v++) {
        source.registers[v].place = before == lanes ? -v * APART : -(v + 1) * APART;
        source.registers[v].beyond = -v * APART;
        source.registers[v].before = before;
        for (int64_t t = 0; t < SOURCE_TERMS; t++) {
            const char *term = source.from + offsets[t];
            char *to = out_panel + (t * vectors + v) * whole;
            memcpy(to, term + source.registers[v].place, (size_t)bytes);
            memcpy(to + bytes, term + source.registers[v].beyond + bytes, (size_t)(whole - bytes));
        }
    }
    return source;
}

/* Tiles beside a panel that they pack are those beside one that is packed. */
static void check_source(const weft_gemm_kernel *kernel, const char *memory, int64_t rows, int64_t before, bool add,
                         size_t size)
{
    const ptrdiff_t offsets[SOURCE_TERMS] = {0, -8, -64, -200, -16, 0, -1000, -24, -504};
    const int64_t lanes = weft_gemm_lanes(kernel), width = weft_gemm_vector(kernel);
    _Alignas(WEFT_GEMM_ALIGNMENT) char panel[SOURCE_TILE], packed[SOURCE_TILE], expected[SOURCE_TILE], c[SOURCE_TILE];
    memset(packed, 0, sizeof packed);
    memset(panel, 0, sizeof panel);
    memset(c, 0, sizeof c);
    memset(expected, 0, sizeof expected);
    weft_gemm_source source = source_of(memory, offsets, lanes, kernel->vectors, before, size, panel);
    source.panel = packed;
    weft_gemm_tile_call call = {.wide = panel,
                                .narrow = memory,
                                .c = expected,
                                .rows = rows,
                                .columns = width,
                                .terms = SOURCE_TERMS,
                                .wide_term = width,
                                .narrow_term = 14,
                                .narrow_stride = 1,
                                .c_stride = width,
                                .count = 1,
                                .add = add};
    kernel->tile(&call);
    call.source = &source;
    call.wide = packed;
    call.c = c;
    kernel->tile(&call);
    assert_memory_equal(packed, panel, sizeof panel);
    assert_memory_equal(c, expected, sizeof c);
}

static void test_panels_packed_on_the_way(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = map_bordered(page);
    for (int i = 0; i < 2; i++) {
        const weft_dtype dtype = i == 0 ? WEFT_F32 : WEFT_F64;
        const weft_gemm_kernel *kernel = weft_gemm_engine_find(weft_isa_level(), dtype)->kernel;
        if (!kernel->sources) continue;
        for (size_t k = 0; k < BORDERED / sizeof(float); k++) {
            if (i == 0) ((float *)memory)[k] = (float)(k * 7 % 127) / 64;
            else if (k < BORDERED / sizeof(double)) ((double *)memory)[k] = (double)(k * 7 % 127) / 64;
        }
        const weft_gemm_kernel *kernels[] = {kernel, kernel->large};
        for (int k = 0; k < 2; k++)
            for (int64_t rows = 1; rows <= kernels[k]->columns; rows++)
                for (int64_t before = 1; before <= weft_gemm_lanes(kernel); before++)
                    if (weft_gemm_takes_source(rows, kernels[k]->vectors))
                        check_source(kernels[k], memory, rows, before, before % 2 == 0, weft_dtype_size(dtype));
    }
    munmap(memory - page, BORDERED + 2 * page);
}

/* ---- 16-bit floats ---- */

/* NaNs stay NaNs; any other number is the same bits. */
static void check_rounded(weft_dtype dtype, const float *numbers, int64_t count)
{
    enum { MOST = 256 };
    uint16_t rounded[MOST];
    weft_gemm_engine_find(weft_isa_level(), dtype)->float16->round(numbers, (char *)rounded, count);
    for (int64_t i = 0; i < count; i++) {
        uint16_t expected = (uint16_t)weft_float_encode(dtype, (double)numbers[i]);
        if (isnan(numbers[i])) assert_true(isnan(weft_float_decode(dtype, rounded[i])));
        else assert_int_equal(rounded[i], expected);
    }
}

static void test_conversions_of_float16(void **state)
{
    (void)state;
    enum { CODES = 1 << 16, MOST = 256 };
    float *wide = malloc(CODES * sizeof *wide);
    assert_non_null(wide);
    for (weft_dtype *dtype = (weft_dtype[]){WEFT_F16, WEFT_BF16, WEFT_BOOL}; *dtype != WEFT_BOOL; dtype++) {
        uint16_t *codes = (uint16_t *)(wide + CODES / 2);
        for (int i = 0; i < CODES; i++) codes[i] = (uint16_t)i;
        weft_gemm_engine_find(weft_isa_level(), *dtype)->float16->widen((const char *)codes, wide, CODES);
        for (int i = 0; i < CODES; i++) {
            float expected = (float)weft_float_decode(*dtype, (uint64_t)i);
            if (isnan(expected)) assert_true(isnan(wide[i]));
            else assert_memory_equal(&wide[i], &expected, sizeof expected);
        }
        /* Each number, and those halfway between two and next to that. */
        for (uint32_t step = 0; step < 1 << 16; step++) {
            float near[10];
            uint32_t bits;
            memcpy(&bits, &wide[step], sizeof bits);
            for (uint32_t k = 0; k < 10; k++) {
                uint32_t moved = bits + (k < 5 ? k - 2 : (*dtype == WEFT_F16 ? 0x1000 : 0x8000) + k - 7);
                memcpy(&near[k], &moved, sizeof moved);
            }
            check_rounded(*dtype, near, 10);
        }
        for (int i = 0; i < 4000; i++) {
            float any[MOST];
            for (int k = 0; k < MOST; k++) {
                uint32_t bits = (uint32_t)weft_test_bits(&random_state);
                memcpy(&any[k], &bits, sizeof bits);
            }
            check_rounded(*dtype, any, i % MOST + 1);
        }
    }
    free(wide);
}

/* ---- panels ---- */

/* An operand of `from`, packed for an engine, in place of the operand; what it was is NaN. `to` shares all else. */
static void *pack_operand(const struct product *from, const weft_gemm_engine *engine, weft_panels operand,
                          struct product *to)
{
    const weft_gemm_call *call = &from->call;
    size_t size = weft_gemm_panels_bytes(engine, call, operand), index = operand == WEFT_PANELS_A ? 0 : 1;
    void *panels = aligned_alloc(WEFT_GEMM_ALIGNMENT, (size + WEFT_GEMM_ALIGNMENT) / WEFT_GEMM_ALIGNMENT * 64);
    assert_non_null(panels);
    memset(panels, 0, size);
    const weft_gemm_engine *packer = fast ? engine : weft_gemm_engine_find(weft_isa_level(), call->dtype);
    weft_gemm_panels_fill(engine, packer, NULL, call, operand, from->data[index], panels);
    *to = *from;
    to->data[index] = panels;
    to->call.panels = operand;
    to->engine = engine;
    to->call.panel_lines = operand == WEFT_PANELS_A ? call->m : call->n;
    return panels;
}

static void check_panels(const struct product *plain, const struct product *packed, int64_t used)
{
    size_t bytes = plain->count[2] * weft_dtype_size(plain->call.dtype);
    struct product with = *packed, without = *plain;
    *(packed->call.panels == WEFT_PANELS_A ? &with.call.m : &with.call.n) = used;
    *(packed->call.panels == WEFT_PANELS_A ? &without.call.m : &without.call.n) = used;
    with.data[2] = malloc(bytes);
    memset(with.data[2], 0xa5, bytes);
    memset(without.data[2], 0xa5, bytes);
    product_run(&with, (size_t)(1 + random_below(3)));
    product_run(&without, 1);
    assert_memory_equal(with.data[2], without.data[2], bytes);
    free(with.data[2]);
}

/* The operands lie by rows or by columns; the other one, and C, may have several matrices. */
static struct product draw_panels(int64_t *batch, int64_t (*strides)[1], weft_panels operand)
{
    struct product p =
        row_major(dtypes[random_below(2)], 1 + random_below(150), 1 + random_below(150), 1 + random_below(700));
    weft_gemm_call *call = &p.call;
    if (random_below(2) == 0) call->a_row = 1, call->a_column = call->m;
    if (random_below(2) == 0) call->b_row = 1, call->b_column = call->k;
    if (random_below(2) == 0) call->c_row = 1, call->c_column = call->m;
    *batch = 1 + random_below(3);
    strides[0][0] = operand == WEFT_PANELS_A ? 0 : call->m * call->k;
    strides[1][0] = operand == WEFT_PANELS_B ? 0 : call->k * call->n;
    strides[2][0] = call->m * call->n;
    call->batch_rank = 1;
    call->batch = batch;
    call->a_batch = strides[0];
    call->b_batch = strides[1];
    call->c_batch = strides[2];
    for (size_t i = 0; i < 3; i++) p.count[i] *= (size_t)*batch;
    return p;
}

static void test_same_bits_with_panels(void **state)
{
    enum { COUNT = 200 };
    (void)state;
    for (size_t i = 0; i < COUNT; i += sparsity) {
        weft_panels operand = i % 2 == 0 ? WEFT_PANELS_A : WEFT_PANELS_B;
        weft_isa level = (weft_isa)random_below((int)weft_isa_level() + 1);
        int64_t batch, strides[3][1];
        struct product plain = draw_panels(&batch, strides, operand), packed;
        int64_t lines = operand == WEFT_PANELS_A ? plain.call.m : plain.call.n;
        product_fill(&plain);
        const weft_gemm_engine *engine = weft_gemm_engine_find_here(level, plain.call.dtype, fast);
        void *panels = pack_operand(&plain, engine, operand, &packed);
        check_panels(&plain, &packed, lines);
        check_panels(&plain, &packed, weft_test_between(&random_state, 1, lines));
        free(panels);
        product_finish(&plain);
    }
}

static void test_which_operand_is_packed(void **state)
{
    (void)state;
    const weft_machine *machine = weft_machine_reference();
    struct product p = row_major(WEFT_F32, 64, 256, 784);
    const weft_gemm_engine *engine = weft_gemm_engine_find(weft_isa_level(), WEFT_F32);
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, false, false), WEFT_PANELS_NONE);
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, false, true), WEFT_PANELS_B);
    p.call.dtype = WEFT_C64;
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, true, true), WEFT_PANELS_NONE);
    p = row_major(WEFT_F32, 1, 256, 784);
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, false, true), WEFT_PANELS_NONE);
    int64_t batch = 3, none = 0, b = 784 * 256, c = 64 * 256;
    p = row_major(WEFT_F32, 64, 256, 784);
    p.call.batch_rank = 1;
    p.call.batch = &batch;
    p.call.a_batch = &none;
    p.call.b_batch = &b;
    p.call.c_batch = &c;
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, false, true), WEFT_PANELS_NONE);
    p.call.b_batch = p.call.c_batch = &none; /* all are added up */
    assert_int_equal(weft_gemm_panels_choose(engine, machine, &p.call, false, true), WEFT_PANELS_NONE);
}

/* Four rows keep sums beside a matrix that is read from the last cache, where tiles, which need no memory, would wait
 * for it. */
static void test_four_rows_beside_a_large_matrix(void **state)
{
    (void)state;
    const size_t matrix = 784 * 512 * sizeof(float);
    const weft_gemm_engine *engine = weft_gemm_engine_find(weft_isa_level(), WEFT_F32);
    const struct product p = row_major(WEFT_F32, 4, 512, 784);
    weft_machine machine = *weft_machine_reference();
    if (!engine->kernel->ahead) skip();
    const struct {
        size_t cache, bytes;
    } cases[] = {{matrix, 4 * 512 * sizeof(float)}, {matrix + 1, 0}, {matrix / 32, 4 * 512 * sizeof(float)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine.cache_bytes[1] = cases[i].cache;
        assert_int_equal(weft_gemm_bytes(engine, &machine, &p.call, 1), cases[i].bytes);
    }
}

/* A matrix beyond L2 is read once beside 10 to 14 rows, which are packed. */
static void test_more_rows_beside_a_large_matrix(void **state)
{
    (void)state;
    const size_t matrix = 784 * 512 * sizeof(float);
    const weft_gemm_engine *engine = weft_gemm_engine_find(weft_isa_level(), WEFT_F32);
    weft_machine machine = *weft_machine_reference();
    if (!engine->kernel->ahead) skip();
    const struct {
        size_t cache;
        int64_t rows;
        bool packs;
    } cases[] = {{matrix, 10, false},
                 {matrix - 1, 9, false},
                 {matrix - 1, 10, true},
                 {matrix - 1, 14, true},
                 {matrix - 1, 15, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct product p = row_major(WEFT_F32, cases[i].rows, 512, 784);
        machine.cache_bytes[1] = cases[i].cache;
        assert_int_equal(weft_gemm_bytes(engine, &machine, &p.call, 1) > 0, cases[i].packs);
    }
}

/* ---- products of WEFT_PRODUCTS_FAST ---- */

/* Numbers of `from` in turn, as A, by ones. */
static struct product by_ones(const double *from, size_t count, int64_t k)
{
    struct product p = row_major(WEFT_BF16, 3, 2, k);
    product_fill(&p);
    for (size_t i = 0; i < p.count[0]; i++) store(WEFT_BF16, p.data[0], (int64_t)i, from[i % count]);
    for (size_t i = 0; i < p.count[1]; i++) store(WEFT_BF16, p.data[1], (int64_t)i, 1);
    product_run(&p, 1);
    return p;
}

/* Infinities and NaN among terms, and between them nothing that was not there. */
static void test_special_terms(void **state)
{
    (void)state;
    static const double infinite[] = {1, INFINITY, 2, 3, -4}, none[] = {INFINITY, 1, -INFINITY}, nan[] = {1, 2, NAN};
    struct product p = by_ones(infinite, 5, 65);
    for (int64_t i = 0; i < 6; i++) assert_true(creal(load(WEFT_BF16, p.data[2], i)) == INFINITY);
    product_finish(&p);
    p = by_ones(none, 3, 3);
    for (int64_t i = 0; i < 6; i++) assert_true(isnan(creal(load(WEFT_BF16, p.data[2], i))));
    product_finish(&p);
    p = by_ones(nan, 3, 600);
    for (int64_t i = 0; i < 6; i++) assert_true(isnan(creal(load(WEFT_BF16, p.data[2], i))));
    product_finish(&p);
    p = row_major(WEFT_BF16, 33, 35, 1100);
    product_fill(&p);
    store(WEFT_BF16, p.data[0], 7 * 1100 + 900, NAN);
    store(WEFT_BF16, p.data[1], 600 * 35 + 34, -INFINITY);
    product_run(&p, 2);
    for (int64_t i = 0; i < 33; i++)
        for (int64_t j = 0; j < 35; j++) {
            double c = creal(load(WEFT_BF16, p.data[2], i * 35 + j));
            assert_true(i == 7 ? isnan(c) : isfinite(c) == (j != 34));
        }
    product_finish(&p);
}

static void test_denormals_are_zero(void **state)
{
    (void)state;
    static const double denormals[] = {0x1p-127, -0x1p-130, 0x1p-126};
    struct product p = by_ones(denormals, 3, 3);
    for (int64_t i = 0; i < 6; i++) assert_true(creal(load(WEFT_BF16, p.data[2], i)) == 0x1p-126);
    product_finish(&p);
}

/* So many terms of one sign that a sum in f32 that takes one after the other would be off. */
static void test_long_sums(void **state)
{
    (void)state;
    enum { LENGTH = 400000 };
    struct product p = row_major(WEFT_BF16, 2, 3, LENGTH);
    product_fill(&p);
    for (size_t i = 0; i < 2; i++)
        for (size_t e = 0; e < p.count[i]; e++) store(WEFT_BF16, p.data[i], (int64_t)e, random_value() + 0.5);
    product_run(&p, 2);
    for (int64_t i = 0; i < 6; i++) {
        double sum = 0;
        for (int64_t k = 0; k < LENGTH; k++)
            sum += creal(load(WEFT_BF16, p.data[0], i / 3 * LENGTH + k) * load(WEFT_BF16, p.data[1], k * 3 + i % 3));
        assert_true(fabs(creal(load(WEFT_BF16, p.data[2], i)) - sum) <= ldexp(sum, -8) * 1.01);
    }
    product_finish(&p);
}

/* More rows, columns and terms than are packed at once. */
static void test_all_of_a_block(void **state)
{
    (void)state;
    for (int layout = 0; layout < 4; layout += 3) {
        struct product p = with_columns(row_major(WEFT_BF16, 40, 530, 1100), layout & 1, layout & 2);
        product_fill(&p);
        product_run(&p, 1);
        check_product(&p);
        product_finish(&p);
    }
}

/* ---- all ---- */

static void test_dtypes(void **state)
{
    (void)state;
    assert_true(weft_gemm_supports(WEFT_F32) && weft_gemm_supports(WEFT_C128));
    assert_false(weft_gemm_supports(WEFT_I64) || weft_gemm_supports(WEFT_BOOL));
    assert_true(strlen(weft_gemm_configuration()) > 0);
    assert_string_not_equal(weft_gemm_configuration(), "generic");
}

/* gemm [SPARSITY [fast]] */
int main(int argc, char **argv)
{
    enum { SKIPPED = 77 };
    if (argc > 1) sparsity = strtoul(argv[1], NULL, 10);
    if (sparsity == 0) return 2;
    fast = argc > 2;
    if (fast && engine_of(WEFT_BF16) == weft_gemm_engine_find(weft_isa_level(), WEFT_BF16)) return SKIPPED;
    for (size_t d = 0; fast && d < DTYPES; d++) dtypes[d] = WEFT_BF16;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_shared_operands),
        cmocka_unit_test(test_same_bits_for_any_number_of_threads),
        cmocka_unit_test(test_blocks_about_the_cache),
        cmocka_unit_test(test_same_bits_for_any_cache),
        cmocka_unit_test(test_same_bits_for_any_blocks_of_terms),
        cmocka_unit_test(test_rows_of_tiles),
        cmocka_unit_test(test_same_bits_beside_a_large_matrix),
        cmocka_unit_test(test_same_bits_beside_lines),
        cmocka_unit_test(test_no_access_beyond_operands),
        cmocka_unit_test(test_writes_only_elements),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_same_bits_for_any_layout_and_part),
        cmocka_unit_test(test_same_bits_for_symmetric_products),
        cmocka_unit_test(test_same_bits_for_small_sizes),
        cmocka_unit_test(test_joined_axes),
        cmocka_unit_test(test_joined_images),
        cmocka_unit_test(test_turned_axes),
        cmocka_unit_test(test_memory_of_turned_lines),
        cmocka_unit_test(test_turned_windows),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_panels_packed_on_the_way),
        cmocka_unit_test(test_same_bits_with_panels),
    };
    const struct CMUnitTest exact[] = {
        cmocka_unit_test(test_which_operand_is_packed),
        cmocka_unit_test(test_four_rows_beside_a_large_matrix),
        cmocka_unit_test(test_more_rows_beside_a_large_matrix),
        cmocka_unit_test(test_conversions_of_float16),
        cmocka_unit_test(test_dtypes),
    };
    const struct CMUnitTest relaxed[] = {
        cmocka_unit_test(test_special_terms),
        cmocka_unit_test(test_denormals_are_zero),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_all_of_a_block),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (fast ? cmocka_run_group_tests(relaxed, NULL, NULL) : cmocka_run_group_tests(exact, NULL, NULL));
}
