/* SPDX-License-Identifier: Apache-2.0 */
/* Products of u8 with sums of i32, which are exact: of all layouts, beside pages that may not be touched. */
#include "test/support.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_kernel.h"
#include "runtime/engine/gemm_panels.h"
#include "test/rng.h"

enum { POISON = 0xa5, AXES = 3 };

static uint64_t random_state = 1;

static int64_t between(int64_t least, int64_t most)
{
    return weft_test_between(&random_state, least, most);
}

/* A batch of matrices: element (batch, row, column) lies at strides from `first`, in elements. */
typedef struct operand {
    size_t size; /* of an element */
    int64_t extents[AXES], strides[AXES], first, count;
    char *memory, *data;
    size_t mapped;
} operand;

/* Axes in any order, with gaps, in either direction. */
static void lay_out(operand *o)
{
    static const int orders[][AXES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int *order = orders[between(0, 3) == 0 ? between(0, 5) : between(0, 1)];
    int64_t step = between(0, 4) == 0 ? between(2, 3) : 1;
    o->first = 0;
    for (int i = AXES; i-- > 0;) {
        int axis = order[i];
        bool is_reversed = between(0, 9) == 0;
        o->strides[axis] = is_reversed ? -step : step;
        if (is_reversed) o->first += step * (o->extents[axis] - 1);
        step = step * o->extents[axis] + (between(0, 2) == 0 ? between(1, 70) : 0);
    }
    o->count = 1;
    for (int i = 0; i < AXES; i++) o->count += llabs(o->strides[i]) * (o->extents[i] - 1);
}

/* Beside a page without access, at the end or at the beginning. */
static void take_memory(operand *o)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)o->count * o->size;
    size_t pages = (bytes + page - 1) / page * page;
    o->mapped = pages + 2 * page;
    o->memory = mmap(NULL, o->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(o->memory, MAP_FAILED);
    assert_int_equal(mprotect(o->memory, page, PROT_NONE), 0);
    assert_int_equal(mprotect(o->memory + page + pages, page, PROT_NONE), 0);
    o->data = o->memory + page + (between(0, 1) == 0 ? pages - bytes : 0);
    memset(o->data, POISON, bytes);
}

static operand make(size_t size, int64_t batch, int64_t rows, int64_t columns)
{
    operand o = {.size = size, .extents = {batch, rows, columns}};
    lay_out(&o);
    take_memory(&o);
    return o;
}

static char *element(const operand *o, int64_t batch, int64_t row, int64_t column)
{
    int64_t at = o->first + batch * o->strides[0] + row * o->strides[1] + column * o->strides[2];
    return o->data + at * (int64_t)o->size;
}

/* Any bytes, the largest and smallest ones, or the largest one alone. */
typedef enum bytes { ANY, EXTREME, LARGEST } bytes;

static void draw(const operand *o, bytes kind)
{
    for (int64_t i = 0; i < o->count; i++)
        o->data[i] = (char)(kind == LARGEST ? 255 : kind == EXTREME ? 255 * between(0, 1) : between(0, 255));
}

static void check(const operand *a, const operand *b, operand *c)
{
    for (int64_t batch = 0; batch < c->extents[0]; batch++)
        for (int64_t i = 0; i < c->extents[1]; i++)
            for (int64_t j = 0; j < c->extents[2]; j++) {
                uint32_t sum = 0, result;
                for (int64_t k = 0; k < a->extents[2]; k++)
                    sum += (uint32_t) * (uint8_t *)element(a, batch, i, k) * *(uint8_t *)element(b, batch, k, j);
                memcpy(&result, element(c, batch, i, j), sizeof result);
                assert_int_equal(result, sum);
                memset(element(c, batch, i, j), POISON, c->size);
            }
    for (size_t i = 0; i < (size_t)c->count * c->size; i++) assert_int_equal((uint8_t)c->data[i], POISON);
}

static weft_gemm_call call_of(const operand *a, const operand *b, const operand *c)
{
    return (weft_gemm_call){.size = sizeof(weft_gemm_call),
                            .dtype = WEFT_U8,
                            .m = c->extents[1],
                            .n = c->extents[2],
                            .k = a->extents[2],
                            .batch_rank = 1,
                            .batch = c->extents,
                            .a_batch = a->strides,
                            .b_batch = b->strides,
                            .c_batch = c->strides,
                            .a_row = a->strides[1],
                            .a_column = a->strides[2],
                            .b_row = b->strides[1],
                            .b_column = b->strides[2],
                            .c_row = c->strides[1],
                            .c_column = c->strides[2],
                            .a_offset = a->first,
                            .b_offset = b->first,
                            .c_offset = c->first};
}

/* What the process has, or what an object for one of its levels has. */
static const weft_gemm_engine *draw_engine(void)
{
    weft_isa level = (weft_isa)between(0, weft_isa_level());
    const weft_gemm_engine *of_level = between(0, 1) == 0 ? weft_gemm_engine_find(level, WEFT_U8) : NULL;
    return of_level != NULL ? of_level : weft_gemm_engine_find_here(weft_isa_level(), WEFT_U8, false);
}

/* Of engines that pack alike. */
static const weft_gemm_engine *draw_packer(const weft_gemm_engine *engine)
{
    const weft_gemm_engine *other = draw_engine();
    return other->kernel->size == engine->kernel->size ? other : engine;
}

/* `b` as it is, and packed beforehand if it is one matrix. */
static void check_product(operand *a, operand *b, operand *c, size_t threads)
{
    const weft_gemm_engine *engine = draw_engine();
    weft_gemm_call call = call_of(a, b, c);
    weft_pool *pool;
    weft_block_store *store;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), threads, &pool));
    weft_test_ok(weft_block_store_create(NULL, 1 << 26, &store));
    weft_test_ok(weft_gemm_run(engine, pool, store, &call, a->data, b->data, c->data));
    check(a, b, c);
    if (weft_gemm_panels_choose(engine, weft_machine_reference(), &call, false, true) == WEFT_PANELS_B) {
        size_t size = (weft_gemm_panels_bytes(engine, &call, WEFT_PANELS_B) + 63) / 64 * 64;
        char *panels = aligned_alloc(64, size);
        assert_non_null(panels);
        weft_gemm_panels_fill(engine, draw_packer(engine), NULL, &call, WEFT_PANELS_B, b->data, panels);
        call.panels = WEFT_PANELS_B;
        call.panel_lines = call.n;
        weft_test_ok(weft_gemm_run(engine, pool, store, &call, a->data, panels, c->data));
        check(a, b, c);
        free(panels);
    }
    weft_block_store_release(store);
    weft_pool_destroy(pool);
}

static void check_sizes(int64_t batch, int64_t m, int64_t n, int64_t k, bytes kind)
{
    operand operands[] = {make(1, batch, m, k), make(1, batch, k, n), make(sizeof(int32_t), batch, m, n)};
    for (int i = 0; i < 2; i++) draw(&operands[i], kind);
    check_product(&operands[0], &operands[1], &operands[2], (size_t)between(1, 3));
    for (int i = 0; i < 3; i++) munmap(operands[i].memory, operands[i].mapped);
}

static void test_small_products(void **state)
{
    enum { COUNT = 400, MOST = 70, MOST_TERMS = 150 };
    (void)state;
    for (int i = 0; i < COUNT; i++)
        check_sizes(between(0, 3) == 0 ? between(2, 3) : 1, between(1, MOST), between(1, MOST), between(1, MOST_TERMS),
                    (bytes)between(ANY, LARGEST));
}

/* More terms than are added up in registers, or packed at once; more rows and columns than a block has. */
static void test_large_products(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{3, 5, 513},  {40, 33, 1025}, {65, 40, 2049},
                                       {7, 9, 5000}, {550, 530, 67}, {33, 600, 2050}};
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++)
        check_sizes(1, sizes[i / 4][0], sizes[i / 4][1], sizes[i / 4][2], i % 2 == 0 ? ANY : EXTREME);
}

/* So many terms that sums wrap. */
static void test_sums_wrap(void **state)
{
    (void)state;
    enum { TERMS = 70000, TIMES = 4 };
    for (int i = 0; i < TIMES; i++) {
        check_sizes(1, 3, 2, TERMS, LARGEST);
        check_sizes(1, 17, 18, TERMS, LARGEST);
    }
}

/* ---- rows, columns and terms over several axes ---- */

enum { OUTER = 2, ALL = OUTER + 3, OPERANDS = 3 };

/* Which axes an operand has: the batch is of all of them. */
typedef enum kind { ROWS, COLUMNS, TERMS, BATCH } kind;

/* Axes of the batch, each of which is more rows, columns or terms or all products' own, then m, n and k. */
typedef struct joined {
    kind kinds[ALL];
    int64_t extents[ALL], strides[OPERANDS][ALL], first[OPERANDS];
    operand operands[OPERANDS];
} joined;

static bool has_axis(const joined *j, int which, int axis)
{
    static const bool has[OPERANDS][BATCH + 1] = {
        {true, false, true, true}, {false, true, true, true}, {true, true, false, true}};
    return has[which][j->kinds[axis]];
}

/* In any order, with gaps, in either direction. */
static void lay_out_joined(joined *j, int which)
{
    int order[ALL] = {0, 1, 2, 3, 4};
    for (int i = ALL; i-- > 1;) {
        int other = (int)between(0, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    int64_t step = between(0, 9) == 0 ? 2 : 1;
    for (int i = 0; i < ALL; i++) {
        int axis = order[i];
        if (!has_axis(j, which, axis)) continue;
        bool is_reversed = between(0, 9) == 0;
        j->strides[which][axis] = is_reversed ? -step : step;
        if (is_reversed) j->first[which] += step * (j->extents[axis] - 1);
        step = step * j->extents[axis] + (between(0, 2) == 0 ? between(1, 5) : 0);
    }
    j->operands[which].count = 1;
    for (int i = 0; i < ALL; i++) j->operands[which].count += llabs(j->strides[which][i]) * (j->extents[i] - 1);
}

static joined draw_joined(void)
{
    joined j = {.kinds = {(kind)between(ROWS, BATCH), (kind)between(ROWS, BATCH), ROWS, COLUMNS, TERMS}};
    for (int i = 0; i < ALL; i++) j.extents[i] = between(1, i < OUTER ? 9 : between(0, 1) == 0 ? 5 : 40);
    for (int i = 0; i < OPERANDS; i++) {
        lay_out_joined(&j, i);
        j.operands[i].size = i == 2 ? sizeof(int32_t) : 1;
        take_memory(&j.operands[i]);
        if (i < 2) draw(&j.operands[i], ANY);
    }
    return j;
}

static int64_t place_of(const joined *j, int which, const int64_t *index)
{
    int64_t place = j->first[which];
    for (int i = 0; i < ALL; i++) place += index[i] * j->strides[which][i];
    return place;
}

/* The next index of all axes, from the last one outwards; false after the last. */
static bool next_index(const joined *j, int64_t *index)
{
    for (int i = ALL; i-- > 0; index[i] = 0)
        if (++index[i] < j->extents[i]) return true;
    return false;
}

static void check_joined(joined *j)
{
    operand *c = &j->operands[2];
    uint32_t *sums = calloc((size_t)c->count, sizeof *sums), *all = (uint32_t *)c->data;
    bool *is_there = calloc((size_t)c->count, 1);
    int64_t index[ALL] = {0};
    assert_true(sums != NULL && is_there != NULL);
    do {
        int64_t place = place_of(j, 2, index);
        is_there[place] = true;
        sums[place] += (uint32_t)(uint8_t)j->operands[0].data[place_of(j, 0, index)] *
                       (uint8_t)j->operands[1].data[place_of(j, 1, index)];
    } while (next_index(j, index));
    for (int64_t i = 0; i < c->count; i++) {
        uint32_t result;
        memcpy(&result, &all[i], sizeof result);
        assert_int_equal(result, is_there[i] ? sums[i] : 0x01010101U * POISON);
    }
    free(sums);
    free(is_there);
}

static void test_joined_axes(void **state)
{
    enum { COUNT = 2000 };
    (void)state;
    weft_pool *pool;
    weft_block_store *store;
    weft_test_ok(weft_pool_create(NULL, weft_machine_reference(), 2, &pool));
    weft_test_ok(weft_block_store_create(NULL, 1 << 26, &store));
    for (int i = 0; i < COUNT; i++) {
        joined j = draw_joined();
        int64_t(*strides)[ALL] = j.strides;
        const weft_gemm_call call = {.size = sizeof call,
                                     .dtype = WEFT_U8,
                                     .m = j.extents[OUTER],
                                     .n = j.extents[OUTER + 1],
                                     .k = j.extents[OUTER + 2],
                                     .batch_rank = OUTER,
                                     .batch = j.extents,
                                     .a_batch = strides[0],
                                     .b_batch = strides[1],
                                     .c_batch = strides[2],
                                     .a_row = strides[0][OUTER],
                                     .a_column = strides[0][OUTER + 2],
                                     .b_row = strides[1][OUTER + 2],
                                     .b_column = strides[1][OUTER + 1],
                                     .c_row = strides[2][OUTER],
                                     .c_column = strides[2][OUTER + 1],
                                     .a_offset = j.first[0],
                                     .b_offset = j.first[1],
                                     .c_offset = j.first[2]};
        weft_test_ok(weft_gemm_run(draw_engine(), pool, store, &call, j.operands[0].data, j.operands[1].data,
                                   j.operands[2].data));
        check_joined(&j);
        for (int o = 0; o < OPERANDS; o++) munmap(j.operands[o].memory, j.operands[o].mapped);
    }
    weft_block_store_release(store);
    weft_pool_destroy(pool);
}

int main(void)
{
    enum { SKIPPED = 77 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_products),
        cmocka_unit_test(test_large_products),
        cmocka_unit_test(test_sums_wrap),
        cmocka_unit_test(test_joined_axes),
    };
    return weft_gemm_engine_find_here(weft_isa_level(), WEFT_U8, false) == NULL
               ? SKIPPED
               : cmocka_run_group_tests(tests, NULL, NULL);
}
