/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that calls a function which its bitcode does not have. */
#include <weft/extension.h>

weft_status *test_elsewhere(const weft_kernel_context *context);
weft_status *test_abroad(const weft_kernel_context *context);

weft_status *test_abroad(const weft_kernel_context *context)
{
    return test_elsewhere(context);
}
