/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of einsum: the first byte says what is tried, the rest is the text. Whatever is accepted is planned for
 * operands of extent two and as many axes as their terms have labels.
 */
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_OPERANDS = 24, MOST_AXES = 40 };

static void plan(const char *text, size_t count, const weft_ints *shapes, const weft_einsum_options *options)
{
    weft_einsum_plan *made, *again;
    weft_status *status = weft_einsum_plan_create(NULL, text, count, shapes, options, &made);
    weft_status_destroy(status);
    if (status != NULL) return;
    weft_einsum_options path = {.order = WEFT_EINSUM_PATH, .path = weft_einsum_plan_path(made)};
    if (options->order == WEFT_EINSUM_NESTED && options->nested == NULL) path = *options;
    status = weft_einsum_plan_create(NULL, text, count, shapes, &path, &again);
    if (status != NULL || strcmp(weft_einsum_plan_order(made), weft_einsum_plan_order(again)) != 0) abort();
    weft_einsum_plan_destroy(again);
    weft_einsum_plan_destroy(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t twos[MOST_AXES] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    if (size == 0 || size > 256) return 0;
    char *text = malloc(size);
    if (text == NULL) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    weft_ints shapes[MOST_OPERANDS];
    size_t count = 1, axes = 0;
    for (const char *at = text; *at != '\0' && count < MOST_OPERANDS && *at != '-'; at++) {
        if (*at == ',') shapes[count++ - 1] = (weft_ints){axes, twos};
        bool starts = ((unsigned char)*at & 0xc0) != 0x80 && strchr(" ()[],.", *at) == NULL;
        axes = *at == ',' ? 0 : axes + (starts && axes + 1 < MOST_AXES);
    }
    shapes[count - 1] = (weft_ints){axes, twos};
    const weft_einsum_options nested = {.order = WEFT_EINSUM_NESTED},
                              tree = {.order = WEFT_EINSUM_NESTED, .nested = text};
    const weft_einsum_options automatic = {.minimize = data[0] & 4 ? WEFT_EINSUM_SIZE : WEFT_EINSUM_FLOPS};
    if ((data[0] & 3) == 0) plan(text, count, shapes, &nested);
    else if ((data[0] & 3) == 1) plan(",,,->", 4, (weft_ints[4]){{0, twos}, {0, twos}, {0, twos}, {0, twos}}, &tree);
    else plan(text, count, shapes, &automatic);
    free(text);
    return 0;
}
