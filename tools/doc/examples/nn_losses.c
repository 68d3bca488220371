/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){1, 2, 6});
    weft_tensor target = weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){1, 1, 2});
    example_show("mse", weft_mse_loss(x, target, WEFT_REDUCTION_MEAN));
    example_show("huber", weft_huber_loss(x, target, 1, WEFT_REDUCTION_NONE));
    return example_end(graph);
}

/* prints
   mse [] 5.6667
   huber [3] 0 0.5 3.5
*/
