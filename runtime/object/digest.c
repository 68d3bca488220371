/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object/digest.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t weft_digest(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
