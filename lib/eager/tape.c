/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes: records that are kept for gradients. */
#include "lib/eager/record.h"

void weft_eager_tape_forget(weft_eager *eager)
{
    eager->tape_depth = 0;
    eager->tape++;
    /* What is let go of may end other nodes: those that are left are looked at again, until all are settled. */
    weft_eager_node *node = eager->nodes;
    if (node != NULL) weft_eager_node_pin(node);
    while (node != NULL) {
        weft_eager_node *next = node->next;
        if (next != NULL) weft_eager_node_pin(next);
        weft_eager_node_settle(node);
        weft_eager_node_unpin(node);
        node = next;
    }
}
