/* SPDX-License-Identifier: Apache-2.0 */
/* Floats between formats, against what is next to them and what the compiler's own conversion gives. */
#include "runtime/base/float_bits.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test/support.h"

static const struct format {
    weft_dtype dtype;
    uint64_t infinity;
} formats[] = {{WEFT_F16, 0x7c00}, {WEFT_BF16, 0x7f80}};

/* Every number, and around the middle between it and the next: to even there, to the nearer one on both sides. */
static void short_floats_are_the_nearest(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        weft_dtype dtype = formats[f].dtype;
        for (uint64_t bits = 0; bits < formats[f].infinity; bits++) {
            double value = weft_float_decode(dtype, bits), next = weft_float_decode(dtype, bits + 1);
            /* Above the greatest number the next one would have been twice the last place away. */
            if (isinf(next)) next = 2 * value - weft_float_decode(dtype, bits - 1);
            double middle = (value + next) / 2;
            assert_true(next > value && weft_float_decode(dtype, bits | 0x8000) == -value);
            assert_int_equal(weft_float_encode(dtype, value), bits);
            assert_int_equal(weft_float_encode(dtype, -value), bits | 0x8000);
            assert_int_equal(weft_float_encode(dtype, middle), bits + (bits & 1));
            assert_int_equal(weft_float_encode(dtype, nextafter(middle, 0)), bits);
            assert_int_equal(weft_float_encode(dtype, -nextafter(middle, INFINITY)), (bits + 1) | 0x8000);
        }
        assert_int_equal(weft_float_encode(dtype, 1e300), formats[f].infinity);
        assert_int_equal(weft_float_encode(dtype, -1e-300), 0x8000);
        assert_int_equal(weft_float_encode(dtype, 5e-324), 0);
        assert_true(isnan(weft_float_decode(dtype, formats[f].infinity + 1)));
        assert_true(isinf(weft_float_decode(dtype, formats[f].infinity | 0x8000)));
    }
}

static void check_single(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    assert_int_equal(weft_float_encode(WEFT_F32, value), bits);
    double wide = weft_float_decode(WEFT_F32, bits), expected = (double)single;
    assert_memory_equal(&wide, &expected, sizeof wide);
}

/* Random numbers of all sizes, those next to them, and those between two floats. */
static void floats_are_those_of_the_compiler(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int i = 0; i < 200000; i++) {
        double value = ldexp(1 + rand_r(&seed) / (RAND_MAX + 1.0), rand_r(&seed) % 300 - 160);
        double middle = (double)(float)value + ldexp((double)(rand_r(&seed) % 3), ilogb(value) - 25);
        check_single(rand_r(&seed) % 2 == 0 ? value : -value);
        check_single(middle);
        check_single(nextafter(middle, 0));
        check_single(nextafter(middle, INFINITY));
    }
    const double special[] = {
        0.0,        -0.0,           (double)INFINITY, -(double)INFINITY,     (double)NAN, 0x1p-149, 0x1p-150,
        0x1.8p-149, 0x1.fffffep127, 0x1.ffffffp127,   0x1.fffffefffffffp127, 5e-324,      DBL_MAX};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) check_single(special[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_floats_are_the_nearest),
        cmocka_unit_test(floats_are_those_of_the_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
