/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(3, 2), (float[]){0, 1, 10, 11, 20, 21});
    weft_tensor rows = weft_constant(graph, WEFT_I64, WEFT_INTS(4), (int64_t[]){2, 0, 0, -1});
    weft_tensor ones = weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(4, 2));
    example_show("gather", weft_gather(x, rows, 0));
    example_show("scatter", weft_scatter(x, WEFT_TENSORS(rows), WEFT_INTS(0), ones, WEFT_SCATTER_ADD));
    weft_tensor start = weft_constant(graph, WEFT_I64, WEFT_INTS(), (int64_t[]){1});
    example_show("dynamic_slice", weft_dynamic_slice(x, WEFT_TENSORS(start), WEFT_INTS(0), WEFT_SHAPE(2)));
    return example_end(graph);
}

/* prints
   gather [4, 2] 20 21 | 0 1 | 0 1 | 20 21
   scatter [3, 2] 2 3 | 10 11 | 22 23
   dynamic_slice [2, 2] 10 11 | 20 21
*/
