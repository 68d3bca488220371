/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(2, 3), (float[]){3, 1, 2, 4, 6, 5});
    example_show("sum of rows", weft_reduce_sum(x, WEFT_INTS(1), false));
    example_show("product of columns", weft_reduce_prod(x, WEFT_INTS(0), true));
    example_show("greatest", weft_reduce_max(x, WEFT_INTS(0, 1), false));
    example_show("where it is", weft_argmax(x, 1, false));
    return example_end(graph);
}

/* prints
   sum of rows [2] 6 15
   product of columns [1, 3] 12 6 10
   greatest [] 6
   where it is [2] 0 1
*/
