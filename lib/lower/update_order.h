/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_UPDATE_ORDER_H
#define WEFT_LIB_LOWER_UPDATE_ORDER_H
/* What updates in place (scatter, dynamic update slice) require of the fusion plan and of the order of steps. */
#include "lib/lower/fusion.h"

/*
 * A kernel that reads the value of which it updates elements needs the old one beside the new one: a copy of all of it.
 * Forces memory, filled in a step before that, for operands of updates that are computed from it, where they are not as
 * large themselves. Requires roles; says whether they are to be assigned anew.
 */
weft_status *weft_update_materialize(weft_fusion *fusion, bool *out_changed) WEFT_MUST_USE;
/* The order in which nodes are computed: ascending, except that updates wait for what reads the value that they change
 * and does not need them. `out_order` has room for every node. Requires roles. */
weft_status *weft_update_order(weft_fusion *fusion, uint32_t *out_order) WEFT_MUST_USE;
#endif
