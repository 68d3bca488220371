/* SPDX-License-Identifier: Apache-2.0 */
/* Fused multiplications without the instruction, against the C library's. An argument says how many random cases there
 * are of each kind. */
#include "runtime/engine/fma.h"
#include "test/rng.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test/support.h"

static size_t rounds = 1000000;
static uint64_t random_state = 1;

static int random_from(int least, int most)
{
    return (int)weft_test_between(&random_state, least, most);
}

/* ---- the comparison ---- */

/* In f32 or f64, whose numbers are all in f64. */
typedef struct format {
    int digits, least, most; /* bits, and exponents of normal numbers */
    bool is_single;
} format;

typedef struct operands {
    double a, b, c;
} operands;

static const format formats[] = {{FLT_MANT_DIG, FLT_MIN_EXP - 1, FLT_MAX_EXP - 1, true},
                                 {DBL_MANT_DIG, DBL_MIN_EXP - 1, DBL_MAX_EXP - 1, false}};

static double rounded(const format *f, double value)
{
    return f->is_single ? (double)(float)value : value;
}

static double expected(const format *f, operands x)
{
    return f->is_single ? (double)fmaf((float)x.a, (float)x.b, (float)x.c) : fma(x.a, x.b, x.c);
}

static double found(const format *f, operands x)
{
    return f->is_single ? (double)weft_fma_f32((float)x.a, (float)x.b, (float)x.c) : weft_fma_f64(x.a, x.b, x.c);
}

static void check(const format *f, operands x)
{
    double right = expected(f, x), result = found(f, x);
    bool equal = isnan(right) ? isnan(result) : memcmp(&right, &result, sizeof right) == 0;
    if (!equal) print_message("%a * %a + %a in %d bits: %a, not %a\n", x.a, x.b, x.c, f->digits, result, right);
    assert_true(equal);
}

/* ---- random operands ---- */

static double random_number(const format *f, int exponent)
{
    uint64_t fraction = weft_test_bits(&random_state) >> (64 - f->digits) | UINT64_C(1) << (f->digits - 1);
    double value = ldexp((double)fraction, exponent - f->digits + 1);
    return rounded(f, weft_test_bits(&random_state) % 2 == 0 ? value : -value);
}

static double random_pattern(const format *f)
{
    uint64_t bits = weft_test_bits(&random_state);
    uint32_t half = (uint32_t)bits;
    float single;
    double value;
    memcpy(&single, &half, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return f->is_single ? (double)single : value;
}

static operands any(const format *f)
{
    return (operands){random_pattern(f), random_pattern(f), random_pattern(f)};
}

/* Product and addend reach into each other, or lie just apart. */
static operands comparable(const format *f)
{
    int x = random_from(f->least / 2, f->most / 2), y = random_from(f->least / 2, f->most / 2);
    int apart = random_from(-2 * f->digits - 4, 2 * f->digits + 4);
    return (operands){random_number(f, x), random_number(f, y), random_number(f, x + y + apart)};
}

/* The addend is the product with the other sign, but for what is rounded and up to two last places. */
static operands cancelling(const format *f)
{
    int x = random_from(f->least / 2, f->most / 2), y = random_from(f->least / 2, f->most / 2);
    operands o = {random_number(f, x), random_number(f, y), 0};
    o.c = rounded(f, -(o.a * o.b));
    o.c = rounded(f, o.c * (1 + ldexp(random_from(-2, 2), 1 - f->digits)));
    return o;
}

/* The sum lies half-way between two numbers, normal or not, or beside that. */
static operands half_way(const format *f)
{
    int exponent = random_from(f->least - 3, f->most), place = exponent < f->least ? f->least : exponent;
    int half = place - f->digits, part = random_from(half / 2 - 20, half / 2 + 20);
    double beside = 1 + ldexp(random_from(-1, 1), 1 - f->digits);
    double sign = weft_test_bits(&random_state) % 2 == 0 ? 1 : -1;
    return (operands){rounded(f, ldexp(beside, part)), ldexp(sign, half - part), random_number(f, exponent)};
}

/* Around the least and the greatest numbers. */
static operands extreme(const format *f)
{
    bool small = weft_test_bits(&random_state) % 2 == 0;
    int edge = small ? random_from(f->least - f->digits - 3, f->least + 2) : random_from(f->most - 2, f->most + 1);
    int x = random_from(edge / 2 - 20, edge / 2 + 20);
    int addend =
        small ? random_from(f->least - f->digits, f->least + 3) : random_from(f->most - f->digits - 2, f->most);
    return (operands){random_number(f, x), random_number(f, edge - x), random_number(f, addend)};
}

static void random_operands(void **unused)
{
    static operands (*const kinds[])(const format *) = {any, comparable, cancelling, half_way, extreme};
    (void)unused;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t i = 0; i < rounds; i++) check(&formats[f], kinds[k](&formats[f]));
}

/* ---- all of a few ---- */

static void check_all(const format *f)
{
    const double last = ldexp(1, 1 - f->digits), small = ldexp(1, f->least), great = ldexp(2 - last, f->most);
    const double values[] = {0,
                             last * small,
                             2 * last * small,
                             small - last * small,
                             small,
                             0.5,
                             1 - last,
                             1,
                             1 + last,
                             1.5,
                             2,
                             ldexp(1, f->least / 2),
                             great / 2,
                             great,
                             INFINITY,
                             NAN,
                             1 / last,
                             ldexp(1, f->most / 2),
                             last,
                             last / 2,
                             1 / last + 1,
                             ldexp(1, 400),
                             small * 1.5};
    enum { COUNT = sizeof values / sizeof *values };
    for (int i = 0; i < 8 * COUNT * COUNT * COUNT; i++) {
        int number = i / 8;
        double a = values[number % COUNT], b = values[number / COUNT % COUNT], c = values[number / COUNT / COUNT];
        check(f, (operands){(i & 1) != 0 ? -a : a, (i & 2) != 0 ? -b : b, (i & 4) != 0 ? -c : c});
    }
}

static void special_operands(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) check_all(&formats[f]);
}

int main(int argc, char **argv)
{
    if (argc > 1) rounds = strtoul(argv[1], NULL, 10);
    if (rounds == 0) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_operands), cmocka_unit_test(special_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
