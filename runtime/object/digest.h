/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_OBJECT_DIGEST_H
#define WEFT_RUNTIME_OBJECT_DIGEST_H
#include <weft/base.h>

/* XXH3 of bytes, without its library. */
uint64_t weft_digest(const void *data, size_t size);
#endif
