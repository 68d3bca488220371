/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of arrays that iterations of a loop read and write where they lie: how many, and that every bit is that of the
 * same loops with copies. These have starts that nobody knows: an input that is 0 is added. */
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "lib/build/build.h"
#include "lib/composite/composite.h"
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"
#include "test/rng.h"
#include "test/support.h"

enum { MOST = 6, ROWS = 8, SIDE = 24, INPUTS = 4, RESULTS = 2 };

static weft_executor *executors[2]; /* by threads */

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = i + 1}, &executors[i]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) weft_executor_destroy(executors[i]);
    return 0;
}

/* ---- programs ---- */

typedef struct source {
    weft_tensor x, y, h, w; /* n x ROWS x SIDE, n x ROWS x SIDE, ROWS x SIDE, SIDE x SIDE */
    weft_tensor zero;       /* added to starts, or nothing */
    weft_extent n;
    weft_tensor from; /* what a branch or an inner loop is given */
} source;

static weft_tensor known(const source *s, weft_tensor start)
{
    return s->zero.graph == NULL ? start : weft_add(start, s->zero);
}

static weft_tensor backwards(const source *s, weft_tensor index)
{
    weft_tensor count = weft_extent_like(index, s->n);
    return weft_sub(weft_sub(count, weft_scalar_like(index, 1)), index);
}

static weft_tensor row(const source *s, weft_tensor of, weft_tensor start)
{
    weft_tensor block = weft_dynamic_slice(of, WEFT_TENSORS(known(s, start)), WEFT_INTS(0), WEFT_SHAPE(1));
    return weft_reshape(block, WEFT_SHAPE(ROWS, SIDE));
}

static weft_tensor put(const source *s, weft_tensor of, weft_tensor value, weft_tensor start)
{
    weft_tensor block = weft_reshape(value, WEFT_SHAPE(1, ROWS, SIDE));
    return weft_dynamic_update_slice(of, block, WEFT_TENSORS(known(s, start)), WEFT_INTS(0));
}

/* Small enough to stay so. */
static weft_tensor product(weft_tensor x, weft_tensor w)
{
    return weft_tanh(weft_matmul(x, w));
}

static void reads(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], weft_matmul(row(s, s->x, index), s->w), index);
    out_next[1] = carried[1];
}

static void reads_backwards(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor start = backwards(s, index);
    out_next[0] = put(s, carried[0], weft_matmul(row(s, s->x, start), s->w), start);
    out_next[1] = weft_add(carried[1], product(row(s, s->x, start), s->w));
}

/* Every other row, of an array that is not all written. */
static void reads_own(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], weft_matmul(row(s, carried[0], index), s->w), index);
    out_next[1] = carried[1];
}

/* What was read is used after it was changed. */
static void uses_old(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor old = row(s, carried[0], index);
    out_next[0] = put(s, carried[0], weft_matmul(old, s->w), index);
    out_next[1] = weft_matmul(weft_add(carried[1], row(s, out_next[0], index)),
                              weft_matmul(weft_permute(old, WEFT_INTS(1, 0)), old));
}

static void changes_copy(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor one = weft_slice(carried[1], WEFT_SHAPE(0, 0), WEFT_SHAPE(1, SIDE), WEFT_INTS(1, 1));
    weft_tensor changed =
        weft_dynamic_update_slice(row(s, s->x, index), one, WEFT_TENSORS(known(s, index)), WEFT_INTS(0));
    out_next[0] = put(s, carried[0], weft_matmul(changed, s->w), index);
    out_next[1] = weft_matmul(row(s, s->x, index), s->w);
}

/* What is written is computed before the loop. */
static void stores_same(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], weft_matmul(s->h, s->w), index);
    out_next[1] = weft_add(carried[1], row(s, s->x, index));
}

static void keeps(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], carried[1], index);
    out_next[1] = weft_tanh(weft_add(weft_matmul(carried[1], s->w), row(s, s->x, index)));
}

static void keeps_backwards(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], carried[1], backwards(s, index));
    out_next[1] = weft_tanh(weft_add(carried[1], row(s, s->x, index)));
}

/* What it begins with is read from where it is kept, too. */
static void keeps_and_reads(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = put(s, carried[0], carried[1], index);
    out_next[1] = weft_tanh(weft_add(weft_matmul(carried[1], s->w), row(s, carried[0], index)));
}

static void updates_twice(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor first = put(s, carried[0], weft_matmul(row(s, s->x, index), s->w), index);
    out_next[0] = put(s, first, weft_matmul(carried[1], s->w), backwards(s, index));
    out_next[1] = carried[1];
}

/* Rows t and t + 1, of which the next iteration has one too. */
static void overlaps(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor last = weft_sub(weft_extent_like(index, s->n), weft_scalar_like(index, 2));
    weft_tensor start = weft_max(weft_min(known(s, index), last), weft_scalar_like(index, 0));
    out_next[0] = put(s, carried[0], weft_matmul(row(s, s->x, start), s->w), start);
    out_next[1] = weft_add(carried[1], row(s, carried[0], start));
}

static void inner_part(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor start = weft_mul(known(s, index), weft_scalar_like(index, 2));
    weft_tensor part = weft_dynamic_slice(s->from, WEFT_TENSORS(start), WEFT_INTS(0), WEFT_SHAPE(2));
    weft_tensor made = weft_matmul(part, weft_matmul(weft_permute(s->from, WEFT_INTS(1, 0)), s->from));
    out_next[0] = weft_dynamic_update_slice(carried[0], made, WEFT_TENSORS(start), WEFT_INTS(0));
}

/* An inner loop has blocks of a block, and writes a block of a block. */
static void nests(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    source s = *(const source *)context;
    s.from = row(&s, s.x, index);
    weft_tensor made = weft_fold(weft_extent_of(ROWS / 2), WEFT_TENSORS(carried[1]), inner_part, &s, NULL);
    out_next[0] = put(&s, carried[0], made, index);
    out_next[1] = product(made, s.w);
}

static void inner_block(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor start = weft_mul(known(s, index), weft_scalar_like(index, 2));
    weft_tensor part = weft_dynamic_slice(s->from, WEFT_TENSORS(start), WEFT_INTS(1), WEFT_SHAPE(2));
    weft_tensor made = weft_matmul(weft_reshape(part, WEFT_SHAPE(2, SIDE)), s->w);
    out_next[0] = weft_dynamic_update_slice(carried[0], made, WEFT_TENSORS(start), WEFT_INTS(0));
}

/* The inner loop has the block itself. */
static void nests_blocks(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    source s = *(const source *)context;
    s.from = weft_dynamic_slice(s.x, WEFT_TENSORS(known(&s, index)), WEFT_INTS(0), WEFT_SHAPE(1));
    weft_tensor made = weft_fold(weft_extent_of(ROWS / 2), WEFT_TENSORS(carried[1]), inner_block, &s, NULL);
    out_next[0] = put(&s, carried[0], made, index);
    out_next[1] = product(made, s.w);
}

static void inner_row(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor one = weft_dynamic_slice(s->h, WEFT_TENSORS(known(s, index)), WEFT_INTS(0), WEFT_SHAPE(1));
    out_next[0] = weft_dynamic_update_slice(carried[0], weft_tanh(one), WEFT_TENSORS(known(s, index)), WEFT_INTS(0));
}

/* An inner loop changes a block that was read. */
static void begins_with_block(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor block = row(s, s->x, index);
    weft_tensor made = weft_fold(weft_extent_of(3), WEFT_TENSORS(block), inner_row, context, NULL);
    out_next[0] = put(s, carried[0], weft_matmul(block, s->w), index);
    out_next[1] = weft_add(carried[1], made);
}

static void multiplied(void *context, weft_tensor *out_results)
{
    const source *s = context;
    out_results[0] = weft_matmul(s->from, s->w);
}

static void negated(void *context, weft_tensor *out_results)
{
    const source *s = context;
    out_results[0] = weft_neg(s->from);
}

static void branches(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    source s = *(const source *)context;
    s.from = row(&s, carried[0], index);
    weft_tensor made = weft_cond(weft_lt(index, weft_scalar_like(index, 2)), 1, multiplied, negated, &s, NULL);
    out_next[0] = put(&s, carried[0], made, index);
    out_next[1] = weft_matmul(s.from, s.w);
}

typedef struct change {
    const source *source;
    weft_tensor whole, block, start;
} change;

static void changed(void *context, weft_tensor *out_results)
{
    const change *c = context;
    out_results[0] = put(c->source, c->whole, weft_matmul(c->block, c->source->w), c->start);
    out_results[1] = weft_matmul(c->block, c->source->w);
}

static void doubled(void *context, weft_tensor *out_results)
{
    const change *c = context;
    out_results[0] = put(c->source, c->whole, weft_add(c->block, c->block), c->start);
    out_results[1] = weft_matmul(c->source->w, weft_permute(c->block, WEFT_INTS(1, 0)));
    out_results[1] = weft_permute(out_results[1], WEFT_INTS(1, 0));
}

/* Branches change what a block of was read. */
static void changes_in_branches(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    change c = {s, carried[0], row(s, carried[0], index), index};
    weft_cond(weft_lt(index, weft_scalar_like(index, 2)), 2, changed, doubled, &c, out_next);
}

/* One block that is cut along two axes. */
static void corner(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor four = weft_scalar_like(index, 4), start = known(s, index);
    weft_tensor starts[] = {weft_div(start, four), weft_mul(weft_remainder(start, four), weft_scalar_like(index, 2))};
    weft_tensors both = {2, starts};
    weft_tensor block = weft_dynamic_slice(s->x, both, WEFT_INTS(0, 1), WEFT_SHAPE(1, 2));
    weft_tensor made = weft_matmul(weft_reshape(block, WEFT_SHAPE(2, SIDE)), s->w);
    out_next[0] =
        weft_dynamic_update_slice(carried[0], weft_reshape(made, WEFT_SHAPE(1, 2, SIDE)), both, WEFT_INTS(0, 1));
    out_next[1] = carried[1];
}

/* Columns do not lie in one piece. */
static void columns(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    weft_tensor start = weft_remainder(known(s, index), weft_scalar_like(index, SIDE));
    weft_tensor block = weft_dynamic_slice(carried[1], WEFT_TENSORS(start), WEFT_INTS(1), WEFT_SHAPE(1));
    weft_tensor made = weft_matmul(weft_matmul(block, weft_permute(block, WEFT_INTS(1, 0))), block);
    out_next[0] = put(s, carried[0], weft_matmul(carried[1], s->w), index);
    out_next[1] = weft_dynamic_update_slice(carried[1], made, WEFT_TENSORS(start), WEFT_INTS(1));
}

static const struct {
    const char *name;
    weft_fold_body body;
    bool own;        /* it begins with x */
    bool by_corners; /* four iterations for each row, which is not proven where their number is not known */
    size_t blocks;   /* that stay where they are */
} cases[] = {
    {"reads", reads, false, false, 2},
    {"reads backwards", reads_backwards, false, false, 2},
    {"reads its own", reads_own, true, false, 1},
    {"uses what was", uses_old, true, false, 1},
    {"changes a copy", changes_copy, false, false, 2},
    {"stores the same", stores_same, false, false, 0},
    {"keeps", keeps, false, false, 1},
    {"keeps backwards", keeps_backwards, false, false, 1},
    {"keeps and reads", keeps_and_reads, false, false, 0},
    {"updates twice", updates_twice, false, false, 1},
    {"overlaps", overlaps, false, false, 0},
    {"nests", nests, false, false, 4},
    {"nests blocks", nests_blocks, false, false, 4},
    {"begins with a block", begins_with_block, false, false, 2},
    {"branches", branches, true, false, 2},
    {"changes in branches", changes_in_branches, true, false, 0},
    {"corner", corner, false, true, 2},
    {"columns", columns, false, false, 1},
};
enum { CASES = sizeof cases / sizeof *cases, KEEPS = 6 };

static weft_status *trace(const weft_allocator *allocator, size_t number, bool symbolic, bool is_known,
                          weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = symbolic ? weft_symbol(graph, "n", 1, MOST) : weft_extent_of(MOST);
    source s = {.x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, ROWS, SIDE)),
                .h = weft_input(graph, "h", WEFT_F32, WEFT_SHAPE(ROWS, SIDE)),
                .w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(SIDE, SIDE)),
                .n = n};
    weft_tensor zero = weft_input(graph, "zero", WEFT_I64, WEFT_SHAPE()), results[RESULTS];
    if (!is_known) s.zero = zero;
    weft_extent trips = cases[number].by_corners ? weft_extent_mul(n, weft_extent_of(4)) : n;
    weft_tensor initial = cases[number].own ? s.x : weft_full_like(s.x, 0);
    weft_fold(trips, WEFT_TENSORS(initial, s.h), cases[number].body, &s, results);
    /* So that there are all inputs in any case. */
    weft_tensor all =
        weft_add(weft_reduce_max(s.x, WEFT_INTS(0, 1, 2), false), weft_reduce_max(s.w, WEFT_INTS(0, 1), false));
    results[1] = weft_add(results[1], weft_add(all, weft_cast(zero, WEFT_F32)));
    weft_policy policy = {.products = WEFT_PRODUCTS_LIBRARY};
    weft_status *status = weft_compile(graph, (weft_tensors){RESULTS, results}, &policy, out_program);
    weft_graph_destroy(graph);
    return status;
}

/* ---- how many ---- */

static weft_status *count_blocks(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    size_t *found = context;
    (void)kernels;
    *found = 0;
    for (size_t i = 0; i < variant->step_count; i++) *found += variant->steps[i].region.block_count;
    return NULL;
}

static weft_status *count_in(const weft_allocator *allocator, const weft_program *program, size_t *out_count)
{
    const uint8_t layouts[INPUTS] = {0};
    return weft_variant_visit(&(weft_build_request){.allocator = allocator,
                                                    .program = program,
                                                    .input_layouts = layouts,
                                                    .output_layouts = layouts,
                                                    .machine = weft_machine_reference(),
                                                    .level = weft_isa_level()},
                              count_blocks, out_count);
}

static void blocks_stay_where_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * CASES; i++) {
        weft_program *program;
        size_t found;
        bool is_known = i % 2 == 0, symbolic = i / 2 % 2 == 1;
        weft_test_ok(trace(NULL, i / 4, symbolic, is_known, &program));
        weft_test_ok(count_in(weft_allocator_or_default(NULL), program, &found));
        bool is_proven = is_known && !(symbolic && cases[i / 4].by_corners);
        if (found != (is_proven ? cases[i / 4].blocks : 0))
            fail_msg("%s%s%s: %zu blocks", cases[i / 4].name, is_known ? "" : ", unknown", symbolic ? ", symbolic" : "",
                     found);
        weft_program_release(program);
    }
}

/* ---- runs ---- */

static weft_array *array_of(const char *name, int64_t n)
{
    weft_array *array;
    bool is_x = strcmp(name, "x") == 0, is_w = strcmp(name, "w") == 0;
    const int64_t shape[] = {n, is_w ? SIDE : ROWS, SIDE};
    if (strcmp(name, "zero") == 0) {
        weft_test_ok(weft_array_create(NULL, WEFT_I64, 0, NULL, &array));
        *(int64_t *)weft_array_data(array) = 0;
        return array;
    }
    weft_test_ok(weft_array_create(NULL, WEFT_F32, is_x ? 3 : 2, shape + !is_x, &array));
    uint64_t seed = (uint64_t)name[0];
    for (int64_t i = 0; i < weft_array_count(array); i++)
        ((float *)weft_array_data(array))[i] = (float)(0.2 * weft_test_real(&seed));
    return array;
}

static void run(weft_program *program, size_t threads, int64_t n, bool donates, weft_array **out_results)
{
    weft_array *inputs[INPUTS];
    bool donated[INPUTS] = {false};
    for (size_t i = 0; i < INPUTS; i++) {
        const char *name = weft_program_input_name(program, i);
        inputs[i] = array_of(name, n);
        donated[i] = donates && strcmp(name, "zero") != 0;
    }
    for (size_t i = 0; i < RESULTS; i++) out_results[i] = NULL;
    weft_test_ok(weft_executor_run(executors[threads - 1], program,
                                   &(weft_run){.input_count = INPUTS,
                                               .inputs = inputs,
                                               .output_count = RESULTS,
                                               .outputs = out_results,
                                               .donated = donated}));
    for (size_t i = 0; i < INPUTS; i++) weft_array_release(inputs[i]);
}

static void compare(const char *name, weft_program *program, weft_program *copying, int64_t n)
{
    weft_array *expected[RESULTS], *found[RESULTS];
    run(copying, 1, n, false, expected);
    for (size_t way = 0; way < 4; way++) {
        run(program, 1 + way / 2, n, way % 2 == 1, found);
        for (size_t i = 0; i < RESULTS; i++) {
            size_t bytes = (size_t)weft_array_count(found[i]) * sizeof(float);
            if (memcmp(weft_array_data(found[i]), weft_array_data(expected[i]), bytes) != 0)
                fail_msg("%s: result %zu differs, %d rows, way %zu", name, i, (int)n, way);
            weft_array_release(found[i]);
        }
    }
    for (size_t i = 0; i < RESULTS; i++) weft_array_release(expected[i]);
}

static void bits_are_those_of_copies(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        weft_program *program, *copying, *sized;
        weft_test_ok(trace(NULL, i, true, true, &program));
        weft_test_ok(trace(NULL, i, true, false, &copying));
        weft_test_ok(trace(NULL, i, false, true, &sized));
        const int64_t counts[] = {1, 2, MOST};
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) compare(cases[i].name, program, copying, counts[k]);
        compare(cases[i].name, sized, copying, MOST);
        weft_program_release(program);
        weft_program_release(copying);
        weft_program_release(sized);
    }
}

/* ---- no memory ---- */

static weft_status *build(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    WEFT_TRY(trace(allocator, KEEPS, false, true, &program));
    weft_status *status = count_in(allocator, program, context);
    weft_program_release(program);
    return status;
}

static void memory_runs_out(void **state)
{
    size_t found;
    (void)state;
    weft_test_fail_each(build, &found);
    assert_int_equal(found, cases[KEEPS].blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stay_where_they_are),
        cmocka_unit_test(bits_are_those_of_copies),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
