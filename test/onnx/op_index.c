/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that pick, pad and rearrange blocks. */
#include "test/onnx/op.h"

/* ---- positions ---- */

/* The last of equals is the first from behind. */
static weft_status *arg(onnx_node *node, weft_tensor (*function)(weft_tensor x, int64_t axis, bool keep))
{
    int64_t axis = onnx_int(node, "axis", 0), extent;
    bool keep = onnx_int(node, "keepdims", 1) != 0, last = onnx_int(node, "select_last_index", 0) != 0;
    weft_tensor x = node->inputs[0];
    weft_extent_is_static(weft_tensor_extent(x, axis), &extent);
    weft_tensor position = function(last ? weft_flip(x, WEFT_INTS(axis)) : x, axis, keep);
    node->outputs[0] = last ? weft_sub(onnx_number(position, (double)(extent - 1)), position) : position;
    return NULL;
}

weft_status *onnx_arg_max(onnx_node *node)
{
    return arg(node, weft_argmax);
}

weft_status *onnx_arg_min(onnx_node *node)
{
    return arg(node, weft_argmin);
}

/* Positions along an axis where the operand, evaluated, is not zero. */
weft_status *onnx_compress(onnx_node *node)
{
    onnx_list flags, picked = {0};
    weft_tensor x = node->inputs[0];
    int64_t axis = onnx_int(node, "axis", 0);
    WEFT_TRY(onnx_operand_ints(node, 1, &flags));
    for (size_t i = 0; i < flags.count; i++)
        if (flags.items[i] != 0) picked.items[picked.count++] = (int64_t)i;
    if (!onnx_has_attribute(node, "axis")) x = weft_reshape(x, WEFT_SHAPE(WEFT_INFER));
    weft_tensor indices = weft_constant(x.graph, WEFT_I64, WEFT_INTS((int64_t)picked.count), picked.items);
    node->outputs[0] = weft_gather(x, indices, axis);
    return NULL;
}

/* start + i * delta for as many i as fit below the limit. */
weft_status *onnx_range(onnx_node *node)
{
    double start, limit, delta;
    WEFT_TRY(onnx_operand_float(node, 0, &start));
    WEFT_TRY(onnx_operand_float(node, 1, &limit));
    WEFT_TRY(onnx_operand_float(node, 2, &delta));
    int64_t count = 0;
    while (delta > 0 ? start + (double)count * delta < limit : start + (double)count * delta > limit) count++;
    weft_dtype dtype = weft_tensor_dtype(node->inputs[0]);
    weft_tensor steps = weft_iota(node->import->graph, dtype, WEFT_SHAPE(count), 0);
    node->outputs[0] = weft_add(weft_mul(steps, node->inputs[2]), node->inputs[0]);
    return NULL;
}

/* ---- several axes at once ---- */

/* Component `number` of the tuples along the last axis. */
static weft_tensor component(weft_tensor tuples, int64_t number)
{
    int64_t last = (int64_t)weft_tensor_rank(tuples) - 1;
    return weft_squeeze(weft_narrow(tuples, last, weft_extent_of(number), weft_extent_of(1)), last);
}

/* Index tensors for `batch` axes, counted, and those that the tuples name. */
static size_t tuple_indices(weft_tensor tuples, int64_t batch, weft_tensor *out_indices, int64_t *out_axes)
{
    int64_t width;
    weft_shape shape = weft_tensor_shape(tuples);
    weft_extent_is_static(weft_tensor_extent(tuples, -1), &width);
    for (int64_t i = 0; i < batch + width; i++) {
        out_axes[i] = i;
        out_indices[i] = i < batch ? weft_iota(tuples.graph, WEFT_I64, (weft_shape){shape.rank - 1, shape.extents}, i)
                                   : component(tuples, i - batch);
    }
    return (size_t)(batch + width);
}

weft_status *onnx_gather_nd(onnx_node *node)
{
    weft_tensor indices[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK];
    size_t count = tuple_indices(node->inputs[1], onnx_int(node, "batch_dims", 0), indices, axes);
    node->outputs[0] = weft_gather_axes(node->inputs[0], (weft_tensors){count, indices}, (weft_ints){count, axes});
    return NULL;
}

static weft_scatter_mode mode_of(const onnx_node *node)
{
    if (onnx_string_is(node, "reduction", "add", false)) return WEFT_SCATTER_ADD;
    return onnx_string_is(node, "reduction", "mul", false) ? WEFT_SCATTER_MUL : WEFT_SCATTER_SET;
}

weft_status *onnx_scatter_nd(onnx_node *node)
{
    weft_tensor indices[WEFT_MAX_RANK];
    int64_t axes[WEFT_MAX_RANK];
    size_t count = tuple_indices(node->inputs[1], 0, indices, axes);
    node->outputs[0] = weft_scatter(node->inputs[0], (weft_tensors){count, indices}, (weft_ints){count, axes},
                                    node->inputs[2], mode_of(node));
    return NULL;
}

weft_status *onnx_gather_elements(onnx_node *node)
{
    node->outputs[0] = weft_take_along_axis(node->inputs[0], node->inputs[1], onnx_int(node, "axis", 0));
    return NULL;
}

weft_status *onnx_scatter_elements(onnx_node *node)
{
    node->outputs[0] = weft_scatter_along_axis(node->inputs[0], node->inputs[1], node->inputs[2],
                                               onnx_int(node, "axis", 0), mode_of(node));
    return NULL;
}

weft_status *onnx_top_k(onnx_node *node)
{
    onnx_list count;
    bool smallest = onnx_int(node, "largest", 1) == 0;
    WEFT_TRY(onnx_operand_ints(node, 1, &count));
    node->outputs[0] = weft_top_k(node->inputs[0], onnx_int(node, "axis", -1), weft_extent_of(count.items[0]), smallest,
                                  &node->outputs[1]);
    return NULL;
}

/* Rows of an axis of sequences, the first lengths[b] of them backwards. */
weft_status *onnx_reverse_sequence(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t batch = onnx_int(node, "batch_axis", 1), time = onnx_int(node, "time_axis", 0);
    weft_shape shape = {2, (weft_extent[]){weft_tensor_extent(x, 0), weft_tensor_extent(x, 1)}};
    weft_tensor lengths = onnx_reshape(node->inputs[1], (int64_t[]){batch == 0 ? -1 : 1, batch == 0 ? 1 : -1}, 2);
    weft_tensor place = weft_iota(x.graph, WEFT_I64, shape, time);
    weft_tensor back = weft_sub(weft_sub(lengths, onnx_number(lengths, 1)), place);
    place = weft_select(weft_lt(place, lengths), back, place);
    weft_tensor other = weft_iota(x.graph, WEFT_I64, shape, batch);
    weft_tensors indices = time == 0 ? WEFT_TENSORS(place, other) : WEFT_TENSORS(other, place);
    node->outputs[0] = weft_gather_axes(x, indices, WEFT_INTS(0, 1));
    return NULL;
}

/* off + hot * (on - off), negative classes counting from the end. */
weft_status *onnx_one_hot(onnx_node *node)
{
    onnx_list depth;
    weft_tensor x = weft_cast(node->inputs[0], WEFT_I64), values = node->inputs[2];
    WEFT_TRY(onnx_operand_ints(node, 1, &depth));
    weft_tensor wrapped = weft_add(x, onnx_number(x, (double)depth.items[0]));
    x = weft_select(weft_lt(x, onnx_number(x, 0)), wrapped, x);
    weft_tensor hot = weft_one_hot(x, weft_extent_of(depth.items[0]), WEFT_BOOL);
    hot = weft_moveaxis(hot, WEFT_INTS(-1), WEFT_INTS(onnx_int(node, "axis", -1)));
    node->outputs[0] = weft_select(hot, component(values, 1), component(values, 0));
    return NULL;
}

weft_status *onnx_eye_like(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    weft_dtype dtype = weft_tensor_dtype(x);
    if (onnx_has_attribute(node, "dtype")) WEFT_TRY(onnx_dtype((int32_t)onnx_int(node, "dtype", 0), &dtype));
    node->outputs[0] =
        weft_eye(x.graph, dtype, weft_tensor_extent(x, 0), weft_tensor_extent(x, 1), onnx_int(node, "k", 0));
    return NULL;
}

weft_status *onnx_trilu(onnx_node *node)
{
    onnx_list diagonal = {.items = {0}};
    if (onnx_has(node, 1)) WEFT_TRY(onnx_operand_ints(node, 1, &diagonal));
    bool upper = onnx_int(node, "upper", 1) != 0;
    node->outputs[0] = (upper ? weft_triu : weft_tril)(node->inputs[0], diagonal.items[0]);
    return NULL;
}

weft_status *onnx_tile(onnx_node *node)
{
    onnx_list counts;
    weft_extent extents[64];
    WEFT_TRY(onnx_operand_ints(node, 1, &counts));
    node->outputs[0] = weft_tile(node->inputs[0], onnx_extents(&counts, extents));
    return NULL;
}

/* ---- blocks ---- */

weft_status *onnx_depth_to_space(onnx_node *node)
{
    onnx_list x = onnx_shape(node->inputs[0]);
    int64_t b = onnx_int(node, "blocksize", 1), n = x.items[0], c = x.items[1] / (b * b), h = x.items[2],
            w = x.items[3];
    bool columns_first = onnx_string_is(node, "mode", "CRD", false);
    int64_t first[] = {n, columns_first ? c : b, b, columns_first ? b : c, h, w};
    weft_tensor blocks = onnx_reshape(node->inputs[0], first, 6);
    blocks = weft_permute(blocks, columns_first ? WEFT_INTS(0, 1, 4, 2, 5, 3) : WEFT_INTS(0, 3, 4, 1, 5, 2));
    int64_t last[] = {n, c, h * b, w * b};
    node->outputs[0] = onnx_reshape(blocks, last, 4);
    return NULL;
}

weft_status *onnx_space_to_depth(onnx_node *node)
{
    onnx_list x = onnx_shape(node->inputs[0]);
    int64_t b = onnx_int(node, "blocksize", 1), n = x.items[0], c = x.items[1], h = x.items[2] / b, w = x.items[3] / b;
    int64_t first[] = {n, c, h, b, w, b}, last[] = {n, b * b * c, h, w};
    weft_tensor blocks = weft_permute(onnx_reshape(node->inputs[0], first, 6), WEFT_INTS(0, 3, 5, 1, 2, 4));
    node->outputs[0] = onnx_reshape(blocks, last, 4);
    return NULL;
}

/* ---- padding ---- */

/* Positions -low .. n + high - 1 along an axis, those outside brought inside. */
static weft_tensor pad_by_index(weft_tensor x, int64_t axis, int64_t low, int64_t high, bool reflect)
{
    int64_t n, positions[256];
    weft_extent_is_static(weft_tensor_extent(x, axis), &n);
    for (int64_t i = -low; i < n + high; i++) {
        int64_t inside = i < 0 ? (reflect ? -i : 0) : i >= n ? (reflect ? 2 * n - 2 - i : n - 1) : i;
        positions[i + low] = inside;
    }
    return weft_gather(x, weft_constant(x.graph, WEFT_I64, WEFT_INTS(n + low + high), positions), axis);
}

weft_status *onnx_pad(onnx_node *node)
{
    onnx_list pads;
    bool given;
    weft_tensor x = node->inputs[0], value = onnx_number(x, onnx_float(node, "value", 0));
    size_t rank = weft_tensor_rank(x);
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    WEFT_TRY(onnx_ints_or_operand(node, "pads", 1, &pads, &given));
    if (onnx_has(node, 2)) value = weft_reshape(node->inputs[2], WEFT_SHAPE());
    bool reflect = onnx_string_is(node, "mode", "reflect", false), edge = onnx_string_is(node, "mode", "edge", false);
    for (size_t i = 0; i < rank; i++) {
        low[i] = weft_extent_of(pads.items[i]);
        high[i] = weft_extent_of(pads.items[rank + i]);
        if (reflect || edge) x = pad_by_index(x, (int64_t)i, pads.items[i], pads.items[rank + i], reflect);
    }
    node->outputs[0] = reflect || edge ? x : weft_pad(x, value, (weft_shape){rank, low}, (weft_shape){rank, high});
    return NULL;
}
