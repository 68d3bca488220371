/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor a = weft_constant(graph, WEFT_F64, WEFT_INTS(2, 3), (double[]){1, 2, 3, 4, 5, 6});
    weft_tensor b = weft_constant(graph, WEFT_F64, WEFT_INTS(2, 3), (double[]){1, 0, 1, 0, 1, 0});
    weft_dot_axes rows = {.contract_a = WEFT_INTS(1), .contract_b = WEFT_INTS(1)};
    weft_dot_axes pairs = {
        .batch_a = WEFT_INTS(0), .batch_b = WEFT_INTS(0), .contract_a = WEFT_INTS(1), .contract_b = WEFT_INTS(1)};
    example_show("every row with every row", weft_dot(a, b, rows));
    example_show("row by row", weft_dot(a, b, pairs));
    return example_end(graph);
}

/* prints
   every row with every row [2, 2] 4 2 | 10 5
   row by row [2] 4 5
*/
