/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_I32, WEFT_INTS(2, 3), (int[]){1, 2, 3, 4, 5, 6});
    example_show("triu", weft_triu(x, 0));
    example_show("diagonal", weft_diagonal(x, 1, 0, 1));
    example_show("diag", weft_diag(weft_arange(graph, WEFT_I32, 1, 1, weft_extent_of(2)), 0));
    return example_end(graph);
}

/* prints
   triu [2, 3] 1 2 3 | 0 5 6
   diagonal [2] 2 6
   diag [2, 2] 1 0 | 0 2
*/
