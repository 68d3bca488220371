/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(5), (float[]){2, 1, 4, 3, 5});
    example_show("cumsum", weft_cumsum(x, 0, false, false));
    example_show("exclusive", weft_cumsum(x, 0, false, true));
    example_show("reverse", weft_cumsum(x, 0, true, false));
    example_show("cumprod", weft_cumprod(x, 0, false, false));
    example_show("cummax", weft_cummax(x, 0, false, false));
    example_show("scan_linear", weft_scan_linear(2, x, 0, false));
    return example_end(graph);
}

/* prints
   cumsum [5] 2 3 7 10 15
   exclusive [5] 0 2 3 7 10
   reverse [5] 15 13 12 8 5
   cumprod [5] 2 2 8 24 120
   cummax [5] 2 2 4 4 5
   scan_linear [5] 2 5 14 31 67
*/
