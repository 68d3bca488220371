/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_shape shape = WEFT_SHAPE(2, 3);
    example_show("constant", weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){1, 2, 4}));
    example_show("full", weft_full(graph, WEFT_F32, 0.5, shape));
    example_show("iota", weft_iota(graph, WEFT_I32, shape, 1));
    return example_end(graph);
}

/* prints
   constant [3] 1 2 4
   full [2, 3] 0.5 0.5 0.5 | 0.5 0.5 0.5
   iota [2, 3] 0 1 2 | 0 1 2
*/
