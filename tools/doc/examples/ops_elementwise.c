/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(2, 2), (float[]){-1, 0, 1, 4});
    weft_tensor row = weft_constant(graph, WEFT_F32, WEFT_INTS(2), (float[]){10, 20});
    example_show("x + row", weft_add(x, row));
    example_show("sqrt", weft_sqrt(x));
    example_show("x < 1 ? x : row", weft_select(weft_lt(x, weft_scalar(graph, WEFT_F32, 1)), x, row));
    example_show("as i32", weft_cast(weft_mul(x, weft_scalar(graph, WEFT_F32, 0.6)), WEFT_I32));
    return example_end(graph);
}

/* prints
   x + row [2, 2] 9 20 | 11 24
   sqrt [2, 2] -nan 0 | 1 2
   x < 1 ? x : row [2, 2] -1 0 | 10 20
   as i32 [2, 2] 0 0 | 0 2
*/
