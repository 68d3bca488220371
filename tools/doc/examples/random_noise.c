/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_arange(graph, WEFT_F32, 1, 1, weft_extent_of(8)), key = weft_random_key(graph, 7);
    example_show("dropout", weft_dropout(x, key, 0.5));
    example_show("of nothing", weft_dropout(x, key, 0));
    return example_end(graph);
}

/* prints
   dropout [8] 2 0 0 0 0 0 14 0
   of nothing [8] 1 2 3 4 5 6 7 8
*/
