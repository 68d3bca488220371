/* SPDX-License-Identifier: Apache-2.0 */
#include "test/onnx/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the numbers of TensorProto.DataType; names without a dtype are types that weft has not. */
static const struct {
    const char *name;
    int dtype;
} types[] = {
    {"undefined", -1},       {"float", WEFT_F32}, {"uint8", WEFT_U8},      {"int8", -1},
    {"uint16", -1},          {"int16", -1},       {"int32", WEFT_I32},     {"int64", WEFT_I64},
    {"string", -1},          {"bool", WEFT_BOOL}, {"float16", WEFT_F16},   {"double", WEFT_F64},
    {"uint32", WEFT_U32},    {"uint64", -1},      {"complex64", WEFT_C64}, {"complex128", WEFT_C128},
    {"bfloat16", WEFT_BF16},
};

const char *onnx_type_name(int32_t type)
{
    return type >= 0 && (size_t)type < sizeof types / sizeof *types ? types[type].name : "unknown";
}

weft_status *onnx_dtype(int32_t type, weft_dtype *out_dtype)
{
    bool known = type >= 0 && (size_t)type < sizeof types / sizeof *types && types[type].dtype >= 0;
    if (!known)
        return weft_status_create(NULL, WEFT_UNSUPPORTED, "onnx", "there is no dtype for %s", onnx_type_name(type));
    *out_dtype = (weft_dtype)types[type].dtype;
    return NULL;
}

/* Element i of the list that elements of this dtype are kept in where there are no raw bytes. */
static void copy_listed(const Onnx__TensorProto *tensor, weft_dtype dtype, size_t i, unsigned char *out)
{
    size_t size = weft_dtype_size(dtype);
    switch (dtype) {
    case WEFT_F32: memcpy(out, &tensor->float_data[i], size); break;
    case WEFT_F64: memcpy(out, &tensor->double_data[i], size); break;
    case WEFT_I64: memcpy(out, &tensor->int64_data[i], size); break;
    case WEFT_U32: memcpy(out, &tensor->uint64_data[i], size); break;
    case WEFT_C64: memcpy(out, &tensor->float_data[2 * i], size); break;
    case WEFT_C128: memcpy(out, &tensor->double_data[2 * i], size); break;
    default: memcpy(out, &tensor->int32_data[i], size); break;
    }
}

static size_t listed_count(const Onnx__TensorProto *tensor, weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F32: return tensor->n_float_data;
    case WEFT_F64: return tensor->n_double_data;
    case WEFT_I64: return tensor->n_int64_data;
    case WEFT_U32: return tensor->n_uint64_data;
    case WEFT_C64: return tensor->n_float_data / 2;
    case WEFT_C128: return tensor->n_double_data / 2;
    default: return tensor->n_int32_data;
    }
}

weft_status *onnx_array(const Onnx__TensorProto *tensor, weft_array **out_array)
{
    weft_dtype dtype = WEFT_F32;
    WEFT_TRY(onnx_dtype(tensor->data_type, &dtype));
    WEFT_TRY(weft_array_create(NULL, dtype, tensor->n_dims, tensor->dims, out_array));
    size_t count = (size_t)weft_array_count(*out_array), size = weft_dtype_size(dtype);
    unsigned char *data = weft_array_data(*out_array);
    bool raw = tensor->has_raw_data && tensor->raw_data.len == count * size;
    if (!raw && listed_count(tensor, dtype) != count) {
        weft_array_release(*out_array);
        return weft_status_create(NULL, WEFT_BAD_FILE, "onnx", "tensor \"%s\" has not the data its shape asks for",
                                  tensor->name);
    }
    if (raw && count > 0) memcpy(data, tensor->raw_data.data, count * size);
    for (size_t i = 0; !raw && i < count; i++) copy_listed(tensor, dtype, i, data + i * size);
    return NULL;
}

weft_status *onnx_file_read(const char *path, uint8_t **out_bytes, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return weft_status_create(NULL, WEFT_BAD_FILE, "onnx", "%s cannot be opened", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    *out_bytes = malloc(size > 0 ? (size_t)size : 1);
    *out_size = *out_bytes == NULL ? 0 : fread(*out_bytes, 1, (size_t)size, file);
    fclose(file);
    if (*out_bytes != NULL && *out_size == (size_t)size) return NULL;
    free(*out_bytes);
    return weft_status_create(NULL, WEFT_BAD_FILE, "onnx", "%s cannot be read", path);
}

weft_status *onnx_tensor_file_read(const char *path, weft_array **out_array)
{
    uint8_t *bytes;
    size_t size;
    WEFT_TRY(onnx_file_read(path, &bytes, &size));
    Onnx__TensorProto *tensor = onnx__tensor_proto__unpack(NULL, size, bytes);
    free(bytes);
    if (tensor == NULL) return weft_status_create(NULL, WEFT_BAD_FILE, "onnx", "%s holds no tensor", path);
    weft_status *status = onnx_array(tensor, out_array);
    onnx__tensor_proto__free_unpacked(tensor, NULL);
    return status;
}
