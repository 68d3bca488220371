/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_EINSUM_ORDER_H
#define WEFT_TEST_EINSUM_ORDER_H
/* What the tests of planning share. */
#include "extensions/einsum/plan/methods.h"

/* Any order of `count` leaves. */
void weft_test_draw_order(uint32_t count, einsum_random *random, einsum_pair *out_pairs);
#endif
