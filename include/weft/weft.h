/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H
/* Everything: trace, compile, run, extend, look into it. */
#include <weft/array.h>
#include <weft/base.h>
#include <weft/conv.h>
#include <weft/dtype.h>
#include <weft/eager.h>
#include <weft/elementwise.h>
#include <weft/executor.h>
#include <weft/extension.h>
#include <weft/gradient.h>
#include <weft/graph.h>
#include <weft/index.h>
#include <weft/inspect.h>
#include <weft/linear.h>
#include <weft/machine.h>
#include <weft/nn.h>
#include <weft/npy.h>
#include <weft/ops.h>
#include <weft/optimize.h>
#include <weft/program.h>
#include <weft/random.h>
#include <weft/region.h>
#include <weft/runtime.h>
#include <weft/schedules.h>
#include <weft/shape.h>
#include <weft/statistics.h>
#endif
