/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin as a third party writes it, against the public headers alone. sample.swish is defined by what it lowers to,
 * through which it is differentiated; sample.median has a kernel, which uses scratch memory and the executor's threads,
 * and so needs rules for its derivatives. The kernel has a name for programs
 * compiled ahead of time: applications compile this file too, or the plugin has its bitcode, made from this file
 * beforehand, in a file that SAMPLE_BITCODE names.
 */
#include <weft/extension.h>

#define FLOATS (1u << WEFT_F32 | 1u << WEFT_F64)

/* ---- sample.swish: x / (1 + exp(-x)) ---- */

static weft_status *infer_swish(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *lower_swish(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                                weft_tensor *out_tensors)
{
    (void)op;
    (void)attrs;
    weft_tensor x = inputs.items[0], one = weft_scalar(graph, weft_tensor_dtype(x), 1);
    out_tensors[0] = weft_div(x, weft_add(one, weft_exp(weft_neg(x))));
    return NULL;
}

static const weft_op_def swish = {
    .size = sizeof(weft_op_def),
    .name = "sample.swish",
    .version = 1,
    .input_count = 1,
    .output_count = 1,
    .op_class = WEFT_CLASS_OPAQUE,
    .dtypes = FLOATS,
    .infer = infer_swish,
    .lower = lower_swish,
};

/* ---- sample.median: of the last axis, which must not be empty ---- */

static weft_status *infer_median(const weft_infer_context *context, weft_type *out_types)
{
    weft_shape shape = context->inputs[0].shape;
    if (shape.rank == 0) {
        return weft_status_create(weft_graph_allocator(context->graph), WEFT_SHAPE_MISMATCH, "sample.median",
                                  "sample.median: the operand has rank 0, but the median is taken over its last axis");
    }
    weft_require_at_most(context->graph, weft_extent_of(1), shape.extents[shape.rank - 1],
                         "sample.median: the last axis has no elements");
    out_types[0] = (weft_type){context->inputs[0].dtype, {shape.rank - 1, shape.extents}};
    return NULL;
}

static int64_t count_rows(const weft_view *result)
{
    int64_t count = 1;
    for (size_t i = 0; i < result->rank; i++) count *= result->shape[i];
    return count;
}

/* A copy of every row, so that each thread sorts its own. */
weft_status *sample_median_scratch(const weft_kernel_context *context, size_t *out_size);

weft_status *sample_median_scratch(const weft_kernel_context *context, size_t *out_size)
{
    const weft_view *x = &context->inputs[0];
    *out_size = (size_t)(count_rows(&context->outputs[0]) * x->shape[x->rank - 1]) * sizeof(double);
    return NULL;
}

static double load(const weft_view *view, int64_t offset)
{
    return view->dtype == WEFT_F64 ? ((const double *)view->data)[offset] : ((const float *)view->data)[offset];
}

static void store(const weft_view *view, int64_t offset, double value)
{
    if (view->dtype == WEFT_F64) ((double *)view->data)[offset] = value;
    else ((float *)view->data)[offset] = (float)value;
}

/* Elements from the first to that of row `row`, counted over the axes of `shape`. */
static int64_t offset_of(const weft_view *view, const weft_view *shape, int64_t row)
{
    int64_t offset = 0;
    for (size_t i = shape->rank; i-- > 0; row /= shape->shape[i]) offset += row % shape->shape[i] * view->strides[i];
    return offset;
}

/* By insertion, at falling distances. */
static void sort(double *items, int64_t count)
{
    for (int64_t gap = count / 2; gap > 0; gap /= 2)
        for (int64_t i = gap; i < count; i++) {
            double item = items[i];
            int64_t at = i;
            for (; at >= gap && items[at - gap] > item; at -= gap) items[at] = items[at - gap];
            items[at] = item;
        }
}

static void run_rows(void *argument, int64_t begin, int64_t end)
{
    const weft_kernel_context *context = argument;
    const weft_view *x = &context->inputs[0], *y = &context->outputs[0];
    int64_t count = x->shape[x->rank - 1], stride = x->strides[x->rank - 1];
    for (int64_t row = begin; row < end; row++) {
        double *sorted = (double *)context->scratch + row * count;
        int64_t first = offset_of(x, y, row);
        for (int64_t i = 0; i < count; i++) sorted[i] = load(x, first + i * stride);
        sort(sorted, count);
        store(y, offset_of(y, y, row), (sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
    }
}

weft_status *sample_median_kernel(const weft_kernel_context *context);

weft_status *sample_median_kernel(const weft_kernel_context *context)
{
    context->parallel(context, count_rows(&context->outputs[0]), 16, run_rows, (void *)context);
    return NULL;
}

/* For each element of the last axis what the median changes by when it does: 1 in the middle, or 1/2 for two. Equal
 * elements count in their order. */
static weft_tensor middle_of(weft_tensor x)
{
    int64_t last = (int64_t)weft_tensor_rank(x) - 1;
    weft_tensor count = weft_extent_tensor(x.graph, weft_tensor_extent(x, last));
    weft_tensor rank = weft_argsort(weft_argsort(x, last, false), last, false);
    weft_tensor distance = weft_abs(weft_sub(weft_mul(rank, 2), weft_sub(count, 1)));
    weft_tensor is_middle = weft_cast(weft_le(distance, 1), weft_tensor_dtype(x));
    return weft_div(is_middle, weft_reduce_sum(is_middle, WEFT_INTS(last), true));
}

/* `x` without a last axis along that of `like`. */
static weft_tensor along_last(weft_tensor x, weft_tensor like)
{
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) axes[i] = (int64_t)i;
    return weft_broadcast_in_dim(x, weft_tensor_shape(like), (weft_ints){weft_tensor_rank(x), axes});
}

static weft_status *pull_median(const weft_gradient_context *context, weft_tensor *out_values)
{
    weft_tensor x = context->inputs.items[0], cotangent = context->given.items[0];
    out_values[0] = weft_mul(along_last(cotangent, x), middle_of(x));
    return NULL;
}

static weft_status *push_median(const weft_gradient_context *context, weft_tensor *out_values)
{
    weft_tensor x = context->inputs.items[0], tangent = context->given.items[0];
    int64_t last = (int64_t)weft_tensor_rank(x) - 1;
    out_values[0] = weft_reduce_sum(weft_mul(tangent, middle_of(x)), WEFT_INTS(last), false);
    return NULL;
}

#ifdef SAMPLE_BITCODE
static const unsigned char bitcode[] = {
#include SAMPLE_BITCODE
};
#endif

static const weft_op_def median = {
    .size = sizeof(weft_op_def),
    .name = "sample.median",
    .version = 1,
    .input_count = 1,
    .output_count = 1,
    .op_class = WEFT_CLASS_OPAQUE,
    .dtypes = FLOATS,
    .infer = infer_median,
    .kernel = sample_median_kernel,
    .scratch_size = sample_median_scratch,
    .kernel_symbol = "sample_median_kernel",
    .scratch_symbol = "sample_median_scratch",
#ifdef SAMPLE_BITCODE
    .bitcode = bitcode,
    .bitcode_size = sizeof bitcode,
#endif
    .vjp = pull_median,
    .jvp = push_median,
};

/* ---- the table ---- */

static const weft_op_def *const ops[] = {&swish, &median};

static const weft_extension extension = {
    .size = sizeof(weft_extension),
    .abi_major = WEFT_ABI_MAJOR,
    .abi_minor = WEFT_ABI_MINOR,
    .family = "sample",
    .version = "1.0",
    .op_count = 2,
    .ops = ops,
};

weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension);

weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension)
{
    (void)host;
    *out_extension = &extension;
    return NULL;
}
