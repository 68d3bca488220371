/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(1, 1, 5), (float[]){1, 2, 3, 4, 5});
    weft_tensor w = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(1, 1, 3));
    weft_conv_options padded = {.stride = WEFT_INTS(2), .low = WEFT_INTS(1), .high = WEFT_INTS(1)};
    example_show("conv", weft_conv(x, w, NULL));
    example_show("padded, every second", weft_conv(x, w, &padded));
    example_show("max_pool", weft_max_pool(x, &(weft_pool_options){.size = WEFT_INTS(2)}));
    example_show("resize", weft_resize(x, WEFT_SHAPE(3), NULL));
    return example_end(graph);
}

/* prints
   conv [1, 1, 3] 6 9 12
   padded, every second [1, 1, 3] 3 9 9
   max_pool [1, 1, 2] 2 4
   resize [1, 1, 3] 1 3 5
*/
