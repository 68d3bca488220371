/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_SPATIAL_H
#define WEFT_LIB_COMPOSITE_SPATIAL_H
/* Windows over spatial axes, shared by convolution and pooling. */
#include "lib/composite/composite.h"

/* The spatial axes of a tensor, from `first` on, and the windows over them. */
typedef struct weft_spatial {
    size_t first, count;
    int64_t stride[WEFT_MAX_RANK], dilation[WEFT_MAX_RANK], low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
} weft_spatial;

/* Copies a list of an option, or repeats `value` where it is empty; false with an error when it is NULL, not as
 * long as there are axes, or has an entry below `least`. */
bool weft_spatial_read(weft_graph *graph, const char *function, const char *name, weft_ints given, size_t count,
                       int64_t least, int64_t value, int64_t *out_items);
/* Reads the four lists. */
bool weft_spatial_fill(weft_graph *graph, const char *function, size_t first, size_t count, weft_ints stride,
                       weft_ints dilation, weft_ints low, weft_ints high, weft_spatial *out_spatial);
/* Whether the spatial axes of `x` have extents with their padding; false with an error. */
bool weft_spatial_wants_room(const char *function, weft_tensor x, const weft_spatial *spatial);
/* How far the last element of windows of `size` along spatial axis `i` lies from the first, below 2^63 - 1; false with
 * an error when it is more. */
bool weft_spatial_reach(weft_graph *graph, const char *function, const weft_spatial *spatial, size_t i, int64_t size,
                        int64_t *out_reach);
/* `x` with the padding of `spatial`, and `more` after each axis (NULL: none), of `value`. */
weft_tensor weft_spatial_pad(weft_tensor x, weft_tensor value, const weft_spatial *spatial, const weft_extent *more);
/* The windows of `sizes`: spatial axes become places, and the windows' own axes follow at the end. */
weft_tensor weft_spatial_windows(weft_tensor x, const weft_extent *sizes, const weft_spatial *spatial);
/* The same with the windows' own axes in front of the places, so that what runs over windows has the places innermost.
 */
weft_tensor weft_spatial_windows_first(weft_tensor x, const weft_extent *sizes, const weft_spatial *spatial);
/* The sum of each window of `sizes`, with zeros for padding and for `more` after each axis: linear, with a rule of its
 * own. Floats and complex numbers. */
weft_tensor weft_spatial_sum(weft_tensor x, const int64_t *sizes, const weft_spatial *spatial, const weft_extent *more);
/* `x` with so many zeros after the elements of `axis`, not below 0. */
weft_tensor weft_spatial_pad_after(weft_tensor x, size_t axis, weft_extent count);
/* `x` with stride - 1 zeros between neighbours along `axis`; the extent that the axis has then. */
weft_tensor weft_spatial_spread(weft_tensor x, size_t axis, int64_t stride);
weft_extent weft_spatial_spread_extent(weft_extent extent, int64_t stride);
/* `x` with so many zeros more at the ends of `axis`, or, where negative, so many elements less, of those there are. */
weft_tensor weft_spatial_resize(weft_tensor x, size_t axis, int64_t low, weft_extent high);
#endif
