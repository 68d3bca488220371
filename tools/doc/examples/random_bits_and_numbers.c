/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor key = weft_random_key(graph, 7), half = weft_scalar(graph, WEFT_F32, 0.5);
    weft_shape four = WEFT_SHAPE(4);
    example_show("bits", weft_random_bits(key, WEFT_U8, four));
    example_show("uniform", weft_random_uniform(key, WEFT_F32, four, -1, 1));
    example_show("normal", weft_random_normal(key, WEFT_F32, four));
    example_show("the same in rows", weft_random_normal(key, WEFT_F32, WEFT_SHAPE(2, 2)));
    example_show("truncated", weft_random_truncated_normal(key, WEFT_F32, four, 2, INFINITY));
    example_show("exponential", weft_random_exponential(key, WEFT_F32, four));
    example_show("gamma", weft_random_gamma(key, half, four));
    example_show("coins", weft_random_bernoulli(key, half, four));
    return example_end(graph);
}

/* prints
   bits [4] 45 155 192 22
   uniform [4] 0.90919 -0.18608 -0.98785 -0.2196
   normal [4] -0.11405 0.23537 2.5078 0.2788
   the same in rows [2, 2] -0.11405 0.23537 | 2.5078 0.2788
   truncated [4] 2.8679 2.6329 2.0051 2.5761
   exponential [4] 0.095197 0.20589 4.4104 0.24795
   gamma [4] 0.06154 0.10436 0.70945 0.17831
   coins [4] 0 1 1 1
*/
