/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){-1, 0.5, 4});
    weft_tensor low = weft_scalar(graph, WEFT_F32, 0), high = weft_scalar(graph, WEFT_F32, 1);
    example_show("clamp", weft_clamp(x, low, high));
    example_show("lerp", weft_lerp(low, x, weft_scalar(graph, WEFT_F32, 0.5)));
    example_show("is_close", weft_is_close(x, weft_add(x, weft_scalar(graph, WEFT_F32, 1e-6)), 1e-5, 1e-8));
    example_show("polygamma", weft_polygamma(1, weft_abs(x)));
    return example_end(graph);
}

/* prints
   clamp [3] 0 0.5 1
   lerp [3] -0.5 0.25 2
   is_close [3] 1 1 1
   polygamma [3] 1.6449 4.9348 0.28382
*/
