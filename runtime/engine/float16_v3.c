/* SPDX-License-Identifier: Apache-2.0 */
#define LEVEL(x) x##_v3
#include "runtime/engine/float16_level.h"
