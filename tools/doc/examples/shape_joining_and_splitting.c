/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_arange(graph, WEFT_I32, 0, 1, weft_extent_of(6)), parts[2];
    weft_split(x, 0, 2, parts);
    example_show("first half", parts[0]);
    example_show("stack", weft_stack(WEFT_TENSORS(parts[0], parts[1]), 1));
    return example_end(graph);
}

/* prints
   first half [3] 0 1 2
   stack [3, 2] 0 3 | 1 4 | 2 5
*/
