/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"
#include <math.h>
#include <string.h>
#include "element.h"

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From [0, 1). */
static double draw(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

void weft_random_fill(uint64_t *state, double low, double high, size_t count, double *out_numbers)
{
    for (size_t i = 0; i < count; i++) out_numbers[i] = low + (high - low) * draw(state);
}

static weft_element draw_element(weft_dtype dtype, double scale, uint64_t *state)
{
    switch (weft_dtype_info_of(dtype)->kind) {
    case WEFT_KIND_BOOL: return (weft_element){(double)(next(state) >> 63), 0};
    case WEFT_KIND_UNSIGNED:
    case WEFT_KIND_SIGNED: return (weft_element){(double)(next(state) >> 62), 0};
    default: {
        double re = scale * (0.5 + draw(state));
        return (weft_element){re, scale * 0.1 * (draw(state) - 0.5)};
    }
    }
}

weft_status *weft_random_create(weft_dtype dtype, weft_ints shape, double scale, uint64_t seed, weft_array **out_array)
{
    weft_array *array;
    uint64_t state = seed;
    WEFT_TRY(weft_array_create(NULL, dtype, shape.count, shape.items, &array));
    char *data = weft_array_data(array);
    int64_t count = weft_array_count(array);
    for (int64_t i = 0; i < count; i++)
        weft_element_write(dtype, data + (size_t)i * weft_dtype_size(dtype), draw_element(dtype, scale, &state));
    *out_array = array;
    return NULL;
}

static weft_element element_at(const weft_array *array, int64_t i)
{
    weft_dtype dtype = weft_array_dtype(array);
    return weft_element_read(dtype, (const char *)weft_array_data(array) + (size_t)i * weft_dtype_size(dtype));
}

void weft_array_sum(const weft_array *array, double *out_re, double *out_im)
{
    *out_re = *out_im = 0;
    for (int64_t i = 0; i < weft_array_count(array); i++) {
        weft_element e = element_at(array, i);
        *out_re += e.re;
        *out_im += e.im;
    }
}

double weft_array_difference(const weft_array *a, const weft_array *b)
{
    weft_dtype dtype = weft_array_dtype(a);
    size_t bytes = (size_t)weft_array_count(a) * weft_dtype_size(dtype);
    if (weft_element_rounding(dtype) == 0) return memcmp(weft_array_data(a), weft_array_data(b), bytes) == 0 ? 0 : 1;
    double largest = 0;
    for (int64_t i = 0; i < weft_array_count(a); i++) {
        weft_element x = element_at(a, i), y = element_at(b, i);
        double size = fmax(hypot(x.re, x.im), hypot(y.re, y.im)), difference = hypot(x.re - y.re, x.im - y.im);
        double relative = difference == 0 ? 0 : difference / size;
        if (isnan(relative)) return relative;
        if (relative > largest) largest = relative;
    }
    return largest;
}
