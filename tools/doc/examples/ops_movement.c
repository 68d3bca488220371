/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_reshape(weft_iota(graph, WEFT_I32, WEFT_SHAPE(6), 0), WEFT_SHAPE(2, 3));
    example_show("x", x);
    example_show("permute", weft_permute(x, WEFT_INTS(1, 0)));
    example_show("flip", weft_flip(x, WEFT_INTS(1)));
    example_show("narrow", weft_narrow(x, 1, weft_extent_of(1), weft_extent_of(2)));
    example_show("pad", weft_pad(x, weft_scalar(graph, WEFT_I32, 9), WEFT_SHAPE(0, 1), WEFT_SHAPE(0, 0)));
    example_show("window", weft_window(x, 1, weft_extent_of(2), 1, 1));
    example_show("window_add", weft_window_add(weft_window(x, 1, weft_extent_of(2), 1, 1), 1, weft_extent_of(3), 1, 1));
    example_show("shear", weft_shear(x, 1, 0, 1, weft_extent_of(4)));
    example_show("concat", weft_concat(WEFT_TENSORS(x, x), 0));
    return example_end(graph);
}

/* prints
   x [2, 3] 0 1 2 | 3 4 5
   permute [3, 2] 0 3 | 1 4 | 2 5
   flip [2, 3] 2 1 0 | 5 4 3
   narrow [2, 2] 1 2 | 4 5
   pad [2, 4] 9 0 1 2 | 9 3 4 5
   window [2, 2, 2] 0 1 | 1 2 | 3 4 | 4 5
   window_add [2, 3] 0 2 2 | 3 8 5
   shear [2, 4] 0 1 2 0 | 0 3 4 5
   concat [4, 3] 0 1 2 | 3 4 5 | 0 1 2 | 3 4 5
*/
