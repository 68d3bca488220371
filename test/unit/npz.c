/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/npz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include "test/support.h"

enum { COUNT = 3, LARGEST = 8192 };

static const char *const names[COUNT] = {"x", "w long name", "mask"};

typedef struct fixture {
    char folder[32], path[64];
    weft_array *arrays[COUNT];
    float x[1000];
    int64_t w[6];
    bool mask;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.w = {1, 2, 3, 4, 5, 6}, .mask = true};
    for (int i = 0; i < 1000; i++) f.x[i] = (float)(i % 10);
    strcpy(f.folder, "/tmp/weft-npz-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    snprintf(f.path, sizeof f.path, "%s/a.npz", f.folder);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (int64_t[]){1000}, NULL, f.x, NULL, NULL, &f.arrays[0]));
    weft_test_ok(
        weft_array_wrap(NULL, WEFT_I64, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, f.w, NULL, NULL, &f.arrays[1]));
    weft_test_ok(weft_array_wrap(NULL, WEFT_BOOL, 0, NULL, NULL, &f.mask, NULL, NULL, &f.arrays[2]));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < COUNT; i++) weft_array_release(f->arrays[i]);
    remove(f->path);
    return rmdir(f->folder);
}

static size_t read_file(const char *path, char out_bytes[LARGEST])
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out_bytes, 1, LARGEST, file);
    assert_true(size < LARGEST);
    fclose(file);
    return size;
}

static weft_array *load(const weft_npz *npz, const char *name)
{
    size_t member = SIZE_MAX;
    weft_array *array = NULL;
    assert_true(weft_npz_find(npz, name, &member));
    weft_test_ok(weft_npz_load(npz, member, &array));
    return array;
}

static void reads_what_it_writes(void **state)
{
    fixture *f = *state;
    char bytes[LARGEST], list[64];
    for (int deflated = 0; deflated < 2; deflated++) {
        weft_npz *npz;
        weft_test_ok(weft_npz_save(NULL, f->path, COUNT, names, f->arrays, deflated));
        assert_int_equal(read_file(f->path, bytes) < 4000, deflated);
        weft_test_ok(weft_npz_open(NULL, f->path, &npz));
        assert_int_equal(weft_npz_count(npz), COUNT);
        weft_npz_list(npz, list, sizeof list);
        assert_string_equal(list, "x, w long name, mask");
        weft_array *x = load(npz, "x"), *w = load(npz, "w long name.npy"), *mask = load(npz, "mask");
        assert_int_equal(weft_array_dtype(x), WEFT_F32);
        assert_memory_equal(weft_array_data(x), f->x, sizeof f->x);
        assert_int_equal(weft_array_shape(w)[0], 3);
        assert_memory_equal(weft_array_data(w), ((int64_t[]){1, 4, 2, 5, 3, 6}), sizeof f->w);
        assert_int_equal(weft_array_rank(mask), 0);
        weft_array_release(x);
        weft_array_release(w);
        weft_array_release(mask);
        weft_npz_close(npz);
    }
}

static void writes_the_same_bytes_again(void **state)
{
    fixture *f = *state;
    char first[LARGEST], second[LARGEST];
    weft_test_ok(weft_npz_save(NULL, f->path, COUNT, names, f->arrays, true));
    size_t size = read_file(f->path, first);
    weft_test_ok(weft_npz_save(NULL, f->path, COUNT, names, f->arrays, true));
    assert_int_equal(read_file(f->path, second), size);
    assert_memory_equal(first, second, size);
}

static void finds_nothing_else(void **state)
{
    fixture *f = *state;
    weft_npz *npz;
    size_t member;
    weft_test_ok(weft_npz_save(NULL, f->path, 1, names, f->arrays, false));
    weft_test_ok(weft_npz_open(NULL, f->path, &npz));
    assert_false(weft_npz_find(npz, "y", &member));
    weft_array *array;
    weft_test_fails(weft_npz_load(npz, 1, &array), WEFT_BAD_FILE, "a.npz: a member cannot be found");
    weft_npz_close(npz);
}

/* Loads all members from bytes; the first status that is none. */
static weft_status *load_all(const char *bytes, size_t size)
{
    weft_npz *npz;
    WEFT_TRY(weft_npz_open_bytes(NULL, bytes, size, "cut.npz", &npz));
    weft_status *status = NULL;
    for (size_t i = 0; i < weft_npz_count(npz) && status == NULL; i++) {
        weft_array *array = NULL;
        status = weft_npz_load(npz, i, &array);
        weft_array_release(array);
    }
    weft_npz_close(npz);
    return status;
}

static void refuses_truncated_archives(void **state)
{
    fixture *f = *state;
    char bytes[LARGEST];
    weft_test_ok(weft_npz_save(NULL, f->path, COUNT, names, f->arrays, true));
    size_t size = read_file(f->path, bytes);
    weft_test_ok(load_all(bytes, size));
    for (size_t cut = 0; cut < size; cut++) weft_test_fails(load_all(bytes, cut), WEFT_BAD_FILE, "cut.npz: ");
}

/* One byte of a member's data is enough, and the sum finds it. */
static void refuses_corrupt_members(void **state)
{
    fixture *f = *state;
    char bytes[LARGEST];
    weft_test_ok(weft_npz_save(NULL, f->path, 1, names, f->arrays, false));
    size_t size = read_file(f->path, bytes);
    bytes[2000] ^= 1;
    weft_test_fails(load_all(bytes, size), WEFT_BAD_FILE, "cut.npz:x.npy: reading the end failed: CRC error");
}

static void refuses_sizes_that_cannot_be(void **state)
{
    fixture *f = *state;
    char bytes[LARGEST];
    weft_test_ok(weft_npz_save(NULL, f->path, 1, names, f->arrays, true));
    size_t size = read_file(f->path, bytes);
    for (size_t i = 0; i + 4 < size; i++) {
        if (memcmp(bytes + i, "PK\1\2", 4) == 0) memset(bytes + i + 24, 0x7f, 4);
        if (memcmp(bytes + i, "PK\3\4", 4) == 0) memset(bytes + i + 22, 0x7f, 4);
    }
    weft_test_fails(load_all(bytes, size), WEFT_BAD_FILE, "member 'x.npy' cannot have 2139062143 bytes packed in");
}

/* What the directory says of a member may be less than what is packed in it. */
static void refuses_members_that_do_not_end(void **state)
{
    static const char member[] =
        "\x93NUMPY\1\0\72\0{'descr': '|u1', 'fortran_order': False, 'shape': (2,), } 12and more";
    fixture *f = *state;
    char bytes[LARGEST];
    zip_t *zip = zip_open(f->path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    assert_int_equal(zip_file_add(zip, "x.npy", zip_source_buffer(zip, member, sizeof member - 1, 0), 0), 0);
    assert_int_equal(zip_set_file_compression(zip, 0, ZIP_CM_DEFLATE, 9), 0);
    assert_int_equal(zip_close(zip), 0);
    size_t size = read_file(f->path, bytes);
    for (size_t i = 0; i + 4 < size; i++) {
        if (memcmp(bytes + i, "PK\1\2", 4) == 0) bytes[i + 24] -= 8;
        if (memcmp(bytes + i, "PK\3\4", 4) == 0) bytes[i + 22] -= 8;
    }
    weft_test_fails(load_all(bytes, size), WEFT_BAD_FILE,
                    "cut.npz:x.npy: more is packed in it than the 70 bytes that the archive tells of");
}

static void refuses_other_files(void **state)
{
    fixture *f = *state;
    weft_npz *npz;
    weft_test_fails(weft_npz_open(NULL, f->path, &npz), WEFT_BAD_FILE, "a.npz: cannot be opened: ");
    weft_test_fails(load_all("\x93NUMPY", 6), WEFT_BAD_FILE, "cut.npz: is no zip archive, or is cut off");
    weft_test_fails(weft_npz_save(NULL, "/nonexistent/a.npz", 1, names, f->arrays, false), WEFT_BAD_FILE,
                    "/nonexistent/a.npz cannot be written: ");
    weft_test_fails(weft_npz_save(NULL, f->path, 1, (const char *const[]){"../x"}, f->arrays, false), WEFT_BAD_FILE,
                    "a.npz: '../x' is a path, which cannot be the name of a member");
}

static void refuses_members_that_are_no_arrays(void **state)
{
    fixture *f = *state;
    char bytes[LARGEST];
    zip_t *zip = zip_open(f->path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    assert_int_equal(zip_file_add(zip, "x", zip_source_buffer(zip, "hello", 5, 0), 0), 0);
    assert_int_equal(zip_close(zip), 0);
    weft_test_fails(load_all(bytes, read_file(f->path, bytes)), WEFT_BAD_FILE,
                    "cut.npz:x: the file ends inside the magic string");
}

static weft_status *save_once(const weft_allocator *allocator, void *context)
{
    fixture *f = context;
    return weft_npz_save(allocator, f->path, COUNT, names, f->arrays, false);
}

static weft_status *load_once(const weft_allocator *allocator, void *context)
{
    fixture *f = context;
    weft_npz *npz;
    weft_array *array = NULL;
    WEFT_TRY(weft_npz_open(allocator, f->path, &npz));
    weft_status *status = weft_npz_load(npz, 0, &array);
    weft_array_release(array);
    weft_npz_close(npz);
    return status;
}

static void survives_failing_allocations(void **state)
{
    fixture *f = *state;
    assert_true(weft_test_fail_each(save_once, f) >= 1);
    assert_true(weft_test_fail_each(load_once, f) >= 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reads_what_it_writes),
        CASE(writes_the_same_bytes_again),
        CASE(finds_nothing_else),
        CASE(refuses_truncated_archives),
        CASE(refuses_corrupt_members),
        CASE(refuses_sizes_that_cannot_be),
        CASE(refuses_members_that_do_not_end),
        CASE(refuses_other_files),
        CASE(refuses_members_that_are_no_arrays),
        CASE(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
