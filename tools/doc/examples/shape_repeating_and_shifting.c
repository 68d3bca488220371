/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_arange(graph, WEFT_I32, 0, 1, weft_extent_of(3));
    example_show("repeat", weft_repeat(x, 0, weft_extent_of(2)));
    example_show("tile", weft_tile(x, WEFT_SHAPE(2)));
    example_show("roll", weft_roll(x, WEFT_INTS(1), WEFT_INTS(0)));
    return example_end(graph);
}

/* prints
   repeat [6] 0 0 1 1 2 2
   tile [6] 0 1 2 0 1 2
   roll [3] 2 0 1
*/
