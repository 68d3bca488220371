/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_EXTENSION_H
#define WEFT_RUNTIME_PROGRAM_EXTENSION_H
#include <weft/extension.h>

/* weft_extension_check for the public function `where`, which its errors name. */
weft_status *weft_extension_check_for(const char *where, const weft_extension *extension) WEFT_MUST_USE;
#endif
