/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor key = weft_random_key(graph, 1);
    weft_tensor keys = weft_random_split(key, weft_extent_of(3));
    example_show("three keys", keys);
    weft_tensor last = weft_gather(keys, weft_scalar(graph, WEFT_I64, 2), 0);
    example_show("the last", last);
    example_show("folded", weft_random_fold(key, weft_scalar(graph, WEFT_I64, 2)));
    weft_tensor counter = weft_constant(graph, WEFT_U32, WEFT_INTS(4), (uint32_t[]){2, 0, 0, 1});
    example_show("its block", weft_random_philox(key, counter));
    return example_end(graph);
}

/* prints
   three keys [3, 2] 3.1011e+08 5.0361e+08 | 2.8183e+08 2.8419e+09 | 1.0277e+09 2.534e+09
   the last [2] 1.0277e+09 2.534e+09
   folded [2] 1.0277e+09 2.534e+09
   its block [4] 1.0277e+09 2.534e+09 3.6087e+09 6.7767e+08
*/
