/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_DLPACK_H
#define WEFT_DLPACK_H
/*
 * DLPack as weft_array_import_dlpack_versioned and weft_array_export_dlpack_versioned take it: <dlpack/dlpack.h>, and
 * where that is older than 1.0 what it lacks, by the specification of DLPack 1.0. Not included by <weft/weft.h>.
 */
#include <dlpack/dlpack.h>

#ifndef DLPACK_MAJOR_VERSION
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0

typedef struct DLPackVersion {
    uint32_t major; /* of another one only `manager_ctx` and `deleter` may be looked at */
    uint32_t minor;
} DLPackVersion;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1)

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif
#endif
