/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){-2, 0, 2});
    example_show("relu", weft_relu(x));
    example_show("leaky_relu", weft_leaky_relu(x, 0.1));
    example_show("softmax", weft_softmax(x, -1));
    return example_end(graph);
}

/* prints
   relu [3] 0 0 2
   leaky_relu [3] -0.2 0 2
   softmax [3] 0.015876 0.11731 0.86681
*/
