/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

static void times(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *factor = context;
    (void)index;
    out_next[0] = weft_mul(carried[0], *factor);
}

static weft_tensor is_left(void *context, const weft_tensor *carried)
{
    (void)context;
    return weft_ne(carried[1], weft_full_like(carried[1], 0));
}

static void euclid(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    out_next[0] = carried[1];
    out_next[1] = weft_sub(carried[0], weft_mul(weft_div(carried[0], carried[1]), carried[1]));
}

int main(void)
{
    weft_graph *graph = example_begin();
    weft_tensor two = weft_scalar(graph, WEFT_F32, 2), one = weft_scalar(graph, WEFT_F32, 1);
    example_show("two to the tenth", weft_fold(weft_extent_of(10), WEFT_TENSORS(one), times, &two, NULL));
    weft_tensor a = weft_scalar(graph, WEFT_I64, 252), b = weft_scalar(graph, WEFT_I64, 105);
    example_show("greatest common divisor", weft_while(WEFT_TENSORS(a, b), is_left, euclid, NULL, NULL));
    return example_end(graph);
}

/* prints
   two to the tenth [] 1024
   greatest common divisor [] 21
*/
