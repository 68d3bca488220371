/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/kernels.h"

static weft_status *infer_mix(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = out_types[1] = context->inputs[0];
    return NULL;
}

static weft_status *infer_positive(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static const weft_attr_def mix_attrs[] = {
    {"count", WEFT_ATTR_INT},     {"a", WEFT_ATTR_FLOAT},       {"up", WEFT_ATTR_BOOL},
    {"dtype", WEFT_ATTR_DTYPE},   {"text", WEFT_ATTR_STRING},   {"list", WEFT_ATTR_INTS},
    {"extent", WEFT_ATTR_EXTENT}, {"shape", WEFT_ATTR_EXTENTS}, {"data", WEFT_ATTR_DATA},
};

/* The members that follow an op's name, of both families. */
#define OP                                                                                                             \
    .size = sizeof(weft_op_def), .version = 1, .input_count = 1, .op_class = WEFT_CLASS_OPAQUE, .dtypes = 1u << WEFT_F64
#define MIX                                                                                                            \
    OP, .output_count = 2, .attr_count = sizeof mix_attrs / sizeof *mix_attrs, .attrs = mix_attrs, .infer = infer_mix, \
        .kernel = test_mix, .scratch_size = test_mix_scratch, .kernel_symbol = "test_mix",                             \
        .scratch_symbol = "test_mix_scratch"
#define POSITIVE                                                                                                       \
    OP, .output_count = 1, .infer = infer_positive, .kernel = test_positive, .kernel_symbol = "test_positive"
#define FAMILY                                                                                                         \
    .size = sizeof(weft_extension), .abi_major = WEFT_ABI_MAJOR, .abi_minor = WEFT_ABI_MINOR, .version = "1.0"

static const weft_op_def outside_mix = {.name = "outside.mix", MIX};
static const weft_op_def outside_positive = {.name = "outside.positive", POSITIVE};
static const weft_op_def *const outside_ops[] = {&outside_mix, &outside_positive};
static const weft_extension outside = {FAMILY, .family = "outside", .op_count = 2, .ops = outside_ops};

const weft_extension *weft_test_outside(void)
{
    return &outside;
}

#if defined(WEFT_TEST_BITCODE)
static const unsigned char bitcode[] = {
#include "kernels_bitcode.inc"
};
static const weft_op_def inside_mix = {.name = "inside.mix", MIX, .bitcode = bitcode, .bitcode_size = sizeof bitcode};
static const weft_op_def inside_positive = {
    .name = "inside.positive", POSITIVE, .bitcode = bitcode, .bitcode_size = sizeof bitcode};
static const weft_op_def *const inside_ops[] = {&inside_mix, &inside_positive};
static const weft_extension inside = {FAMILY, .family = "inside", .op_count = 2, .ops = inside_ops};

const weft_extension *weft_test_inside(void)
{
    return &inside;
}
#else
const weft_extension *weft_test_inside(void)
{
    return NULL;
}
#endif
