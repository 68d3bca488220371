/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    example_show("arange", weft_arange(graph, WEFT_F32, 1, 0.5, weft_extent_of(4)));
    example_show("linspace", weft_linspace(graph, WEFT_F64, 0, 1, weft_extent_of(5)));
    example_show("eye", weft_eye(graph, WEFT_F32, weft_extent_of(2), weft_extent_of(3), 1));
    weft_tensor classes = weft_constant(graph, WEFT_I64, WEFT_INTS(2), (int64_t[]){2, 0});
    example_show("one_hot", weft_one_hot(classes, weft_extent_of(3), WEFT_F32));
    return example_end(graph);
}

/* prints
   arange [4] 1 1.5 2 2.5
   linspace [5] 0 0.25 0.5 0.75 1
   eye [2, 3] 0 1 0 | 0 0 1
   one_hot [2, 3] 0 0 1 | 1 0 0
*/
