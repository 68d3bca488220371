/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor a = weft_constant(graph, WEFT_F64, WEFT_INTS(2, 2), (double[]){1, 2, 3, 4});
    weft_tensor v = weft_constant(graph, WEFT_F64, WEFT_INTS(2), (double[]){1, -1});
    example_show("matmul", weft_matmul(a, a));
    example_show("matrix by vector", weft_matmul(a, v));
    example_show("outer", weft_outer(v, v));
    example_show("kron", weft_kron(v, a));
    example_show("trace", weft_trace_matrix(a, 0, 0, 1));
    return example_end(graph);
}

/* prints
   matmul [2, 2] 7 10 | 15 22
   matrix by vector [2] -1 -1
   outer [2, 2] 1 -1 | -1 1
   kron [2, 4] 1 2 -1 -2 | 3 4 -3 -4
   trace [] 5
*/
