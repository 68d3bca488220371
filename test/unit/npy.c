/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/npy.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/dlpack.h>
#include "test/support.h"

/* ---- making files in memory ---- */

struct image {
    char bytes[2048];
    size_t size;
};

/* An npy file of format `major` with `header` and `data`. */
static struct image make_image(int major, const char *header, const void *data, size_t size)
{
    struct image image = {.size = 0};
    size_t length = strlen(header), digits = major == 1 ? 2 : 4, begin = 8 + digits;
    memcpy(image.bytes, "\x93NUMPY", 6);
    image.bytes[6] = (char)major;
    for (size_t i = 0; i < digits; i++) image.bytes[8 + i] = (char)(length >> 8 * i);
    memcpy(image.bytes + begin, header, length);
    memcpy(image.bytes + begin + length, data, size);
    image.size = begin + length + size;
    return image;
}

static bool read_bytes(void *self, void *out_bytes, size_t size, const char **out_error)
{
    struct image *rest = self;
    (void)out_error;
    if (size > rest->size) return false;
    memcpy(out_bytes, rest->bytes, size);
    memmove(rest->bytes, rest->bytes + size, rest->size - size);
    rest->size -= size;
    return true;
}

static weft_status *read_image(const weft_allocator *allocator, const struct image *image, weft_array **out_array)
{
    struct image rest = *image;
    weft_npy_source source = {.self = &rest, .size = image->size, .read = read_bytes};
    return weft_npy_read(allocator, &source, "x.npy", out_array);
}

static weft_array *read_good(int major, const char *header, const void *data, size_t size)
{
    struct image image = make_image(major, header, data, size);
    weft_array *array = NULL;
    weft_test_ok(read_image(NULL, &image, &array));
    return array;
}

static void refuse(const char *header, const void *data, size_t size, const char *part)
{
    struct image image = make_image(1, header, data, size);
    weft_array *array = NULL;
    weft_test_fails(read_image(NULL, &image, &array), WEFT_BAD_FILE, part);
    assert_null(array);
}

static const float six[6] = {0, 1, 2, 3, 4, 5};

/* ---- reading ---- */

static void reads_row_major(void **state)
{
    (void)state;
    for (int major = 1; major <= 3; major++) {
        weft_array *array =
            read_good(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", six, sizeof six);
        assert_int_equal(weft_array_dtype(array), WEFT_F32);
        assert_int_equal(weft_array_rank(array), 2);
        assert_int_equal(weft_array_shape(array)[0], 2);
        assert_int_equal(weft_array_shape(array)[1], 3);
        assert_memory_equal(weft_array_data(array), six, sizeof six);
        weft_array_release(array);
    }
}

static void reads_fortran_order_as_strides(void **state)
{
    (void)state;
    weft_array *array = read_good(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six, sizeof six);
    const int64_t *strides = weft_array_strides(array);
    assert_int_equal(weft_array_shape(array)[0], 2);
    assert_int_equal(strides[0], 1);
    assert_int_equal(strides[1], 2);
    const float *data = weft_array_data(array);
    assert_true(data[1 * strides[0] + 2 * strides[1]] == 5);
    weft_array_release(array);
}

static void reads_any_field_order_and_space(void **state)
{
    (void)state;
    const char *headers[] = {
        "{\"shape\":(6,),\"descr\":\"<f4\",\"fortran_order\":False}",
        " { 'fortran_order' : False ,\n 'shape' : ( 6 , ) , 'descr' : '=f4' } \t\n",
        "{'shape': (6L,), 'fortran_order': False, 'descr': '<f4', }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        weft_array *array = read_good(1, headers[i], six, sizeof six);
        assert_int_equal(weft_array_count(array), 6);
        assert_int_equal(weft_array_dtype(array), WEFT_F32);
        assert_memory_equal(weft_array_data(array), six, sizeof six);
        weft_array_release(array);
    }
}

static void reads_scalars_and_nothing(void **state)
{
    (void)state;
    weft_array *array = read_good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", six, 4);
    assert_int_equal(weft_array_rank(array), 0);
    weft_array_release(array);
    array = read_good(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 9223372036854775807)}", six, 0);
    assert_int_equal(weft_array_count(array), 0);
    assert_int_equal(weft_array_shape(array)[0], 3);
    weft_array_release(array);
}

static void reads_big_endian(void **state)
{
    (void)state;
    weft_array *array =
        read_good(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "\x3f\x80\0\0\xc0\x20\0\0", 8);
    assert_memory_equal(weft_array_data(array), ((float[]){1, -2.5f}), 8);
    weft_array_release(array);
    array = read_good(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}", "\x3f\x80\0\0\xc0\x20\0\0", 8);
    assert_memory_equal(weft_array_data(array), ((float[]){1, -2.5f}), 8);
    weft_array_release(array);
    array = read_good(1, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0\0\1\2", 8);
    assert_int_equal(*(int64_t *)weft_array_data(array), 258);
    weft_array_release(array);
    array = read_good(1, "{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", "\1\2", 2);
    assert_memory_equal(weft_array_data(array), "\1\2", 2);
    weft_array_release(array);
}

/* As ml_dtypes writes it, as a view of it is written, and by name. */
static void reads_each_form_of_bf16(void **state)
{
    (void)state;
    const char *headers[] = {
        "{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': 'V2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': 'bfloat16', 'fortran_order': False, 'shape': (2,)}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        weft_array *array = read_good(1, headers[i], "\x80\x3f\x20\xc0", 4);
        assert_int_equal(weft_array_dtype(array), WEFT_BF16);
        assert_memory_equal(weft_array_data(array), "\x80\x3f\x20\xc0", 4);
        weft_array_release(array);
    }
}

static void refuses_bad_headers(void **state)
{
    (void)state;
    const struct {
        const char *header, *part;
    } cases[] = {
        {"", "the header ends where '{' is due"},
        {"[]", "byte 0x5b where '{' is due"},
        {"{}", "the header has no descr"},
        {"{'descr': '<f4', 'shape': (6,)}", "the header has no fortran_order"},
        {"{'descr': '<f4', 'fortran_order': False}", "the header has no shape"},
        {"{'descr': '<f4', 'descr': '<f4'}", "has descr twice"},
        {"{'colour': 1}", "unknown key"},
        {"{descr: '<f4'}", "a key in the header is not a string"},
        {"{'descr: <f4", "a key in the header has no closing quote"},
        {"{'descr' '<f4'}", "where ':' is due"},
        {"{'descr': '<f4' 'shape': (6,)}", "not separated by commas"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", "something follows the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", "not separated by commas"},
        {"{'descr': '<>f4'}", "dtype '<>f4' is not supported"},
        {"{'descr': '='}", "dtype '=' is not supported"},
        {"{'descr': ''}", "dtype '' is not supported"},
        {"{'descr': '<q9'}", "dtype '<q9' is not supported"},
        {"{'descr': '<\033[31m'}", "descr in the header has byte 0x1b"},
        {"{'descr': '<f4\303\244'}", "descr in the header has byte 0xc3"},
        {"{'descr\177': '<f4'}", "a key in the header has byte 0x7f"},
        {"{'descr'; '<f4'}", "byte 0x3b where ':' is due after a key"},
        {"{'descr': '>V2'}", "descr '>V2' is bf16 in big endian"},
        {"{'descr': [('a', '<f4')]}", "structured types"},
        {"{'descr': '|O'}",
         "dtype '|O' is not supported; there are bool, u8, i32, u32, i64, bf16, f16, f32, f64, c64 and c128"},
        {"{'fortran_order': 1}", "neither True nor False"},
        {"{'shape': 6}", "where '(' is due before the shape"},
        {"{'shape': (6)}", "not a tuple"},
        {"{'shape': (2 3)}", "not separated by commas"},
        {"{'shape': (2, -3)}", "extent 1 of the shape is negative"},
        {"{'shape': (2, x)}", "extent 1 of the shape is not a number"},
        {"{'shape': (3.0, 2)}", "extent 0 of the shape is not an integer"},
        {"{'shape': (2, 3e1)}", "extent 1 of the shape is not an integer"},
        {"{'shape': (,)}", "extent 0 of the shape is not a number"},
        {"{'shape': (9223372036854775808,)}", "extent 0 of the shape overflows"},
        {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "the rank is over the limit"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "overflows 64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", "the shape is of 7 elements, but the file has 6"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", "the shape is of 5 elements, but the file has 6"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "the shape is of 1 element, but the file has 6"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", "8 bytes follow the array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuse(cases[i].header, six, sizeof six, cases[i].part);
}

static void refuses_bad_bools(void **state)
{
    (void)state;
    refuse("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\2", 3, "byte 2 of the bool array is 2");
}

/* Cut off anywhere the file is refused, by name. */
static void refuses_truncated_files(void **state)
{
    (void)state;
    struct image image = make_image(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", six, sizeof six);
    for (size_t size = 1; size < image.size; size++) {
        struct image cut = image;
        cut.size = size;
        weft_array *array = NULL;
        weft_test_fails(read_image(NULL, &cut, &array), WEFT_BAD_FILE, "x.npy: ");
    }
}

static void refuses_foreign_files(void **state)
{
    (void)state;
    weft_array *array = NULL;
    struct image image = make_image(1, "{}", six, 0);
    image.bytes[1] = 'X';
    weft_test_fails(read_image(NULL, &image, &array), WEFT_BAD_FILE, "x.npy: the file is not an npy file");
    image = make_image(4, "{}", six, 0);
    weft_test_fails(read_image(NULL, &image, &array), WEFT_BAD_FILE, "npy format 4.0 is unknown");
    weft_test_fails(weft_npy_load(NULL, "/nonexistent/x.npy", &array), WEFT_BAD_FILE,
                    "/nonexistent/x.npy: cannot be opened");
    weft_test_fails(weft_npy_load(NULL, "/", &array), WEFT_BAD_FILE, "/: ");
    weft_test_fails(weft_npy_load(NULL, "", &array), WEFT_BAD_FILE, "\"\": cannot be opened");
}

/* ---- writing ---- */

struct temporary {
    char folder[32], path[64];
};

static int make_folder(void **state)
{
    static struct temporary temporary;
    strcpy(temporary.folder, "/tmp/weft-npy-XXXXXX");
    assert_non_null(mkdtemp(temporary.folder));
    snprintf(temporary.path, sizeof temporary.path, "%s/a.npy", temporary.folder);
    *state = &temporary;
    return 0;
}

static int remove_folder(void **state)
{
    struct temporary *temporary = *state;
    remove(temporary->path);
    return rmdir(temporary->folder);
}

static void writes_every_dtype(void **state)
{
    const struct temporary *temporary = *state;
    for (unsigned dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        weft_array *array, *back;
        size_t size = 6 * weft_dtype_size((weft_dtype)dtype);
        weft_test_ok(weft_array_create(NULL, (weft_dtype)dtype, 3, (int64_t[]){1, 2, 3}, &array));
        for (size_t i = 0; i < size; i++) ((unsigned char *)weft_array_data(array))[i] = i % 2;
        weft_test_ok(weft_npy_save(NULL, temporary->path, array));
        weft_test_ok(weft_npy_load(NULL, temporary->path, &back));
        assert_int_equal(weft_array_dtype(back), dtype);
        assert_int_equal(weft_array_rank(back), 3);
        assert_memory_equal(weft_array_shape(back), weft_array_shape(array), 3 * sizeof(int64_t));
        assert_memory_equal(weft_array_data(back), weft_array_data(array), size);
        weft_array_release(array);
        weft_array_release(back);
    }
}

/* What stands for true in memory may be any byte but 0; in a file it is 1. More than are written at once. */
static void writes_bools_as_0_and_1(void **state)
{
    const struct temporary *temporary = *state;
    enum { COUNT = 3000 };
    static unsigned char data[COUNT];
    weft_array *array, *back;
    for (size_t i = 0; i < COUNT; i++) data[i] = (unsigned char)i;
    weft_test_ok(weft_array_wrap(NULL, WEFT_BOOL, 1, (int64_t[]){COUNT}, NULL, data, NULL, NULL, &array));
    weft_test_ok(weft_npy_save(NULL, temporary->path, array));
    weft_test_ok(weft_npy_load(NULL, temporary->path, &back));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(((unsigned char *)weft_array_data(back))[i], (unsigned char)i != 0);
    weft_array_release(array);
    weft_array_release(back);
}

static void arrays_of_devices_are_refused(void **state)
{
    const struct temporary *temporary = *state;
    int64_t shape[] = {2, 3}, strides[] = {1, 2};
    DLManagedTensor tensor = {.dl_tensor = {(void *)0x10000, {kDLCUDA, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}};
    for (int i = 0; i < 2; i++) {
        weft_array *array;
        tensor.dl_tensor.strides = i == 0 ? NULL : strides;
        weft_test_ok(weft_array_import_dlpack(NULL, &tensor, &array));
        weft_test_fails(weft_npy_save(NULL, temporary->path, array), WEFT_UNSUPPORTED, "the array must be on the CPU");
        weft_array_release(array);
    }
    assert_int_equal(access(temporary->path, F_OK), -1);
}

/* The sentence names the file, the place the function. */
static void errors_name_the_function(void **state)
{
    (void)state;
    weft_array *array = NULL;
    weft_status *status[3] = {weft_npy_save(NULL, "x.npy", NULL), weft_npy_load(NULL, "/nonexistent", &array)};
    struct image image = {.size = 0};
    status[2] = read_image(NULL, &image, &array);
    static const char *const names[] = {"weft_npy_save", "weft_npy_load", "weft_npy_read"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(weft_status_where(status[i]), names[i]);
        weft_status_destroy(status[i]);
    }
}

static void writes_strides_in_c_order(void **state)
{
    const struct temporary *temporary = *state;
    weft_array *array, *back;
    float data[6] = {0, 1, 2, 3, 4, 5};
    weft_test_ok(
        weft_array_wrap(NULL, WEFT_F32, 2, (int64_t[]){3, 2}, (int64_t[]){1, -3}, data + 3, NULL, NULL, &array));
    weft_test_ok(weft_npy_save(NULL, temporary->path, array));
    weft_test_ok(weft_npy_load(NULL, temporary->path, &back));
    assert_true(weft_array_is_contiguous(back));
    assert_memory_equal(weft_array_data(back), ((float[]){3, 0, 4, 1, 5, 2}), 6 * sizeof(float));
    weft_array_release(array);
    weft_array_release(back);
}

/* Byte for byte what numpy writes: the data starts at a multiple of 64. */
static void writes_as_numpy_does(void **state)
{
    const struct temporary *temporary = *state;
    const char *text = "\x93NUMPY\1\0v\0{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }";
    size_t length = 10 + strlen(text + 10);
    int64_t value = 7;
    char expected[136], found[137];
    memset(expected, ' ', sizeof expected);
    memcpy(expected, text, length);
    expected[127] = '\n';
    memcpy(expected + 128, &value, sizeof value);
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_I64, 1, (int64_t[]){1}, NULL, &value, NULL, NULL, &array));
    weft_test_ok(weft_npy_save(NULL, temporary->path, array));
    FILE *file = fopen(temporary->path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof found, file), sizeof expected);
    assert_memory_equal(found, expected, sizeof expected);
    fclose(file);
    weft_array_release(array);
}

static size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count - 2; /* itself and its parent */
}

static weft_array *create_byte(uint8_t value)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_U8, 1, (int64_t[]){1}, &array));
    *(uint8_t *)weft_array_data(array) = value;
    return array;
}

static void expect_byte(const char *path, uint8_t value)
{
    weft_array *back;
    weft_test_ok(weft_npy_load(NULL, path, &back));
    assert_int_equal(*(uint8_t *)weft_array_data(back), value);
    weft_array_release(back);
}

/* Links to files that do not exist yet, by relative and by absolute names, stay links. */
static void makes_what_links_name(void **state)
{
    const struct temporary *temporary = *state;
    const char *const targets[] = {"a.npy", temporary->path};
    weft_array *array = create_byte(7);
    struct stat found;
    char first[64], second[64];
    snprintf(first, sizeof first, "%s/first.npy", temporary->folder);
    snprintf(second, sizeof second, "%s/second.npy", temporary->folder);
    assert_int_equal(symlink("first.npy", second), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(symlink(targets[i], first), 0);
        weft_test_ok(weft_npy_save(NULL, second, array));
        assert_true(lstat(first, &found) == 0 && S_ISLNK(found.st_mode));
        assert_true(lstat(second, &found) == 0 && S_ISLNK(found.st_mode));
        assert_true(lstat(temporary->path, &found) == 0 && S_ISREG(found.st_mode));
        expect_byte(temporary->path, 7);
        assert_int_equal(count_entries(temporary->folder), 3);
        remove(first);
        remove(temporary->path);
    }
    assert_int_equal(symlink("/nonexistent/x.npy", first), 0);
    weft_test_fails(weft_npy_save(NULL, second, array), WEFT_BAD_FILE, "cannot be written: No such file");
    weft_test_fails(weft_npy_save(NULL, "", array), WEFT_BAD_FILE, "\"\" cannot be written: No such file");
    assert_int_equal(count_entries(temporary->folder), 2);
    weft_array_release(array);
    remove(first);
    remove(second);
}

/* As long as the system takes them. */
static void takes_long_names(void **state)
{
    const struct temporary *temporary = *state;
    weft_array *array = create_byte(9);
    char path[400];
    int used = snprintf(path, sizeof path, "%s/", temporary->folder);
    memset(path + used, 'n', NAME_MAX + 1);
    path[used + NAME_MAX] = '\0';
    for (size_t i = 0; i < 2; i++) weft_test_ok(weft_npy_save(NULL, path, array));
    expect_byte(path, 9);
    assert_int_equal(count_entries(temporary->folder), 1);
    remove(path);
    path[used + NAME_MAX] = 'n';
    path[used + NAME_MAX + 1] = '\0';
    weft_test_fails(weft_npy_save(NULL, path, array), WEFT_BAD_FILE, "cannot be written: File name too long");
    weft_array_release(array);
}

/* What exists is replaced at once, also through a link, with its permissions, or stays as it was. */
static void replaces_what_exists(void **state)
{
    const struct temporary *temporary = *state;
    char link[sizeof temporary->path + 8];
    weft_array *array = create_byte(7), *large;
    struct stat found;
    weft_test_ok(weft_array_create(NULL, WEFT_U8, 1, (int64_t[]){100000}, &large));
    memset(weft_array_data(large), 0, 100000);
    weft_test_ok(weft_npy_save(NULL, temporary->path, large));
    assert_int_equal(chmod(temporary->path, 0640), 0);
    snprintf(link, sizeof link, "%s.link", temporary->path);
    assert_int_equal(symlink(temporary->path, link), 0);
    weft_test_ok(weft_npy_save(NULL, link, array));
    assert_true(lstat(link, &found) == 0 && S_ISLNK(found.st_mode));
    assert_true(lstat(temporary->path, &found) == 0 && (found.st_mode & 0777) == 0640);

    struct rlimit before, small = {4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    weft_test_fails(weft_npy_save(NULL, temporary->path, large), WEFT_BAD_FILE, "cannot be written: File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    expect_byte(temporary->path, 7);
    assert_int_equal(count_entries(temporary->folder), 2);
    weft_test_fails(weft_npy_save(NULL, "/dev/full", array), WEFT_BAD_FILE, "/dev/full cannot be written: No space");
    assert_true(stat("/dev/full", &found) == 0 && S_ISCHR(found.st_mode));
    weft_array_release(array);
    weft_array_release(large);
    remove(link);
}

static void reports_where_it_cannot_write(void **state)
{
    (void)state;
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 0, NULL, &array));
    weft_test_fails(weft_npy_save(NULL, "/nonexistent/x.npy", array), WEFT_BAD_FILE,
                    "/nonexistent/x.npy cannot be written");
    weft_array_release(array);
}

/* ---- memory ---- */

static weft_status *read_once(const weft_allocator *allocator, void *context)
{
    weft_array *array = NULL;
    weft_status *status = read_image(allocator, context, &array);
    weft_array_release(array);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    struct image image = make_image(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six, sizeof six);
    assert_true(weft_test_fail_each(read_once, &image) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_row_major),
        cmocka_unit_test(reads_fortran_order_as_strides),
        cmocka_unit_test(reads_any_field_order_and_space),
        cmocka_unit_test(reads_scalars_and_nothing),
        cmocka_unit_test(reads_big_endian),
        cmocka_unit_test(reads_each_form_of_bf16),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(refuses_bad_bools),
        cmocka_unit_test(refuses_truncated_files),
        cmocka_unit_test(refuses_foreign_files),
        cmocka_unit_test_setup_teardown(writes_every_dtype, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(writes_bools_as_0_and_1, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(arrays_of_devices_are_refused, make_folder, remove_folder),
        cmocka_unit_test(errors_name_the_function),
        cmocka_unit_test_setup_teardown(writes_strides_in_c_order, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(writes_as_numpy_does, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(makes_what_links_name, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(takes_long_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(replaces_what_exists, make_folder, remove_folder),
        cmocka_unit_test(reports_where_it_cannot_write),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
