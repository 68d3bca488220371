/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/op.h"
#include "lib/graph/infer.h"

#define BIT(dtype) (1u << WEFT_##dtype)
#define DTYPES_ALL ((1u << WEFT_DTYPE_COUNT) - 1)
#define DTYPES_BOOL BIT(BOOL)
#define DTYPES_COMPLEX (BIT(C64) | BIT(C128))
#define DTYPES_PART (BIT(F32) | BIT(F64)) /* of complex numbers */
#define DTYPES_FLOAT (BIT(BF16) | BIT(F16) | BIT(F32) | BIT(F64))
#define DTYPES_INEXACT (DTYPES_FLOAT | DTYPES_COMPLEX)
#define DTYPES_NUMERIC (DTYPES_ALL & ~BIT(BOOL))
#define DTYPES_REAL (DTYPES_NUMERIC & ~DTYPES_COMPLEX)
#define DTYPES_ORDERED (DTYPES_ALL & ~DTYPES_COMPLEX)
#define DTYPES_INTEGER (BIT(U8) | BIT(I32) | BIT(U32) | BIT(I64))
#define DTYPES_BITS (BIT(BOOL) | DTYPES_INTEGER)

/* What the column `class` says. */
#define CLASS_ELEMENTWISE .op_class = WEFT_CLASS_ELEMENTWISE
#define CLASS_COMMUTATIVE .op_class = WEFT_CLASS_ELEMENTWISE, .traits = WEFT_TRAIT_COMMUTATIVE
#define CLASS_LEAF .op_class = WEFT_CLASS_LEAF
#define CLASS_MOVEMENT .op_class = WEFT_CLASS_MOVEMENT
#define CLASS_REDUCE .op_class = WEFT_CLASS_REDUCE
#define CLASS_PRODUCT .op_class = WEFT_CLASS_PRODUCT
#define CLASS_INDEX .op_class = WEFT_CLASS_INDEX
#define CLASS_SCAN .op_class = WEFT_CLASS_SCAN
#define CLASS_SORT .op_class = WEFT_CLASS_SORT
#define CLASS_REGION .op_class = WEFT_CLASS_REGION

/* A schema ends with a row that is not counted, so that the empty one is an array too. */
#define SCHEMA(name, ...) static const weft_attr_def name##_schema[] = {__VA_ARGS__}
#define SCHEMA_END                                                                                                     \
    {                                                                                                                  \
        NULL, WEFT_ATTR_INT                                                                                            \
    }

SCHEMA(none, SCHEMA_END);
SCHEMA(leaf, {"name", WEFT_ATTR_STRING}, {"dtype", WEFT_ATTR_DTYPE}, {"shape", WEFT_ATTR_EXTENTS}, SCHEMA_END);
SCHEMA(constant, {"dtype", WEFT_ATTR_DTYPE}, {"shape", WEFT_ATTR_INTS}, {"data", WEFT_ATTR_DATA}, SCHEMA_END);
SCHEMA(iota, {"dtype", WEFT_ATTR_DTYPE}, {"shape", WEFT_ATTR_EXTENTS}, {"axis", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(extent, {"value", WEFT_ATTR_EXTENT}, SCHEMA_END);
SCHEMA(cast, {"dtype", WEFT_ATTR_DTYPE}, SCHEMA_END);
SCHEMA(shape, {"shape", WEFT_ATTR_EXTENTS}, SCHEMA_END);
SCHEMA(axes, {"axes", WEFT_ATTR_INTS}, SCHEMA_END);
SCHEMA(broadcast, {"shape", WEFT_ATTR_EXTENTS}, {"axes", WEFT_ATTR_INTS}, SCHEMA_END);
SCHEMA(slice, {"starts", WEFT_ATTR_EXTENTS}, {"sizes", WEFT_ATTR_EXTENTS}, {"steps", WEFT_ATTR_INTS}, SCHEMA_END);
SCHEMA(pad, {"low", WEFT_ATTR_EXTENTS}, {"high", WEFT_ATTR_EXTENTS}, SCHEMA_END);
SCHEMA(window, {"axis", WEFT_ATTR_INT}, {"size", WEFT_ATTR_EXTENT}, {"stride", WEFT_ATTR_INT},
       {"dilation", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(shear, {"axis", WEFT_ATTR_INT}, {"along", WEFT_ATTR_INT}, {"step", WEFT_ATTR_INT}, {"extent", WEFT_ATTR_EXTENT},
       SCHEMA_END);
SCHEMA(order, {"n", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(barrier, {"number", WEFT_ATTR_INT}, {"keep", WEFT_ATTR_BOOL}, SCHEMA_END);
SCHEMA(axis, {"axis", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(gather, {"axes", WEFT_ATTR_INTS}, {"batch", WEFT_ATTR_INTS}, SCHEMA_END);
SCHEMA(scatter, {"axes", WEFT_ATTR_INTS}, {"batch", WEFT_ATTR_INTS}, {"mode", WEFT_ATTR_STRING}, SCHEMA_END);
SCHEMA(dynamic_slice, {"axes", WEFT_ATTR_INTS}, {"sizes", WEFT_ATTR_EXTENTS}, SCHEMA_END);
SCHEMA(scan, {"axis", WEFT_ATTR_INT}, {"reverse", WEFT_ATTR_BOOL}, {"exclusive", WEFT_ATTR_BOOL}, SCHEMA_END);
SCHEMA(linear, {"axis", WEFT_ATTR_INT}, {"reverse", WEFT_ATTR_BOOL}, SCHEMA_END);
SCHEMA(sort, {"axis", WEFT_ATTR_INT}, {"descending", WEFT_ATTR_BOOL}, SCHEMA_END);
SCHEMA(diagonal, {"axis_a", WEFT_ATTR_INT}, {"axis_b", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(embed, {"axis", WEFT_ATTR_INT}, {"new_axis", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(dot, {"batch_a", WEFT_ATTR_INTS}, {"batch_b", WEFT_ATTR_INTS}, {"contract_a", WEFT_ATTR_INTS},
       {"contract_b", WEFT_ATTR_INTS}, SCHEMA_END);
SCHEMA(fold, {"trips", WEFT_ATTR_EXTENT}, {"body", WEFT_ATTR_REGION}, {"carried", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(snapshots, {"count", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(while, {"carried", WEFT_ATTR_INT}, {"condition", WEFT_ATTR_REGION}, {"body", WEFT_ATTR_REGION}, SCHEMA_END);
SCHEMA(attention, {"causal", WEFT_ATTR_BOOL}, {"offset", WEFT_ATTR_EXTENT}, SCHEMA_END);
SCHEMA(conv, {"stride", WEFT_ATTR_INTS}, {"dilation", WEFT_ATTR_INTS}, {"low", WEFT_ATTR_INTS},
       {"high", WEFT_ATTR_INTS}, {"groups", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(window_sum, {"size", WEFT_ATTR_INTS}, {"stride", WEFT_ATTR_INTS}, {"dilation", WEFT_ATTR_INTS},
       {"low", WEFT_ATTR_INTS}, {"high", WEFT_ATTR_INTS}, {"more", WEFT_ATTR_EXTENTS}, SCHEMA_END);
SCHEMA(moment, {"axes", WEFT_ATTR_INTS}, {"correction", WEFT_ATTR_INT}, SCHEMA_END);
SCHEMA(norm, {"axes", WEFT_ATTR_INTS}, {"order", WEFT_ATTR_FLOAT}, SCHEMA_END);
SCHEMA(normalize, {"axes", WEFT_ATTR_INTS}, {"epsilon", WEFT_ATTR_FLOAT}, {"centered", WEFT_ATTR_BOOL}, SCHEMA_END);
SCHEMA(cond, {"then", WEFT_ATTR_REGION}, {"else", WEFT_ATTR_REGION}, SCHEMA_END);

static const weft_op_def table[WEFT_OP_COUNT] = {
#define WEFT_OP(op, inputs, attributes, dtype_set, class_name, rule)                                                   \
    {.size = sizeof(weft_op_def),                                                                                      \
     .name = #op,                                                                                                      \
     .version = 1,                                                                                                     \
     .input_count = inputs,                                                                                            \
     .output_count = 1,                                                                                                \
     CLASS_##class_name,                                                                                               \
     .dtypes = DTYPES_##dtype_set,                                                                                     \
     .attr_count = sizeof attributes##_schema / sizeof *attributes##_schema - 1,                                       \
     .attrs = attributes##_schema,                                                                                     \
     .infer = weft_infer_##rule},
#include "lib/graph/op.def"
#undef WEFT_OP
};

const weft_op_def *weft_op_table(void)
{
    return table;
}

static const weft_op_def composed[] = {
#define WEFT_COMPOSED(function, attributes)                                                                            \
    {.size = sizeof(weft_op_def),                                                                                      \
     .name = #function,                                                                                                \
     .version = 1,                                                                                                     \
     .attr_count = sizeof attributes##_schema / sizeof *attributes##_schema - 1,                                       \
     .attrs = attributes##_schema},
#include "lib/graph/composed.def"
#undef WEFT_COMPOSED
};

const weft_op_def *weft_composed_table(void)
{
    return composed;
}

weft_composed_id weft_composed_id_of(const weft_op_def *op)
{
    uintptr_t offset = (uintptr_t)op - (uintptr_t)composed;
    return offset < sizeof composed ? (weft_composed_id)(offset / sizeof *composed) : WEFT_COMPOSED_COUNT;
}

weft_op_id weft_op_id_of(const weft_op_def *op)
{
    uintptr_t offset = (uintptr_t)op - (uintptr_t)table;
    return offset < sizeof table ? (weft_op_id)(offset / sizeof *table) : WEFT_OP_EXTENSION;
}
