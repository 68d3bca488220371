/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor key = weft_random_key(graph, 7);
    example_show("dice", weft_random_integers(key, WEFT_I32, WEFT_SHAPE(8), weft_extent_of(1), weft_extent_of(7)));
    weft_tensor low = weft_scalar(graph, WEFT_I64, 0);
    weft_tensor high = weft_constant(graph, WEFT_I64, WEFT_INTS(3), (int64_t[]){2, 10, 1000});
    example_show("by column", weft_random_integers_between(key, low, high, WEFT_SHAPE(2, 3)));
    return example_end(graph);
}

/* prints
   dice [8] 5 5 1 2 6 3 3 3
   by column [2, 3] 1 7 8 | 0 9 336
*/
