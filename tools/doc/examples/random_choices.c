/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor key = weft_random_key(graph, 7);
    weft_tensor weights = weft_constant(graph, WEFT_F32, WEFT_INTS(4), (float[]){1, 2, 0, 7});
    weft_extent four = weft_extent_of(4);
    example_show("classes", weft_random_categorical(key, weft_log(weights), WEFT_SHAPE(8)));
    example_show("permutation", weft_random_permutation(key, weft_extent_of(8)));
    example_show("draws", weft_random_choice(key, four, WEFT_SHAPE(8), true, weights));
    example_show("different ones", weft_random_choice(key, four, WEFT_SHAPE(2), false, WEFT_NO_TENSOR));
    example_show("by weight", weft_random_choice(key, four, WEFT_SHAPE(3), false, weights));
    return example_end(graph);
}

/* prints
   classes [8] 3 3 3 3 3 3 3 3
   permutation [8] 0 1 4 2 3 5 6 7
   draws [8] 3 3 3 3 3 3 3 3
   different ones [2] 0 1
   by weight [3] 3 0 1
*/
