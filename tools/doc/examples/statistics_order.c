/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(2, 4), (float[]){3, 1, 4, 2, 5, 9, 5, 6}), places;
    example_show("median", weft_median(x, 1, false));
    example_show("quantile", weft_quantile(x, 0.25, 1, true));
    example_show("top 2", weft_top_k(x, 1, weft_extent_of(2), false, &places));
    example_show("at", places);
    weft_tensor sorted = weft_constant(graph, WEFT_F32, WEFT_INTS(4), (float[]){1, 2, 2, 3});
    example_show("before", weft_searchsorted(sorted, weft_at(x, WEFT_INDEX(0)), false));
    return example_end(graph);
}

/* prints
   median [2] 2.5 5.5
   quantile [2, 1] 1.75 | 5
   top 2 [2, 2] 4 3 | 9 6
   at [2, 2] 2 0 | 1 3
   before [4] 3 0 4 1
*/
