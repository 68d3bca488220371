/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are an array or an error. */
#include <weft/npy.h>
#include <string.h>

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

static bool read_bytes(void *self, void *out_bytes, size_t size, const char **out_error)
{
    bytes *bytes = self;
    (void)out_error;
    if (size > bytes->left) return false;
    memcpy(out_bytes, bytes->at, size);
    bytes->at += size;
    bytes->left -= size;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes bytes = {data, size};
    weft_npy_source source = {.self = &bytes, .size = size, .read = read_bytes};
    weft_array *array = NULL;
    weft_status_destroy(weft_npy_read(NULL, &source, "fuzz", &array));
    weft_array_release(array);
    return 0;
}
