/* SPDX-License-Identifier: Apache-2.0 */
/* Levels as such. */
#include <weft/executor.h>
#include "runtime/base/isa.h"

static const weft_isa_row rows[] = {
    [WEFT_ISA_BASE] = {"x86-64", WEFT_X86_64, false, 16, 16},
    [WEFT_ISA_V2] = {"x86-64-v2", WEFT_X86_64, true, 16, 16},
    [WEFT_ISA_V3] = {"x86-64-v3", WEFT_X86_64, true, 32, 16},
    [WEFT_ISA_V4] = {"x86-64-v4", WEFT_X86_64, true, 64, 32},
    [WEFT_ISA_ARMV8A] = {"armv8-a", WEFT_AARCH64, true, 16, 32},
};

const weft_isa_row *weft_isa_describe(weft_isa level)
{
    return &rows[level];
}

bool weft_isa_includes(weft_isa level, weft_isa needed)
{
    return needed <= level && rows[needed].architecture == rows[level].architecture;
}

const char *weft_isa_level_name(weft_isa level)
{
    return rows[level].name;
}

const char *weft_isa_name(void)
{
    return weft_isa_level_name(weft_isa_level());
}

unsigned weft_isa_vector_bytes(void)
{
    return rows[weft_isa_level()].vector_bytes;
}
