/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include <math.h>

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor x = weft_constant(graph, WEFT_F32, WEFT_INTS(5), (float[]){3, NAN, 1, 2, -1});
    example_show("sort", weft_sort(x, 0, false));
    example_show("argsort", weft_argsort(x, 0, false));
    example_show("descending", weft_sort(x, 0, true));
    return example_end(graph);
}

/* prints
   sort [5] -1 1 2 3 nan
   argsort [5] 4 2 3 0 1
   descending [5] 3 2 1 -1 nan
*/
