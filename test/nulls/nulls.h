/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_NULLS_H
#define WEFT_TEST_NULLS_H
/* Every public header. */
#include <weft/einsum.h>
#include <weft/extension.h>
#include <weft/inspect.h>
#include <weft/runtime.h>
#include <weft/weft.h>
#endif
