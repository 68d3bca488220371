/* SPDX-License-Identifier: Apache-2.0 */
/* Stores past the caches: for which results, in which kernels, and the same bits wherever a result lies. */
#include <stdio.h>
#include <string.h>
#include <weft/inspect.h>
#include "backends/llvm/llvm.h"
#include "runtime/base/isa.h"
#include "test/interpret.h"
#include "test/support.h"
#include "test/variants.h"

static const weft_llvm_interface *llvm;

/* ---- results that nothing reads ---- */

typedef enum reader { NOBODY, A_STEP, ITSELF, A_LOOP } reader;

static void halve(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)index;
    out_next[0] = weft_mul(carried[0], 0.5);
}

static weft_program *trace(int64_t rows, reader who)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent n = rows == 0 ? weft_symbol(graph, "n", 1, 4096) : weft_extent_of(rows);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 1000)), results[2] = {weft_mul(x, x)};
    if (who == A_STEP) results[1] = weft_cumsum(results[0], 0, false, false);
    if (who == ITSELF) results[0] = weft_softmax(x, -1);
    if (who == A_LOOP) results[0] = weft_fold(weft_extent_of(3), WEFT_TENSORS(x), halve, NULL, NULL);
    weft_test_ok(weft_compile(graph, (weft_tensors){who == A_STEP ? 2 : 1, results}, NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* That of the first kernel. */
static weft_status *look(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    size_t i = 0;
    while (i < variant->step_count && kernels[i] == NULL) i++;
    assert_true(i < variant->step_count);
    *(bool *)context = kernels[i]->buffers[0].unread;
    return NULL;
}

/* `known`: what the symbol, if there is one, is in the variant. */
static bool is_unread(int64_t rows, reader who, const int64_t *known)
{
    bool unread = false;
    weft_program *program = trace(rows, who);
    weft_test_ok(weft_test_visit(weft_allocator_or_default(NULL), program, known, false, look, &unread));
    weft_program_release(program);
    return unread;
}

static void test_results(void **state)
{
    (void)state;
    assert_true(is_unread(4000, NOBODY, NULL));
    assert_false(is_unread(100, NOBODY, NULL)); /* L2 holds it */
    assert_true(is_unread(0, NOBODY, NULL));    /* may be more */
    assert_true(is_unread(0, NOBODY, &(int64_t){4000}));
    assert_false(is_unread(4000, A_STEP, NULL));
    assert_false(is_unread(4000, ITSELF, NULL));
    assert_false(is_unread(4000, A_LOOP, NULL));
}

/* What is shown of a program is what runs. */
static void test_text(void **state)
{
    (void)state;
    for (int64_t rows = 100; rows <= 4000; rows += 3900) {
        weft_program *program = trace(rows, NOBODY);
        char *text;
        weft_test_ok(weft_program_emit(program, WEFT_EMIT_SCHEDULED, NULL, NULL, &text));
        assert_true((strstr(text, "out unread") != NULL) == (rows == 4000));
        weft_text_destroy(text);
        weft_program_release(program);
    }
}

/* ---- code ---- */

/* Rows of half a line more than whole lines. What is never loaded lies `far` elements apart, which n may be. */
static weft_kernel *parse_sum(const char *direction, const char *far)
{
    char text[512];
    weft_kernel *kernel;
    snprintf(text, sizeof text,
             "kernel scheduled {\n  symbol n in [1, 100000000000]\n  buffer b0 : f32 %s\n  buffer b1 : f32\n  buffer "
             "b2 : f32\n"
             "  for i0 < 5 thread\n  stage {\n    for i1 < 1000 lane 16 x 4\n    %%0 = load b1[1000*i0 + i1] : f32\n"
             "    %%1 = load b2[%s*i0] if (-1 - i0) : f32\n    %%2 = add %%0, %%1 : f32\n"
             "    store b0[1000*i0 + i1] = %%2\n  }\n}\n",
             direction, far);
    weft_test_ok(weft_kernel_parse(NULL, "sum", text, strlen(text), &kernel));
    return kernel;
}

/* Two vectors of bf16 at a time. */
static weft_kernel *parse_pairs(const char *direction, const char *far)
{
    char text[640];
    weft_kernel *kernel;
    snprintf(text, sizeof text,
             "kernel scheduled {\n  symbol n in [1, 100000000000]\n  buffer b0 : bf16 %s\n  buffer b1 : bf16\n  buffer "
             "b2 : f32\n"
             "  for i0 < 5 thread\n  stage {\n    for i1 < 1000 lane 16 x 4\n    %%0 = load b1[1000*i0 + i1] : bf16\n"
             "    %%1 = cast %%0 : f32\n    %%2 = load b2[%s*i0] if (-1 - i0) : f32\n    %%3 = add %%1, %%2 : f32\n"
             "    %%4 = cast %%3 : bf16\n    store b0[1000*i0 + i1] = %%4\n  }\n}\n",
             direction, far);
    weft_test_ok(weft_kernel_parse(NULL, "pairs", text, strlen(text), &kernel));
    return kernel;
}

static const char *const FAR = "100000000000", *const NEAR = "100", *const UNKNOWN = "n";

static bool has(const weft_kernel *kernel, const char *wanted)
{
    weft_bytes code;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    bool found = strstr(code.data, wanted) != NULL;
    weft_bytes_finish(&code);
    return found;
}

static void check_code(weft_kernel *kernel, bool expected)
{
    assert_true(has(kernel, "!nontemporal") == expected);
    assert_true(has(kernel, "sfence") == expected);
    weft_kernel_destroy(kernel);
}

static void test_sizes(void **state)
{
    (void)state;
    check_code(parse_sum("out unread", FAR), true);
    check_code(parse_sum("out unread", NEAR), false);
    check_code(parse_sum("out unread", UNKNOWN), true);
    check_code(parse_sum("out", FAR), false);
    check_code(parse_pairs("out unread", FAR), true);
    check_code(parse_pairs("out unread", NEAR), false);
}

/* Whole lines of a transposition, if those of the result begin where lines do. */
static void test_transpositions(void **state)
{
    (void)state;
    for (int row = 80; row <= 88; row += 8) {
        char text[512];
        weft_kernel *kernel;
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  buffer b0 : f32 out unread\n  buffer b1 : f32\n  stage {\n"
                 "    for i0 < 64\n    for i1 < 64 lane 16 x 2\n    %%0 = load b1[%s*i0 + i1] : f32\n"
                 "    store b0[%d*i1 + i0] = %%0\n  }\n}\n",
                 FAR, row);
        weft_test_ok(weft_kernel_parse(NULL, "transposition", text, strlen(text), &kernel));
        check_code(kernel, row == 80 && weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
    }
}

enum { ROWS = 5, COLUMNS = 1000, LINE = 16 };

/* Runs the sum with a result `shift` elements after the beginning of a line, or in the place of its operand. */
static void run(const weft_kernel *kernel, weft_kernel_function function, int64_t far, size_t shift, bool in_place)
{
    static _Alignas(64) float memory[2][ROWS * COLUMNS + 3 * LINE], results[2][ROWS * COLUMNS];
    float *x = memory[0] + shift + LINE, *y = in_place ? x : memory[1] + shift + LINE;
    void *buffers[3] = {y, x, memory[0]};
    weft_error_slot error = {INT64_MAX, 0, 0};
    const weft_kernel_frame frame = {buffers, &far, &error};
    for (int i = 0; i < 2; i++) {
        memset(memory, 0, sizeof memory);
        for (int k = 0; k < ROWS * COLUMNS; k++) x[k] = (float)k;
        if (i == 0) weft_test_interpret(kernel, &frame, 0, ROWS);
        else function(&frame, 0, ROWS);
        memcpy(results[i], y, sizeof results[i]);
        assert_true(y[-1] == 0 && y[ROWS * COLUMNS] == 0);
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
}

static void check_places(weft_kernel *kernel, int64_t far)
{
    weft_bytes object;
    weft_image *image;
    weft_kernel_function function;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object));
    weft_test_ok(llvm->load(object.data, object.size, "kernel", &image, &function));
    for (size_t shift = 0; shift < LINE; shift++) {
        run(kernel, function, far, shift, false);
        run(kernel, function, far, shift, true);
    }
    llvm->unload(image);
    weft_bytes_finish(&object);
    weft_kernel_destroy(kernel);
}

static void test_places(void **state)
{
    (void)state;
    check_places(parse_sum("out unread", FAR), 1);
    check_places(parse_sum("out unread", UNKNOWN), 100000000000);
    check_places(parse_sum("out unread", UNKNOWN), 100);
    check_places(parse_pairs("out unread", FAR), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),        cmocka_unit_test(test_text),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_transpositions), cmocka_unit_test(test_places),
    };
    llvm = weft_llvm_query();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
