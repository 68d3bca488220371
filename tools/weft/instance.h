/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_INSTANCE_H
#define WEFT_TOOLS_INSTANCE_H
/*
 * What is contracted, without data, from a JSON file in one of these forms:
 *
 *   {"inputs": [[0, 1], [1, 2]], "output": [0, 2], "sizes": [4, 3, 4]}    sizes[label]; labels count from 0
 *   {"inputs": [["i", "j"], ["j", "k"]], "output": ["i", "k"], "sizes": {"i": 4, "j": 3, "k": 4}}
 *   {"format_string": "ij,jk->ik", "shapes": [[4, 3], [3, 4]]}
 *
 * "sizes" may be an object for integers too, {"0": 4, "1": 3, "2": 4}, be called "size_dict", and stand beside a
 * format string without an ellipsis in place of "shapes". A list of letters may also be a text of them: "ij".
 * "dtype" may name what operands are made of, "order" be a list of steps or a tree, as order_text.h has them; other
 * members are passed over.
 */
#include <weft/graph.h>

typedef struct weft_instance {
    char *text;        /* where labels are letters, or there was one */
    size_t count;      /* operands */
    weft_ints *labels; /* else, by operand */
    weft_ints output;
    weft_ints *shapes;
    weft_dtype dtype; /* f32 unless named */
    char *order;      /* or NULL */
} weft_instance;

/* What is wrong with a file is WEFT_BAD_FILE, and the sentence names the file, the key, the operand and the label. To
 * be finished also on failure. */
weft_status *weft_instance_load(const char *path, weft_instance *out_instance) WEFT_MUST_USE;
void weft_instance_finish(weft_instance *instance);
/* The labels that operands have, each once, ascending; axis i of the ellipsis is -1 - i. In memory that is to be freed.
 */
weft_status *weft_instance_list_labels(const weft_instance *instance, weft_ints *out_labels) WEFT_MUST_USE;
#endif
