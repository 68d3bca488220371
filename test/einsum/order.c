/* SPDX-License-Identifier: Apache-2.0 */
#include "test/einsum/order.h"
#include <stdlib.h>
#include "test/support.h"

void weft_test_draw_order(uint32_t count, einsum_random *random, einsum_pair *out_pairs)
{
    uint32_t *values = calloc(count, sizeof *values), leaves = count;
    assert_non_null(values);
    for (uint32_t i = 0; i < count; i++) values[i] = i;
    for (uint32_t k = 0; count > 1; k++) {
        uint32_t i = einsum_random_below(random, count);
        out_pairs[k].a = values[i];
        values[i] = values[--count];
        i = einsum_random_below(random, count);
        out_pairs[k].b = values[i];
        values[i] = leaves + k;
    }
    free(values);
}
