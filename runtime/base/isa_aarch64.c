/* SPDX-License-Identifier: Apache-2.0 */
/* Processors of aarch64: there is one level. */
#include <weft/executor.h>
#include "runtime/base/isa.h"

weft_isa weft_isa_of_processor(void)
{
    return WEFT_ISA_ARMV8A;
}

const char *weft_isa_text(void)
{
    return weft_isa_name();
}
