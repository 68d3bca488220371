/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move, cut, fill and choose. */
#include "test/onnx/op.h"

static int64_t from_front(int64_t axis, size_t rank)
{
    return axis < 0 ? axis + (int64_t)rank : axis;
}

static int64_t product(const int64_t *items, size_t count)
{
    int64_t result = 1;
    for (size_t i = 0; i < count; i++) result *= items[i];
    return result;
}

/* ---- constants ---- */

static weft_tensor constant_of(onnx_node *node, const weft_array *array)
{
    weft_ints shape = {weft_array_rank(array), weft_array_shape(array)};
    return weft_constant(node->import->graph, weft_array_dtype(array), shape, weft_array_data(array));
}

weft_status *onnx_constant(onnx_node *node)
{
    weft_graph *graph = node->import->graph;
    weft_ints ints = onnx_ints(node, "value_ints");
    const Onnx__AttributeProto *value = onnx_attribute(node, "value"), *floats = onnx_attribute(node, "value_floats");
    if (value != NULL) {
        weft_array *array;
        WEFT_TRY(onnx_array(value->t, &array));
        node->outputs[0] = constant_of(node, array);
        weft_array_release(array);
    } else if (onnx_has_attribute(node, "value_ints")) {
        node->outputs[0] = weft_constant(graph, WEFT_I64, WEFT_INTS((int64_t)ints.count), ints.items);
    } else if (floats != NULL) {
        node->outputs[0] = weft_constant(graph, WEFT_F32, WEFT_INTS((int64_t)floats->n_floats), floats->floats);
    } else if (onnx_has_attribute(node, "value_int")) {
        node->outputs[0] = weft_scalar(graph, WEFT_I64, (double)onnx_int(node, "value_int", 0));
    } else if (onnx_has_attribute(node, "value_float")) {
        node->outputs[0] = weft_scalar(graph, WEFT_F32, onnx_float(node, "value_float", 0));
    } else {
        return onnx_unsupported(node, "there are no strings and no sparse tensors");
    }
    return NULL;
}

weft_status *onnx_constant_of_shape(onnx_node *node)
{
    onnx_list shape;
    weft_extent extents[64];
    weft_tensor value = weft_scalar(node->import->graph, WEFT_F32, 0);
    const Onnx__AttributeProto *given = onnx_attribute(node, "value");
    WEFT_TRY(onnx_operand_ints(node, 0, &shape));
    if (given != NULL) {
        weft_array *array;
        WEFT_TRY(onnx_array(given->t, &array));
        value = weft_reshape(constant_of(node, array), WEFT_SHAPE());
        weft_array_release(array);
    }
    node->outputs[0] = weft_broadcast(value, onnx_extents(&shape, extents));
    return NULL;
}

weft_status *onnx_shape_of(onnx_node *node)
{
    onnx_list shape = onnx_shape(node->inputs[0]);
    int64_t rank = (int64_t)shape.count;
    int64_t start = from_front(onnx_int(node, "start", 0), shape.count);
    int64_t end = from_front(onnx_int(node, "end", rank), shape.count);
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    node->outputs[0] = weft_constant(node->import->graph, WEFT_I64, WEFT_INTS(end - start), &shape.items[start]);
    return NULL;
}

weft_status *onnx_size_of(onnx_node *node)
{
    onnx_list shape = onnx_shape(node->inputs[0]);
    int64_t count = product(shape.items, shape.count);
    node->outputs[0] = weft_constant(node->import->graph, WEFT_I64, WEFT_INTS(), &count);
    return NULL;
}

/* ---- dtypes ---- */

weft_status *onnx_cast(onnx_node *node)
{
    weft_dtype dtype;
    WEFT_TRY(onnx_dtype((int32_t)onnx_int(node, "to", 0), &dtype));
    node->outputs[0] = weft_cast(node->inputs[0], dtype);
    return NULL;
}

weft_status *onnx_cast_like(onnx_node *node)
{
    node->outputs[0] = weft_cast(node->inputs[0], weft_tensor_dtype(node->inputs[1]));
    return NULL;
}

/* ---- shapes ---- */

weft_status *onnx_reshape_to(onnx_node *node)
{
    onnx_list shape, old = onnx_shape(node->inputs[0]);
    WEFT_TRY(onnx_operand_ints(node, 1, &shape));
    int64_t known = 1;
    for (size_t i = 0; i < shape.count; i++) {
        if (shape.items[i] == 0 && onnx_int(node, "allowzero", 0) == 0) shape.items[i] = old.items[i];
        if (shape.items[i] != -1) known *= shape.items[i];
    }
    for (size_t i = 0; i < shape.count; i++)
        if (shape.items[i] == -1) shape.items[i] = product(old.items, old.count) / known;
    node->outputs[0] = onnx_reshape(node->inputs[0], shape.items, shape.count);
    return NULL;
}

weft_status *onnx_flatten(onnx_node *node)
{
    onnx_list shape = onnx_shape(node->inputs[0]);
    size_t axis = (size_t)from_front(onnx_int(node, "axis", 1), shape.count);
    int64_t two[] = {product(shape.items, axis), product(shape.items + axis, shape.count - axis)};
    node->outputs[0] = onnx_reshape(node->inputs[0], two, 2);
    return NULL;
}

weft_status *onnx_transpose(onnx_node *node)
{
    weft_ints axes = onnx_ints(node, "perm");
    int64_t reversed[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(node->inputs[0]);
    for (size_t i = 0; i < rank; i++) reversed[i] = (int64_t)(rank - 1 - i);
    if (!onnx_has_attribute(node, "perm")) axes = (weft_ints){rank, reversed};
    node->outputs[0] = weft_permute(node->inputs[0], axes);
    return NULL;
}

weft_status *onnx_squeeze(onnx_node *node)
{
    onnx_list axes, shape = onnx_shape(node->inputs[0]);
    bool given, gone[WEFT_MAX_RANK] = {false};
    WEFT_TRY(onnx_ints_or_operand(node, "axes", 1, &axes, &given));
    for (size_t i = 0; i < axes.count; i++) gone[from_front(axes.items[i], shape.count)] = true;
    for (size_t i = 0; !given && i < shape.count; i++) gone[i] = shape.items[i] == 1;
    node->outputs[0] = node->inputs[0];
    for (size_t i = shape.count; i-- > 0;)
        if (gone[i]) node->outputs[0] = weft_squeeze(node->outputs[0], (int64_t)i);
    return NULL;
}

weft_status *onnx_unsqueeze(onnx_node *node)
{
    onnx_list axes;
    bool given, added[WEFT_MAX_RANK] = {false};
    WEFT_TRY(onnx_ints_or_operand(node, "axes", 1, &axes, &given));
    size_t rank = weft_tensor_rank(node->inputs[0]) + axes.count;
    for (size_t i = 0; i < axes.count; i++) added[from_front(axes.items[i], rank)] = true;
    node->outputs[0] = node->inputs[0];
    for (size_t i = 0; i < rank; i++)
        if (added[i]) node->outputs[0] = weft_unsqueeze(node->outputs[0], (int64_t)i);
    return NULL;
}

/* Broadcasts both ways: an extent of one in the shape keeps the operand's. */
weft_status *onnx_expand(onnx_node *node)
{
    onnx_list shape, old = onnx_shape(node->inputs[0]);
    weft_extent extents[64];
    WEFT_TRY(onnx_operand_ints(node, 1, &shape));
    for (size_t i = 1; i <= shape.count && i <= old.count; i++)
        if (shape.items[shape.count - i] == 1) shape.items[shape.count - i] = old.items[old.count - i];
    if (shape.count < old.count) shape = old;
    node->outputs[0] = weft_broadcast(node->inputs[0], onnx_extents(&shape, extents));
    return NULL;
}

/* ---- cutting and joining ---- */

weft_status *onnx_concat(onnx_node *node)
{
    node->outputs[0] = weft_concat((weft_tensors){node->input_count, node->inputs}, onnx_int(node, "axis", 1));
    return NULL;
}

weft_status *onnx_split(onnx_node *node)
{
    onnx_list sizes;
    bool given;
    weft_tensor x = node->inputs[0];
    int64_t axis = onnx_int(node, "axis", 0), extent, start = 0;
    WEFT_TRY(onnx_ints_or_operand(node, "split", 1, &sizes, &given));
    weft_extent_is_static(weft_tensor_extent(x, axis), &extent);
    for (size_t i = 0; i < node->output_count; i++) {
        int64_t size = given ? sizes.items[i] : extent / (int64_t)node->output_count;
        node->outputs[i] = weft_narrow(x, axis, weft_extent_of(start), weft_extent_of(size));
        start += size;
    }
    return NULL;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Bounds clip as in numpy. */
weft_status *onnx_slice(onnx_node *node)
{
    onnx_list starts, ends, axes, steps, shape = onnx_shape(node->inputs[0]);
    bool given, has_axes, has_steps;
    WEFT_TRY(onnx_ints_or_operand(node, "starts", 1, &starts, &given));
    WEFT_TRY(onnx_ints_or_operand(node, "ends", 2, &ends, &given));
    WEFT_TRY(onnx_ints_or_operand(node, "axes", 3, &axes, &has_axes));
    WEFT_TRY(onnx_ints_or_operand(node, "steps", 4, &steps, &has_steps));
    weft_extent begins[WEFT_MAX_RANK], sizes[WEFT_MAX_RANK];
    int64_t strides[WEFT_MAX_RANK];
    for (size_t i = 0; i < shape.count; i++) {
        begins[i] = weft_extent_of(0);
        sizes[i] = weft_extent_of(shape.items[i]);
        strides[i] = 1;
    }
    for (size_t i = 0; i < starts.count; i++) {
        int64_t axis = has_axes ? from_front(axes.items[i], shape.count) : (int64_t)i, n = shape.items[axis];
        int64_t step = has_steps ? steps.items[i] : 1, least = step < 0 ? -1 : 0, most = step < 0 ? n - 1 : n;
        int64_t start = starts.items[i], end = ends.items[i];
        start = clamp(start < 0 ? start + n : start, step < 0 && start < -n ? -1 : 0, most);
        end = clamp(end < 0 ? (end < -n ? least : end + n) : end, least, most);
        int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
        begins[axis] = weft_extent_of(count > 0 ? start : 0);
        sizes[axis] = weft_extent_of(count > 0 ? count : 0);
        strides[axis] = step;
    }
    node->outputs[0] = weft_slice(node->inputs[0], (weft_shape){shape.count, begins}, (weft_shape){shape.count, sizes},
                                  (weft_ints){shape.count, strides});
    return NULL;
}

weft_status *onnx_gather(onnx_node *node)
{
    node->outputs[0] = weft_gather(node->inputs[0], weft_cast(node->inputs[1], WEFT_I64), onnx_int(node, "axis", 0));
    return NULL;
}

weft_status *onnx_where(onnx_node *node)
{
    node->outputs[0] = weft_select(node->inputs[0], node->inputs[1], node->inputs[2]);
    return NULL;
}

weft_status *onnx_dropout(onnx_node *node)
{
    double ratio = 0.5;
    bool training = false;
    if (onnx_has(node, 2)) {
        double value;
        WEFT_TRY(onnx_operand_float(node, 2, &value));
        training = value != 0;
        if (onnx_has(node, 1)) WEFT_TRY(onnx_operand_float(node, 1, &ratio));
    }
    if (training && ratio != 0) return onnx_unsupported(node, "its random numbers are those of numpy");
    weft_tensor x = node->inputs[0];
    node->outputs[0] = x;
    node->outputs[1] = weft_full(x.graph, WEFT_BOOL, 1, weft_tensor_shape(x));
    return NULL;
}

/* The branch that the predicate, evaluated, chooses. */
weft_status *onnx_branch(onnx_node *node)
{
    onnx_list chosen;
    WEFT_TRY(onnx_operand_ints(node, 0, &chosen));
    return onnx_subgraph_trace(node, onnx_attribute(node, chosen.items[0] != 0 ? "then_branch" : "else_branch")->g);
}
