/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dtype.h>

static void every_row_is_whole(void **state)
{
    (void)state;
    for (int i = 0; i < WEFT_DTYPE_COUNT; i++) {
        const weft_dtype_info *info = weft_dtype_info_of((weft_dtype)i);
        weft_dtype found;
        assert_non_null(info);
        assert_true(weft_dtype_find(info->name, &found));
        assert_int_equal(found, i);
        assert_string_equal(weft_dtype_name((weft_dtype)i), info->name);
        assert_int_equal(weft_dtype_size((weft_dtype)i), info->size);
        assert_true(info->size > 0 && info->size % info->alignment == 0);
        assert_true((info->alignment & (info->alignment - 1)) == 0);
        assert_int_equal(atoi(info->npy + 1), info->size);
    }
}

static void sizes_are_those_of_c(void **state)
{
    (void)state;
    assert_int_equal(weft_dtype_size(WEFT_BOOL), sizeof(bool));
    assert_int_equal(weft_dtype_size(WEFT_F32), sizeof(float));
    assert_int_equal(weft_dtype_size(WEFT_C128), sizeof(double complex));
    assert_int_equal(weft_dtype_info_of(WEFT_C64)->alignment, _Alignof(float complex));
    assert_int_equal(weft_dtype_info_of(WEFT_BF16)->kind, WEFT_KIND_FLOAT);
}

static void others_are_no_dtype(void **state)
{
    (void)state;
    weft_dtype found;
    assert_null(weft_dtype_info_of(WEFT_DTYPE_COUNT));
    assert_null(weft_dtype_info_of((weft_dtype)-1));
    assert_string_equal(weft_dtype_name(WEFT_DTYPE_COUNT), "?");
    assert_int_equal(weft_dtype_size(WEFT_DTYPE_COUNT), 0);
    assert_false(weft_dtype_find("f3", &found));
    assert_false(weft_dtype_find("", &found));
}

static void bools_read_as_0_or_1(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t element = (uint8_t)byte;
        double real, imaginary;
        weft_dtype_load(WEFT_BOOL, &element, &real, &imaginary);
        assert_true(real == (byte != 0) && imaginary == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(sizes_are_those_of_c),
        cmocka_unit_test(others_are_no_dtype),
        cmocka_unit_test(bools_read_as_0_or_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
