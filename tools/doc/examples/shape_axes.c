/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_iota(graph, WEFT_I32, WEFT_SHAPE(2, 1, 3), 2);
    example_show("moveaxis", weft_moveaxis(x, WEFT_INTS(-1), WEFT_INTS(0)));
    example_show("squeeze", weft_squeeze(x, 1));
    example_show("flatten", weft_flatten(x, 0, 1));
    return example_end(graph);
}

/* prints
   moveaxis [3, 2, 1] 0 | 0 | 1 | 1 | 2 | 2
   squeeze [2, 3] 0 1 2 | 0 1 2
   flatten [2, 3] 0 1 2 | 0 1 2
*/
