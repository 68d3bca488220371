/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of numbers of all types, which compile without a warning; with WRONG, which a shape cannot have, not at all.
 */
#include <weft/weft.h>

weft_tensor shapes(weft_graph *graph, weft_extent n, const int64_t *sizes, const weft_extent *extents, size_t size);
weft_tensor shapes(weft_graph *graph, weft_extent n, const int64_t *sizes, const weft_extent *extents, size_t size)
{
    enum { THREE = 3 } three = THREE;
    weft_shape all = WEFT_SHAPE(n, 3, sizes[0], extents[1], size, three, (uint8_t)1, true, 'c', (short)2, 5LL, 7ULL,
                                8UL, (signed char)1, weft_extent_mul(n, extents[0]), sizeof n);
#ifdef WRONG
    all = WEFT_SHAPE(n, WRONG);
#endif
    weft_tensor x = weft_reshape(weft_input(graph, "x", WEFT_F32, all), WEFT_SHAPE(WEFT_INFER, (n), (3)));
    x = weft_at(x, WEFT_INDEX(size), WEFT_RANGE(1, n), WEFT_RANGE((short)1, size, 2));
    return weft_reshape(x, WEFT_SHAPE(/* none */));
}
