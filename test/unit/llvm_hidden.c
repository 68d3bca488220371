/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden from LLVM, whose searches would take longer than all else: counters, shuffles, constants. With
 * AVX-512. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "backends/llvm/llvm.h"
#include "lib/math/math.h"
#include "runtime/base/isa.h"
#include "test/support.h"

static const weft_llvm_interface *llvm;

static weft_kernel *parse(const char *text)
{
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_parse(NULL, "kernel", text, strlen(text), &kernel));
    weft_test_ok(weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE));
    return kernel;
}

static bool has(const char *text, const char *wanted)
{
    weft_kernel *kernel = parse(text);
    weft_bytes code;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    bool found = strstr(code.data, wanted) != NULL;
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
    return found;
}

/* Counters; and a product with one becomes a pointer that counts, or where several pointers have it, a counter. */
static void test_counters(void **state)
{
    (void)state;
    static const struct {
        const char *second;
        bool is_pointer;
    } cases[] = {{"i0", true}, {"9*i0", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  buffer b0 : f32 out\n  buffer b1 : f32\n  buffer b2 : f32\n"
                 "  for i0 < 1000\n  stage {\n    %%0 = load b1[9*i0] : f32\n    %%1 = load b2[%s] : f32\n"
                 "    %%2 = add %%0, %%1 : f32\n    store b0[i0] = %%2\n  }\n}\n",
                 cases[i].second);
        assert_true(has(text, "freeze i64"));
        assert_true(has(text, "freeze ptr") == cases[i].is_pointer);
        assert_false(has(text, "mul i64"));
    }
}

/* Rows of sixteen columns, stored one place further to the left in each row. */
static void test_shuffles(void **state)
{
    (void)state;
    enum { COLUMNS = 16, STEP = 20 };
    char text[4096];
    int at = snprintf(text, sizeof text,
                      "kernel scheduled {\n  symbol n in [0, 100000]\n  buffer b0 : i32 out\n  buffer b1 : i32\n"
                      "  for i0 < n lane 16 x 1\n  stage {\n");
    for (int i = 0; i < COLUMNS; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "    %%%d = load b1[%d*i0 + %d] : i32\n", i, STEP, i);
    for (int i = 0; i < COLUMNS; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "    store b0[%d*i0 + %d] = %%%d\n", STEP, i,
                       (i + 1) % COLUMNS);
    snprintf(text + at, sizeof text - (size_t)at, "  }\n}\n");
    assert_true(has(text, "llvm.arithmetic.fence"));
}

/* Constant number `i` of a polynomial. */
static float coefficient(int i)
{
    return 1.0f / (float)(3 * i + 1);
}

static void print_polynomial(char *text, size_t size, int count)
{
    int at = snprintf(text, size,
                      "kernel scheduled {\n  symbol n in [0, 100000]\n  buffer b0 : f32 out\n  buffer b1 : f32\n"
                      "  for i0 < n lane 16 x 2\n  stage {\n    %%0 = load b1[i0] : f32\n");
    for (int i = 0; i < count; i++)
        at += snprintf(text + at, size - (size_t)at,
                       "    %%%d = const %.9g : f32\n    %%%d = fma %%%d, %%0, %%%d : f32\n", 2 * i + 1,
                       (double)coefficient(i), 2 * i + 2, 2 * i, 2 * i + 1);
    snprintf(text + at, size - (size_t)at, "    store b0[i0] = %%%d\n  }\n}\n", 2 * count);
}

static void run_polynomial(const char *text, const float *in, float *out, int64_t count)
{
    weft_kernel *kernel = parse(text);
    weft_bytes object;
    weft_image *image;
    weft_kernel_function function;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object));
    weft_test_ok(llvm->load(object.data, object.size, "kernel", &image, &function));
    void *buffers[2] = {out, (void *)in};
    weft_error_slot error = {INT64_MAX, 0, 0};
    weft_kernel_frame frame = {buffers, &count, &error};
    function(&frame, 0, 1);
    llvm->unload(image);
    weft_bytes_finish(&object);
    weft_kernel_destroy(kernel);
}

/* Those of a short polynomial are in registers; with those of a long one, each result is what fmaf gives. */
static void test_constants(void **state)
{
    (void)state;
    enum { FEW = 20, MANY = 40, COUNT = 75 };
    char text[8192];
    float in[COUNT], out[COUNT];
    print_polynomial(text, sizeof text, FEW);
    assert_false(has(text, "unnamed_addr global float"));
    print_polynomial(text, sizeof text, MANY);
    assert_true(has(text, "unnamed_addr global float"));
    for (int k = 0; k < COUNT; k++) in[k] = (float)(k - COUNT / 2) / (float)COUNT;
    run_polynomial(text, in, out, COUNT);
    for (int k = 0; k < COUNT; k++) {
        float expected = in[k];
        for (int i = 0; i < MANY; i++) expected = fmaf(expected, in[k], coefficient(i));
        assert_memory_equal(&expected, &out[k], sizeof expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_constants),
    };
    if (!weft_isa_includes(weft_isa_level(), WEFT_ISA_V4)) return 77; /* meson: skipped */
    llvm = weft_llvm_query();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
