/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code against the interpreter of the loop IR, every buffer ending at, and again beginning at, a page that
 * traps. */
#include <math.h>
#include "lib/math/math.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backends/llvm/llvm.h"
#include "test/interpret.h"
#include "test/rng.h"
#include "test/support.h"

enum { MOST_BUFFERS = 6, MOST_SCALARS = 4 };

static const weft_llvm_interface *llvm;
static bool have_ptxas;

/* ---- buffers between pages that trap ---- */

typedef struct region {
    char *map;
    size_t map_size;
    char *data; /* of `size` bytes */
    size_t size;
} region;

static region create_region(size_t size, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size + page - 1) / page * page;
    region r = {.map_size = inner + 2 * page, .size = size};
    r.map = mmap(NULL, r.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(r.map != MAP_FAILED);
    assert_int_equal(inner == 0 ? 0 : mprotect(r.map + page, inner, PROT_READ | PROT_WRITE), 0);
    r.data = r.map + page + (at_end ? inner - size : 0);
    return r;
}

static uint64_t random_state = 1;

static uint32_t next_random(void)
{
    return (uint32_t)weft_test_bits(&random_state);
}

static double random_number(bool special)
{
    static const double specials[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, 1e30, -1e30, 3e9, 1e-40, 0.5, 2.5};
    if (special && next_random() % 2 == 0) return specials[next_random() % (sizeof specials / sizeof *specials)];
    return ((double)(next_random() % 2000001) - 1e6) / 250000.0;
}

static void fill_element(char *at, weft_dtype dtype, bool special)
{
    double number = random_number(special);
    float single = (float)number;
    int32_t i32 = (int32_t)(next_random() % 21) - 10;
    int64_t i64 = i32;
    uint8_t byte = dtype == WEFT_BOOL ? (uint8_t)(next_random() % 3) : (uint8_t)next_random();
    switch (dtype) {
    case WEFT_F32: memcpy(at, &single, sizeof single); break;
    case WEFT_F64: memcpy(at, &number, sizeof number); break;
    case WEFT_BF16:
        if (special && next_random() % 4 == 0) i32 = (int32_t)next_random();
        else memcpy(&i32, (char *)&single + 2, 2);
        memcpy(at, &i32, 2);
        break;
    case WEFT_I64: memcpy(at, &i64, sizeof i64); break;
    case WEFT_I32: memcpy(at, &i32, sizeof i32); break;
    case WEFT_U32: memcpy(at, &i32, sizeof i32); break;
    default:
        *at = (char)byte;
        for (size_t i = 1; i < weft_dtype_size(dtype); i++) at[i] = (char)next_random();
    }
}

/* ---- one kernel ---- */

typedef struct example {
    const char *name, *text;
    int64_t scalars[MOST_SCALARS];
    struct {
        int64_t before, after; /* elements of the buffer in front of element 0, and from it on */
    } buffers[MOST_BUFFERS];
    bool special; /* infinities, NaN and the like among the inputs */
    bool small;   /* integers stay within [0, 4] */
} example;

typedef struct bench {
    weft_kernel *kernel;
    void *pointers[MOST_BUFFERS];
    region regions[MOST_BUFFERS];
    weft_error_slot error;
    weft_kernel_frame frame;
} bench;

static weft_kernel *parse(const example *x)
{
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_parse(NULL, x->name, x->text, strlen(x->text), &kernel));
    weft_test_ok(weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE));
    return kernel;
}

static void set_up(bench *b, const example *x, weft_kernel *kernel, bool at_end, uint32_t seed)
{
    *b = (bench){.kernel = kernel, .error = {INT64_MAX, 0, 0}};
    random_state = seed;
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
        size_t size = weft_dtype_size(kernel->buffers[i].dtype);
        int64_t count = x->buffers[i].before + x->buffers[i].after;
        b->regions[i] = create_region((size_t)count * size, at_end);
        for (int64_t k = 0; k < count; k++) {
            char *at = b->regions[i].data + (size_t)k * size;
            fill_element(at, kernel->buffers[i].dtype, x->special);
            if (x->small && kernel->buffers[i].dtype == WEFT_I64) memcpy(at, &(int64_t){next_random() % 5}, size);
            if (kernel->buffers[i].written) memset(at, 0xab, size);
        }
        b->pointers[i] = b->regions[i].data + (size_t)x->buffers[i].before * size;
    }
    b->frame = (weft_kernel_frame){b->pointers, x->scalars, &b->error};
}

static void tear_down(bench *b)
{
    for (uint32_t i = 0; i < b->kernel->buffer_count; i++) munmap(b->regions[i].map, b->regions[i].map_size);
}

static bool is_quiet_bf16(const char *at)
{
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return (bits & 0x7fff) >= 0x7fc0;
}

static bool equal_elements(weft_dtype dtype, const char *a, const char *b)
{
    float x, y;
    double u, v;
    size_t size = weft_dtype_size(dtype);
    if (memcmp(a, b, size) == 0) return true;
    if (dtype == WEFT_BF16) return is_quiet_bf16(a) && is_quiet_bf16(b);
    memcpy(&x, a, sizeof x < size ? sizeof x : size);
    memcpy(&y, b, sizeof y < size ? sizeof y : size);
    if (dtype == WEFT_F32) return isnan(x) && isnan(y);
    if (dtype != WEFT_F64) return false;
    memcpy(&u, a, sizeof u);
    memcpy(&v, b, sizeof v);
    return isnan(u) && isnan(v);
}

static void compare(const example *x, const bench *expected, const bench *found)
{
    for (uint32_t i = 0; i < expected->kernel->buffer_count; i++) {
        weft_dtype dtype = expected->kernel->buffers[i].dtype;
        size_t size = weft_dtype_size(dtype);
        for (size_t k = 0; k < expected->regions[i].size; k += size) {
            if (equal_elements(dtype, expected->regions[i].data + k, found->regions[i].data + k)) continue;
            fail_msg("%s: buffer b%u differs at element %zu", x->name, i, k / size);
        }
    }
    assert_int_equal(expected->error.position, found->error.position);
    assert_int_equal(expected->error.value, found->error.value);
    assert_int_equal(expected->error.site, found->error.site);
}

/* The iterations as a whole, in two pieces and in three. */
static void run_pieces(const example *x, weft_kernel *kernel, weft_kernel_function function, bool at_end)
{
    bench expected, found;
    set_up(&expected, x, kernel, at_end, 7);
    int64_t count = weft_test_iterations(kernel, &expected.frame);
    weft_test_interpret(kernel, &expected.frame, 0, count);
    for (int64_t pieces = 1; pieces <= 3; pieces++) {
        set_up(&found, x, kernel, at_end, 7);
        if (count == 0) function(&found.frame, 0, 0);
        for (int64_t p = 0; p < pieces; p++) function(&found.frame, count * p / pieces, count * (p + 1) / pieces);
        compare(x, &expected, &found);
        tear_down(&found);
    }
    tear_down(&expected);
}

static void assemble(const char *text)
{
    char path[] = "/tmp/weft-ptx-XXXXXX", command[128];
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    snprintf(command, sizeof command, "ptxas -arch=sm_90 -o /dev/null %s", path);
    int result = system(command);
    unlink(path);
    assert_int_equal(result, 0);
}

static void check_ptx(const example *x, const weft_kernel *kernel)
{
    weft_bytes text;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_PTX, &text));
    if (strstr(text.data, ".visible .entry kernel(") == NULL) fail_msg("%s has no entry", x->name);
    if (have_ptxas) assemble(text.data);
    weft_bytes_finish(&text);
}

/* The code of the last text: most texts are run with many sizes. */
static struct {
    char text[8192];
    weft_image *image;
    weft_kernel_function function;
} last;

static void unload_last(void)
{
    if (last.image != NULL) llvm->unload(last.image);
    last.image = NULL;
}

static weft_kernel_function compile(const example *x, weft_kernel *kernel)
{
    if (last.image != NULL && strcmp(last.text, x->text) == 0) return last.function;
    weft_bytes object;
    unload_last();
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object));
    weft_test_ok(llvm->load(object.data, object.size, "kernel", &last.image, &last.function));
    weft_bytes_finish(&object);
    assert_true(strlen(x->text) < sizeof last.text);
    strcpy(last.text, x->text);
    return last.function;
}

static void check_on_cpu(const example *x, weft_kernel *kernel)
{
    weft_kernel_function function = compile(x, kernel);
    run_pieces(x, kernel, function, true);
    run_pieces(x, kernel, function, false);
}

static void check(const example *x)
{
    weft_kernel *kernel = parse(x);
    check_on_cpu(x, kernel);
    weft_kernel_destroy(kernel);
}

/* For the GPU, too: once for each text. */
static void check_both(const example *x)
{
    weft_kernel *kernel = parse(x);
    check_on_cpu(x, kernel);
    check_ptx(x, kernel);
    weft_kernel_destroy(kernel);
}

static const int64_t lengths[] = {1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- elementwise ---- */

/* Integers of both signs by a constant: one above zero divides what is not negative. */
static const char quotient_text[] = "kernel scheduled {\n"
                                    "  buffer b0 : %s out\n  buffer b1 : %s\n  sites 1\n"
                                    "  for i0 < 100 lane 8 x 2\n"
                                    "  stage {\n"
                                    "    %%0 = load b1[i0] : %s\n"
                                    "    %%1 = const %d : %s\n"
                                    "    %%2 = div %%0, %%1 site 0 at i0 : %s\n"
                                    "    store b0[i0] = %%2\n"
                                    "  }\n}\n";

static void test_quotients(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"i32", "i64"};
    static const int divisors[] = {1, 2, 3, 7, 1000, -1, -3};
    char text[512];
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        for (size_t k = 0; k < sizeof divisors / sizeof *divisors; k++) {
            const char *d = dtypes[i];
            snprintf(text, sizeof text, quotient_text, d, d, d, divisors[k], d, d);
            example x = {.name = text, .text = text, .buffers = {{0, 100}, {0, 100}}};
            check(&x);
            weft_kernel *kernel = parse(&x);
            weft_bytes code;
            weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
            if (divisors[k] == 7 && i == 0) assert_non_null(strstr(code.data, "udiv <8 x i32>"));
            weft_bytes_finish(&code);
            weft_kernel_destroy(kernel);
        }
    }
}

static const char add_text[] = "kernel scheduled {\n"
                               "  symbol n in [0, 1000000]\n"
                               "  buffer b0 : f32 out\n  buffer b1 : f32\n  buffer b2 : f32\n"
                               "  for i0 < (n + 63)/64 thread\n"
                               "  for i1 < min(64, n - 64*i0) lane 8 x 4\n"
                               "  stage {\n"
                               "    %0 = load b1[64*i0 + i1] : f32\n"
                               "    %1 = load b2[64*i0 + i1] : f32\n"
                               "    %2 = add %0, %1 : f32\n"
                               "    store b0[64*i0 + i1] = %2\n"
                               "  }\n}\n";

static void test_tails(void **state)
{
    (void)state;
    example x = {.name = "add", .text = add_text, .special = true};
    check_both(&x);
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = lengths[i];
        for (int b = 0; b < 3; b++) x.buffers[b].after = lengths[i];
        check(&x);
    }
}

/* b0[i] = b1[n-1-i] + b2[stride*i] + b3[0] * b4[(i/7) mod 3], under a predicate on the lane. */
static const char layouts_text[] = "kernel scheduled {\n"
                                   "  symbol n in [0, 100000]\n  symbol s in [0, 100]\n"
                                   "  buffer b0 : f32 out\n  buffer b1 : f32\n  buffer b2 : f32\n  buffer b3 : f32\n"
                                   "  buffer b4 : f32\n  buffer b5 : f32\n"
                                   "  for i0 < n lane 8 x 2\n"
                                   "  stage {\n"
                                   "    %0 = load b1[-1*i0] : f32\n"
                                   "    %1 = load b2[s*i0] : f32\n"
                                   "    %2 = load b3[5] : f32\n"
                                   "    %3 = load b4[i0/7 mod 3] : f32\n"
                                   "    %4 = load b5[i0 - 3] if (i0 - 3, n - 5 - i0) : f32\n"
                                   "    %5 = load b5[2*i0] if (n - 1 - 2*i0) : f32\n"
                                   "    %6 = add %0, %1 : f32\n"
                                   "    %7 = mul %2, %3 : f32\n"
                                   "    %8 = add %4, %5 : f32\n"
                                   "    %9 = sub %6, %7 : f32\n"
                                   "    %10 = add %9, %8 : f32\n"
                                   "    store b0[i0] = %10 if (n - 2 - i0)\n"
                                   "  }\n}\n";

static void test_layouts(void **state)
{
    (void)state;
    example x = {.name = "layouts", .text = layouts_text, .buffers = {[3] = {0, 6}, [4] = {0, 3}}};
    for (size_t i = 0; i < LENGTHS; i++) {
        int64_t n = lengths[i];
        x.scalars[0] = n;
        x.scalars[1] = 3;
        x.buffers[0].after = n;
        x.buffers[1].before = n - 1;
        x.buffers[1].after = 1;
        x.buffers[2].after = 3 * (n - 1) + 1;
        x.buffers[5].after = n;
        if (i == 0) check_both(&x);
        else check(&x);
    }
}

/* b0[i] = b1[f(i)], where lanes are near each other: a part of them is picked from one vector or a few. */
static const char near_text[] = "kernel scheduled {\n"
                                "  symbol n in [0, 100000]\n  symbol s in [-1, 1]\n"
                                "  buffer b0 : %s out\n  buffer b1 : %s\n"
                                "  for i0 < %s lane 8 x %d\n"
                                "  stage {\n"
                                "    %%0 = load b1[%s]%s : %s\n"
                                "    store b0[i0] = %%0\n"
                                "  }\n}\n";

static void check_near(const char *index, int64_t n, int64_t least, int64_t most, uint32_t variant)
{
    static const char *const dtypes[] = {"f32", "u8", "f64"};
    const char *dtype = dtypes[variant % 3];
    char text[512], extent[24];
    snprintf(extent, sizeof extent, variant % 2 == 0 ? "n" : "%d", (int)n);
    snprintf(text, sizeof text, near_text, dtype, dtype, extent, variant % 4 == 0 ? 1 : 4, index,
             variant % 5 == 0 ? " if (s)" : "", dtype);
    example x = {.name = text, .text = text, .scalars = {n, variant % 10 == 0 ? -1 : 0}};
    x.buffers[0].after = n;
    x.buffers[1].before = least < 0 ? -least : 0;
    x.buffers[1].after = most + 1;
    check(&x);
}

static void test_near_lanes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * LENGTHS; i++) {
        uint32_t variant = i + i / LENGTHS;
        int64_t n = lengths[i % LENGTHS], end = n - 1;
        check_near("i0/4", n, 0, end / 4, variant);
        check_near("(i0 + 5)/2", n, 0, (end + 5) / 2, variant);
        check_near("i0/3", n, 0, end / 3, variant);
        check_near("i0 mod 4", n, 0, end < 3 ? end : 3, variant);
        check_near("(i0 + 1) mod 7", n, 0, end < 5 ? end + 1 : 6, variant);
        check_near("-1*(i0/2)", n, -(end / 2), 0, variant);
        check_near("2*i0 + (3*i0 + 1)/4", n, 0, 2 * end + (3 * end + 1) / 4, variant);
        check_near("-3*i0", n, -3 * end, 0, variant);
        check_near("5*(i0/8) + 2*(i0 mod 8)", n, 0, 5 * (end / 8) + 14, variant);
    }
}

/* Rows that vectors do not end with: the lanes of one are in two of them. */
static void test_wrapped_lanes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * LENGTHS; i++) {
        uint32_t variant = i + i / LENGTHS;
        int64_t n = lengths[i % LENGTHS], end = n - 1;
        check_near("i0/11", n, 0, end / 11, variant);
        check_near("i0 mod 8", n, 0, end < 7 ? end : 7, variant);
        check_near("(i0 + 5) mod 9", n, 0, end < 3 ? end + 5 : 8, variant);
        check_near("i0 + i0/9", n, 0, end + end / 9, variant);
        check_near("i0 - 3*((i0 + 2)/10)", n, -3, end + 3, variant);
        check_near("12*((i0 + 1)/10) + (i0 + 1) mod 10", n, 0, end + 3 + 2 * (end / 10), variant);
        check_near("20*(i0/27 mod 3) + i0 mod 27", n, 0, 66, variant);
        check_near("i0/33 + 2*(i0/11 mod 3) + 5*(i0 mod 11)", n, 0, end / 33 + 54, variant);
        check_near("-1*(i0 mod 12)", n, -11, 0, variant);
        check_near("(i0 + n)/(n + 10) + i0", n, 0, end + 2, variant);
    }
}

/* No element of eight lanes is loaded by itself where they are near each other, nor of lanes that wrap. */
static void test_near_vectors(void **state)
{
    (void)state;
    char text[512];
    static const struct {
        const char *index, *load;
    } cases[] = {{"i0/4", "load <8 x float>"}, {"i0 + i0/100", "@llvm.masked.load.v8f32"}};
    size_t count = weft_isa_includes(weft_isa_level(), WEFT_ISA_V3) ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, near_text, "f32", "f32", "1024", 4, cases[i].index, "", "f32");
        example x = {.name = text, .text = text};
        weft_kernel *kernel = parse(&x);
        weft_bytes code;
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        assert_null(strstr(code.data, "load float,"));
        assert_null(strstr(code.data, "masked.gather"));
        assert_non_null(strstr(code.data, cases[i].load));
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* Elements of rows that lie `step` apart, of which each lane has one: b0[row, i] is what b1[row, columns - 1 - i] and
 * b1[row, i] are together. */
static void print_rows(char *text, size_t size, const char *dtype, int columns, int step, int width)
{
    int at = snprintf(text, size,
                      "kernel scheduled {\n  symbol n in [0, 100000]\n  buffer b0 : %s out\n  buffer b1 : %s\n"
                      "  for i0 < n lane %d x %d\n  stage {\n",
                      dtype, dtype, width, columns % 3 == 0 ? 2 : 1);
    for (int i = 0; i < columns; i++)
        at += snprintf(text + at, size - (size_t)at, "    %%%d = load b1[%d*i0 + %d] : %s\n", i, step, i, dtype);
    for (int i = 0; i < columns; i++)
        at += snprintf(text + at, size - (size_t)at, "    %%%d = add %%%d, %%%d : %s\n", columns + i, columns - 1 - i,
                       i, dtype);
    for (int i = 0; i < columns; i++)
        at += snprintf(text + at, size - (size_t)at, "    store b0[%d*i0 + %d] = %%%d\n", step, i, columns + i);
    snprintf(text + at, size - (size_t)at, "  }\n}\n");
}

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        int width;
    } kinds[] = {{"f32", 16}, {"f64", 8}, {"i32", 16}, {"i64", 8}, {"f32", 8}, {"u8", 2}};
    char text[8192];
    for (int columns = 1; columns < 12; columns++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            for (int step = columns; step <= columns + 2; step += 2) {
                print_rows(text, sizeof text, kinds[kind].dtype, columns, step, kinds[kind].width);
                example x = {.name = "rows", .text = text};
                for (size_t i = 0; i < LENGTHS; i += 3) {
                    x.scalars[0] = lengths[i] % 100;
                    for (int b = 0; b < 2; b++)
                        x.buffers[b].after = x.scalars[0] == 0 ? 0 : step * (x.scalars[0] - 1) + columns;
                    check(&x);
                }
            }
}

/* Nor is one of ten of a row of twelve, where a vector instruction for 16 bytes of each row is there. */
static void test_row_vectors(void **state)
{
    (void)state;
    char text[8192];
    if (!weft_isa_includes(weft_isa_level(), WEFT_ISA_V4)) skip();
    print_rows(text, sizeof text, "f32", 10, 12, 16);
    example x = {.name = "row vectors", .text = text};
    weft_kernel *kernel = parse(&x);
    weft_bytes code;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    assert_non_null(strstr(code.data, "load <4 x float>"));
    assert_non_null(strstr(code.data, "store <4 x float>"));
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
}

/* Bytes have no masked instructions; a reversed store; bools of any non-zero byte; casts. */
static const char bytes_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 100000]\n"
    "  buffer b0 : bool out\n  buffer b1 : u8 out\n  buffer b2 : f64 out\n  buffer b3 : bool\n"
    "  buffer b4 : u8\n"
    "  for i0 < n lane 8 x 4\n"
    "  stage {\n"
    "    %0 = load b3[i0] : bool\n"
    "    %1 = load b4[i0] : u8\n"
    "    %2 = cast %1 : i32\n"
    "    %3 = const 100 : i32\n"
    "    %4 = gt %2, %3 : bool\n"
    "    %5 = xor %0, %4 : bool\n"
    "    %6 = add %1, %1 : u8\n"
    "    %7 = cast %1 : f64\n"
    "    %8 = select %0, %6, %1 : u8\n"
    "    store b0[i0] = %5\n"
    "    store b1[-1*i0] = %8\n"
    "    store b2[-1*i0] = %7\n"
    "  }\n}\n";

static void test_bytes(void **state)
{
    (void)state;
    example x = {.name = "bytes", .text = bytes_text};
    for (size_t i = 0; i < LENGTHS; i++) {
        int64_t n = lengths[i];
        x.scalars[0] = n;
        for (int b = 0; b < 5; b++) x.buffers[b].after = n;
        x.buffers[1].before = x.buffers[2].before = n - 1;
        x.buffers[1].after = x.buffers[2].after = 1;
        if (i == 0) check_both(&x);
        else check(&x);
    }
}

/* Rows to columns: whole blocks, blocks that overlap, fewer rows or lanes than a block has. */
static void write_transposition(char *text, size_t size, const char *dtype, int width, const char *rows,
                                const char *lanes, const char *condition)
{
    snprintf(text, size,
             "kernel scheduled {\n  symbol m in [0, 70]\n  symbol n in [0, 1000]\n"
             "  buffer b0 : %s out\n  buffer b1 : %s\n"
             "  stage {\n    for i0 < %s\n    for i1 < %s lane %d x 2\n"
             "    %%0 = load b1[n*i0 + i1]%s : %s\n    store b0[70*i1 + i0] = %%0\n  }\n}\n",
             dtype, dtype, rows, lanes, width, condition, dtype);
}

static void check_transposition(const char *dtype, int width, bool is_static, const char *condition)
{
    static const int64_t sizes[][2] = {{1, 1}, {3, 70}, {16, 64}, {64, 5}, {19, 33}, {70, 67}};
    char text[1024], rows[8] = "m", lanes[8] = "n";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t m = sizes[i][0], n = sizes[i][1];
        if (is_static) snprintf(rows, sizeof rows, "%d", (int)m);
        if (is_static) snprintf(lanes, sizeof lanes, "%d", (int)n);
        write_transposition(text, sizeof text, dtype, width, rows, lanes, condition);
        example x = {.name = dtype, .text = text, .scalars = {m, n}};
        x.buffers[0].after = 70 * (n - 1) + m;
        x.buffers[1].after = m * n;
        if (i == 0 && width == 8) check_both(&x);
        else check(&x);
    }
}

static void test_transpositions(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        int width;
    } vectors[] = {{"f32", 4}, {"f32", 8},  {"f32", 16},  {"f64", 2},   {"f64", 8}, {"u8", 8},  {"u8", 32},
                   {"u8", 64}, {"f16", 16}, {"bf16", 32}, {"bool", 16}, {"i32", 2}, {"c64", 2}, {"c64", 4}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        check_transposition(vectors[i].dtype, vectors[i].width, false, "");
        check_transposition(vectors[i].dtype, vectors[i].width, true, "");
    }
    check_transposition("f32", 8, false, " if (i0 - 2, i1 + i0 - 9)");
    check_transposition("u8", 16, false, " if (n - i1 - 3)");
}

static void test_transposed_registers(void **state)
{
    (void)state;
    char text[1024];
    weft_bytes code;
    write_transposition(text, sizeof text, "f32", 8, "64", "64", "");
    weft_kernel *kernel = parse(&(example){.name = "transposition", .text = text});
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    assert_non_null(strstr(code.data, "shufflevector <8 x float>"));
    assert_non_null(strstr(code.data, "store <8 x float>"));
    assert_null(strstr(code.data, "extractelement"));
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
}

/* Of an array whole lines are stored, where registers hold as many vectors. */
static void test_transposed_lines(void **state)
{
    (void)state;
    char text[1024];
    weft_bytes code;
    write_transposition(text, sizeof text, "f32", 16, "64", "64", "");
    weft_kernel *kernel = parse(&(example){.name = "transposition", .text = text});
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    bool has_lines = strstr(code.data, "store <16 x float>") != NULL;
    assert_int_equal(has_lines, weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
}

/* A reshape and a broadcast: aligned blocks of 64, blocks of 12, rows by the outer ranges; the odometer over three of
 * them. */
static const char blocks_text[] = "kernel scheduled {\n"
                                  "  symbol m in [1, 1000]\n"
                                  "  buffer b0 : f32 out\n  buffer b1 : f32\n  buffer b2 : f32\n  buffer b3 : f32\n"
                                  "  for i0 < m thread\n  for i1 < 3 thread\n  for i2 < m thread\n"
                                  "  for i3 < 128 lane 8 x 4\n"
                                  "  stage {\n"
                                  "    %0 = load b1[i3/64 + 2*(i3 mod 64)] : f32\n"
                                  "    %1 = load b2[12*(i3/12) + 11 - i3 mod 12 + i1] : f32\n"
                                  "    %2 = load b3[i0 + m*i2] : f32\n"
                                  "    %3 = load b1[64*(i3/64) + i3 mod 32] : f32\n"
                                  "    %10 = load b2[(i1 - i2) mod 3 + (i2 - i3)/50 + 3] : f32\n"
                                  "    %11 = load b2[(3*i3 - 40)/7 + 6] : f32\n"
                                  "    %4 = add %0, %1 : f32\n"
                                  "    %5 = mul %2, %3 : f32\n"
                                  "    %12 = mul %10, %11 : f32\n"
                                  "    %13 = sub %5, %12 : f32\n"
                                  "    %6 = max %4, %13 : f32\n"
                                  "    store b0[384*m*i0 + 128*m*i1 + 128*i2 + i3] = %6\n"
                                  "  }\n}\n";

static void test_blocks(void **state)
{
    (void)state;
    example x = {.name = "blocks", .text = blocks_text};
    for (int64_t m = 1; m <= 4; m++) {
        x.scalars[0] = m;
        x.buffers[0].after = 384 * m * m;
        x.buffers[1].after = 128;
        x.buffers[2].after = 134;
        x.buffers[3].after = m * m;
        if (m == 1) check_both(&x);
        else check(&x);
    }
}

/* ---- arithmetic of every dtype ---- */

static const char *const float_ops[] = {"add %0, %1", "sub %0, %1",     "mul %0, %1", "div %0, %1",
                                        "max %0, %1", "min %0, %1",     "neg %0",     "abs %0",
                                        "sqrt %0",    "fma %0, %1, %1", "round %0"};
static const char *const integer_ops[] = {"add %0, %1", "sub %0, %1", "mul %0, %1", "max %0, %1",
                                          "min %0, %1", "neg %0",     "abs %0",     "and %0, %1",
                                          "or %0, %1",  "xor %0, %1", "not %0",     "div %0, %1 site 3 at i0"};
static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

/* out[i] = operation of a[i] and b[i] on `dtype`, giving `result`. */
static void check_operation(const char *operation, const char *dtype, const char *result, int64_t width)
{
    char text[1024];
    snprintf(text, sizeof text,
             "kernel scheduled {\n  symbol n in [0, 1000]\n  buffer b0 : %s out\n  buffer b1 : %s\n  buffer b2 : %s\n"
             "  sites 4\n  for i0 < n lane %d x 2\n  stage {\n    %%0 = load b1[i0] : %s\n    %%1 = load b2[i0] : %s\n"
             "    %%2 = %s : %s\n    store b0[i0] = %%2\n  }\n}\n",
             result, dtype, dtype, (int)width, dtype, dtype, operation, result);
    example x = {.name = operation, .text = text, .scalars = {301}, .special = true};
    for (int b = 0; b < 3; b++) x.buffers[b].after = 301;
    check(&x);
}

static void test_operations(void **state)
{
    (void)state;
    static const char *const floats[] = {"f32", "f64"}, *const integers[] = {"u8", "i32", "u32", "i64"};
    static const char *const all[] = {"bool", "u8", "i32", "u32", "i64", "f32", "f64"};
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof float_ops / sizeof *float_ops; i++)
            check_operation(float_ops[i], floats[d], floats[d], d == 0 ? 8 : 4);
    for (int d = 0; d < 4; d++)
        for (size_t i = 0; i < sizeof integer_ops / sizeof *integer_ops; i++)
            check_operation(integer_ops[i], integers[d], integers[d], 8);
    for (int from = 0; from < 7; from++) {
        char operation[32];
        for (int to = 0; to < 7; to++) check_operation("cast %0", all[from], all[to], 8);
        for (int c = 0; c < 6; c++) {
            snprintf(operation, sizeof operation, "%s %%0, %%1", comparisons[c]);
            if (from > 0 || c < 2) check_operation(operation, all[from], "bool", 8);
        }
    }
    check_operation("bitcast %0", "f32", "i32", 8);
    check_operation("bitcast %0", "i64", "f64", 4);
    check_operation("lookup erf.2 %0", "i64", "f64", 4);
    check_operation("lookup logarithm.0 %0", "i32", "f64", 8);
    for (int width = 1; width <= 32; width *= 2) check_operation("lookup single_erfc.3 %0", "i32", "f32", width);
    check_operation("lookup double_turns.3 %0", "i64", "f64", 1);
}

/* Columns of tables that no register holds are gathered with AVX-512. */
static void test_lookups(void **state)
{
    (void)state;
    for (int width = 2; width <= 8; width *= 2) {
        char text[512];
        weft_bytes code;
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  buffer b0 : f64 out\n  buffer b1 : i64\n  for i0 < 333 lane %d x 2\n  stage {\n"
                 "    %%0 = load b1[i0] : i64\n    %%1 = lookup single_turns.1 %%0 : f64\n    store b0[i0] = %%1\n  }\n"
                 "}\n",
                 width);
        example x = {.name = "lookups", .text = text};
        x.buffers[0].after = x.buffers[1].after = 333;
        check(&x);
        weft_kernel *kernel = parse(&x);
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        bool gathers = strstr(code.data, "masked.gather") != NULL;
        assert_int_equal(gathers, weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* ---- reductions ---- */

#define SUM_BLOCK                                                                                                      \
    "init (0x0p+0) : f32 {\n      %0 = param 0 : f32\n      %1 = param 1 : f32\n      %2 = add %0, %1 : f32\n      "   \
    "yield %2\n    }\n"

/* Rows: `lanes` virtual lanes, on vectors or one after the other; and columns, with the lanes along the outer range. */
static void check_sum(const char *rows, const char *columns, int64_t m, int64_t n)
{
    char text[1024];
    snprintf(text, sizeof text,
             "kernel scheduled {\n  symbol m in [0, 1000]\n  symbol n in [0, 10000]\n  buffer b0 : f32 out\n  buffer "
             "b1 : f32\n"
             "  for i0 < m %s\n  stage {\n    for i1 < 2 reduce\n    for i2 < n reduce %s\n    %%0 = load b1[n*i0 + "
             "m*n*i1 + i2] : f32\n"
             "    accumulate a0 (%%0) %s  }\n  stage {\n    %%1 = result a0.0 : f32\n    store b0[i0] = %%1\n  }\n}\n",
             columns, rows, SUM_BLOCK);
    example x = {.name = rows, .text = text, .scalars = {m, n}, .buffers = {{0, m}, {0, 2 * m * n}}};
    if (m == 1 && n == 1) check_both(&x);
    else check(&x);
}

static void test_sums(void **state)
{
    (void)state;
    static const char *const forms[][2] = {
        {"lanes 32 lane 8 x 4", "thread"},
        {"lanes 8 lane 8 x 1", "thread"},
        {"lanes 32", "thread"},
        {"", "thread"},
        {"lanes 32 lane 16 x 2", "thread"},
        {"lanes 16 lane 1 x 16", "thread"},
        {"lanes 4 lane 4 x 1", "thread"},
        {"lanes 16", "lane 8 x 2"},
        {"", "lane 8 x 4"},
        {"lanes 2", "lane 4 x 1"},
    };
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        check_sum(forms[form][0], forms[form][1], 3, 0);
        check_sum(forms[form][0], forms[form][1], 0, 3);
        for (size_t i = 0; i < LENGTHS; i++) check_sum(forms[form][0], forms[form][1], i % 2 == 0 ? 1 : 19, lengths[i]);
    }
}

/* Sums of rows, each along a lane; of powers, which take a few instructions, where `is_long`. */
static void write_sums_across(char *text, size_t size, const char *dtype, const char *lanes, const char *columns,
                              const char *pitch, bool is_long)
{
    const char *sum = strcmp(dtype, "f64") == 0 || strcmp(dtype, "i64") == 0 ? "f64" : "f32";
    int power = 1, at = snprintf(text, size,
                                 "kernel scheduled {\n  symbol m in [0, 400]\n  symbol n in [0, 100]\n"
                                 "  symbol k in [0, 1000]\n  buffer b0 : %s out\n  buffer b1 : %s\n"
                                 "  for i0 < n lane %s\n  stage {\n    for i1 < %s reduce blocks\n"
                                 "    %%0 = load b1[%s*i0 + i1] : %s\n    %%1 = cast %%0 : %s\n",
                                 sum, dtype, lanes, columns, pitch, dtype, sum);
    for (; is_long && power < 9; power++)
        at += snprintf(text + at, size - (size_t)at, "    %%%d = mul %%%d, %%1 : %s\n", power + 1, power, sum);
    snprintf(text + at, size - (size_t)at,
             "    accumulate a0 (%%%d) init (0.0) : %s {\n      %%0 = param 0 : %s\n      %%1 = param 1 : %s\n"
             "      %%2 = add %%0, %%1 : %s\n      yield %%2\n    }\n  }\n"
             "  stage {\n    %%%d = result a0.0 : %s\n    store b0[i0] = %%%d\n  }\n}\n",
             power, sum, sum, sum, sum, power + 1, sum, power + 1);
}

/* Whole blocks of rows and parts of them, of all lanes and of some, up to the ends of memory. */
static void test_sums_across(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *lanes;
    } kinds[] = {{"f64", "8 x 2"}, {"f64", "4 x 1"},   {"f64", "2 x 4"},   {"f32", "16 x 1"},
                 {"f32", "8 x 2"}, {"bf16", "16 x 2"}, {"bf16", "8 x 1"},  {"u8", "16 x 2"},
                 {"u8", "32 x 1"}, {"i32", "4 x 4"},   {"bool", "16 x 1"}, {"i64", "16 x 1"}};
    static const int64_t columns[] = {1, 8, 15, 36, 128, 131, 300}, rows[] = {1, 3, 16, 21, 64, 100};
    char text[2048], known[16], pitch[16];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t k = 0; k < 2 * sizeof columns / sizeof *columns; k++) {
            int64_t m = columns[k / 2], apart = m < 64 ? 64 : m;
            snprintf(known, sizeof known, "%d", (int)m);
            snprintf(pitch, sizeof pitch, "%d", (int)apart);
            bool is_known = k % 2 == 0;
            write_sums_across(text, sizeof text, kinds[i].dtype, kinds[i].lanes, is_known ? known : "m",
                              is_known ? pitch : "k", (i + k / 2) % 2 == 0);
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                example x = {.name = kinds[i].dtype, .text = text, .scalars = {m, rows[r], apart}};
                x.buffers[0].after = rows[r];
                x.buffers[1].after = apart * (rows[r] - 1) + m;
                check(&x);
            }
        }
}

/* No element of whole blocks is loaded by itself, nor with masks for the last ones of part of a block. */
static void test_vectors_across(void **state)
{
    (void)state;
    static const char *const columns[] = {"320", "331"};
    char text[2048];
    size_t count = weft_isa_includes(weft_isa_level(), WEFT_ISA_V3) ? 2 : 1;
    for (size_t i = 0; i < 2 * count; i++) {
        weft_bytes code;
        write_sums_across(text, sizeof text, "f32", "4 x 2", columns[i / 2], "k", i % 2 == 1);
        weft_kernel *kernel = parse(&(example){.name = "across", .text = text});
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        assert_null(strstr(code.data, "load float,"));
        assert_null(strstr(code.data, "masked.gather"));
        assert_non_null(strstr(code.data, "load <4 x float>"));
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* ---- indices ---- */

/* Appends a sum of digits of the ranges' variables, taken apart and put together as reshapes of repeated, rolled and
 * merged axes do; `depth` says how often digits are digits of sums. */
static void write_index(char *text, size_t size, int depth)
{
    static const int numbers[] = {1, 2, 3, 4, 6, 7, 12};
    size_t used = strlen(text);
    uint32_t terms = 1 + next_random() % 3;
    for (uint32_t i = 0; i < terms; i++) {
        char inner[512] = "";
        int factor = numbers[next_random() % 7], divisor = numbers[1 + next_random() % 6];
        if (depth > 0 && next_random() % 2 == 0) write_index(inner, sizeof inner, depth - 1);
        else snprintf(inner, sizeof inner, "i%u", next_random() % 4);
        const char *forms[] = {"%s%d*((%s) mod %d)", "%s%d*((%s)/%d)", "%s%d*(%s + %d)"};
        used += (size_t)snprintf(text + used, size - used, forms[next_random() % 3], i == 0 ? "" : " + ", factor, inner,
                                 divisor);
        assert_true(used < size);
    }
}

/* Values of random indices over threads, rows and lanes of extents that tables hold, do not hold, and are not numbers.
 */
static void test_indices(void **state)
{
    (void)state;
    static const char *const forms[] = {"for i0 < 3 thread for i1 < n thread for i2 < 5 for i3 < 12 lane 4 x 2",
                                        "for i0 < n thread for i1 < 4 thread for i2 < 6 thread for i3 < 300 lane 8 x 1",
                                        "for i0 < 2 thread for i1 < 3 thread for i2 < 7 thread for i3 < n thread"};
    static const int64_t sizes[][4] = {{3, 0, 5, 12}, {0, 4, 6, 300}, {2, 3, 7, 0}};
    for (uint32_t i = 0; i < 60; i++) {
        char text[4096], first[1600] = "", second[1600] = "";
        uint32_t form = i % 3;
        random_state = 1000 + i;
        write_index(first, sizeof first, 2);
        write_index(second, sizeof second, 2);
        int64_t n = 1 + next_random() % 9, count = 1, strides[4];
        for (int k = 4; k-- > 0;) {
            strides[k] = count;
            count *= sizes[form][k] == 0 ? n : sizes[form][k];
        }
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  symbol n in [%d, 100]\n  buffer b0 : i64 out\n  %s\n  stage {\n"
                 "    %%0 = index %s : i64\n    %%1 = index %s : i64\n    %%2 = mul %%0, %%1 : i64\n"
                 "    store b0[%d*i0 + %d*i1 + %d*i2 + i3] = %%2\n  }\n}\n",
                 (int)n, forms[form], first, second, (int)strides[0], (int)strides[1], (int)strides[2]);
        example x = {.name = "index", .text = text, .scalars = {n}, .buffers = {{0, count}}};
        check(&x);
    }
}

#define SUM_OF_TWO                                                                                                     \
    "init (0.0) : f32 {\n      %%0 = param 0 : f32\n      %%1 = param 1 : f32\n      %%2 = add %%0, %%1 : f32\n      " \
    "yield %%2\n    }\n"

/* How many times a sum of rows of unknown length stands there: beside loops over blocks once more for one block, unless
 * what it reads is loaded lane by lane. */
static int count_copies(const char *index)
{
    char text[512];
    weft_bytes code;
    int count = 0;
    snprintf(text, sizeof text,
             "kernel scheduled {\n  symbol m in [1, 1000]\n  symbol n in [0, 100000]\n  buffer b0 : f32 out\n"
             "  buffer b1 : f32\n  for i0 < m\n  stage {\n    for i1 < n reduce lanes 32 blocks lane 8 x 4\n"
             "    %%0 = load b1[%s] : f32\n    %%1 = sqrt %%0 : f32\n    accumulate a0 (%%1) " SUM_OF_TWO
             "  }\n  stage {\n    %%2 = result a0.0 : f32\n    store b0[i0] = %%2\n  }\n}\n",
             index);
    example x = {.name = "copies", .text = text};
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = x.buffers[0].after = 2 + (int64_t)i;
        x.scalars[1] = 30 * lengths[i];
        x.buffers[1].after = x.scalars[0] * x.scalars[1];
        check(&x);
    }
    weft_kernel *kernel = parse(&x);
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    for (const char *at = code.data; (at = strstr(at, "call <8 x float> @llvm.sqrt")) != NULL; at++) count++;
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
    return count;
}

static void test_copies(void **state)
{
    (void)state;
    enum { ROUND = 4, TAIL = 1 };
    assert_int_equal(count_copies("n*i0 + i1") - count_copies("n*i0 + (i1 mod m)"), ROUND + TAIL);
}

/* Columns or rows of m sums over r x n elements of x[r, n, m] or x[m, r, n], in blocks. */
static const char sums_of_blocks_text[] =
    "kernel scheduled {\n"
    "  symbol m in [0, 1000]\n  symbol r in [0, 1000]\n  symbol n in [0, 10000000]\n"
    "  buffer b0 : f32 out\n  buffer b1 : f32\n"
    "  for i0 < m %s\n  stage {\n    for i1 < r reduce blocks\n    for i2 < %s reduce %s\n"
    "    %%0 = load b1[%s] : f32\n    accumulate a0 (%%0) init (0.0) : f32 {\n      %%0 = param 0 : f32\n"
    "      %%1 = param 1 : f32\n      %%2 = add %%0, %%1 : f32\n      yield %%2\n    }\n  }\n"
    "  stage {\n    %%1 = result a0.0 : f32\n    store b0[i0] = %%1\n  }\n}\n";

static void test_sums_in_blocks(void **state)
{
    (void)state;
    static const char *const forms[][2] = {
        {"thread", "lanes 8 blocks lane 8 x 1"},
        {"thread", "lanes 4 blocks lane 2 x 2"},
        {"thread", "lanes 4 blocks"},
        {"thread", "blocks"},
        {"lane 4 x 2", "blocks"},
        {"lane 8 x 1", "lanes 2 blocks"},
        {"lane 4 x 2", ""},
    };
    /* Around what is short, one block, blocks of blocks; the first is a number in the text, too. */
    static const int64_t sizes[][3] = {{3, 2, 9},   {1, 1, 16390}, {1, 2, 1040}, {3, 130, 8}, {3, 3, 9},  {3, 129, 33},
                                       {9, 1, 128}, {9, 2, 129},   {1, 3, 4097}, {0, 3, 4},   {3, 0, 40}, {3, 40, 0}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        bool is_rows = strcmp(forms[i][0], "thread") == 0;
        for (size_t k = 0; k <= sizeof sizes / sizeof *sizes; k++) {
            const int64_t *size = sizes[k == 0 ? 0 : k - 1];
            char text[1024];
            snprintf(text, sizeof text, sums_of_blocks_text, forms[i][0], k == 0 ? "9" : "n", forms[i][1],
                     is_rows ? "r*n*i0 + n*i1 + i2" : "m*n*i1 + m*i2 + i0");
            example x = {.name = forms[i][1], .text = text, .scalars = {size[0], size[1], size[2]}};
            x.buffers[0].after = size[0];
            x.buffers[1].after = size[0] * size[1] * size[2];
            if (k == 1) check_both(&x);
            else check(&x);
        }
    }
}

/* Sums of products and maxima of rows of bf16, in blocks, of which the first goes on with what is there: pairs of
 * elements are loaded at once unless a lane has to know which element it has, or a round is what whole rounds leave. */
static const char pairs_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 100000]\n  buffer b0 : f32 out\n  buffer b1 : f32 out\n  buffer b2 : bf16\n  buffer b3 : bf16\n"
    "  for i0 < 3 thread\n  stage {\n    for i1 < 2 reduce blocks\n"
    "    for i2 < %d*n reduce lanes %d blocks lane %d x %d\n"
    "    %%0 = load b2[%d*n*i0 + %d*n*i1 + i2] : bf16\n    %%1 = cast %%0 : f32\n    %%2 = load b3[%s] : bf16\n"
    "    %%3 = cast %%2 : f32\n    %%4 = %s : i64\n    %%5 = cast %%4 : f32\n    %%6 = add %%1, %%5 : f32\n"
    "    accumulate a0 (%%6, %%3) init (0.0) : f32 step {\n      %%0 = param 0 : f32\n      %%1 = param 1 : f32\n"
    "      %%2 = param 2 : f32\n      %%3 = fma %%1, %%2, %%0 : f32\n      yield %%3\n    } {\n"
    "      %%0 = param 0 : f32\n      %%1 = param 1 : f32\n      %%2 = add %%0, %%1 : f32\n      yield %%2\n    }\n"
    "    accumulate a1 (%%1) init (-inf) : f32 {\n      %%0 = param 0 : f32\n      %%1 = param 1 : f32\n"
    "      %%2 = max %%0, %%1 : f32\n      yield %%2\n    }\n  }\n"
    "  stage {\n    %%7 = result a0.0 : f32\n    %%8 = result a1.0 : f32\n    store b0[i0] = %%7\n"
    "    store b1[i0] = %%8\n  }\n}\n";

static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        int width, parts, unit;
        const char *other, *added;
        bool is_paired;
    } forms[] = {{16, 2, 1, "i2 + 1", "const 0", true},  {8, 4, 1, "i2 + 1", "const 0", true},
                 {4, 8, 1, "i1", "const 0", true},       {16, 2, 1, "i2", "index i2", false},
                 {16, 2, 1, "2*i2", "const 0", false},   {32, 1, 1, "i2 + 1", "const 0", false},
                 {16, 2, 1, "i2 + 1", "index i1", true}, {8, 2, 1, "99999 - i2", "const 0", false},
                 {16, 4, 16, "i1", "const 0", true},     {8, 2, 8, "i1", "const 0", true}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char text[2048], pairs[32];
        weft_bytes code;
        int width = forms[f].width, parts = forms[f].parts, unit = forms[f].unit;
        snprintf(text, sizeof text, pairs_text, unit, width * parts, width, parts, 2 * unit, unit, forms[f].other,
                 forms[f].added);
        example x = {.name = "pairs", .text = text, .buffers = {{0, 3}, {0, 3}, {0, 0}, {0, 200001}}};
        for (size_t i = 0; i < LENGTHS + 2; i++) {
            x.scalars[0] = i < LENGTHS ? lengths[i] : i == LENGTHS ? 4099 : 9000;
            x.buffers[2].after = 6 * unit * x.scalars[0];
            x.special = i % 3 == 0;
            check(&x);
        }
        weft_kernel *kernel = parse(&x);
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        snprintf(pairs, sizeof pairs, "load <%d x i32>", width);
        assert_int_equal(strstr(code.data, pairs) != NULL, forms[f].is_paired);
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* What is rounded may be NaN, of which the lower half may be zero, as in all that is made of bf16, or not; and rounds
 * load and store pairs where no lane has to know which element it has. */
static const char rounding_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 100000]\n  buffer b0 : bf16 out\n  buffer b1 : bf16\n  buffer b2 : bf16\n  buffer b3 : i32\n  "
    "buffer b4 : u8\n"
    "  for i0 < 3 thread\n  for i1 < %d*n lane %d x %d\n  stage {\n"
    "    %%0 = load b1[%d*n*i0 + i1] : bf16\n    %%1 = cast %%0 : f32\n    %%2 = load b2[i1 + 1] : bf16\n"
    "    %%3 = cast %%2 : f32\n%s    store b0[%d*n*i0 + i1] = %%%d\n  }\n}\n";

static void check_rounding(const char *rest, int result, bool is_paired, int width, int parts, int unit)
{
    char text[2048], pairs[32];
    weft_bytes code;
    snprintf(text, sizeof text, rounding_text, unit, width, parts, unit, rest, unit, result);
    example x = {.name = text, .text = text, .special = true};
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = lengths[i];
        x.buffers[0].after = x.buffers[1].after = 3 * unit * lengths[i];
        x.buffers[2].after = x.buffers[4].after = unit * lengths[i] + 1;
        x.buffers[3].after = 3;
        check(&x);
    }
    weft_kernel *kernel = parse(&x);
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    snprintf(pairs, sizeof pairs, "load <%d x i32>", width);
    assert_int_equal(strstr(code.data, pairs) != NULL, is_paired && parts % 2 == 0);
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
}

static void test_rounding(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        int result;
        bool is_paired;
    } forms[] = {
        {"    %4 = mul %1, %3 : f32\n    %5 = cast %4 : bf16\n", 5, true},
        {"    %4 = max %1, %3 : f32\n    %5 = cast %4 : bf16\n", 5, true},
        {"    %4 = neg %1 : f32\n    %5 = cast %4 : bf16\n", 5, true},
        {"    %4 = sqrt %1 : f32\n    %5 = cast %4 : bf16\n", 5, true},
        {"    %4 = fma %1, %3, %1 : f32\n    %5 = cast %4 : bf16\n", 5, true},
        {"    %4 = add %1, %3 : f32\n    %5 = max %4, %1 : f32\n    %6 = cast %5 : bf16\n", 6, true},
        {"    %4 = mul %1, %3 : f32\n    %5 = cast %4 : bf16\n    %6 = cast %5 : f32\n    %7 = lt %6, %3 : bool\n"
         "    %8 = select %7, %6, %1 : f32\n    %9 = div %8, %3 : f32\n    %10 = cast %9 : bf16\n",
         10, true},
        {"    %4 = const 0x1.2p+0 : f32\n    %5 = sub %1, %4 : f32\n    %6 = bitcast %5 : i32\n"
         "    %7 = const 23 : i32\n    %8 = shl %6, %7 : i32\n    %9 = bitcast %8 : f32\n"
         "    %10 = mul %9, %3 : f32\n    %11 = cast %10 : bf16\n",
         11, true},
        {"    %4 = const nan : f32\n    %5 = lt %1, %3 : bool\n    %6 = select %5, %4, %1 : f32\n"
         "    %7 = cast %6 : bf16\n",
         7, true},
        {"    %4 = bitcast %1 : i32\n    %5 = const 65535 : i32\n    %6 = or %4, %5 : i32\n"
         "    %7 = bitcast %6 : f32\n    %8 = mul %7, %3 : f32\n    %9 = cast %8 : bf16\n",
         9, true},
        {"    %4 = const -1.0 : f32\n    %5 = mul %1, %4 : f32\n    %6 = cast %5 : bf16\n", 6, true},
        {"    %4 = const 1.0 : f32\n    %5 = div %1, %4 : f32\n    %6 = cast %5 : bf16\n", 6, true},
        {"    %4 = const 0.0 : f32\n    %5 = sub %1, %4 : f32\n    %6 = cast %5 : bf16\n", 6, true},
        {"    %4 = const -0.0 : f32\n    %5 = add %1, %4 : f32\n    %6 = neg %5 : f32\n    %7 = cast %6 : bf16\n", 7,
         true},
        {"    %4 = const 1.0 : f32\n    %5 = const -0.0 : f32\n    %6 = fma %1, %4, %5 : f32\n    %7 = cast %6 : "
         "bf16\n",
         7, true},
        {"    %4 = load b3[i0] : i32\n    %5 = bitcast %4 : f32\n    %6 = mul %5, %1 : f32\n    %7 = cast %6 : bf16\n",
         7, true},
        {"    %4 = load b4[i1] : u8\n    %5 = cast %4 : bool\n    %6 = select %5, %1, %3 : f32\n    %7 = cast %6 : "
         "bf16\n",
         7, false},
        {"    %4 = index i1 : i64\n    %5 = cast %4 : f32\n    %6 = add %1, %5 : f32\n    %7 = cast %6 : bf16\n", 7,
         false}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        check_rounding(forms[f].rest, forms[f].result, forms[f].is_paired, 16, 2, 1);
        check_rounding(forms[f].rest, forms[f].result, forms[f].is_paired, 8, 4, 8);
        check_rounding(forms[f].rest, forms[f].result, forms[f].is_paired, 32, 1, 1);
    }
}

/* Sums of columns of bf16, two vectors of them at a time. */
static const char pairs_of_columns_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 100000]\n  buffer b0 : bf16 out\n  buffer b1 : bf16\n  for i0 < n lane 16 x 2\n"
    "  stage {\n    for i1 < 5 reduce\n    %0 = load b1[n*i1 + i0] : bf16\n    %1 = cast %0 : f32\n"
    "    accumulate a0 (%1) init (0.0) : f32 {\n      %0 = param 0 : f32\n      %1 = param 1 : f32\n"
    "      %2 = add %0, %1 : f32\n      yield %2\n    }\n  }\n"
    "  stage {\n    %2 = result a0.0 : f32\n    %3 = cast %2 : bf16\n    store b0[i0] = %3\n  }\n}\n";

/* Of a known length, of which one round is left without a loop. */
static const char pairs_of_known_text[] =
    "kernel scheduled {\n  buffer b0 : bf16 out\n  buffer b1 : bf16\n  for i0 < 5 thread\n  stage {\n"
    "    for i1 < %d lane 16 x 2\n    %%0 = load b1[%d*i0 + i1] : bf16\n    %%1 = cast %%0 : f32\n"
    "    %%2 = sqrt %%1 : f32\n    %%3 = cast %%2 : bf16\n    store b0[%d*i0 + i1] = %%3\n  }\n}\n";

static void test_pairs_of_known_rows(void **state)
{
    (void)state;
    static const int known[] = {16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 97, 112};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[512];
        snprintf(text, sizeof text, pairs_of_known_text, known[i], known[i], known[i]);
        example x = {.name = text, .text = text, .buffers = {{0, 5 * known[i]}, {0, 5 * known[i]}}};
        check(&x);
    }
}

static void test_pairs_of_columns(void **state)
{
    (void)state;
    example x = {.name = "pairs of columns", .text = pairs_of_columns_text};
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = x.buffers[0].after = lengths[i];
        x.buffers[1].after = 5 * lengths[i];
        x.special = i % 2 == 0;
        check(&x);
    }
}

static const char argmax_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 10000]\n"
    "  buffer b0 : f32 out\n  buffer b1 : i64 out\n  buffer b2 : f32\n"
    "  for i0 < 5 thread\n"
    "  stage {\n"
    "    for i1 < n reduce lanes %d%s\n"
    "    %%0 = load b2[n*i0 + i1] : f32\n"
    "    %%1 = index i1 : i64\n"
    "    accumulate a0 (%%0, %%1) init (-inf, 9223372036854775807) : f32, i64 {\n"
    "      %%0 = param 0 : f32\n      %%1 = param 1 : i64\n      %%2 = param 2 : f32\n"
    "      %%3 = param 3 : i64\n      %%4 = gt %%2, %%0 : bool\n      %%5 = eq %%2, %%0 : bool\n"
    "      %%6 = earlier %%3, %%1 : bool\n      %%7 = and %%5, %%6 : bool\n      %%8 = or %%4, %%7 : bool\n"
    "      %%9 = select %%8, %%2, %%0 : f32\n      %%10 = select %%8, %%3, %%1 : i64\n"
    "      yield %%9, %%10\n    }\n"
    "  }\n"
    "  stage {\n"
    "    %%2 = result a0.0 : f32\n    %%3 = result a0.1 : i64\n"
    "    %%4 = const 9223372036854775807 : i64\n    %%5 = eq %%3, %%4 : bool\n"
    "    %%6 = const 0 : i64\n    %%7 = select %%5, %%6, %%3 : i64\n"
    "    store b0[i0] = %%2\n    store b1[i0] = %%7\n"
    "  }\n}\n";

static void test_argmax(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        char text[2048];
        snprintf(text, sizeof text, argmax_text, form == 0 ? 16 : 8, form == 0 ? " lane 8 x 2" : "");
        example x = {.name = "argmax", .text = text, .buffers = {{0, 5}, {0, 5}}};
        for (size_t i = 0; i < LENGTHS; i++) {
            x.scalars[0] = lengths[i];
            x.buffers[2].after = 5 * lengths[i];
            if (i == 0) check_both(&x);
            else check(&x);
        }
    }
}

/* Rows of which some have NaN, in any lane, and zeros of both signs. */
static const char extremum_text[] = "kernel scheduled {\n"
                                    "  symbol n in [0, 10000]\n  buffer b0 : %s out\n  buffer b1 : %s\n"
                                    "  for i0 < 50 thread\n"
                                    "  stage {\n"
                                    "    for i1 < n reduce lanes %d lane %d x 2\n"
                                    "    %%0 = load b1[n*i0 + i1] : %s\n"
                                    "    accumulate a0 (%%0) init (%s) : %s {\n"
                                    "      %%0 = param 0 : %s\n      %%1 = param 1 : %s\n"
                                    "      %%2 = %s %%0, %%1 : %s\n      yield %%2\n    }\n"
                                    "  }\n"
                                    "  stage {\n    %%1 = result a0.0 : %s\n    store b0[i0] = %%1\n  }\n}\n";

static void test_extrema(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *op, *init;
        int width;
    } forms[] = {
        {"f32", "max", "-inf", 16}, {"f32", "min", "inf", 8}, {"f64", "max", "-inf", 8}, {"f64", "min", "inf", 2}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const char *t = forms[f].dtype;
        char text[1024];
        snprintf(text, sizeof text, extremum_text, t, t, 2 * forms[f].width, forms[f].width, t, forms[f].init, t, t, t,
                 forms[f].op, t, t);
        example x = {.name = forms[f].op, .text = text, .buffers = {{0, 50}}, .special = true};
        for (size_t i = 0; i < LENGTHS; i++) {
            x.scalars[0] = lengths[i];
            x.buffers[1].after = 50 * lengths[i];
            check(&x);
        }
    }
}

/* Columns that fill two vectors, or not even one. */
static const char greatest_text[] = "kernel scheduled {\n"
                                    "  symbol n in [0, 10000]\n  buffer b0 : %s out\n  buffer b1 : %s\n"
                                    "  for i0 < %d lane %d x %d\n"
                                    "  stage {\n"
                                    "    for i1 < n reduce\n"
                                    "    %%0 = load b1[%d*i1 + i0] : %s\n"
                                    "    accumulate a0 (%%0) init (%s) : %s {\n"
                                    "      %%0 = param 0 : %s\n      %%1 = param 1 : %s\n"
                                    "      %%2 = %s %%0, %%1 : %s\n      yield %%2\n    }\n"
                                    "  }\n"
                                    "  stage {\n    %%1 = result a0.0 : %s\n    store b0[i0] = %%1\n  }\n}\n";

static void test_extrema_of_columns(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *op, *init;
        int columns, width, parts;
    } forms[] = {{"f32", "max", "-inf", 3, 16, 1}, {"f32", "min", "inf", 32, 16, 2}, {"f64", "max", "-inf", 11, 8, 2}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const char *t = forms[f].dtype;
        const int columns = forms[f].columns;
        char text[1024];
        snprintf(text, sizeof text, greatest_text, t, t, columns, forms[f].width, forms[f].parts, columns, t,
                 forms[f].init, t, t, t, forms[f].op, t, t);
        example x = {.name = forms[f].op, .text = text, .buffers = {{0, columns}}, .special = true};
        for (size_t i = 0; i < LENGTHS; i++) {
            x.scalars[0] = lengths[i];
            x.buffers[1].after = columns * lengths[i];
            check(&x);
        }
    }
}

/* Two scans in one stage, one of them looked at twice; over columns on lanes, and row by row. */
static const char scan_text[] =
    "kernel scheduled {\n"
    "  symbol n in [0, 10000]\n"
    "  buffer b0 : f32 out\n  buffer b1 : i64 out\n  buffer b2 : f32\n"
    "  for i0 < 37 %s\n"
    "  stage {\n"
    "    for i1 < n reduce\n"
    "    %%0 = load b2[37*i1 + i0] : f32\n"
    "    %%1 = index i1 : i64\n"
    "    %%2 = running a0.0 : f32\n"
    "    %%3 = running a1.0 : i64\n"
    "    %%4 = mul %%2, %%0 : f32\n"
    "    accumulate a0 (%%0) init (0) : f32 {\n      %%0 = param 0 : f32\n      %%1 = param 1 : f32\n"
    "      %%2 = add %%0, %%1 : f32\n      yield %%2\n    }\n"
    "    accumulate a1 (%%1) init (1) : i64 {\n      %%0 = param 0 : i64\n      %%1 = param 1 : i64\n"
    "      %%2 = add %%0, %%1 : i64\n      yield %%2\n    }\n"
    "    store b0[37*i1 + i0] = %%4\n    store b1[37*i1 + i0] = %%3\n"
    "  }\n}\n";

static void test_scan(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        static const char *const forms[] = {"lane 8 x 2", "lane 4 x 1", "thread"};
        char text[2048];
        snprintf(text, sizeof text, scan_text, forms[form]);
        example x = {.name = "scan", .text = text};
        for (size_t i = 0; i < LENGTHS; i++) {
            x.scalars[0] = lengths[i];
            for (int b = 0; b < 3; b++) x.buffers[b].after = 37 * lengths[i];
            if (i == 0) check_both(&x);
            else check(&x);
        }
    }
}

#define MAX_BLOCK                                                                                                      \
    "init (-inf) : f32 {\n      %0 = param 0 : f32\n      %1 = param 1 : f32\n      %2 = max %0, %1 : f32\n      "     \
    "yield %2\n    }\n"

static const char softmax_text[] =
    "kernel scheduled {\n"
    "  symbol m in [0, 1000]\n  symbol n in [0, 10000]\n"
    "  buffer b0 : f32 out\n  buffer b1 : f32\n"
    "  for i0 < m thread\n"
    "  stage {\n    for i1 < n reduce lanes 32 lane 8 x 4\n    %0 = load b1[n*i0 + i1] : f32\n"
    "    accumulate a0 (%0) " MAX_BLOCK "  }\n"
    "  stage {\n    for i2 < n reduce lanes 32 lane 8 x 4\n    %1 = load b1[n*i0 + i2] : f32\n"
    "    %2 = result a0.0 : f32\n    %3 = sub %1, %2 : f32\n    %4 = exp %3 : f32\n"
    "    accumulate a1 (%4) " SUM_BLOCK "  }\n"
    "  stage {\n    for i3 < n lane 8 x 4\n    %5 = load b1[n*i0 + i3] : f32\n"
    "    %6 = result a0.0 : f32\n    %7 = sub %5, %6 : f32\n    %8 = exp %7 : f32\n"
    "    %9 = result a1.0 : f32\n    %10 = div %8, %9 : f32\n"
    "    store b0[n*i0 + i3] = %10\n  }\n}\n";

static void test_softmax(void **state)
{
    (void)state;
    example x = {.name = "softmax", .text = softmax_text};
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = 3;
        x.scalars[1] = lengths[i];
        x.buffers[0].after = x.buffers[1].after = 3 * lengths[i];
        if (i == 0) check_both(&x);
        else check(&x);
    }
}

/* ---- data checks ---- */

static const char gather_text[] = "kernel scheduled {\n"
                                  "  symbol n in [0, 1000]\n  symbol e in [0, 1000]\n"
                                  "  buffer b0 : f32 out\n  buffer b1 : f32\n  buffer b2 : i64\n"
                                  "  sites 2\n"
                                  "  for i0 < n thread\n  for i1 < n lane 8 x 2\n"
                                  "  stage {\n"
                                  "    %0 = load b2[i1] if (n - 3 - i1) : i64\n"
                                  "    %1 = check %0 < e site 1 at n*i0 + i1 if (n - 3 - i1) : i64\n"
                                  "    %2 = load b1[e*i0, %1] if (n - 3 - i1) : f32\n"
                                  "    store b0[n*i0 + i1] = %2\n"
                                  "  }\n}\n";

static void test_gather(void **state)
{
    (void)state;
    example x = {.name = "gather", .text = gather_text};
    for (size_t i = 0; i < LENGTHS - 1; i++) {
        int64_t n = lengths[i];
        x.scalars[0] = n;
        x.buffers[0].after = n * n;
        x.buffers[2].after = n;
        x.scalars[1] = 9 - (int64_t)(i % 3) * 4;
        x.buffers[1].after = n * x.scalars[1];
        x.small = i % 3 == 0;
        if (i == 0) check_both(&x);
        else check(&x);
    }
}

/* Offsets in as few bits as their extent takes, where there is an instruction for it. */
static void test_offset_bits(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    static const struct {
        int64_t extent;
        const char *vector;
    } cases[] = {
        {256, "store <8 x i8>"}, {257, "store <8 x i16>"}, {65536, "store <8 x i16>"}, {65537, "store <8 x i32>"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        weft_bytes code;
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  buffer b0 : f64 out\n  buffer b1 : f64\n  buffer b2 : i64\n  sites 1\n"
                 "  for i0 < %d lane 8 x 4\n  stage {\n    %%0 = load b2[i0] : i64\n"
                 "    %%1 = check %%0 < %d site 0 at i0 : i64\n    %%2 = load b1[0, %%1] : f64\n"
                 "    store b0[i0] = %%2\n  }\n}\n",
                 COUNT, (int)cases[i].extent);
        example x = {.name = cases[i].vector, .text = text};
        x.buffers[0].after = x.buffers[2].after = COUNT;
        x.buffers[1].after = cases[i].extent;
        check(&x);
        weft_kernel *kernel = parse(&x);
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        bool is_packed = strstr(code.data, cases[i].vector) != NULL;
        assert_int_equal(is_packed, weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* Nothing is asked of indices that are known to be inside. */
static void test_known_indices(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    static const struct {
        const char *op;
        int number, extent;
        bool is_known;
    } cases[] = {{"min", 99, 100, true}, {"min", 99, 99, false}, {"or", 64, 192, true}, {"sub", 65, 256, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        weft_bytes code;
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  buffer b0 : f64 out\n  buffer b1 : f64\n  buffer b2 : u8\n  sites 1\n"
                 "  for i0 < %d lane 8 x 4\n  stage {\n    %%0 = load b2[i0] : u8\n    %%1 = cast %%0 : i64\n"
                 "    %%2 = const %d : i64\n    %%3 = %s %%1, %%2 : i64\n    %%4 = const %d : i64\n"
                 "    %%5 = sub %%3, %%4 : i64\n    %%6 = check %%5 < %d site 0 at i0 : i64\n"
                 "    %%7 = load b1[0, %%6] : f64\n    store b0[i0] = %%7\n  }\n}\n",
                 COUNT, cases[i].number, cases[i].op, strcmp(cases[i].op, "or") == 0 ? 64 : 0, cases[i].extent);
        example x = {.name = cases[i].op, .text = text};
        x.buffers[0].after = x.buffers[2].after = COUNT;
        x.buffers[1].after = cases[i].extent;
        check(&x);
        weft_kernel *kernel = parse(&x);
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        assert_int_equal(strstr(code.data, "report") == NULL, cases[i].is_known);
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

/* So are those that scalars keep inside, in lanes that are masked off as well; and no position says that they are. */
static void test_indices_below_symbols(void **state)
{
    (void)state;
    static const struct {
        const char *known, *op, *extent;
        bool is_inside;
    } cases[] = {{"m - 1", "min", "m", true},
                 {"m", "min", "m", false},
                 {"m - 2", "min", "m", false},
                 {"m - 1", "max", "m", false},
                 {"i0", "min", "m", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        weft_bytes code;
        snprintf(text, sizeof text,
                 "kernel scheduled {\n  symbol m in [1, 1000]\n  symbol n in [0, 1000]\n  buffer b0 : f64 out\n"
                 "  buffer b1 : f64\n  buffer b2 : u8\n  sites 1\n  for i0 < n lane 8 x 4\n  stage {\n"
                 "    %%0 = load b2[i0] : u8\n    %%1 = cast %%0 : i32\n    %%2 = index %s : i64\n"
                 "    %%3 = cast %%2 : i32\n    %%4 = const 0 : i32\n    %%5 = sub %%3, %%4 : i32\n"
                 "    %%6 = %s %%1, %%5 : i32\n    %%7 = cast %%6 : i64\n"
                 "    %%8 = check %%7 < %s site 0 at i0 : i64\n    %%9 = load b1[0, %%8] : f64\n"
                 "    %%10 = load b1[0, %%8] if (n - 2 - i0) : f64\n    %%11 = add %%9, %%10 : f64\n"
                 "    store b0[i0] = %%11\n  }\n}\n",
                 cases[i].known, cases[i].op, cases[i].extent);
        example x = {.name = cases[i].known, .text = text};
        for (size_t k = 0; k < LENGTHS; k++) {
            x.scalars[0] = x.buffers[1].after = 1 + (int64_t)k * 20;
            x.scalars[1] = x.buffers[0].after = x.buffers[2].after = lengths[k];
            check(&x);
        }
        weft_kernel *kernel = parse(&x);
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
        assert_int_equal(strstr(code.data, "report") == NULL, cases[i].is_inside);
        weft_bytes_finish(&code);
        weft_kernel_destroy(kernel);
    }
}

static void check_called_lanes(int loads, const char *dtype)
{
    char text[2048];
    weft_bytes code;
    int at = snprintf(text, sizeof text,
                      "kernel scheduled {\n  symbol n in [0, 100000]\n  buffer b0 : f64 out\n  buffer b1 : f64\n"
                      "  buffer b2 : %s\n  sites 1\n  for i0 < n lane 8 x 4\n  stage {\n    %%0 = load b2[i0] : %s\n"
                      "    %%1 = cast %%0 : i64\n    %%2 = check %%1 < 300 site 0 at i0 : i64\n"
                      "    %%3 = load b1[0, %%2] : f64\n",
                      dtype, dtype);
    for (int i = 1; i < loads; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "    %%%d = load b1[%d, %%2] : f64\n    %%%d = sub %%%d, %%%d : f64\n", 2 * i + 2, 3 * i,
                       2 * i + 3, 2 * i + 1, 2 * i + 2);
    snprintf(text + at, sizeof text - (size_t)at, "    store b0[i0] = %%%d\n  }\n}\n", 2 * loads + 1);
    example x = {.name = "called lanes", .text = text};
    for (size_t i = 0; i < LENGTHS; i++) {
        x.scalars[0] = lengths[i];
        x.buffers[0].after = x.buffers[2].after = lengths[i];
        x.buffers[1].after = 300 + 3 * loads;
        x.small = i % 2 == 0;
        check(&x);
    }
    weft_kernel *kernel = parse(&x);
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    assert_int_equal(strstr(code.data, "@weft_local_lanes_f64_8") != NULL, loads == 8);
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
}

/* Elements that data pick are loaded by a function where there are many loads, whose calls are few instructions. Bytes
 * are inside of 300 elements, so what they pick is loaded in lanes that are masked off as well. */
static void test_called_lanes(void **state)
{
    (void)state;
    check_called_lanes(3, "i32");
    check_called_lanes(8, "i32");
    check_called_lanes(8, "u8");
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    static const char half[] =
        "kernel scheduled {\n  buffer b0 : f16 out\n  buffer b1 : f16\n  for i0 < 8 lane 8 x 1\n  stage {\n"
        "    %0 = load b1[i0] : f16\n    %1 = add %0, %0 : f16\n    store b0[i0] = %1\n  }\n}\n";
    static const char raw[] =
        "kernel scheduled {\n  buffer b0 : f32 out\n  buffer b1 : f32\n  for i0 < 8 lane 8 x 1\n  stage {\n"
        "    %0 = load b1[i0] : f32\n    %1 = exp %0 : f32\n    store b0[i0] = %1\n  }\n}\n";
    static const char wide[] = "kernel scheduled { buffer b0 : i64 out for i < 8 lane 4096 x 1 stage {\n"
                               "  %0 = const 1 : i64 store b0[i] = %0 } }\n";
    static const char outer[] =
        "kernel scheduled { buffer b0 : i64 out stage {\n"
        "  for i < 4 reduce lane 1 x 1 for j < 4 reduce %0 = const 1 : i64\n"
        "  accumulate a0 (%0) init (0) : i64 { %0 = param 0 : i64 %1 = param 1 : i64 %2 = add %0, %1 : i64 yield %2 }\n"
        "} stage { %1 = result a0.0 : i64 store b0[0] = %1 } }\n";
    char deep[4096] = "kernel scheduled {\n";
    for (int i = 0; i < 129; i++) snprintf(deep + strlen(deep), 32, "for i%d < 1\n", i);
    strcat(deep, "}\n");
    const struct {
        const char *text, *part;
    } cases[] = {{half, "add of f16 has to be lowered to real arithmetic"},
                 {raw, "exp"},
                 {wide, "a range of 1 lanes, width 4096 and unroll 1"},
                 {outer, "inner range 0 of a reduction is bound to lanes: only the last of its 2 can be"},
                 {deep, "a kernel of 129 outer ranges: there may be 128"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_kernel *kernel;
        weft_bytes object;
        weft_test_ok(weft_kernel_parse(NULL, "refused", cases[i].text, strlen(cases[i].text), &kernel));
        weft_test_fails(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object), WEFT_UNSUPPORTED, cases[i].part);
        weft_kernel_destroy(kernel);
    }
    weft_image *image;
    weft_kernel_function function;
    weft_test_fails(llvm->load("nonsense", 8, "kernel", &image, &function), WEFT_COMPILE_FAILED, "");
}

static void test_missing_symbol(void **state)
{
    (void)state;
    example x = {.name = "add", .text = add_text};
    weft_kernel *kernel = parse(&x);
    weft_bytes object;
    weft_image *image;
    weft_kernel_function function;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object));
    weft_test_fails(llvm->load(object.data, object.size, "printf", &image, &function), WEFT_COMPILE_FAILED, "printf");
    weft_bytes_finish(&object);
    weft_kernel_destroy(kernel);
}

/* ---- what code asks for ---- */

static bool emits(const char *text, const char *wanted)
{
    weft_bytes code;
    weft_kernel *kernel = parse(&(example){.name = "text", .text = text});
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_IR, &code));
    bool found = strstr(code.data, wanted) != NULL;
    weft_bytes_finish(&code);
    weft_kernel_destroy(kernel);
    return found;
}

/* Rows of unknown length that are reduced may be long: they are asked for early. */
static void test_unknown_rows(void **state)
{
    (void)state;
    static const char text[] = "kernel scheduled {\n  symbol n in [1, 1000000]\n  symbol m in [1, 1000000]\n"
                               "  buffer b0 : f32 out\n  buffer b1 : f32\n  for i0 < n thread\n  stage {\n"
                               "    for i1 < m reduce lanes 32 lane 16 x 2\n    %0 = load b1[i0*m + i1] : f32\n"
                               "    accumulate a0 (%0) init (0x0p+0) : f32 {\n      %0 = param 0 : f32\n"
                               "      %1 = param 1 : f32\n      %2 = add %0, %1 : f32\n      yield %2\n    }\n  }\n"
                               "  stage {\n    %1 = result a0.0 : f32\n    store b0[i0] = %1\n  }\n}\n";
    assert_int_equal(emits(text, "@llvm.prefetch"), weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
}

/* Of rows side by side, too, the last of which may be another one once more. */
static void test_repeated_rows(void **state)
{
    (void)state;
    static const char text[] =
        "kernel scheduled {\n  symbol n in [1, 1000000]\n  buffer b0 : f32 out\n  buffer b1 : f32\n"
        "  for i0 < (n + 1) / 2 thread\n  stage {\n    for i1 < 1024 lane 16 x 2\n"
        "    %0 = load b1[1024*min(2*i0 + 2, n) + i1 - 1024] : f32\n"
        "    store b0[1024*min(2*i0 + 2, n) + i1 - 1024] = %0\n  }\n  stage {\n    for i2 < 1024 lane 16 x 2\n"
        "    %1 = load b1[1024*min(2*i0 + 2, n) + i2 - 1024] : f32\n    %2 = add %1, %1 : f32\n"
        "    store b0[1024*min(2*i0 + 2, n) + i2 - 1024] = %2\n  }\n}\n";
    assert_int_equal(emits(text, "@llvm.prefetch"), weft_isa_includes(weft_isa_level(), WEFT_ISA_V4));
}

/* The stack lies as vectors do where a round may have more of them than registers hold, and nothing loops inside. */
static void test_stack(void **state)
{
    (void)state;
    bool has_vectors = weft_isa_includes(weft_isa_level(), WEFT_ISA_V3);
    for (int length = 8; length <= 32; length += 24) {
        char text[2048];
        int at = snprintf(text, sizeof text,
                          "kernel scheduled {\n  buffer b0 : f32 out\n  buffer b1 : f32\n"
                          "  for i0 < 1000 lane 8 x 8\n  stage {\n    %%0 = load b1[i0] : f32\n");
        for (int i = 1; i <= length; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "    %%%d = mul %%%d, %%%d : f32\n", i, i - 1, i / 2);
        snprintf(text + at, sizeof text - (size_t)at, "    store b0[i0] = %%%d\n  }\n}\n", length);
        assert_int_equal(emits(text, "stackrealign"), has_vectors && length == 32);
    }
}

/* Products and sums stay apart on the GPU, too. */
static void test_no_contraction(void **state)
{
    (void)state;
    example x = {.name = "layouts", .text = layouts_text};
    weft_kernel *kernel = parse(&x);
    weft_bytes text;
    weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_PTX, &text));
    assert_null(strstr(text.data, "fma"));
    assert_non_null(strstr(text.data, "mul.rn.f32"));
    assert_non_null(strstr(text.data, "add.rn.f32"));
    weft_bytes_finish(&text);
    weft_kernel_destroy(kernel);
}

/* On the GPU f16 is added and multiplied as it is; bf16 is rounded by an instruction, and its products are those of
 * f32, which round like the processor's where they are below the least normal number. */
static void test_short_floats(void **state)
{
    (void)state;
    static const char format[] =
        "kernel scheduled {\n  buffer b0 : %s out\n  buffer b1 : %s\n  for i0 < 8 grid\n"
        "  stage {\n    %%0 = load b1[i0] : %s\n    %%1 = cast %%0 : f32\n"
        "    %%2 = mul %%1, %%1 : f32\n    %%3 = cast %%2 : %s\n    store b0[i0] = %%3\n  }\n}\n";
    static const struct {
        const char *dtype, *has[2], *lacks[2];
    } cases[] = {{"f16", {"mul.rn.f16", "ld.global"}, {"mul.rn.f32", "cvt.rn.f16"}},
                 {"bf16", {"mul.rn.f32", "cvt.rn.bf16.f32"}, {"mul.rn.bf16", "bfe"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *t = cases[i].dtype;
        char source[512];
        snprintf(source, sizeof source, format, t, t, t, t);
        example x = {.name = t, .text = source};
        weft_kernel *kernel = parse(&x);
        weft_bytes text;
        weft_test_ok(llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_PTX, &text));
        for (size_t k = 0; k < 2; k++) {
            assert_non_null(strstr(text.data, cases[i].has[k]));
            assert_null(strstr(text.data, cases[i].lacks[k]));
        }
        if (have_ptxas) assemble(text.data);
        weft_bytes_finish(&text);
        weft_kernel_destroy(kernel);
    }
}

/* ---- memory and threads ---- */

static weft_status *emit_once(const weft_allocator *allocator, void *context)
{
    weft_bytes object;
    weft_status *status = llvm->emit(allocator, context, "kernel", WEFT_LLVM_OBJECT, &object);
    if (status == NULL) weft_bytes_finish(&object);
    return status;
}

/* What is seldom needed has a branch of its own, and functions read tables of one type or the other. */
static const char sine_text[] = "kernel scheduled {\n"
                                "  symbol n in [0, 1000]\n"
                                "  buffer b0 : f64 out\n  buffer b1 : f64\n"
                                "  for i0 < n lane 8 x 2\n"
                                "  stage {\n    %0 = load b1[i0] : f64\n    %1 = sin %0 : f64\n"
                                "    store b0[i0] = %1\n  }\n}\n";
static const char error_text[] = "kernel scheduled {\n"
                                 "  symbol n in [0, 1000]\n"
                                 "  buffer b0 : f32 out\n  buffer b1 : f32\n"
                                 "  for i0 < n lane 8 x 2\n"
                                 "  stage {\n    %0 = load b1[i0] : f32\n    %1 = erfc %0 : f32\n"
                                 "    store b0[i0] = %1\n  }\n}\n";

static void test_out_of_memory(void **state)
{
    (void)state;
    const example examples[] = {{.name = "softmax", .text = softmax_text},
                                {.name = "sine", .text = sine_text},
                                {.name = "error", .text = error_text}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        weft_kernel *kernel = parse(&examples[i]);
        weft_test_fail_each(emit_once, kernel);
        weft_kernel_destroy(kernel);
    }
}

/* Kernels of one object: each is where its offset says. */
static void test_group(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    const example examples[COUNT] = {{.name = "add", .text = add_text, .special = true},
                                     {.name = "softmax", .text = softmax_text},
                                     {.name = "add", .text = add_text, .special = true}};
    weft_kernel *kernels[COUNT];
    int64_t offsets[COUNT];
    weft_bytes object;
    weft_image *image;
    weft_kernel_function first;
    for (int i = 0; i < COUNT; i++) kernels[i] = parse(&examples[i]);
    const weft_code_group group = {(const weft_kernel *const *)kernels, COUNT, "kernel", offsets};
    for (int quick = 0; quick < 2; quick++) {
        weft_test_ok(llvm->emit_group(NULL, &group, quick != 0, &object));
        weft_test_ok(llvm->load(object.data, object.size, "kernel", &image, &first));
        assert_int_equal(offsets[0], 0);
        for (int i = 0; i < COUNT; i++) {
            weft_kernel_function function = (weft_kernel_function)((uintptr_t)first + (uintptr_t)offsets[i]);
            assert_true(i == 0 || offsets[i] > offsets[i - 1]);
            run_pieces(&examples[i], kernels[i], function, true);
        }
        llvm->unload(image);
        weft_bytes_finish(&object);
    }
    for (int i = 0; i < COUNT; i++) weft_kernel_destroy(kernels[i]);
}

static void *emit_and_load(void *context)
{
    (void)context;
    for (int i = 0; i < 5; i++) {
        weft_kernel *kernel = NULL;
        weft_bytes object;
        weft_image *image = NULL;
        weft_kernel_function function;
        weft_status *status = weft_kernel_parse(NULL, "add", add_text, strlen(add_text), &kernel);
        if (status == NULL) status = llvm->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &object);
        if (status == NULL) status = llvm->load(object.data, object.size, "kernel", &image, &function);
        if (status != NULL) return status;
        llvm->unload(image);
        weft_bytes_finish(&object);
        weft_kernel_destroy(kernel);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, emit_and_load, NULL), 0);
    for (int i = 0; i < 3; i++) {
        void *status;
        pthread_join(threads[i], &status);
        weft_test_ok(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_near_lanes),
        cmocka_unit_test(test_wrapped_lanes),
        cmocka_unit_test(test_near_vectors),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_row_vectors),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_transpositions),
        cmocka_unit_test(test_transposed_registers),
        cmocka_unit_test(test_transposed_lines),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_sums_across),
        cmocka_unit_test(test_vectors_across),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_sums_in_blocks),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_pairs_of_columns),
        cmocka_unit_test(test_pairs_of_known_rows),
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_extrema),
        cmocka_unit_test(test_extrema_of_columns),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_offset_bits),
        cmocka_unit_test(test_known_indices),
        cmocka_unit_test(test_indices_below_symbols),
        cmocka_unit_test(test_called_lanes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_missing_symbol),
        cmocka_unit_test(test_unknown_rows),
        cmocka_unit_test(test_repeated_rows),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_no_contraction),
        cmocka_unit_test(test_short_floats),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_threads),
    };
    llvm = weft_llvm_query();
    have_ptxas = system("ptxas --version >/dev/null 2>&1") == 0;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unload_last();
    return failed;
}
