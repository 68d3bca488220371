/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are an archive, each member of which is an array or an error, or are an error. */
#include "tools/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_npz *npz = NULL;
    weft_status *status = weft_npz_open_bytes(NULL, data, size, "fuzz", &npz);
    for (size_t i = 0; status == NULL && i < weft_npz_count(npz); i++) {
        weft_array *array = NULL;
        weft_status_destroy(weft_npz_load(npz, i, &array));
        weft_array_release(array);
    }
    weft_status_destroy(status);
    weft_npz_close(npz);
    return 0;
}
