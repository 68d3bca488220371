/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_FUZZ_EDIT_H
#define WEFT_TEST_FUZZ_EDIT_H
/* What a fuzzer does to a file that is whole. */
#include <stddef.h>
#include <stdint.h>

/* Two bytes say from where it is cut, 0: it is not. Then edits: two bytes say where, one how many bytes are taken away
 * there, one how many of the bytes after it take their place. To be freed; NULL without memory. */
unsigned char *weft_fuzz_edit(const void *whole, size_t whole_size, const uint8_t *data, size_t size, size_t *out_size);
#endif
