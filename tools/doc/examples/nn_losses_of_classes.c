/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor scores = weft_constant(graph, WEFT_F32, WEFT_INTS(2, 3), (float[]){1, 2, 3, 1, 0, 0});
    weft_tensor classes = weft_constant(graph, WEFT_I64, WEFT_INTS(2), (int64_t[]){2, 1});
    example_show("cross_entropy", weft_cross_entropy(scores, classes, 1, NULL));
    weft_class_options options = {.ignores = true, .ignored = 1, .reduction = WEFT_REDUCTION_NONE};
    example_show("of each row, class 1 ignored", weft_cross_entropy(scores, classes, 1, &options));
    return example_end(graph);
}

/* prints
   cross_entropy [] 0.97953
   of each row, class 1 ignored [2] 0.40761 0
*/
