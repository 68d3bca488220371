/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_ONNX_OP_H
#define WEFT_TEST_ONNX_OP_H
/* The functions behind the rows of op.def, by family. */
#include "test/onnx/import.h"

#define UNARY(name, function)
#define BINARY(name, function)
#define VARIADIC(name, function)
#define OP(name, function) weft_status *onnx_##function(onnx_node *node) WEFT_MUST_USE;
#include "test/onnx/op.def"
#undef UNARY
#undef BINARY
#undef VARIADIC
#undef OP
#endif
