/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/edit.h"
#include <stdlib.h>
#include <string.h>

/* Nothing at all where there is too little of it. */
static size_t take_number(const uint8_t **data, size_t *size, size_t bytes)
{
    size_t number = 0;
    for (size_t i = 0; i<bytes && * size> 0; i++, (*data)++, (*size)--) number |= (size_t) * *data << (8 * i);
    return number;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

unsigned char *weft_fuzz_edit(const void *whole, size_t whole_size, const uint8_t *data, size_t size, size_t *out_size)
{
    unsigned char *text = malloc(whole_size + size + 1);
    if (text == NULL) return NULL;
    memcpy(text, whole, whole_size);
    size_t cut = take_number(&data, &size, 2), length = cut == 0 ? whole_size : cut % whole_size;
    while (size > 2) {
        size_t at = take_number(&data, &size, 2) % (length + 1), taken = take_number(&data, &size, 1);
        size_t put = least(take_number(&data, &size, 1), size);
        taken = least(taken, length - at);
        memmove(text + at + put, text + at + taken, length - at - taken);
        memcpy(text + at, data, put);
        length += put - taken;
        data += put;
        size -= put;
    }
    *out_size = length;
    return text;
}
