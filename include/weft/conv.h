/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_CONV_H
#define WEFT_CONV_H
/*
 * Convolution, pooling and resizing over one or more spatial axes, composed of the primitives of ops.h, whose rules
 * hold here too. Lists in options have an entry for each spatial axis, or are empty for the default; options may be
 * NULL, for all zeros. Extents may be symbolic. Operands of convolutions, and of weft_unfold, have rank WEFT_MAX_RANK /
 * 2 at most; those of pooling so many axes that there is room for as many more as there are spatial ones.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_conv_options {
    weft_ints stride, dilation; /* from 1; default 1 */
    weft_ints low, high;        /* zeros before and after, from 0; default 0 */
    int64_t groups;             /* 0 stands for 1 */
    weft_tensor bias;           /* [o]; default none */
    weft_ints output_padding;   /* of weft_conv_transpose, from 0; default 0 */
} weft_conv_options;

/*
 * The convolution of networks (a correlation): x is [n, c, spatial...], w [o, c / groups, kernel...], the result
 * [n, o, spatial'...] with y[n, o, i...] = bias[o] + the sum over c and k... of
 * w[o, c, k...] * x[n, g + c, (i * stride + k * dilation - low)...], where g is the first channel of o's group; groups
 * must divide c and o, and k... are at least 1. A spatial extent of m becomes
 * floor((m + low + high - dilation * (k - 1) - 1) / stride) + 1, and 0 where the kernel does not fit. Any numeric
 * dtype; sums as by weft_dot.
 */
weft_tensor weft_conv(weft_tensor x, weft_tensor w, const weft_conv_options *options);
/*
 * Its transpose: x is [n, c, spatial...], w [c, o / groups, kernel...] with a static kernel. x[n, c, i] * w[c, o, k]
 * adds to y[n, o, i * stride + k * dilation - low]; `low` and `high` elements are cut off the ends and output_padding
 * more kept at the high one: m becomes e = max((m - 1) * stride + 1, 0) + dilation * (k - 1) without them, and
 * e - low - high + output_padding with them, or 0 where that is less. `low` is at most e, `high` e + output_padding.
 */
weft_tensor weft_conv_transpose(weft_tensor x, weft_tensor w, const weft_conv_options *options);
/* The windows that a convolution with a kernel of `size` multiplies: x [n, c, spatial...] becomes [n, c * kernel
 * elements, windows], both row-major. Groups, bias and output_padding are ignored. */
weft_tensor weft_unfold(weft_tensor x, weft_ints size, const weft_conv_options *options);

typedef struct weft_pool_options {
    weft_ints size;             /* of the windows, from 1; as many spatial axes, the last ones of x */
    weft_ints stride, dilation; /* from 1; default: stride = size, dilation 1 */
    weft_ints low, high;        /* padding, from 0; default 0 */
    bool ceil_mode;             /* a last window may reach beyond the padding; see below */
    bool count_include_pad;     /* averages count padding, though nothing beyond it, as elements */
} weft_pool_options;

/*
 * An extent of m has floor((m + low + high - dilation * (size - 1) - 1) / stride) + 1 windows; 0 where that is less.
 * With ceil_mode it is rounded up unless the window that this adds begins in the high padding.
 */
/* The maximum of each window, ignoring padding. NaN as for weft_max. */
weft_tensor weft_max_pool(weft_tensor x, const weft_pool_options *options);
/* The mean of each window: padding adds 0 and counts only with count_include_pad. Floats; f16 and bf16 compute in
 * f32. */
weft_tensor weft_average_pool(weft_tensor x, const weft_pool_options *options);
/* To given extents of the last axes (all from 1): output i covers elements [floor(i * m / size),
 * ceil((i + 1) * m / size)) of an extent of m. m = 0 is a run-time error if the result has elements. */
weft_tensor weft_adaptive_max_pool(weft_tensor x, weft_ints sizes);
weft_tensor weft_adaptive_average_pool(weft_tensor x, weft_ints sizes);

typedef enum weft_resize_mode { WEFT_RESIZE_NEAREST, WEFT_RESIZE_LINEAR } weft_resize_mode;
/* The coordinate of output i of s among m input elements, with r = m / s or 1 / scale; i * r is computed as i * m / s
 * or i / scale, rounded once, so that whole numbers and halves are exact. */
typedef enum weft_resize_coordinates {
    WEFT_RESIZE_HALF_PIXEL,    /* (i + 1/2) * r - 1/2 */
    WEFT_RESIZE_ALIGN_CORNERS, /* i * (m - 1) / (s - 1), 0 where s is 1 */
    WEFT_RESIZE_ASYMMETRIC     /* i * r */
} weft_resize_coordinates;

typedef struct weft_resize_options {
    weft_resize_mode mode;
    weft_resize_coordinates coordinates;
    const double *scales; /* one for each of `sizes`, or NULL: r comes from the extents */
    bool prefer_floor;    /* nearest: halves go down */
} weft_resize_options;

/*
 * The last axes of x get extents `sizes`. Nearest: the element at the coordinate, rounded down for ASYMMETRIC,
 * otherwise to the nearest with halves up; any dtype. Linear: between the two neighbours along each axis in turn;
 * floats, f16 and bf16 compute in f32. Coordinates are f64 and kept inside x. An axis without elements can only be
 * resized to 0.
 */
weft_tensor weft_resize(weft_tensor x, weft_shape sizes, const weft_resize_options *options);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_conv(...) WEFT_LOCATED_(conv, __VA_ARGS__)
#define weft_conv_transpose(...) WEFT_LOCATED_(conv_transpose, __VA_ARGS__)
#define weft_unfold(...) WEFT_LOCATED_(unfold, __VA_ARGS__)
#define weft_max_pool(...) WEFT_LOCATED_(max_pool, __VA_ARGS__)
#define weft_average_pool(...) WEFT_LOCATED_(average_pool, __VA_ARGS__)
#define weft_adaptive_max_pool(...) WEFT_LOCATED_(adaptive_max_pool, __VA_ARGS__)
#define weft_adaptive_average_pool(...) WEFT_LOCATED_(adaptive_average_pool, __VA_ARGS__)
#define weft_resize(...) WEFT_LOCATED_(resize, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
