/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F64, WEFT_INTS(4), (double[]){.2035, 1.2959, 1.8101, -.4644});
    example_show("mean", weft_mean(x, WEFT_INTS(0), false));
    example_show("variance of a sample", weft_variance(x, WEFT_INTS(0), 1, false));
    example_show("logsumexp", weft_logsumexp(x, WEFT_INTS(0), false));
    example_show("norm", weft_norm(x, WEFT_INTS(0), 2, false));
    return example_end(graph);
}

/* prints
   mean [] 0.71127
   variance of a sample [] 1.0631
   logsumexp [] 2.4527
   norm [] 2.2832
*/
