/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_LEVEL_H
#define WEFT_RUNTIME_ENGINE_LEVEL_H
/* Tables by weft_isa: what x86-64-v3 and x86-64-v4 have, and all others. Objects for another architecture are
 * linked without the first two, and have entries for its levels alone. */
#include "runtime/base/isa.h"

#if defined(__x86_64__)
#define WEFT_BY_LEVEL(others, v3, v4)                                                                                  \
    {                                                                                                                  \
        [WEFT_ISA_BASE] = others, [WEFT_ISA_V2] = others, [WEFT_ISA_V3] = v3, [WEFT_ISA_V4] = v4,                      \
        [WEFT_ISA_ARMV8A] = others                                                                                     \
    }
#else
#define WEFT_BY_LEVEL(others, v3, v4)                                                                                  \
    {                                                                                                                  \
        [WEFT_ISA_ARMV8A] = others                                                                                     \
    }
#endif
#endif
