/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are an array or an error. */
#include "tools/npy.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = size == 0 ? NULL : fmemopen((void *)data, size, "rb");
    if (file == NULL) return 0;
    weft_array *array = NULL;
    weft_status_destroy(weft_npy_read(NULL, file, "fuzz", &array));
    weft_array_release(array);
    fclose(file);
    return 0;
}
