/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/kernels.h"
#include <string.h>

static double value(const weft_view *view, int64_t i)
{
    return ((const double *)view->data)[i * view->strides[0]];
}

static void set(const weft_view *view, int64_t i, double number)
{
    ((double *)view->data)[i * view->strides[0]] = number;
}

/* ---- mix ---- */

/* Of count, up, dtype, text, list, extent, shape and data. */
static double sum_of_attributes(const weft_kernel_context *context)
{
    const weft_attr *attrs = context->attrs;
    double sum = (double)attrs[0].integer + (double)attrs[2].integer + (double)attrs[3].integer;
    for (size_t i = 0; i < attrs[4].size; i++) sum += ((const unsigned char *)attrs[4].data)[i];
    for (size_t i = 0; i < attrs[5].ints.count; i++) sum += (double)attrs[5].ints.items[i];
    sum += (double)attrs[6].extents.extents[0].value;
    for (size_t i = 0; i < attrs[7].extents.rank; i++) sum += (double)attrs[7].extents.extents[i].value;
    for (size_t i = 0; i < attrs[8].size / sizeof(double); i++) sum += ((const double *)attrs[8].data)[i];
    for (size_t i = 0; i < context->op->attr_count; i++) sum += (double)context->op->attrs[i].name[0];
    return context->op->name[0] == '\0' ? 0 : sum;
}

typedef struct mix_range {
    const weft_kernel_context *context;
    double sum;
} mix_range;

static void run_mix(void *argument, int64_t begin, int64_t end)
{
    const mix_range *range = argument;
    const weft_view *x = &range->context->inputs[0], *y = &range->context->outputs[0];
    double *reversed = range->context->scratch;
    for (int64_t i = begin; i < end; i++) {
        reversed[x->shape[0] - 1 - i] = value(x, i);
        set(y, i, value(x, i) * range->context->attrs[1].real + range->sum);
    }
}

weft_status *test_mix_scratch(const weft_kernel_context *context, size_t *out_size)
{
    *out_size = (size_t)context->inputs[0].shape[0] * sizeof(double);
    return NULL;
}

weft_status *test_mix(const weft_kernel_context *context)
{
    const weft_view *z = &context->outputs[1];
    mix_range range = {context, sum_of_attributes(context)};
    context->parallel(context, z->shape[0], 64, run_mix, &range);
    for (int64_t i = 0; i < z->shape[0]; i++) set(z, i, ((const double *)context->scratch)[i]);
    return NULL;
}

/* ---- positive ---- */

weft_status *test_positive(const weft_kernel_context *context)
{
    const weft_view *x = &context->inputs[0];
    for (int64_t i = 0; i < x->shape[0]; i++) {
        if (value(x, i) < 0)
            return weft_status_create(context->allocator, WEFT_DATA_ERROR, NULL, "%s: element %d is below zero",
                                      context->op->name, (int)i);
        set(&context->outputs[0], i, value(x, i));
    }
    return NULL;
}
