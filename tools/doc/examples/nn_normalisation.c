/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(2, 3), (float[]){1, 2, 3, 10, 10, 40});
    weft_tensor scale = weft_constant(graph, WEFT_F32, WEFT_INTS(3), (float[]){1, 1, 2});
    example_show("layer_norm", weft_layer_norm(x, -1, &(weft_norm_options){.scale = scale}));
    example_show("rms_norm", weft_rms_norm(x, -1, NULL));
    return example_end(graph);
}

/* prints
   layer_norm [2, 3] -1.2247 0 2.4495 | -0.70711 -0.70711 2.8284
   rms_norm [2, 3] 0.46291 0.92582 1.3887 | 0.40825 0.40825 1.633
*/
