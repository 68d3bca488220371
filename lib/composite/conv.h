/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_CONV_H
#define WEFT_LIB_COMPOSITE_CONV_H
/* What convolutions share: their arguments, and products with windows. */
#include <weft/conv.h>
#include "lib/composite/spatial.h"

typedef struct weft_convolution {
    weft_tensor x, w;
    weft_spatial spatial;
    weft_extent groups, in, out; /* number of groups, channels of each in x and in the result */
    weft_extent sizes[WEFT_MAX_RANK];
} weft_convolution;

/* Checks all but the channels and fills all but `in` and `out`; false with an error. Without groups options get 1. */
bool weft_conv_begin(const char *function, weft_tensor x, weft_tensor w, weft_conv_options *options,
                     weft_convolution *out_c);
/* `channels` divided into groups, called those `what` in messages. False with an error. */
bool weft_conv_divide(const char *function, const char *what, weft_graph *graph, weft_extent channels, int64_t groups,
                      weft_extent *out_each);
/* Whether the bias is absent, or one number for each channel of the result; false with an error. */
bool weft_conv_wants_bias(const char *function, weft_tensor bias, weft_tensor x, weft_extent channels);

/* The kernel times windows of `padded`, which stands for x with its padding. */
weft_tensor weft_conv_product(const weft_convolution *convolution, weft_tensor padded);
/* `result` plus a bias that may be absent. */
weft_tensor weft_conv_add_bias(weft_tensor result, weft_tensor bias);

/* The transposed convolution of x [n, c, spatial...] by w [c, o / groups, kernel...], of known sizes: x[n, c, i] *
 * w[c, o, k] adds to y[n, o, i * stride + k * dilation - low], where y has the spatial extents `extents`, which may be
 * any. `high` is the padding of the convolution of which it is the transposed one. */
weft_tensor weft_conv_scatter(weft_tensor x, weft_tensor w, const weft_spatial *spatial, int64_t groups,
                              const weft_extent *extents);
#endif
