/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of options that calls take. */
#include "lib/eager/packed.h"

#define FIELD(type, letter, name)                                                                                      \
    {                                                                                                                  \
        letter, offsetof(type, name)                                                                                   \
    }
static const weft_eager_field fields_N[] = {FIELD(weft_norm_options, 'x', scale), FIELD(weft_norm_options, 'x', bias),
                                            FIELD(weft_norm_options, 'r', epsilon)};
static const weft_eager_field fields_A[] = {
    FIELD(weft_attention_options, 'x', mask), FIELD(weft_attention_options, 'b', causal),
    FIELD(weft_attention_options, 'e', causal_offset), FIELD(weft_attention_options, 'r', scale)};
static const weft_eager_field fields_C[] = {
    FIELD(weft_class_options, 'x', weights), FIELD(weft_class_options, 'b', ignores),
    FIELD(weft_class_options, 'i', ignored), FIELD(weft_class_options, 'k', reduction)};
static const weft_eager_field fields_V[] = {FIELD(weft_conv_options, 'l', stride),
                                            FIELD(weft_conv_options, 'l', dilation),
                                            FIELD(weft_conv_options, 'l', low),
                                            FIELD(weft_conv_options, 'l', high),
                                            FIELD(weft_conv_options, 'l', output_padding),
                                            FIELD(weft_conv_options, 'i', groups),
                                            FIELD(weft_conv_options, 'x', bias)};
static const weft_eager_field fields_P[] = {FIELD(weft_pool_options, 'l', size),
                                            FIELD(weft_pool_options, 'l', stride),
                                            FIELD(weft_pool_options, 'l', dilation),
                                            FIELD(weft_pool_options, 'l', low),
                                            FIELD(weft_pool_options, 'l', high),
                                            FIELD(weft_pool_options, 'b', ceil_mode),
                                            FIELD(weft_pool_options, 'b', count_include_pad)};
static const weft_eager_field fields_Z[] = {
    FIELD(weft_resize_options, 'k', mode), FIELD(weft_resize_options, 'k', coordinates),
    FIELD(weft_resize_options, 'n', scales), FIELD(weft_resize_options, 'b', prefer_floor)};
static const weft_eager_field fields_T[] = {FIELD(weft_dot_axes, 'l', batch_a), FIELD(weft_dot_axes, 'l', batch_b),
                                            FIELD(weft_dot_axes, 'l', contract_a),
                                            FIELD(weft_dot_axes, 'l', contract_b)};
static const weft_eager_field fields_G[] = {FIELD(weft_sgd_options, 'r', momentum),
                                            FIELD(weft_sgd_options, 'r', weight_decay),
                                            FIELD(weft_sgd_options, 'b', nesterov)};
static const weft_eager_field fields_D[] = {
    FIELD(weft_adam_options, 'r', beta1), FIELD(weft_adam_options, 'r', beta2), FIELD(weft_adam_options, 'r', epsilon),
    FIELD(weft_adam_options, 'r', weight_decay), FIELD(weft_adam_options, 'b', decoupled)};
static const weft_eager_field fields_M[] = {
    FIELD(weft_rmsprop_options, 'r', alpha), FIELD(weft_rmsprop_options, 'r', epsilon),
    FIELD(weft_rmsprop_options, 'r', momentum), FIELD(weft_rmsprop_options, 'r', weight_decay)};
static const weft_eager_field fields_B[] = {FIELD(weft_adagrad_options, 'r', epsilon),
                                            FIELD(weft_adagrad_options, 'r', rate_decay),
                                            FIELD(weft_adagrad_options, 'r', weight_decay)};
static const weft_eager_field fields_L[] = {FIELD(weft_lion_options, 'r', beta1), FIELD(weft_lion_options, 'r', beta2),
                                            FIELD(weft_lion_options, 'r', weight_decay)};
#undef FIELD

static const weft_eager_struct structs[] = {
#define ROW(letter, type)                                                                                              \
    {#letter, #type, sizeof(type), sizeof fields_##letter / sizeof *fields_##letter, fields_##letter},
    WEFT_EAGER_OPTIONS_(ROW)
#undef ROW
};

const weft_eager_struct *weft_eager_struct_among(char letter)
{
    for (size_t i = 0; i < WEFT_EAGER_OPTIONS_COUNT; i++) {
        if (structs[i].letter[0] == letter) return &structs[i];
    }
    return NULL;
}

size_t weft_eager_struct_tensors(const weft_eager_struct *options)
{
    size_t count = 0;
    for (size_t i = 0; i < options->field_count; i++) count += options->fields[i].letter == 'x';
    return count;
}

const weft_eager_struct *weft_eager_struct_of(weft_eager_options_kind kind)
{
    return (size_t)kind < WEFT_EAGER_OPTIONS_COUNT ? &structs[kind] : NULL;
}
