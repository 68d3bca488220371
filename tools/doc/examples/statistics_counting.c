/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_I64, WEFT_INTS(6), (int64_t[]){1, 3, 1, 0, 7, 1});
    weft_tensor weights = weft_constant(graph, WEFT_F32, WEFT_INTS(6), (float[]){1, 2, 4, 8, 16, 32});
    example_show("bincount", weft_bincount(x, weft_extent_of(4), WEFT_NO_TENSOR));
    example_show("weights", weft_bincount(x, weft_extent_of(4), weights));
    weft_tensor counts, values = weft_unique(x, weft_extent_of(5), &counts);
    example_show("unique", values);
    example_show("their counts", counts);
    example_show("histogram", weft_histogram(weights, 4, 0, 16));
    return example_end(graph);
}

/* prints
   bincount [4] 1 3 0 1
   weights [4] 8 37 0 2
   unique [5] 0 1 3 7 0
   their counts [5] 1 3 1 1 0
   histogram [4] 2 1 1 1
*/
