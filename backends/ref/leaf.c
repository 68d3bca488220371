/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <string.h>

/* The argument bound to the input is operand 0. */
weft_status *weft_reference_input(const weft_reference_call *call)
{
    const weft_view *argument = &call->inputs[0], *out = &call->outputs[0];
    if (argument->dtype != out->dtype || !weft_view_same_shape(argument, out))
        return weft_reference_error(call, WEFT_INTERNAL, "the argument does not have the type of the input");
    weft_view_copy(out, argument);
    return NULL;
}

weft_status *weft_reference_constant(const weft_reference_call *call)
{
    const weft_attr *data = &call->attrs[2];
    size_t size = (size_t)weft_view_count(&call->outputs[0]) * weft_dtype_size(call->outputs[0].dtype);
    if (data->size != size)
        return weft_reference_error(call, WEFT_INTERNAL, "%zu bytes of data do not fill the %zu of the shape",
                                    data->size, size);
    if (size > 0) memcpy(call->outputs[0].data, data->data, size);
    return NULL;
}

weft_status *weft_reference_iota(const weft_reference_call *call)
{
    const weft_view *out = &call->outputs[0];
    int64_t axis = call->attrs[2].integer, index[WEFT_MAX_RANK];
    for (bool more = weft_index_start(out->rank, out->shape, index); more;
         more = weft_index_next(out->rank, out->shape, index)) {
        weft_element element = {.integer = index[axis]};
        weft_element_store(out->dtype, weft_element_cast(WEFT_I64, element, out->dtype), weft_view_at(out, index));
    }
    return NULL;
}

weft_status *weft_reference_extent(const weft_reference_call *call)
{
    weft_element element = {.integer = call->attrs[0].extents.extents[0].value};
    weft_element_store(WEFT_I64, element, call->outputs[0].data);
    return NULL;
}
