/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, pooling and resizing. */
#include <string.h>
#include "test/onnx/op.h"

enum { MAX_SPATIAL = 8 };

/* What windows over the spatial axes share; lists have `count` entries. */
typedef struct windows {
    size_t count;
    int64_t size[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL], low[MAX_SPATIAL], high[MAX_SPATIAL];
} windows;

static void read_list(const onnx_node *node, const char *name, size_t count, int64_t otherwise, int64_t *out_items)
{
    weft_ints list = onnx_ints(node, name);
    for (size_t i = 0; i < count; i++) out_items[i] = list.count == count ? list.items[i] : otherwise;
}

/* As much as keeps ceil(extent / stride) windows, the odd one at the high or the low end. */
static void pad_same(windows *w, const onnx_list *shape, bool upper)
{
    for (size_t i = 0; i < w->count; i++) {
        int64_t extent = shape->items[shape->count - w->count + i], count = (extent + w->stride[i] - 1) / w->stride[i];
        int64_t total = (count - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1 - extent;
        total = total < 0 ? 0 : total;
        w->low[i] = upper ? total / 2 : total - total / 2;
        w->high[i] = total - w->low[i];
    }
}

static weft_status *read_windows(const onnx_node *node, windows *out)
{
    onnx_list shape = onnx_shape(node->inputs[0]), kernel = {0};
    *out = (windows){.count = shape.count - 2};
    if (out->count > MAX_SPATIAL) return onnx_unsupported(node, "more spatial axes than the importer takes");
    if (onnx_has(node, 1)) kernel = onnx_shape(node->inputs[1]);
    for (size_t i = 0; i < out->count && kernel.count > 2; i++) out->size[i] = kernel.items[2 + i];
    if (onnx_has_attribute(node, "kernel_shape")) read_list(node, "kernel_shape", out->count, 1, out->size);
    read_list(node, "strides", out->count, 1, out->stride);
    read_list(node, "dilations", out->count, 1, out->dilation);
    weft_ints pads = onnx_ints(node, "pads");
    for (size_t i = 0; i < out->count && pads.count == 2 * out->count; i++) {
        out->low[i] = pads.items[i];
        out->high[i] = pads.items[out->count + i];
    }
    bool upper = onnx_string_is(node, "auto_pad", "SAME_UPPER", false);
    if (upper || onnx_string_is(node, "auto_pad", "SAME_LOWER", false)) pad_same(out, &shape, upper);
    return NULL;
}

/* ---- convolution ---- */

static weft_conv_options options_of(const onnx_node *node, const windows *w)
{
    return (weft_conv_options){.stride = {w->count, w->stride},
                               .dilation = {w->count, w->dilation},
                               .low = {w->count, w->low},
                               .high = {w->count, w->high},
                               .groups = onnx_int(node, "group", 1)};
}

weft_status *onnx_conv(onnx_node *node)
{
    windows w;
    WEFT_TRY(read_windows(node, &w));
    weft_conv_options options = options_of(node, &w);
    if (onnx_has(node, 2)) options.bias = node->inputs[2];
    node->outputs[0] = weft_conv(node->inputs[0], node->inputs[1], &options);
    return NULL;
}

/* Integers less their zero points, as i32. */
weft_status *onnx_conv_integer(onnx_node *node)
{
    windows w;
    WEFT_TRY(read_windows(node, &w));
    weft_conv_options options = options_of(node, &w);
    weft_tensor operands[2];
    for (size_t i = 0; i < 2; i++) {
        operands[i] = weft_cast(node->inputs[i], WEFT_I32);
        if (onnx_has(node, 2 + i)) operands[i] = weft_sub(operands[i], weft_cast(node->inputs[2 + i], WEFT_I32));
    }
    node->outputs[0] = weft_conv(operands[0], operands[1], &options);
    return NULL;
}

/* Pads are what is cut off; `output_shape` says the extents instead of them. */
weft_status *onnx_conv_transpose(onnx_node *node)
{
    windows w;
    int64_t more[MAX_SPATIAL];
    WEFT_TRY(read_windows(node, &w));
    onnx_list shape = onnx_shape(node->inputs[0]);
    weft_ints wanted = onnx_ints(node, "output_shape");
    bool same =
        onnx_string_is(node, "auto_pad", "SAME_UPPER", false) || onnx_string_is(node, "auto_pad", "SAME_LOWER", false);
    bool upper = onnx_string_is(node, "auto_pad", "SAME_UPPER", false);
    read_list(node, "output_padding", w.count, 0, more);
    for (size_t i = 0; i < w.count && (same || wanted.count == w.count); i++) {
        int64_t m = shape.items[2 + i], full = (m - 1) * w.stride[i] + (w.size[i] - 1) * w.dilation[i] + 1 + more[i];
        int64_t total = full - (same ? m * w.stride[i] : wanted.items[i]);
        if (total < 0) more[i] -= total;
        total = total < 0 ? 0 : total;
        w.low[i] = upper ? total / 2 : total - total / 2;
        w.high[i] = total - w.low[i];
    }
    weft_conv_options options = options_of(node, &w);
    options.output_padding = (weft_ints){w.count, more};
    if (onnx_has(node, 2)) options.bias = node->inputs[2];
    node->outputs[0] = weft_conv_transpose(node->inputs[0], node->inputs[1], &options);
    return NULL;
}

/* ---- pooling ---- */

static weft_pool_options pool_of(const onnx_node *node, const windows *w)
{
    return (weft_pool_options){.size = {w->count, w->size},
                               .stride = {w->count, w->stride},
                               .dilation = {w->count, w->dilation},
                               .low = {w->count, w->low},
                               .high = {w->count, w->high},
                               .ceil_mode = onnx_int(node, "ceil_mode", 0) != 0,
                               .count_include_pad = onnx_int(node, "count_include_pad", 0) != 0};
}

weft_status *onnx_max_pool(onnx_node *node)
{
    windows w;
    if (node->output_count > 1) return onnx_unsupported(node, "pooling does not say where the greatest was");
    WEFT_TRY(read_windows(node, &w));
    weft_pool_options options = pool_of(node, &w);
    node->outputs[0] = weft_max_pool(node->inputs[0], &options);
    return NULL;
}

weft_status *onnx_average_pool(onnx_node *node)
{
    windows w;
    WEFT_TRY(read_windows(node, &w));
    weft_pool_options options = pool_of(node, &w);
    node->outputs[0] = weft_average_pool(node->inputs[0], &options);
    return NULL;
}

/* ---- resizing ---- */

static weft_status *read_coordinates(const onnx_node *node, weft_resize_options *options)
{
    const char *name = "coordinate_transformation_mode";
    if (onnx_string_is(node, name, "align_corners", false)) options->coordinates = WEFT_RESIZE_ALIGN_CORNERS;
    else if (onnx_string_is(node, name, "asymmetric", false)) options->coordinates = WEFT_RESIZE_ASYMMETRIC;
    else if (!onnx_string_is(node, name, "half_pixel", true))
        return onnx_unsupported(node, "coordinates other than half_pixel, align_corners and asymmetric");
    return NULL;
}

static weft_status *read_mode(const onnx_node *node, weft_resize_options *options)
{
    bool asymmetric = options->coordinates == WEFT_RESIZE_ASYMMETRIC;
    if (onnx_string_is(node, "mode", "cubic", false)) return onnx_unsupported(node, "cubic interpolation");
    options->mode = onnx_string_is(node, "mode", "linear", false) ? WEFT_RESIZE_LINEAR : WEFT_RESIZE_NEAREST;
    options->prefer_floor = onnx_string_is(node, "nearest_mode", "round_prefer_floor", true);
    bool rounds = options->prefer_floor || onnx_string_is(node, "nearest_mode", "round_prefer_ceil", false);
    bool floors = onnx_string_is(node, "nearest_mode", "floor", false);
    if (options->mode == WEFT_RESIZE_NEAREST && !(asymmetric ? floors : rounds))
        return onnx_unsupported(node, "this rounding with these coordinates");
    return NULL;
}

weft_status *onnx_resize(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    onnx_list sizes = onnx_shape(x);
    weft_extent extents[64];
    weft_resize_options options = {0};
    double scales[WEFT_MAX_RANK];
    WEFT_TRY(read_coordinates(node, &options));
    WEFT_TRY(read_mode(node, &options));
    if (onnx_has(node, 3)) {
        WEFT_TRY(onnx_operand_ints(node, 3, &sizes));
    } else {
        weft_array *array;
        WEFT_TRY(onnx_evaluate(node, weft_cast(node->inputs[2], WEFT_F64), &array));
        memcpy(scales, weft_array_data(array), sizes.count * sizeof *scales);
        weft_array_release(array);
        for (size_t i = 0; i < sizes.count; i++) {
            double wanted = (double)sizes.items[i] * scales[i];
            sizes.items[i] = (int64_t)wanted;
            if (options.coordinates == WEFT_RESIZE_ALIGN_CORNERS && (double)sizes.items[i] != wanted)
                return onnx_unsupported(node, "corners aligned to an extent that is not whole");
        }
        options.scales = scales;
    }
    node->outputs[0] = weft_resize(x, onnx_extents(&sizes, extents), &options);
    return NULL;
}
