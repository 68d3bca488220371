/* SPDX-License-Identifier: Apache-2.0 */
#define LEVEL(x) x##_base
#include "runtime/engine/float16_level.h"
