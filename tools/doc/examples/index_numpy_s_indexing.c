/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_reshape(weft_arange(graph, WEFT_I32, 0, 1, weft_extent_of(12)), WEFT_SHAPE(3, 4));
    weft_tensor rows = weft_constant(graph, WEFT_I64, WEFT_INTS(2), (int64_t[]){2, 0});
    example_show("x[1:, -1]", weft_at(x, WEFT_RANGE(1, WEFT_OPEN), WEFT_INDEX(-1)));
    example_show("x[::2, 1:3]", weft_at(x, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, 2), WEFT_RANGE(1, 3)));
    example_show("x[[2, 0]]", weft_at(x, WEFT_PICK(rows)));
    example_show("x[0] = -1", weft_set_at(x, weft_scalar(graph, WEFT_I32, -1), WEFT_INDEX(0)));
    return example_end(graph);
}

/* prints
   x[1:, -1] [2] 7 11
   x[::2, 1:3] [2, 2] 1 2 | 9 10
   x[[2, 0]] [2, 4] 8 9 10 11 | 0 1 2 3
   x[0] = -1 [3, 4] -1 -1 -1 -1 | 4 5 6 7 | 8 9 10 11
*/
