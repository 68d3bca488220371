/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(3, 2), (float[]){0, 0, 2, 0, 9, 0});
    weft_tensor classes = weft_constant(graph, WEFT_I64, WEFT_INTS(3), (int64_t[]){0, 1, -1});
    const weft_class_options rows = {.ignores = true, .ignored = -1, .reduction = WEFT_REDUCTION_NONE};
    const weft_class_options mean = {.ignores = true, .ignored = -1};
    example_show("rows", weft_cross_entropy(x, classes, 1, &rows));
    example_show("mean", weft_cross_entropy(x, classes, 1, &mean));
    example_show("nll", weft_nll_loss(weft_log_softmax(x, 1), classes, 1, &mean));
    return example_end(graph);
}

/* prints
   rows [3] 0.69315 2.1269 0
   mean [] 1.41
   nll [] 1.41
*/
