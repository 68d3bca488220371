/* SPDX-License-Identifier: Apache-2.0 */
/* Type rules of the ops that hold regions. Parameters have the types of operands exactly; extents of results may be
 * equal through a guard: they do not change from one iteration to the next. */
#include "lib/graph/infer.h"

static weft_type tensor_type(weft_tensor tensor)
{
    return (weft_type){weft_tensor_dtype(tensor), weft_tensor_shape(tensor)};
}

static bool types_equal(const weft_type *a, const weft_type *b)
{
    if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
    for (size_t i = 0; i < a->shape.rank; i++) {
        if (!weft_extent_equal(a->shape.extents[i], b->shape.extents[i])) return false;
    }
    return true;
}

static bool may_be_equal(const weft_infer_context *context, const weft_type *a, const weft_type *b)
{
    if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
    for (size_t i = 0; i < a->shape.rank; i++) {
        if (weft_extent_never_equal(context->graph, a->shape.extents[i], b->shape.extents[i])) return false;
    }
    return true;
}

static weft_status *require_extents(const weft_infer_context *context, const char *region, size_t result,
                                    const weft_type *type, const weft_type *wanted)
{
    for (size_t i = 0; i < type->shape.rank; i++) {
        weft_extent extent = type->shape.extents[i], needed = wanted->shape.extents[i];
        WEFT_TRY(weft_infer_require(context, WEFT_GUARD_EQUAL, extent, needed,
                                    "axis %zu of result %zu of %s has extent %s but needs %s", i, result, region,
                                    weft_extent_describe(extent).text, weft_extent_describe(needed).text));
    }
    return NULL;
}

/* The tensors have the types `wanted`; they are results or parameters of `region`. */
static weft_status *check_tensors(const weft_infer_context *context, const char *region, bool results,
                                  weft_tensors tensors, size_t count, const weft_type *wanted)
{
    const char *what = results ? "result" : "parameter";
    if (tensors.count != count) {
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s has %zu %s%s but needs %zu", region, tensors.count,
                                what, tensors.count == 1 ? "" : "s", count);
    }
    for (size_t i = 0; i < count; i++) {
        weft_type type = tensor_type(tensors.items[i]);
        if (types_equal(&type, &wanted[i])) continue;
        if (results && may_be_equal(context, &type, &wanted[i])) {
            WEFT_TRY(require_extents(context, region, i, &type, &wanted[i]));
            continue;
        }
        return weft_infer_error(context, type.dtype == wanted[i].dtype ? WEFT_SHAPE_MISMATCH : WEFT_DTYPE_MISMATCH,
                                "%s %zu of %s has type %s but needs %s", what, i, region,
                                weft_type_describe(&type).text, weft_type_describe(&wanted[i]).text);
    }
    return NULL;
}

static void copy_types(const weft_type *types, size_t count, weft_type *out_types)
{
    for (size_t i = 0; i < count; i++) out_types[i] = types[i];
}

weft_status *weft_infer_fold(const weft_infer_context *context, weft_type *out_types)
{
    weft_extent trips = context->attrs[0].extents.extents[0];
    const weft_region *body = &context->attrs[1].region;
    size_t carried = (size_t)context->attrs[2].integer;
    WEFT_TRY(weft_infer_require(context, WEFT_GUARD_AT_MOST, weft_extent_of(0), trips, "trips is %s, below 0",
                                weft_extent_describe(trips).text));
    weft_type *wanted = context->allocate(context, (1 + context->input_count) * sizeof *wanted);
    if (wanted == NULL) return weft_status_out_of_memory();
    wanted[0] = (weft_type){WEFT_I64, {0, NULL}};
    copy_types(context->inputs, context->input_count, wanted + 1);
    WEFT_TRY(check_tensors(context, "body", false, body->parameters, 1 + context->input_count, wanted));
    /* What the results need is needed where the body runs. */
    weft_expr before = context->graph->when;
    context->graph->when = body->graph->when;
    weft_status *status = check_tensors(context, "body", true, body->results, carried, context->inputs);
    context->graph->when = before;
    copy_types(context->inputs, carried, out_types);
    return status;
}

static const weft_type predicate = {WEFT_BOOL, {0, NULL}};

weft_status *weft_infer_while(const weft_infer_context *context, weft_type *out_types)
{
    size_t carried = (size_t)context->attrs[0].integer, count = context->input_count;
    const weft_region *condition = &context->attrs[1].region, *body = &context->attrs[2].region;
    WEFT_TRY(check_tensors(context, "condition", false, condition->parameters, count, context->inputs));
    WEFT_TRY(check_tensors(context, "condition", true, condition->results, 1, &predicate));
    WEFT_TRY(check_tensors(context, "body", false, body->parameters, count, context->inputs));
    WEFT_TRY(check_tensors(context, "body", true, body->results, carried, context->inputs));
    copy_types(context->inputs, carried, out_types);
    return NULL;
}

weft_status *weft_infer_cond(const weft_infer_context *context, weft_type *out_types)
{
    const weft_region *yes = &context->attrs[0].region, *no = &context->attrs[1].region;
    size_t count = context->input_count - 1;
    if (!types_equal(&context->inputs[0], &predicate)) {
        return weft_infer_error(context, WEFT_DTYPE_MISMATCH, "operand 0 has type %s but needs %s",
                                weft_type_describe(&context->inputs[0]).text, weft_type_describe(&predicate).text);
    }
    if (yes->results.count == 0)
        return weft_infer_error(context, WEFT_INVALID_ARGUMENT, "%s",
                                "there are no results, but at least one is needed");
    for (size_t i = 0; i < yes->results.count; i++) out_types[i] = tensor_type(yes->results.items[i]);
    WEFT_TRY(check_tensors(context, "then", false, yes->parameters, count, context->inputs + 1));
    WEFT_TRY(check_tensors(context, "else", false, no->parameters, count, context->inputs + 1));
    return check_tensors(context, "else", true, no->results, yes->results.count, out_types);
}
