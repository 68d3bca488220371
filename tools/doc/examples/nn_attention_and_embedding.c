/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor table = weft_constant(graph, WEFT_F32, WEFT_INTS(3, 2), (float[]){0, 0, 1, 0, 0, 1});
    weft_tensor words = weft_constant(graph, WEFT_I64, WEFT_INTS(2), (int64_t[]){1, 2});
    weft_tensor x = weft_embedding(table, words, WEFT_NO_PADDING);
    example_show("embedding", x);
    example_show("attention", weft_attention(x, x, x, NULL));
    example_show("causal", weft_attention(x, x, x, &(weft_attention_options){.causal = true}));
    return example_end(graph);
}

/* prints
   embedding [2, 2] 1 0 | 0 1
   attention [2, 2] 0.66976 0.33024 | 0.33024 0.66976
   causal [2, 2] 1 0 | 0.33024 0.66976
*/
