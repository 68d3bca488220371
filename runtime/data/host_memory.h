/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_HOST_MEMORY_H
#define WEFT_RUNTIME_DATA_HOST_MEMORY_H
/* Memory of the CPU: large blocks are aligned to huge pages and ask for them; and how much there is. */
#include <weft/base.h>

weft_status *weft_host_allocate(const weft_allocator *allocator, size_t bytes, void **out_memory) WEFT_MUST_USE;
/* `bytes` as it was asked. NULL is fine. */
void weft_host_release(const weft_allocator *allocator, void *memory, size_t bytes);
/* weft_memory_size, with the system's files looked up below `root`. */
size_t weft_host_memory_size(const char *root);
#endif
