/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/math/math.h"
#include "lib/schedule/schedule.h"

weft_status *weft_kernel_expand(weft_kernel *kernel, weft_function_policy policy)
{
    WEFT_TRY(weft_kernel_expand_complex(kernel));
    WEFT_TRY(weft_kernel_legalize_float16(kernel));
    return weft_kernel_lower_math(kernel, policy);
}
