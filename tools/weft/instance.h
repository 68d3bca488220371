/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_INSTANCE_H
#define WEFT_TOOLS_INSTANCE_H
/*
 * What is contracted, without data, from a JSON file in one of two forms:
 *
 *   {"inputs": [[0, 1], [1, 2]], "output": [0, 2], "sizes": [4, 3, 4]}    sizes[label]; labels count from 0
 *   {"format_string": "ij,jk->ik", "shapes": [[4, 3], [3, 4]]}
 *
 * "dtype" may name what operands are made of, "order" be a list of steps or a tree, as order_text.h has them; other
 * members are passed over.
 */
#include <weft/graph.h>

typedef struct weft_instance {
    char *text;        /* of the second form */
    size_t count;      /* operands */
    weft_ints *labels; /* of the first form, by operand */
    weft_ints output;
    weft_ints *shapes;
    weft_dtype dtype; /* f32 unless named */
    char *order;      /* or NULL */
} weft_instance;

/* What is wrong with a file is WEFT_BAD_FILE, and the sentence names the file, the key, the operand and the label. To
 * be finished also on failure. */
weft_status *weft_instance_load(const char *path, weft_instance *out_instance) WEFT_MUST_USE;
void weft_instance_finish(weft_instance *instance);
#endif
