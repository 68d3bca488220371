/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MAKE_H
#define WEFT_TEST_MAKE_H
/* The makers of calls.def, which return what the call returned, or no tensor where they do not apply. */
#include "test/random/draw.h"

#define MAKE(name) weft_tensor make_##name(generator *g, const draw_call *call, weft_tensor x)

/* of one form */
MAKE(unary);
MAKE(binary);
MAKE(number);
MAKE(two_numbers);
MAKE(division);
MAKE(fill);
MAKE(triangle);
MAKE(reduce);
MAKE(arg);
MAKE(along);
MAKE(scan);
MAKE(sort);
MAKE(variance);
MAKE(diagonal);
MAKE(gather);
MAKE(outer);
MAKE(tensordot);
MAKE(pool);
MAKE(adaptive_pool);
MAKE(layer_norm);
MAKE(loss);
MAKE(class_loss);
/* of one function */
MAKE(input);
MAKE(constant);
MAKE(scalar);
MAKE(full);
MAKE(iota);
MAKE(extent_tensor);
MAKE(arange);
MAKE(linspace);
MAKE(eye);
MAKE(one_hot);
MAKE(meshgrid);
MAKE(complex);
MAKE(select);
MAKE(cast);
MAKE(bitcast);
MAKE(clamp);
MAKE(lerp);
MAKE(is_close);
MAKE(reshape);
MAKE(permute);
MAKE(broadcast);
MAKE(broadcast_in_dim);
MAKE(slice);
MAKE(narrow);
MAKE(pad);
MAKE(flip);
MAKE(window);
MAKE(concat);
MAKE(extract_diagonal);
MAKE(embed_diagonal);
MAKE(transpose);
MAKE(moveaxis);
MAKE(unsqueeze);
MAKE(squeeze);
MAKE(flatten);
MAKE(broadcast_like);
MAKE(stack);
MAKE(split);
MAKE(split_at);
MAKE(chunk);
MAKE(repeat);
MAKE(tile);
MAKE(roll);
MAKE(gather_axes);
MAKE(scatter);
MAKE(take_along_axis);
MAKE(scatter_along_axis);
MAKE(index_add);
MAKE(dynamic_slice);
MAKE(dynamic_update_slice);
MAKE(index);
MAKE(index_update);
MAKE(norm);
MAKE(quantile);
MAKE(top_k);
MAKE(searchsorted);
MAKE(bincount);
MAKE(unique);
MAKE(histogram);
MAKE(dot);
MAKE(matmul);
MAKE(einsum);
MAKE(einsum_labels);
MAKE(conv);
MAKE(conv_transpose);
MAKE(unfold);
MAKE(resize);
MAKE(group_norm);
MAKE(batch_norm);
MAKE(batch_norm_train);
MAKE(attention);
MAKE(embedding);
MAKE(huber_loss);
MAKE(bce_with_logits);
MAKE(fold);
MAKE(while);
MAKE(cond);
/* fragments */
MAKE(normalised);
MAKE(grouped_attention);
MAKE(moved);
MAKE(rotated);
MAKE(perceptron);
MAKE(outer_reduction);
MAKE(repeated_heads);
#endif
