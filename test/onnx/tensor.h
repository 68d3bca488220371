/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_ONNX_TENSOR_H
#define WEFT_TEST_ONNX_TENSOR_H
/* Protobuf messages of ONNX read from files; its tensors as arrays. */
#include <weft/weft.h>
#include "onnx.pb-c.h"

/* The dtype of an ONNX element type; UNSUPPORTED names one that weft has not. */
weft_status *onnx_dtype(int32_t type, weft_dtype *out_dtype) WEFT_MUST_USE;
const char *onnx_type_name(int32_t type);
/* A copy of a tensor's elements. */
weft_status *onnx_array(const Onnx__TensorProto *tensor, weft_array **out_array) WEFT_MUST_USE;

/* The bytes of a file, freed with free(). */
weft_status *onnx_file_read(const char *path, uint8_t **out_bytes, size_t *out_size) WEFT_MUST_USE;
/* A file that holds one tensor. */
weft_status *onnx_tensor_file_read(const char *path, weft_array **out_array) WEFT_MUST_USE;
#endif
