/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and unloading leaves nothing behind: resident memory and the number of mappings stay where they were after
 * the first cycles. An argument N runs N loads and N / 10 compilations, each of a kernel of its own.
 */
#include <malloc.h>
#include "lib/math/math.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backends/llvm/llvm.h"
#include "test/support.h"

static size_t cycles = 2000;

static const char text[] =
    "kernel scheduled {\n  symbol n in [0, 1000000]\n  buffer b0 : f32 out\n  buffer b1 : f32\n"
    "  for i0 < n lane 8 x 4\n  stage {\n    %%0 = load b1[i0] : f32\n    %%1 = const 0x1.%05zxp+0 : f32\n"
    "    %%2 = mul %%0, %%1 : f32\n    %%3 = exp %%2 : f32\n    store b0[i0] = %%3\n  }\n}\n";

static void emit(size_t number, weft_bytes *out_object)
{
    char source[1024];
    weft_kernel *kernel;
    snprintf(source, sizeof source, text, 2 * number + 1);
    weft_test_ok(weft_kernel_parse(NULL, "kernel", source, strlen(source), &kernel));
    weft_test_ok(weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE));
    weft_test_ok(weft_llvm_query()->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, out_object));
    weft_kernel_destroy(kernel);
}

static void load_and_run(const weft_bytes *object)
{
    weft_image *image;
    weft_kernel_function function;
    weft_test_ok(weft_llvm_query()->load(object->data, object->size, "kernel", &image, &function));
    float input[9] = {0}, output[9] = {0};
    void *buffers[2] = {output, input};
    int64_t n = 9;
    weft_error_slot error = {INT64_MAX, 0, 0};
    function(&(weft_kernel_frame){buffers, &n, &error}, 0, 1);
    assert_true(output[8] == 1);
    weft_llvm_query()->unload(image);
}

/* Runs `cycle` `count` times; the last nine tenths may add no mapping and next to no memory. */
static void check_flat(void (*cycle)(size_t number), size_t count)
{
    for (size_t i = 0; i < count / 10; i++) cycle(i);
    long kilobytes = weft_test_resident();
    size_t maps = weft_test_mappings();
    for (size_t i = count / 10; i < count; i++) cycle(i);
    print_message("%zu cycles: %ld KB, then %ld KB; %zu mappings, then %zu\n", count, kilobytes, weft_test_resident(),
                  maps, weft_test_mappings());
    assert_true(WEFT_TEST_ADDRESS || weft_test_resident() - kilobytes < 2048);
    assert_true(WEFT_TEST_ADDRESS || weft_test_mappings() <= maps + 4);
}

static weft_bytes emitted;

static void load_cycle(size_t number)
{
    (void)number;
    load_and_run(&emitted);
}

static void compile_cycle(size_t number)
{
    weft_bytes object;
    emit(number, &object);
    load_and_run(&object);
    weft_bytes_finish(&object);
}

static void test_loads(void **state)
{
    (void)state;
    emit(0, &emitted);
    check_flat(load_cycle, cycles);
    weft_bytes_finish(&emitted);
}

static void test_compilations(void **state)
{
    (void)state;
    check_flat(compile_cycle, cycles / 10);
}

/* Many at once, unloaded in another order: the memory of code goes down again. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 500, CHUNK = 4 << 20 };
    static weft_image *images[MANY];
    weft_kernel_function function;
    emit(0, &emitted);
    size_t maps = weft_test_mappings(), chunks = MANY * emitted.size / CHUNK;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++)
            weft_test_ok(weft_llvm_query()->load(emitted.data, emitted.size, "kernel", &images[i], &function));
        assert_true(WEFT_TEST_ADDRESS || weft_test_mappings() <= maps + chunks + 4);
        for (size_t i = 0; i < MANY; i++) weft_llvm_query()->unload(images[i * 7 % MANY]);
    }
    weft_bytes_finish(&emitted);
}

/* Loads until there is no room for another image. */
static int load_all(void)
{
    static weft_image *image;
    weft_kernel_function function;
    weft_status *status = NULL;
    for (int i = 0; i < 10000 && status == NULL; i++)
        status = weft_llvm_query()->load(emitted.data, emitted.size, "kernel", &image, &function);
    bool right = weft_status_code(status) == WEFT_OUT_OF_MEMORY &&
                 strstr(weft_status_message(status), "bytes of code: Cannot allocate memory") != NULL;
    if (!right) fprintf(stderr, "%s\n", weft_status_message(status));
    return right ? 0 : 1;
}

/* The heap keeps what it has, for LLVM, which ends the process without. */
static void limit_space(void)
{
    enum { BLOCKS = 2000, BLOCK = 1 << 16 };
    static void *blocks[BLOCKS];
    mallopt(M_MMAP_THRESHOLD, 2 * BLOCK);
    mallopt(M_TRIM_THRESHOLD, 2 * BLOCKS * BLOCK);
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(BLOCK);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_AS, &none);
}

static void test_no_room(void **state)
{
    (void)state;
    if (WEFT_TEST_ADDRESS) skip();
    int result = -1;
    emit(0, &emitted);
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        limit_space();
        _exit(load_all());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    weft_bytes_finish(&emitted);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_compilations),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_room),
    };
    if (argc > 1) cycles = strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
